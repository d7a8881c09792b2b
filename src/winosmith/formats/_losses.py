"""What a format could not hold: the items that were written beside those that were read back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from winosmith.formats._base import Item
from winosmith.problem import Problem
from winosmith.records import claim_record, problem_record


@dataclass
class Losses:
    """How many items differ in which field after they were written and read back.

    Attributes:
        lost: the field was filled and is empty now; parts of `origin`, `lineage` and `extra` are
            counted each by its name ("origin author").
        changed: it has another value now.
        added: it was empty and is filled now.
        missing: how many items did not come back at all.
    """

    lost: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    def __bool__(self) -> bool:
        return bool(self.lost or self.changed or self.added or self.missing)

    def told(self, noun: str) -> list[str]:
        """Return a line for each kind: "lost: twin_id in 20 problems, origin author in 40"."""
        lines = [
            f"{kind}: " + _listed(counts, noun)
            for kind, counts in (
                ("lost", self.lost),
                ("changed", self.changed),
                ("added", self.added),
            )
            if counts
        ]
        return [*lines, f"missing: {_many(self.missing, noun)}"] if self.missing else lines


def _listed(counts: Counter[str], noun: str) -> str:
    first, *others = sorted(counts.items())
    return ", ".join(
        [f"{first[0]} in {_many(first[1], noun)}", *(f"{k} in {n}" for k, n in others)]
    )


def _many(count: int, noun: str) -> str:
    return f"{count} {noun if count != 1 else noun.removesuffix('s')}"


def losses(written: Sequence[Item], read_back: Sequence[Item]) -> Losses:
    """Compare items with what came back from a file, one by one, in order.

    Where a format has an order of its own (EvoGrad's families), items are told by their ids. Twin
    ids are compared as groups: other names for the same twins are no change.
    """
    read_back = _in_order(written, read_back)
    found = Losses(missing=len(written) - len(read_back))
    twins_are_same = _only_renamed(written, read_back)
    for before, after in zip(written, read_back, strict=False):
        if before == after:
            continue
        old, new = _parts(before), _parts(after)
        if twins_are_same:
            new["twin_id"] = old.get("twin_id")
        for name in old.keys() | new.keys():
            had, has = old.get(name), new.get(name)
            if had != has:
                kind = found.lost if has is None else found.added if had is None else found.changed
                kind[name] += 1
    return found


def _in_order(written: Sequence[Item], read_back: Sequence[Item]) -> Sequence[Item]:
    """Return what came back in the order in which it was written, where ids tell it."""
    ids = [item.id for item in written if isinstance(item, Problem)]
    back = {item.id: item for item in read_back if isinstance(item, Problem)}
    same = len(back) == len(ids) == len(written) == len(read_back) and set(ids) == back.keys()
    return [back[name] for name in ids] if same else read_back


def _parts(item: Item) -> dict[str, Any]:
    """Return the filled fields of an item, those inside `origin`, `lineage`, `extra` by name."""
    record = problem_record(item) if isinstance(item, Problem) else claim_record(item)
    parts: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            parts |= {f"{name} {key}": part for key, part in value.items()}
        else:
            parts[name] = value
    return parts


def _only_renamed(written: Sequence[Item], read_back: Sequence[Item]) -> bool:
    """Tell whether the twins are the same, whatever they are called."""
    pairs = {
        (getattr(before, "twin_id", None), getattr(after, "twin_id", None))
        for before, after in zip(written, read_back, strict=False)
    }
    one_to_one = len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})
    return one_to_one and all((before is None) == (after is None) for before, after in pairs)
