"""Which patches are read with care for how numbers are spelt: that is slow, and seldom needed."""

import pytest

from winkube.apiserver.registry.patch import MERGE_PATCH, read_patch


@pytest.mark.parametrize(
    "text",
    [
        '{"status":{"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}}',
        '{"metadata":{"uid":"3e5f1d2a-1111-4222-8333-944455566677"}}',
        '{"spec":{"replicas":3,"limit":-12}}',
    ],
)
def test_texts_that_begin_like_numbers_take_the_quick_way(text: str) -> None:
    assert not read_patch(MERGE_PATCH, text.encode()).written


@pytest.mark.parametrize(
    "text",
    ['{"a":1.5}', '{"a": 1e3}', '{"a":[1,-2.0]}', '{"a":[1E3]}', '{"a":12345678901234567890}'],
)
def test_numbers_keep_their_spelling(text: str) -> None:
    assert read_patch(MERGE_PATCH, text.encode()).written
