"""The command `winosmith`. The module of a subcommand is imported only when it is called.

Each public module contains `command`, a `click.Command`. Closely related commands share a module
(`verify` is in `release`). Large groups have further modules (`_humans_sheets`).
Other private modules contain shared code.
"""

from __future__ import annotations

from winosmith.cli._main import main

__all__ = ["main"]
