"""What goes to a chat model, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

__all__ = ["ChatModel", "Message", "Messages", "Reply"]


class Message(NamedTuple):
    """One turn of a conversation.

    Attributes:
        role: who speaks.
        content: what is said.
    """

    role: Literal["system", "user", "assistant"]
    content: str


Messages = Sequence[Message]
"""A conversation, the oldest turn first; the model says what comes next."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat model said.

    Attributes:
        text: empty when it said nothing.
        tokens_in, tokens_out: what the server counted; None when it tells no figures.
        finish: why it stopped: "stop", or "length" when its text was cut off; None when untold.
        first_token: the likeliest first tokens with their natural log-probabilities, the
            likeliest first; empty unless they were asked for.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish: str | None = None
    first_token: tuple[tuple[str, float], ...] = ()


class ChatModel(Protocol):
    """Continues a conversation."""

    def __call__(self, messages: Messages, /) -> Reply:
        """Return what the model says next."""
        ...
