"""Ids that stay with a problem from release to release, and tell nothing of its answer."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from winosmith.dataset import Dataset
from winosmith.problem import Lineage, Problem

__all__ = ["digest_ids", "sight"]

DIGITS = 12
"""Of an id: 48 bits, with which 50,000 problems share one by chance once in 200,000 releases."""


def sight(problem: Problem) -> str:
    """Return a digest of what a solver sees: the sentence and its options, in 64 digits."""
    seen = "\0".join((problem.sentence, *problem.options))
    return hashlib.sha256(seen.encode()).hexdigest()


def digest_ids(parts: Mapping[str, Dataset], name: str) -> dict[str, Dataset]:
    """Return the parts with ids made from what a solver sees.

    A build numbers its problems by their rows, so the same id is another problem in the next build.
    These stay the same for the same sentence and options; so does the id of a twin for the same
    halves. What is left of a family keeps one name for a root that is not there.

    Args:
        parts: in which the same id is the same problem.
        name: what the ids begin with.

    >>> old = Dataset([Problem("mine-0", "The _ fell.", ("cup", "jug"), 1, "mine-t0")])
    >>> new = digest_ids({"dev": old}, "mine")["dev"][0]
    >>> new.id, new.twin_id
    ('mine-683a48eccc36', 'mine-t0d6f43992b50')
    """
    problems = {problem.id: problem for dataset in parts.values() for problem in dataset}
    copies: Counter[str] = Counter()
    ids: dict[str, str] = {}
    for old, problem in problems.items():
        digits = sight(problem)[:DIGITS]
        copies[digits] += 1
        again = f"-{copies[digits]}" if copies[digits] > 1 else ""
        ids[old] = f"{name}-{digits}{again}"
    twins = _groups(problems, ids, f"{name}-t", lambda p: p.twin_id)
    absent = _groups(problems, ids, f"{name}-x", lambda p: None if p.root in ids else p.root)
    parents = _groups(
        problems,
        ids,
        f"{name}-x",
        lambda p: p.lineage.parent if p.lineage and p.lineage.parent not in ids else None,
    )
    strangers = {**parents, **absent}

    def lineage(old: Lineage | None) -> Lineage | None:
        if old is None:
            return None
        root, parent = (ids.get(one) or strangers[one] for one in (old.root, old.parent))
        return replace(old, root=root, parent=parent)

    renamed = {
        old: replace(
            problem,
            id=ids[old],
            twin_id=None if problem.twin_id is None else twins[problem.twin_id],
            lineage=lineage(problem.lineage),
        )
        for old, problem in problems.items()
    }
    return {
        part: Dataset((renamed[p.id] for p in dataset), dataset.name)
        for part, dataset in parts.items()
    }


def _groups(
    problems: Mapping[str, Problem],
    ids: Mapping[str, str],
    prefix: str,
    key: Callable[[Problem], str | None],
) -> dict[str, str]:
    """Return a name for each key that problems share, made from the ids of those problems."""
    members: dict[str, list[str]] = {}
    for old, problem in problems.items():
        group = key(problem)
        if group is not None:
            members.setdefault(group, []).append(ids[old])
    return {
        group: prefix + hashlib.sha256("\0".join(sorted(held)).encode()).hexdigest()[:DIGITS]
        for group, held in members.items()
    }
