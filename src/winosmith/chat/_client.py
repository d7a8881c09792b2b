"""`Client`: a chat model behind an OpenAI-compatible endpoint, its `Budget` and its cache."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from winosmith.chat import _server
from winosmith.chat._server import ChatError, Messages, Reply, RetryableError, check_url
from winosmith.errors import InputError, require
from winosmith.options import Count, checked_class
from winosmith.parallel import ordered_map
from winosmith.records import dump_json, parse_json
from winosmith.text import format_count

_CACHE_TIMEOUT = 60.0
"""Maximum number of seconds to wait while another process writes the cache."""

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class Cache:
    """An on-disk cache of replies, without prompts and API keys.

    The folder is created if missing, and accessible only to this user (mode 0700). Each operation
    opens and closes the file, so threads, forks and processes can share a cache.
    """

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "replies.sqlite"

    def get_many(self, keys: Iterable[str]) -> dict[str, Reply]:
        if not self.path.exists():
            return {}
        ask = "SELECT key, reply FROM replies WHERE key IN (SELECT value FROM json_each(?))"
        with self._open() as db:
            rows = db.execute(ask, (json.dumps([*keys]),))
            return {key: _parse_reply(text) for key, text in rows}

    def store(self, key: str, reply: Reply) -> Reply:
        """Store a reply and return it, or the reply that a concurrent request stored first."""
        with self._open() as db:
            stated = {name: of for name, of in asdict(reply).items() if of not in (None, "", ())}
            db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, json.dumps(stated)))
            row = db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return _parse_reply(row[0])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction. ChatError is raised if it can't be used."""
        try:
            if not self.path.exists():
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(self.path, timeout=_CACHE_TIMEOUT)) as db, db:
                db.execute("PRAGMA synchronous = FULL")  # each reply may have cost money
                # IMMEDIATE and no WAL: SQLite waits for other processes only at the start of a
                # transaction, not for a change of mode or a later lock.
                db.execute("BEGIN IMMEDIATE")
                db.execute(_TABLE)
                yield db
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            raise ChatError(
                f"{self.path}: the reply cache can't be used ({error}); free disk space, "
                "change the permissions, or choose another folder"
            ) from error


def _parse_reply(text: str) -> Reply:
    record = parse_json(text)
    first = tuple((str(token), float(logprob)) for token, logprob in record.pop("first_token", ()))
    return Reply(**{"text": "", **record}, first_token=first)


_MESSAGE_TOKENS = 16
_CONVERSATION_TOKENS = 64
"""Maximum number of tokens that a chat template adds per message and per conversation."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The maximum or actual token usage of a request."""

    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out)


@checked_class
@dataclass
class Budget:
    """Spending limits, and the amount spent.

    A request is sent only if its maximum cost fits into the budget: one token per byte of the
    prompt, plus the maximum number of reply tokens. Cached replies cost nothing. A request that
    timed out is counted at its maximum cost, because the server may charge for it.

    Attributes:
        tokens: maximum number of input and output tokens. None means no limit.
        money: maximum cost, in the currency of the prices. None means no limit.
        price_in, price_out: prices per million input and output tokens.
        spent: the tokens used so far.

    Raises:
        InputError: a limit or price is below 0, or a money limit has no prices.

    >>> budget = Budget(money=2.0, price_in=0.15, price_out=0.60)
    >>> budget.spent.tokens_in, budget.spent_money
    (0, 0.0)
    """

    tokens: Annotated[int, Field(ge=0)] | None = None
    money: Annotated[float, Field(ge=0)] | None = None
    price_in: Annotated[float, Field(ge=0)] = 0.0
    price_out: Annotated[float, Field(ge=0)] = 0.0
    spent: Cost = field(default_factory=Cost, init=False)
    _reserved: Cost = field(default_factory=Cost, init=False, repr=False)
    _settled: threading.Condition = field(
        default_factory=threading.Condition, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.money is not None and not (self.price_in or self.price_out):
            raise InputError("a budget in money requires the prices of input and output tokens")

    @property
    def spent_money(self) -> float:
        """The money spent so far, according to the prices."""
        return self._compute_price(self.spent)

    def reserve(self, cost: Cost) -> None:
        """Reserve the maximum cost of a request, after waiting for other requests if necessary.

        Raises:
            BudgetError: the budget is too small for the request.
        """
        with self._settled:
            while True:
                total = self.spent + self._reserved + cost
                tokens, money = total.tokens_in + total.tokens_out, self._compute_price(total)
                has_tokens = self.tokens is None or tokens <= self.tokens
                has_money = self.money is None or money <= self.money
                if has_tokens and has_money:
                    break
                if self._reserved == Cost():
                    raise _server.BudgetError(self._explain_shortage(cost))
                self._settled.wait()
            self._reserved += cost

    def settle(self, reserved: Cost, actual: Cost) -> None:
        """Replace the reserved cost of a request with its actual cost."""
        with self._settled:
            self._reserved -= reserved
            self.spent += actual
            self._settled.notify_all()

    def _compute_price(self, cost: Cost) -> float:
        return (cost.tokens_in * self.price_in + cost.tokens_out * self.price_out) / 1_000_000

    def _explain_shortage(self, cost: Cost) -> str:
        limits = [] if self.tokens is None else [f"{self.tokens:,} tokens"]
        limits += [] if self.money is None else [f"{self.money:g} in money"]
        spent = f"{self.spent.tokens_in:,} tokens in and {self.spent.tokens_out:,} out"
        if self.money is not None:
            spent += f" ({self.spent_money:.4g} in money)"
        return (
            f"the budget of {' and '.join(limits)} does not allow the next request, which may "
            f"use {cost.tokens_in:,} tokens in and {cost.tokens_out:,} out; {spent} were used. "
            "Raise the budget to continue"
        )


_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Minimum and maximum number of seconds between retries. The wait doubles each time, with random
jitter."""


@dataclass
class RequestBatch:
    """A batch of requests.

    Attributes:
        cache: the cache of replies; None to cache nothing.
        done: number of replies so far, including those that were cached before the run.
    """

    client: Client
    cache: Cache | None
    done: int
    budget: Budget
    _total: int = 0
    _earliest_request: float = 0.0
    _failure: Exception | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._connection = _server.Connection(self.client)

    def send_requests(self, conversations: Mapping[str, Messages]) -> dict[str, Reply]:
        """Send a request for each conversation, and return the replies by conversation key.

        After the first failure, requests in progress are finished and their replies cached. Then
        the failure is raised as ChatError. Ctrl-C ends the run at once, and pending replies are
        cached while Python exits.
        """
        self._total = self.done + len(conversations)
        executor = ThreadPoolExecutor(self.client.concurrency, "chat")

        def shut_down() -> None:
            executor.shutdown()
            self._connection.close()

        try:
            items, limit = conversations.items(), 4 * self.client.concurrency
            found = dict(ordered_map(self._request, items, executor, max_pending=limit))
        except BaseException as error:
            self._stop.set()
            executor.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):  # Ctrl-C does not wait
                threading.Thread(target=shut_down).start()
                raise
            shut_down()
            failure = self._failure or error
            if isinstance(failure, ChatError):
                failure = type(failure)(self._add_context(failure))
            raise failure from None
        shut_down()
        return found

    def _request(self, conversation: tuple[str, Messages]) -> tuple[str, Reply]:
        """Request and cache a reply, and return it with its key. The first failure is recorded."""
        key, messages = conversation
        tenacity = require("tenacity", "chat")
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(RetryableError),
            wait=self._compute_wait,
            stop=tenacity.stop_any(
                tenacity.stop_before_delay(self.client.patience),
                lambda state: state.attempt_number >= state.outcome.exception().tries,
            ),
            before_sleep=self._report_wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            reply: Reply = retrying(self._attempt_request, messages)
            if self.cache is not None:
                reply = self.cache.store(key, reply)
        except Exception as error:
            failure = error
            if isinstance(error, RetryableError):
                patience = self.client.patience
                if error.retry_after is not None and error.retry_after >= patience:
                    failure = ChatError(
                        f"{error.reason}; the server requests a wait of {error.retry_after:,.0f} "
                        f"s, which exceeds the client's patience of {patience:g} s"
                    )
                else:
                    attempts = format_count(retrying.statistics["attempt_number"], "attempt")
                    failure = ChatError(f"after {attempts}, {error.reason}")
            with self._lock:
                self._failure = self._failure or failure
            self._stop.set()
            raise
        with self._lock:
            self.done += 1
            self._report_progress("")
        return key, reply

    def _attempt_request(self, messages: Messages) -> Reply:
        self._sleep(self._earliest_request - time.monotonic())
        text = sum(len(message.content.encode()) + _MESSAGE_TOKENS for message in messages)
        # A token is one byte or more.
        most = Cost(text + _CONVERSATION_TOKENS, self.client.max_reply_tokens or 0)
        self.budget.reserve(most)
        taken = Cost()
        try:
            self._sleep(0)
            reply = self._connection.ask(messages, self.client.body)
            taken = Cost(
                most.tokens_in if reply.tokens_in is None else reply.tokens_in,
                most.tokens_out if reply.tokens_out is None else reply.tokens_out,
            )
            return reply
        except RetryableError as error:
            taken = most if error.may_be_charged else taken
            raise
        finally:
            self.budget.settle(most, taken)

    def _sleep(self, seconds: float) -> None:
        if self._stop.wait(max(0.0, seconds)):
            raise CancelledError

    def _compute_wait(self, state: Any) -> float:
        """Return the number of seconds until the next attempt.

        A `Retry-After` header applies to all threads.
        """
        error = state.outcome.exception()
        doubled = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(16, state.attempt_number - 1))
        wait: float = doubled * random.uniform(0.5, 1.0)  # noqa: S311 - spreads requests, no secret
        if error.retry_after is not None:
            with self._lock:
                self._earliest_request = max(
                    self._earliest_request, time.monotonic() + error.retry_after
                )
            wait = error.retry_after
        return wait

    def _report_wait(self, state: Any) -> None:
        reason = state.outcome.exception().reason
        with self._lock:
            self._report_progress(f"waiting {state.upcoming_sleep:.0f} s: {reason}")

    def _report_progress(self, note: str) -> None:
        report = self.client.on_progress
        if report and not self._stop.is_set():
            report(self.done, self._total, note)

    def _add_context(self, error: ChatError) -> str:
        message = f"{self.client.model} at {self.client.base_url}: {error}".rstrip(".")
        if self.cache is None:
            return f"{message}. There is no cache, so the replies are lost"
        return (
            f"{message}. {self.done:,} of {self._total:,} replies are saved in "
            f"{self.cache.path}; run the same command again to resume"
        )


_RESERVED_FIELDS = {"model", "messages", "stream", "n"}
_SECRET = re.compile(r"key|secret|password|authori[sz]ation", re.IGNORECASE)


@checked_class
@dataclass(frozen=True)
class Client:
    """A client for an OpenAI-compatible chat model: call it, or `ask` several conversations.

    Attributes:
        model: name of the model on the server.
        base_url: endpoint URL ("http://localhost:8000/v1"). It must be https unless it is on this
            machine or `insecure` is set.
        temperature: sampling temperature. 0 gives the likeliest reply; None means the server's
            default.
        max_tokens: maximum number of tokens per reply. None means the server's default.
        extra: additional fields of the request body ({"top_p": 0.9}). The value None removes a
            default field.
        key_variable: name of the environment variable that contains the key. None means
            `OPENAI_API_KEY`, which is sent only over https to another machine.
        concurrency: number of concurrent requests.
        timeout: maximum number of seconds to wait for a reply.
        patience: number of seconds after which a request that keeps failing is abandoned.
        insecure: whether to allow unencrypted connections to another machine.
        cache: a folder for replies, readable only by this user, so that no request is paid for
            twice. None means no cache.
        budget: the spending limits, which several clients may share.
        on_progress: called, from any thread, with the number of replies, the total number, and the
            reason for a wait ("" if there is none).

    Raises:
        InputError: a setting is out of range, or the URL is unsafe.
    """

    model: str
    base_url: str
    temperature: float | None = 0.0
    max_tokens: int | None = 256
    extra: Mapping[str, Any] = field(default_factory=dict)
    key_variable: str | None = None
    concurrency: Count = 8
    timeout: Annotated[float, Field(ge=0.001)] = 120.0
    patience: Annotated[float, Field(ge=0)] = 300.0
    insecure: bool = False
    cache: str | Path | None = None
    budget: Budget | None = None
    on_progress: Callable[[int, int, str], None] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_url(self.base_url, insecure=self.insecure)
        for name in self.extra:
            if name in _RESERVED_FIELDS or _SECRET.search(name):
                raise InputError(f"extra can't contain {name!r}; set the client's own attribute")
        if self.budget is not None and self.max_reply_tokens is None:
            raise InputError("a budget requires max_tokens, the maximum length of a reply")

    @classmethod
    def from_environment(
        cls, model: str | None = None, base_url: str | None = None, **settings: Any
    ) -> Client:
        """Return a client for a model and server, by default $OPENAI_MODEL and $OPENAI_BASE_URL.

        There is no default server, because problems may be private.

        Raises:
            InputError: the model or server is missing, or a setting is invalid.
        """
        base_url = base_url or os.environ.get("OPENAI_BASE_URL", "").strip()
        model = model or os.environ.get("OPENAI_MODEL", "").strip()
        if not base_url:
            raise InputError(
                "the chat server is missing; give a base URL, such as http://localhost:8000/v1, or "
                "set OPENAI_BASE_URL"
            )
        if not model:
            raise InputError("the chat model is missing; give its name, or set OPENAI_MODEL")
        return cls(model, base_url, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine a reply, for signatures."""
        return {"model": self.model, **self.body}

    @property
    def body(self) -> dict[str, Any]:
        """The request body without messages."""
        body = {"temperature": self.temperature, "max_tokens": self.max_tokens, **self.extra}
        return {name: value for name, value in body.items() if value is not None}

    @property
    def max_reply_tokens(self) -> int | None:
        """The maximum number of tokens per reply, or None if there is no limit."""
        body = self.body
        most = body.get("max_completion_tokens", body.get("max_tokens"))
        return most if isinstance(most, int) else None

    def __call__(self, messages: Messages, /) -> Reply:
        return self.ask([messages])[0]

    def ask(self, conversations: Sequence[Messages], *, draw: int = 0) -> list[Reply]:
        """Return the model's reply to each conversation, in order.

        Cached replies are reused, and each new reply is cached immediately. The same call therefore
        resumes after an error or interrupt. Identical conversations are sent only once.

        Args:
            conversations: the conversations.
            draw: index of the repetition. At a temperature above 0, each draw gives a new reply.

        Raises:
            ChatError: the server can't be reached, refuses the request, or stays busy for longer
                than `patience`, or the cache can't be used.
            BudgetError: the budget is too small for another request.
        """
        keys = [self._make_cache_key(messages, draw) for messages in conversations]
        cache = None if self.cache is None else Cache(Path(self.cache))
        replies = cache.get_many(keys) if cache else {}
        missing = {
            key: messages
            for key, messages in zip(keys, conversations, strict=True)
            if key not in replies
        }
        if self.on_progress:
            self.on_progress(len(replies), len(replies) + len(missing), "")
        if missing:
            batch = RequestBatch(self, cache, len(replies), self.budget or Budget())
            replies |= batch.send_requests(missing)
        return [replies[key] for key in keys]

    def _make_cache_key(self, messages: Messages, draw: int) -> str:
        """Return the SHA-256 of everything that determines the reply.

        This includes the server's URL, because many local servers accept any model name.
        """
        asked = {
            "base_url": self.base_url.rstrip("/"),
            "model": self.model,
            "parameters": json.loads(json.dumps(self.body, sort_keys=True)),
            "messages": [list(message) for message in messages],
            "draw": draw,
        }
        return hashlib.sha256(dump_json(asked).encode("utf-8", "surrogatepass")).hexdigest()
