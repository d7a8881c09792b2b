"""The family of a problem as a moderator sees it: the way from the root, and what models say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from winosmith.web.people.pseudonyms import pseudonym
from winosmith.web.perturb.edits import Piece, pieces
from winosmith.web.perturb.family import path_to
from winosmith.web.perturb.models import Version
from winosmith.web.predict import asking

if TYPE_CHECKING:
    from winosmith.web.predict.models import Prediction
    from winosmith.web.problems.models import Problem

__all__ = ["Step", "family_of"]

ENDS = 6
"""Steps that are shown of a long way, at either end."""


@dataclass(frozen=True, slots=True)
class Step:
    """A version on the way from the root.

    Attributes:
        pieces: the sentence, with what was changed of the one before.
        skipped: how many steps before this one are not shown.
    """

    problem: Problem
    version: Version
    pieces: list[Piece]
    skipped: int = 0


def family_of(problem: Problem) -> dict[str, Any] | None:
    """Return what the page of a problem shows of its family; None where it has none.

    Its root; the steps from there to the problem; what the site's models make of it; where the
    queue shows the family, and what its contributor wrote of it.
    """
    path = path_to(problem)
    versions = {version.problem_id: version for version in _versions(path)}
    if not versions:
        return None
    root = path[0]
    contributor = problem.twin.contributor
    return {
        "root": root,
        "path": path,
        "steps": list(_steps(path, versions)),
        "predictions": [_told(problem, one) for one in asking.of(problem)],
        "size": Version.objects.filter(root=root).count(),
        "all": _queue(root),
        "theirs": _queue(root, by=pseudonym(contributor)) if contributor else "",
    }


def _versions(path: Sequence[Problem]) -> Sequence[Version]:
    return list(Version.objects.filter(problem__in=[problem.pk for problem in path]))


def _steps(path: Sequence[Problem], versions: dict[int, Version]) -> Iterator[Step]:
    shown = [at for at in range(len(path)) if at < ENDS or at >= len(path) - ENDS]
    last = -1
    for at in shown:
        problem, before = path[at], path[max(0, at - 1)]
        marked = pieces(before.sentence, problem.sentence)
        yield Step(problem, versions[problem.pk], marked, at - last - 1)
        last = at


def _told(problem: Problem, one: Prediction) -> dict[str, Any]:
    known = one.choice is not None and not one.tie
    chose = problem.options[one.choice] if known else ""
    return {"prediction": one, "chose": chose, "stand": one.get_stand_display()}


def _queue(root: Problem, **more: str) -> str:
    return f"{reverse('moderate:queue')}?{urlencode({'state': '', 'family': root.ref, **more})}"
