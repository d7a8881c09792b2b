"""The command line, for tests of `winosmith exposure`."""

from __future__ import annotations

from tests.cli.conftest import cli

__all__ = ["cli"]
