"""The association meter: what it reads, what it learns from, and that nobody waits for it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from winosmith import Dataset, Problem, practice, solve
from winosmith.web.problems.halves import Half


@pytest.fixture
def solver(site: Any) -> Any:
    """Return a solver that knows cups as what breaks and jugs as what stays unhurt."""
    texts = ("They dropped the cup and the jug and the _ {}.",)
    halves = [
        Problem(f"{n}-{word}", text.format(word), ("cup", "jug"), answer)
        for n, text in enumerate(texts * 5)
        for word, answer in (("broke", 0), ("survived", 1))
    ]
    return solve.WordAssociation.trained_on(Dataset(halves), features="pairs", smoothing=1)


def test_a_half_that_its_words_give_away_is_read_so(solver: Any) -> None:
    """What was always right with a word gets most of the share, and the word is named."""
    from winosmith.web.problems.association import reading

    given_away = reading(Half("The _ broke.", ("cup", "jug"), 0), solver)
    assert given_away.share is not None
    assert given_away.share > 0.8
    assert given_away.words[0] == "broke"
    against = reading(Half("The _ broke.", ("cup", "jug"), 1), solver)
    assert against.share == pytest.approx(1 - given_away.share)
    assert against.words == ()


def test_the_order_of_the_options_tells_nothing(solver: Any) -> None:
    """The reading is the same whichever option stands first."""
    from winosmith.web.problems.association import reading

    first = reading(Half("The _ broke.", ("cup", "jug"), 0), solver)
    assert reading(Half("The _ broke.", ("jug", "cup"), 1), solver) == first


def test_words_that_nobody_knows_tell_nothing(solver: Any) -> None:
    """Unknown words leave the options even."""
    from winosmith.web.problems.association import Reading, reading

    assert reading(Half("A _ sings.", ("lark", "owl"), 1), solver) == Reading(0.5, ())


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
    solver: Any, options: tuple[str, ...], answer: int | None
) -> None:
    """Without two options and an answer among them there is nothing to read."""
    from winosmith.web.problems.association import Reading, reading

    assert reading(Half("The _ broke.", options, answer), solver) == Reading(None, ())


def test_the_share_is_that_of_the_solver(solver: Any) -> None:
    """The scores behind the share are those that `WordAssociation.score` gives."""
    import math

    from winosmith.web.problems.association import reading

    problem = Problem("x", "They dropped the cup and the _ broke.", ("old cup", "jug"), 0)
    (scores,) = solver.score([problem])
    share = reading(problem, solver).share
    assert share == pytest.approx(1 / (1 + math.exp(scores[1] - scores[0])))


def _write(ref: str, **fields: Any) -> None:
    from winosmith.web.problems.models import Problem as Row
    from winosmith.web.problems.models import Twin

    twin = Twin.objects.create(ref=f"t-{ref}")
    kept = {"state": "valid", "answer": 0, "options": ["vicar", "monk"]} | fields
    Row.objects.create(ref=ref, twin=twin, sentence="The vicar and the monk: the _ fenced.", **kept)


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
    from winosmith.web.problems.association import learn, reading

    for number in range(3):
        _write(f"p{number}", **fields)
    known = learn()
    assert known.problems == len(practice.handwritten()) + 3 * learnt
    words = reading(Half("The _ fenced.", ("vicar", "monk"), 0), known.solver).words
    assert words == (("fenced",) if learnt else ())


def test_the_meter_learns_in_a_thread_and_not_again_too_soon(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call is answered in time; soon a meter is there, and later calls learn nothing."""
    from winosmith.web.problems import association

    monkeypatch.setattr(association, "_LEARNER", association._Learner())
    for number in range(3):
        _write(f"p{number}")
    halves = [Half("The _ fenced.", ("vicar", "monk"), 0), Half("", (), None)]
    start = time.monotonic()
    association.association(halves)
    assert time.monotonic() - start < association.PATIENCE + 1.0  # on a busy machine
    assert association._LEARNER.thread is not None
    association._LEARNER.thread.join()
    first = association.association(halves)
    assert first.problems == len(practice.handwritten()) + 3
    assert first.readings[0].words == ("fenced",)
    assert first.readings[1].share is None
    learnt = association._LEARNER.learnt
    association.association(halves)
    assert association._LEARNER.learnt is learnt
    assert not association._LEARNER.thread.is_alive()


def test_what_is_new_is_learnt_when_it_is_time(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the pause the old meter is shown once more, while the new one is learnt."""
    from winosmith.web.problems import association

    learner = association._Learner()
    monkeypatch.setattr(association, "_LEARNER", learner)
    association.association([])
    learner.thread.join()
    _write("p")
    learner.due = 0.0
    before = association.association([]).problems
    learner.thread.join()
    assert (before, association.association([]).problems) in {(144, 145), (145, 145)}


def test_a_learning_that_fails_leaves_what_was_learnt(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the database can't be read the last meter stays, and the failure goes to the log."""
    from winosmith.web.problems import association

    learner = association._Learner()
    monkeypatch.setattr(association, "_LEARNER", learner)
    association.association([])
    learner.thread.join()

    def broken() -> Any:
        raise OSError("the disk is gone")

    monkeypatch.setattr(association, "learn", broken)
    learner.due = 0.0
    association.association([])
    learner.thread.join()
    assert association.association([]).problems == 144
