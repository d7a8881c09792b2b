"""Budgets of tokens and money, which are never exceeded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from winosmith.chat import Budget, BudgetError, Client, Message
from winosmith.errors import InputError

Make = Callable[..., Client]
Conversations = list[list[Message]]

MOST = len("question 00") + 16 + 64 + 10
"""Most tokens that one question can use, with replies of ten tokens."""


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("limit", [0, 150, 600, 1000])
def test_token_budget_is_not_exceeded(
    server: Any,
    client: Make,
    questions: Conversations,
    tmp_path: Path,
    concurrency: int,
    limit: int,
) -> None:
    """Requests stop only if the rest of the budget may not be enough for one more."""
    server.always(server.completion("1", tokens=(20, 3)))
    budget = Budget(tokens=limit)
    asking = client(budget=budget, max_tokens=10, concurrency=concurrency, cache=tmp_path / "c")
    if limit == 1000:
        asking.ask(questions)
        assert budget.spent.tokens_in + budget.spent.tokens_out == 40 * 23
        return
    with pytest.raises(BudgetError, match=f"budget of {limit} tokens does not allow") as told:
        asking.ask(questions)
    spent = budget.spent.tokens_in + budget.spent.tokens_out
    assert limit - MOST <= spent <= limit
    assert spent == 23 * len(server.asked)
    assert f"{20 * len(server.asked):,} tokens in" in str(told.value)
    assert f"{len(server.asked)} of 40 replies are saved" in str(told.value)


def test_money_budget_is_not_exceeded(server: Any, client: Make, questions: Conversations) -> None:
    server.always(server.completion("1", tokens=(20, 3)))
    budget = Budget(money=0.5, price_in=1000.0, price_out=2000.0)
    with pytest.raises(BudgetError, match=r"budget of 0.5 in money .*\(0\.\d+ in money\)"):
        client(budget=budget, max_tokens=10).ask(questions)
    assert 0.5 - MOST * 0.002 <= budget.spent_money <= 0.5
    assert budget.spent_money == pytest.approx(0.026 * len(server.asked))


def test_cached_replies_cost_nothing(
    server: Any, client: Make, questions: Conversations, tmp_path: Path
) -> None:
    """So repeated runs on small budgets finish."""
    server.always(server.completion("1", tokens=(20, 3)))
    for _ in range(5):
        try:
            client(budget=Budget(tokens=300), max_tokens=10, cache=tmp_path).ask(questions)
        except BudgetError:
            continue
    nothing = Budget(tokens=0)
    assert len(client(budget=nothing, max_tokens=10, cache=tmp_path).ask(questions)) == 40
    assert len(server.asked) == 40


def test_requests_without_token_counts_are_charged_in_full(server: Any, client: Make) -> None:
    server.always(server.completion("1", tokens=None))
    budget = Budget(tokens=1000)
    client(budget=budget, max_tokens=10)([Message("user", "question 00")])
    assert budget.spent.tokens_in + budget.spent.tokens_out == MOST


def test_timed_out_requests_are_charged(server: Any, client: Make) -> None:
    """The server may charge for its late reply. A 503 is not charged."""
    server.then(server.completion("late"), wait=60.0)
    server.then("", 503)
    budget = Budget(tokens=1000)
    client(budget=budget, max_tokens=10, timeout=3.0)([Message("user", "question 00")])
    assert budget.spent.tokens_in + budget.spent.tokens_out == MOST + 23


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tokens": -1}, "tokens is -1; it must be a whole number"),
        ({"money": float("nan"), "price_in": 1.0}, "money is nan; it must be a number"),
        ({"money": 1.0}, "requires the prices"),
    ],
)
def test_invalid_budgets_are_refused(wrong: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Budget(**wrong)


def test_budget_requires_max_tokens() -> None:
    with pytest.raises(InputError, match="a budget requires max_tokens"):
        Client("m", "https://host/v1", max_tokens=None, budget=Budget(tokens=5))
    other = {"max_completion_tokens": 5}
    Client("m", "https://host/v1", max_tokens=None, extra=other, budget=Budget(tokens=5))
