"""Why no replica count could be computed; the words end up in conditions and events."""

from winkube.base.errors import WinkubeError


class MetricError(WinkubeError):
    """A metric could not be read or says nothing about the pods."""


class TargetError(WinkubeError):
    """What is to be scaled cannot be found."""
