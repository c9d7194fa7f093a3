"""Identifiers: uids, and the random name suffixes of generateName."""

import random
import uuid

# No vowels, nothing that reads as another character (k8s.io/apimachinery: util/rand).
SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def new_uid() -> str:
    return str(uuid.uuid4())


def random_suffix(length: int = 5, *, rng: random.Random | None = None) -> str:
    source = rng or random.SystemRandom()
    return "".join(source.choice(SUFFIX_ALPHABET) for _ in range(length))
