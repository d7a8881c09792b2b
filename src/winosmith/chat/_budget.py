"""`Budget`: what a run may spend, in tokens and in money."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from winosmith.chat._errors import BudgetError
from winosmith.chat._message import Messages, Reply
from winosmith.errors import InputError

__all__ = ["Budget", "Cost"]

_MILLION = 1_000_000

_A_MESSAGE = 16
_A_CONVERSATION = 64
"""Tokens that a chat template may add around a message, and around all of them."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request takes, in tokens, at most or in fact."""

    tokens_in: int = 0
    tokens_out: int = 0

    @classmethod
    def at_most(cls, messages: Messages, most_out: int) -> Cost:
        """Return what a request can take at most: no tokeniser makes more tokens than bytes."""
        text = sum(len(message.content.encode()) + _A_MESSAGE for message in messages)
        return cls(text + _A_CONVERSATION, most_out)

    def told(self, reply: Reply) -> Cost:
        """Return what a reply took; what the server doesn't tell is counted at its most."""
        return Cost(
            self.tokens_in if reply.tokens_in is None else reply.tokens_in,
            self.tokens_out if reply.tokens_out is None else reply.tokens_out,
        )

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out)


@dataclass
class Budget:
    """What may be spent, and what was.

    A request is sent only if it can't exceed the budget even at its longest: a token for each byte
    of the prompt, and the most tokens that the reply may have. What is served from the cache costs
    nothing. A request that timed out is counted at its most, as the server may charge it.

    Attributes:
        tokens: in and out together, at most; None for any number.
        money: in the currency of the prices, at most; None for any sum.
        price_in, price_out: the price of a million tokens read and written.
        spent: the tokens read and written so far.

    Raises:
        InputError: a limit or price below 0, or a limit of money without a price.

    >>> budget = Budget(money=2.0, price_in=0.15, price_out=0.60)
    >>> budget.spent.tokens_in, budget.spent_money
    (0, 0.0)
    """

    tokens: int | None = None
    money: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0
    spent: Cost = field(default_factory=Cost, init=False)
    _held: Cost = field(default_factory=Cost, init=False, repr=False)
    _changed: threading.Condition = field(
        default_factory=threading.Condition, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for name in ("tokens", "money", "price_in", "price_out"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise InputError(f"the budget's {name} must be a number of 0 or more, not {value}")
        if self.money is not None and not (self.price_in or self.price_out):
            raise InputError("a budget of money needs the prices of a million tokens in and out")

    @property
    def spent_money(self) -> float:
        """What was spent so far, by the prices."""
        return self._price(self.spent)

    def hold(self, cost: Cost) -> None:
        """Set aside what a request may take; wait for others where that may make room.

        Raises:
            BudgetError: there is no room.
        """
        with self._changed:
            while not self._fits(self.spent + self._held + cost):
                if self._held == Cost():
                    raise BudgetError(self._told(cost))
                self._changed.wait()
            self._held += cost

    def settle(self, held: Cost, taken: Cost) -> None:
        """Book what a request took in place of what was set aside for it."""
        with self._changed:
            self._held -= held
            self.spent += taken
            self._changed.notify_all()

    def _fits(self, cost: Cost) -> bool:
        total = cost.tokens_in + cost.tokens_out
        return (self.tokens is None or total <= self.tokens) and (
            self.money is None or self._price(cost) <= self.money
        )

    def _price(self, cost: Cost) -> float:
        return (cost.tokens_in * self.price_in + cost.tokens_out * self.price_out) / _MILLION

    def _told(self, cost: Cost) -> str:
        limits = [] if self.tokens is None else [f"{self.tokens:,} tokens"]
        limits += [] if self.money is None else [f"{self.money:g} in money"]
        spent = f"{self.spent.tokens_in:,} tokens in and {self.spent.tokens_out:,} out"
        if self.money is not None:
            spent += f" ({self.spent_money:.4g} in money)"
        return (
            f"the budget of {' and '.join(limits)} has no room for the next request, which may "
            f"take {cost.tokens_in:,} tokens in and {cost.tokens_out:,} out; {spent} were spent. "
            "Raise the budget to go on"
        )
