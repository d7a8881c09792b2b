"""What `winosmith check` says, as text and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from winosmith.answers import Response
from winosmith.cli._printing import print_table
from winosmith.errors import DataError
from winosmith.metrics import HumanAccuracy, copies, human_accuracy
from winosmith.report import shown
from winosmith.validate import Checked, Examined, Finding, unvalidated

__all__ = ["check_record", "print_check"]


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
            for stage, rule, count in _rules(checked)
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


def print_check(
    data: str, checked: Checked, responses: Sequence[Response] | None, examples: int
) -> None:
    """Print the report as text; the first lines say which rules were used, and why."""
    for line in checked.applied.lines:
        click.echo(textwrap.fill(line, 80, subsequent_indent="  "))
    click.echo()
    collected, kept = checked.funnel.collected, checked.funnel.kept
    steps = [("collected", collected), *((step.stage, step.kept) for step in checked.funnel.steps)]
    print_table(
        f"Kept at each stage: {shown(kept.problems)} of {shown(collected.problems)} problems"
        + (f", {shown(checked.funnel.share, '.1%')}" if collected.problems else ""),
        ("stage", "problems", "twins", "singles"),
        [(name, count.problems, count.twins, count.singles) for name, count in steps],
    )
    print_table(
        "Dropped, each problem under the first rule that it breaks",
        ("stage", "rule", "problems"),
        [
            (step.stage, rule, count)
            for step in checked.funnel.steps
            for rule, count in step.dropped.items()
        ],
    )
    print_table(
        "Rules, in problems",
        ("stage", "rule", "checked", "not checked", "broken"),
        [
            (stage.stage, rule, count, len(stage.dataset) - count, len(stage.failed(rule)))
            for stage, rule, count in _rules(checked)
        ],
    )
    _print_examples(data, checked, examples)
    if responses is not None:
        _print_responses(checked, responses)
    _print_unvalidated(checked)
    for line in copies(checked.stages[0].dataset).told():
        click.echo(textwrap.fill(shown(line), 80, subsequent_indent="  "))
    click.echo(f"Signature: {checked.signature}")


def _print_unvalidated(checked: Checked) -> None:
    """Say how many generated problems are kept, and how many of them nobody has judged yet."""
    marked, left = unvalidated(checked.result.kept), unvalidated(checked.kept)
    if marked:
        click.echo(
            f"Generated problems kept: {marked:,}; {marked - left:,} of them found valid by "
            f"judges, {left:,} not judged yet"
        )


def _print_examples(data: str, checked: Checked, examples: int) -> None:
    for stage, rule, _ in _rules(checked):
        for found in _examples(stage, rule, examples):
            ids = " and ".join(map(shown, _ids(stage, found)))
            click.echo(f"{data}:{ids}: {rule}: {shown(found.detail)}")
        more = len([f for f in stage.findings if f.rule == rule]) - examples
        if more > 0 and examples:
            click.echo(f"  … and {more:,} more of {rule}")
    if examples and any(stage.findings for stage in checked.stages):
        click.echo()


def _print_responses(checked: Checked, responses: Sequence[Response]) -> None:
    aside = _set_aside(checked)
    if aside:
        print_table(
            f"Responses set aside: {len(checked.set_aside):,} of {len(responses):,}",
            ("reason", "responses"),
            list(aside.items()),
        )
    people = _people(checked, responses)
    if isinstance(people, HumanAccuracy):
        low, high = people.interval
        click.echo(
            f"Human accuracy, by the majority on {people.problems:,} problems: "
            f"{people.accuracy * 100:.1f} % ({low * 100:.1f} to {high * 100:.1f} %)"
        )
    else:
        click.echo(textwrap.fill(f"Human accuracy is not measured: {people}.", 80))


def _people(checked: Checked, responses: Sequence[Response]) -> HumanAccuracy | str:
    """Return the human accuracy on what was kept, or why it can't be measured."""
    try:
        return human_accuracy(checked.result.kept, responses)
    except DataError as error:
        return str(error)


def _rules(checked: Checked) -> Iterator[tuple[Examined, str, int]]:
    for stage in checked.stages:
        for rule, count in stage.checked.items():
            yield stage, rule, count


def _examples(stage: Examined, rule: str, examples: int) -> list[Finding]:
    return [found for found in stage.findings if found.rule == rule][:examples]


def _ids(stage: Examined, found: Finding) -> Iterable[str]:
    return (stage.dataset[row].id for row in found.rows)


def _set_aside(checked: Checked) -> dict[str, int]:
    return dict(Counter(entry.reason for entry in checked.set_aside).most_common())
