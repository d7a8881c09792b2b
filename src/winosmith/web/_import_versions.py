"""The families of imported problems: each version's place in its tree, in linear time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from winosmith import Dataset
from winosmith import Problem as Datum
from winosmith.lineage import depths
from winosmith.web._chunked import chunked

if TYPE_CHECKING:
    from winosmith.web.problems.models import Problem

CHUNK = 500
"""Rows that are asked for, or written, at once."""


def below_embargoes(data: Iterable[Datum]) -> set[str]:
    """Return the ids of those of a file that stand below a problem under embargo.

    That problem is in the file, or on the site already. A file is read in many steps; what is
    covered by the embargo in the end is not to be seen before.
    """
    below: dict[str, list[str]] = {}
    marked = set()
    for datum in data:
        if datum.embargo:
            marked.add(datum.id)
        if datum.lineage:
            for above in {datum.lineage.parent, datum.lineage.root}:
                below.setdefault(above, []).append(datum.id)
    found: set[str] = set()
    waiting = [*marked, *_under_embargo(below)]
    while waiting:
        new = set(below.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found - marked


def _under_embargo(refs: Iterable[str]) -> Iterator[str]:
    from winosmith.web.problems.models import Problem

    kept_back = Problem.objects.filter(embargo=True, gold=False)
    for some in chunked(refs, CHUNK):
        yield from kept_back.filter(ref__in=some).values_list("ref", flat=True)


def add_versions(data: Iterable[Datum]) -> tuple[int, int]:
    """Give each perturbed problem its place in its family; what has one keeps it.

    The problems are on the site already. The lineages are those that the site holds, so a file
    that tells another one changes nothing.

    Returns:
        How many versions of the data have a place now, and how many have none, because their root,
        or a parent on the way to it, is not on the site. These get theirs when the same data are
        imported again after what was missing.
    """
    perturbed = {datum.id: datum.root for datum in data if datum.lineage}
    if not perturbed:
        return 0, 0
    rows = _rows(perturbed)
    family = Dataset(_as_data(rows.values()))
    steps = _steps(family)
    _write(_versions(rows, family, steps))
    _cover([rows[name].pk for name in steps if rows[name].embargo])
    placed = sum(name in steps for name in perturbed)
    return placed, len(perturbed) - placed


def _rows(perturbed: Mapping[str, str]) -> dict[str, Problem]:
    """Return the problems, their roots, and all that these families have already, by id."""
    from winosmith.web.people.erasure import ERASED_SENTENCE
    from winosmith.web.perturb.models import Version
    from winosmith.web.problems.models import Problem
    from winosmith.web.problems.records import lean

    kept = Problem.objects.filter(gold=False).exclude(sentence=ERASED_SENTENCE)
    query = lean(kept.select_related("twin__contributor"))
    named = set(perturbed.values())
    found = [
        row for refs in chunked({*perturbed, *named}, CHUNK) for row in query.filter(ref__in=refs)
    ]
    roots = [row.pk for row in found if row.ref in named]
    for keys in chunked(roots, CHUNK):
        known = Version.objects.filter(root__in=keys).values("problem")
        found += query.filter(pk__in=known)
    return {row.ref: row for row in sorted(found, key=lambda row: row.pk)}


def _as_data(rows: Iterable[Problem]) -> Iterator[Datum]:
    from winosmith.web.problems.records import as_problem

    return map(as_problem, rows)


def _steps(family: Dataset) -> dict[str, int]:
    """Return how many perturbations each version is away from its root, by id; lost ones not."""
    children: dict[str, list[Datum]] = {}
    for datum in family:
        if datum.lineage:
            children.setdefault(datum.lineage.parent, []).append(datum)
    roots = [datum for datum in family if not datum.lineage and datum.id in children]
    steps = {datum.id: 0 for datum in roots}
    waiting = list(roots)
    while waiting:
        parent = waiting.pop()
        for child in children.get(parent.id, ()):
            if child.root == parent.root:
                steps[child.id] = steps[parent.id] + 1
                waiting.append(child)
    return steps


def _versions(
    rows: Mapping[str, Problem], family: Dataset, steps: Mapping[str, int]
) -> Iterator[Any]:
    from winosmith.web.perturb.family import digest_of
    from winosmith.web.perturb.models import Version

    covered = _covered([row.pk for row in rows.values() if row.embargo])
    for datum, of in zip(family, depths(family), strict=True):
        if datum.id not in steps:
            continue
        yield Version(
            problem=rows[datum.id],
            root=rows[datum.root],
            parent=rows[datum.lineage.parent] if datum.lineage else None,
            step=steps[datum.id],
            declared=datum.lineage.declared if datum.lineage else None,
            lineage=of.lineage,
            edit=of.edit,
            covered=rows[datum.id].pk in covered,
            digest=digest_of(datum.sentence, datum.options),
        )


def _covered(keys: Sequence[int]) -> set[int]:
    """Return the keys of those that came in under the embargo of what stands above them."""
    from winosmith.web.problems.embargoes import COVERING
    from winosmith.web.problems.models import Event

    events = Event.objects.filter(kind=COVERING[True])
    rows = (events.filter(problem__in=some) for some in chunked(keys, CHUNK))
    return {key for some in rows for key in some.values_list("problem_id", flat=True)}


def _write(versions: Iterator[Any]) -> None:
    from winosmith.web._lock import writing
    from winosmith.web.perturb.models import Version

    for chunk in chunked(versions, CHUNK):
        with writing():
            Version.objects.bulk_create(chunk, ignore_conflicts=True)


def _cover(keys: Sequence[int]) -> None:
    """Put what stands below problems under embargo under it, too."""
    from winosmith.web._lock import writing
    from winosmith.web.problems.embargoes import cover_below

    for some in chunked(keys, CHUNK):
        with writing():
            cover_below(some)
