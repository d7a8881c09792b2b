"""How stable a filter's choice of problems is: another run, and perturbed vectors."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith.debias import compare_runs, perturb_vectors
from winosmith.errors import InputError


@given(st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)))
def test_removals_of_two_runs_are_compared(kept: set[int], other: set[int]) -> None:
    gone, there = set(range(20)) - kept, set(range(20)) - other
    told = compare_runs(sorted(kept), sorted(other), 20)
    assert (told.removed, told.other, told.both) == (len(gone), len(there), len(gone & there))
    assert told.share == (len(gone & there) / len(gone) if gone else None)
    assert told.jaccard == (len(gone & there) / len(gone | there) if gone | there else None)


def test_kept_row_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="a kept row is out of range; there are 3 rows"):
        compare_runs([0, 3], [0], 3)


def test_perturbation_depends_on_ids_and_keeps_zeros() -> None:
    X = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)
    X[:, 3] = 0
    ids = [f"p{number}" for number in range(300)]
    order = np.random.default_rng(1).permutation(300)
    with (
        perturb_vectors(X, ids, seed=4) as moved,
        perturb_vectors(X[order], [ids[at] for at in order], seed=4) as b,
    ):
        assert np.array_equal(moved[order], b)
        assert not moved[:, 3].any()
        relative = (moved / np.where(X == 0, 1, X))[:, :3] - 1
        assert 0.8e-4 < relative.std() < 1.2e-4
    with perturb_vectors(X, ids, seed=5) as other:
        assert not np.array_equal(other, moved)


def test_mapped_vectors_are_perturbed_in_a_temporary_file(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    ids = list(range(50))
    with perturb_vectors(X, ids) as held, perturb_vectors(mapped, ids, scratch=tmp_path) as lent:
        assert len(list(tmp_path.iterdir())) == 2
        assert np.array_equal(held, lent)
        del lent
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]
