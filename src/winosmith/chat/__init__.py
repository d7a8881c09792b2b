"""Chat models behind any OpenAI-compatible endpoint.

A chat model takes messages and returns a `Reply`. `Client` asks a server (vLLM, Ollama, llama.cpp,
`transformers serve`, or a hosted service), retries if that can help, stays within a `Budget`, and
saves each reply on disk, so that no request is paid for twice.

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
