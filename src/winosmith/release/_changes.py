"""The changes since the previous release, and the tombstones of withdrawn problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winosmith.dataset import Dataset
from winosmith.problem import Extra, Problem
from winosmith.records import problem_record
from winosmith.release._about import About
from winosmith.release._content import Tombstone
from winosmith.release._parts import side, unique
from winosmith.release._read import Previous

Changes = Mapping[str, Mapping[str, str]]
"""The ids of problems by kind of change, each with a note: of "withdrawn" the reason, of "edited"
the id of the new problem, of "changed" the fields, of "moved" the sides."""


def changes(
    parts: Mapping[str, Dataset],
    before: Previous,
    reasons: Mapping[str, str],
    source_ids: Mapping[str, str],
    absent: Mapping[str, str],
) -> Changes:
    """Compare a release with the previous one, by ids.

    A missing problem was edited, and not withdrawn, if one new problem replaces it: the one with
    its id in the source, or the only one that is perturbed from it. If a reason is given, it was
    withdrawn.

    Args:
        parts: of the new release.
        before: the previous release.
        reasons: of withdrawals, by id.
        source_ids: the id of each new problem in its source, if known.
        absent: the reasons why the source omits problems, by the ids that they would have.
    """
    now, then = unique(parts), before.problems
    sides, old_sides = _sides(parts), _sides(before.content.parts)
    missing = {one for one in then if one not in now}
    edited = _edited(now, then, missing - reasons.keys(), source_ids, before.by_source)
    made = set(edited.values())
    stayed = [one for one in now if one in then]
    differing = {one: ", ".join(_differing(then[one], now[one])) for one in stayed}
    return {
        "added": {one: "" for one in now if one not in then and one not in made},
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


def _edited(
    now: Mapping[str, Problem],
    then: Mapping[str, Problem],
    missing: set[str],
    source_ids: Mapping[str, str],
    by_source: Mapping[str, str],
) -> dict[str, str]:
    """Return the ids of the problems that replace missing ones."""
    new = [one for one in now if one not in then]
    replaced = {one: by_source.get(source_ids.get(one, "")) for one in new}
    edited = {old: one for one, old in replaced.items() if old in missing}
    children: dict[str, list[str]] = {}
    for one in new:
        lineage = now[one].lineage
        if lineage is not None and lineage.parent in missing and one not in edited.values():
            children.setdefault(lineage.parent, []).append(one)
    only = {parent: held[0] for parent, held in children.items() if len(held) == 1}
    return {one: by for one in then if (by := {**only, **edited}.get(one))}


def _sides(parts: Mapping[str, Dataset]) -> dict[str, str]:
    return {problem.id: side(part) for part, dataset in parts.items() for problem in dataset}


def _differing(old: Problem, new: Problem) -> list[str]:
    """Name the fields that differ; an answer that one of them withholds has moved, not changed."""
    one, two = (problem_record(p) for p in (old, new))
    names = ["sentence", "options", "twin_id", "pronoun", "origin", "lineage"]
    if None not in (old.answer, new.answer):
        names = ["answer", *names, "extra"]
        one["extra"], two["extra"] = _own(old.extra), _own(new.extra)
    return [name for name in names if one.get(name) != two.get(name)]


def _own(extra: Extra) -> dict[str, Any]:
    return {k: v for k, v in extra.items() if not k.startswith(("release.", "winosmith."))}


def tombstones(found: Changes, before: Previous, about: About) -> tuple[Tombstone, ...]:
    """Return the tombstones of this release and of earlier ones, by id; not of restored ids."""
    kept = [stone for stone in before.content.tombstones if stone.id not in about.restored]
    for one, reason in found["withdrawn"].items():
        kept.append(Tombstone(one, before.version, about.version, reason))
    for one, new in found["edited"].items():
        kept.append(Tombstone(one, before.version, about.version, became=new))
    return tuple(sorted(kept, key=lambda stone: stone.id))
