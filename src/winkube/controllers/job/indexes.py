"""Sets of completion indexes as ordered intervals: a job may have a hundred thousand of them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class IndexSet:
    """Disjoint, ordered, not adjacent ranges, both ends included."""

    ranges: tuple[Range, ...] = ()

    @classmethod
    def parse(cls, text: str, completions: int) -> "IndexSet":
        """Read ``1,3-5``; what is not a number or not below ``completions`` is left out."""
        found: list[Range] = []
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            if not first.isdecimal() or (last and not last.isdecimal()):
                continue
            if int(first) < completions:
                found.append((int(first), min(int(last or first), completions - 1)))
        return cls(_joined(found))

    def __contains__(self, index: int) -> bool:
        place = bisect_left(self.ranges, index, key=lambda span: span[1])
        return place < len(self.ranges) and self.ranges[place][0] <= index

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __str__(self) -> str:
        """Two neighbours are listed, three and more are a range."""
        parts = []
        for first, last in self.ranges:
            between = "," if last == first + 1 else "-"
            parts.append(str(first) if first == last else f"{first}{between}{last}")
        return ",".join(parts)

    def with_indexes(self, indexes: Iterable[int]) -> "IndexSet":
        return self.merged(IndexSet(_joined([(each, each) for each in sorted(set(indexes))])))

    def merged(self, other: "IndexSet") -> "IndexSet":
        return IndexSet(_joined(sorted((*self.ranges, *other.ranges))))

    def common(self, other: "IndexSet") -> int:
        """How many indexes both have."""
        count = mine = theirs = 0
        while mine < len(self.ranges) and theirs < len(other.ranges):
            (first, last), (start, end) = self.ranges[mine], other.ranges[theirs]
            count += max(0, min(last, end) - max(first, start) + 1)
            mine += last <= end
            theirs += end <= last
        return count

    def missing(self, completions: int) -> Iterator[int]:
        """The indexes below ``completions`` that are not in the set, in order."""
        candidate = 0
        for first, last in self.ranges:
            yield from range(candidate, min(first, completions))
            candidate = max(candidate, last + 1)
        yield from range(candidate, completions)


def _joined(ordered: Iterable[Range]) -> tuple[Range, ...]:
    result: list[Range] = []
    for first, last in ordered:
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return tuple(result)
