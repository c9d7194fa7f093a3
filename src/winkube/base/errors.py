"""The root of every error winkube raises on purpose.

WinkubeError
└── one tree per package, in that package's errors.py

Data lives in attributes; the sentence is built in ``__init__``; a foreign protocol's number or
reason is a class attribute and is rendered once, at that protocol's edge.
"""


class WinkubeError(Exception):
    """Something a user can act on: the message names the object and, where known, the way out."""
