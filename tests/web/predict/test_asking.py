"""Asking models: in one transaction, in few statements, of what may be shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.web.predict.making import asked, row  # type: ignore[import-not-found]
from winosmith.web.predict import asking, worker
from winosmith.web.predict.asking import announce, ask, of
from winosmith.web.predict.models import Model
from winosmith.web.problems.models import Problem


def test_each_current_model_is_asked_by_two_statements(models: Any) -> None:
    """A prediction waits for every model, in the order of site.toml, after two statements."""
    problem = row(1)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        ask(problem)
    assert len([q for q in queries if "SAVEPOINT" not in q["sql"]]) == 2
    found = of(problem)
    assert [one.model.name for one in found] == ["zeta", "alpha"]
    assert {(one.stand, one.urgent) for one in found} == {("waiting", True)}


def test_asked_again_only_the_urgency_changes(models: Any) -> None:
    """A problem that waits in the background becomes urgent; what is predicted stays so."""
    problem = row(1)
    ask(problem, urgent=False)
    done = problem.predictions.get(model__name="alpha")
    problem.predictions.filter(pk=done.pk).update(stand="done", choice=1, scores=[0, 1])
    ask(problem)
    ask(problem, urgent=False)
    assert [(one.urgent, one.stand, one.choice) for one in of(problem)] == [
        (True, "waiting", None),
        (True, "done", 1),
    ]


@pytest.mark.parametrize("hidden", [{"embargo": True}, {"gold": True}])
def test_what_is_hidden_is_shown_to_no_model(models: Any, hidden: dict[str, bool]) -> None:
    """No model is asked about what is under embargo, nor about attention questions."""
    problem = asked(1, **hidden)
    assert of(problem) == []
    model = Model.objects.get(name="zeta")
    assert asking.fill(model) == 0
    asked(2)
    Problem.objects.filter(ref="p2").update(**hidden)  # hidden after it was asked
    assert worker.claim(model, 10, 60) == []


def test_a_problem_without_models_costs_one_statement(models: Any) -> None:
    """A site without models stores problems all the same."""
    announce(())
    assert of(asked(1)) == []
