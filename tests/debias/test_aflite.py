"""AFLite's public behavior: the rows that it keeps, refusals, and resumed runs."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from tests.conftest import examples
from tests.debias.rows import SMALL, made, same
from winosmith import debias
from winosmith.errors import DataError, InputError, OutputError


@given(
    rows=st.integers(8, 120),
    train=st.integers(2, 60),
    cutoff=st.integers(1, 30),
    threshold=st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    seed=st.integers(0, 50),
)
@examples(40)
@pytest.mark.filterwarnings("ignore:train_size is")
def test_each_row_is_kept_or_removed_in_one_phase(rows, train, cutoff, threshold, seed):
    X, y, ids = made(rows, seed=seed)
    result = debias.aflite(
        X, y, ids=ids, ensemble_size=4, train_size=train, cutoff=cutoff, threshold=threshold
    )
    together = np.concatenate([result.kept, *result.removed])
    assert sorted(together.tolist()) == list(range(rows))
    assert [len(part) for part in result.removed] == [phase.removed for phase in result.phases]
    left = rows
    for number, (phase, removed) in enumerate(zip(result.phases, result.removed, strict=True)):
        assert (phase.number, phase.size) == (number, left)
        assert len(removed) == min(cutoff, phase.candidates)
        assert (result.removal_phase[removed] == number).all()
        assert (result.scores[removed] >= threshold).all()
        assert sum(phase.histogram) == phase.size - phase.undefined
        left -= phase.removed
    assert (result.removal_phase[result.kept] == -1).all()
    assert result.stop_reason == (
        "cutoff"
        if result.phases and result.phases[-1].removed < cutoff
        else "train size"
        if left <= train
        else "one class"
    )


@given(order=st.permutations(range(60)), with_ids=st.booleans(), with_groups=st.booleans())
@examples(25)
def test_row_order_does_not_change_the_result(order, with_ids, with_groups):
    X, y, ids = made(60)
    groups = [f"g{row // 2}" if row < 40 else None for row in range(60)]
    chosen = {"ensemble_size": 4, "train_size": 15, "cutoff": 5}

    def run(rows: list[int]) -> debias.AfliteResult:
        return debias.aflite(
            X[rows],
            y[rows],
            ids=[ids[row] for row in rows] if with_ids else None,
            groups=[groups[row] for row in rows] if with_groups else None,
            **chosen,
        )

    straight, permuted = run(list(range(60))), run(order)
    assert {order[row] for row in permuted.kept} == set(straight.kept.tolist())
    assert permuted.scores.tobytes() == straight.scores[order].tobytes()
    assert permuted.phases == straight.phases


class AtOnce(Executor):
    """Runs each task on submission, in the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the task."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_executors_do_not_change_any_byte():
    """The process pool also shows that the submitted work can be pickled."""
    X, y, ids = made(columns=20)
    alone = debias.aflite(X, y, ids=ids, **SMALL)
    executors = [
        ThreadPoolExecutor(1),
        ThreadPoolExecutor(5),
        AtOnce(),
        ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    ]
    for executor in executors:
        with executor:
            assert same(debias.aflite(X, y, ids=ids, executor=executor, **SMALL), alone)


def test_another_seed_removes_other_rows():
    X, y, ids = made()
    runs = [debias.aflite(X, y, ids=ids, **{**SMALL, "seed": seed}) for seed in (1, 2)]
    assert runs[0].kept.tobytes() != runs[1].kept.tobytes()


def test_scaled_rows_with_rescaled_c_give_equal_scores():
    X, y, ids = made()
    straight = debias.aflite(X, y, ids=ids, **SMALL)
    scaled = debias.aflite(X * 2.0**30, y, ids=ids, C=2.0**-60, **SMALL)
    assert scaled.scores.tobytes() == straight.scores.tobytes()


def test_lists_give_the_same_result_as_arrays():
    X, y, _ = made()
    assert same(debias.aflite(X.tolist(), y, **SMALL), debias.aflite(X, y, **SMALL))


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.float16),
        lambda X: (X * 100).astype(np.int16),
        lambda X: X > 0,
        lambda X: np.c_[X, np.full(len(X), 1e6)],
        lambda X: np.c_[X, X, X @ np.ones((6, 40))],
        lambda X: X + 1e7,
        lambda X: X * 1e30,
        lambda X: X * 1e-30,
        lambda X: np.zeros_like(X),
        lambda X: np.repeat(X[:24], 10, axis=0),
    ],
    ids=[
        "float16",
        "int16",
        "bool",
        "constant column",
        "rank-deficient",
        "far from zero",
        "huge",
        "tiny",
        "all zero",
        "duplicates",
    ],
)
def test_unusual_values_give_scores_between_0_and_1(change):
    """A warning would fail the test, too."""
    X, y, ids = made()
    result = debias.aflite(change(X), y, ids=ids, **SMALL)
    assert result.phases
    assert ((result.scores >= 0) & (result.scores <= 1)).all()


def test_separable_rows_are_removed_down_to_train_size():
    X, y, ids = made()
    X[:, 0] = np.where(y, 1.0, -1.0)
    result = debias.aflite(X, y, ids=ids, C=1e6, **SMALL)
    assert result.stop_reason == "train size"
    assert len(result.kept) == SMALL["train_size"]
    assert all(phase.accuracy == 1.0 for phase in result.phases)


def test_run_stops_after_a_phase_below_the_cutoff():
    """The last phase still removes the rows that it found (Algorithm 1, lines 13-15)."""
    X, y, ids = made()
    result = debias.aflite(X, y, ids=ids, **SMALL)
    assert result.stop_reason == "cutoff"
    assert 0 < result.phases[-1].removed < SMALL["cutoff"]
    assert all(phase.removed == SMALL["cutoff"] for phase in result.phases[:-1])


def test_run_stops_when_one_class_is_left():
    X = np.r_[np.full(10, 10.0), np.full(10, -10.0), np.full(3, 30.0)][:, None]
    y = np.r_[np.ones(10, int), np.zeros(13, int)]  # the last three look like the other class
    result = debias.aflite(X, y, train_size=2, cutoff=20, threshold=0, ensemble_size=400)
    assert result.kept.tolist() == [20, 21, 22]
    assert (result.stop_reason, len(result.phases)) == ("one class", 1)


def test_train_size_of_all_rows_warns_and_removes_nothing():
    X, y, ids = made(200)
    with pytest.warns(UserWarning, match="train_size=43 and cutoff=2"):
        result = debias.aflite(X, y, ids=ids)
    assert result.kept.tolist() == list(range(200))
    assert (result.phases, result.removed, result.stop_reason) == ((), (), "train size")
    assert np.isnan(result.scores).all()
    assert (result.parameters["rows"], result.parameters["columns"]) == X.shape


@pytest.mark.parametrize("target", [200, 250])
def test_target_of_all_rows_or_more_removes_nothing(target):
    X, y, ids = made(200)
    result = debias.aflite(X, y, ids=ids, **(SMALL | {"target_size": target}))
    assert (len(result.kept), result.phases, result.stop_reason) == (200, (), "target size")


def test_rows_without_a_prediction_are_kept_and_counted():
    """A row that every classifier was trained on has no score in that phase."""
    X, y, ids = made(50)
    result = debias.aflite(X, y, ids=ids, ensemble_size=2, train_size=49, cutoff=50, threshold=0.0)
    phase = result.phases[0]
    assert phase.undefined in (48, 49)
    assert phase.removed == 50 - phase.undefined
    assert np.isnan(result.scores).sum() == phase.undefined
    assert np.isnan(result.scores[result.kept]).all()


def test_one_class_training_sets_predict_that_class():
    rng = np.random.default_rng(0)
    y = (np.arange(100) < 2).astype(int)
    result = debias.aflite(
        rng.normal(size=(100, 3)), y, train_size=2, cutoff=100, ensemble_size=32, threshold=1.0
    )
    assert result.phases[0].one_class > 20
    assert (result.scores[y == 1] < 0.2).all()
    assert (result.scores[y == 0] > 0.8).all()


def test_groups_keep_twin_halves_out_of_training():
    """Halves with equal rows and opposite labels are then predicted at exactly chance level."""
    rng = np.random.default_rng(4)
    half = rng.normal(size=(150, 40))
    X, y = np.repeat(half, 2, axis=0), np.tile([0, 1], 150)
    twins = [f"t{row // 2}" for row in range(300)]
    chosen = {"train_size": 100, "cutoff": 300, "threshold": 0.0, "ids": range(300), "C": 1e4}
    apart = debias.aflite(X, y, groups=twins, **chosen).phases[0]
    free = debias.aflite(X, y, **chosen).phases[0]
    assert apart.accuracy == 0.5  # one half of each twin is right, the other wrong
    assert free.accuracy is not None
    assert free.accuracy < 0.45  # a half in the training set misleads about the other


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


FIRST_RUN = """
import logging, numba
logging.basicConfig(level=logging.INFO)
{before}
from winosmith.debias import _kernel
_kernel.compile_loops()
print(sum(_kernel.count_votes.stats.cache_hits.values()))
"""


@pytest.mark.long
def test_first_run_logs_compilation(tmp_path: Path):
    """The next run loads the compiled code from the cache."""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first = run_python(FIRST_RUN.format(before=""), **cache)
    assert "compiling AFLite" in first.stderr
    assert first.stdout.strip() == "0"
    assert run_python(FIRST_RUN.format(before=""), **cache).stdout.strip() == "1"


@pytest.mark.long
def test_unwritable_cache_compiles_in_memory():
    before = (
        "from numba.core import caching\n"
        "for locator in caching.CacheImpl._locator_classes:\n"
        "    locator.ensure_cache_path = lambda self: (_ for _ in ()).throw(OSError('read-only'))"
    )
    run = run_python(FIRST_RUN.format(before=before))
    assert "NUMBA_CACHE_DIR" in run.stderr
    assert run.stdout.strip() == "0"


def add_nan(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows with a NaN in row 7, column 2."""
    X = X.copy()
    X[7, 2] = np.nan
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: {"X": add_nan(a["X"])}, r"row 7 \(id 'p\d+'\) of X contains nan in column 2"),
        (lambda a: {"X": a["X"] / 0}, "row 0 .* contains -?inf"),
        (lambda a: {"X": a["X"][:, 0]}, r"2 dimensions.*\(240,\)"),
        (lambda a: {"X": a["X"][:0], "y": [], "ids": []}, r"empty.*\(0, 6\)"),
        (lambda a: {"X": a["X"][:, :0]}, r"empty.*\(240, 0\)"),
        (lambda a: {"X": a["X"].astype(str)}, "must contain real numbers"),
        (lambda a: {"X": a["X"] + 1j}, "must contain real numbers"),
        (lambda a: {"X": a["X"].astype(float) * 1e200}, "divide X"),
        (lambda a: {"y": a["y"][:-1]}, "240 rows, but y has 239"),
        (lambda a: {"ids": a["ids"][1:]}, "240 rows, but ids has 239"),
        (lambda a: {"groups": ["g"]}, "240 rows, but groups has 1"),
        (
            lambda a: {"y": a["y"] * 2},
            r"row \d+ .*is 2; labels are 0 or 1.*with more options use debias\.mirror",
        ),
        (lambda a: {"y": [None, *a["y"][1:]]}, "row 0 .*is None"),
        (lambda a: {"y": ["1"] * 240}, "row 0 .*is '1'"),
        (lambda a: {"y": a["y"] * 0}, "all 240 labels are 0"),
        (lambda a: {"y": a["y"][:, None]}, "1 dimension"),
        (lambda a: {"y": None}, "1 dimension"),
        (lambda a: {"ids": ["twice"] * 2 + a["ids"][2:]}, "'twice' occurs twice"),
        (lambda a: {"ids": [1, *a["ids"][1:]]}, "can't be sorted"),
        (lambda a: {"groups": ["all"] * 240}, "larger than train_size"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_invalid_arrays_are_refused(change, message):
    X, y, ids = made()
    arrays = {"X": X, "y": y, "ids": ids}
    arrays.update(change(arrays))
    with pytest.raises(DataError, match=message):
        debias.aflite(arrays.pop("X"), arrays.pop("y"), **arrays, **SMALL)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"ensemble_size": 0}, "ensemble_size is 0; it must be a whole number, 1 or more"),
        ({"train_size": 1}, "train_size is 1; it must be a whole number, 2 or more"),
        ({"train_size": 2.5}, "whole number"),
        (
            {"cutoff": 0},
            "cutoff is 0; it must be a whole number, 1 or more, or a number above 0 and below 1",
        ),
        ({"threshold": 1.5}, "from 0 to 1"),
        ({"threshold": float("nan")}, "from 0 to 1"),
        ({"threshold": "high"}, "threshold is 'high'; it must be a number from 0 to 1"),
        ({"C": 0}, "above 0"),
        ({"C": float("inf")}, "above 0"),
        ({"seed": -1}, "seed is -1; it must be a whole number, 0 or more"),
    ],
)
def test_parameters_out_of_range_are_refused(parameter, message):
    X, y, ids = made()
    with pytest.raises(InputError, match=message):
        debias.aflite(X, y, ids=ids, **{**SMALL, **parameter})


def test_suggested_sizes_are_those_of_the_paper():
    """For fewer than 47,000 rows they are the same fractions, but at least 2 and 1."""
    assert debias.suggest_sizes(47_000) == (10_000, 500)
    assert debias.suggest_sizes(200_000) == (10_000, 500)
    assert debias.suggest_sizes(4_700) == (1_000, 50)
    assert debias.suggest_sizes(3) == (2, 1)


def test_labels_of_unsuitable_problems_are_refused_by_id():
    from winosmith import Dataset, Problem

    two = Problem("a", "A _ b.", ("x", "y"), 1)
    assert debias.get_problem_labels(Dataset([two])).tolist() == [1]
    three = Problem("b", "A _ b.", ("x", "y", "z"), 1)
    with pytest.raises(DataError, match=r"'b' has 3 options.*remove the 1 problems with more"):
        debias.get_problem_labels(Dataset([two, three]))
    with pytest.raises(DataError, match="'a' is withheld"):
        debias.get_problem_labels(Dataset([two.blind()]))
    with pytest.raises(DataError, match="no problems"):
        debias.get_problem_labels(Dataset())


class StoppedError(Exception):
    """An error that ends a run early."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoppedError])
def test_run_stopped_after_any_phase_resumes_to_same_result(tmp_path, error):
    X, y, ids = made(columns=20)
    whole = debias.aflite(X, y, ids=ids, **SMALL)
    assert len(whole.phases) > 5
    path = tmp_path / "run.npz"

    def stop(phase: debias.Phase) -> None:
        raise error

    for done in range(1, len(whole.phases) + 1):
        with pytest.raises(error):
            debias.aflite(X, y, ids=ids, checkpoint=path, on_phase=stop, **SMALL)
        assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
        with np.load(path, allow_pickle=False) as file:
            assert file["removed_in"].max() == done - 1
    seen: list[debias.Phase] = []
    again = debias.aflite(X, y, ids=ids, checkpoint=path, on_phase=seen.append, **SMALL)
    assert same(again, whole)
    assert seen == []


def test_checkpoint_is_valid_for_reordered_rows(tmp_path):
    X, y, ids = made()
    path = tmp_path / "run.npz"
    whole = debias.aflite(X, y, ids=ids, checkpoint=path, **SMALL)
    turned = debias.aflite(X[::-1], y[::-1], ids=ids[::-1], checkpoint=path, **SMALL)
    assert turned.scores.tobytes() == whole.scores[::-1].tobytes()


def test_checkpoint_of_another_run_is_refused(tmp_path):
    X, y, ids = made()
    path = tmp_path / "run.npz"
    debias.aflite(X, y, ids=ids, checkpoint=path, **SMALL)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="seed 5, not 6"):
        debias.aflite(X, y, ids=ids, checkpoint=path, **{**SMALL, "seed": 6})
    with pytest.raises(OutputError, match=r"another run \(data"):
        debias.aflite(X + 1, y, ids=ids, checkpoint=path, **SMALL)
    with pytest.raises(OutputError, match="groups False, not True"):
        debias.aflite(X, y, ids=ids, groups=ids, checkpoint=path, **SMALL)
    assert path.read_bytes() == before
    other = tmp_path / "notes.npz"
    for content in (b"not an archive", b"", b"PK\x03\x04 cut off"):
        other.write_bytes(content)
        with pytest.raises(OutputError, match="not an AFLite checkpoint"):
            debias.aflite(X, y, ids=ids, checkpoint=other, **SMALL)
    np.savez(other, scores=X)
    with pytest.raises(OutputError, match="not an AFLite checkpoint"):
        debias.aflite(X, y, ids=ids, checkpoint=other, **SMALL)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OutputError, match="file"):
        debias.aflite(X, y, ids=ids, checkpoint=tmp_path / "file" / "run.npz", **SMALL)


def test_record_is_json_without_seconds():
    """So reports of equal runs are equal. The result is read-only and can be pickled."""
    X, y, ids = made()
    result = debias.aflite(X, y, ids=ids, **SMALL)
    text = json.dumps(result.record(), allow_nan=False)
    assert "seconds" not in text
    assert json.loads(text)["parameters"]["train_size"] == SMALL["train_size"]
    assert result.seconds > 0
    assert all(0 <= phase.accuracy <= 1 for phase in result.phases)
    with pytest.raises(ValueError, match="read-only"):
        result.kept[0] = 1
    assert same(pickle.loads(pickle.dumps(result)), result)  # noqa: S301 - it was made here
