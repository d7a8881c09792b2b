"""`Client`: a chat model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith.chat._answers import Messages, Reply
from winosmith.chat._cache import Cache, request_key
from winosmith.chat._line import Line, check_url
from winosmith.chat._run import Budget, Run
from winosmith.errors import InputError

_OURS = {"model", "messages", "stream", "n"}
_SECRET = re.compile(r"key|secret|password|authori[sz]ation", re.IGNORECASE)


@dataclass(frozen=True)
class Client:
    """A chat model behind an OpenAI-compatible endpoint; call it, or `ask` it many things at once.

    Attributes:
        model: by the server's name for it.
        base_url: of the endpoint ("http://localhost:8000/v1"); https, unless it is this machine.
        temperature: 0 for the likeliest reply; None leaves it to the server.
        max_tokens: the longest reply; None leaves it to the server.
        extra: more of the request's body ({"top_p": 0.9}); a None drops what we would send.
        key_variable: the environment variable that holds the key. `OPENAI_API_KEY` when None,
            and then only for https and another machine.
        concurrency: requests at once.
        timeout: seconds for one reply.
        patience: seconds after which a request is given up that failed again and again.
        insecure: speak to another machine without encryption.
        cache: a folder in which replies are kept, so that what was asked once is free; a folder
            of its own, readable by this user alone. None keeps nothing.
        budget: what may be spent; it may be shared.
        on_progress: called with the replies there are, how many there will be, and what a request
            waits for, if any; from any thread.

    Raises:
        InputError: a setting that is out of range, or an address that is unsafe.
    """

    model: str
    base_url: str
    temperature: float | None = 0.0
    max_tokens: int | None = 256
    extra: Mapping[str, Any] = field(default_factory=dict)
    key_variable: str | None = None
    concurrency: int = 8
    timeout: float = 120.0
    patience: float = 300.0
    insecure: bool = False
    cache: str | Path | None = None
    budget: Budget | None = None
    on_progress: Callable[[int, int, str], None] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_url(self.base_url, insecure=self.insecure)
        for name, least in (("concurrency", 1), ("timeout", 0.001), ("patience", 0)):
            value = getattr(self, name)
            if not least <= value < math.inf:
                raise InputError(f"{name} must be a number from {least:g}, not {value}")
        for name in self.extra:
            if name in _OURS or _SECRET.search(name):
                raise InputError(f"extra can't set {name!r}; it has a place of its own")
        if self.budget is not None and self._most_out is None:
            raise InputError("a budget needs max_tokens, or the next reply may take any number")

    @classmethod
    def from_environment(
        cls, model: str | None = None, base_url: str | None = None, **settings: Any
    ) -> Client:
        """Return a client for what is named here, else in OPENAI_MODEL and OPENAI_BASE_URL.

        There is no server that would be asked by default: problems may be private.

        Raises:
            InputError: neither names it, or as the client itself.
        """
        base_url = base_url or os.environ.get("OPENAI_BASE_URL", "").strip()
        model = model or os.environ.get("OPENAI_MODEL", "").strip()
        if not base_url:
            raise InputError(
                "no chat server is named; give a base URL, such as http://localhost:8000/v1, or "
                "set OPENAI_BASE_URL"
            )
        if not model:
            raise InputError("no chat model is named; name one, or set OPENAI_MODEL")
        return cls(model, base_url, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines a reply, beside the messages; for a signature."""
        return {"model": self.model, **self._body}

    @property
    def _body(self) -> dict[str, Any]:
        body = {"temperature": self.temperature, "max_tokens": self.max_tokens, **self.extra}
        return {name: value for name, value in body.items() if value is not None}

    @property
    def _most_out(self) -> int | None:
        """The most tokens that a reply may have; None when nothing says."""
        body = self._body
        most = body.get("max_completion_tokens", body.get("max_tokens"))
        return most if isinstance(most, int) else None

    def __call__(self, messages: Messages, /) -> Reply:
        """Return what the model says next; errors as in `ask`."""
        return self.ask([messages])[0]

    def ask(self, conversations: Sequence[Messages], *, draw: int = 0) -> list[Reply]:
        """Return what the model says next in each conversation, in their order.

        What the cache holds is not asked again; each reply that arrives is kept at once, so after
        an error or an interrupt the same call goes on from there. Of equal conversations one is
        asked.

        Args:
            conversations: what to ask.
            draw: tells repetitions apart: at a temperature above 0 another draw is another reply.

        Raises:
            ChatError: the server is not there, refuses, or stays busy for longer than `patience`;
                or the cache can't be used.
            BudgetError: the budget has no room for another request.
        """
        keys = [self._key(messages, draw) for messages in conversations]
        cache = None if self.cache is None else Cache(Path(self.cache))
        replies = cache.find(keys) if cache else {}
        missing = {
            key: messages
            for key, messages in zip(keys, conversations, strict=True)
            if key not in replies
        }
        if self.on_progress:
            self.on_progress(len(replies), len(replies) + len(missing), "")
        if missing:
            run = Run(
                line=self._line(),
                parameters=self._body,
                most_out=self._most_out or 0,
                concurrency=self.concurrency,
                patience=self.patience,
                budget=self.budget or Budget(),
                cache=cache,
                before=len(replies),
                on_progress=self.on_progress,
            )
            replies |= run.replies(missing)
        return [replies[key] for key in keys]

    def _key(self, messages: Messages, draw: int) -> str:
        url = self.base_url.rstrip("/")
        return request_key(url, self.model, self._body, messages, draw)

    def _line(self) -> Line:
        return Line(self.base_url, self.model, self.key_variable, self.timeout)
