"""What is asked and told of perturbed sentences."""

from __future__ import annotations

from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import Field

from winosmith.web.api.v1.faults import Malformed
from winosmith.web.api.v1.shapes import Asked, Check, Problem, Shape
from winosmith.web.perturb.checking import Typed
from winosmith.web.problems.models import Problem as ProblemRow

__all__ = [
    "Bent",
    "Depths",
    "ExaminedVersion",
    "MadeVersion",
    "Predicted",
    "PredictedOption",
    "Version",
]

Text = Annotated[str, Field(max_length=10_000)]


class Bent(Asked):
    """A sentence with as many options as its parent has, and what the blank stands for now."""

    sentence: Text
    options: Annotated[list[Text], Field(min_length=2, max_length=5)]
    answer: int | None = Field(None, ge=0, le=4)
    declared: int | None = Field(None, ge=0, le=999, description="a depth that you state yourself")
    against: str = Field("", max_length=30, description="the name of a model that you want to fool")

    def typed(self, parent: ProblemRow) -> Typed:
        """Return the same as the form of the page has it, tidied.

        Raises:
            Malformed: the parent has more options, or fewer.
        """
        if len(self.options) != len(parent.options):
            raise Malformed({"options": [_("Send %d options.") % len(parent.options)]})
        form: dict[str, Any] = {"sentence": self.sentence, "against": self.against}
        form["answer"] = "" if self.answer is None else str(self.answer)
        form["declared"] = "" if self.declared is None else str(self.declared)
        form |= {f"option_{n}": option for n, option in enumerate(self.options, 1)}
        return Typed.of(form, len(parent.options))


class Depths(Shape):
    """How far a version is from its root, counted in three ways; null where it is not known."""

    declared: int | None
    lineage: int | None
    edit: int | None


class ExaminedVersion(Shape):
    """What the rules say; `ready` to be sent where none fails."""

    ready: bool
    next: str
    checks: list[Check]
    hints: list[str]
    edits: list[str]
    depths: Depths | None


class PredictedOption(Shape):
    """An option of a prediction: its probability in percent, as far as the model tells one."""

    option: str
    percent: int | None
    chosen: bool
    answer: bool


class Predicted(Shape):
    """What a model makes of a version. `stand`: "waiting", "done", "late" or "failed"."""

    model: str
    target: bool
    stand: str
    fooled: bool | None = Field(
        description="its choice is not the contributor's answer, unless the version was not found "
        "valid, was withdrawn or replaced: such a one fools nobody. It counts once `state` is "
        '"valid". None while that is not known, and for a tie'
    )
    tie: bool
    right_on_parent: bool | None
    seconds: float | None
    options: list[PredictedOption]
    why: str


class Version(Shape):
    """A version: how it stands, where in its family, and what the models make of it."""

    problem: Problem
    state: str
    root: str | None
    parent: str | None
    step: int
    depths: Depths
    predictions: list[Predicted]
    waiting: bool = Field(description="a model has not answered yet: ask again after `pace`")
    pace: int = Field(description="milliseconds after which to ask again; 0 for never")
    hints: list[str]
    may_perturb: bool
    may_revise: bool


class MadeVersion(Shape):
    """The version that was made; see /versions/{ref}."""

    version: str
