"""Families are counted, and their depths compared."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from winosmith import Dataset
from winosmith.lineage import explain, perturbed
from winosmith.metrics import lineage_statistics
from winosmith.testing import made_families, made_twins


def test_families_and_depths_are_counted() -> None:
    """Two families of three and two perturbed problems, one of which declares two too many."""
    data = made_families([1, 2, 6], [3, 3])
    odd = replace(data[1], lineage=replace(data[1].lineage, declared=3))
    found = lineage_statistics(Dataset([data[0], odd, *data[2:]]))
    assert found is not None
    assert (found.families, found.perturbed, found.unvalidated, found.largest) == (2, 5, 0, 4)
    declared = found.depths["declared"]
    assert (declared.known, declared.mean, declared.greatest, declared.equal) == (5, 3.4, 6, 4)
    assert found.depths["edit"].mean == 3.0
    assert found.example == odd.id
    assert found.explained == explain(Dataset([data[0], odd, *data[2:]]), 1)
    assert json.loads(json.dumps(found.record())) == found.record()


def test_what_people_have_not_judged_is_counted() -> None:
    """A generated problem declares nothing, and is unvalidated."""
    root = made_twins(1)[0]
    child = perturbed(root, f"Then {root.sentence}", root.options, 0, source="wordnet")
    found = lineage_statistics(Dataset([root, child]))
    assert found is not None
    assert (found.unvalidated, found.depths["declared"].mean, found.example) == (1, None, None)


@pytest.mark.parametrize("data", [made_twins(3), Dataset()])
def test_without_a_lineage_there_is_nothing_to_count(data: Dataset) -> None:
    """Data in which nothing was perturbed has no such statistics."""
    assert lineage_statistics(data) is None
