"""Families of perturbed problems: paths from the root, depths, and embargoes.

A version shares most of its words with its parent, so the parent's embargo must cover it, too. An
embargo extends down the tree, never up, because the parent was already public or has the same
author. `Problem.embargo` states whether a problem is under embargo, and `Version.covered` whether
this is only because of an ancestor. Therefore, no query needs the tree to find the public problems.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from winosmith import Dataset, Lineage, Problem as Datum
from winosmith.lineage import Depths, depths
from winosmith.records import parse_problem
from winosmith.text import Change, diff_text
from winosmith.web._lock import chunked
from winosmith.web.people.models import Person
from winosmith.web.problems.models import ERASED_SENTENCE, Event, Problem, State, Version
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import is_visible_to, update_waits

_PATH = f"""
WITH RECURSIVE path(id, parent, back) AS (
    SELECT problem_id, parent_id, 0 FROM {Version._meta.db_table} WHERE problem_id = %s
    UNION ALL
    SELECT above.problem_id, above.parent_id, back + 1
    FROM {Version._meta.db_table} above JOIN path ON above.problem_id = path.parent
)
SELECT id FROM path ORDER BY back DESC
"""  # noqa: S608 - a table's name

_PLACEHOLDER_OPTIONS = ("1", "2")
"""Placeholder options, because depths depend only on sentences."""


def hash_version(sentence: str, options: Sequence[str]) -> str:
    """Hash a version; versions that differ only in the order of their options have equal hashes."""
    seen = "\0".join((sentence, *sorted(options))).encode("utf-8", "surrogatepass")
    return hashlib.sha256(seen).hexdigest()


def find_root(problem: Problem) -> Problem:
    """Return the root of a problem's family; a problem without versions is a root."""
    version = Version.objects.select_related("root__twin").filter(problem=problem).first()
    return version.root if version else problem


def get_path(problem: Problem) -> list[Problem]:
    """Return the path from the root to a problem, including hidden versions."""
    with connection.cursor() as cursor:
        cursor.execute(_PATH, [problem.pk])
        keys = [key for (key,) in cursor.fetchall()]
    if not keys:
        return [problem]
    found = Problem.objects.select_related("twin", "version").in_bulk(keys)
    return [found[key] for key in keys]


def measure_depths(
    path: Sequence[Problem], sentence: str, *, declared: int | None = None, edits: Any = ()
) -> Depths:
    """Measure the depths of a new version of the last problem in `path`; see `winosmith.lineage`.

    The path is from `get_path`. `edits` lead from its last problem to the sentence; if they are
    missing, a shortest edit script is used. The time depends on the length of the path, not on the
    size of the family. If a text on the path was erased, the lineage depth is None; if the root's
    text was erased, the edit depth is also None.
    """
    root = str(path[0].pk)
    problems = []
    for at, row in enumerate(path):
        own = row.record.get("lineage") or {}
        problem = {
            "id": str(row.pk),
            "sentence": row.sentence,
            "options": list(_PLACEHOLDER_OPTIONS),
            "lineage": {**own, "root": root, "parent": str(path[at - 1].pk)} if at else None,
        }
        problems.append(parse_problem(problem))
    lineage = Lineage(root, str(path[-1].pk), edits, declared)
    problems.append(Datum("new", sentence, _PLACEHOLDER_OPTIONS, lineage=lineage))
    found = depths(Dataset(problems))[-1]
    erased = [problem.sentence == ERASED_SENTENCE for problem in path]
    return found._replace(
        lineage=None if any(erased) else found.lineage, edit=None if erased[0] else found.edit
    )


def lock_family_root(problem: Problem) -> Version:
    """Lock the family of a problem until the transaction ends; return the root's row.

    A problem without versions becomes a root.
    """
    roots = Version.objects.filter(problem=problem).values("root")
    while (root := Version.objects.select_for_update().filter(problem__in=roots).first()) is None:
        digest = hash_version(problem.sentence, problem.options)
        row = Version(problem=problem, root=problem, declared=0, lineage=0, edit=0, digest=digest)
        Version.objects.bulk_create([row], ignore_conflicts=True)
    return root


def add_to_family(problem: Problem, parent: Problem, **columns: Any) -> Version:
    """Add a new problem to its parent's family, with its depths and the parent's embargo.

    Call this in a transaction. The edits and the declared depth come from `Problem.record`. A
    parent without versions becomes the root. `columns` are other fields of `Version`, such as
    `against`.
    """
    lock_family_root(parent)
    path, lineage = get_path(parent), as_problem(problem).lineage
    above = path[-1]
    found = measure_depths(
        path,
        problem.sentence,
        declared=lineage.declared if lineage else None,
        edits=lineage.edits if lineage else (),
    )
    covered = not problem.embargo and above.embargo
    if covered:
        Problem.objects.filter(pk=problem.pk).update(embargo=True)
        problem.sync_fields(embargo=True)
    return Version.objects.create(
        problem=problem,
        root=path[0],
        covered=covered,
        parent=parent,
        step=above.version.step + 1,
        declared=found.declared,
        lineage=found.lineage,
        edit=found.edit,
        digest=hash_version(problem.sentence, problem.options),
        **columns,
    )


UNPUBLISHED_STATES = (State.HELD, State.JUDGING, State.VALID)
"""States in which only the contributor may perturb a problem that is not public."""


def may_perturb(person: Person | None, problem: Problem) -> bool:
    if problem.embargo or problem.gold:
        return False
    if problem.public:
        return True
    own = person is not None and problem.twin.contributor_id == person.pk
    return own and problem.state in UNPUBLISHED_STATES


SHOWN_STEPS = 5
"""Maximum number of steps shown for a path; readers can expand the other steps."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """A version on the path from the root.

    Attributes:
        number: The number of steps from the root.
        problem: The problem; None if the reader may not see it.
        pieces: The changes since the previous step, or the plain sentence if that step is hidden.
    """

    number: int
    problem: Problem | None
    pieces: list[Change]


def get_visible_steps(path: Sequence[Problem], person: Person | None) -> list[PathStep]:
    """Return the steps of a path, omitting texts and edits that a person may not see."""
    found: list[PathStep] = []
    before = ""
    for number, row in enumerate(path):
        if not is_visible_to(person, row):
            found.append(PathStep(number, None, []))
            before = ""
            continue
        changed = diff_text(before, row.sentence) if before else [Change(row.sentence, "")]
        found.append(PathStep(number, row, changed))
        before = row.sentence
    return found


def fold_steps(steps: list[PathStep]) -> dict[str, Any]:
    if len(steps) <= SHOWN_STEPS:
        return {"first_steps": steps, "folded_steps": [], "last_steps": []}
    cut = len(steps) - (SHOWN_STEPS - 1)
    return {"first_steps": steps[:1], "folded_steps": steps[1:cut], "last_steps": steps[cut:]}


COVERING_KINDS = {True: "cover", False: "uncover"}
"""Event kinds for versions whose embargo begins or ends with an ancestor's embargo."""

CHUNK = 500
"""Number of versions changed per statement."""


def set_embargo(problem: Problem, *, actor: Person | None = None) -> int:
    """Put a problem and all its versions under embargo, in the caller's transaction.

    A covered problem gets its own embargo. This function logs the events of the versions; the
    caller logs the event of the problem. Return the number of versions that are now also under
    embargo.
    """
    _lock_family(problem)
    Problem.objects.filter(pk=problem.pk).update(embargo=True)
    Version.objects.filter(problem=problem).update(covered=False)
    problem.sync_fields(embargo=True)
    return len(propagate_embargo([problem.pk], actor))


def lift_embargo(problem: Problem, *, actor: Person | None = None) -> int:
    """Lift the embargo on a problem and on the versions that it covered.

    Versions with their own embargo, and the versions below them, stay under embargo. If the parent
    is under embargo, the problem stays covered. Return the number of versions whose embargo was
    also lifted.
    """
    _lock_family(problem)
    if Version.objects.filter(problem=problem, parent__embargo=True).exists():
        Version.objects.filter(problem=problem).update(covered=True)
        return 0
    lifted = Problem.objects.filter(pk=problem.pk, embargo=True).update(embargo=False)
    Version.objects.filter(problem=problem).update(covered=False)
    freed = propagate_embargo([problem.pk], actor, embargo=False)
    # Problems that had no embargo are already public, or wait for another reason.
    for chunk in chunked([problem.pk, *freed] if lifted else freed, CHUNK):
        twins = Problem.objects.filter(pk__in=chunk).values_list("twin", flat=True)
        update_waits(set(twins), newly_decided=chunk)
    problem.sync_fields(embargo=False)
    return len(freed)


def _lock_family(problem: Problem) -> None:
    if Version.objects.filter(problem=problem).exists():
        lock_family_root(problem)


def propagate_embargo(
    problem_ids: Sequence[int], actor: Person | None = None, *, embargo: bool = True
) -> list[int]:
    """Start or end the embargo on versions below the given problems; return the versions' keys."""
    changed: list[int] = []
    parent_ids = list(problem_ids)
    while parent_ids:
        children = Version.objects.filter(covered=not embargo, problem__embargo=not embargo)
        children = children.select_related("problem").order_by("pk")
        versions = [
            row for chunk in chunked(parent_ids, CHUNK) for row in children.filter(parent__in=chunk)
        ]
        for rows in chunked(versions, CHUNK):
            problem_ids = [row.pk for row in rows]
            Problem.objects.filter(pk__in=problem_ids).update(embargo=embargo)
            type(rows[0]).objects.filter(pk__in=problem_ids).update(covered=embargo)
            Event.objects.bulk_create(
                make_embargo_event(row.problem, actor, embargo) for row in rows
            )
        parent_ids = [row.pk for row in versions]
        changed += parent_ids
    return changed


def make_embargo_event(
    problem: Problem, actor: Person | None = None, embargo: bool = True
) -> Event:
    reason = (
        _("its parent is under embargo") if embargo else _("its parent is no longer under embargo")
    )
    return problem.make_event(COVERING_KINDS[embargo], actor=actor, reason=reason)
