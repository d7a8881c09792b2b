"""Families: where a version stands, the way to it from the root, its three depths."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection
from django.db.models import Q

from winosmith import Dataset, Lineage
from winosmith import Problem as Datum
from winosmith.lineage import Change, Depths, changes, depths
from winosmith.records import problem_of
from winosmith.web.people.models import Person
from winosmith.web.problems.models import ERASED_SENTENCE, Problem, State, Version
from winosmith.web.problems.public import visible_to
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import GONE

_PATH = f"""
WITH RECURSIVE path(id, parent, back) AS (
    SELECT problem_id, parent_id, 0 FROM {Version._meta.db_table} WHERE problem_id = %s
    UNION ALL
    SELECT above.problem_id, above.parent_id, back + 1
    FROM {Version._meta.db_table} above JOIN path ON above.problem_id = path.parent
)
SELECT id FROM path ORDER BY back DESC
"""  # noqa: S608 - a table's name

_ANY = ("1", "2")
"""Options in place of a problem's own: depths are of sentences."""


def digest_of(sentence: str, options: Sequence[str]) -> str:
    """Return what two versions share that differ in nothing but the order of their options."""
    seen = "\0".join((sentence, *sorted(options))).encode("utf-8", "surrogatepass")
    return hashlib.sha256(seen).hexdigest()


def root_of(problem: Problem) -> Problem:
    """Return the root of a problem's family; one that nobody perturbed is a root itself."""
    version = Version.objects.select_related("root__twin").filter(problem=problem).first()
    return version.root if version else problem


def path_to(problem: Problem) -> list[Problem]:
    """Return the root, and so on down to the problem, whoever may see them; in three queries."""
    with connection.cursor() as cursor:
        cursor.execute(_PATH, [problem.pk])
        keys = [key for (key,) in cursor.fetchall()]
    if not keys:
        return [problem]
    found = Problem.objects.select_related("twin__contributor").in_bulk(keys)
    return [found[key] for key in keys]


def depths_of(
    path: Sequence[Problem], sentence: str, *, declared: int | None = None, edits: Any = ()
) -> Depths:
    """Return the depths of a sentence below the last of a path, as `winosmith.lineage` has them.

    That takes as long as the path, however large the family is. Where a text on the path was
    erased, the lineage depth is not known; where the root's was, neither is the edit depth.

    Args:
        path: from the root on, from `path_to`.
        sentence: of the new version, with one blank.
        declared: as its contributor states it.
        edits: from the last of the path to the sentence; a shortest script where there are none.
    """
    row = Datum(
        "new", sentence, _ANY, lineage=Lineage(str(path[0].pk), str(path[-1].pk), edits, declared)
    )
    found = depths(Dataset([*_bare(path), row]))[-1]
    gone = [problem.sentence == ERASED_SENTENCE for problem in path]
    return found._replace(
        lineage=None if any(gone) else found.lineage, edit=None if gone[0] else found.edit
    )


def lock(problem: Problem) -> Version:
    """Lock the family of a problem until the transaction ends; return the root's row.

    A problem that nobody has perturbed becomes a root.
    """
    version = Version.objects.filter(problem=problem).first()
    if version is None:
        version, _new = Version.objects.get_or_create(
            problem=problem,
            defaults={
                "root": problem,
                "declared": 0,
                "lineage": 0,
                "edit": 0,
                "digest": digest_of(problem.sentence, problem.options),
            },
        )
    return Version.objects.select_for_update().get(problem=version.root_id)


def place(problem: Problem, parent: Problem, **columns: Any) -> Version:
    """Give a new problem its place below a parent, with its depths, and under its embargo.

    The caller is in a transaction. What `Problem.record` says of the lineage counts: the edits,
    where it has them, and the declared depth.

    Args:
        problem: just made.
        parent: a version of the family, or the root that it makes of a problem.
        columns: others of the row (`against`).
    """
    root = lock(parent)
    above = Version.objects.get(problem=parent)
    lineage = as_problem(problem).lineage
    found = depths_of(
        path_to(parent),
        problem.sentence,
        declared=lineage.declared if lineage else None,
        edits=lineage.edits if lineage else (),
    )
    covered = _cover(problem, parent)
    return Version.objects.create(
        problem=problem,
        root=root.root,
        covered=covered,
        parent=parent,
        step=above.step + 1,
        declared=found.declared,
        lineage=found.lineage,
        edit=found.edit,
        digest=digest_of(problem.sentence, problem.options),
        **columns,
    )


def _cover(problem: Problem, parent: Problem) -> bool:
    """Put a new version under its parent's embargo, as that stands now; tell whether it was."""
    if problem.embargo or not Problem.objects.filter(pk=parent.pk, embargo=True).exists():
        return False
    Problem.objects.filter(pk=problem.pk).update(embargo=True)
    problem.became(embargo=True)
    return True


def dataset_of(root: Problem, person: Person | None) -> tuple[Dataset, list[Problem]]:
    """Return what somebody may see of a family: the public versions, and their own that stand.

    Where a parent is not among them, the edits that would tell its words are left out.

    Returns:
        The data set, and the rows in its order, from the oldest on.
    """
    mine = Q(twin__contributor=person, gold=False) & ~Q(state__in=GONE) if person else Q(pk=None)
    family = (
        Q(version__root=root) if Version.objects.filter(problem=root).exists() else Q(pk=root.pk)
    )
    query = Problem.objects.filter(family).filter(Q(public=True) | mine)
    rows = list(query.select_related("twin__contributor", "version").order_by("pk"))
    return Dataset(_told(rows)), rows


def _told(rows: Sequence[Problem]) -> Iterator[Datum]:
    shown = {row.ref for row in rows}
    for row in rows:
        datum = as_problem(row)
        if datum.lineage and datum.lineage.parent not in shown:
            datum = replace(datum, lineage=replace(datum.lineage, edits=()))
        yield datum


def _bare(path: Sequence[Problem]) -> Iterator[Datum]:
    """Yield the sentences of a path, with lineages that lead from one to the next."""
    root = str(path[0].pk)
    for at, row in enumerate(path):
        record = row.record.get("lineage") if at else None
        if record is not None:
            record = {**record, "root": root, "parent": str(path[at - 1].pk)}
        elif at:
            record = {"root": root, "parent": str(path[at - 1].pk)}
        yield problem_of(
            {"id": str(row.pk), "sentence": row.sentence, "options": list(_ANY), "lineage": record}
        )


OWN = (State.HELD, State.JUDGING, State.VALID)
"""Where one's own sentence stands that nobody else may perturb yet."""


def may_perturb(person: Person | None, problem: Problem) -> bool:
    """Tell whether somebody may perturb a problem: a public one, or their own that waits."""
    if problem.embargo or problem.gold:
        return False
    if problem.public:
        return True
    own = person is not None and problem.twin.contributor_id == person.pk
    return own and problem.state in OWN


SHOWN_STEPS = 5
"""Steps of a path that are shown; those between the root and the last few can be unfolded."""


@dataclass(frozen=True, slots=True)
class Step:
    """One version on the way from the root.

    Attributes:
        number: steps from the root.
        problem: None where its reader may not see it.
        pieces: what changed since the step before; the plain sentence where that is not to be told.
    """

    number: int
    problem: Problem | None
    pieces: list[Change]


def steps(path: Sequence[Problem], person: Person | None) -> list[Step]:
    """Return a path, as far as somebody may see it; no edit tells of a hidden version."""
    found: list[Step] = []
    before = ""
    for number, row in enumerate(path):
        if not visible_to(person, row):
            found.append(Step(number, None, []))
            before = ""
            continue
        changed = changes(before, row.sentence) if before else [Change(row.sentence, "")]
        found.append(Step(number, row, changed))
        before = row.sentence
    return found


def folded(way: list[Step]) -> dict[str, Any]:
    """Return a path in three: the first step, those that are folded, the last ones."""
    if len(way) <= SHOWN_STEPS:
        return {"first_steps": way, "folded_steps": [], "last_steps": []}
    cut = len(way) - (SHOWN_STEPS - 1)
    return {"first_steps": way[:1], "folded_steps": way[1:cut], "last_steps": way[cut:]}
