"""Copies in a pool: one of each stays in a new benchmark, in whole twins, and none that contradict.

A copy adds no observation. It only counts one twice, and in training it tells a solver that the
problem is worth more than others; of two that contradict each other, one at least is wrong.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from winosmith.blocks import contradictions, copies
from winosmith.dataset import Dataset

Copies = Literal["once", "keep"]
"""What a recipe says of them."""

COPIES = "copies"
"""The stage that leaves them out."""

SHOWN = 3
"""Groups that a report names."""

_COPY = "copy: of a problem that is kept"
_HALF_OF_COPY = "copy: its other half is one of a problem that is kept"
_ONE_TWICE = "copy: its other half is the same problem"
_AGAINST = "contradictory: a copy of it has another answer"
_HALF_AGAINST = "contradictory: a copy of its other half has another answer"


@dataclass(frozen=True, slots=True)
class Once:
    """What of a data set is left out so that nothing in it is there twice.

    Attributes:
        reasons: why, by row.
        of: for each row that is a copy of one that stays, that one.
        groups: the rows of identical problems, two or more a group.
        contradictory: those of `groups` whose answers differ.
    """

    reasons: Mapping[int, str]
    of: Mapping[int, int]
    groups: Sequence[Sequence[int]]
    contradictory: Sequence[Sequence[int]]


def once(dataset: Dataset, seed: int, known: Collection[str] = ()) -> Once:
    """Find what is to be left out: all but one of each, and all that contradicts itself.

    A twin stays or goes whole, so no single is made; the price is that a half may go that is no
    copy. Twins come before singles: where a single is a copy of a half, the single goes. Of twins
    that share a half, the one stays that is in the way of the fewest. Among equals it is the one
    that was published before, then one that is no perturbed problem, and then a digest of seed,
    sentences and ids decides: neither the order of the rows nor that of the options, nor the
    answers.

    Args:
        dataset: the problems.
        seed: of the digest.
        known: ids of problems that were published before.

    >>> from winosmith import Problem
    >>> fell = [Problem(id_, "The _ fell.", ("cup", "jug"), 0) for id_ in "ab"]
    >>> found = once(Dataset(fell), 0)
    >>> len(found.reasons), set(found.reasons.values())
    (1, {'copy: of a problem that is kept'})
    """
    groups = copies(dataset)
    against = contradictions(dataset, groups)
    alike = {row: rows[0] for rows in groups for row in rows}
    wrong = {row for rows in against for row in rows}
    units = [*dataset.twins, *((row,) for row in dataset.singles)]
    reasons = {
        row: _AGAINST if row in wrong else _HALF_AGAINST
        for unit in units
        if not wrong.isdisjoint(unit)
        for row in unit
    }
    concerned = [
        unit
        for unit in units
        if not alike.keys().isdisjoint(unit) and reasons.keys().isdisjoint(unit)
    ]
    holders = Counter(of for unit in concerned for of in {alike.get(row, row) for row in unit})

    def rank(unit: tuple[int, ...]) -> tuple[object, ...]:
        problems = [dataset[row] for row in unit]
        return (
            len(unit) == 1,
            sum(holders[alike.get(row, row)] - 1 for row in unit),
            not any(problem.id in known for problem in problems),
            any(problem.lineage for problem in problems),
            sorted(_digest(seed, problem.sentence) for problem in problems),
            sorted(_digest(seed, problem.id) for problem in problems),
        )

    stays: dict[int, int] = {}
    gone: list[tuple[int, ...]] = []
    for unit in sorted(concerned, key=rank):
        held = {alike.get(row, row): row for row in unit}
        if len(held) == len(unit) and stays.keys().isdisjoint(held):
            stays |= held
        else:
            gone.append(unit)
    of = {row: stays[alike[row]] for unit in gone for row in unit if alike.get(row) in stays}
    for unit in gone:
        other = _HALF_OF_COPY if any(row in of for row in unit) else _ONE_TWICE
        reasons |= {row: _COPY if row in of else other for row in unit}
    return Once(reasons, of, groups, against)


def _digest(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{text}".encode()).digest()


def copies_record(
    found: Once, rule: Copies, ids: Sequence[str], shown: Collection[str]
) -> dict[str, Any]:
    """Return what a build says of its copies, as JSON holds it; nothing where there are none.

    Args:
        found: among the problems that passed the checks.
        rule: of the recipe.
        ids: those that the problems are published with.
        shown: those of them that may be named: a copy of a test problem tells what is in test.
    """
    named = [[ids[row] for row in rows] for rows in found.groups]
    if not named:
        return {}
    return {
        "rule": rule,
        "groups": len(named),
        "problems": sum(map(len, named)),
        "contradictory": len(found.contradictory),
        "left_out": len(found.reasons) if rule == "once" else 0,
        "none_left": len(_none_left(found)) if rule == "once" else 0,
        "examples": [of for of in named if all(id_ in shown for id_ in of)][:SHOWN],
    }


def _none_left(found: Once) -> list[Sequence[int]]:
    """Return the groups of which no row stays, though their answers agree."""
    against = {*map(tuple, found.contradictory)}
    return [
        rows
        for rows in found.groups
        if tuple(rows) not in against and all(row in found.reasons for row in rows)
    ]


def copies_told(record: Mapping[str, Any] | None) -> list[str]:
    """Return what a build says of its copies, in sentences.

    >>> found = {"rule": "once", "groups": 2, "problems": 4, "contradictory": 1, "left_out": 3}
    >>> for line in copies_told({**found, "examples": [["mine-3", "mine-7"]]}):
    ...     print(line)
    Of 4 problems that are 2 (mine-3 = mine-7), one of each stays, in whole twins; 3 are left out
    1 of the 2 has copies with different answers: all of them are left out; correct their answers
    """
    if not record:
        return []
    groups, against = record["groups"], record["contradictory"]
    named = "; ".join(" = ".join(ids) for ids in record["examples"])
    whole = f"Of {record['problems']:,} problems that are {groups:,}{named and f' ({named})'}"
    once, none = record["rule"] == "once", record.get("none_left", 0)
    but = f" (of {none:,} none stays, since no whole twin of it can)" if none else ""
    lines = [
        f"{whole}, one of each stays, in whole twins{but}; {record['left_out']:,} are left out"
        if once
        else f'{whole}, all are kept, as the recipe says; copies = "once" keeps one of each'
    ]
    if against:
        have = "has" if against == 1 else "have"
        done = "all of them are left out; correct" if once else "correct"
        lines.append(
            f"{against:,} of the {groups:,} {have} copies with different answers: {done} their "
            "answers"
        )
    return lines
