"""Connections to PostgreSQL that are looked at without a question, and asked without detours."""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Cursor

__all__ = ["DatabaseWrapper"]

PREPARED = 500
"""Statements that a connection keeps planned: all that the site compiles, with their types."""


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of Django's."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect."""
        made = super().get_new_connection(conn_params)
        made.prepare_max = PREPARED
        return made

    def is_usable(self) -> bool:
        """Tell whether the server is still there.

        Django sends a question before each request. A server that hangs up on a connection at
        rest leaves its end to be read; while there is nothing to read, nothing needs to be sent.
        """
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return not poll.poll(0) or bool(super().is_usable())

    def ask(self, sql: str, params: Sequence[Any]) -> Any:
        """Run a statement that is planned once a connection; return a cursor with all its rows.

        It is what `connection.cursor().execute` does, at a third of the processor's time. Django's
        cursor is taken where somebody listens to its statements.
        """
        if self.queries_logged or self.execute_wrappers:
            cursor = self.cursor()
            cursor.execute(sql, params)
            return cursor
        self.close_if_health_check_failed()
        self.ensure_connection()
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            return Cursor(self.connection).execute(sql, params, prepare=True)
