"""`winosmith humans enter`: answers are typed from paper, or read from tables and forms."""

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
from winosmith.cli._printing import echo, print_json, print_records, ring, say
from winosmith.errors import DataError, FormatError, InputError, Interrupted
from winosmith.humans import Entry, Sheet, Sitting, Subject
from winosmith.outputs import write_aside
from winosmith.records import parse_json
from winosmith.report import shown
from winosmith.response import Response
from winosmith.text import number_of

_PATH = click.Path(exists=True)
AGAIN = "again-"
"""What the file of the second typist begins with; the first one's begins with "answers-"."""


@click.command("enter")
@click.argument("sheets", nargs=-1, required=True, type=_PATH, metavar="SHEETS...")
@click.option("--subject", metavar="CODE", help="Type this subject's answers from paper, one key "
              "each; SHEETS is one sheet.")  # fmt: skip
@click.option("--again", is_flag=True, help="Type them a second time, without seeing the first, "
              "and compare.")  # fmt: skip
@click.option("--answers", multiple=True, type=_PATH, metavar="FILE", help="Read a table (CSV), "
              "the file of a form, or a folder of them; may be given again.")  # fmt: skip
@click.option("--subjects", type=FILE, metavar="FILE", help="What is known of the people: a CSV "
              "with subject, native, started, ended, recognised, words.")  # fmt: skip
@click.option("--out", default=".", show_default=True, type=click.Path(file_okay=False),
              metavar="DIR", help="Where the answers go.")  # fmt: skip
@json_option
def enter_answers(**options: Any) -> None:
    """Enter the answers that people gave on SHEETS.

    SHEETS are the JSON files of `winosmith humans sheets`, or the folder that holds them.

    With --subject, each answer is one key (A, B, …, X; space for an empty one; backspace takes
    back), saved as it is typed: stop at any time, and the same command continues. Typed a second
    time with --again, both are compared, and every difference is named.

    With --answers, typed answers, tables and forms become responses.jsonl and subjects.jsonl in
    DIR, for `winosmith humans results`; nothing is written while anything is wrong.

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
    subjects = humans.subjects_of(sittings, declared)
    responses = humans.responses_of(sittings)
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
    """Return the sheets of files and folders by their codes."""
    found: dict[str, Sheet] = {}
    for path in map(Path, paths):
        files = [path] if path.is_file() else [p for p in sorted(path.glob("*.json")) if _is(p)]
        if not files:
            raise InputError(f"{path} holds no sheet; `winosmith humans sheets` makes them")
        for file in files:
            sheet = humans.read_sheet(file)
            found[sheet.code] = sheet
    return found


def _is(path: Path, kind: str = "sheet") -> bool:
    """Return whether a JSON file says that it is one of that kind."""
    try:
        record = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("winosmith") == kind


def _read(paths: Iterable[str], sheets: Mapping[str, Sheet]) -> list[Sitting]:
    """Return the filled-in sheets of all files; second entries are compared with the first."""
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
            raise FormatError(f"there is no first entry of {again.subject!r} beside it", file)
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
        or (file.suffix == ".json" and (_is(file, "answers") or _is(file, "entry")))
    ]
    if not found:
        raise InputError(f"{path} holds no answers: neither tables nor files of forms")
    yield from found


def _write(out: Path, responses: Sequence[Response], subjects: Sequence[Subject]) -> None:
    from winosmith.validate import write_votes

    out.mkdir(parents=True, exist_ok=True)
    write_votes(responses, out / "responses.jsonl")
    with write_aside(out / "subjects.jsonl") as file:
        file.writelines(
            json.dumps(humans.subject_record(subject), ensure_ascii=False) + "\n"
            for subject in subjects
        )


def _type(sheets: Mapping[str, Sheet], out: Path, options: Mapping[str, Any]) -> None:
    """Type one sheet of one subject, and compare when it is the second time."""
    if len(sheets) != 1:
        raise InputError(f"--subject types one sheet; {len(sheets)} were given")
    (sheet,) = sheets.values()
    subject = options["subject"].strip()
    if not subject or not all(c.isalnum() or c in "-_." for c in subject) or subject[0] == ".":
        raise InputError(f"the code {subject!r} must be letters, digits, '-', '_' and '.'")
    out.mkdir(parents=True, exist_ok=True)
    first = out / f"answers-{subject}-{sheet.code}.json"
    second = out / f"{AGAIN}{subject}-{sheet.code}.json"
    if options["again"] and not _is(first, "answers"):
        raise InputError(f"{first} is not there or not complete; the first entry comes first")
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
"""Characters of a snippet that are shown."""


def type_answers(sheet: Sheet, subject: str, path: Path) -> Sitting:
    """Take the answers of a sheet from the keyboard, and return them when all are typed.

    Keys that are not typed at a terminal are read from the input, one character each; newlines
    mean nothing.

    Raises:
        Interrupted: Ctrl-C, Ctrl-D or the end of the input came before the last question; what
            was typed is in the file, and the same command continues there.
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
        echo("", err=True)
    if entry.item is not None:
        raise Interrupted(
            f"Question {entry.at} of {len(sheet)} is next; {path} has the answers so far, "
            "and the same command goes on"
        )
    echo(f"All {len(sheet)} questions of {subject} are in {path}.", err=True)
    return entry.sitting


def _introduce(entry: Entry, path: Path) -> None:
    sheet = entry.sitting.sheet
    what = "Going on with" if entry.at > 1 else "Typing"
    echo(
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
    echo(f"{item.number:>4}  {snippet:<{_SHORT}} {'/'.join(item.letters)}: ", nl=False,
               err=True)  # fmt: skip


def _echo(before: Entry, after: Entry) -> None:
    if after.at < before.at:
        echo("(back)", err=True)
        return
    given = after.sitting.answers.get(before.at)
    echo(given.letter if given else "-", err=True)


def _typed(entry: Entry, key: str, path: Path) -> Entry:
    """Return the state after a key, saved; the same one after a key that means nothing here."""
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
