"""Problems of a file into the site: quick, in many small transactions, and twice is once.

Perturbed ones get their place in the tree of their family, in linear time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from typing import Any, Literal

from django.utils import timezone

from winosmith import Dataset, Problem as Datum
from winosmith.errors import InputError
from winosmith.lineage import depths
from winosmith.records import problem_record
from winosmith.web._lock import chunked, writing
from winosmith.web.judge.trust import add_gold
from winosmith.web.judge.votes import open_many
from winosmith.web.problems import models
from winosmith.web.problems.checks import LONGEST_SENTENCE
from winosmith.web.problems.family import COVERING_KINDS, cover_below, covered_event, version_digest
from winosmith.web.problems.lookalikes import remember
from winosmith.web.problems.models import Event, Problem, State, Twin, Version
from winosmith.web.problems.records import as_problem, needed_columns, row_fields, twin_fields
from winosmith.web.problems.states import settle_waits

As = Literal["judging", "valid", "gold"]

CHUNK = 250
"""Problems in one transaction; people who write wait for one, not for all."""

NUL = "it holds NUL, the character 0, which PostgreSQL takes in no text"

EXPLANATION, ATTENTION = "gold.explanation", "gold.attention"
"""What `extra` holds of a gold question."""

ROWS = 500
"""Rows of families that are asked for, or written, at once."""

MOST_OPTIONS = 5
"""Options that a site's pages have places for."""

LONGEST = 80
"""Characters of an id, which is part of a page's address."""


class Unfit(InputError):  # noqa: N818 - it is about a problem
    """A problem that can't come into the site; `problem` is its id there."""

    def __init__(self, reason: str, problem: str):
        self.problem = problem
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of it: `added` problems are new, `known` ones were there already.

    Attributes:
        versions: versions of the perturbed problems of the file, how many have their place in a
            family.
        apart: how many have none, because the site lacks their root or a problem on the way to it.
    """

    added: int
    known: int
    versions: int = 0
    apart: int = 0


def import_problems(
    dataset: Dataset,
    as_: As,
    *,
    embargo: bool = False,
    on_progress: Callable[[int], object] | None = None,
) -> Imported:
    """Put problems into the site; what is there already is left as it is.

    After an interrupt the same call adds what is missing. Origin, lineage and what only a file
    format knows are kept, so that an export gives the same records again. Perturbed problems get
    their place in the family of their root, which is in the file or on the site already.

    Args:
        dataset: its ids become those of the site.
        as_: "judging" (people judge them), "valid" (they are part of the set), or "gold" (they
            check attention, and are never part of the set; `EXPLANATION` says in `extra` why the
            answer is right, `ATTENTION` that the sentence itself says what to choose).
        embargo: keep all of them out of everything public; without it, those marked so.
        on_progress: called with the number of problems that are done.

    Raises:
        Unfit: an id can't be one of the site's, or is another problem's; a text is longer than a
            form takes; an answer is withheld that is needed. Nothing of the file is added then.
    """
    for _problem, error in refused(dataset, as_):
        raise error
    covered = set() if embargo or as_ == "gold" else below_embargoes(dataset)
    added, done = 0, 0
    for chunk in chunked(dataset, CHUNK):
        data = [
            replace(datum, embargo=True) if embargo or datum.id in covered else datum
            for datum in chunk
        ]
        added += _add(data, as_, covered)
        done += len(chunk)
        if on_progress:
            on_progress(done)
    versions, apart = (0, 0) if as_ == "gold" else add_versions(dataset)
    return Imported(added, done - added, versions, apart)


def with_free_ids(dataset: Dataset, key: str) -> Dataset:
    """Return the problems under new ids (`with_new_ids`), which no other file has on the site.

    A file whose ids belong to other problems, and which shares none with the site, is not the one
    that came under its name before: it is numbered. One that shares some is a corrected one.
    """
    for number in count(1):
        renamed = with_new_ids(dataset, key, number)
        if next(_taken(renamed), None) is None or _shares_one(renamed):
            break
    return renamed


def _shares_one(dataset: Dataset) -> bool:
    data = {datum.id: datum for datum in dataset}
    some = (Problem.objects.filter(ref__in=refs) for refs in chunked(data, CHUNK))
    return any(_is_same(row, data[row.ref]) for rows in some for row in rows)


def with_new_ids(dataset: Dataset, key: str, number: int = 1) -> Dataset:
    """Return the problems under ids that reveal nothing, the same for the same data and key.

    Published ids may give the answer away (WinoGrande's do), and two data sets may use the same.
    Roots and parents that are in the data set are renamed along.

    Args:
        dataset: any.
        key: who does not have it can't make the ids, nor go back from them.
        number: number of the data set among those of its name, from 1.
    """
    file = dataset.name if number == 1 else f"{dataset.name}\0{number}"

    def renamed(kind: str, name: str) -> str:
        data = f"{kind}\0{file}\0{name}".encode("utf-8", "surrogatepass")
        return blake2b(data, key=key.encode()[:64], digest_size=10).hexdigest()

    ours = set(dataset.ids)

    def of_line(name: str) -> str:
        return renamed("problem", name) if name in ours else name

    return Dataset(
        (
            replace(
                datum,
                id=renamed("problem", datum.id),
                twin_id=renamed("twin", datum.twin_id) if datum.twin_id else None,
                lineage=replace(
                    datum.lineage,
                    root=of_line(datum.lineage.root),
                    parent=of_line(datum.lineage.parent),
                )
                if datum.lineage
                else None,
            )
            for datum in dataset
        ),
        dataset.name,
    )


def refused(dataset: Dataset, as_: As) -> Iterator[tuple[Datum, Unfit]]:
    """Yield each problem that can't come into the site, with the reason.

    Args:
        dataset: as `import_problems` takes it, which takes it only where this yields nothing.
        as_: the same.
    """
    found = set()
    for datum in dataset:
        if (why := _unfit(datum, as_)) is not None:
            found.add(datum.id)
            yield datum, Unfit(why, datum.id)
    for datum, why in _taken(dataset):
        if datum.id not in found:
            found.add(datum.id)
            yield datum, Unfit(why, datum.id)


def count_known(dataset: Dataset) -> int:
    """Return how many problems of a data set the site has, by their ids."""
    some = (Problem.objects.filter(ref__in=refs) for refs in chunked(dataset.ids, CHUNK))
    return sum(rows.count() for rows in some)


def holds_nul(datum: Datum) -> bool:
    """Return whether any text of a problem holds NUL."""
    return "\\x00" in repr(datum) and "\\u0000" in json.dumps(problem_record(datum)).replace(
        "\\\\", ""
    )


def _unfit(datum: Datum, as_: As) -> str | None:
    """Return why a problem is none for a site; None if it is one."""
    for name in (datum.id, datum.twin_id or ""):
        if len(name) > LONGEST or "/" in name or not name.isprintable() or name != name.strip():
            return (
                f"the id {name[:100]!r} can't be part of a page's address (up to {LONGEST} "
                "characters, no /); import with new ids"
            )
    if holds_nul(datum):
        return NUL
    if not datum.blank_is_plain or len(datum.options) > MOST_OPTIONS:
        return (
            f"the problem {datum.id!r} is a question, holds '_' beside its blank, or has more than "
            f"{MOST_OPTIONS} options; a site holds sentences with one blank and 2 to "
            f"{MOST_OPTIONS} options"
        )
    longest = max(map(len, (datum.sentence, *datum.options)))
    if longest > LONGEST_SENTENCE:
        return (
            f"the sentence or an option of {datum.id!r} has {longest:,} characters; a site's pages "
            f"have room for {LONGEST_SENTENCE:,}"
        )
    if datum.answer is None and as_ != "valid":
        return (
            f"the problem {datum.id!r} has no answer; problems "
            f"{'to be judged' if as_ == 'judging' else 'that check attention'} need one"
        )
    if as_ == "gold" and not str(datum.extra.get(EXPLANATION) or "").strip():
        return (
            f"the problem {datum.id!r} does not say why its answer is right; write it into "
            f"extra as {EXPLANATION!r} (in CSV: the column of that name): judges will read it"
        )
    return None


def _twin_ref(datum: Datum) -> str:
    """Return the id of the twin; a single gets one that is nobody's."""
    if datum.twin_id is not None:
        return datum.twin_id
    return f"single-{blake2b(datum.id.encode(), digest_size=12).hexdigest()}"


def _twins_of(dataset: Dataset) -> dict[str, set[str]]:
    twins: dict[str, set[str]] = defaultdict(set)
    for datum in dataset:
        twins[_twin_ref(datum)].add(datum.id)
    return twins


def _taken(dataset: Dataset) -> Iterator[tuple[Datum, str]]:
    """Yield each problem with an id, or a twin's, that the site has given to others, and why not.

    Those of a data set that stand together by a twin's id are refused together.
    """
    twins = _twins_of(dataset)
    for refs in chunked(twins, CHUNK):
        rows = Problem.objects.filter(twin__ref__in=refs).values_list("twin__ref", "ref")
        for twin, ref in rows:
            if ref not in twins[twin]:
                why = (
                    f"the site has another twin {twin!r} already (its problem {ref!r} is not in "
                    "the file); import with new ids or, where it has them, under another name"
                )
                yield from ((dataset[dataset.row(name)], why) for name in sorted(twins[twin]))
    data = {datum.id: datum for datum in dataset}
    for refs in chunked(data, CHUNK):
        for row in Problem.objects.filter(ref__in=refs):
            datum = data[row.ref]
            if not _is_same(row, datum):
                yield (
                    datum,
                    f"the site has another problem {row.ref!r} already; import with new ids or, "
                    "where it has them, under another name",
                )


def _is_same(row: Problem, datum: Datum) -> bool:
    return (row.sentence, tuple(row.options)) == (datum.sentence, datum.options)


def _add(data: Sequence[Datum], as_: As, covered: Collection[str] = ()) -> int:
    """Add those of a chunk that are missing, in one transaction; return how many they were.

    The ids of `covered` are under embargo because of what stands above them.
    """
    with writing():
        known = set(
            Problem.objects.filter(ref__in=[datum.id for datum in data]).values_list(
                "ref", flat=True
            )
        )
        new = [datum for datum in data if datum.id not in known]
        if new:
            Event.objects.bulk_create(
                covered_event(row) for row in _add_rows(new, as_) if row.ref in covered
            )
    return len(new)


def _add_rows(data: Sequence[Datum], as_: As) -> Sequence[Problem]:
    now = timezone.now()
    state = State.JUDGING if as_ == "judging" else State.VALID
    twins = _add_twins(data)
    rows = Problem.objects.bulk_create(
        Problem(
            **row_fields(datum),
            twin=twins[_twin_ref(datum)],
            state=state,
            gold=as_ == "gold",
            decided=None if as_ == "judging" else now,
            created=now,
        )
        for datum in data
    )
    Event.objects.bulk_create(Event(problem=row, kind="import", after=state) for row in rows)
    if as_ == "gold":
        for datum, row in zip(data, rows, strict=True):
            attention = bool(datum.extra.get(ATTENTION, False))
            add_gold(row, str(datum.extra[EXPLANATION]), attention=attention)
    elif as_ == "judging":
        open_many(rows)
    else:
        settle_waits({row.twin_id for row in rows}, new=[row.pk for row in rows])
    remember(*rows, new=True)
    return rows


def _add_twins(data: Sequence[Datum]) -> dict[str, Twin]:
    named = {_twin_ref(datum): datum for datum in data}
    twins = {twin.ref: twin for twin in Twin.objects.filter(ref__in=named)}
    missing = [
        Twin(ref=ref, **twin_fields(datum)) for ref, datum in named.items() if ref not in twins
    ]
    twins.update((twin.ref, twin) for twin in Twin.objects.bulk_create(missing))
    return twins


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
    kept_back = Problem.objects.filter(embargo=True, gold=False)
    for some in chunked(refs, ROWS):
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
    rows = _families(perturbed)
    family = Dataset(map(as_problem, rows.values()))
    steps = _steps(family)
    for chunk in chunked(_versions(rows, family, steps), ROWS):
        with writing():
            Version.objects.bulk_create(chunk, ignore_conflicts=True)
    for some in chunked([rows[name].pk for name in steps if rows[name].embargo], ROWS):
        with writing():
            cover_below(some)
    placed = sum(name in steps for name in perturbed)
    return placed, len(perturbed) - placed


def _families(perturbed: Mapping[str, str]) -> dict[str, Problem]:
    kept = Problem.objects.filter(gold=False).exclude(sentence=models.ERASED_SENTENCE)
    query = needed_columns(kept.select_related("twin__contributor"))
    named = set(perturbed.values())
    found = [
        row for refs in chunked({*perturbed, *named}, ROWS) for row in query.filter(ref__in=refs)
    ]
    roots = [row.pk for row in found if row.ref in named]
    for keys in chunked(roots, ROWS):
        known = Version.objects.filter(root__in=keys).values("problem")
        found += query.filter(pk__in=known)
    return {row.ref: row for row in sorted(found, key=lambda row: row.pk)}


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
            digest=version_digest(datum.sentence, datum.options),
        )


def _covered(keys: Sequence[int]) -> set[int]:
    events = Event.objects.filter(kind=COVERING_KINDS[True])
    rows = (events.filter(problem__in=some) for some in chunked(keys, ROWS))
    return {key for some in rows for key in some.values_list("problem_id", flat=True)}
