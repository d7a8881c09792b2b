"""AFLite's public behavior: the rows and groups that it keeps, refusals, and resumed runs."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from tests.conftest import examples
from tests.debias.rows import SMALL, as_bytes, made
from winosmith import debias
from winosmith.debias._selection import pool_by_group, select
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


def test_seed_changes_the_result_and_the_executor_does_not():
    """The executor changes no byte. The process pool also shows that the work can be pickled."""
    X, y, ids = made(columns=20)
    alone = debias.aflite(X, y, ids=ids, **SMALL)
    for executor in (
        ThreadPoolExecutor(1),
        ThreadPoolExecutor(5),
        AtOnce(),
        ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    ):
        with executor:
            found = debias.aflite(X, y, ids=ids, executor=executor, **SMALL)
            assert as_bytes(found) == as_bytes(alone), executor
    other = debias.aflite(X, y, ids=ids, **{**SMALL, "seed": 6})
    assert other.kept.tobytes() != alone.kept.tobytes()


def test_scaled_rows_with_rescaled_c_give_equal_scores():
    X, y, ids = made()
    straight = debias.aflite(X, y, ids=ids, **SMALL)
    scaled = debias.aflite(X * 2.0**30, y, ids=ids, C=2.0**-60, **SMALL)
    assert scaled.scores.tobytes() == straight.scores.tobytes()


UNUSUAL = {
    "bool": lambda X: X > 0,
    "constant column": lambda X: np.c_[X, np.full(len(X), 1e6)],
    "rank-deficient": lambda X: np.c_[X, X, X @ np.ones((6, 40))],
    "far from zero": lambda X: X + 1e7,
    "huge": lambda X: X * 1e30,
    "tiny": lambda X: X * 1e-30,
    "all zero": np.zeros_like,
    "duplicates": lambda X: np.repeat(X[:24], 10, axis=0),
}


@pytest.mark.parametrize("values", UNUSUAL)
def test_unusual_values_give_scores_between_0_and_1(values):
    """A warning would fail the test, too."""
    X, y, ids = made()
    result = debias.aflite(UNUSUAL[values](X), y, ids=ids, **SMALL)
    assert result.phases
    assert ((result.scores >= 0) & (result.scores <= 1)).all()


@pytest.mark.long
def test_first_run_logs_compilation(tmp_path):
    """The next run loads the compiled code from the cache, if it could be written."""
    code = (
        "import logging, numba\n"
        "logging.basicConfig(level=logging.INFO)\n"
        "{}"
        "from winosmith.debias import _kernel\n"
        "_kernel.compile_loops()\n"
        "print(sum(_kernel.count_votes.stats.cache_hits.values()))\n"
    )
    read_only = (
        "from numba.core import caching\n"
        "for locator in caching.CacheImpl._locator_classes:\n"
        "    locator.ensure_cache_path = lambda self: (_ for _ in ()).throw(OSError('read-only'))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for before, hits, logged in (
        (read_only, "0", "NUMBA_CACHE_DIR"), ("", "0", "compiling AFLite"), ("", "1", ""),
    ):  # fmt: skip
        command = [sys.executable, "-c", code.format(before)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == hits
        assert logged in run.stderr


def test_separable_rows_are_removed_down_to_train_size():
    X, y, ids = made()
    X[:, 0] = np.where(y, 1.0, -1.0)
    result = debias.aflite(X, y, ids=ids, C=1e6, **SMALL)
    assert result.stop_reason == "train size"
    assert len(result.kept) == SMALL["train_size"]
    assert all(phase.accuracy == 1.0 for phase in result.phases)


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


PARAMETERS = [
    ({"ensemble_size": 0}, "ensemble_size is 0; it must be a whole number, 1 or more"),
    ({"train_size": 1}, "train_size is 1; it must be a whole number, 2 or more"),
    ({"train_size": 2.5}, "whole number"),
    ({"cutoff": 0}, "cutoff is 0; it must be a whole number, 1 or more, or a number above 0 and"),
    ({"cutoff": 1.0}, "cutoff is 1.0; it must be a whole number, 1 or more, or a number above 0"),
    ({"cutoff": 0.0}, "cutoff is .*, or a number above 0 and below 1"),
    ({"cutoff": float("nan")}, "cutoff is .*, or a number above 0 and below 1"),
    ({"cutoff": "1%"}, "cutoff is .*, or a number above 0 and below 1"),
    ({"threshold": 1.5}, "from 0 to 1"),
    ({"threshold": float("nan")}, "from 0 to 1"),
    ({"threshold": "high"}, "threshold is 'high'; it must be a number from 0 to 1"),
    ({"C": 0}, "above 0"),
    ({"C": float("inf")}, "above 0"),
    ({"seed": -1}, "seed is -1; it must be a whole number, 0 or more"),
    ({"target_size": 0}, "target_size is 0; it must be a whole number, 1 or more"),
    ({"target_size": 0.5}, "target_size is 0.5; it must be a whole number"),
    ({"remove": "twins"}, 'remove is .twins.; it must be "rows" or "groups"'),
    ({"remove": "groups"}, "groups is missing"),
    ({"null": "maybe"}, 'null is .maybe.; it must be "off" or "report"'),
    ({"null_draws": 19}, "null_draws is 19; it must be a whole number, 20 or more"),
]


@pytest.mark.parametrize(("parameter", "message"), PARAMETERS)
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
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
    assert as_bytes(again) == as_bytes(whole)
    assert seen == []


def test_checkpoint_is_valid_for_reordered_rows_of_the_same_run(tmp_path):
    X, y, ids = made()
    path = tmp_path / "run.npz"
    whole = debias.aflite(X, y, ids=ids, checkpoint=path, **SMALL)
    before = path.read_bytes()
    turned = debias.aflite(X[::-1], y[::-1], ids=ids[::-1], checkpoint=path, **SMALL)
    assert turned.scores.tobytes() == whole.scores[::-1].tobytes()
    for change, told in (
        ({"seed": 6}, "seed 5, not 6"),
        ({"groups": ids}, "groups False, not True"),
        ({"X": X + 1}, r"another run \(data"),
    ):
        given_ = {"X": X, "y": y, "ids": ids, "checkpoint": path, **SMALL, **change}
        with pytest.raises(OutputError, match=told):
            debias.aflite(**given_)
    assert path.read_bytes() == before


def test_file_that_is_not_a_checkpoint_is_refused(tmp_path):
    X, y, ids = made()
    np.savez(tmp_path / "other.npz", scores=X)
    other = (tmp_path / "other.npz").read_bytes()
    path = tmp_path / "notes.npz"
    for content in (b"not an archive", b"", b"PK\x03\x04 cut off", other):
        path.write_bytes(content)
        with pytest.raises(OutputError, match="not an AFLite checkpoint"):
            debias.aflite(X, y, ids=ids, checkpoint=path, **SMALL)
    with pytest.raises(OutputError, match="notes"):
        debias.aflite(X, y, ids=ids, checkpoint=path / "run.npz", **SMALL)


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
    again = pickle.loads(pickle.dumps(result))  # noqa: S301 - it was made here
    assert as_bytes(again) == as_bytes(result)


def run_on_telling_rows(rows: int = 240, *, turned: int = 0, **chosen: Any) -> Any:
    """Filter rows of which two thirds reveal their label, unless the labels are turned."""
    X, y, _ = made(rows, telling=2 / 3)
    return debias.aflite(X, np.roll(y, turned), ids=range(rows), **{**SMALL, **chosen})


@given(
    target=st.integers(1, 260),
    cutoff=st.one_of(st.integers(1, 90), st.floats(0.001, 0.9)),
    threshold=st.sampled_from([0.0, 0.6, 0.75]),
)
@examples(40)
def test_run_never_goes_below_its_target(target, cutoff, threshold):
    """The stop reason is "target size" exactly if the target is reached."""
    result = run_on_telling_rows(target_size=target, cutoff=cutoff, threshold=threshold)
    assert len(result.kept) >= min(target, 240)
    assert (result.stop_reason == "target size") == (len(result.kept) == target or target >= 240)
    assert sorted(np.concatenate([result.kept, *result.removed]).tolist()) == list(range(240))
    for phase in result.phases:
        assert phase.removed == min(phase.cutoff, phase.candidates)
        assert phase.cutoff <= phase.size - target


def test_target_only_shortens_the_last_phase():
    free, aimed = run_on_telling_rows(), run_on_telling_rows(target_size=185)
    assert [len(rows) for rows in aimed.removed] == [12, 12, 12, 12, 7]
    for ours, theirs in zip(aimed.removed[:4], free.removed, strict=False):
        assert ours.tolist() == theirs.tolist()
    assert set(aimed.removed[4].tolist()) <= set(free.removed[4].tolist())


def test_unreachable_target_has_another_stop_reason():
    result = run_on_telling_rows(turned=1, target_size=70, threshold=0.9)
    assert result.stop_reason == "cutoff"
    assert len(result.kept) > 70
    below = run_on_telling_rows(cutoff=100, target_size=5, threshold=0.0)
    assert (below.stop_reason, len(below.kept)) == ("train size", 40)


def test_fractional_cutoff_applies_to_the_remaining_rows():
    """It is at least one row."""
    result = run_on_telling_rows(400, cutoff=0.05)
    cutoffs = [phase.cutoff for phase in result.phases]
    assert cutoffs == [round(0.05 * phase.size) for phase in result.phases]
    assert len(cutoffs) > 4
    assert cutoffs[0] == 20 > cutoffs[-1]
    assert result.parameters["cutoff"] == 0.05
    tiny = run_on_telling_rows(100, cutoff=1e-6, target_size=97)
    assert [phase.removed for phase in tiny.phases] == [1, 1, 1]


FEW: dict[str, Any] = {"ensemble_size": 8, "seed": 5}


def make_groups(sizes: list[int], *, seed: int = 0) -> tuple[Any, Any, list[str]]:
    """Return rows in groups of these sizes, the labels, and the groups.

    Every second group reveals its labels.
    """
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.permutation(len(groups)) % 2
    X = rng.normal(size=(len(groups), 4)).astype(np.float32)
    telling = groups % 2 == 0
    X[telling, 0] += np.where(y[telling], 4, -4)
    return X, y, [f"g{number:03}" for number in groups]


@given(
    sizes=st.one_of(st.just([1] * 60), st.lists(st.integers(1, 4), min_size=20, max_size=60)),
    cutoff=st.integers(1, 20),
    target=st.one_of(st.none(), st.integers(1, 60)),
    threshold=st.sampled_from([0.0, 0.5, 0.75]),
)
@examples(40)
def test_groups_are_never_split(sizes, cutoff, target, threshold):
    """Groups of one give the same result as rows."""
    X, y, groups = make_groups(sizes)
    chosen = {
        "train_size": 10, "cutoff": cutoff, "target_size": target, "threshold": threshold,
        "groups": groups, "ids": range(len(y)), **FEW,
    }  # fmt: skip
    result = debias.aflite(X, y, remove="groups", **chosen)
    assert sorted(np.concatenate([result.kept, *result.removed]).tolist()) == list(range(len(y)))
    for group in set(groups):
        rows = [row for row, name in enumerate(groups) if name == group]
        assert len({int(result.removal_phase[row]) for row in rows}) == 1
        known = {float(score) for score in result.scores[list(rows)] if not np.isnan(score)}
        assert len(known) <= 1
    for phase, removed in zip(result.phases, result.removed, strict=True):
        assert len(removed) == phase.removed <= max(cutoff, max(sizes))
        assert (result.scores[removed] >= threshold).all()
    assert len(result.kept) >= min(target or 0, len(y))
    if max(sizes) == 1:
        rows = debias.aflite(X, y, **chosen)
        assert result.removal_phase.tobytes() == rows.removal_phase.tobytes()
        assert result.scores.tobytes() == rows.scores.tobytes()
        assert result.phases == rows.phases


@pytest.mark.parametrize(
    ("twins", "cutoff", "target", "removed"), [(60, 6, 101, [6, 6, 6]), (40, 1, 70, [2] * 5)]
)
def test_cutoffs_and_targets_count_whole_groups(twins, cutoff, target, removed):
    """A run ends above its target if no group fits, and removes at least one group per phase."""
    X, y, groups = make_groups([2] * twins)
    result = debias.aflite(
        X, y, groups=groups, remove="groups", train_size=20, cutoff=cutoff, target_size=target,
        threshold=0.6, ids=range(2 * twins), **FEW,
    )  # fmt: skip
    assert [phase.removed for phase in result.phases if phase.removed] == removed
    assert len(result.phases) == len(removed) or cutoff > 1
    assert all(phase.removed for phase in result.phases[:-1])
    assert (result.stop_reason, len(result.kept)) == ("target size", 2 * twins - sum(removed))


def test_group_score_pools_the_predictions_of_its_rows():
    """For example, 4 of 4 and 1 of 4 are 5 of 8."""
    groups = np.array([0, 0, 1, 2, 2])
    correct, total = np.array([4, 1, 3, 4, 3], np.int32), np.full(5, 4, np.int32)
    together = pool_by_group(correct, groups), pool_by_group(total, groups)
    assert together[0].tolist() == [5, 5, 3, 7, 7]
    assert together[1].tolist() == [8, 8, 4, 8, 8]
    chosen = select(*together, threshold=0.75, cutoff=5, seed=0, phase=0, groups=groups)
    assert (chosen.removed.tolist(), chosen.candidates) == ([2, 3, 4], 3)


def test_next_group_that_fits_the_cutoff_is_removed():
    """Groups are removed in order of their scores, skipping those that don't fit."""
    groups = np.array([0, 0, 1, 1, 2])
    correct, total = np.array([9, 9, 8, 8, 7], np.int32), np.full(5, 10, np.int32)
    chosen = select(correct, total, threshold=0.5, cutoff=3, seed=0, phase=0, groups=groups)
    assert chosen.removed.tolist() == [0, 1, 4]


def test_tied_groups_are_removed_at_random():
    groups = np.repeat(np.arange(200), 2)
    everyone = np.full(400, 4, np.int32)
    drawn = [
        select(everyone, everyone, threshold=0.5, cutoff=40, seed=seed, phase=0, groups=groups)
        for seed in range(20)
    ]
    assert {(s.candidates, s.tied, s.tied_removed) for s in drawn} == {(400, 400, 40)}
    assert len({s.removed.tobytes() for s in drawn}) == 20
    assert abs(np.mean([s.removed.mean() for s in drawn]) - 199.5) < 4 * 115.5 / np.sqrt(400)
