"""Run the documentation: every page is a script, and what stands in it is what it prints.

What the fenced blocks of a page hold is worked through from top to bottom, in a new folder:

- `console`: commands after "$ " (a line that begins with "> " goes on with the command), each with
  what it prints, errors and all. So nothing is trimmed by hand: use `head`, `cut`, `tail`;
- `console 2%`: the same, where a filter or a model decides, which another machine rounds otherwise:
  how far a figure may be off;
- `python`: run; with ">>>", checked as a doctest;
- any block with a file's name after its language ("toml mine.toml") is written to that file;
- `bash` and all others are left alone: what needs a download, or more than a minute.

`python docs/make.py` writes into the pages what their commands print. `tests/test_docs.py` runs
them too, and compares: words and figures must be equal, but for what a block says (`alike`).
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

HOME = "/home/you"
"""What the pages call the folder that they ran in."""

_BLOCK = re.compile(r"^```(\w+)(?: (\d+)%| (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRESS = re.compile(
    r"^((again, [\w ]+|filtering halves separately|\w+): [\d,]+( of [\d,]+)?( (phase|run) \d.*)?"
    r"|(Choosing|Fine-tuning|Indexing|Perturbing|Setting|Solving|Training)\b[^:\n]*: \d.*)\n",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)(?!\w)( ?%)?")
_ONCE = re.compile(r"^Compiling AFLite for this machine.*\n", re.MULTILINE)
"""What is printed the first time on each machine, and on no page."""

LIMIT = 1800
"""Seconds that a command may take; a busy machine needs many times what a quiet one does."""

PROGRAMS = Path(sys.executable).parent
"""Where what is installed with Python is."""

_VERSION = re.compile(r"version:[\w.+]+")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: what it is written in.
        near: how far its figures may be off, as a share.
        file: that it is written to.
        body: its text, which begins and ends at `start` and `end` of the page.
    """

    language: str
    near: float
    file: str | None
    body: str
    start: int
    end: int


def pages() -> list[Path]:
    """Return the README and every page below docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for found in _BLOCK.finditer(text):
        language, percent, file, body = found.groups()
        yield Block(language, int(percent or 0) / 100, file, body, found.start(4), found.end(4))


def commands(body: str) -> Iterator[tuple[str, str]]:
    r"""Yield each command of a console block, and what the page says that it prints.

    >>> list(commands("$ echo a \\\n>   b\na b\n$ true\n"))
    [('echo a \\\n  b', 'a b\n'), ('true', '')]
    """
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *rest = part.splitlines(keepends=True)
        while rest and rest[0].startswith("> "):
            command += rest.pop(0)[2:]
        yield command.rstrip("\n"), "".join(rest)


def printed(command: str, folder: Path, programs: Path) -> str:
    """Return what a command prints in a terminal of 80 columns, bar its progress."""
    places = (str(programs), str(PROGRAMS), os.environ["PATH"])
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(places),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(  # noqa: S603 - these pages are our own
        ["bash", "-c", command],  # noqa: S607
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=LIMIT,
    )
    text = without_progress(done.stdout.decode().replace(str(folder), HOME))
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def without_progress(text: str) -> str:
    r"""Return what is printed without the lines that a slow machine prints now and then.

    >>> without_progress("filtering: 4 of 90 phase 2, draw 5 of its null\nagain, perturbed: 7\nok")
    'ok'
    >>> without_progress("filtering: 9 of 40 run 1 of 20, 9 of them with permuted keys\n1 of 9: 2")
    '1 of 9: 2'
    >>> without_progress("Setting sheets: 8 of 12 b-1.html\nSheets in sheets\n")
    'Sheets in sheets\n'
    """
    return _PROGRESS.sub("", text)


def run_python(block: Block, names: dict[str, object], page: str) -> None:
    """Run a block of Python; with ">>>" in it, raise AssertionError where it prints otherwise."""
    if ">>>" not in block.body:
        exec(compile(block.body, page, "exec"), names)  # noqa: S102
        return
    checks = doctest.DocTestParser().get_doctest(block.body, names, page, page, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(checks, out=told.append, clear_globs=False)
    names.update(checks.globs)
    assert not told, "".join(told)  # noqa: S101


def run(
    text: str, folder: Path, page: str, programs: Path = PROGRAMS
) -> Iterator[tuple[Block, str]]:
    """Work through a page in a folder; yield its console blocks, and what they should be.

    The folder has the examples in it, as a clone has. The `winosmith` of `programs` is run.
    """
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    names: dict[str, object] = {}
    for block in blocks(text):
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.body, "utf-8")
        elif block.language == "python":
            with chdir(folder):
                run_python(block, names, page)
        elif block.language == "console":
            shown = ""
            for command, _ in commands(block.body):
                prompt = "\n> ".join(command.split("\n"))
                shown += f"$ {prompt}\n{printed(command, folder, programs)}"
            yield block, shown


def alike(expected: str, got: str, near: float = 0.0) -> bool:
    """Tell whether two outputs have the same words, and the same figures or near ones.

    Args:
        expected: what a page says.
        got: what is printed.
        near: how far a figure may be off: this share of it, for a count one more, but none for
            one of nothing; what is a share itself, below 1 or in percent, by this share of all; but
            no figure below 1 is more than twice what it was, for it may be a p.

    >>> alike("1,699 of 4,073 left (41.7 %)", "1,699  of 4,073 left (41.7 %)")
    True
    >>> alike("1,699 of 4,073 left", "1,700 of 4,073 left"), alike("data:6d3", "data:6d4", 0.02)
    (False, False)
    >>> alike("1,699 left (41.7%, 0.42)", "1,702 left (43.5%, 0.43)", 0.02)
    True
    >>> [alike(a, b, 0.02) for a, b in [("1,699", "1,740"), ("1.7 %", "4 %"), ("0.4", "0.43")]]
    [False, False, False]
    >>> [alike(a, b, 0.02) for a, b in [("0 answers", "1 answers"), ("p ≤ 0.002", "p ≤ 0.02")]]
    [False, False]
    """
    expected, got = (_ONCE.sub("", text) for text in (expected, got))
    expected, got = (" ".join(_VERSION.sub("version", text).split()) for text in (expected, got))
    if not near or _NUMBER.sub(r"#\2", expected) != _NUMBER.sub(r"#\2", got):
        return expected == got
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(got), strict=True)
    return all(_near(a, b, near, bool(percent)) for (a, percent), (b, _) in pairs)


def _near(expected: str, got: str, near: float, percent: bool) -> bool:
    a, b = (float(figure.replace(",", "")) for figure in (expected, got))
    if percent:
        return abs(a - b) <= 100 * near
    if "." in expected + got:
        return abs(a - b) <= (near * max(a, b) if max(a, b) >= 1 else min(near, max(a, b) / 2))
    return a == b or (min(a, b) > 0 and abs(a - b) <= near * max(a, b) + 1)


def write(path: Path, folder: Path) -> None:
    """Work through a page in a folder, and write into the page what its commands print."""
    text = path.read_text("utf-8")
    for block, shown in reversed(list(run(text, folder, path.name))):
        text = text[: block.start] + _ONCE.sub("", shown) + text[block.end :]
    path.write_text(text, "utf-8")
