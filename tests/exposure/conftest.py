"""The command line, for tests of `winosmith exposure`."""

from tests.cli.conftest import cli

__all__ = ["cli"]
