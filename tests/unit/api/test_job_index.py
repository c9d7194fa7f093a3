from winkube.api.validation.workload.job_index import indexes_fault, overlap_fault


def test_an_index_that_is_in_both_is_found_behind_many_that_are_not() -> None:
    even = ",".join(str(number) for number in range(0, 100_000, 2))
    odd = ",".join(str(number) for number in range(1, 100_000, 2))
    assert overlap_fault(even, odd, 100_000) == ""
    text = "failedIndexes and completedIndexes overlap at index: 99998"
    assert overlap_fault(even, f"{odd[:-6]},99997-99998", 100_000) == text


def test_intervals_go_up() -> None:
    assert indexes_fault("0,2-4,6", 10) == ""
    assert indexes_fault("0,2-4,4", 10) == "non-increasing order, previous: 4, current: 4"
