"""Vectors from files: matched to problems by id or order, and refused if invalid."""

import numpy as np
import pytest

from winosmith.embed import ArrayEmbedder, load_array, save_array
from winosmith.errors import DataError, FormatError, OutputError
from winosmith.testing import make_twins

PROBLEMS = make_twins(3)
X = np.arange(12, dtype=np.float32).reshape(6, 2)


def test_npz_files_are_matched_by_id(tmp_path):
    """By the ids in the file, even if others are passed."""
    save_array(tmp_path / "x.npz", X, PROBLEMS.ids, signature="data:x")
    for ids in (None, PROBLEMS.ids[::-1]):
        embedder = load_array(tmp_path / "x.npz", ids=ids)
        for rows in (slice(None), slice(None, None, -1), slice(4, 5)):
            np.testing.assert_array_equal(embedder.embed(PROBLEMS[rows]), X[rows])
    with np.load(tmp_path / "x.npz", allow_pickle=False) as held:
        assert held["signature"].item() == "data:x"
    with pytest.raises(DataError, match="no row for 4 of 6 problems: '1-0', '1-1', '2-0', …"):
        ArrayEmbedder(X[:2], ids=PROBLEMS.ids[:2], name="x.npz").embed(PROBLEMS)


@pytest.mark.parametrize(
    ("array", "ids", "message"),
    [
        (np.zeros(6), None, r"has the shape \(6,\), not \(problems, width\)"),
        (np.zeros((0, 4)), None, r"has the shape \(0, 4\)"),
        (np.zeros((6, 2), complex), None, "has the type complex128; it must contain real numbers"),
        (np.zeros((6, 2), bool), None, "has the type bool"),
        (np.array([["a"]]), None, "has the type <U1"),
        (X, ("a", "b"), "6 rows but 2 ids"),
        (X[:2], ("a", "a"), "repeated id"),
    ],
)
def test_wrong_shapes_types_and_ids_are_refused(array, ids, message):
    with pytest.raises(DataError, match=message):
        ArrayEmbedder(array, ids=ids)


def test_npy_files_are_matched_by_order_without_ids(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    assert load_array(tmp_path / "x.npy").embed(PROBLEMS).dtype == np.float32
    with pytest.raises(DataError, match=r"x\.npy has 6 rows for 5 problems; without ids"):
        load_array(tmp_path / "x.npy").embed(PROBLEMS[:5])
    known = load_array(tmp_path / "x.npy", ids=PROBLEMS.ids)
    np.testing.assert_array_equal(known.embed(PROBLEMS[2:4]), X[2:4])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_non_finite_values_are_refused_with_their_row(bad):
    """Values that float32 can't represent count as infinite."""
    wrong = X.astype(np.float64)
    wrong[4, 1] = bad
    with pytest.raises(DataError, match="NaN or infinity in 1 rows, first in row 4;"):
        ArrayEmbedder(wrong)
    with pytest.raises(DataError, match=r"first in row 4 \('2-0'\)"):
        ArrayEmbedder(wrong, ids=PROBLEMS.ids)


def test_pickles_are_refused(tmp_path):
    """Nothing in them runs."""
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match=r"x\.npy: not a complete"):
        load_array(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", X=np.array([print], dtype=object))
    with pytest.raises(FormatError, match=r"x\.npz: not a complete"):
        load_array(tmp_path / "x.npz")


def test_damaged_and_foreign_files_are_refused(tmp_path):
    save_array(tmp_path / "x.npz", X, PROBLEMS.ids)
    whole = (tmp_path / "x.npz").read_bytes()
    for name, content in (("cut.npz", whole[:-40]), ("text.npz", b"hello"), ("none.npy", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FormatError, match=name):
            load_array(tmp_path / name)
    damaged = bytearray(whole)
    damaged[140] ^= 1
    (tmp_path / "bit.npz").write_bytes(bytes(damaged))
    with pytest.raises(FormatError, match=r"bit\.npz"):
        load_array(tmp_path / "bit.npz")
    with pytest.raises(FormatError, match="No such file"):
        load_array(tmp_path / "nothing.npz")
    np.savez(tmp_path / "other.npz", vectors=X)
    with pytest.raises(FormatError, match="must contain an array X; this one has vectors"):
        load_array(tmp_path / "other.npz")


def test_saving_below_a_file_is_refused(tmp_path):
    (tmp_path / "none").touch()
    with pytest.raises(OutputError, match="a file has the same name as its folder"):
        save_array(tmp_path / "none" / "x.npz", X, PROBLEMS.ids)
