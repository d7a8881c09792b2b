"""One batch of requests: in parallel, tried again, within the budget, each reply kept at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from winosmith.chat._budget import Budget, Cost
from winosmith.chat._cache import Cache
from winosmith.chat._errors import Again, ChatError
from winosmith.chat._line import Line
from winosmith.chat._message import Messages, Reply
from winosmith.extras import require
from winosmith.parallel import ordered_map

__all__ = ["Run"]

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
                raise type(self._failure)(self._told(self._failure)) from None
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
            taken = most.told(reply)
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

    def _told(self, error: ChatError) -> str:
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
