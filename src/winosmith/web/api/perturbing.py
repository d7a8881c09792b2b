"""Perturbing: a sentence is bent a little, and models say what they make of it.

The shapes of what is asked and told come first, then the operations.
"""

from __future__ import annotations

from typing import Annotated, Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from ninja import Router
from pydantic import Field

from winosmith.web.api import door
from winosmith.web.api.door import Asked, Key, Problem, Ref, Shape, asks, owner, reader
from winosmith.web.judge.models import note_read
from winosmith.web.people.gates import new_key, rate_limit, rate_limit_typing
from winosmith.web.people.models import Person
from winosmith.web.perturb import rules
from winosmith.web.perturb.page import Bar, checked, outcome, own_version, perturbable
from winosmith.web.perturb.rules import Place, Typed
from winosmith.web.problems.checks import Check
from winosmith.web.problems.family import may_perturb, path_to
from winosmith.web.problems.models import Problem as ProblemRow
from winosmith.web.problems.models import State
from winosmith.web.problems.models import Version as Row
from winosmith.web.problems.states import visible_to

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
            raise door.Malformed({"options": [_("Send %d options.") % len(parent.options)]})
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
    options: list[Bar]
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


router = Router(tags=["perturb"])


@router.post(
    "/problems/{ref}/perturb/check", response=ExaminedVersion, summary="Check", **asks("write")
)
def check(request: HttpRequest, ref: Ref, bent: Bent) -> dict[str, Any]:
    """Tell what the rules say of a perturbed sentence, and write nothing."""
    place = _below(owner(request), ref)
    rate_limit_typing(owner(request), "check", settings.RULES.perturbs_per_hour)
    return _examined(place, bent.typed(place.parent))


@router.post(
    "/problems/{ref}/perturb",
    response={201: MadeVersion},
    summary="Perturb a problem",
    **asks("write", agreed=True),
)
def perturb(request: HttpRequest, ref: Ref, bent: Bent, key: Key) -> dict[str, Any]:
    """Make a version of a problem; judges and moderators get it, and every model is asked."""
    place = _below(owner(request), ref)
    return _made(request, key, bent.typed(place.parent), place)


@router.get("/versions/{ref}", response=Version, summary="A version", **asks("read", public=True))
def read_version(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read a version that you may see, with what the models make of it."""
    person = reader(request)
    rows = Row.objects.select_related("problem__twin__contributor", "root__twin", "parent__twin")
    version = rows.filter(problem__ref=ref, parent__isnull=False).first()
    if version is None or not visible_to(person, version.problem):
        raise Http404
    problem = version.problem
    note_read(person, [row for row in path_to(problem) if visible_to(person, row)])
    parent = version.parent if visible_to(person, version.parent) else None
    told = outcome(person, problem, version, parent)
    return {
        "problem": door.problems([problem])[0],
        "state": problem.state,
        "root": version.root.ref if visible_to(person, version.root) else None,
        "parent": parent.ref if parent else None,
        "step": version.step,
        "depths": version,
        "predictions": [_predicted(one, void=told["void"]) for one in told["shown"]],
        "waiting": bool(told["waiting"]),
        "pace": told["pace"],
        "hints": problem.hints if told["own"] and problem.state == State.HELD else [],
        "may_perturb": may_perturb(person, problem),
        "may_revise": rules.revisable(person, problem),
    }


@router.post(
    "/versions/{ref}/revise/check", response=ExaminedVersion, summary="Check", **asks("write")
)
def check_revision(request: HttpRequest, ref: Ref, bent: Bent) -> dict[str, Any]:
    """Tell what the rules say of a revision, and write nothing."""
    place = Place.of(owner(request), own_version(owner(request), ref))
    rate_limit_typing(owner(request), "check", settings.RULES.perturbs_per_hour)
    return _examined(place, bent.typed(place.parent))


@router.post(
    "/versions/{ref}/revise",
    response={201: MadeVersion},
    summary="Revise a version",
    **asks("write", agreed=True),
)
def revise(request: HttpRequest, ref: Ref, bent: Bent, key: Key) -> dict[str, Any]:
    """Replace a version of your own that waits or was rejected."""
    place = Place.of(owner(request), own_version(owner(request), ref))
    return _made(request, key, bent.typed(place.parent), place)


def _made(request: HttpRequest, key: str, typed: Typed, place: Place) -> dict[str, Any]:
    """Write a version once for a key; the rule keeps a key of its own in the same transaction."""
    person = owner(request)

    def limit() -> None:
        rate_limit(person, "perturb", settings.RULES.perturbs_per_hour)

    return door.acted(
        request, key, lambda: {"version": rules.write(place, typed, new_key(), before=limit).ref}
    )


def _below(person: Person, ref: str) -> Place:
    """Return the place below a problem; whoever writes there knows the way to it."""
    place = Place.below(person, perturbable(person, ref))
    note_read(person, [row for row in place.path if visible_to(person, row)])
    return place


def _examined(place: Place, typed: Typed) -> dict[str, Any]:
    told = checked(place, typed)
    return {name: told[name] for name in ("ready", "next", "checks", "hints", "edits", "depths")}


def _predicted(one: dict[str, Any], *, void: bool) -> dict[str, Any]:
    row = one["prediction"]
    return {
        "model": row.model.name,
        "target": one["target"],
        "stand": row.stand,
        "fooled": one["fooled"] and not void,
        "tie": row.tie,
        "right_on_parent": one["parent"],
        "seconds": row.seconds,
        "options": one["bars"],
        "why": one["down"] or row.why,
    }
