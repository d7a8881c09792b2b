"""What a solver makes of a round, where the round is a strange one."""

from __future__ import annotations

from dataclasses import replace

from winosmith import Dataset, Lineage, Prediction
from winosmith.rounds._measures import measured
from winosmith.testing import made_twins


def test_perturbed_problems_without_a_known_depth_have_no_stability() -> None:
    """Where the root is gone and no depth is declared, the round is measured all the same."""
    twins = made_twins(20)
    orphans = Dataset(
        replace(p, lineage=Lineage("gone", "gone")) if row < 4 else p for row, p in enumerate(twins)
    )
    said = [Prediction(p.id, p.answer or 0) for p in orphans]
    found = measured(orphans, said)
    assert (found.accuracy.value, found.stability) == (1.0, None)
