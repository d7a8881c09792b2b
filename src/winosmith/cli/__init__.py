"""The command `winosmith`: one file a command, loaded when it is called.

Each public module holds `command`, a `click.Command`; a command that is one noun with another is in
its file (`verify` in `release`). The commands of a group that is more than one file are next to it
(`_admin_test`, `_humans_sheets`). What several share has a file by its noun:
options, printing, predictions, solvers.
"""

from __future__ import annotations

from winosmith.cli._main import main

__all__ = ["main"]
