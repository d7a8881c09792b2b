"""Claiming predictions, storing results, and which problems models may see."""

import itertools
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.web.predict.making import asked, row
from tests.web.together import at_once
from winosmith import study
from winosmith.errors import DataError
from winosmith.solver_rule import SolverRule
from winosmith.web.predict import asking, process
from winosmith.web.predict.asking import (
    get_current_predictions,
    request_many,
    request_predictions,
    set_current_models,
)
from winosmith.web.predict.models import Model
from winosmith.web.predict.process import MAX_BATCH, TARGET_SECONDS, adapt_batch_size
from winosmith.web.problems.models import Problem, Version

RULE = SolverRule("one", "random")


@pytest.fixture
def model(database: Any) -> Any:
    """Return a registered model without a process."""
    asking.set_current_models([RULE])
    return asking.register_revision(RULE, study.make_solver(RULE, database.folder))


def _rows(model: Any) -> list[Any]:
    return list(model.predictions.order_by("pk").select_related("problem"))


class Told:
    """A solver that returns preset scores and records the problems that it receives."""

    def __init__(self, *scores: Any) -> None:
        self.scores, self.shown = list(scores), []

    def score(self, problems: Sequence[Any]) -> list[Any]:
        """Return the next scores, or raise the exception among them."""
        self.shown += problems
        given = [self.scores.pop(0) for _ in problems]
        for one in given:
            if isinstance(one, Exception):
                raise one
        return given


def _predict(model: Any, solver: Any, most: int = 10, limit: float = 20.0) -> list[int]:
    """Claim and predict a batch; return the batch size of each call."""
    tasks = process.claim_tasks(model, most, 60)
    made, sizes = study.MadeSolver(solver, "d", "r"), []
    process.predict_tasks(made, tasks, limit, lambda batch: sizes.append(len(batch)))
    process.store_results(tasks)
    return sizes


def test_prediction_stores_scores_choice_and_input_hash(model):
    asked(1, answer=0)
    asked(2, answer=1)
    asked(3, answer=None)
    assert _predict(model, Told((0.1, 2.0), (0.1, 2.0), (3.0, 1.0))) == [3]
    first, second, third = _rows(model)
    assert [(one.stand, one.choice, one.right) for one in (first, second, third)] == [
        ("done", 1, False),
        ("done", 1, True),
        ("done", 0, None),
    ]
    assert first.scores == [0.1, 2.0]
    assert not first.tie
    assert first.seconds >= 0
    assert len(first.input) == 64
    assert first.input != second.input
    assert first.answered_at
    assert first.leased_until is None


TIES = ((-2.5, -2.5 - 1e-9), (-3.0, -1.0, -1.0))
"""Scores; those that differ only by rounding are a tie."""


@pytest.mark.parametrize(
    ("scores", "answer"), [(tie, answer) for tie in TIES for answer in range(len(tie))]
)
def test_tie_is_neither_correct_nor_incorrect(model, scores, answer):
    asked(1, answer=answer, options=["cup", "jug", "pot"][: len(scores)])
    _predict(model, Told(scores))
    [one] = _rows(model)
    assert (one.tie, one.choice, one.right) == (True, scores.index(max(scores)), None)


def test_model_sees_only_the_sentence_and_options(model):
    asked(1, answer=1)
    solver = Told((0.0, 1.0))
    _predict(model, solver)
    [shown] = solver.shown
    assert (shown.id, shown.options) == ("p1", ("cup", "jug"))
    assert (shown.answer, shown.twin_id, shown.origin, shown.lineage) == (None,) * 4
    assert not shown.extra


def test_bad_sentence_does_not_affect_others_in_its_batch(model):
    """A failed batch is scored again one by one.

    The stored reason doesn't contain the error's text.
    """
    for number in (1, 2, 3):
        asked(number)
    bad = DataError("secret /path of a key sk-123")
    assert _predict(model, Told((1, 0), bad, (9, 9), (1, 0), bad, (0, 1))) == [3, 1, 1, 1]
    assert [one.stand for one in _rows(model)] == ["done", "failed", "done"]
    failed = _rows(model)[1]
    assert failed.failure_reason == "The model returned no usable scores for this sentence."
    assert "secret" not in failed.error


@pytest.mark.parametrize("scores", [(1.0,), (float("nan"), 0.0), (float("inf"), 0.0)])
def test_missing_or_non_finite_scores_fail(model, scores):
    asked(1)
    _predict(model, Told(scores))
    assert [one.stand for one in _rows(model)] == ["failed"]


def test_error_after_the_time_limit_counts_as_late(model):
    asked(1)

    class Slow:
        def score(self, problems: Sequence[Any]) -> list[Any]:
            time.sleep(0.2)
            raise TimeoutError

    _predict(model, Slow(), limit=0.1)
    assert [(one.stand, one.failure_reason) for one in _rows(model)] == [
        ("late", "The model took too long.")
    ]


def test_urgent_predictions_are_claimed_first(model):
    """Urgent and background predictions don't share a batch."""
    for number in (1, 2):
        request_many([row(number).pk], [model.pk], urgent=False)
    asked(3)
    assert [task.model_input.id for task in process.claim_tasks(model, 10, 60)] == ["p3"]
    assert [task.model_input.id for task in process.claim_tasks(model, 10, 60)] == ["p1", "p2"]


def test_simultaneous_claims_never_overlap(model):
    for number in range(24):
        asked(number)
    taken: list[int] = []

    def take(_: int) -> None:
        while tasks := process.claim_tasks(model, 3, 60):
            taken.extend(task.pk for task in tasks)

    at_once(take, range(8))
    assert len(taken) == len(set(taken))
    taken += [task.pk for task in process.claim_tasks(model, 99, 60)]
    assert sorted(taken) == [one.pk for one in _rows(model)]


def test_prediction_fails_after_three_crashes(model):
    """After a crash in a batch, each prediction is tried alone."""
    rows = [asked(number).predictions.get().pk for number in (1, 2)]
    for expected in (rows, [rows[0]], [rows[1]], [rows[0]], [rows[1]]):
        tasks = process.claim_tasks(model, 10, 60)
        assert [task.pk for task in tasks] == expected
        asking.release_tasks("one", timed_out=False)
    assert process.claim_tasks(model, 10, 60) == []
    assert {(one.stand, one.tries) for one in _rows(model)} == {("failed", 3)}


def test_prediction_that_times_out_alone_is_late(model):
    """After a timeout in a batch, each prediction is tried alone."""
    for number in (1, 2):
        asked(number)
    process.claim_tasks(model, 10, 60)
    asking.release_tasks("one", timed_out=True)
    assert {one.stand for one in _rows(model)} == {"waiting"}
    process.claim_tasks(model, 10, 60)
    asking.release_tasks("one", timed_out=True)
    assert [one.stand for one in _rows(model)] == ["late", "waiting"]


class Still:
    """A solver that never returns and blocks all threads of its process."""

    def score(self, _problems: Sequence[Any]) -> list[Any]:
        """Never return."""
        return [sum(itertools.repeat(1))]


def test_blocked_process_is_ended_by_an_alarm_signal(model, database):
    asked(1)
    site = replace(database, rules=replace(database.rules, model_seconds=1))
    connection.close()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # pytest has its own
        try:
            process.LoadedModel(site, RULE, study.MadeSolver(Still(), "d", "r"), model).run()
        finally:
            os._exit(7)
    _child, status = os.waitpid(child, 0)
    assert (os.WIFSIGNALED(status), os.WTERMSIG(status)) == (True, signal.SIGALRM)
    asking.release_tasks("one", timed_out=True)
    asked(2)
    _predict(model, Told((1.0, 0.0)))
    assert [one.stand for one in _rows(model)] == ["late", "done"]


def test_answer_after_the_timeout_is_ignored(model):
    asked(1)
    [task] = process.claim_tasks(model, 10, 60)
    asking.release_tasks("one", timed_out=True)
    task.complete([1.0, 0.0], 9.0)
    process.store_results([task])
    assert [(one.stand, one.choice) for one in _rows(model)] == [("late", None)]


def test_new_revision_predicts_all_problems_again(model, database):
    """The old revision keeps its finished predictions; a return to it uses them again."""
    problem = row(1)
    assert asking.queue_unseen_problems(model) == 1
    assert asking.queue_unseen_problems(model) == 0
    _predict(model, Told((1.0, 0.0)))
    asked(2)
    other = SolverRule("one", "random", {"seed": 7})
    newer = asking.register_revision(other, study.make_solver(other, database.folder))
    assert (newer.pk != model.pk, newer.digest != model.digest) == (True, True)
    assert get_current_predictions(problem) == []
    assert asking.queue_unseen_problems(newer) == 2
    assert [(one.model_id, one.stand) for one in get_current_predictions(problem)] == [
        (newer.pk, "waiting")
    ]
    assert list(Model.objects.filter(current=True)) == [newer]
    assert [one.stand for one in _rows(model)] == ["done"]  # its waiting predictions are deleted
    again = asking.register_revision(RULE, study.make_solver(RULE, database.folder))
    assert again.pk == model.pk
    assert [one.stand for one in get_current_predictions(problem)] == ["done"]


def test_back_fill_queues_public_problems_and_versions(model):
    """Withdrawn versions and unfinished originals are not queued."""
    public, unfinished = row(1), row(2, state="judging")
    version, withdrawn = row(3, state="judging"), row(4, state="withdrawn")
    for one in (version, withdrawn):
        Version.objects.create(problem=one, root=public, parent=public, digest=one.ref)
    assert asking.queue_unseen_problems(model) == 2
    found = {one.problem.ref: one.urgent for one in _rows(model)}
    assert found == {public.ref: False, version.ref: True}
    assert unfinished.ref not in found


def test_batch_size_follows_the_duration_of_batches():
    """It never falls below its minimum."""
    size = 1
    for _ in range(20):
        size = adapt_batch_size(size, 0.01, size, minimum=1)
    assert size == MAX_BATCH == adapt_batch_size(size, 0.01, 1, minimum=1)
    for _ in range(20):
        size = adapt_batch_size(size, TARGET_SECONDS * 2, size, minimum=1)
    assert size == 1
    assert adapt_batch_size(4, TARGET_SECONDS * 9, 4, minimum=4) == 4


def test_digest_depends_on_solver_and_options(database):
    """The name of the model doesn't change it."""

    def digest(rule: SolverRule) -> str:
        return study.make_solver(rule, database.folder).digest

    rules = [
        SolverRule("a", "random"),
        SolverRule("a", "random", {"seed": 1}),
        SolverRule("a", "majority"),
        SolverRule("a", "association"),
        SolverRule("a", "association", {"features": "pairs"}),
        SolverRule("a", "hunting"),
        SolverRule("a", "hunting", {"snippets": 3}),
        SolverRule("a", "chat", {"model": "m", "base_url": "http://localhost:1/v1"}),
        SolverRule("a", "chat", {"model": "m", "base_url": "http://localhost:2/v1"}),
        SolverRule("a", "chat", {"model": "m", "base_url": "http://localhost:1/v1", "shots": 3}),
    ]
    digests = [digest(rule) for rule in rules]
    assert len(set(digests)) == len(rules)
    assert digests == [digest(replace(rule, name="b")) for rule in rules]
    assert all(len(one) == 64 for one in digests)


def test_request_for_all_models_takes_two_statements(models):
    problem = row(1)
    with CaptureQueriesContext(connection) as queries:
        request_predictions(problem)
    assert len([q for q in queries if "SAVEPOINT" not in q["sql"]]) == 2
    found = get_current_predictions(problem)
    assert [one.model.name for one in found] == ["zeta", "alpha"]
    assert {(one.stand, one.urgent) for one in found} == {("waiting", True)}


def test_repeated_request_changes_only_the_urgency(models):
    problem, every = row(1), list(Model.objects.values_list("pk", flat=True))
    request_many([problem.pk], every, urgent=False)
    done = problem.predictions.get(model__name="alpha")
    problem.predictions.filter(pk=done.pk).update(stand="done", choice=1, scores=[0, 1])
    request_predictions(problem)
    request_many([problem.pk], every, urgent=False)
    assert [(one.urgent, one.stand, one.choice) for one in get_current_predictions(problem)] == [
        (True, "waiting", None),
        (True, "done", 1),
    ]


@pytest.mark.parametrize("hidden", [{"embargo": True}, {"gold": True}])
def test_hidden_problems_are_not_shown_to_models(models, hidden):
    problem = asked(1, **hidden)
    assert get_current_predictions(problem) == []
    model = Model.objects.get(name="zeta")
    assert asking.queue_unseen_problems(model) == 0
    asked(2)
    Problem.objects.filter(ref="p2").update(**hidden)  # hidden after it was asked
    assert process.claim_tasks(model, 10, 60) == []


def test_site_without_models_stores_problems(models):
    set_current_models(())
    assert get_current_predictions(asked(1)) == []
