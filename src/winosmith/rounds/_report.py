"""Make the report of a round: release, difficulty, changes and problems for the next round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winosmith import report
from winosmith.build import make_previous_split_blocks
from winosmith.errors import InputError
from winosmith.metrics import describe_overlap
from winosmith.problem import Edit, Problem
from winosmith.records import parse_json
from winosmith.report import format_value, percent_span, points
from winosmith.rounds._solving import NextRound
from winosmith.text import format_count

MAX_SHOWN = 20
"""Maximum number of problems of each kind in the report; the files contain all problems."""

RELEASE_NOTE = "The release of this round has its own report, in build/report.html."


def make_round_page(
    record: Mapping[str, Any],
    changes: Sequence[Change],
    next_round: NextRound,
    *,
    subtitle: str = RELEASE_NOTE,
) -> str:
    """Return the report of a round as one HTML page.

    Args:
        record: content of `round.json`.
        changes: the results of this round and of the previous one.
        next_round: the problems for the next round.
        subtitle: the line under the heading.
    """
    lead = "This is the first round."
    if not _is_first(changes):
        lead = (
            "This round and the previous one. A change is not necessarily an improvement, because "
            "the problems differ."
        )
    sections = [
        report.Section("In short", [report.Cards(_make_cards(record))]),
        report.Section(
            "What changed",
            [make_changes_table(changes, record), *make_previous_split_blocks(record.get("sides"))],
            lead=lead,
        ),
        report.Section("The solvers", [_make_solvers_table(record)]),
        report.Section("The next round", _make_next_blocks(next_round)),
    ]
    return report.render_page(
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
        who = "majority of three or more people who had not judged the problem"
        cards.append(report.KeyFigure("people", people["accuracy"], who, ".1%"))
    return cards


def make_changes_table(changes: Sequence[Change], record: Mapping[str, Any]) -> report.Table:
    """Return the results of this round and of the previous one as a table."""
    artifacts = record["artifacts"]
    note = "The linear model is trained and tested on halves that were filtered separately."
    if artifacts["after"] is None:
        note = str(artifacts.get("verdict", ""))
    rows: list[list[report.Value]] = []
    for change in changes:
        old, new = (
            None if value is None else format_value(value, change.format_spec)
            for value in (change.old, change.new)
        )
        rows.append([change.name, old, new, change.difference_text])
    title = "This round" if _is_first(changes) else "This round and the previous one"
    return report.Table(title, ["result", "previous", "this", "change"], rows, note=note)


def _is_first(changes: Sequence[Change]) -> bool:
    return all(change.old is None for change in changes)


def _make_solvers_table(record: Mapping[str, Any]) -> report.Table:
    rows: list[list[report.Value]] = [
        [
            name,
            solver["solver"] + (", trained on this round’s train_xl" if solver["learnt"] else ""),
            _format_with_interval(solver["accuracy"]),
            _format_with_interval(solver["twins"]),
            _format_with_interval(solver["last"]),
            solver["taught"] or None,
            solver["revision"],
        ]
        for name, solver in record["solvers"].items()
    ]
    note = ["Problems that solvers may have been trained on are removed from the last round's dev."]
    note += [f"{line}." for line in describe_seen_problems(record)]
    return report.Table(
        "Accuracy of the reference solvers, with cluster-based 95 % intervals",
        ["solver", "kind", "this round", "whole twins", "previous dev", "removed", "revision"],
        rows,
        note=" ".join(note),
    )


def describe_seen_problems(record: Mapping[str, Any]) -> list[str]:
    """Return sentences, without full stops, about the test problems that solvers may have seen.

    Args:
        record: content of `round.json`.
    """
    return [
        line
        for name, solver in record["solvers"].items()
        if "seen" in solver
        for line in describe_overlap(name, solver["seen"])
    ]


def _format_with_interval(measure: Mapping[str, Any] | None) -> str | None:
    if measure is None:
        return None
    low, high = measure["interval"]
    tied = f", {format_count(ties, 'tie')}" if (ties := measure.get("ties")) else ""
    return f"{format_value(measure['value'], '.1%')} ({percent_span((low, high))}{tied})"


def _make_next_blocks(next_round: NextRound) -> list[report.Block]:
    drawn, asked = len(next_round.roots), next_round.requested_root_count
    short = "" if drawn == asked else f" ({asked} requested, but no more are suitable)"
    blocks: list[report.Block] = [
        report.Text(
            [
                f"{drawn} roots were drawn from the dev problems that every solver answers "
                f"correctly{short}. {len(next_round.fooling)} perturbed dev problems fool a "
                "solver."
            ]
        )
    ]
    right = dict.fromkeys(next_round.roots.ids, "every solver is correct")
    fools = {id_: f"fools {', '.join(names)}" for id_, names in next_round.fooled_solvers.items()}
    for title, name, problems, status in (
        ("Roots to perturb", "roots", next_round.roots, right),
        ("Solved by people but not by models", "fooling", next_round.fooling, fools),
    ):
        if len(problems):
            passages = [
                [_make_passage(problem, status[problem.id])] for problem in problems[:MAX_SHOWN]
            ]
            note = ""
            if len(problems) > MAX_SHOWN:
                note = f"Only {MAX_SHOWN} are shown; {name}.jsonl contains all."
            blocks.append(report.Passages(title, passages, note=note))
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
        return f"“{edit.new}” was added"
    return f"“{edit.old}” became “{edit.new}”" if edit.new else f"“{edit.old}” was removed"


RECORD = "round.json"
"""The name of the file with a round's results."""

VERSION = 1


@dataclass(frozen=True, slots=True)
class Change:
    """A result in this round and in the previous one.

    Attributes:
        name: name of the result.
        old: value in the previous round; None if missing.
        new: value in this round; None if missing.
        format_spec: format specification for printing.
    """

    name: str
    old: float | int | None
    new: float | int | None
    format_spec: str

    @property
    def difference(self) -> float | int | None:
        """The difference; None if either value is missing."""
        return None if self.old is None or self.new is None else self.new - self.old

    @property
    def difference_text(self) -> str | None:
        """The signed difference as text, in points for fractions; None if a value is missing."""
        if self.difference is None:
            return None
        if self.format_spec.endswith("%"):
            return f"{points(self.difference)} points"
        return format_value(self.difference, f"+{self.format_spec}")


def read_record(folder: str | Path) -> dict[str, Any]:
    path = Path(folder) / RECORD
    try:
        record = dict(parse_json(path.read_text("utf-8")))
    except FileNotFoundError:
        raise InputError(f"{folder} has no finished round: {path} is missing") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a round record: {error}") from None
    if record.get("winosmith") != "round" or record.get("version") != VERSION:
        raise InputError(f"{path} is not a round record in format version {VERSION}")
    return record


def pair_results(current: Mapping[str, Any], previous: Mapping[str, Any] | None) -> list[Change]:
    """Pair the results of a round with those of the previous one, in the order of the report.

    Args:
        current: record of this round.
        previous: record of the previous round; None in the first round.
    """
    earlier: Mapping[str, Any] = previous or {}
    names = list(dict.fromkeys([*current["solvers"], *earlier.get("solvers", {})]))
    figures = list(_METRICS)
    for name in names:
        for what, path, form in _SOLVER_METRICS:
            figures.append((f"{name}: {what}", ("solvers", name, *path), form))
    found = [
        Change(what, _get_at_path(earlier, path), _get_at_path(current, path), form)
        for what, path, form in figures
    ]
    return [change for change in found if (change.old, change.new) != (None, None)]


_Path = tuple[str, ...]

_METRICS: tuple[tuple[str, _Path, str], ...] = (
    ("collected", ("build", "funnel", "collected", "problems"), ",d"),
    ("valid fraction of collected problems", ("valid",), ".1%"),
    ("kept", ("build", "kept"), ",d"),
    ("train_xl", ("build", "counts", "train_xl"), ",d"),
    ("dev", ("build", "counts", "dev"), ",d"),
    ("test", ("build", "counts", "test"), ",d"),
    ("linear model's accuracy, collected", ("artifacts", "before"), ".1%"),
    ("linear model's accuracy, kept", ("artifacts", "after"), ".1%"),
    ("KL along the first component, kept", ("artifacts", "kl"), ".3f"),
    ("votes for the answers of kept problems", ("people", "agree"), ".1%"),
    ("kept problems with unanimous judges", ("people", "unanimous"), ".1%"),
    ("accuracy of people who had not judged", ("people", "accuracy"), ".1%"),
)
"""Name, path in the record, and format specification of each result."""

_SOLVER_METRICS: tuple[tuple[str, _Path, str], ...] = (
    ("accuracy on this round's dev and test", ("accuracy", "value"), ".1%"),
    ("whole twins correct", ("twins", "value"), ".1%"),
    ("mean depth of errors", ("stability", "mean", "value"), ".2f"),
    ("families without an error", ("stability", "consistency", "value"), ".1%"),
)


def _get_at_path(record: Any, path: _Path) -> Any:
    for key in path:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record
