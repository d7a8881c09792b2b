"""Run the commands on the pages of the documentation, and update or compare their output.

The fenced blocks of a page are processed from top to bottom in a new folder:

- `console`: commands after "$ " (a line that starts with "> " continues the command), each with its
  complete output, including errors. To shorten an output, use `head`, `cut` or `tail`;
- `console 2%`: the same with a tolerance for numbers, because a filter or model may round
  differently on another machine;
- `python`: run; with ">>>", checked as a doctest;
- a block with a file name after its language ("toml mine.toml") is written to that file;
- `bash` and other blocks are not run, for example because they need a download.

`python docs/make.py` updates the output on the pages. `tests/test_docs.py` also runs the commands,
and compares: words and numbers must be equal within the block's tolerance (`alike`).
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
"""The path that replaces the working folder's path on the pages."""

_BLOCK = re.compile(r"^```(\w+)(?: (\d+)%| (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRESS = re.compile(
    r"^((again, [\w ]+|filtering halves separately|\w+): [\d,]+( of [\d,]+)?"
    r"( (removed, phase|phase|run) \d.*)?"
    r"|(Fine-tuning|Indexing|Perturbing|Scoring|Selection|Solving|Training|Typesetting)"
    r"\b[^:\n]*: \d.*)\n",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)(?!\w)( ?%)?")
_ONCE = re.compile(r"^Compiling AFLite for this machine.*\n", re.MULTILINE)
"""A message that is printed only once per machine, and removed from the pages."""

LIMIT = 1800
"""Maximum seconds per command; a busy machine needs much longer than an idle one."""

PROGRAMS = Path(sys.executable).parent
"""The folder of the programs that are installed with Python."""

_VERSION = re.compile(r"version:[\w.+]+")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: the language after the opening fence.
        near: tolerance of its numbers, as a fraction.
        file: name of the file to which the block is written; None if it is run.
        body: the text, which extends from `start` to `end` on the page.
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
    r"""Yield each command of a console block, and its output on the page.

    >>> list(commands("$ echo a \\\n>   b\na b\n$ true\n"))
    [('echo a \\\n  b', 'a b\n'), ('true', '')]
    """
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *rest = part.splitlines(keepends=True)
        while rest and rest[0].startswith("> "):
            command += rest.pop(0)[2:]
        yield command.rstrip("\n"), "".join(rest)


def printed(command: str, folder: Path, programs: Path) -> str:
    """Return a command's output in a terminal of 80 columns, without progress lines."""
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
    r"""Remove the progress lines, which only slow machines print.

    >>> without_progress("filtering: 4 of 90 removed, phase 2, draw 5\nagain, perturbed: 7\nok")
    'ok'
    >>> without_progress("filtering: 9 of 40 run 1 of 20, 9 of them with permuted keys\n1 of 9: 2")
    '1 of 9: 2'
    >>> without_progress("Typesetting sheets: 8 of 12 b-1.html\nSheets in sheets\n")
    'Sheets in sheets\n'
    """
    return _PROGRESS.sub("", text)


def run_python(block: Block, names: dict[str, object], page: str) -> None:
    """Run a Python block; raise AssertionError if an example with ">>>" prints other text."""
    if ">>>" not in block.body:
        exec(compile(block.body, page, "exec"), names)  # noqa: S102
        return
    checks = doctest.DocTestParser().get_doctest(block.body, names, page, page, 0)
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(checks, out=failures.append, clear_globs=False)
    names.update(checks.globs)
    assert not failures, "".join(failures)  # noqa: S101


def run(
    text: str, folder: Path, page: str, programs: Path = PROGRAMS
) -> Iterator[tuple[Block, str]]:
    """Process a page in a folder; yield its console blocks with their current text.

    The folder contains the examples, like a clone. `programs` is the folder of `winosmith`.
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
    """Return whether two outputs have the same words, and equal or similar numbers.

    Args:
        expected: the output on the page.
        got: the current output.
        near: tolerance as a fraction. A count may differ by this fraction and 1, but 0 must stay 0.
            Percentages, and numbers below 1, may differ by this fraction of the whole; a number
            below 1 may at most double, because it may be a p-value.

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
    """Process a page in a folder, and update the output of its commands."""
    text = path.read_text("utf-8")
    for block, shown in reversed(list(run(text, folder, path.name))):
        text = text[: block.start] + _ONCE.sub("", shown) + text[block.end :]
    path.write_text(text, "utf-8")
