"""Names and how often one comes before the other go in, names in groups, from first to last, come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treetune.reorder.precedence import SELF

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

_MOST_ROUNDS = 50
# Smaller gains are noise of the sums.
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups from first to last, each with whether it is turned round, and how much of the pairs agrees with them."""

    groups: tuple[tuple[frozenset[str], bool], ...]
    agreement: float


def group(units: Sequence[str], masses: Callable[[str, str], Sequence[float]], fixed: float = 0.0) -> Grouping:
    """Group names so that most pairs agree: those of different groups by the order of these, others by the text.

    Args:
        units: The names, `SELF` among them; its group is never turned round.
        masses: Of a pair (a, b): how often a comes first in both texts, a in this one and b in the other, b in this one
            and a in the other, b in both.
        fixed: What agrees anyhow.
    """
    import numpy as np

    size = len(units)
    first, kept, turned = (np.zeros((size, size)) for _ in range(3))
    for i, a in enumerate(units):
        for j, b in enumerate(units):
            both, a_then_b, b_then_a, b_both = masses(a, b)
            first[i, j] = both + b_then_a
            kept[i, j] = both + b_both
            turned[i, j] = a_then_b + b_then_a
    # Two children of one name are a pair once; all others are in the tables twice.
    for inside in (kept, turned):
        inside[np.diag_indices(size)] *= 2
    # From two beginnings, all apart and all together: each stops at a hill of its own.
    tried = [_Search(first, kept, turned, units.index(SELF), apart=apart) for apart in (True, False)]
    for search in tried:
        search.run()
    search = max(tried, key=_Search.agreement)
    groups = tuple(
        (frozenset(units[unit] for unit in members), reverse)
        for members, reverse in zip(search.groups, search.reverse, strict=True)
    )
    return Grouping(groups, fixed + search.agreement())


class _Search:
    """Groups of numbers that are improved one number at a time; the agreement never falls."""

    def __init__(self, first: Table, kept: Table, turned: Table, head: int, *, apart: bool) -> None:
        self.first, self.kept, self.turned = first, kept, turned
        self.head = head
        lead = first.sum(axis=1) - first.sum(axis=0)
        # From those that come first most often to those that come last; ties as they are named.
        order = sorted(range(len(first)), key=lambda unit: (-lead[unit], unit))
        self.groups = [[unit] for unit in order] if apart else [order]
        self.reverse = [False] * len(self.groups)

    def run(self) -> None:
        """Improve until nothing helps."""
        for _ in range(_MOST_ROUNDS):
            gain = sum(self._move(unit) for unit in range(len(self.first))) + self._turn()
            if gain <= _LEAST_GAIN:
                return

    def agreement(self) -> float:
        """Return the mass of all pairs that come out as they should."""
        total = 0.0
        for number, members in enumerate(self.groups):
            for unit in members:
                later = [other for group in self.groups[number + 1 :] for other in group]
                total += float(self.first[unit, later].sum())
                inside = self.turned if self.reverse[number] else self.kept
                total += sum(float(inside[unit, other]) for other in members if other > unit)
                total += float(inside[unit, unit]) / 2
        return total

    def _move(self, unit: int) -> float:
        """Put one name where it agrees best, into a group or between two; return what was gained."""
        number = next(place for place, members in enumerate(self.groups) if unit in members)
        before = self._value(unit, number)
        members, reverse = self.groups[number], self.reverse[number]
        members.remove(unit)
        if not members:
            del self.groups[number], self.reverse[number]
        best, place, into = self._best_place(unit)
        if best <= before + _LEAST_GAIN:
            # Back to where it was.
            if members:
                members.append(unit)
            else:
                self.groups.insert(number, [unit])
                self.reverse.insert(number, reverse)
            return 0.0
        if into:
            self.groups[place].append(unit)
        else:
            self.groups.insert(place, [unit])
            self.reverse.insert(place, self._alone(unit))
        return best - before

    def _best_place(self, unit: int) -> tuple[float, int, bool]:
        """Return the best agreement for a name, its place, and whether it joins the group there."""
        # With everything after it; each group that is passed changes sides.
        outside = sum(float(self.first[unit, members].sum()) for members in self.groups)
        best = (outside + self._inside_alone(unit), 0, False)
        for number, members in enumerate(self.groups):
            ahead, behind = float(self.first[unit, members].sum()), float(self.first[members, unit].sum())
            joined = outside - ahead + self._inside(unit, members, self.reverse[number])
            if not (unit == self.head and self.reverse[number]):
                best = max(best, (joined, number, True), key=lambda one: one[0])
            outside += behind - ahead
            best = max(best, (outside + self._inside_alone(unit), number + 1, False), key=lambda one: one[0])
        return best

    def _value(self, unit: int, number: int) -> float:
        """Return what agrees of the pairs that a name is part of, where it is."""
        total = self._inside(unit, [other for other in self.groups[number] if other != unit], self.reverse[number])
        for place, members in enumerate(self.groups):
            if place < number:
                total += float(self.first[members, unit].sum())
            elif place > number:
                total += float(self.first[unit, members].sum())
        return total

    def _inside(self, unit: int, others: list[int], reverse: bool) -> float:
        inside = self.turned if reverse else self.kept
        return float(inside[unit, others].sum()) + float(inside[unit, unit]) / 2

    def _alone(self, unit: int) -> bool:
        """Whether a name in a group of its own is turned round."""
        return unit != self.head and bool(self.turned[unit, unit] > self.kept[unit, unit])

    def _inside_alone(self, unit: int) -> float:
        return self._inside(unit, [], self._alone(unit))

    def _turn(self) -> float:
        """Turn every group round that agrees better so; return what was gained."""
        gain = 0.0
        for number, members in enumerate(self.groups):
            if self.head in members:
                continue
            values = [
                sum(float(inside[unit, members].sum()) for unit in members) / 2 for inside in (self.kept, self.turned)
            ]
            better = values[1] > values[0] + _LEAST_GAIN
            if better != self.reverse[number] and abs(values[1] - values[0]) > _LEAST_GAIN:
                gain += abs(values[1] - values[0])
                self.reverse[number] = better
        return gain
