"""One subject's row and one item's row of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["ItemRow", "SubjectRow"]


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """How one subject did on one test.

    Attributes:
        subject: the code.
        right: intended answers, of `asked`.
        asked: questions on the sheet.
        ambiguous: answers of X.
        empty: questions left empty.
        native: whether English is their first language; None when not declared.
    """

    subject: str
    right: int
    asked: int
    ambiguous: int
    empty: int
    native: bool | None

    @property
    def share(self) -> float:
        """The share right, 0–1."""
        return self.right / self.asked

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "subject": self.subject,
            "right": self.right,
            "asked": self.asked,
            "share": self.share,
            "ambiguous": self.ambiguous,
            "empty": self.empty,
            "native": self.native,
        }


@dataclass(frozen=True, slots=True)
class ItemRow:
    """How people did on one item.

    Attributes:
        row: of the problem in the data set.
        problem: its id.
        options: its options.
        answer: the intended one.
        choices: how many chose each option, as many as there are options.
        ambiguous: how many answered X.
        asked: how many were asked.
    """

    row: int
    problem: str
    options: tuple[str, ...]
    answer: int
    choices: Sequence[int]
    ambiguous: int
    asked: int

    @property
    def right(self) -> int:
        """How many gave the intended answer."""
        return self.choices[self.answer]

    @property
    def same(self) -> int:
        """How many gave the most frequent answer, intended or not; X is one, too."""
        return max(*self.choices, self.ambiguous)

    @property
    def majority(self) -> int | None:
        """The option that more people chose than any other answer; None for a tie, or X."""
        ranked = sorted((*self.choices, self.ambiguous), reverse=True)
        if ranked[0] == ranked[1] or self.ambiguous == ranked[0]:
            return None
        return list(self.choices).index(ranked[0])

    @property
    def flagged(self) -> bool:
        """Whether it is badly built: fewer than half gave the intended answer (section 4.2)."""
        return 2 * self.right < self.asked

    @property
    def reading(self) -> str:
        """What people read instead of the intended answer, in words; empty where nothing is."""
        if self.majority == self.answer:
            return ""
        if self.majority is not None:
            return self.options[self.majority]
        if self.ambiguous == self.same and list(self.choices).count(self.same) == 0:
            return "ambiguous (X)"
        most = [o for o, n in zip(self.options, self.choices, strict=True) if n == self.same]
        return " or ".join(most + ["ambiguous (X)"] * (self.ambiguous == self.same))

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "problem": self.problem,
            "asked": self.asked,
            "intended": self.right,
            "same": self.same,
            "choices": list(self.choices),
            "ambiguous": self.ambiguous,
            "flagged": self.flagged,
            "reading": self.reading,
        }
