"""`Typed`: what somebody has typed on the form, tidied; nothing about it need be complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winosmith.text import with_blank_apart
from winosmith.web.problems.models import Problem
from winosmith.web.write.fields import tidy

__all__ = ["Typed"]


@dataclass(frozen=True, slots=True)
class Typed:
    """What the form holds.

    Attributes:
        sentence: perhaps without a blank; one that was typed against a word stands apart from it.
        options: as many as the parent has, some perhaps empty.
        answer: the 0-based index of the right option; None while none is chosen.
        declared: the depth that the contributor states, as typed; "" for none.
        against: the name of the model that they want to fool; "" for none.
        parted: whether the blank had to be set apart.
    """

    sentence: str
    options: tuple[str, ...]
    answer: int | None = None
    declared: str = ""
    against: str = ""
    parted: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, form: Mapping[str, Any], options: int) -> Typed:
        """Return what a form holds, as far as it is one.

        Args:
            form: as it was sent.
            options: how many there are.
        """
        answer = str(form.get("answer", ""))
        written = tidy(str(form.get("sentence", "")))
        sentence = with_blank_apart(written)
        return cls(
            sentence,
            tuple(tidy(str(form.get(f"option_{n}", ""))) for n in range(1, options + 1)),
            int(answer) if answer in map(str, range(options)) else None,
            tidy(str(form.get("declared", "")))[:20],
            tidy(str(form.get("against", "")))[:30],
            sentence != written,
        )

    @classmethod
    def copied(cls, problem: Problem, against: str = "") -> Typed:
        """Return a problem as the form shows it first: its answer is to be chosen anew."""
        return cls(problem.sentence, tuple(problem.options), None, "", against)

    @classmethod
    def again(cls, problem: Problem, against: str = "") -> Typed:
        """Return a version as it was typed."""
        declared = (problem.record.get("lineage") or {}).get("declared")
        return cls(
            problem.sentence,
            tuple(problem.options),
            problem.answer,
            "" if declared is None else str(declared),
            against,
        )

    @property
    def depth(self) -> int | None:
        """The declared depth; None where none, or none that can be used, is stated."""
        usable = self.declared.isascii() and self.declared.isdigit() and len(self.declared) < 4
        return int(self.declared) if usable else None
