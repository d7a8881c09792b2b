"""Ids that stay with a problem from release to release, and reveal nothing of its answer."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping

from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.release._parts import sight, unique
from winosmith.release._read import Previous
from winosmith.release._source import Source

DIGITS = 12
"""Of an id: 48 bits, with which 50,000 problems share one by chance once in 200,000 releases."""


def id_of(problem: Problem, name: str) -> str:
    """Return the id that is made from what a solver sees; the first of several copies has it."""
    return f"{name}-{sight(problem)[:DIGITS]}"


def digest_ids(
    parts: Mapping[str, Dataset],
    name: str,
    before: Previous | None = None,
    source: Source | None = None,
) -> dict[str, Dataset]:
    """Return the parts with ids made from what a solver sees.

    A build numbers its problems by their rows, so the same id is another problem in the next build.
    These ids stay the same for the same sentence and options, and so do the names of twins and
    families: a twin keeps its name if a half is removed or restored. A root outside the parts keeps
    the id with which it was published, and otherwise gets a name that reveals nothing of it.

    Args:
        parts: in which the same id is the same problem.
        name: the start of the ids.
        before: the previous release.
        source: of the parts, with the problems that are in no part.

    >>> old = Dataset([Problem("mine-0", "The _ fell.", ("cup", "jug"), 1, "mine-t0")])
    >>> new = digest_ids({"dev": old}, "mine")["dev"][0]
    >>> new.id, new.twin_id
    ('mine-683a48eccc36', 'mine-t0d6f43992b50')
    """
    problems = unique(parts)
    copies: Counter[str] = Counter()
    ids: dict[str, str] = {}
    for old, problem in problems.items():
        made = id_of(problem, name)
        copies[made] += 1
        ids[old] = f"{made}-{copies[made]}" if copies[made] > 1 else made

    def names_by(prefix: str, key: _Key) -> dict[str, str]:
        return _group_names(problems, ids, f"{name}-{prefix}", key, before)

    twins = names_by("t", lambda p: p.twin_id)
    relatives = {
        **names_by("x", lambda p: p.lineage.parent if p.lineage else None),
        **names_by("x", lambda p: p.lineage.root if p.lineage else None),
        **(_published(problems, source, name, before) if before and source else {}),
        **ids,
    }
    name_of, twin_of = relatives.__getitem__, twins.__getitem__
    return {
        part: Dataset((p.renamed(name_of, twin_of) for p in dataset), dataset.name)
        for part, dataset in parts.items()
    }


_Key = Callable[[Problem], str | None]
"""Returns the name of a problem's twin, root or parent."""


def _published(
    problems: Mapping[str, Problem], source: Source, name: str, before: Previous
) -> dict[str, str]:
    """Return the ids with which roots and parents outside the parts were published."""
    lineages = (problem.lineage for problem in problems.values() if problem.lineage)
    found = {}
    for one in {one for lineage in lineages for one in (lineage.root, lineage.parent)}:
        absent = source.absent.get(one)
        of_text = id_of(absent, name) if absent else None
        of_source = before.by_source.get(source.old_ids.get(one, one))
        found[one] = next((id_ for id_ in (of_text, of_source) if id_ in before.published), None)
    return {one: id_ for one, id_ in found.items() if id_ is not None}


def _group_names(
    problems: Mapping[str, Problem],
    ids: Mapping[str, str],
    prefix: str,
    key: _Key,
    before: Previous | None,
) -> dict[str, str]:
    """Return a name for each group of problems: the previous one, or a digest of their ids."""
    members: dict[str, list[str]] = {}
    for old, problem in problems.items():
        if (group := key(problem)) is not None:
            members.setdefault(group, []).append(ids[old])
    former = before.problems if before else {}
    names: dict[str, str] = {}
    taken: set[str] = set()
    for group, held in members.items():
        held.sort()
        digest = hashlib.sha256("\0".join(held).encode()).hexdigest()[:DIGITS]
        earlier = (key(former[one]) for one in held if one in former)
        names[group] = next((one for one in earlier if one and one not in taken), prefix + digest)
        taken.add(names[group])
    return names
