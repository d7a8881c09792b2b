"""`winosmith humans sheets`, `assign` and `enter`: test sheets, their subjects and answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from winosmith import humans
from winosmith.cli import _options
from winosmith.cli._output import print_records, print_table
from winosmith.cli._printing import echo, print_json_if_requested, progress, say
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError, InputError
from winosmith.humans import Sheet, Sitting
from winosmith.outputs import PRIVATE, OutputFolder, atomic_write
from winosmith.records import dump_json, parse_json
from winosmith.report import signature_of
from winosmith.text import format_count
from winosmith.validate import write_votes

_KEY_FILE = f"{PRIVATE}/key.csv"

_LISTED_REASONS = 5
"""Maximum number of omitted problems that are printed with a reason."""


@click.command("sheets")
@_options.data_argument()
@_options.format_option
@click.option("--out", required=True, type=click.Path(file_okay=False), metavar="DIR",
              help="Output folder for the sheets.")  # fmt: skip
@click.option("--versions", default="a,b", show_default=True, metavar="NAMES",
              help="Names of the tests, separated by commas; the two halves of a schema are in "
              "different tests.")  # fmt: skip
@_options.add_declared_options(humans.make_sheets, only=("orders", "title", "seed"))
@click.option("--large-print", is_flag=True, help="Also create each sheet in large print.")
@click.option("--form", "as_form", is_flag=True, help="Also create each sheet as a browser "
              "form.")  # fmt: skip
@click.option("--paper", type=click.Choice(["a4", "us-letter"]), default="a4", show_default=True,
              help="Paper size.")  # fmt: skip
@click.option("--no-pdf", is_flag=True, help="Skip the PDF files, for example if you need only "
              "forms.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite sheets of other data in DIR.")
@_options.json_option
def make_test_sheets(**options: Any) -> None:
    """Make test sheets from the problems in DATA.

    One half of each schema goes to test a and the other to test b, at random. Problems without
    another half form a common test, or are in both tests if there are fewer than ten. For each test
    and each order, DIR contains a PDF to print and a JSON file for `winosmith humans enter`. The
    answer key is only in DIR/private.

    \b
    Example:
        winosmith humans sheets schemas.jsonl --out sheets --orders 4 --form
    """  # noqa: D301
    dataset = _options.read_data(options["data"])
    made = humans.make_sheets(
        dataset,
        versions=[name.strip() for name in options["versions"].split(",")],
        orders=options["orders"],
        seed=options["seed"],
        title=options["title"],
    )
    if options["no_pdf"] and options["large_print"]:
        raise InputError("--no-pdf can't be combined with --large-print, which makes PDFs")
    # A brute-force search of the digest of the answers would reveal the answers of a short test.
    signature = signature_of(
        dataset.blind(), options["seed"], versions=options["versions"], orders=options["orders"]
    )
    folder = OutputFolder.open(
        Path(options["out"]),
        {
            "command": "humans sheets",
            "signature": str(signature),
            "title": made.sheets[0].title,
            "paper": options["paper"],
        },
        secret={"answers": dataset.digest},
        force=options["force"],
    )
    with folder.discard_on_error():
        files = _write_sheets(folder, dataset, made.sheets, options)
    report = {
        "data": options["data"],
        "sheets": [
            {
                **{name: getattr(sheet, name) for name in ("name", "code", "test", "order")},
                "questions": len(sheet),
                "same_text": _count_items_by_label(sheet, "SAME"),
                "different": _count_items_by_label(sheet, "TEXT IS DIFFERENT"),
            }
            for sheet in made.sheets
        ],
        "files": [*files[1:], files[0]],
        "left_out": [{"id": d.problem.id, "reason": d.reason} for d in made.omitted],
        "signature": str(signature),
    }
    if print_json_if_requested(report):
        return
    names = ("name", "code", "questions", "same_text", "different")
    print_records(f"Sheets in {folder.path}", report["sheets"], names)
    _print_omitted_problems(made.omitted)
    echo(report["signature"])
    prints = "The sheets are in" if options["no_pdf"] else "Print"
    where = folder.path if options["no_pdf"] else folder.path / "*.pdf"
    say(f"{prints} {where}. The answer key is {folder.path / _KEY_FILE}: keep it private.")


def _write_sheets(
    folder: OutputFolder,
    dataset: Dataset,
    sheets: Sequence[Sheet],
    options: Mapping[str, Any],
) -> list[str]:
    """Write the sheets and the answer key, except finished files, and return the files' names."""
    printed = partial(humans.render_pdf, paper=options["paper"])
    files: dict[str, Callable[[], str | bytes]] = {
        _KEY_FILE: partial(humans.format_answer_key, dataset, sheets)
    }
    for sheet in sheets:
        files[f"{sheet.name}.json"] = partial(format_sheet, sheet)
        if not options["no_pdf"]:
            files[f"{sheet.name}.pdf"] = partial(printed, sheet)
        if options["large_print"]:
            files[f"{sheet.name}-large.pdf"] = partial(printed, sheet, large=True)
        if options["as_form"]:
            files[f"{sheet.name}.html"] = partial(humans.render_form, sheet)
    with progress("Typesetting sheets", len(files)) as advance:
        # PDFs first: if the fonts lack a character, no folder is left.
        for done, name in enumerate(sorted(files, key=lambda name: not name.endswith(".pdf"))):
            advance(done, name)
            if not folder.is_finished(name):
                content = files[name]()
                with folder.write(name, "wb" if isinstance(content, bytes) else "w") as file:
                    file.write(content)
    return [*files]


def format_sheet(sheet: Sheet) -> str:
    return dump_json(humans.make_sheet_record(sheet)) + "\n"


def _count_items_by_label(sheet: Sheet, prefix: str) -> int:
    return sum((item.label or "").startswith(prefix) for item in sheet.items)


def _print_omitted_problems(omitted: Sequence[Dropped]) -> None:
    for left in omitted[:_LISTED_REASONS]:
        echo(f"Not on a sheet: {left.problem.id}: {left.reason}")
    if len(omitted) > _LISTED_REASONS:
        echo(f"Not on a sheet: {len(omitted) - _LISTED_REASONS:,} more; see --json")


LEDGER = "ledger.json"


@click.command("assign")
@click.argument("folder", metavar="DIR", type=_options.FOLDER)
@click.argument("subjects", nargs=-1, metavar="SUBJECT...")
@click.option("--test", metavar="NAME", help="Give only sheets of this test (for example, a).")
@click.option("--another", "new_sheet", is_flag=True, help="Give another sheet to subjects who "
              "have finished theirs.")  # fmt: skip
@click.option("--dropped", is_flag=True, help="Record that the subjects abandoned their sheets, "
              "which then count as seen but not as taken.")  # fmt: skip
@click.option("--ledger", "ledger_file", type=click.Path(dir_okay=False), metavar="FILE",
              help=f"Ledger that lists the sheets of all sessions; by default "
              f"DIR/{LEDGER}.")  # fmt: skip
@_options.seed_option("Random seed for breaking ties.")
@_options.json_option
def assign_sheets(
    folder: str,
    subjects: tuple[str, ...],
    dropped: bool,
    ledger_file: str | None,
    **criteria: Any,
) -> None:
    """Give each SUBJECT a sheet from DIR, a folder that `winosmith humans sheets` made.

    SUBJECT is a code, never a name. No subject gets a sheet with the other half, a look-alike or
    the text of an item that they have seen, even if they abandoned that sheet. All tests and orders
    are given equally often. A subject with a sheet gets the same sheet again; with --another, a
    different one. Without a SUBJECT, the ledger is shown.

    Use the same --ledger FILE for all sessions and data sets with these people.

    \b
    Example:
        winosmith humans assign sheets S01 S02 S03
        winosmith humans assign sheets S02 --another
    """  # noqa: D301
    if dropped and (criteria["new_sheet"] or criteria["test"]):
        raise click.UsageError("--dropped can't be combined with --another or --test")
    path = Path(ledger_file or Path(folder) / LEDGER)
    sheets = list(read_sheets([folder]).values())
    given: list[tuple[str, Sheet]] = []
    with humans.lock_ledger(path):
        ledger = humans.read_ledger(path)
        if dropped:
            for subject in subjects:
                if not any(each.state == "given" for each in ledger.get_assignments(subject)):
                    raise InputError(f"{subject} has no sheet to abandon")
                ledger = ledger.with_state(subject, "dropped")
        else:
            twice = [subject for subject, count in Counter(subjects).items() if count > 1]
            if twice:
                raise InputError(
                    f"the subject {twice[0]!r} is listed twice; use one code per person"
                )
            for subject in subjects:  # if this fails for one of them, no sheet is assigned
                ledger, sheet = humans.assign(ledger, sheets, subject, **criteria)
                given.append((subject, sheet))
        if subjects:
            humans.write_ledger(ledger, path)
    report: dict[str, Any] = {
        "given": [{"subject": s, "sheet": sheet.code, "name": sheet.name} for s, sheet in given],
        "takers": {sheet.code: ledger.count_takers(sheet.code) for sheet in sheets},
        "ledger": [asdict(each) for each in ledger.assignments],
    }
    if not print_json_if_requested(report):
        if given:
            rows = []
            for subject, sheet in given:
                files = [f"{folder}/{sheet.name}{end}" for end in (".pdf", ".html", ".json")]
                handout = next((file for file in files if Path(file).exists()), files[0])
                rows.append((subject, sheet.code, handout))
            print_table("Given", ("subject", "sheet", "hand out"), rows)
        else:
            print_records("Ledger", report["ledger"])
        print_table("Taken", ("sheet", "takers"), report["takers"].items())
    if subjects:
        say(f"Wrote {path}.")


_PATH = click.Path(exists=True)


@click.command("enter")
@click.argument("sheets", nargs=-1, required=True, type=_PATH, metavar="SHEETS...")
@click.option("--answers", multiple=True, required=True, type=_PATH, metavar="FILE",
              help="Answers to read: a CSV table, a file that a form saved, or a folder of these; "
              "may be repeated.")  # fmt: skip
@click.option("--subjects", type=_options.FILE, metavar="FILE", help="Data about the subjects: a "
              "CSV table with the columns subject, native, started, ended, recognised and "
              "words.")  # fmt: skip
@click.option("--out", default=".", show_default=True, type=click.Path(file_okay=False),
              metavar="DIR", help="Output folder.")  # fmt: skip
@_options.json_option
def enter_answers(**options: Any) -> None:
    """Enter the answers that people gave on SHEETS.

    SHEETS are the JSON files from `winosmith humans sheets`, or their folder.

    Tables and forms are converted to responses.jsonl and subjects.jsonl in DIR, for `winosmith
    humans results`. If there is an error, nothing is written.

    \b
    Example:
        winosmith humans enter sheets --answers saved --answers table.csv --out round
    """  # noqa: D301
    sheets = read_sheets(options["sheets"])
    out = Path(options["out"])
    sittings = read_sittings(options["answers"], sheets)
    humans.check_sittings(sittings)
    declared = humans.read_subjects(options["subjects"]) if options["subjects"] else ()
    subjects = humans.make_subjects(sittings, declared)
    responses = humans.make_responses(sittings)
    if not responses:
        raise DataError("there are no answers: every question was left empty")
    write_votes(responses, out / "responses.jsonl")
    with atomic_write(out / "subjects.jsonl") as file:
        records = map(humans.make_subject_record, subjects)
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
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
    if print_json_if_requested(report):
        return
    print_records("Filled-in sheets", report["sheets"])
    people = format_count(len(subjects), "person", "people")
    echo(f"{format_count(len(responses), 'answer')} of {people}", bold=True)
    say(f"Wrote {out / 'responses.jsonl'} and {out / 'subjects.jsonl'}.")


def read_sheets(paths: Iterable[str]) -> dict[str, Sheet]:
    found: dict[str, Sheet] = {}
    for path in map(Path, paths):
        files = [path] if path.is_file() else sorted(path.glob("*.json"))
        files = [file for file in files if file == path or _is_record(file, "sheet")]
        if not files:
            raise InputError(f"{path} has no sheets; make them with: winosmith humans sheets DATA")
        for file in files:
            sheet = humans.read_sheet(file)
            found[sheet.code] = sheet
    return found


def _is_record(path: Path, kind: str) -> bool:
    try:
        record = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("winosmith") == kind


def read_sittings(paths: Iterable[str], sheets: Mapping[str, Sheet]) -> list[Sitting]:
    files: list[Path] = []
    for path in map(Path, paths):
        found = [path] if path.is_file() else list(filter(_is_answer_file, sorted(path.iterdir())))
        if not found:
            raise InputError(
                f"{path} contains no answers (neither tables nor files saved from forms)"
            )
        files += found
    sittings: list[Sitting] = []
    for file in files:
        if file.suffix != ".json":
            sittings += humans.read_answer_table(file, sheets)
        else:
            sittings.append(humans.read_answer_form(file, sheets))
    return sittings


def _is_answer_file(file: Path) -> bool:
    return file.suffix == ".csv" or (file.suffix == ".json" and _is_record(file, "answers"))
