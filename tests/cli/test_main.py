"""The command `winosmith`: help, exit codes, streams and printing."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from winosmith import __version__, report
from winosmith.cli import main
from winosmith.cli._main import LOCATIONS, SECTIONS
from winosmith.cli._output import print_blocks
from winosmith.errors import DataError, Interrupted

COMMANDS = [name for lines in SECTIONS.values() for name in lines]


def _run_and_raise(monkeypatch: pytest.MonkeyPatch, error: BaseException | None) -> int:
    """Return the exit code of a command that raises an error."""

    @click.command()
    def command() -> None:
        if error is not None:
            raise error

    monkeypatch.setattr("winosmith.cli._main.LazyGroup.get_command", lambda *_: command)
    return main(["anything"])


def test_help_lists_the_commands_in_four_sections(cli):
    _, shown = cli("--help").split("--help  ")
    parts = re.findall(r"^(\w.*):$", shown, re.MULTILINE)
    assert parts == ["Build a benchmark", "Measure models", "People", "Publish"]
    lines = re.findall(r"^  [a-z]+ +", shown, re.MULTILINE)
    assert [len(lines), len({*map(len, lines)})] == [len(COMMANDS), 1]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_has_an_example(name, cli):
    shown = cli(name, "--help")
    assert shown.startswith(f"Usage: winosmith {name} ")
    assert f"winosmith {name}" in shown.split("Usage:")[1].split("\n", 1)[1]
    assert not re.search(r"^  -.* PARSE_", shown, re.MULTILINE)  # placeholders are not functions


def test_version_is_that_of_the_package(cli):
    assert __version__ in cli("--version")


def test_unknown_command_is_refused(cli):
    assert "there is no command 'fly'" in cli.refused("fly")


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["biuld"], "build"),
        (["practise"], "practice"),
        (["humans", "sheet"], "sheets"),
        (["admin", "backups", "site"], "backup"),
        (["admin", "exprt"], "export"),
        (["data", "lst"], "list"),
    ],
)
def test_misspelt_command_gets_a_suggestion(cli, words, nearest):
    assert re.search(rf"did you mean .*\b{nearest}\b.*\?", cli.refused(*words))


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (None, 0, ""),
        (click.exceptions.Exit(1), 1, ""),
        (DataError("the labels are of one class"), 2, "Error: the labels are of one class"),
        (click.UsageError("no such thing"), 2, "no such thing"),
        (FileNotFoundError(2, "No such file", "a.npy"), 2, "Error: a.npy: No such file"),
        (BrokenPipeError(32, "Broken pipe"), 2, "Broken pipe"),
        (MemoryError("Unable to allocate 8 GiB"), 2, "(Unable to allocate 8 GiB); use fewer"),
        (Interrupted("Run it again to go on."), 130, "Stopped. Run it again to go on."),
        (KeyboardInterrupt(), 130, "Stopped."),
    ],
)
def test_exit_code_and_message_depend_on_the_error(monkeypatch, capsys, error, code, told):
    assert _run_and_raise(monkeypatch, error) == code
    output = capsys.readouterr()
    assert told in output.err
    assert output.out == ""


def test_unexpected_error_is_raised(monkeypatch):
    """Its traceback is needed to find the bug."""
    with pytest.raises(ZeroDivisionError):
        _run_and_raise(monkeypatch, ZeroDivisionError())


def test_python_m_winosmith_passes_the_exit_code_on():
    done = subprocess.run([sys.executable, "-m", "winosmith", "fly"], capture_output=True)
    assert done.returncode == 2


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in LOCATIONS])
def test_each_command_is_in_its_module(name):
    """Other commands share the module of one of these."""
    module = importlib.import_module(f"winosmith.cli.{name}")
    assert isinstance(module.command, click.Command)
    assert Path(str(module.__file__)).name == f"{name}.py"


def test_terminal_and_page_format_numbers_alike(capsys):
    columns = ["word", report.Column("of them right", ".1%"), "z"]
    table = report.Table("Words", columns, [["less", 6 / 7, 1.5], ["more", None, 2.0]])
    print_blocks([table])
    printed = capsys.readouterr().out
    assert "        85.7\xa0%   1.500" in printed
    assert "85.7\xa0%" in report.render_page("Words", [report.Section("Words", [table])])


def test_control_characters_in_paragraphs_are_escaped(capsys):
    print_blocks(
        [report.Text(["a [red] \x1b[31mred\x1b[0m id"]), report.Text(["\x1b]0;x"], "list")]
    )
    printed = capsys.readouterr().out
    assert "a [red] \\x1b[31mred" in printed
    assert "\x1b" not in printed
