"""A batch of requests: in parallel, tried again, within a `Budget`, each reply kept at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from winosmith.chat._answers import Again, BudgetError, ChatError, Messages, Reply
from winosmith.chat._cache import Cache
from winosmith.chat._line import Line
from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.parallel import ordered_map

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

    def taken_by(self, reply: Reply) -> Cost:
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
                    raise BudgetError(self._no_room(cost))
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

    def _no_room(self, cost: Cost) -> str:
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


_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds; the waits double, with chance added so that the threads don't come back at once."""


@dataclass
class Run:
    """One batch of requests.

    Attributes:
        line: to the server.
        parameters: of every request.
        most_out: tokens that a reply has at most.
        concurrency, patience, on_progress: as in `Client`.
        budget: to stay within.
        cache: where each reply is kept; None for nowhere.
        before: replies that were there already.
    """

    line: Line
    parameters: Mapping[str, Any]
    most_out: int
    concurrency: int
    patience: float
    budget: Budget
    cache: Cache | None
    before: int
    on_progress: Callable[[int, int, str], None] | None
    _received: int = 0
    _total: int = 0
    _not_before: float = 0.0
    _failure: Exception | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def replies(self, conversations: Mapping[str, Messages]) -> dict[str, Reply]:
        """Return the reply to each conversation, by its key.

        The first failure ends the run, but what is on its way is waited for and kept. Ctrl-C
        doesn't wait; what is on its way then is kept while Python takes its leave.

        Raises:
            ChatError: the first failure.
        """
        self._total = len(conversations)
        tenacity = require("tenacity", "chat")
        executor = ThreadPoolExecutor(self.concurrency, "chat")
        try:
            received = ordered_map(
                lambda item: (item[0], self._one(tenacity, *item)),
                conversations.items(),
                executor,
                ahead=4 * self.concurrency,
            )
            found = dict(received)
        except Exception:
            self._stop.set()
            executor.shutdown(wait=False, cancel_futures=True)
            self._hang_up(executor)
            if isinstance(self._failure, ChatError):
                raise type(self._failure)(self._located(self._failure)) from None
            if self._failure is not None:
                raise self._failure from None
            raise
        except BaseException:
            self._stop.set()
            executor.shutdown(wait=False, cancel_futures=True)
            threading.Thread(target=self._hang_up, args=(executor,)).start()
            raise
        self._hang_up(executor)
        return found

    def _hang_up(self, executor: ThreadPoolExecutor) -> None:
        """Wait for what is under way, then close the line."""
        executor.shutdown()
        self.line.close()

    def _one(self, tenacity: Any, key: str, messages: Messages) -> Reply:
        """Return one reply, and keep it; note the first failure of all."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Again),
            wait=self._wait,
            stop=tenacity.stop_any(tenacity.stop_before_delay(self.patience), _is_tried),
            before_sleep=self._tell_wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            reply: Reply = retrying(self._attempt, messages)
            if self.cache is not None:
                reply = self.cache.keep(key, reply)
        except Again as error:
            self._fail(ChatError(self._given_up(error, retrying.statistics["attempt_number"])))
            raise
        except Exception as error:
            self._fail(error)
            raise
        with self._lock:
            self._received += 1
            self._progress("")
        return reply

    def _attempt(self, messages: Messages) -> Reply:
        """Ask once, and book what it costs."""
        self._sleep(self._not_before - time.monotonic())
        most = Cost.at_most(messages, self.most_out)
        self.budget.hold(most)
        taken = Cost()
        try:
            self._sleep(0)
            reply = self.line.ask(messages, self.parameters)
            taken = most.taken_by(reply)
            return reply
        except Again as error:
            taken = most if error.charged else taken
            raise
        finally:
            self.budget.settle(most, taken)

    def _sleep(self, seconds: float) -> None:
        """Wait, unless the run is stopped."""
        if self._stop.wait(max(0.0, seconds)):
            raise CancelledError

    def _wait(self, state: Any) -> float:
        """Return the seconds until the next attempt; when the server says, nobody asks earlier."""
        error = state.outcome.exception()
        doubled = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(16, state.attempt_number - 1))
        wait: float = doubled * random.uniform(0.5, 1.0)  # noqa: S311 - spreads requests, no secret
        if error.after is not None:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + error.after)
            wait = error.after
        return wait

    def _tell_wait(self, state: Any) -> None:
        reason = state.outcome.exception().reason
        with self._lock:
            self._progress(f"waits {state.upcoming_sleep:.0f} s: {reason}")

    def _progress(self, note: str) -> None:
        if self.on_progress and not self._stop.is_set():
            self.on_progress(self.before + self._received, self.before + self._total, note)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            if self._failure is None:
                self._failure = error
        self._stop.set()

    def _given_up(self, error: Again, attempts: int) -> str:
        if error.after is not None and error.after >= self.patience:
            return (
                f"{error.reason}; it asks to wait {error.after:,.0f} s, which is beyond the "
                f"patience of {self.patience:g} s"
            )
        return f"after {attempts} attempt{'s' * (attempts > 1)}, {error.reason}"

    def _located(self, error: ChatError) -> str:
        """Return an error's message with where it happened and what is kept."""
        message = f"{self.line.model} at {self.line.base_url}: {error}".rstrip(".")
        if self.cache is None:
            return f"{message}. Replies are not kept, as there is no cache"
        done = self.before + self._received
        return (
            f"{message}. {done:,} of {self.before + self._total:,} replies are kept in "
            f"{self.cache.path}; the same command goes on from there"
        )


def _is_tried(state: Any) -> bool:
    return bool(state.attempt_number >= state.outcome.exception().tries)
