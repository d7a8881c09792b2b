"""Import the problems of a file, in many small transactions.

A problem is imported only once, even if its file is imported repeatedly. Perturbed problems are
linked to their families in linear time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, count
from typing import Any, Literal

from django.utils import timezone

from winosmith import Dataset, Problem as Datum
from winosmith.errors import InputError
from winosmith.lineage import depths
from winosmith.records import make_problem_record
from winosmith.web._lock import chunked, writing
from winosmith.web.judge.trust import add_gold
from winosmith.web.judge.votes import open_all_slots
from winosmith.web.problems import models
from winosmith.web.problems.checks import MAX_SENTENCE_LENGTH
from winosmith.web.problems.family import (
    COVERING_KINDS,
    hash_version,
    make_embargo_event,
    propagate_embargo,
)
from winosmith.web.problems.lookalikes import index_problems
from winosmith.web.problems.models import Event, Problem, State, Twin, Version
from winosmith.web.problems.records import as_problem, map_to_problem, map_to_twin, select_columns
from winosmith.web.problems.states import update_waits

Purpose = Literal["judging", "valid", "gold"]

CHUNK = 100
"""Number of problems per transaction. Other users can write between two transactions."""

EXPLANATION = "gold.explanation"
"""Keys in `extra` that describe a gold question."""

ROWS = 500
"""Number of family rows per query."""

MAX_OPTIONS_PER_PROBLEM = 5
"""Maximum number of options that fit on the site's pages."""

MAX_ID_LENGTH = 80
"""Maximum number of characters in an id, which becomes part of a URL."""

NUL = "it contains a NUL character, which PostgreSQL can't store"
_NEW_IDS = "import with new ids"
_RENAME = f"{_NEW_IDS}, or under another name if the ids are already new"


class NotImportableError(InputError):
    """A problem can't be imported; `problem` is the id that it would have on the site."""

    def __init__(self, reason: str, problem: str):
        self.reason, self.problem = reason, problem
        super().__init__(f"{problem!r}: {reason}")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import.

    Attributes:
        known: The number of problems that were already on the site.
        versions: The number of perturbed problems that are linked to a family.
        apart: The number of perturbed problems that are not linked to a family, because the site
            lacks their root or a problem on the path to it.
    """

    added: int
    known: int
    versions: int = 0
    apart: int = 0


def import_problems(
    dataset: Dataset,
    purpose: Purpose,
    *,
    embargo: bool = False,
    on_progress: Callable[[int], object] | None = None,
) -> ImportResult:
    """Import problems; problems that are already on the site stay unchanged.

    After an interruption, the same call adds the missing problems. Origin, lineage and all fields
    of the file's format are stored, so that an export gives the same records. Perturbed problems
    are linked to the family of their root, which must be in the file or on the site. If any problem
    can't be imported, nothing is imported, and NotImportableError is raised.

    Args:
        dataset: The problems, which keep their ids on the site.
        purpose: "judging" (people judge the problems), "valid" (the problems are part of the data),
            or "gold" (the problems check judges' attention, and are never part of the data). Gold
            questions need the reason for their answer in `extra`, under `EXPLANATION`; `ATTENTION`
            marks a sentence that names its own answer.
        embargo: Whether to put all problems under embargo, not only those marked in the file.
        on_progress: A function that is called with the number of problems imported so far.
    """
    for _problem, error in find_unimportable(dataset, purpose):
        raise error
    covered = set() if embargo or purpose == "gold" else find_ids_below_embargoes(dataset)
    added, done = 0, 0
    for chunk in chunked(dataset, CHUNK):
        data = [
            replace(datum, embargo=True) if embargo or datum.id in covered else datum
            for datum in chunk
        ]
        added += _add_chunk(data, purpose, covered)
        done += len(chunk)
        if on_progress:
            on_progress(done)
    versions, apart = (0, 0) if purpose == "gold" else link_versions(dataset)
    return ImportResult(added, done - added, versions, apart)


def assign_free_ids(dataset: Dataset, key: str) -> Dataset:
    """Return the problems with new ids that differ from those of other imported files.

    If other problems have these ids and the site has none of the file's problems, then another file
    of the same name was imported before. In this case, the ids are derived from the name and a
    number. If the site has some of the file's problems, the file is a corrected version of the
    imported one.
    """
    for number in count(1):
        renamed = assign_new_ids(dataset, key, number)
        if next(_find_conflicts(renamed), None) is None:
            break
        data = {datum.id: datum for datum in renamed}
        found = (Problem.objects.filter(ref__in=refs) for refs in chunked(data, CHUNK))
        if any(_has_same_text(row, data[row.ref]) for rows in found for row in rows):
            break
    return renamed


def assign_new_ids(dataset: Dataset, key: str, number: int = 1) -> Dataset:
    """Return the problems with new ids, which reveal neither the answers nor the previous ids.

    Published ids may reveal the answer (WinoGrande's do), and two data sets may use the same ids.
    The same data and key give the same ids. References to roots and parents are updated.

    Without the secret `key`, nobody can trace a new id to the previous one. `number`, from 1,
    distinguishes data sets with the same name.
    """
    file = dataset.name if number == 1 else f"{dataset.name}\0{number}"

    def derive_id(kind: str, name: str) -> str:
        data = f"{kind}\0{file}\0{name}".encode("utf-8", "surrogatepass")
        return blake2b(data, key=key.encode()[:64], digest_size=10).hexdigest()

    ids = set(dataset.ids)

    def map_ancestor_id(name: str) -> str:
        return derive_id("problem", name) if name in ids else name

    def rename(datum: Datum) -> Datum:
        lineage = datum.lineage
        if lineage:
            root, parent = map(map_ancestor_id, (lineage.root, lineage.parent))
            lineage = replace(lineage, root=root, parent=parent)
        twin_id = derive_id("twin", datum.twin_id) if datum.twin_id else None
        return replace(datum, id=derive_id("problem", datum.id), twin_id=twin_id, lineage=lineage)

    return Dataset(map(rename, dataset), dataset.name)


def find_unimportable(
    dataset: Dataset, purpose: Purpose
) -> Iterator[tuple[Datum, NotImportableError]]:
    found = set()
    reasons = ((datum, _find_import_obstacle(datum, purpose)) for datum in dataset)
    for datum, why in chain(reasons, _find_conflicts(dataset)):
        if why and datum.id not in found:
            found.add(datum.id)
            yield datum, NotImportableError(why, datum.id)


def count_existing(dataset: Dataset) -> int:
    found = (Problem.objects.filter(ref__in=refs) for refs in chunked(dataset.ids, CHUNK))
    return sum(rows.count() for rows in found)


def contains_nul(datum: Datum) -> bool:
    return "\\x00" in repr(datum) and "\\u0000" in json.dumps(make_problem_record(datum)).replace(
        "\\\\", ""
    )


def _find_import_obstacle(datum: Datum, purpose: Purpose) -> str | None:
    for name in (datum.id, datum.twin_id or ""):
        if (
            len(name) > MAX_ID_LENGTH
            or "/" in name
            or not name.isprintable()
            or name != name.strip()
        ):
            return (
                f"the id {name[:100]!r} can't be part of a URL (up to {MAX_ID_LENGTH} characters, "
                f"no /); {_NEW_IDS}"
            )
    if contains_nul(datum):
        return NUL
    if not datum.blank_is_unique:
        if datum.blank is None:
            return "the problem is a question; a site stores only sentences with one blank (_)"
        return (
            "the sentence or an option contains '_' in addition to the blank; use _ only for the "
            "blank"
        )
    if (n := len(datum.options)) > MAX_OPTIONS_PER_PROBLEM:
        return f"the problem has {n} options; a site allows at most {MAX_OPTIONS_PER_PROBLEM}"
    longest = max(map(len, (datum.sentence, *datum.options)))
    if longest > MAX_SENTENCE_LENGTH:
        most = f"a site allows at most {MAX_SENTENCE_LENGTH:,}"
        return f"the sentence or an option has {longest:,} characters; {most}"
    if datum.answer is None and purpose != "valid":
        needed = "; a gold question needs one" if purpose == "gold" else ", which judging requires"
        return f"the problem has no answer{needed}"
    if purpose == "gold" and not str(datum.extra.get(EXPLANATION) or "").strip():
        return (
            "the problem has no explanation of the answer for judges; add a column named "
            f"{EXPLANATION} with the reason (in JSON Lines, a key of 'extra')"
        )
    return None


def _get_twin_ref(datum: Datum) -> str:
    if datum.twin_id is not None:
        return datum.twin_id
    return f"single-{blake2b(datum.id.encode(), digest_size=12).hexdigest()}"


def _find_conflicts(dataset: Dataset) -> Iterator[tuple[Datum, str]]:
    """Yield each problem whose id or twin id means another one on the site, with the reason."""
    twins: dict[str, set[str]] = defaultdict(set)
    for datum in dataset:
        twins[_get_twin_ref(datum)].add(datum.id)
    for refs in chunked(twins, CHUNK):
        rows = Problem.objects.filter(twin__ref__in=refs).values_list("twin__ref", "ref")
        for twin, ref in rows:
            if ref not in twins[twin]:
                why = (
                    f"the site already has another twin {twin!r}, whose problem {ref!r} is not in "
                    f"the file; {_RENAME}"
                )
                yield from ((dataset[dataset.row(name)], why) for name in sorted(twins[twin]))
    data = {datum.id: datum for datum in dataset}
    for refs in chunked(data, CHUNK):
        for row in Problem.objects.filter(ref__in=refs):
            datum = data[row.ref]
            if not _has_same_text(row, datum) or datum.answer not in (None, row.answer):
                known = f"the site already has another problem {row.ref!r}"
                yield datum, f"{known}, or the same one without this answer; {_RENAME}"


def _has_same_text(row: Problem, datum: Datum) -> bool:
    return (row.sentence, tuple(row.options)) == (datum.sentence, datum.options)


def _add_chunk(data: Sequence[Datum], purpose: Purpose, covered: Collection[str] = ()) -> int:
    with writing():
        found = Problem.objects.filter(ref__in=[datum.id for datum in data])
        known = set(found.values_list("ref", flat=True))
        new = [datum for datum in data if datum.id not in known]
        if new:
            rows = [row for row in _add_rows(new, purpose) if row.ref in covered]
            Event.objects.bulk_create(map(make_embargo_event, rows))
    return len(new)


def _add_rows(data: Sequence[Datum], purpose: Purpose) -> Sequence[Problem]:
    now = timezone.now()
    state = State.JUDGING if purpose == "judging" else State.VALID
    named = {_get_twin_ref(datum): datum for datum in data}
    twins = {twin.ref: twin for twin in Twin.objects.filter(ref__in=named)}
    missing = [
        Twin(ref=ref, **map_to_twin(datum)) for ref, datum in named.items() if ref not in twins
    ]
    twins.update((twin.ref, twin) for twin in Twin.objects.bulk_create(missing))
    rows = Problem.objects.bulk_create(
        Problem(
            **map_to_problem(datum),
            twin=twins[_get_twin_ref(datum)],
            state=state,
            gold=purpose == "gold",
            decided=None if purpose == "judging" else now,
            created=now,
        )
        for datum in data
    )
    Event.objects.bulk_create(Event(problem=row, kind="import", after=state) for row in rows)
    if purpose == "gold":
        for datum, row in zip(data, rows, strict=True):
            add_gold(row, str(datum.extra[EXPLANATION]))
    elif purpose == "judging":
        open_all_slots(rows)
    else:
        update_waits({row.twin_id for row in rows}, newly_decided=[row.pk for row in rows])
    index_problems(*rows, new=True)
    return rows


def find_ids_below_embargoes(data: Iterable[Datum]) -> set[str]:
    """Return the ids of problems with an ancestor under embargo, in the file or on the site.

    Without this check, these problems would be public until the import's last transaction.
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
    rows = Problem.objects.filter(embargo=True, gold=False)
    waiting = list(marked)
    for chunk in chunked(below, ROWS):
        waiting += rows.filter(ref__in=chunk).values_list("ref", flat=True)
    while waiting:
        new = set(below.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found - marked


def link_versions(data: Iterable[Datum]) -> tuple[int, int]:
    """Link each perturbed problem to its family, unless it is already linked.

    The problems must be on the site, whose lineages take precedence over those in `data`.

    Returns:
        The number of linked problems, and the number of problems without a path to their root on
        the site. To link the latter, import their ancestors, and then the same data again.
    """
    perturbed = {datum.id: datum.root for datum in data if datum.lineage}
    if not perturbed:
        return 0, 0
    problems = Problem.objects.filter(gold=False).exclude(sentence=models.ERASED_SENTENCE)
    query = select_columns(problems.select_related("twin__contributor"))
    named = set(perturbed.values())
    found = [
        row for refs in chunked({*perturbed, *named}, ROWS) for row in query.filter(ref__in=refs)
    ]
    for keys in chunked([row.pk for row in found if row.ref in named], ROWS):
        found += query.filter(pk__in=Version.objects.filter(root__in=keys).values("problem"))
    rows = {row.ref: row for row in sorted(found, key=lambda row: row.pk)}
    family = Dataset(map(as_problem, rows.values()))
    steps = _count_steps(family)
    for chunk in chunked(_make_versions(rows, family, steps), ROWS):
        with writing():
            Version.objects.bulk_create(chunk, ignore_conflicts=True)
    for chunk in chunked([rows[name].pk for name in steps if rows[name].embargo], ROWS):
        with writing():
            propagate_embargo(chunk)
    linked = sum(name in steps for name in perturbed)
    return linked, len(perturbed) - linked


def _count_steps(family: Dataset) -> dict[str, int]:
    """Map each version's id to the number of perturbations between the root and the version.

    Versions without a path to their root are omitted.
    """
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


def _make_versions(
    rows: Mapping[str, Problem], family: Dataset, steps: Mapping[str, int]
) -> Iterator[Any]:
    events = Event.objects.filter(kind=COVERING_KINDS[True])
    keys = [row.pk for row in rows.values() if row.embargo]
    chunks = (events.filter(problem__in=chunk) for chunk in chunked(keys, ROWS))
    covered = {key for found in chunks for key in found.values_list("problem_id", flat=True)}
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
            digest=hash_version(datum.sentence, datum.options),
        )
