"""Chat models behind any OpenAI-compatible endpoint; the only door to `openai` and `tenacity`.

A chat model is whatever takes messages and gives a `Reply`. `Client` is one: it asks a server
(vLLM, Ollama, llama.cpp, `transformers serve`, a hosted one), waits and tries again where that
helps, keeps within a `Budget`, and keeps each reply on disk, so that what was asked once is never
paid for twice.

>>> from winosmith.chat import Message, Reply
>>> def polite(messages):
...     return Reply(f"You said: {messages[-1].content}")
>>> polite([Message("user", "1 or 2?")]).text
'You said: 1 or 2?'
"""

from __future__ import annotations

from winosmith.chat._client import Budget, Client
from winosmith.chat._server import BudgetError, ChatError, ChatModel, Message, Messages, Reply

__all__ = [
    "Budget",
    "BudgetError",
    "ChatError",
    "ChatModel",
    "Client",
    "Message",
    "Messages",
    "Reply",
]
