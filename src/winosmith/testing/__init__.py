"""Makers for tests, ours and those of projects that build on winosmith."""

from __future__ import annotations

from winosmith.testing._chat_server import chat_server
from winosmith.testing._postgres import PostgresServer, find_postgres, postgres_server
from winosmith.testing._problems import made_families, made_twins
from winosmith.testing._tiny_models import tiny_language_model

__all__ = [
    "PostgresServer",
    "chat_server",
    "find_postgres",
    "made_families",
    "made_twins",
    "postgres_server",
    "tiny_language_model",
]
