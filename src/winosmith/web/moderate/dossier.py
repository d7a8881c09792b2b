"""Everything about a problem that a moderator's decision may rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from winosmith.web.judge.votes import Vote, skips_of, votes_of
from winosmith.web.moderate import undoing
from winosmith.web.moderate.contributors import written_by
from winosmith.web.moderate.deciding import actions_for
from winosmith.web.moderate.family import family_of
from winosmith.web.moderate.rows import Row, entry, rows
from winosmith.web.problems.lookalikes import lookalikes
from winosmith.web.problems.models import Problem

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["dossier"]


def dossier(reader: Person, problem: Problem) -> dict[str, Any]:
    """Return what the page of a problem shows.

    Both halves with their differences, the way from the root of its family, hints and
    near-duplicates outside the family with their text, the votes without names, the history, the
    contributor's record, and what the reader can do.
    """
    family = family_of(problem)
    contributor = problem.twin.contributor
    events = problem.events.select_related("actor", "problem__twin").order_by("-pk")
    last = undoing.undoable(reader, problem)
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
