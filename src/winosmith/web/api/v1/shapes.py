"""The shapes that many operations share: problems as the data have them, checks, errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from winosmith.records import problem_record
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.records import as_public

Ref = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^/\x00-\x1f]+$")]
"""An id: of a problem, a twin, a draft, a batch."""


class Shape(BaseModel):
    """What the API answers with."""

    model_config = ConfigDict(from_attributes=True)


class Asked(BaseModel):
    """What a program sends: nothing that the API does not know."""

    model_config = ConfigDict(extra="forbid")


class Fault(Shape):
    """One thing that is wrong: where, and what to do."""

    where: str
    detail: str


class Error(Shape):
    """An error, as problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Fault]


class Origin(Shape):
    """Where a problem comes from; who wrote it stands there by a pseudonym."""

    source: str | None = None
    author: str | None = None
    created: str | None = None
    domain: str | None = None
    anchor: str | None = None
    licence: str | None = None


class Edit(Shape):
    """One change of a token."""

    op: str
    at: int
    old: str = ""
    new: str = ""


class Lineage(Shape):
    """The root of a family, the problem that was perturbed, and how."""

    root: str
    parent: str
    edits: list[Edit] = []
    declared: int | None = None


class Problem(Shape):
    """A problem as the downloads have it: `winosmith` reads it."""

    id: str
    sentence: str
    options: list[str]
    answer: int | None = None
    twin_id: str | None = None
    pronoun: str | None = None
    origin: Origin | None = None
    lineage: Lineage | None = None
    embargo: bool = False
    extra: dict[str, str | int | float | bool | None] = {}


class Check(Shape):
    """What one rule says of what is being written.

    `verdict`: "pass", "fail", "note" (no hindrance), or "todo" where too little is written to tell.
    """

    rule: str
    half: int | None = None
    verdict: str
    label: str
    figure: str
    advice: str
    field: str


class Near(Shape):
    """A sentence that shares most of its words; its text only where you may see it."""

    where: str
    ref: str
    share: float
    sentence: str | None


def problems(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return problems as everyone may have them: no edit tells of a parent that is not public.

    Args:
        rows: with their twins and contributors; who asks may see them.
    """
    found: Sequence[Row] = list(rows)
    return [problem_record(datum) for datum in as_public(found)]
