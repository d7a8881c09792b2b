"""The keyboard side of `winosmith humans enter`: shows a question, takes a key, saves."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from winosmith.errors import Interrupted
from winosmith.humans import Entry, Sheet, Sitting
from winosmith.report import shown

__all__ = ["type_answers"]

_SHORT = 58
"""Characters of a snippet that are shown."""


def type_answers(sheet: Sheet, subject: str, path: Path) -> Sitting:
    """Take the answers of a sheet from the keyboard, and return them when all are typed.

    Keys that are not typed at a terminal are read from the input, one character each; line ends
    mean nothing.

    Raises:
        Interrupted: Ctrl-C, Ctrl-D or the end of the input came before the last question; what
            was typed is in the file, and the same command goes on there.
        FormatError: the file holds something else.
    """
    entry = Entry.resume(path, sheet, subject)
    if entry.item is not None:
        _introduce(entry, path)
    try:
        with _keys() as keys:
            while entry.item is not None:
                entry = _typed(entry, next(keys), path)
    except (KeyboardInterrupt, StopIteration):
        click.echo("", err=True)
    if entry.item is not None:
        raise Interrupted(
            f"Question {entry.at} of {len(sheet)} is next; {path} has the answers so far, "
            "and the same command goes on"
        )
    click.echo(f"All {len(sheet)} questions of {subject} are in {path}.", err=True)
    return entry.sitting


def _introduce(entry: Entry, path: Path) -> None:
    sheet = entry.sitting.sheet
    what = "Going on with" if entry.at > 1 else "Typing"
    click.echo(
        f"{what} {entry.sitting.subject} on {sheet.code}, {len(sheet)} questions. A letter is an "
        "answer, X ambiguous,\nspace an empty one; backspace takes back; Ctrl-C stops and keeps "
        f"what is typed.\n({path})\n",
        err=True,
    )
    _ask(entry)


def _ask(entry: Entry) -> None:
    """Show the next question: enough to see that the eye is on the right line of the paper."""
    item = entry.item
    if item is None:
        return
    snippet = shown(" ".join("".join(item.snippet).split()))
    snippet = snippet if len(snippet) <= _SHORT else snippet[: _SHORT - 1] + "…"
    click.echo(f"{item.number:>4}  {snippet:<{_SHORT}} {'/'.join(item.letters)}: ", nl=False,
               err=True)  # fmt: skip


def _echo(before: Entry, after: Entry) -> None:
    if after.at < before.at:
        click.echo("(back)", err=True)
        return
    given = after.sitting.answers.get(before.at)
    click.echo(given.letter if given else "-", err=True)


def _typed(entry: Entry, key: str, path: Path) -> Entry:
    """Return the state after a key, saved; the same one after a key that means nothing here."""
    after = entry.press(key)
    if after is None:
        click.echo("\a", nl=False, err=True)
        return entry
    after.save(path)
    _echo(entry, after)
    _ask(after)
    return after


@contextmanager
def _keys() -> Iterator[Iterator[str]]:
    """Yield keys one by one until the end of the input.

    The terminal hands keys over one by one from the first question to the last: switched back and
    forth, as `click.getchar` does, it loses what a fast typist has typed ahead.
    """
    if not sys.stdin.isatty():
        yield (key for key in sys.stdin.read() if key not in "\r\n")
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows
        yield iter(click.getchar, "\x04")
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield _of_terminal(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _of_terminal(terminal: int) -> Iterator[str]:
    """Yield keys; those of several bytes (arrows, accents) are one key without a meaning."""
    import select

    while True:
        key = os.read(terminal, 1)
        if key in (b"", b"\x04"):
            return
        if key == b"\x1b" and select.select([terminal], [], [], 0.02)[0]:
            if os.read(terminal, 1) in b"[O":  # an arrow and its like: up to a letter or a tilde
                while not (last := os.read(terminal, 1)).isalpha() and last not in (b"~", b""):
                    pass
        elif key >= b"\x80":
            key = b"\x1b"
        yield key.decode("ascii")
