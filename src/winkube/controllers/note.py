"""What a plan says about an object, to be recorded as an event when it is carried out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    type: str
    reason: str
    message: str
