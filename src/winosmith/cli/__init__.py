"""The command `winosmith`: one file a command, loaded when it is called.

Each module holds `command`, a `click.Command`. What several share: `_options` and `_printing`.
"""

from __future__ import annotations

from winosmith.cli._main import main

__all__ = ["main"]
