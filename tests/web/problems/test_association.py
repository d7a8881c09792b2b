"""The association meter: training data, readings, and sharing between processes."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.web.making import single
from tests.web.working import work_off
from winosmith import Dataset, Problem, practice, solve
from winosmith.web.jobs import PROGRAM_FAILED, Job, take_over_jobs
from winosmith.web.problems import association
from winosmith.web.problems.association import (
    FILE,
    SMOOTHING,
    PairsFile,
    PairWeights,
    Reading,
    measure_half,
    train_and_save_pairs,
    train_pairs,
)
from winosmith.web.problems.lookalikes import Half

SENTENCE = "They dropped the cup and the jug and the _ {}."

BROKEN = [
    Problem(f"{number}-{word}", SENTENCE.format(word), ("cup", "jug"), answer)
    for number in range(5)
    for word, answer in (("broke", 0), ("survived", 1))
]


@pytest.fixture
def pairs(site: Any) -> Any:
    """Return weights according to which cups break and jugs survive."""
    return PairWeights.from_problems(BROKEN)


def test_word_that_reveals_the_answer_is_named(pairs):
    """The option that was always correct with a word gets most of the share."""
    given_away = measure_half(Half("The _ broke.", ("cup", "jug"), 0), pairs)
    assert given_away.share is not None
    assert given_away.share > 0.8
    assert given_away.words[0] == "broke"
    assert given_away.is_known
    against = measure_half(Half("The _ broke.", ("cup", "jug"), 1), pairs)
    assert against.share == pytest.approx(1 - given_away.share)
    assert against.words == ()


def test_reading_does_not_depend_on_option_order(pairs):
    first = measure_half(Half("The _ broke.", ("cup", "jug"), 0), pairs)
    assert measure_half(Half("The _ broke.", ("jug", "cup"), 1), pairs) == first


def test_unknown_words_give_a_share_of_one_half(pairs):
    """The page then shows no reading."""
    reading = measure_half(Half("A _ sings.", ("lark", "owl"), 1), pairs)
    assert reading == Reading(0.5, (), is_known=False)


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ((), None),
        (("a", "b"), None),
        (("a",), 0),
        (("a", ""), 0),
        (("a", "b"), 2),
        (("a", "b"), -1),
    ],
)
def test_unfinished_half_has_no_share(pairs, options, answer):
    assert measure_half(Half("The _ broke.", options, answer), pairs) == Reading(None, ())


def test_share_follows_from_the_scores_of_the_solver(pairs):
    solver = solve.WordAssociation.trained_on(Dataset(BROKEN), features="pairs", smoothing=1)
    problem = Problem("x", "They dropped the cup and the _ broke.", ("old cup", "jug"), 0)
    (scores,) = solver.score([problem])
    share = measure_half(problem, pairs).share
    assert share == pytest.approx(1 / (1 + math.exp(scores[1] - scores[0])))


SHIPPED = len(practice.read_handwritten())


@pytest.fixture
def learning(database: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a process's `PairsFile` on a site without trained weights."""
    (database.folder / FILE).unlink(missing_ok=True)
    made = PairsFile()
    monkeypatch.setattr(association, "_PAIRS_FILE", made)
    yield made
    (database.folder / FILE).unlink(missing_ok=True)


def _write(ref: str, **fields: Any) -> None:
    text = "The vicar and the monk: the _ fenced."
    single(ref, text, **{"options": ["vicar", "monk"], **fields})


@pytest.mark.parametrize(
    ("fields", "learnt"),
    [
        ({}, True),
        ({"embargo": True}, False),
        ({"gold": True}, False),
        ({"state": "judging"}, False),
        ({"state": "held"}, False),
        ({"state": "rejected"}, False),
        ({"state": "withdrawn"}, False),
        ({"answer": None}, False),
    ],
    ids=str,
)
def test_meter_learns_only_from_public_problems(db, fields, learnt):
    for number in range(3):
        _write(f"p{number}", **fields)
    pairs = train_pairs()
    assert pairs.problem_count == SHIPPED + 3 * learnt
    words = measure_half(Half("The _ fenced.", ("vicar", "monk"), 0), pairs).words
    assert words == (("fenced",) if learnt else ())


def test_saved_weights_equal_those_of_the_solver(site, tmp_path):
    problems = list(practice.read_handwritten())
    PairWeights.from_problems(problems).save(tmp_path / "pairs.npy")
    pairs = PairWeights.read(tmp_path / "pairs.npy")
    known = solve.WordAssociation.trained_on_pairs(problems, smoothing=SMOOTHING).weights
    assert len(known) > 1000
    assert pairs.get_weights({*known, "no pair"}) == {pair: known[pair][0] for pair in known}
    assert pairs.get_weights([]) == {}
    assert pairs.problem_count == len(problems)
    PairWeights.from_problems([]).save(tmp_path / "none.npy")
    none = PairWeights.read(tmp_path / "none.npy")
    assert (none.get_weights(["the cup"]), none.problem_count) == ({}, 0)


def test_processes_use_the_latest_weights_of_the_worker(learning):
    for number in range(3):
        _write(f"p{number}")
    halves = [Half("The _ fenced.", ("vicar", "monk"), 0), Half("", (), None)]
    assert association.measure_association(halves) == ([], 0)
    take_over_jobs()
    work_off()
    (first, second), problems = association.measure_association(halves)
    assert problems == SHIPPED + 3
    assert (first.words, second.share) == (("fenced",), None)
    _write("later")
    train_and_save_pairs()
    assert [one.load_latest().problem_count for one in (learning, PairsFile())] == [SHIPPED + 4] * 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-8]),
        lambda path: path.write_bytes(b"something else"),
        lambda path: np.save(path, np.zeros((3, 4))),
        lambda path: path.unlink(),
    ],
    ids=["empty", "cut off", "no array", "another array", "gone"],
)
def test_unreadable_file_keeps_the_loaded_weights(learning, database, spoil):
    train_and_save_pairs()
    assert learning.load_latest().problem_count == SHIPPED
    spoil(database.folder / FILE)
    assert learning.load_latest().problem_count == SHIPPED
    _write("p")
    train_and_save_pairs()
    assert learning.load_latest().problem_count == SHIPPED + 1


def test_failed_training_keeps_the_old_weights(learning, database, monkeypatch, caplog):
    train_and_save_pairs()

    def broken() -> Any:
        raise OSError("the disk is gone")

    monkeypatch.setattr(association, "train_pairs", broken)
    take_over_jobs()
    work_off()
    assert learning.load_latest().problem_count == SHIPPED
    assert "the disk is gone" in caplog.text
    row = Job.objects.get(mark="learn")
    assert (row.state, row.error) == ("waiting", PROGRAM_FAILED)
