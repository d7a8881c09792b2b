"""The keyboard side of `winosmith humans enter`: shows a question, takes a key, saves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from winosmith.errors import Interrupted
from winosmith.humans import SKIP, Entry, Sheet, Sitting
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
    for key in _keys(entry):
        after = entry.press(key)
        if after is None:
            click.echo("\a", nl=False, err=True)  # a key that means nothing here
            continue
        _echo(entry, after)
        entry = after
        entry.save(path)
        if entry.item is None:
            break
        _ask(entry)
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


def _keys(entry: Entry) -> Iterator[str]:
    """Yield keys until Ctrl-C, Ctrl-D or the end of the input."""
    if entry.item is None:
        return
    if not sys.stdin.isatty():
        for key in sys.stdin.read():
            if key not in "\r\n":
                yield key
        return
    while True:
        try:
            key = click.getchar()
        except (KeyboardInterrupt, EOFError):
            click.echo("", err=True)
            return
        if key and (len(key) == 1 or key == SKIP):
            yield key
