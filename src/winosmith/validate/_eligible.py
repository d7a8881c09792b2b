"""Which responses count as votes, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Problem

__all__ = ["SetAside", "eligible"]

OWN = "the judge wrote the problem"
TWICE = "the judge had voted on it already"
HALF_SEEN = "the judge had seen the other half"
WHOLE_SEEN = "the judge had read more than the local context"
UNKNOWN = "there is no such problem in the data"
TEST = "it belongs to a human test"


@dataclass(frozen=True, slots=True)
class SetAside:
    """A response that does not count as a vote, with the reason."""

    response: Response
    reason: str


def eligible(
    dataset: Dataset, responses: Iterable[Response], *, both_halves: bool = False
) -> tuple[tuple[Response, ...], tuple[SetAside, ...]]:
    """Part the responses into votes that count and those set aside, each in the order given.

    The order is taken for the order in which people answered. Set aside are: a vote of the
    problem's own author (or of its other half's), a second vote of one judge on one problem for
    one purpose, a vote for the local context by someone who had read the whole problem, a vote by
    someone who had seen the other half (unless `both_halves`), responses of human tests, and
    responses to problems that the data set does not hold.

    Raises:
        DataError: a choice, or an order shown, that does not fit the problem's options.
    """
    authors, halves = _authors(dataset), _halves(dataset)
    rows = {problem.id: row for row, problem in enumerate(dataset)}
    seen: dict[str, dict[int, set[str]]] = {}
    votes: list[Response] = []
    aside: list[SetAside] = []
    for response in responses:
        row = rows.get(response.problem_id)
        if row is None:
            aside.append(SetAside(response, UNKNOWN))
            continue
        _check(response, dataset[row])
        before = seen.setdefault(response.participant, {})
        if response.purpose == "test":
            reason: str | None = TEST
        elif response.participant in authors[row]:
            reason = OWN
        else:
            reason = _had_seen(response, row, halves[row], before, both_halves)
        before.setdefault(row, set()).add(response.purpose)
        if reason:
            aside.append(SetAside(response, reason))
        else:
            votes.append(response)
    return tuple(votes), tuple(aside)


def _had_seen(
    response: Response,
    row: int,
    others: frozenset[int],
    before: dict[int, set[str]],
    both_halves: bool,
) -> str | None:
    """Return what spoils this vote, or None; `before` has the purposes of each row seen."""
    here = before.get(row, set())
    if response.purpose in here:
        return TWICE
    if response.purpose == "local" and not here.isdisjoint(("validate", "test")):
        return WHOLE_SEEN
    if not both_halves and any(other in before for other in others):
        return HALF_SEEN
    return None


def _halves(dataset: Dataset) -> list[frozenset[int]]:
    """Return, for each row, the other rows of its twin id."""
    others: list[frozenset[int]] = [frozenset()] * len(dataset)
    for rows in dataset.groups:
        for row in rows:
            others[row] = frozenset(rows) - {row}
    return others


def _authors(dataset: Dataset) -> list[frozenset[str]]:
    """Return, for each row, the authors of the problem and of its other half."""
    authors: list[frozenset[str]] = [frozenset()] * len(dataset)
    for rows in dataset.groups:
        origins = (dataset[row].origin for row in rows)
        names = frozenset(o.author for o in origins if o is not None and o.author is not None)
        for row in rows:
            authors[row] = names
    return authors


def _check(response: Response, problem: Problem) -> None:
    options = len(problem.options)
    if response.choice is not None and response.choice >= options:
        raise DataError(
            f"{response.participant!r} chose option {response.choice + 1} of the problem "
            f"{problem.id!r}, which has {options}; correct the vote or leave it empty"
        )
    if response.shown and len(response.shown) != options:
        raise DataError(
            f"{response.participant!r} was shown {len(response.shown)} options of the problem "
            f"{problem.id!r}, which has {options}; correct the order or leave it empty"
        )
