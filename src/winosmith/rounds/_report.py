"""The report of a round: what it released, how hard it is, what changed, where to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winosmith import report
from winosmith.build import sides_blocks
from winosmith.debias import SELECTED
from winosmith.metrics import told_overlap
from winosmith.problem import Edit, Problem
from winosmith.report import shown
from winosmith.rounds._changes import Change
from winosmith.rounds._next import NextRound

__all__ = ["round_page", "selected_by_answers", "told_of_training"]

MOST = 20
"""Problems that are shown of each kind; the files hold all."""

OWN_REPORT = "The release of this round has its own report, in build/report.html."


def round_page(
    record: Mapping[str, Any],
    changes: Sequence[Change],
    following: NextRound,
    *,
    subtitle: str = OWN_REPORT,
) -> str:
    """Return the report of a round as one HTML page.

    Args:
        record: as `round.json` holds it.
        changes: its figures beside those of the last round.
        following: what the next round begins with.
        subtitle: the line under the heading.
    """
    sections = [
        report.Section("In short", [report.Cards(_cards(record))]),
        report.Section(
            "What changed",
            [_changed(changes, record), *sides_blocks(record.get("sides"))],
            lead=_lead(changes),
        ),
        report.Section("The solvers", _solvers(record)),
        report.Section("The next round", _next(following)),
    ]
    return report.page(
        f"{record['name']}: a round",
        sections,
        subtitle=subtitle,
        signature=record["build"]["signature"],
        footer=f"Made by winosmith {record['made by']}.",
    )


def _cards(record: Mapping[str, Any]) -> list[report.KeyFigure]:
    build = record["build"]
    cards = [
        report.KeyFigure(
            "problems kept",
            build["kept"],
            f"of {build['funnel']['collected']['problems']:,} collected",
        )
    ]
    for name, solver in record["solvers"].items():
        if solver["accuracy"] is None:
            continue
        low, high = solver["accuracy"]["interval"]
        cards.append(
            report.KeyFigure(
                f"{name}, on dev and test",
                solver["accuracy"]["value"],
                f"{shown(low, '.1%')} to {shown(high, '.1%')}; guessing gives "
                f"{shown(solver['accuracy']['chance'], '.0%')}",
                ".1%",
            )
        )
    people = record["people"]
    if people and people["accuracy"] is not None:
        cards.append(report.KeyFigure("people", people["accuracy"], "the majority of three", ".1%"))
    return cards


def _lead(changes: Sequence[Change]) -> str:
    if all(change.before is None for change in changes):
        return "This is the first round."
    return (
        "Figures of this round beside those of the last one; no change is an improvement by itself."
    )


def selected_by_answers(record: Mapping[str, Any]) -> bool:
    """Tell whether a round kept what could not be guessed; its linear model is too low then.

    See `winosmith.debias.SELECTED`.

    >>> selected_by_answers({"build": {"funnel": {"steps": [{"stage": "random"}]}}})
    False
    """
    return any(step["stage"] == "aflite" for step in record["build"]["funnel"]["steps"])


def _changed(changes: Sequence[Change], record: Mapping[str, Any]) -> report.Table:
    rows: list[list[report.Value]] = [
        [change.what, *(_cell(v, change.form) for v in (change.before, change.now)), change.told]
        for change in changes
    ]
    return report.Table(
        "This round and the last",
        ["figure", "last round", "this round", "change"],
        rows,
        note=f"A linear model on what was kept is {SELECTED}."
        if selected_by_answers(record)
        else "",
    )


def _cell(value: float | int | None, form: str) -> str | None:
    return None if value is None else shown(value, form)


def _solvers(record: Mapping[str, Any]) -> list[report.Block]:
    rows: list[list[report.Value]] = [
        [
            name,
            solver["solver"] + (", taught this round’s train_xl" if solver["learnt"] else ""),
            _with_interval(solver["accuracy"]),
            _with_interval(solver["twins"]),
            _with_interval(solver["last"]),
            solver["taught"] or None,
            solver["revision"],
        ]
        for name, solver in record["solvers"].items()
    ]
    return [
        report.Table(
            "Accuracy of the reference solvers, with 95 % intervals by clusters",
            [
                "solver",
                "kind",
                "this round",
                "whole twins",
                "the last round’s dev",
                "of it left out",
                "revision",
            ],
            rows,
            note=" ".join(
                (
                    "Left out of the last round’s dev is what a solver may have been taught.",
                    *(f"{line}." for line in told_of_training(record)),
                )
            ),
        )
    ]


def told_of_training(record: Mapping[str, Any]) -> list[str]:
    """Return a sentence, without its point, on each solver that may have seen what it is asked.

    Args:
        record: of a round, as `round.json` holds it.
    """
    return [
        line
        for name, solver in record["solvers"].items()
        if "seen" in solver
        for line in told_overlap(name, solver["seen"])
    ]


def _with_interval(found: Mapping[str, Any] | None) -> str | None:
    if found is None:
        return None
    low, high = found["interval"]
    tied = (
        f", {shown(ties)} {'tie' if ties == 1 else 'ties'}" if (ties := found.get("ties")) else ""
    )
    return f"{shown(found['value'], '.1%')} ({100 * low:.1f}–{100 * high:.1f}{tied})"


def _next(following: NextRound) -> list[report.Block]:
    drawn, asked = len(following.roots), following.asked
    short = "" if drawn == asked else f"; {asked} were asked for, and no more are fit"
    blocks: list[report.Block] = [
        report.Text(
            [
                f"{drawn} roots were drawn of dev, which every solver gets right{short}. "
                f"{len(following.fooling)} perturbed problems of dev fool a solver."
            ]
        )
    ]
    if drawn:
        blocks.append(
            report.Passages(
                "Roots to perturb",
                [
                    [_passage(problem, "every solver is right")]
                    for problem in following.roots[:MOST]
                ],
                note=f"The first {MOST}; roots.jsonl has all." if drawn > MOST else "",
            )
        )
    if following.fooling:
        blocks.append(
            report.Passages(
                "Found by people, failed by models",
                [
                    [_passage(problem, f"fools {', '.join(following.fooled[problem.id])}")]
                    for problem in following.fooling[:MOST]
                ],
                note=f"The first {MOST}; fooling.jsonl has all."
                if len(following.fooling) > MOST
                else "",
            )
        )
    return blocks


def _passage(problem: Problem, status: str) -> report.Passage:
    edits = problem.lineage.edits if problem.lineage else ()
    return report.Passage(
        [report.Part(problem.sentence)],
        problem.options,
        problem.answer,
        status,
        clues=[_told(edit) for edit in edits],
    )


def _told(edit: Edit) -> str:
    if edit.op == "insert":
        return f"“{edit.new}” was put in"
    return f"“{edit.old}” became “{edit.new}”" if edit.new else f"“{edit.old}” was taken out"
