"""The tables of `winosmith score`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from winosmith import report
from winosmith.cli._printing import (
    TIES,
    Rows,
    Table,
    off_scores,
    percent,
    probability,
    rate,
    share,
    span,
)
from winosmith.cli._score_extras import Beside
from winosmith.metrics import Overlap, Proportion, Score, told_overlap


def score_tables(
    name: str,
    counts: Mapping[str, int],
    scores: Mapping[str, Score],
    beside: Beside,
    seen: Mapping[str, Overlap],
) -> Iterator[Table]:
    """Yield the tables of scores.

    Args:
        name: of the data set.
        counts: how many problems each solver answered.
        scores: of the solvers whose accuracy is told.
        beside: what was measured beside.
        seen: what solvers may have seen in training: where that is anything, there is no score.
    """
    yield _main(name, counts, scores, beside, seen)
    if any(found.comparisons for found in scores.values()):
        yield _comparisons(scores)
    yield from _groups(scores)
    if any(found.calibration for found in scores.values()):
        yield _calibration(scores)
    if beside.consistency:
        yield _switched(beside)
    yield from _gaps(beside)


def _main(
    name: str,
    counts: Mapping[str, int],
    scores: Mapping[str, Score],
    beside: Beside,
    seen: Mapping[str, Overlap],
) -> Table:
    twins = any(found.twins for found in scores.values())
    header = ["solver", "accuracy", "95 %", "p(guess)"]
    rows: Rows = []
    for solver in counts:
        if solver not in scores:
            rows.append([solver, *["—"] * (5 if twins else 3)])
            continue
        found = scores[solver]
        row: list[report.Value] = [solver, *share(found.accuracy), probability(found.p_value)]
        rows.append([*row, *(_whole(found.twins) if twins else ())])
    empty: list[report.Value] = [None, None] if twins else []
    if beside.majority:
        people = beside.majority
        rows.append(
            ["people, majority", percent(people.accuracy), span(people.interval), None, *empty]
        )
    if beside.person:
        rows.append(["a single person", *share(beside.person.accuracy), None, *empty])
    problems = next(iter(counts.values()))
    title = f"{report.shown(name)}: {problems:,} problems"
    notes = []
    first = next(iter(scores.values()), None)
    if first:
        notes = [f"Guessing gives {percent(first.accuracy.chance or 0)}"]
    if first and first.twins:
        title += f", {first.twins.n:,} twins"
        notes[0] += f", and {percent(first.twins.chance or 0)} of twins with both halves right"
    if len(set(counts.values())) > 1:
        title = report.shown(name)
        header.insert(1, "problems")
        for row in rows:
            row.insert(1, counts.get(str(row[0])))
    if any(found.accuracy.ties for found in scores.values()):
        notes.append(TIES)
    notes += off_scores({solver: found.against_scores for solver, found in scores.items()})
    for solver, overlap in seen.items():
        notes += told_overlap(solver, overlap.record())
    heads = [*header, *(["both halves", "95 %"] if twins else [])]
    return title, heads, rows, " ".join(f"{note}." for note in notes)


def _whole(found: Proportion | None) -> list[report.Value]:
    """Return the share of whole twins; the ties stand beside the accuracy in the same row."""
    return [None, None] if found is None else [percent(found.value), span(found.interval)]


def _comparisons(scores: Mapping[str, Score]) -> Table:
    rows: Rows = [
        [solver, found.comparisons.n, *share(found.comparisons)]
        for solver, found in scores.items()
        if found.comparisons
    ]
    return (
        "Two-way comparisons: the right option with each wrong one",
        ["solver", "comparisons", "won", "95 %"],
        rows,
        "Guessing wins half.",
    )


def _groups(scores: Mapping[str, Score]) -> Iterator[Table]:
    told = (name for found in scores.values() for name in (*found.groups, *found.refused))
    for by in dict.fromkeys(told):
        several = len(scores) > 1
        rows: Rows = [
            [value, *([solver] if several else []), of.n, *share(of), percent(of.chance or 0)]
            for solver, found in scores.items()
            for value, of in found.groups.get(by, {}).items()
        ]
        if several:
            rows.sort(key=lambda row: list(_values(scores, by)).index(str(row[0])))
        header = [by, *(["solver"] if several else []), "problems", "accuracy", "95 %", "chance"]
        yield f"By {by}", header, rows, _carried(scores, by)


def _carried(scores: Mapping[str, Score], by: str) -> str:
    """Return why a field is told of some solvers alone, and what is to be known of it."""
    notes: dict[str, list[str]] = {}
    for solver, found in scores.items():
        for note in filter(None, (found.refused.get(by), found.notes.get(by))):
            notes.setdefault(note, []).append(solver)
    return " ".join(
        f"{', '.join(map(report.shown, of))}: {note}." if len(scores) > 1 else f"{note}."
        for note, of in notes.items()
    )


def _values(scores: Mapping[str, Score], field: str) -> dict[str, None]:
    return dict.fromkeys(v for found in scores.values() for v in found.groups.get(field, ()))


def _calibration(scores: Mapping[str, Score]) -> Table:
    rows: Rows = []
    for solver, found in scores.items():
        if found.calibration and found.margins:
            own, margins = found.calibration, found.margins
            rows.append(
                [solver, percent(own.confidence), f"{own.ece:.3f}", f"{own.null[2]:.3f}",
                 f"{own.brier:.3f}", f"{own.log_loss:.2f}",
                 None if margins.ranking is None else f"{margins.ranking:.2f}"]
            )  # fmt: skip
    return (
        "Calibration of the softmax of the scores",
        ["solver", "stated", "ECE", "null", "Brier", "log loss", "ranking"],
        rows,
        "ECE: calibration error; null: what 97.5 % of perfectly calibrated solvers stay "
        "below. Ranking: how often a right answer leads by more than a wrong one.",
    )


def _switched(beside: Beside) -> Table:
    rows: Rows = [
        [solver, found.consistent.n, *share(found.consistent), rate(found.original),
         rate(found.switched), percent(found.both.value)]
        for solver, found in beside.consistency.items()
    ]  # fmt: skip
    return (
        "The options switched in the sentence",
        ["solver", "problems", "consistent", "95 %", "before", "switched", "both right"],
        rows,
        "",
    )


def _gaps(beside: Beside) -> Iterator[Table]:
    for what in dict.fromkeys(what for of in beside.gaps.values() for what in of):
        rows: Rows = []
        sizes = ""
        for solver, of in beside.gaps.items():
            female, male = of[what].female, of[what].male
            sizes = f"{female.plain.n}, {male.plain.n} / {female.gotcha.n}, {male.gotcha.n}"
            rows.append([solver, "no", _points(female.plain), _points(male.plain),
                         f"{100 * female.value:+.1f}", f"{100 * male.value:+.1f}"])  # fmt: skip
            rows.append(["", "yes", _points(female.gotcha), _points(male.gotcha),
                         _signed_span(female.interval), _signed_span(male.interval)])  # fmt: skip
            rows.append(["", "rounded", "", "",
                         f"{female.of_rounded:+.1f}", f"{male.of_rounded:+.1f}"])  # fmt: skip
        yield (
            f"Gender gap on Winogender, with the majority of {what}",
            ["solver", "gotcha", "female", "male", "ΔF", "ΔM"],
            rows,
            f"{_gap_notes(beside, what)}In percent, of {sizes} sentences. "
            "Under ΔF and ΔM: their 95 % intervals, and "
            "the differences of the rounded cells, as table 7 of WinoGrande prints them.",
        )


def _gap_notes(beside: Beside, what: str) -> str:
    """Return of which solvers there is no gap, and what is to be known of the others'."""
    notes = list(beside.refused.items())
    for name, of in beside.gaps.items():
        notes += [(name, note) for note in (of[what].of_pronoun, of[what].note) if note]
    return "".join(f"{report.shown(name)}: {note}. " for name, note in notes)


def _points(found: Proportion) -> str:
    return rate(found).replace(" %", "", 1)


def _signed_span(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:+.1f} to {100 * interval[1]:+.1f}"
