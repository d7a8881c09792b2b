"""The association meter: what it learns from and reads, and how a site's workers share it."""

import math
from collections.abc import Iterator
from pathlib import Path
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
    """Return pairs that know cups as what breaks and jugs as what stays unhurt."""
    return PairWeights.from_problems(BROKEN)


def test_a_half_that_its_words_give_away_is_read_so(pairs: Any) -> None:
    """What was always right with a word gets most of the share, and the word is named."""
    given_away = measure_half(Half("The _ broke.", ("cup", "jug"), 0), pairs)
    assert given_away.share is not None
    assert given_away.share > 0.8
    assert given_away.words[0] == "broke"
    against = measure_half(Half("The _ broke.", ("cup", "jug"), 1), pairs)
    assert against.share == pytest.approx(1 - given_away.share)
    assert against.words == ()


def test_the_order_of_the_options_tells_nothing(pairs: Any) -> None:
    """The reading is the same whichever option stands first."""
    first = measure_half(Half("The _ broke.", ("cup", "jug"), 0), pairs)
    assert measure_half(Half("The _ broke.", ("jug", "cup"), 1), pairs) == first


def test_words_that_nobody_knows_tell_nothing(pairs: Any) -> None:
    """Unknown words leave the options even."""
    assert measure_half(Half("A _ sings.", ("lark", "owl"), 1), pairs) == Reading(0.5, ())


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
def test_an_unfinished_half_has_no_share(
    pairs: Any, options: tuple[str, ...], answer: int | None
) -> None:
    """Without two options and an answer among them there is nothing to read."""
    assert measure_half(Half("The _ broke.", options, answer), pairs) == Reading(None, ())


def test_the_share_is_that_of_the_solver(pairs: Any) -> None:
    """The scores behind the share are those that `WordAssociation.score` gives."""
    solver = solve.WordAssociation.trained_on(Dataset(BROKEN), features="pairs", smoothing=1)
    problem = Problem("x", "They dropped the cup and the _ broke.", ("old cup", "jug"), 0)
    (scores,) = solver.score([problem])
    share = measure_half(problem, pairs).share
    assert share == pytest.approx(1 / (1 + math.exp(scores[1] - scores[0])))


SHIPPED = len(practice.read_handwritten())


@pytest.fixture
def learning(database: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return how a process of a site that has never learnt reads what the worker learns."""
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
def test_only_what_is_public_is_learnt_from(db: Any, fields: dict[str, Any], learnt: bool) -> None:
    """The words of a problem that is not public are never named: the meter did not read it."""
    for number in range(3):
        _write(f"p{number}", **fields)
    pairs = train_pairs()
    assert pairs.problem_count == SHIPPED + 3 * learnt
    words = measure_half(Half("The _ fenced.", ("vicar", "monk"), 0), pairs).words
    assert words == (("fenced",) if learnt else ())


def test_a_file_holds_the_weights_of_the_solver(site: Any, tmp_path: Path) -> None:
    """Each pair has to the last bit the weight that `WordAssociation` gives; others have none."""
    problems = list(practice.read_handwritten())
    PairWeights.from_problems(problems).save(tmp_path / "pairs.npy")
    pairs = PairWeights.read(tmp_path / "pairs.npy")
    known = solve.WordAssociation.trained_on_pairs(problems, smoothing=SMOOTHING).weights
    assert len(known) > 1000
    assert pairs.get_weights({*known, "no pair"}) == {pair: known[pair][0] for pair in known}
    assert pairs.get_weights([]) == {}
    assert pairs.problem_count == len(problems)


def test_where_nothing_was_learnt_nothing_is_known(site: Any, tmp_path: Path) -> None:
    """A file of no problems is one too."""
    PairWeights.from_problems([]).save(tmp_path / "pairs.npy")
    pairs = PairWeights.read(tmp_path / "pairs.npy")
    assert (pairs.get_weights(["the cup"]), pairs.problem_count) == ({}, 0)


def test_all_processes_show_what_the_worker_learnt_last(learning: Any) -> None:
    """Before the first learning nothing is shown; a later one replaces what was read before."""
    for number in range(3):
        _write(f"p{number}")
    halves = [Half("The _ fenced.", ("vicar", "monk"), 0), Half("", (), None)]
    assert association.measure_association(halves).problems == 0
    take_over_jobs()
    work_off()
    first = association.measure_association(halves)
    assert first.problems == SHIPPED + 3
    assert first.readings[0].words == ("fenced",)
    assert first.readings[1].share is None
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
def test_a_file_that_cannot_be_read_leaves_what_was_learnt(
    learning: Any, database: Any, spoil: Any
) -> None:
    """Until the worker has learnt again, a process shows what it has read before."""
    train_and_save_pairs()
    assert learning.load_latest().problem_count == SHIPPED
    spoil(database.folder / FILE)
    assert learning.load_latest().problem_count == SHIPPED
    _write("p")
    train_and_save_pairs()
    assert learning.load_latest().problem_count == SHIPPED + 1


def test_a_learning_that_fails_leaves_what_was_learnt(
    learning: Any, database: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """If the database can't be read, the last meter stays, and the job's row has the error."""
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
