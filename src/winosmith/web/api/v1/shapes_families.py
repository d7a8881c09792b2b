"""What is asked and told of families."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from winosmith.web.api.v1.shapes import Asked, Problem, Shape

__all__ = [
    "AtDepth",
    "Board",
    "BoardEntry",
    "BoardWanted",
    "Choice",
    "ErrorCount",
    "ErrorDepth",
    "Families",
    "FamiliesWanted",
    "Family",
    "FirstErrors",
    "Follows",
    "GrownFamily",
    "Measured",
    "StabilityWanted",
    "TreeVersion",
    "TreeVersions",
    "VersionsWanted",
]


class FamiliesWanted(Asked):
    """Which families, in which order."""

    q: str = Field("", max_length=200, description='words, "phrases", and -words')
    sort: Literal["size", "newest", "fooling"] = "size"
    page: int = Field(1, ge=1, le=10_000_000)


class BoardWanted(Asked):
    """By what the board is sorted."""

    sort: Literal["fools", "versions", "families", "deepest"] = "fools"
    page: int = Field(1, ge=1, le=10_000_000)


class StabilityWanted(Asked):
    """How depths are counted."""

    depth: Literal["declared", "lineage", "edit"] = "lineage"


class VersionsWanted(Asked):
    """Where a page of versions begins."""

    after: str = Field("", max_length=80, description="`next` of the page before")


class ErrorCount(Shape):
    """How often a model is wrong; a tie counts for what it is not worth."""

    model: str
    wrong: int | float
    answered: int
    ties: int


class Family(Shape):
    """A family in a list: public versions alone."""

    root: Problem
    versions: int
    deepest: int
    errors: list[ErrorCount]


class Families(Shape):
    """A page of families, 20 or fewer."""

    items: list[Family]
    count: int
    page: int
    pages: int


class ErrorDepth(Shape):
    """How deep a model's errors are, beside a coin flipper's."""

    kind: str
    n: int
    errors: int | float
    mean: float | None
    coin: float | None
    first: float | None
    coin_first: float | None


class AtDepth(Shape):
    """How many versions of one depth are answered rightly."""

    depth: int
    n: int
    right: int | float
    ties: int


class FirstErrors(Shape):
    """What becomes at one depth of the paths from the root; a tie goes on for what it is worth."""

    depth: int
    before: int | float
    errors: int | float
    ends: int | float
    ties: int


class Follows(Shape):
    """How far a model follows a family."""

    model: str
    waiting: int
    depths: list[ErrorDepth]
    accuracy: list[AtDepth]
    first_errors: list[FirstErrors]


class GrownFamily(Shape):
    """A family: its root, how far it grew, and how far each model follows."""

    root: str
    version: str
    size: int
    deepest: int
    depth: str = Field(description="the depth that accuracies and first errors are told by")
    models: list[Follows]


class Choice(Shape):
    """What a model makes of a version; null where it has not answered.

    With `tie` it could not decide between options: `choice` is the first of them, `right` is null.
    """

    model: str
    choice: int | None
    right: bool | None
    tie: bool


class TreeVersion(Shape):
    """A version in its tree, below the next one above that you can see."""

    problem: Problem
    public: bool
    parent: str | None
    declared: int | None
    lineage: int | None
    edit: int | None
    predictions: list[Choice]


class TreeVersions(Shape):
    """A page of versions, each after its parent, 100 or fewer."""

    items: list[TreeVersion]
    next: str | None


class Measured(Shape):
    """What was measured of a model over all families; see `winosmith score --stability`."""

    name: str
    revision: str
    fault: str
    families: int | None = None
    stability: dict[str, Any] | None = None


class BoardEntry(Shape):
    """What a contributor did, by pseudonym."""

    rank: int
    name: str
    versions: int
    families: int
    fooled: int
    deepest: int | None


class Board(Shape):
    """A page of the board, 50 or fewer."""

    items: list[BoardEntry]
    count: int
    page: int
    pages: int
