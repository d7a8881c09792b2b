"""`winosmith humans sheets` and `assign`: make test sheets, and give them to subjects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from winosmith import humans
from winosmith.cli import _options
from winosmith.cli._declared import declared_options
from winosmith.cli._output import print_records, print_table
from winosmith.cli._printing import echo, print_json, progress, say
from winosmith.dataset import Dropped
from winosmith.errors import InputError
from winosmith.humans import Declared, Ledger, Sheet
from winosmith.outputs import MANIFEST, PRIVATE, OutputFolder, sha256
from winosmith.records import canonical
from winosmith.report import sign

_ENDINGS = (".ttf", ".otf", ".ttc", ".otc")

_REASONS = 5
"""Number of reasons that are printed for omitted problems."""


@click.command("sheets")
@_options.data_argument()
@_options.format_option
@click.option("--out", required=True, type=click.Path(file_okay=False), metavar="DIR",
              help="Folder for the sheets.")  # fmt: skip
@click.option("--versions", default="a,b", show_default=True, metavar="NAMES",
              help="Names of the tests; the halves of each schema are in different "
              "ones.")  # fmt: skip
@declared_options(humans.make_sheets, only=("orders", "title", "seed"))
@click.option("--large-print", is_flag=True, help="Also make each sheet in large print.")
@click.option("--form", "as_form", is_flag=True, help="Also make each sheet as a form for a "
              "browser.")  # fmt: skip
@click.option("--subjects", type=_options.FILE, metavar="FILE",
              help="Codes of subjects, one per line: give each a sheet, with the code printed on "
              "it.")  # fmt: skip
@click.option("--ask", multiple=True, metavar="NAME=QUESTION", help="Optional further "
              "question at the end; may be repeated.")  # fmt: skip
@click.option("--paper", type=click.Choice(["a4", "us-letter"]), default="a4", show_default=True,
              help="Size of the paper.")  # fmt: skip
@click.option("--fonts", type=_options.FOLDER, metavar="DIR",
              help="Folder of fonts, for scripts without a font on this machine.")  # fmt: skip
@click.option("--no-pdf", is_flag=True, help="Make no PDFs, such as only forms with --form.")
@click.option("--force", is_flag=True, help="Replace the sheets of other data in DIR.")
@_options.json_option
def print_sheets(**options: Any) -> None:
    """Make test sheets of the problems of DATA.

    One half of each schema goes to test a and the other to test b, at random. Questions without
    another half make a common test, or are in both if they are fewer than ten. For each test and
    each order, DIR has a PDF to print and a JSON file for `winosmith humans enter`. The answer key
    is only in DIR/private.

    \b
    Example:
        winosmith humans sheets schemas.jsonl --out sheets --orders 4 --form
    """  # noqa: D301
    dataset = _options.read_data(options["data"], options["format_name"])
    made = humans.make_sheets(
        dataset,
        versions=[name.strip() for name in options["versions"].split(",")],
        orders=options["orders"],
        seed=options["seed"],
        title=options["title"],
    )
    declared = (*humans.DECLARED, *map(_options.parse_question, options["ask"]))
    if options["no_pdf"] and (options["large_print"] or options["subjects"]):
        raise InputError(
            "--no-pdf prints nothing, neither large (--large-print) nor a copy for each subject "
            "(--subjects); give sheets out with: winosmith humans assign"
        )
    for sheet in () if options["no_pdf"] else made.sheets:
        humans.check_glyphs(sheet, declared=declared, fonts=options["fonts"])
    codes = read_subjects_file(options["subjects"]) if options["subjects"] else []
    # The digest of the data with its answers would reveal the answers of a short test to a search.
    signature = sign(
        dataset.blind(), options["seed"], versions=options["versions"], orders=options["orders"]
    )
    folder = OutputFolder.open(
        Path(options["out"]),
        {
            "command": "humans sheets",
            "signature": str(signature),
            "title": options["title"],
            "paper": options["paper"],
            **({"fonts": _fonts(options["fonts"])} if options["fonts"] else {}),
            "asked": [each.asked for each in declared],
        },
        secret={"answers": dataset.digest},
        force=options["force"],
    )
    with folder.discard_on_error():
        key = (f"{PRIVATE}/key.csv", partial(humans.format_answer_key, dataset, made.sheets))
        files = _write(folder, [key, *_files(made.sheets, declared, options)])
        copies = _copies(folder, made.sheets, codes, declared, options)
    report = {
        "data": options["data"],
        "sheets": [
            {
                **{name: getattr(sheet, name) for name in ("name", "code", "test", "order")},
                "questions": len(sheet),
                "same_text": _count_labels(sheet, "SAME"),
                "different": _count_labels(sheet, "TEXT IS DIFFERENT"),
            }
            for sheet in made.sheets
        ],
        "files": [*files[1:], files[0]],
        "subjects": list(copies),
        "left_out": [{"id": d.problem.id, "reason": d.reason} for d in made.left_out],
        "signature": str(signature),
    }
    if options["as_json"]:
        print_json(report)
        return
    names = ("name", "code", "questions", "same_text", "different")
    print_records(f"Sheets in {folder.path}", report["sheets"], names)
    print_records("Given", report["subjects"])
    print_left_out(made.left_out)
    echo(report["signature"])
    prints = "The sheets are in" if options["no_pdf"] else "Print"
    where = folder.path if options["no_pdf"] else folder.path / "*.pdf"
    key_file = folder.path / PRIVATE / "key.csv"
    say(f"{prints} {where}. The answer key is {key_file}: keep it private.")


def _fonts(folder: str) -> dict[str, str]:
    """Return the fonts of a folder, each with its digest: other fonts make other sheets."""
    held = (path for path in sorted(Path(folder).rglob("*")) if path.suffix.lower() in _ENDINGS)
    return {path.relative_to(folder).as_posix(): sha256(path) for path in held}


def _files(
    sheets: Sequence[Sheet], declared: Sequence[Declared], options: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the name of each file, and what returns its content."""
    for sheet in sheets:
        yield (
            f"{sheet.name}.json",
            lambda sheet=sheet: canonical(humans.make_sheet_record(sheet)) + "\n",
        )
        printed = partial(
            humans.pdf, sheet, paper=options["paper"], declared=declared, fonts=options["fonts"]
        )
        if not options["no_pdf"]:
            yield f"{sheet.name}.pdf", printed
        if options["large_print"]:
            yield f"{sheet.name}-large.pdf", partial(printed, large=True)
        if options["as_form"]:
            yield f"{sheet.name}.html", partial(humans.form, sheet, declared=declared)


def _write(folder: OutputFolder, files: Sequence[tuple[str, Any]]) -> list[str]:
    """Write what is not there yet; returns the names of all."""
    with progress("Setting sheets", len(files)) as advance:
        for done, (name, make) in enumerate(files):
            advance(done, name)
            if not folder.finished(name):
                content = make()
                with folder.write(name, "wb" if isinstance(content, bytes) else "w") as file:
                    file.write(content)
    return [name for name, _ in files]


def _copies(
    folder: OutputFolder,
    sheets: Sequence[Sheet],
    codes: Sequence[str],
    declared: Sequence[Declared],
    options: Mapping[str, Any],
) -> list[dict[str, str]]:
    """Give each subject a sheet, and print it with the code on it."""
    if not codes:
        return []
    path = folder.path / LEDGER
    with humans.ledger_held(path):
        ledger, given = enrol(humans.read_ledger(path), sheets, codes, seed=options["seed"])
        humans.write_ledger(ledger, path)
    printed = partial(humans.pdf, declared=declared, paper=options["paper"], fonts=options["fonts"])
    _write(
        folder,
        [
            (f"subjects/{subject}-{sheet.name}.pdf", partial(printed, sheet, subject=subject))
            for subject, sheet in given
        ],
    )
    return [
        {"subject": s, "sheet": sheet.code, "file": f"subjects/{s}-{sheet.name}.pdf"}
        for s, sheet in given
    ]


def _count_labels(sheet: Sheet, start: str) -> int:
    return sum((item.label or "").startswith(start) for item in sheet.items)


def print_left_out(left_out: Sequence[Dropped]) -> None:
    """Print some of the problems on no sheet, each with the reason."""
    for left in left_out[:_REASONS]:
        echo(f"On no sheet: {left.problem.id}: {left.reason}")
    if len(left_out) > _REASONS:
        echo(f"On no sheet: {len(left_out) - _REASONS:,} more; see --json")


LEDGER = "ledger.json"
"""The default ledger, in the folder of the sheets."""


@click.command("assign")
@click.argument("folder", metavar="DIR", type=_options.FOLDER)
@click.argument("subjects", nargs=-1, metavar="SUBJECT...")
@click.option("--test", metavar="NAME", help="Give a sheet of this test, such as a, or none.")
@click.option("--another", is_flag=True, help="Give a further sheet to subjects who are done with "
              "theirs.")  # fmt: skip
@click.option("--dropped", is_flag=True, help="Record that they gave up their sheet: it no longer "
              "counts as taken, but they have seen it.")  # fmt: skip
@click.option("--ledger", "ledger_file", type=click.Path(dir_okay=False), metavar="FILE",
              help=f"Ledger of the sheets of all sessions; by default DIR/{LEDGER}.")  # fmt: skip
@_options.seed_option("Random seed of ties.")
@_options.json_option
def assign_sheets(
    folder: str,
    subjects: tuple[str, ...],
    dropped: bool,
    ledger_file: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Give each SUBJECT a sheet of DIR, a folder of `winosmith humans sheets`.

    SUBJECT is a code, never a name. No subject gets a sheet with another half, a look-alike or a
    text of the items on their earlier sheets in the ledger, given up or not. All tests and orders
    are given equally often. A subject with a sheet gets the same one again; --another gives a
    further one. Without a SUBJECT, the ledger is shown.

    Use one --ledger FILE for all sessions and data sets with the same people.

    \b
    Example:
        winosmith humans assign sheets S01 S02 S03
        winosmith humans assign sheets S02 --another
    """  # noqa: D301
    if dropped and (how["another"] or how["test"]):
        raise click.UsageError("--dropped goes with neither --another nor --test")
    path = Path(ledger_file or Path(folder) / LEDGER)
    sheets = sheets_of(folder)
    given: list[tuple[str, Sheet]] = []
    with humans.ledger_held(path):
        ledger = humans.read_ledger(path)
        if dropped:
            ledger = _given_up(ledger, subjects)
        else:
            ledger, given = enrol(ledger, sheets, subjects, **how)
        if subjects:
            humans.write_ledger(ledger, path)
    report = {
        "given": [{"subject": s, "sheet": sheet.code, "name": sheet.name} for s, sheet in given],
        "takers": {sheet.code: ledger.takers(sheet.code) for sheet in sheets},
        "ledger": [
            {"subject": each.subject, "sheet": each.sheet, "state": each.state}
            for each in ledger.given
        ],
    }
    if as_json:
        print_json(report)
    else:
        _print_ledger(report, folder)
    if subjects:
        say(f"Wrote {path}.")


def enrol(
    ledger: Ledger, sheets: Sequence[Sheet], subjects: Sequence[str], **how: Any
) -> tuple[Ledger, list[tuple[str, Sheet]]]:
    """Give each subject a sheet; all of them get one, or nobody does."""
    twice = [subject for subject, count in Counter(subjects).items() if count > 1]
    if twice:
        raise InputError(f"the subject {twice[0]!r} is named twice; each code is one person's")
    given = []
    for subject in subjects:
        ledger, sheet = humans.assign(ledger, sheets, subject, **how)
        given.append((subject, sheet))
    return ledger, given


def _given_up(ledger: Ledger, subjects: Sequence[str]) -> Ledger:
    for subject in subjects:
        if not any(given.state == "given" for given in ledger.of(subject)):
            raise InputError(f"{subject} has no sheet out that could be given up")
        ledger = ledger.marked(subject, "dropped")
    return ledger


def sheets_of(folder: str | Path) -> list[Sheet]:
    """Read the sheets of a folder of `winosmith humans sheets`.

    Raises:
        InputError: there are none.
    """
    names = sorted(path for path in Path(folder).glob("*-*.json") if path.name != MANIFEST)
    if not names:
        raise InputError(f"{folder} has no sheets; make them with: winosmith humans sheets DATA")
    return [humans.read_sheet(path) for path in names]


def read_subjects_file(path: str | Path) -> list[str]:
    """Read codes of subjects, one per line; empty lines and comments (#) are skipped."""
    lines = Path(path).read_text("utf-8").splitlines()
    return [code for line in lines if (code := line.partition("#")[0].strip())]


def _file(folder: str, name: str) -> str:
    """Return the file to hand out: the PDF, or the form without one."""
    found = [f"{folder}/{name}{end}" for end in (".pdf", ".html", ".json")]
    return next((file for file in found if Path(file).exists()), found[0])


def _print_ledger(report: dict[str, Any], folder: str) -> None:
    if report["given"]:
        rows = [
            (each["subject"], each["sheet"], _file(folder, each["name"]))
            for each in report["given"]
        ]
        print_table("Given", ("subject", "sheet", "hand out"), rows)
    else:
        print_records("Ledger", report["ledger"])
    print_table("Taken", ("sheet", "takers"), list(report["takers"].items()))
