"""The command `winosmith`: each subcommand has a module, which is imported when it is called.

Each public module contains `command`, a `click.Command`. Closely related commands share a module
(`verify` is in `release`). Large groups have further modules (`_admin_test`, `_humans_sheets`).
Other private modules contain shared code: options, printing, predictions and solvers.
"""

from __future__ import annotations

from winosmith.cli._main import main

__all__ = ["main"]
