"""Run `winosmith` commands in this process: output, JSON, refusals and exit codes."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from winosmith.cli import main
from winosmith.cli._main import group


class Cli:
    """The command line, in this process; arguments are separate words, or one string."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""
        """What the last command printed beside its result, with single spaces."""

    def __call__(self, *words: object, code: int = 0) -> str:
        """Return the standard output of a command that must exit with the given code."""
        self._capsys.readouterr()
        assert main(self._parted(words)) == code
        out, err = self._capsys.readouterr()
        self.err = " ".join(err.split())
        return out

    def told(self, *words: object) -> Any:
        """Return the JSON of a command run with --json, without its schema name."""
        told = json.loads(self(*self._parted(words), "--json"))
        assert told.pop("schema")
        return told

    def aside(self, *words: object, code: int = 0) -> str:
        """Return the error stream of a command, with single spaces."""
        self(*words, code=code)
        return self.err

    def refused(self, *words: object) -> str:
        """Return the error of a command that must exit with code 2 and print nothing else.

        The error has single spaces.
        """
        assert self(*words, code=2) == ""
        return self.err

    @staticmethod
    def _parted(words: tuple[object, ...]) -> list[str]:
        return str(words[0]).split() if len(words) == 1 else [str(word) for word in words]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return the command line, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Cli(capsys)


@cache
def ways() -> dict[str, tuple[click.Command, ...]]:
    """Return, for the name of each command and group, its groups from the outermost, and itself."""
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
