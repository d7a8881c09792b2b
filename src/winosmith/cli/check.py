"""`winosmith check`: validate twins by their structure and by votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from winosmith import formats, report, validate
from winosmith.cli import _options
from winosmith.cli._declared import declared_options
from winosmith.cli._printing import Output, Rows, fail_gate, say
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError
from winosmith.metrics import HumanAccuracy, copies, human_accuracy
from winosmith.outputs import OutputFolder
from winosmith.records import canonical, problem_record
from winosmith.report import fixed, percent, shown
from winosmith.response import Response
from winosmith.text import number_of
from winosmith.validate import Checked, Examined, Finding, StructureRules, VoteRules, unvalidated

SWITCHES = {
    "length": "length",
    "overlap": "overlap",
    "edit": "edit",
    "anchor": "anchor",
    "function-word": "content_anchor",
    "options": "options_in_sentence",
    "same-options": "same_options",
    "flipped": "flipped",
    "domain": "domain",
    "same-gender": "same_gender",
}
"""What `--skip` takes, and the field of `StructureRules` that it switches off."""

OF_STRUCTURE = ("rules", "length", "overlap", "edit", "complete")
"""The options that are fields of `StructureRules`."""

_LISTED_PARENTS = 3
"""Number of missing parents to list."""


@click.command()
@_options.data_argument()
@_options.format_option
@click.option("--votes", "votes_path", type=_options.FILE, metavar="FILE", help="Votes of the "
              "judges, as CSV or JSON Lines.")  # fmt: skip
@declared_options(StructureRules, only=OF_STRUCTURE)
@click.option(
    "--skip",
    type=click.Choice(list(SWITCHES)),
    multiple=True,
    metavar="RULE",
    help=f"Omit a rule ({', '.join(SWITCHES)}); may be repeated.",
)
@declared_options(VoteRules)
@click.option("--examples", type=click.IntRange(min=0), default=3, show_default=True,
              help="Number of examples to show for each broken rule.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR", help="Write kept.jsonl, "
              "dropped.jsonl and report.html to this folder.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace what another check wrote to DIR.")
@click.option("--strict", is_flag=True, help="End with code 1 when a problem is dropped.")
@_options.json_option
def command(
    data: str,
    format_name: str | None,
    votes_path: str | None,
    skip: tuple[str, ...],
    examples: int,
    out: str | None,
    force: bool,
    strict: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    """Validate twins: their structure, and the votes of judges if there are any.

    Prints the rules that were used and why, the number of problems that each stage kept, the broken
    rules with examples, and the votes that did not count. A rule that lacks its input (no anchor, a
    withheld answer, words without spaces between them) is not checked, and never fails. Generated
    problems that enough judges find valid lose the mark `evolve.unvalidated` in kept.jsonl.

    \b
    Example:
        winosmith check twins.jsonl --votes votes.csv --out checked
    """  # noqa: D301
    structure, votes = _rules(skip, rules)
    dataset = _options.read_data(data, format_name)
    _warn_of_missing_parents(dataset, data)
    if advice := _options.unmarked_twins(dataset)[1]:
        say(f"{advice}.")
    responses = validate.read_votes(votes_path) if votes_path else None
    checked = validate.check(dataset, responses, structure, votes)
    result = Output(
        f"{dataset.name}: checked",
        check_record(data, checked, responses, examples),
        list(_sections(data, checked, responses, examples)),
        signature=checked.signature,
        apart=True,
    )
    if out:
        _write(checked, result, out, force)
    dropped = len(checked.result.dropped) if strict else 0
    result.show(as_json=as_json, out=None)
    if dropped:
        fail_gate([f"{number_of(dropped, 'problem')} dropped"])


def _rules(skip: tuple[str, ...], rules: dict[str, Any]) -> tuple[StructureRules, VoteRules]:
    """Return the rules that the options set."""
    of_structure = {name: rules.pop(name) for name in OF_STRUCTURE}
    of_structure.update((SWITCHES[name], False) for name in skip)
    return StructureRules(**of_structure), VoteRules(**rules)


def _warn_of_missing_parents(dataset: Dataset, path: str) -> None:
    """Print the parents and roots of perturbed problems that the file lacks."""
    ids = set(dataset.ids)
    needed = {
        ancestor: problem.id
        for problem in dataset
        if problem.lineage
        for ancestor in (problem.lineage.root, problem.lineage.parent)
    }
    gone = [f"{ancestor!r} of {of!r}" for ancestor, of in needed.items() if ancestor not in ids]
    if gone:
        say(
            f"Not in {path}: the parent or root {report.joined(gone, _LISTED_PARENTS)}; "
            "lineages are not checked there."
        )


def _write(checked: Checked, result: Output, out: str, force: bool) -> None:
    """Write what was kept and what was dropped, as JSON Lines, and the report."""
    folder = OutputFolder.open(
        Path(out), {"command": "check", "signature": str(checked.signature)}, force=force
    )
    with folder.write("kept.jsonl") as file:
        file.writelines(formats.lines(checked.kept))
    with folder.write("dropped.jsonl") as file:
        file.writelines(canonical(_dropped(entry)) + "\n" for entry in checked.result.dropped)
    with folder.write("report.html") as file:
        file.write(result.page())
    say(f"Wrote kept.jsonl, dropped.jsonl and report.html in {folder.path}.")


def _dropped(entry: Dropped) -> dict[str, Any]:
    return {
        "stage": entry.stage,
        "reason": entry.reason,
        "row": entry.row,
        "problem": problem_record(entry.problem),
    }


def check_record(
    data: str, checked: Checked, responses: Sequence[Response] | None, examples: int
) -> dict[str, Any]:
    """Return the report as JSON can hold it."""
    people = _people(checked, responses or ())
    return {
        "data": data,
        "rules_used": checked.applied.record(),
        "funnel": checked.funnel.record(),
        "rules": [
            {
                "stage": stage.stage,
                "rule": rule,
                "checked": count,
                "not_checked": len(stage.dataset) - count,
                "broken": len(stage.failed(rule)),
                "examples": [
                    {"ids": list(_ids(stage, found)), "detail": found.detail}
                    for found in _examples(stage, rule, examples)
                ],
            }
            for stage, rule, count in _counted_rules(checked)
        ],
        **copies(checked.stages[0].dataset).record(),
        "set_aside": _set_aside(checked),
        "unvalidated": {
            "collected": unvalidated(checked.stages[0].dataset),
            "kept": unvalidated(checked.kept),
        },
        "human_accuracy": asdict(people) if isinstance(people, HumanAccuracy) else None,
        "signature": str(checked.signature),
    }


def _sections(
    data: str, checked: Checked, responses: Sequence[Response] | None, examples: int
) -> Iterator[report.Section]:
    """Yield the report; it begins with which rules were used, and why."""
    lines = list(checked.applied.lines)
    asked = sum(problem.blank is None for problem in checked.stages[0].dataset)
    if asked:
        lines.append(
            f"Questions: {asked:,}, which have no blank, so that their length and whether they "
            "hold the options is not checked; winosmith audit finds what gives answers away"
        )
    yield report.Section("Rules used", [report.Text(lines)])
    yield report.Section("Problems kept", _funnel(checked))
    broken = list(_examples_of_rules(data, checked, examples))
    if broken:
        yield report.Section("Examples", [report.Text(broken, "warning")])
    if responses is not None:
        yield report.Section("People", list(_responses(checked, responses)))
    rest = [*_unvalidated(checked), *map(shown, copies(checked.stages[0].dataset).sentences())]
    if rest:
        yield report.Section("Notes", [report.Text(rest)])


def _funnel(checked: Checked) -> list[report.Block]:
    """Return how many each stage kept, and what each rule found."""
    collected, kept = checked.funnel.collected, checked.funnel.kept
    steps = [("collected", collected), *((step.stage, step.kept) for step in checked.funnel.steps)]
    dropped: Rows = [
        [step.stage, rule, count]
        for step in checked.funnel.steps
        for rule, count in step.dropped.items()
    ]
    rules: Rows = [
        [stage.stage, rule, count, len(stage.dataset) - count, len(stage.failed(rule))]
        for stage, rule, count in _counted_rules(checked)
    ]
    tables = [
        report.Table(
            f"Kept at each stage: {shown(kept.problems)} of {shown(collected.problems)} problems"
            + (f", {shown(checked.funnel.share, '.1%')}" if collected.problems else ""),
            ["stage", "problems", "twins", "singles"],
            [[name, count.problems, count.twins, count.singles] for name, count in steps],
        ),
        report.Table(
            "Dropped problems, by the first rule that they break",
            ["stage", "rule", "problems"],
            dropped,
        ),
        report.Table(
            "Problems by rule", ["stage", "rule", "checked", "not checked", "broken"], rules
        ),
    ]
    return [table for table in tables if table.rows]


def _unvalidated(checked: Checked) -> Iterator[str]:
    """Yield how many generated problems are kept, and how many of them nobody has judged yet."""
    marked, left = unvalidated(checked.result.kept), unvalidated(checked.kept)
    if marked:
        yield (
            f"Generated problems kept: {marked:,}; {marked - left:,} of them found valid by "
            f"judges, {left:,} not judged yet"
        )


def _examples_of_rules(data: str, checked: Checked, examples: int) -> Iterator[str]:
    for stage, rule, _ in _counted_rules(checked):
        for found in _examples(stage, rule, examples):
            ids = " and ".join(map(shown, _ids(stage, found)))
            yield f"{data}:{ids}: {rule}: {shown(found.detail)}"
        more = len([f for f in stage.findings if f.rule == rule]) - examples
        if more > 0 and examples:
            yield f"  … and {more:,} more of {rule}"


def _responses(checked: Checked, responses: Sequence[Response]) -> Iterator[report.Block]:
    aside = _set_aside(checked)
    if aside:
        yield report.Table(
            f"Ignored votes: {len(checked.set_aside):,} of {len(responses):,}",
            ["reason", "responses"],
            [[reason, count] for reason, count in aside.items()],
        )
    people = _people(checked, responses)
    if isinstance(people, HumanAccuracy):
        low, high = people.interval
        told = (
            f"Human accuracy, by the majority on {people.problems:,} problems: "
            f"{percent(people.accuracy)} ({fixed(100 * low)} to {percent(high)})"
        )
    else:
        told = f"Human accuracy is not measured: {people}."
    yield report.Text([told])


def _people(checked: Checked, responses: Sequence[Response]) -> HumanAccuracy | str:
    """Return the human accuracy on what was kept, or why it can't be measured."""
    try:
        return human_accuracy(checked.result.kept, responses)
    except DataError as error:
        return str(error)


def _counted_rules(checked: Checked) -> Iterator[tuple[Examined, str, int]]:
    for stage in checked.stages:
        for rule, count in stage.checked.items():
            yield stage, rule, count


def _examples(stage: Examined, rule: str, examples: int) -> list[Finding]:
    return [found for found in stage.findings if found.rule == rule][:examples]


def _ids(stage: Examined, found: Finding) -> Iterable[str]:
    return (stage.dataset[row].id for row in found.rows)


def _set_aside(checked: Checked) -> dict[str, int]:
    return dict(Counter(entry.reason for entry in checked.set_aside).most_common())
