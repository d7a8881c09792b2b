"""What is refused before a release is written: licences, missing answers, telling fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics import leaks
from winosmith.problem import Problem
from winosmith.release._about import About, DataSource
from winosmith.release._disjoint import straddles
from winosmith.release._ids import sight
from winosmith.release._licences import conflict
from winosmith.release._parts import TEST

__all__ = [
    "check_answers",
    "check_apart",
    "check_licences",
    "check_tells",
    "licence_faults",
    "tells",
]

_SEEN = ("sentence", "options")
"""Fields that a solver sees: what gives an answer away there is a property of the problems."""


def source_of(about: About, problem: Problem) -> DataSource | None:
    """Return the source that a problem is from, by what release.toml names."""
    by_name = {source.name: source for source in about.source}
    name = problem.origin.source if problem.origin else None
    return by_name.get(name or "*") or by_name.get("*")


def licence_faults(about: About, problems: Iterable[Problem]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with licences: the first problem's id ("" for all), what, what to do."""
    for source in about.source:
        why = conflict(source.licence, source.asks, about.licence, about.asks)
        if why and not source.permission:
            yield (
                "",
                f"the source {source.name!r}: {why}",
                "release under a licence that fits, leave these problems out, or give the owner's "
                "permission as the source's `permission` in release.toml",
            )
    first: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        for what in _uncovered(about, problem):
            first.setdefault(what, []).append(problem.id)
    for (fault, do), ids in first.items():
        count = f"{len(ids)} problems" if len(ids) > 1 else "1 problem"
        yield ids[0], f"{count} ({ids[0]!r}{', …' if len(ids) > 1 else ''}): {fault}", do


def _uncovered(about: About, problem: Problem) -> Iterator[tuple[str, str]]:
    name = problem.origin.source if problem.origin else None
    stated = problem.origin.licence if problem.origin else None
    source = source_of(about, problem)
    if source is None:
        yield (
            f"no licence is stated for the source {name!r}" if name else "the source is not stated",
            f'add [[source]] with name = "{name or "*"}" and its licence to release.toml',
        )
    elif stated is not None and stated != source.licence:
        yield (
            f"their licence is {stated}, release.toml says {source.licence} of {source.name!r}",
            "correct one of the two; problems of one source have one licence",
        )
    elif problem.lineage and "no-derivatives" in source.asks and not source.permission:
        yield (
            f"they are perturbed, and {source.licence} of {source.name!r} allows no adaptation",
            "leave them out, or give the owner's permission as the source's `permission`",
        )


def check_licences(about: About, problems: Iterable[Problem]) -> None:
    """Raise DataError unless every problem's licence is known and fits into the whole's."""
    faults = [f"{what}; {do}" for _, what, do in licence_faults(about, problems)]
    if faults:
        raise DataError("\n".join(faults))


def check_answers(parts: Mapping[str, Dataset]) -> None:
    """Raise DataError when a part other than test lacks answers."""
    for part, dataset in parts.items():
        without = [problem.id for problem in dataset if problem.answer is None]
        if without and part != TEST:
            raise DataError(
                f"{len(without)} of {len(dataset)} problems of {part} have no answer "
                f"({without[0]!r}, …); leave them out, or name the file test if it is to be solved"
            )
        if not len(dataset):
            raise DataError(f"no problem is left of {part}; leave its file out")


def check_apart(parts: Mapping[str, Dataset], kinds: Sequence[str]) -> None:
    """Raise DataError when sides share what they must not."""
    found = list(straddles(parts, kinds))
    if found:
        told = [
            f"{parts[one.part][one.row].id!r} of {one.part} and "
            f"{parts[one.other_part][one.other_row].id!r} of {one.other_part}: {one.why}"
            for one in found[:5]
        ]
        more = f"\nand {len(found) - 5} more" if len(found) > 5 else ""
        raise DataError(
            f"{len(found)} group{'s' * (len(found) > 1)} of problems on both sides of a "
            "split; put each on one side, "
            "or give one file and --disjoint, which splits it:\n" + "\n".join(told) + more
        )


def tells(test: Dataset, told: Dataset) -> list[str]:
    """Return what of a test set gives its answers away, beside the problems themselves.

    Args:
        test: as it is published.
        told: with answers, whatever its ids.
    """
    answers = {sight(problem): problem.answer for problem in told if problem.answer is not None}
    known = Dataset(
        replace(problem, answer=answers[sight(problem)])
        for problem in test
        if sight(problem) in answers
    )
    return [str(leak) for leak in leaks(known) or () if leak.field not in _SEEN]


def check_tells(test: Dataset, told: Dataset) -> None:
    """Raise DataError when ids, order or another field of test give its answers away."""
    found = tells(test, told)
    if found:
        raise DataError(
            "test would give its answers away: " + "; ".join(found) + "; with --ids digest the ids "
            "are made from what a solver sees; take other fields out of the file"
        )
