"""Solving over HTTP: log-probabilities and concurrent requests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from winosmith.chat import ChatError, Client
from winosmith.solve._chat import ChatSolver
from winosmith.testing import make_twins

Make = Callable[..., Client]

DATA = make_twins(3)


def _logprobs(*told: tuple[str, float]) -> Any:
    top = [{"token": token, "logprob": logprob} for token, logprob in told]
    return {"content": [{"token": "1", "logprob": -0.1, "top_logprobs": top}]}


def test_log_probabilities_become_scores(server: Any, client: Make, tmp_path: Path) -> None:
    """They are cached, and swapped options are put back into the problem's order."""
    told = _logprobs(("2", -2.0), ("1", -1.0), ("x", -5.0))
    server.always(server.completion("1", logprobs=told))
    solver = ChatSolver(client(cache=tmp_path), scoring="logprobs")
    first = solver.score(DATA)
    assert first[0] == pytest.approx((0.7311, 0.2689), abs=1e-4)
    assert (server.asked[0].body["logprobs"], server.asked[0].body["top_logprobs"]) == (True, 20)
    assert solver.score(DATA) == first
    assert len(server.asked) == len(DATA)
    both = ChatSolver(client(cache=tmp_path), scoring="logprobs", swap=True)
    assert all(scores == pytest.approx((0.5, 0.5)) for scores in both.score(DATA))
    assert both.ask(DATA).position_bias == 1.0


def test_missing_log_probabilities_are_reported(server: Any, client: Make) -> None:
    server.always(server.completion("1"))
    with pytest.raises(ChatError, match=r"reports no log-probabilities; score by the reply"):
        ChatSolver(client(), scoring="logprobs").score(DATA)


def test_concurrent_replies_go_to_their_own_problems(server: Any, client: Make) -> None:
    rights = {problem.sentence: problem.answer for problem in make_twins(20)}

    def answer(asked: Any) -> Any:
        sentence = asked.body["messages"][-1]["content"].partition("Sentence: ")[2].split("\n")[0]
        return server.said(server.completion(f"Option {rights[sentence] + 1}."))

    server.answer = answer
    scores = ChatSolver(client()).score(make_twins(20).blind())
    assert [own.index(1.0) for own in scores] == list(rights.values())
