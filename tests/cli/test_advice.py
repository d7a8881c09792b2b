"""Commands and options in messages exist, and the advice works."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import click
import pytest

import winosmith
from tests.cli.conftest import ways
from tests.cli.test_release import ABOUT
from winosmith import formats
from winosmith.cli import _printing, main
from winosmith.cli._main import group
from winosmith.cli._printing import translate_settings
from winosmith.testing import make_twins

PACKAGE = Path(winosmith.__file__).parent

SETTING = re.compile(r"`([a-z]\w*)=([^`]*)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
LINE = re.compile(r"\bwinosmith((?: +[^\s`;)]+)+)")

OTHERS = re.compile(r"\b(lm_eval|dask scheduler|sha256sum|hf (repos|upload)|inspect eval) .*")
"""Commands of other programs."""

ARGUMENTS_OF_PROGRAMS = {"web/_backup.py", "testing.py", "data/_source.py"}
"""Modules whose strings with options are arguments of the programs that they run or mention."""


def _without_docs(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module outside docstrings and decorators."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                lone = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
                if isinstance(child, ast.AST) and name != "decorator_list" and not lone:
                    left.append(child)


@cache
def _texts(path: Path) -> list[tuple[int, str]]:
    """Return the strings of a module that may be messages, with X for filled-in values."""
    found: list[tuple[int, str]] = []
    nodes: list[int] = []
    inside: set[int] = set()
    for node in _without_docs(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            found.append((node.lineno, "".join(map(str, parts))))
            nodes.append(id(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.lineno, node.value))
            nodes.append(id(node))
    return [one for one, node in zip(found, nodes, strict=True) if node not in inside]


def _all_texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each string of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for line, text in _texts(path):
            yield f"{path.relative_to(PACKAGE).as_posix()}:{line}", text


COMMANDS = [way[-1] for way in ways().values()]
OPTIONS = {option for command in COMMANDS for param in command.params for option in param.opts}


def _find_unknown_part(words: list[str]) -> str:
    """Return the unknown command or option of a command line, or ""."""
    command: click.Command = group
    known: set[str] = {"--help", "--version"}
    for word in words:
        bare = word.rstrip(".,:…'\"")
        if isinstance(command, click.Group) and not bare.startswith("-"):
            found = command.get_command(click.Context(command), bare)
            if found is None and not command.params:
                return f"no command {bare!r}"
            command = found or command
            known |= {option for param in command.params for option in param.opts}
        elif OPTION.fullmatch(bare.partition("=")[0]) and bare.partition("=")[0] not in known:
            return f"no option {bare!r}"
    return ""


def _find_command_lines(text: str) -> list[list[str]]:
    """Return the words of the command lines in a text: those with an option or in backticks."""
    return [
        found[1].split()
        for found in LINE.finditer(text)
        if "--" in found[1] or f"`winosmith{found[1]}`" in text
    ]


def test_command_lines_in_messages_exist():
    lines = [(place, words) for place, text in _all_texts() for words in _find_command_lines(text)]
    wrong = {place: why for place, words in lines if (why := _find_unknown_part(words))}
    assert wrong == {}
    assert len(lines) > 10


def test_library_messages_name_parameters_not_options():
    """Each interface translates the parameters into its own settings."""
    found = [
        (place, text)
        for place, text in _all_texts()
        if not place.startswith("cli/")
        and place.partition(":")[0] not in ARGUMENTS_OF_PROGRAMS
        and OPTION.search(OTHERS.sub("", LINE.sub("", text)))
    ]
    assert found == []


def test_settings_in_messages_are_parameters_and_options():
    parameters = {
        one.arg
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        for one in (*node.args.args, *node.args.kwonlyargs)
    }
    fields = {
        str(getattr(node.target, "id", ""))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.AnnAssign)
    }
    named = {
        (found[1], found[2]): place
        for place, text in _all_texts()
        for found in SETTING.finditer(text)
    }
    assert {one: at for one, at in named.items() if one[0] not in parameters | fields} == {}
    typed = {one: _printing._find_option(*one)[0] for one in named}
    assert {one: option for one, option in typed.items() if option not in OPTIONS} == {}
    assert len(named) > 15


def test_messages_of_a_command_name_only_its_own_options():
    wrong = []
    for path in (PACKAGE / "cli").glob("*.py"):
        module = f"winosmith.cli.{path.stem}"
        own = [
            command for command in COMMANDS if getattr(command.callback, "__module__", "") == module
        ]
        known = {option for command in own for param in command.params for option in param.opts}
        declared = set(OPTION.findall(path.read_text("utf-8"))) if not own else set()
        for line, text in _texts(path):
            options = OPTION.findall(OTHERS.sub("", LINE.sub("", text)))
            wrong += [
                f"{path.name}:{line}: {one}"
                for one in options
                if one not in known | {"--help"} and (own or one not in declared)
            ]
    assert wrong == []


@pytest.mark.parametrize(
    ("command", "message", "printed"),
    [
        ("stats", "name it with `question=`; so", "name it with --question; so"),
        ("stats", "say `answer_is='letter'`", "say --answer-is letter"),
        ("stats", "say `answer='a b'`", "say --answer 'a b'"),
        ("stats", "add `format_name=`", "add --from"),
        ("release", "add `new_ids=True`", "add --ids digest"),
        ("stats", "add `no_such_thing=1`", "add `no_such_thing=1`"),
        (
            "build",
            "name `question=` or `pair_by=`",
            "name --question or --pair-by; `winosmith convert` has --question, --pair-by, and "
            "writes a file that this command reads",
        ),
    ],
)
def test_setting_is_printed_as_option_of_command(command, message, printed):
    """If the command has no such option, the message names the command that has it."""
    assert translate_settings(message, ways()[command][-1]) == printed


def test_errors_in_python_name_parameters(tmp_path):
    (tmp_path / "a.csv").write_text("id,zzz,A,B,answer\n1,q,a,b,A\n")
    with pytest.raises(winosmith.errors.FormatError, match="name one with `question=`"):
        formats.read(tmp_path / "a.csv")


READING = {
    "stats": "stats quiz.csv",
    "check": "check quiz.csv",
    "audit": "audit quiz.csv --draws 19 --no-probes",
    "solve": "solve quiz.csv --solver random --out solved.jsonl",
    "humans sheets": "humans sheets quiz.csv --out sheets --no-pdf --form",
    "transfer": "transfer quiz.csv --solver random --out transfer",
    "train": "train quiz.csv --dev quiz.csv --model x --out model",
    "release": "release quiz.csv --about release.toml --out out",
}
"""Commands that read a table whose question column has an unknown name."""


@pytest.mark.parametrize("line", READING.values(), ids=READING)
def test_advice_about_columns_works(line, cli, capsys):
    rows = [f"{row},What is {row} + 1?,{row + 1},{row + 3},A" for row in range(24)]
    Path("quiz.csv").write_text("\n".join(["id,zzz,A,B,answer", *rows]) + "\n")
    Path("release.toml").write_text(ABOUT)
    error = cli.refused(line)
    assert "name one with --question" in error
    if "`winosmith convert` has" in error:
        cli("convert quiz.csv good.jsonl --question zzz")
        again = line.replace("quiz.csv", "good.jsonl")
    else:
        again = f"{line} --question zzz"
    main(again.split())
    told = capsys.readouterr().err
    assert "--question" not in told
    assert "no such option" not in told.casefold()


def test_advice_about_embargoed_problems_works(cli):
    twins = [replace(problem, embargo=True) for problem in make_twins(3)]
    formats.write(twins, "twins.jsonl")
    told = cli.refused("convert twins.jsonl a.jsonl")
    assert "6 under embargo; --with-embargo keeps them" in told
    cli("convert twins.jsonl a.jsonl --with-embargo")
    assert len(formats.read("a.jsonl")) == 6
