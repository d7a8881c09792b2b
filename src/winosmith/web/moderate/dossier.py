"""Everything about a problem that a moderator's decision may rest on, with its family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from winosmith.lineage import Change, changes
from winosmith.web.judge.votes import Vote, skips_of, votes_of
from winosmith.web.moderate.deciding import actions_for, undoable
from winosmith.web.moderate.people import written_by
from winosmith.web.moderate.rows import Row, entry, rows
from winosmith.web.people.models import pseudonym
from winosmith.web.predict import asking
from winosmith.web.problems.family import path_to
from winosmith.web.problems.lookalikes import lookalikes
from winosmith.web.problems.models import Problem, Version

if TYPE_CHECKING:
    from winosmith.web.people.models import Person
    from winosmith.web.predict.models import Prediction


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
    pieces: list[Change]
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
        marked = changes(before.sentence, problem.sentence)
        yield Step(problem, versions[problem.pk], marked, at - last - 1)
        last = at


def _told(problem: Problem, one: Prediction) -> dict[str, Any]:
    known = one.choice is not None and not one.tie
    chose = problem.options[one.choice] if known else ""
    return {"prediction": one, "chose": chose, "stand": one.get_stand_display()}


def _queue(root: Problem, **more: str) -> str:
    return f"{reverse('moderate:queue')}?{urlencode({'state': '', 'family': root.ref, **more})}"


def dossier(reader: Person, problem: Problem) -> dict[str, Any]:
    """Return what the page of a problem shows.

    Both halves with their differences, the way from the root of its family, hints and
    near-duplicates outside the family with their text, the votes without names, the history, the
    contributor's record, and what the reader can do.
    """
    family = family_of(problem)
    contributor = problem.twin.contributor
    events = problem.events.select_related("actor", "problem__twin").order_by("-pk")
    last = undoable(reader, problem)
    return {
        "problem": problem,
        "halves": _halves(reader, problem),
        "family": family,
        "near": [
            (one, round(100 * one.share))
            for one in lookalikes(
                problem.sentence,
                problem.options,
                without=problem.twin_id,
                family=family["root"] if family else None,
                reader=reader,
            )
        ],
        "votes": [_vote(problem, vote) for vote in votes_of(problem, excluded=True)],
        "skips": list(skips_of(problem).items()),
        "events": [entry(event) for event in events],
        "undoable": last.pk if last else None,
        "record": written_by(contributor) if contributor else None,
        "actions": actions_for(reader, problem),
    }


def _vote(problem: Problem, vote: Vote) -> dict[str, Any]:
    """Return a vote with its options as texts."""
    chose, local = (
        problem.options[index] if index is not None and index < len(problem.options) else ""
        for index in (vote.choice, vote.local_choice)
    )
    return {
        "judge": vote.judge,
        "chose": chose or _("neither"),
        "local": local,
        "right": vote.right,
        "ambiguous": vote.ambiguous,
        "associative": vote.associative,
        "excluded": vote.excluded,
        "provisional": vote.provisional,
        "comment": vote.comment,
    }


def _halves(reader: Person, problem: Problem) -> list[Row]:
    """Return the problem and, after it, its other half."""
    others = list(
        problem.twin.problems.exclude(pk=problem.pk).select_related("twin__contributor")[:1]
    )
    if not others:
        return rows(reader, [problem])
    mine = rows(reader, [problem], others[0].sentence)
    return mine + rows(reader, others, problem.sentence)
