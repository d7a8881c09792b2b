"""The report of a round: what it released, how hard it is, what changed, where to continue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winosmith import report
from winosmith.build import sides_blocks
from winosmith.errors import InputError
from winosmith.metrics import describe_overlap
from winosmith.problem import Edit, Problem
from winosmith.records import parse_json
from winosmith.report import format_value, points, span
from winosmith.rounds._solving import NextRound
from winosmith.text import count_noun

MOST = 20
"""Problems that are shown of each kind; the files hold all."""

OWN_REPORT = "The release of this round has its own report, in build/report.html."


def make_round_page(
    record: Mapping[str, Any],
    changes: Sequence[Change],
    following: NextRound,
    *,
    subtitle: str = OWN_REPORT,
) -> str:
    """Return the report of a round as one HTML page.

    Args:
        record: as `round.json` holds it.
        changes: its figures next to those of the last round.
        following: what the next round begins with.
        subtitle: the line under the heading.
    """
    is_first = all(change.before is None for change in changes)
    sections = [
        report.Section("In short", [report.Cards(_make_cards(record))]),
        report.Section(
            "What changed",
            [make_changes_table(changes, record), *sides_blocks(record.get("sides"))],
            lead="This is the first round."
            if is_first
            else "Figures of this round beside those of the last one; no change is an improvement "
            "by itself.",
        ),
        report.Section("The solvers", _make_solver_blocks(record)),
        report.Section("The next round", _make_next_blocks(following)),
    ]
    return report.page(
        f"{record['name']}: a round",
        sections,
        subtitle=subtitle,
        signature=record["build"]["signature"],
        footer=f"Made by winosmith {record['made_by']}.",
    )


def _make_cards(record: Mapping[str, Any]) -> list[report.KeyFigure]:
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
                f"{format_value(low, '.1%')} to {format_value(high, '.1%')}; guessing gives "
                f"{format_value(solver['accuracy']['chance'], '.0%')}",
                ".1%",
            )
        )
    people = record["people"]
    if people and people["accuracy"] is not None:
        who = "the majority of those who had not judged, three or more a problem"
        cards.append(report.KeyFigure("people", people["accuracy"], who, ".1%"))
    return cards


def make_changes_table(changes: Sequence[Change], record: Mapping[str, Any]) -> report.Table:
    """Return the numbers of this round and of the last as a table."""
    is_first = all(change.before is None for change in changes)
    return report.Table(
        "This round" if is_first else "This round and the last",
        ["figure", "last", "now", "change"],
        [
            [
                change.what,
                *(
                    None if value is None else format_value(value, change.form)
                    for value in (change.before, change.now)
                ),
                change.in_words,
            ]
            for change in changes
        ],
        note=describe_halves(record),
    )


def _make_solver_blocks(record: Mapping[str, Any]) -> list[report.Block]:
    rows: list[list[report.Value]] = [
        [
            name,
            solver["solver"] + (", taught this round’s train_xl" if solver["learnt"] else ""),
            _format_with_interval(solver["accuracy"]),
            _format_with_interval(solver["twins"]),
            _format_with_interval(solver["last"]),
            solver["taught"] or None,
            solver["revision"],
        ]
        for name, solver in record["solvers"].items()
    ]
    note = ["Problems that a solver may have learnt are removed from the last round’s dev."]
    note += [f"{line}." for line in describe_training(record)]
    last = "the last round’s dev"
    return [
        report.Table(
            "Accuracy of the reference solvers, with 95 % intervals by clusters",
            ["solver", "kind", "this round", "whole twins", last, "removed from it", "revision"],
            rows,
            note=" ".join(note),
        )
    ]


def describe_halves(record: Mapping[str, Any]) -> str:
    """Return how what a linear model guesses of the kept was measured, or why it was not."""
    artifacts = record["artifacts"]
    if artifacts["after"] is None:
        return str(artifacts.get("verdict", ""))
    return "A linear model is measured across halves that were filtered apart."


def describe_training(record: Mapping[str, Any]) -> list[str]:
    """Return a sentence, without its point, on each solver that may have seen what it is asked.

    Args:
        record: record of a round, as `round.json` holds it.
    """
    return [
        line
        for name, solver in record["solvers"].items()
        if "seen" in solver
        for line in describe_overlap(name, solver["seen"])
    ]


def _format_with_interval(found: Mapping[str, Any] | None) -> str | None:
    if found is None:
        return None
    low, high = found["interval"]
    tied = f", {count_noun(ties, 'tie')}" if (ties := found.get("ties")) else ""
    return f"{format_value(found['value'], '.1%')} ({span((low, high))}{tied})"


def _make_next_blocks(following: NextRound) -> list[report.Block]:
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
    right = dict.fromkeys(following.roots.ids, "every solver is right")
    fools = {id_: f"fools {', '.join(names)}" for id_, names in following.fooled.items()}
    for title, name, problems, status in (
        ("Roots to perturb", "roots", following.roots, right),
        ("Found by people, failed by models", "fooling", following.fooling, fools),
    ):
        if len(problems):
            passages = [[_make_passage(problem, status[problem.id])] for problem in problems[:MOST]]
            more = f"The first {MOST}; {name}.jsonl has all." if len(problems) > MOST else ""
            blocks.append(report.Passages(title, passages, note=more))
    return blocks


def _make_passage(problem: Problem, status: str) -> report.Passage:
    edits = problem.lineage.edits if problem.lineage else ()
    return report.Passage(
        [report.Part(problem.sentence)],
        problem.options,
        problem.answer,
        status,
        clues=[_format_edit(edit) for edit in edits],
    )


def _format_edit(edit: Edit) -> str:
    if edit.op == "insert":
        return f"“{edit.new}” was put in"
    return f"“{edit.old}” became “{edit.new}”" if edit.new else f"“{edit.old}” was taken out"


RECORD = "round.json"
"""The file in a round's folder that holds its figures."""

VERSION = 1
"""Of that file's form."""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of two rounds.

    Attributes:
        what: the figure, in words.
        before: in the last round; None if it has none.
        now: in this one; None if it has none.
        form: how to print it, a format specification.
    """

    what: str
    before: float | int | None
    now: float | int | None
    form: str

    @property
    def by(self) -> float | int | None:
        """How much it rose; None if either is not known."""
        return None if self.before is None or self.now is None else self.now - self.before

    @property
    def in_words(self) -> str | None:
        """The change with its sign, of shares in percentage points; None if it is not known."""
        if self.by is None:
            return None
        if self.form.endswith("%"):
            return f"{points(self.by)} points"
        return format_value(self.by, f"+{self.form}")


def read_record(folder: str | Path) -> dict[str, Any]:
    """Return the numbers of a finished round.

    Raises:
        InputError: the folder holds none.
    """
    path = Path(folder) / RECORD
    try:
        record = dict(parse_json(path.read_text("utf-8")))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no finished round: {path} is missing") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not the record of a round: {error}") from None
    if record.get("winosmith") != "round" or record.get("version") != VERSION:
        raise InputError(f"{path} is not the record of a round, of version {VERSION}")
    return record


def find_changes(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[Change]:
    """Return the numbers of a round next to those of the last one, in the order of the report.

    Args:
        now: this round's record.
        before: the last round's; None in the first.
    """
    last: Mapping[str, Any] = before or {}
    names = list(dict.fromkeys([*now["solvers"], *last.get("solvers", {})]))
    figures = [
        *_FIGURES,
        *(
            (f"{name}: {what}", ("solvers", name, *path), form)
            for name in names
            for what, path, form in _OF_SOLVERS
        ),
    ]
    found = [
        Change(what, _get_at_path(last, path), _get_at_path(now, path), form)
        for what, path, form in figures
    ]
    return [change for change in found if (change.before, change.now) != (None, None)]


_Path = tuple[str, ...]

_FIGURES: tuple[tuple[str, _Path, str], ...] = (
    ("collected", ("build", "funnel", "collected", "problems"), ",d"),
    ("valid share of what was collected", ("valid",), ".1%"),
    ("kept", ("build", "kept"), ",d"),
    ("train_xl", ("build", "counts", "train_xl"), ",d"),
    ("dev", ("build", "counts", "dev"), ",d"),
    ("test", ("build", "counts", "test"), ",d"),
    ("a linear model on what was collected", ("artifacts", "before"), ".1%"),
    ("a linear model on what was kept", ("artifacts", "after"), ".1%"),
    ("KL along the first component, kept", ("artifacts", "kl"), ".3f"),
    ("judges agree with a kept answer", ("people", "agree"), ".1%"),
    ("kept with all judges agreeing", ("people", "unanimous"), ".1%"),
    ("people who had not judged are right", ("people", "accuracy"), ".1%"),
)
"""What it is, where it is in the record, how it is printed."""

_OF_SOLVERS: tuple[tuple[str, _Path, str], ...] = (
    ("accuracy on this round's dev and test", ("accuracy", "value"), ".1%"),
    ("whole twins right", ("twins", "value"), ".1%"),
    ("mean depth of its errors", ("stability", "mean", "value"), ".2f"),
    ("families without an error", ("stability", "consistency", "value"), ".1%"),
)


def _get_at_path(record: Any, path: _Path) -> Any:
    for key in path:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record
