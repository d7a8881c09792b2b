"""Lineages that contradict themselves are found when a file is read.

A cycle, a root that the parent does not share, and edits that don't turn the parent's sentence
into the child's make a record bad. A parent that is not in the file does not: a file may hold a
part of a family, such as what a filter kept. Nor does a declared depth: those that are published
follow no single rule. `winosmith check` reports both.
"""

from __future__ import annotations

from collections.abc import Iterable

from winosmith.dataset import Dataset
from winosmith.formats._base import Entry
from winosmith.lineage import check_lineages
from winosmith.problem import Problem

__all__ = ["with_lineages_checked"]


def with_lineages_checked(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries; those whose lineage contradicts itself are bad, with the reason.

    Args:
        entries: of a file, in order; no two problems share an id.
    """
    checked = list(entries)
    rows = [at for at, found in enumerate(checked) if isinstance(found.item, Problem)]
    problems = [found.item for found in checked if isinstance(found.item, Problem)]
    if not any(problem.lineage for problem in problems):
        return checked
    for row, reason in check_lineages(Dataset(problems), complete=False).items():
        bad = checked[rows[row]]
        checked[rows[row]] = Entry(bad.line, bad.raw, reason=reason)
    return checked
