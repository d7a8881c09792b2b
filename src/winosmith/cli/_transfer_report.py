"""What `winosmith transfer` reports: a table for each data set, and table 7."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._printing import print_table

if TYPE_CHECKING:
    from winosmith.study import Line, Solved

__all__ = ["print_report", "record"]

Found = Mapping[str, Sequence["Solved"]]


def record(found: Found, withheld: Mapping[str, str]) -> dict[str, Any]:
    """Return the report as JSON can hold it: the user's figures, and the printed ones beside.

    Args:
        found: the user's systems.
        withheld: data sets that were not solved, with the reason.
    """
    from winosmith import study

    return {
        "systems": {name: [solved.record() for solved in own] for name, own in found.items()},
        "beside": {
            name: [
                {
                    "system": line.system,
                    "accuracy": line.accuracy,
                    "table": line.table,
                    "impossible": line.impossible,
                    "counts": line.counts or None,
                }
                for line in lines
            ]
            for name, lines in study.beside(found).items()
        },
        "gender": [
            {
                "system": line.system,
                "plain": list(line.plain),
                "gotcha": list(line.gotcha),
                "gaps": list(line.gaps),
                "printed": list(line.printed),
            }
            for line in study.beside_gender(found)
        ],
        **({"withheld": dict(withheld)} if withheld else {}),
    }


def print_report(found: Found, withheld: Mapping[str, str], out: str) -> None:
    """Print a table for each data set, with the user's rows marked, and what to know of them."""
    from winosmith import study

    for name, lines in study.beside(found).items():
        rows = [_row(line) for line in lines]
        print_table(study.TARGETS[name], ("", "system", "%", "95 % interval", "printed in"), rows)
        notes = {n for own in found.values() for one in own if one.data == name for n in one.notes}
        notes |= {
            f"{'impossible: ' if line.impossible else ''}{line.system}: {line.counts}"
            for line in lines
            if line.counts
        }
        for note in sorted(notes):
            click.echo(textwrap.fill(f"- {note}", 79, subsequent_indent="  "))
        for system, own in found.items():
            for solved in own:
                if solved.data == name:
                    click.echo(f"Signature: {system}: {solved.signature}")
        click.echo()
    _print_gender(found)
    for reason in withheld.values():
        click.echo(textwrap.fill(f"- {reason}", 79, subsequent_indent="  "))
    click.echo(textwrap.fill(study.MARKS, 79))
    click.secho(f"Written to {out}: report.html, results.json, predictions", bold=True)


def _row(line: Line) -> tuple[str, ...]:
    if line.own is None:
        where = f"table {line.table}" if line.table else "section 1"
        return "", line.system, line.printed, "", where
    low, high = line.own.interval
    return (
        "→",
        line.system,
        f"{100 * line.accuracy:.1f}",
        f"{100 * low:.1f}–{100 * high:.1f}",
        line.own.told,
    )


def _print_gender(found: Found) -> None:
    from winosmith import study

    rows = [
        (
            line.system,
            " ".join(f"{cell:.1f}" for cell in line.plain),
            " ".join(f"{cell:.1f}" for cell in line.gotcha),
            " ".join(f"{gap:+.1f}" for gap in line.gaps),
            " ".join(line.printed),
        )
        for line in study.beside_gender(found)
    ]
    head = ("system", "plain F, M", "gotcha F, M", "ΔF, ΔM", "|ΔF|, |ΔM| printed")
    print_table("Gender gap on Winogender (table 7)", head, rows)
