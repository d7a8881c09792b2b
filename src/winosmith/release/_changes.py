"""Assign stable ids, and find the changes and tombstones between two releases.

A problem keeps its id from release to release, and ids reveal nothing about answers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.records import make_problem_record
from winosmith.release._about import About
from winosmith.release._content import Tombstone, digest_text, get_side, index_problems, iter_forms
from winosmith.release._source import PreviousRelease, Source

ID_DIGITS = 12
"""Number of hex digits in an id; with 50,000 problems, ids collide in one of 200,000 releases."""


def make_id(problem: Problem, name: str) -> str:
    return f"{name}-{digest_text(problem)[:ID_DIGITS]}"


def assign_ids(
    parts: Mapping[str, Dataset],
    name: str,
    previous: PreviousRelease | None = None,
    source: Source | None = None,
    second: Mapping[str, Problem] | None = None,
) -> dict[str, Dataset]:
    """Assign ids that depend only on the sentences and options of problems.

    A build numbers its problems by row, so an id can belong to different problems in two builds.
    The new ids are the same for the same sentence and options.

    A twin keeps its name if a half is removed or restored; families also keep their names. A root
    outside the parts keeps its published id; without one, it gets a name that reveals nothing about
    it.

    In `parts`, the same id means the same problem. `source` includes problems that are in no part.
    `second` contains the second presentations in a keyed release, by id. Ids are made from the
    first presentation, unless the previous release has the id of the second.

    >>> old = Dataset([Problem("mine-0", "The _ fell.", ("cup", "jug"), 1, "mine-t0")])
    >>> new = assign_ids({"dev": old}, "mine")["dev"][0]
    >>> new.id, new.twin_id
    ('mine-683a48eccc36', 'mine-t0d6f43992b50')
    """
    problems = index_problems(parts)
    copies: Counter[str] = Counter()
    ids: dict[str, str] = {}
    for old, problem in problems.items():
        stems = [make_id(one, name) for one in (problem, (second or {}).get(old)) if one]
        made = next((one for one in stems if previous and one in previous.published_ids), stems[0])
        copies[made] += 1
        ids[old] = f"{made}-{copies[made]}" if copies[made] > 1 else made

    def name_groups(prefix: str, key: _Key, taken_names: Iterable[str] = ()) -> dict[str, str]:
        """Map each group to its previous name or, if there is none, a digest of its new ids."""
        members: dict[str, list[str]] = {}
        for old, problem in problems.items():
            if (group := key(problem)) is not None:
                members.setdefault(group, []).append(ids[old])
        former = previous.problems if previous else {}
        names: dict[str, str] = {}
        taken = set(taken_names)
        for group, member_ids in members.items():
            member_ids.sort()
            digest = hashlib.sha256("\0".join(member_ids).encode()).hexdigest()[:ID_DIGITS]
            made = f"{name}-{prefix}{digest}"
            earlier = (key(former[id_]) for id_ in member_ids if id_ in former)
            names[group] = next((old for old in earlier if old and old not in taken), made)
            taken.add(names[group])
        return names

    twins = name_groups("t", lambda p: p.twin_id)
    roots = name_groups("x", lambda p: p.lineage.root if p.lineage else None)
    outside: dict[str, str] = {}
    if previous and source:
        lineages = [problem.lineage for problem in problems.values() if problem.lineage]
        for one in {one for lineage in lineages for one in (lineage.root, lineage.parent)}:
            absent = source.absent_problems.get(one)
            forms = iter_forms(absent, bool(previous.content.keyed)) if absent else ()
            of_source = previous.ids_by_source.get(source.old_ids.get(one, one))
            known = (*(make_id(form, name) for form in forms), of_source)
            if found := next((id_ for id_ in known if id_ in previous.published_ids), None):
                outside[one] = found
    relatives = {
        **name_groups("y", lambda p: p.lineage.parent if p.lineage else None, roots.values()),
        **roots,
        **outside,
        **ids,
    }
    name_of, twin_of = relatives.__getitem__, twins.__getitem__
    return {
        part: Dataset((p.with_new_ids(name_of, twin_of, ids) for p in dataset), dataset.name)
        for part, dataset in parts.items()
    }


_Key = Callable[[Problem], str | None]
"""A function that returns the id of a problem's twin, root or parent."""


Changes = Mapping[str, Mapping[str, str]]
"""The notes by kind of change and problem id. A note is the reason ("withdrawn"), the id of the new
problem ("edited"), the changed fields ("changed") or the two splits ("moved")."""


def find_changes(
    parts: Mapping[str, Dataset],
    previous: PreviousRelease,
    reasons: Mapping[str, str],
    source_ids: Mapping[str, str],
    absent: Mapping[str, str],
) -> Changes:
    """Find the changes to problems since the previous release.

    A missing problem counts as edited instead of withdrawn if a new problem replaces it. The new
    problem has the same id in the source, or is the only problem perturbed from the missing one. A
    problem with a reason for its withdrawal always counts as withdrawn.

    `reasons` maps ids to reasons for withdrawals, and `source_ids` maps new ids to ids in the
    source. `absent` maps the id that a problem would have to the reason why the source omits the
    problem.
    """
    now, then = index_problems(parts), previous.problems
    sides, old_sides = _map_ids_to_sides(parts), _map_ids_to_sides(previous.content.parts)
    added = [one for one in now if one not in then]
    missing = {one for one in then if one not in now}
    replaceable = missing - reasons.keys()
    replaced = {one: previous.ids_by_source.get(source_ids.get(one, "")) for one in added}
    successors = {old: one for one, old in replaced.items() if old in replaceable}
    with_same_id = set(successors.values())
    children: dict[str, list[str]] = {}
    for one in added:
        lineage = now[one].lineage
        if lineage is not None and lineage.parent in replaceable and one not in with_same_id:
            children.setdefault(lineage.parent, []).append(one)
    successors = {old: of[0] for old, of in children.items() if len(of) == 1} | successors
    edited = {one: successors[one] for one in then if one in successors}
    made = set(edited.values())
    stayed = [one for one in now if one in then]
    differing = {one: ", ".join(_find_changed_fields(then[one], now[one])) for one in stayed}
    return {
        "added": {one: "" for one in added if one not in made},
        "withdrawn": {
            one: reasons.get(one) or absent.get(one, "")
            for one in then
            if one in missing and one not in edited
        },
        "edited": edited,
        "changed": {one: fields for one, fields in differing.items() if fields},
        "moved": {
            one: f"{old_sides[one]} → {sides[one]}"
            for one in stayed
            if sides[one] != old_sides[one]
        },
    }


def _map_ids_to_sides(parts: Mapping[str, Dataset]) -> dict[str, str]:
    return {problem.id: get_side(part) for part, dataset in parts.items() for problem in dataset}


def _find_changed_fields(old: Problem, new: Problem) -> list[str]:
    """Ignore the answers and `extra` if one answer is withheld."""
    one, two = (make_problem_record(p) for p in (old, new))
    for record, problem in ((one, old), (two, new)):
        extra = problem.extra.items()
        record["extra"] = {k: v for k, v in extra if not k.startswith(("release.", "winosmith."))}
    names = ["sentence", "options", "twin_id", "pronoun", "origin", "lineage"]
    if None not in (old.answer, new.answer):
        names = ["answer", *names, "extra"]
    return [name for name in names if one.get(name) != two.get(name)]


def make_tombstones(
    changes: Changes, previous: PreviousRelease, about: About
) -> tuple[Tombstone, ...]:
    kept = [stone for stone in previous.content.tombstones if stone.id not in about.restored]
    for kind, field in (("withdrawn", "reason"), ("edited", "became")):
        for one, text in changes[kind].items():
            answered = previous.problems[one].answer is not None
            versions = {"last": previous.version, "withdrawn": about.version}
            kept.append(Tombstone(one, **versions, answered=answered, **{field: text}))
    return tuple(sorted(kept, key=lambda stone: stone.id))
