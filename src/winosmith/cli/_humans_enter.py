"""`winosmith humans enter`: type answers from paper, or read them from tables and forms."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from winosmith import humans
from winosmith.cli._options import FILE, json_option
from winosmith.cli._output import print_records
from winosmith.cli._printing import echo, print_json, ring, say
from winosmith.errors import DataError, FormatError, InputError, Interrupted
from winosmith.humans import Entry, Sheet, Sitting, Subject
from winosmith.outputs import write_aside
from winosmith.records import parse_json
from winosmith.report import shown
from winosmith.response import Response
from winosmith.text import number_of

_PATH = click.Path(exists=True)
AGAIN = "again-"
"""Prefix of the file of the second entry; that of the first one is "answers-"."""


@click.command("enter")
@click.argument("sheets", nargs=-1, required=True, type=_PATH, metavar="SHEETS...")
@click.option("--subject", metavar="CODE", help="Type this subject's answers from paper, one key "
              "each; SHEETS is one sheet.")  # fmt: skip
@click.option("--again", is_flag=True, help="Type them a second time, without seeing the first "
              "entry, and compare.")  # fmt: skip
@click.option("--answers", multiple=True, type=_PATH, metavar="FILE", help="Answers to read: a "
              "table (CSV), the file of a form, or a folder of them; may be repeated.")  # fmt: skip
@click.option("--subjects", type=FILE, metavar="FILE", help="Facts about the subjects: a CSV with "
              "subject, native, started, ended, recognised, words.")  # fmt: skip
@click.option("--out", default=".", show_default=True, type=click.Path(file_okay=False),
              metavar="DIR", help="Output folder.")  # fmt: skip
@json_option
def enter_answers(**options: Any) -> None:
    """Enter the answers of people on SHEETS.

    SHEETS are the JSON files of `winosmith humans sheets`, or their folder.

    With --subject, each answer is one key (A, B, …, X; space for an empty one; backspace undoes).
    Every key is saved: you can stop at any time, and the same command resumes. With --again, type
    the answers a second time; all differences are shown.

    With --answers, typed answers, tables and forms become responses.jsonl and subjects.jsonl in
    DIR, for `winosmith humans results`. If there is an error, nothing is written.

    \b
    Example:
        winosmith humans enter sheets/a-1.json --subject S1 --out typed
        winosmith humans enter sheets --answers typed --answers table.csv --out round
    """  # noqa: D301
    sheets = _sheets(options["sheets"])
    out = Path(options["out"])
    if options["subject"] and options["answers"]:
        raise InputError("--subject types answers and --answers reads them; give one of them")
    if options["subject"]:
        _type(sheets, out, options)
        return
    if not options["answers"]:
        raise InputError("give --subject CODE to type answers, or --answers FILE to read them")
    sittings = _read(options["answers"], sheets)
    humans.check_sittings(sittings)
    declared = humans.read_subjects(options["subjects"]) if options["subjects"] else ()
    subjects = humans.make_subjects(sittings, declared)
    responses = humans.make_responses(sittings)
    if not responses:
        raise DataError("there are no answers: every question was left empty")
    _write(out, responses, subjects)
    report: dict[str, Any] = {
        "subjects": len(subjects),
        "answers": len(responses),
        "sheets": [
            {
                "subject": sitting.subject,
                "sheet": sitting.sheet.code,
                "answers": len(sitting.answers),
                "ambiguous": sum(a.letter == "X" for a in sitting.answers.values()),
                "empty": len(sitting.sheet) - len(sitting.answers),
            }
            for sitting in sittings
        ],
    }
    if options["as_json"]:
        print_json(report)
        return
    print_records("Filled-in sheets", report["sheets"])
    people = number_of(len(subjects), "person", "people")
    echo(f"{number_of(len(responses), 'answer')} of {people}", bold=True)
    say(f"Wrote {out / 'responses.jsonl'} and {out / 'subjects.jsonl'}.")


def _sheets(paths: Iterable[str]) -> dict[str, Sheet]:
    """Return the sheets of files and folders, by code."""
    found: dict[str, Sheet] = {}
    for path in map(Path, paths):
        files = [path] if path.is_file() else sorted(path.glob("*.json"))
        files = [file for file in files if file == path or _is_kind(file, "sheet")]
        if not files:
            raise InputError(f"{path} has no sheet; `winosmith humans sheets` makes them")
        for file in files:
            sheet = humans.read_sheet(file)
            found[sheet.code] = sheet
    return found


def _is_kind(path: Path, kind: str) -> bool:
    """Return whether a JSON file is of a kind."""
    try:
        record = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("winosmith") == kind


def _read(paths: Iterable[str], sheets: Mapping[str, Sheet]) -> list[Sitting]:
    """Return the filled-in sheets of all files, and compare second entries with the first."""
    files = [file for path in paths for file in _files(Path(path))]
    second = [file for file in files if file.name.startswith(AGAIN)]
    sittings: list[Sitting] = []
    for file in files:
        if file.suffix != ".json":
            sittings += humans.read_answer_table(file, sheets)
        elif file not in second:
            sittings.append(humans.read_answer_form(file, sheets))
    for file in second:
        again = humans.read_answer_form(file, sheets)
        first = [
            s for s in sittings if (s.subject, s.sheet.code) == (again.subject, again.sheet.code)
        ]
        if not first:
            raise FormatError(f"there is no first entry of {again.subject!r} next to it", file)
        differences = humans.compare_entries(first[0], again)
        if differences:
            listed = "; ".join(map(str, differences))
            raise FormatError(
                f"the two entries of {again.subject!r} differ: {listed}. Look at the paper, and "
                "correct one of them",
                file,
            )
    return sittings


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    found = [
        file
        for file in sorted(path.iterdir())
        if file.suffix == ".csv"
        or (file.suffix == ".json" and (_is_kind(file, "answers") or _is_kind(file, "entry")))
    ]
    if not found:
        raise InputError(f"{path} has no answers: neither tables nor files of forms")
    yield from found


def _write(out: Path, responses: Sequence[Response], subjects: Sequence[Subject]) -> None:
    from winosmith.validate import write_votes

    out.mkdir(parents=True, exist_ok=True)
    write_votes(responses, out / "responses.jsonl")
    with write_aside(out / "subjects.jsonl") as file:
        file.writelines(
            json.dumps(humans.make_subject_record(subject), ensure_ascii=False) + "\n"
            for subject in subjects
        )


def _type(sheets: Mapping[str, Sheet], out: Path, options: Mapping[str, Any]) -> None:
    """Type one sheet of one subject; compare a second entry with the first."""
    if len(sheets) != 1:
        raise InputError(f"--subject types one sheet; {len(sheets)} were given")
    (sheet,) = sheets.values()
    subject = options["subject"].strip()
    if not subject or not all(c.isalnum() or c in "-_." for c in subject) or subject[0] == ".":
        raise InputError(f"the code {subject!r} must be letters, digits, '-', '_' and '.'")
    out.mkdir(parents=True, exist_ok=True)
    first = out / f"answers-{subject}-{sheet.code}.json"
    second = out / f"{AGAIN}{subject}-{sheet.code}.json"
    if options["again"] and not _is_kind(first, "answers"):
        raise InputError(f"{first} is missing or incomplete; finish the first entry")
    typed = type_answers(sheet, subject, second if options["again"] else first)
    report: dict[str, Any] = {
        "subject": subject,
        "sheet": sheet.code,
        "answers": len(typed.answers),
    }
    if options["again"]:
        differences = humans.compare_entries(
            humans.read_answer_form(first, {sheet.code: sheet}), typed
        )
        report["differences"] = [
            {"number": d.number, "first": d.first, "second": d.second} for d in differences
        ]
        for difference in differences if not options["as_json"] else ():
            echo(str(difference)[0].upper() + str(difference)[1:])
        if not options["as_json"]:
            echo(
                f"{len(differences)} of {len(sheet)} questions differ; look at the paper, and type "
                f"one of the files again" if differences else "Both entries are the same",
                bold=True,
            )  # fmt: skip
    if options["as_json"]:
        print_json(report)


_SHORT = 58
"""Number of characters of a snippet to show."""


def type_answers(sheet: Sheet, subject: str, path: Path) -> Sitting:
    """Read the answers of a sheet from the keyboard, and return them when all are typed.

    Without a terminal, each character of the input is a key, and newlines are ignored.

    Raises:
        Interrupted: Ctrl-C, Ctrl-D or the end of the input before the last question; the typed
            answers are in the file, and the same command resumes there.
        FormatError: the file has other contents.
    """
    entry = Entry.resume(path, sheet, subject)
    if entry.item is not None:
        _introduce(entry, path)
    try:
        with _keys() as keys:
            while entry.item is not None:
                entry = _typed(entry, next(keys), path)
    except (KeyboardInterrupt, StopIteration):
        echo("", err=True)
    if entry.item is not None:
        raise Interrupted(
            f"Question {entry.at} of {len(sheet)} is next; {path} has the answers so far, "
            "and the same command resumes"
        )
    echo(f"All {len(sheet)} questions of {subject} are in {path}.", err=True)
    return entry.sitting


def _introduce(entry: Entry, path: Path) -> None:
    sheet = entry.sitting.sheet
    verb = "Resuming" if entry.at > 1 else "Typing"
    echo(
        f"{verb} {entry.sitting.subject} on {sheet.code}, {len(sheet)} questions. A letter is an "
        "answer, X ambiguous,\nspace an empty one; backspace undoes; Ctrl-C stops and keeps the "
        f"answers.\n({path})\n",
        err=True,
    )
    _ask(entry)


def _ask(entry: Entry) -> None:
    """Show the start of the next question, to find its line on the paper."""
    item = entry.item
    if item is None:
        return
    snippet = shown(" ".join("".join(item.snippet).split()))
    snippet = snippet if len(snippet) <= _SHORT else snippet[: _SHORT - 1] + "…"
    echo(f"{item.number:>4}  {snippet:<{_SHORT}} {'/'.join(item.letters)}: ", nl=False,
               err=True)  # fmt: skip


def _echo(before: Entry, after: Entry) -> None:
    if after.at < before.at:
        echo("(back)", err=True)
        return
    given = after.sitting.answers.get(before.at)
    echo(given.letter if given else "-", err=True)


def _typed(entry: Entry, key: str, path: Path) -> Entry:
    """Return and save the state after a key; an invalid key changes nothing."""
    after = entry.press(key)
    if after is None:
        ring()
        return entry
    after.save(path)
    _echo(entry, after)
    _ask(after)
    return after


@contextmanager
def _keys() -> Iterator[Iterator[str]]:
    """Yield keys one by one until the end of the input.

    The terminal stays in this mode from the first question to the last: `click.getchar` switches
    for each key, which loses the keys of a fast typist.
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
    """Yield keys; a key of several bytes (arrows, accents) is one invalid key."""
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
