"""A test sheet: items in the order in which they are asked, and the code that is printed on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from winosmith.errors import DataError
from winosmith.humans._item import Item
from winosmith.records import canonical

__all__ = ["COMMON", "Sheet"]

COMMON = "common"
"""The name of the test that everybody may take beside one version of the schemas."""

_SIGNS = "23456789BCDFGHJKLMNPQRSTVWXZ"
_CHECK = 4
"""The signs of the check in a code, and how many it has. No sign is taken for another, none are
vowels, so that no word comes out, and a code that was misread fits once in 600,000 times."""


@dataclass(frozen=True)
class Sheet:
    """One test in one order of its items.

    Attributes:
        title: what stands at the top ("Winograd schemas").
        test: which test it is: "a" or "b" (a half of each schema), or "common".
        order: which of the orders of that test, from 1.
        seed: what dealt the halves and drew the order.
        data: the digest of the problems it was made from, without their answers:
            `Dataset.blind().digest`.
        items: in order, numbered from 1.

    Raises:
        DataError: there are no items, or they are not numbered 1, 2, 3, ….
    """

    title: str
    test: str
    order: int
    seed: int
    data: str
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        if not self.items:
            raise DataError(f"the sheet {self.name} has no items")
        if [item.number for item in self.items] != list(range(1, len(self.items) + 1)):
            raise DataError(f"the items of {self.name} are not numbered 1, 2, 3, … in order")

    @property
    def name(self) -> str:
        """The test and the order, as files are named: "a-1"."""
        return f"{self.test}-{self.order}"

    @cached_property
    def code(self) -> str:
        """What is printed on every page and comes back with the answers: "a-1-7Q2K".

        It belongs to the items and their order: answers can't be read with another sheet.
        """
        held = [[item.number, item.problem_id, *item.shown] for item in self.items]
        record = {"data": self.data, "seed": self.seed, "name": self.name, "items": held}
        rest, check = int(hashlib.sha256(canonical(record).encode()).hexdigest(), 16), ""
        for _ in range(_CHECK):
            rest, sign = divmod(rest, len(_SIGNS))
            check += _SIGNS[sign]
        return f"{self.name}-{check}"

    def __getitem__(self, number: int) -> Item:
        """Return the item of that number; raises DataError when there is none."""
        if not 1 <= number <= len(self.items):
            raise DataError(f"{self.code} has the questions 1 to {len(self.items)}, not {number}")
        return self.items[number - 1]

    def __len__(self) -> int:
        return len(self.items)
