"""What a module of tests leaves open is told there, and not wherever memory is cleaned next."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def collect() -> Iterator[None]:
    yield
    gc.collect()
