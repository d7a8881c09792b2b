"""The stability of solvers on the page: curves by depth, tables, and families as trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from winosmith import report
from winosmith.cli._stability import Stabilities
from winosmith.cli._stability_tables import stability_tables
from winosmith.dataset import Dataset
from winosmith.lineage import depths
from winosmith.metrics import FEWEST, Graded, stability_drawings
from winosmith.problem import Problem

__all__ = ["stability_sections"]

Verdicts = Mapping[str, bool | None]
"""Whether each problem was answered rightly, by its id; None for a tie."""

MOST_FAMILIES = 100
"""So many are shown; more make a page that nobody reads, and no browser opens."""


def stability_sections(found: Stabilities, solvers: Mapping[str, Graded]) -> list[report.Section]:
    """Return the sections of the report on what was measured.

    Args:
        found: from `stabilities`.
        solvers: what each answered; families show the problems that all of them answered.
    """
    tables = [
        report.Table(title, header, rows, note=note)
        for title, header, rows, note in stability_tables(found, most=1_000)
    ]
    of_kinds = [table for table in tables if "kind" in table.caption]
    others = [table for table in tables if table not in of_kinds]
    sections = [report.Section("Stability", [_cards(found), *_drawings(found), *others])]
    sections.append(report.Section("Families", [_families(found, solvers)]))
    if of_kinds:
        sections.append(report.Section("Errors by kind of edit", of_kinds))
    return sections


def _cards(found: Stabilities) -> report.Cards:
    return report.Cards(
        [
            report.KeyFigure(
                f"{name}: mean depth of errors",
                of.mean.value,
                f"a coin flipper's: {of.mean.null.coin:.2f}; {of.mean.errors:,} errors in "
                f"{of.n:,} perturbed problems"
                if of.accuracy
                else f"a coin flipper's: {of.mean.null.coin:.2f}",
                ".2f",
            )
            for name, of in found.solvers.items()
        ]
    )


def _drawings(found: Stabilities) -> Iterator[report.Drawing]:
    depth = found.first.depth
    for panels in stability_drawings(found.solvers):
        yield report.Drawing(
            f"Left, families without an error, by {depth} depth; a stroke marks "
            "where a family ended without one. Right, accuracy at each depth with "
            f"{FEWEST} problems or more, roots at 0; the dashed line is guessing. Bands are 95 % "
            "intervals.",
            panels,
        )


def _families(found: Stabilities, solvers: Mapping[str, Graded]) -> report.Families:
    """Return the families in which perturbation changes most, each with all its versions."""
    answered = [set(graded.dataset.ids) for graded in solvers.values()]
    dataset = next(iter(solvers.values())).dataset
    whole = dataset.select(row for row, p in enumerate(dataset) if all(p.id in x for x in answered))
    right = [
        dict(zip(graded.dataset.ids, _verdicts(graded), strict=True)) for graded in solvers.values()
    ]
    far = [getattr(of, found.first.depth) for of in depths(whole)]
    families = [rows for rows in whole.families.values() if len(rows) > 1]
    order = sorted(families, key=lambda rows: -_wavering(whole, rows, right))
    note = (
        "A bar for each version, by depth: low and green where it is right, high and orange where "
        "it is wrong, grey and between for a tie. Each opens: what is added to its parent is "
        "underlined, what is gone is struck out; the number is the depth."
    )
    if len(order) > MOST_FAMILIES:
        note += f" Of {len(order):,}, the first {MOST_FAMILIES}."
    return report.Families(
        "Those that are answered least like their roots first",
        list(solvers),
        [_family(whole, rows, far, right) for rows in order[:MOST_FAMILIES]],
        note,
    )


def _verdicts(graded: Graded) -> list[bool | None]:
    """Return whether each answer is right; None for a tie."""
    return [
        None if tied else credit == 1
        for tied, credit in zip(graded.tied.tolist(), graded.credit.tolist(), strict=True)
    ]


def _wavering(dataset: Dataset, rows: Sequence[int], right: Sequence[Verdicts]) -> int:
    """Return how often a version is right where the root is not, or the other way round."""
    root = next((dataset[row].id for row in rows if dataset[row].lineage is None), None)
    return sum(
        told[dataset[row].id] != (True if root is None else told[root])
        for told in right
        for row in rows
    )


def _family(
    dataset: Dataset,
    rows: Sequence[int],
    far: Sequence[int | None],
    right: Sequence[Verdicts],
) -> report.Family:
    place = {dataset[row].id: at for at, row in enumerate(rows)}
    versions = []
    for row in rows:
        problem = dataset[row]
        parent = place.get(problem.lineage.parent) if problem.lineage else None
        before = None if parent is None else dataset[rows[parent]]
        versions.append(
            report.Version(
                list(_changes(before, problem)),
                "?" if problem.answer is None else problem.options[problem.answer],
                far[row],
                [told[problem.id] for told in right],
                parent,
            )
        )
    first = next((v for v in versions if v.parent is None), versions[0])
    return report.Family("".join(change.text for change in first.changes), versions)


def _changes(before: Problem | None, problem: Problem) -> Iterator[report.Change]:
    """Yield the sentence in pieces: what its parent has, what was added, what was removed."""
    from rapidfuzz.distance import Levenshtein

    new = problem.sentence.split()
    old = new if before is None else before.sentence.split()
    for op in Levenshtein.opcodes(old, new):
        if op.tag in ("delete", "replace"):
            yield report.Change(" ".join(old[op.src_start : op.src_end]) + " ", "removed")
        if op.tag != "delete":
            mark = "" if op.tag == "equal" else "added"
            yield report.Change(" ".join(new[op.dest_start : op.dest_end]) + " ", mark)
