"""`winosmith` as it is typed: what it prints, what it tells as JSON, and how it refuses."""

import json
from functools import cache
from typing import Any

import click
import pytest

from winosmith.cli import main
from winosmith.cli._main import group


class Cli:
    """The command line, in this process; words stand apart, or are one line."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Keep what captures the output."""
        self._capsys = capsys
        self.err = ""
        """What the last command printed beside its result, with single spaces."""

    def __call__(self, *words: object, code: int = 0) -> str:
        """Return what a command prints, which must end with that code."""
        self._capsys.readouterr()
        assert main(self._parted(words)) == code
        out, err = self._capsys.readouterr()
        self.err = " ".join(err.split())
        return out

    def told(self, *words: object) -> Any:
        """Return what a command tells with --json, without the name of its schema."""
        told = json.loads(self(*self._parted(words), "--json"))
        assert told.pop("schema")
        return told

    def aside(self, *words: object, code: int = 0) -> str:
        """Return what a command prints beside its result, with single spaces."""
        self(*words, code=code)
        return self.err

    def refused(self, *words: object) -> str:
        """Return why a command ends with code 2, in single spaces; it prints nothing else."""
        assert self(*words, code=2) == ""
        return self.err

    @staticmethod
    def _parted(words: tuple[object, ...]) -> list[str]:
        return str(words[0]).split() if len(words) == 1 else [str(word) for word in words]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return the command line."""
    return Cli(capsys)


@cache
def ways() -> dict[str, tuple[click.Command, ...]]:
    """Return, by the name of each command and group, its groups from the outermost, and itself."""
    found: dict[str, tuple[click.Command, ...]] = {}

    def walk(of: click.Group, name: str, before: tuple[click.Command, ...]) -> None:
        context = click.Context(of)
        for word in of.list_commands(context):
            command = of.get_command(context, word)
            assert command is not None
            found[f"{name} {word}".strip()] = (*before, command)
            if isinstance(command, click.Group):
                walk(command, f"{name} {word}".strip(), (*before, command))

    walk(group, "", ())
    return found
