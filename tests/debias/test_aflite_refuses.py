"""What AFLite refuses, and the parameters that it takes where none are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.debias.rows import SMALL, made  # type: ignore[import-not-found]
from winosmith import debias
from winosmith.errors import DataError, InputError


def with_nan(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows with a NaN in row 7, column 2."""
    X = X.copy()
    X[7, 2] = np.nan
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: {"X": with_nan(a["X"])}, r"row 7 \(id 'p\d+'\) of X holds nan in column 2"),
        (lambda a: {"X": a["X"] / 0}, "row 0 .* holds -?inf"),
        (lambda a: {"X": a["X"][:, 0]}, r"2 dimensions.*\(240,\)"),
        (lambda a: {"X": a["X"][:0], "y": [], "ids": []}, r"empty.*\(0, 6\)"),
        (lambda a: {"X": a["X"][:, :0]}, r"empty.*\(240, 0\)"),
        (lambda a: {"X": a["X"].astype(str)}, "real numbers"),
        (lambda a: {"X": a["X"] + 1j}, "real numbers"),
        (lambda a: {"X": a["X"].astype(float) * 1e200}, "divide it"),
        (lambda a: {"y": a["y"][:-1]}, "240 rows, but y has 239"),
        (lambda a: {"ids": a["ids"][1:]}, "240 rows, but ids has 239"),
        (lambda a: {"groups": ["g"]}, "240 rows, but groups has 1"),
        (lambda a: {"y": a["y"] * 2}, r"row \d+ .*is 2; labels are 0 or 1.*debias\.mirror takes"),
        (lambda a: {"y": [None, *a["y"][1:]]}, "row 0 .*is None"),
        (lambda a: {"y": ["1"] * 240}, "row 0 .*is '1'"),
        (lambda a: {"y": a["y"] * 0}, "all 240 labels are 0"),
        (lambda a: {"y": a["y"][:, None]}, "1 dimension"),
        (lambda a: {"y": None}, "1 dimension"),
        (lambda a: {"ids": ["twice"] * 2 + a["ids"][2:]}, "'twice' occurs twice"),
        (lambda a: {"ids": [1, *a["ids"][1:]]}, "can't be put in order"),
        (lambda a: {"groups": ["all"] * 240}, "larger than train_size"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_arrays_that_cannot_be_filtered_are_refused(change, message):
    """The error says what is wrong, and in which row."""
    X, y, ids = made()
    arrays = {"X": X, "y": y, "ids": ids}
    arrays.update(change(arrays))
    with pytest.raises(DataError, match=message):
        debias.aflite(arrays.pop("X"), arrays.pop("y"), **arrays, **SMALL)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"ensemble_size": 0}, "ensemble_size is 1 or more"),
        ({"train_size": 1}, "train_size is 2 or more"),
        ({"train_size": 2.5}, "whole number"),
        ({"cutoff": 0}, "cutoff is 1 or more"),
        ({"threshold": 1.5}, "from 0 to 1"),
        ({"threshold": float("nan")}, "from 0 to 1"),
        ({"threshold": "high"}, "threshold is a number"),
        ({"C": 0}, "above 0"),
        ({"C": float("inf")}, "above 0"),
        ({"seed": -1}, "seed is 0 or more"),
    ],
)
def test_parameters_out_of_range_are_refused(parameter, message):
    """The error names the parameter and its range."""
    X, y, ids = made()
    with pytest.raises(InputError, match=message):
        debias.aflite(X, y, ids=ids, **{**SMALL, **parameter})


def test_the_papers_sizes_and_their_shares():
    """47,000 rows and more take the paper's m and k; fewer the same shares, never below 2 and 1."""
    assert debias.suggested_sizes(47_000) == (10_000, 500)
    assert debias.suggested_sizes(200_000) == (10_000, 500)
    assert debias.suggested_sizes(4_700) == (1_000, 50)
    assert debias.suggested_sizes(3) == (2, 1)


def test_problem_labels_refuse_by_name():
    """Problems with more than two options, or without an answer, are named and counted."""
    from winosmith import Dataset, Problem

    two = Problem("a", "A _ b.", ("x", "y"), 1)
    assert debias.problem_labels(Dataset([two])).tolist() == [1]
    three = Problem("b", "A _ b.", ("x", "y", "z"), 1)
    with pytest.raises(DataError, match=r"'b' has 3 options.*the 1 that have more"):
        debias.problem_labels(Dataset([two, three]))
    with pytest.raises(DataError, match="'a' is withheld"):
        debias.problem_labels(Dataset([two.blind()]))
    with pytest.raises(DataError, match="no problems"):
        debias.problem_labels(Dataset())
