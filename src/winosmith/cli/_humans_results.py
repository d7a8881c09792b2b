"""`winosmith humans results`: tables by subject and by item, agreement, and a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from winosmith import report
from winosmith.answers import Response
from winosmith.cli._common import data_argument, format_option, json_option, print_json, read_data
from winosmith.cli._humans_results_page import counts_page, results_page
from winosmith.cli._humans_results_tables import print_counts, print_results
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError
from winosmith.humans import Subject, counts, read_subjects, results, tally_of_counts
from winosmith.outputs import write_aside
from winosmith.report import Signature, sign

__all__ = ["command"]

_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@data_argument()
@click.argument("responses", nargs=-1, type=_FILE)
@format_option
@click.option("--subjects", type=_FILE, metavar="FILE", help="What is known of the people: "
              "subjects.jsonl of `winosmith humans enter`, or a CSV.")  # fmt: skip
@click.option("--without", "weakest", type=click.IntRange(min=0), default=3, show_default=True,
              help="Lowest scores to leave out in the second reading.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Of bootstraps and permutations.")
@click.option("--out", metavar="FILE.html", help="Write a report with figures there.")
@json_option
def command(**options: Any) -> None:
    """Tell how people did on DATA, by their RESPONSES.

    Of each test: the share of intended answers with its interval, beside guessing; scores by
    subject; how many people got each item right; native speakers and others; all without the
    weakest; agreement (Fleiss' kappa, Krippendorff's alpha); badly built items, with what people
    read instead; answers of X; learning and fatigue over the sheet. Then both halves of the
    schemas, people who were oddly fast, texts recognised.

    RESPONSES are files of `winosmith humans enter`, or of the platform. Without any, the counts
    that DATA itself holds are used, as in the file of the PDP challenge of 2016.

    \b
    Example:
        winosmith humans results schemas.jsonl answers/responses.jsonl \\
            --subjects answers/subjects.jsonl --out results.html
        winosmith humans results PDPChallenge2016.xml
    """  # noqa: D301
    dataset = read_data(options["data"], options["format_name"])
    if not options["responses"]:
        _of_counts(dataset, options)
        return
    said = _responses(options["responses"])
    subjects = read_subjects(options["subjects"]) if options["subjects"] else ()
    found = results(
        dataset, said, subjects, weakest=options["weakest"], seed=options["seed"]
    )  # fmt: skip
    signature = _signature(dataset, said, subjects, options)
    if options["out"]:
        _write(options["out"], results_page(dataset, found, signature))
    if options["as_json"]:
        print_json({"data": dataset.name, **found.record(), "signature": str(signature)})
        return
    print_results(dataset, found)
    _close(signature, options["out"])


def _of_counts(dataset: Dataset, options: Mapping[str, Any]) -> None:
    """Tell what the counts in the file tell, and what they can't."""
    tally = tally_of_counts(dataset)
    if tally is None:
        raise InputError(f"{options['data']} holds no counts of people; name a file of responses")
    if options["subjects"]:
        raise InputError("--subjects goes with RESPONSES; counts do not tell who answered what")
    found = counts(dataset, tally)
    signature = sign(dataset, responses="counts")
    if options["out"]:
        _write(options["out"], counts_page(dataset, found, signature))
    if options["as_json"]:
        print_json({"data": dataset.name, **found.record(), "signature": str(signature)})
        return
    print_counts(dataset, found)
    _close(signature, options["out"])


def _responses(paths: Sequence[str]) -> tuple[Response, ...]:
    """Return the test responses of all files; one answered twice is named with both places."""
    from winosmith.validate import read_votes

    first: dict[tuple[str, str], str] = {}
    said: list[Response] = []
    for path in paths:
        for (line, place), response in zip(_places(path), read_votes(path), strict=False):
            if response.purpose != "test":
                continue
            who = response.participant, response.problem_id
            if who in first:
                raise FormatError(
                    f"{who[0]!r} already answered {who[1]!r} ({first[who]}); the sheet was "
                    "entered twice, or two subjects have one code",
                    path,
                    line,
                )
            first[who] = place
            said.append(response)
    return tuple(said)


def _places(path: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each response: every line that is not empty, but a CSV's header."""
    text = Path(path).read_text("utf-8-sig", errors="replace")  # the reader names what is wrong
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    is_json = text.lstrip().startswith("{")
    for line in lines[0 if is_json else 1 :]:
        yield line, f"{path}:{line}"


def _signature(
    dataset: Dataset,
    said: Sequence[Response],
    subjects: Sequence[Subject],
    options: Mapping[str, Any],
) -> Signature:
    people = len({response.participant for response in said})
    known = {"known": len(subjects)} if subjects else {}
    return sign(
        dataset,
        options["seed"],
        responses=len(said),
        subjects=people,
        **known,
        without=options["weakest"],
    )


def _write(path: str, page: str) -> None:
    with write_aside(path) as file:
        file.write(page)


def _close(signature: Signature, out: str | None) -> None:
    click.echo(f"Signature: {report.shown(str(signature))}")
    if out:
        click.secho(f"The report is {out}", bold=True)
