"""The stability of solvers as tables, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from winosmith import report
from winosmith.cli._printing import Rows, Table, percent, probability, rate, share
from winosmith.cli._stability import Stabilities
from winosmith.metrics import (
    AgainstRoot,
    Annotators,
    EditKind,
    EditKinds,
    Proportion,
    Reliability,
    Stability,
)

__all__ = ["stability_tables"]

ROWS = 24
"""Depths beyond this are only in the report and in the JSON."""

EDITS = (
    "Edits between root and problem; one word for another is one out and one in. "
    "In errors: edits in problems answered wrongly, which is what EvoGrad counts; n and wrong "
    "count problems. Points: more than the{share} that are wrong of all that differ from their "
    "root. "
    "Of so many kinds, some stand out by chance."
)


def stability_tables(found: Stabilities, most: int = ROWS) -> Iterator[Table]:
    """Yield the tables of what was measured.

    Args:
        found: from `stabilities`.
        most: how many depths are listed.
    """
    yield _depths(found)
    yield _accuracies(found.solvers)
    yield from _by_depth(found, most)
    yield _survival(found.solvers)
    for field, of in found.beside.items():
        for solver, rows in of.items():
            yield _beside(field, solver, rows)
    if found.people:
        yield from _people(found.people, found.first.depth)
    yield from _kinds(found)


def _depths(found: Stabilities) -> Table:
    rows: Rows = []
    for solver, of in found.solvers.items():
        named = (("errors", of.mean), ("families", of.family_mean), ("first", of.first))
        for name, one in named:
            rows.append(
                [solver if name == "errors" else "", name, _number(one.value),
                 _between(one.interval), one.errors, _number(one.null.coin),
                 None if one.null.p_value is None else probability(one.null.p_value)]
            )  # fmt: skip
    first = found.first
    left = f" {first.unknown:,} problems without a known depth are left out." * bool(first.unknown)
    return (
        f"Error depth ({first.depth}): {first.n:,} perturbed problems, "
        f"{len(first.families):,} families",
        ["solver", "mean of", "depth", "95 %", "n", "coin", "p"],
        rows,
        "How deep errors are: all of them, families' own means, families' first errors. "
        "Coin: the same of a coin flipper, so a depth near it tells nothing. "
        f"p: of errors so early or late, if each family's fell on any of its problems.{left}",
    )


def _accuracies(solvers: Mapping[str, Stability]) -> Table:
    rows: Rows = []
    for solver, of in solvers.items():
        if of.accuracy is None:
            rows.append([solver, *["—"] * 5])
            continue
        roots = None if of.roots is None else rate(of.roots)
        rows.append([solver, *share(of.accuracy), roots, *share(of.consistency)])
    return (
        "Accuracy on perturbed problems and on roots, and families that are all right",
        ["solver", "perturbed", "95 %", "roots", "families", "95 %"],
        rows,
        "",
    )


def _by_depth(found: Stabilities, most: int) -> Iterator[Table]:
    solvers = {name: of for name, of in found.solvers.items() if of.by_depth}
    if not solvers:
        return
    rows: Rows = []
    if any(of.roots for of in solvers.values()):
        rows.append(["root", *_at_depth([of.roots for of in solvers.values()])])
    every = sorted({depth for of in solvers.values() for depth in of.by_depth or ()})
    for depth in every[:most]:
        here = [(of.by_depth or {}).get(depth) for of in solvers.values()]
        rows.append([str(depth), *_at_depth(here)])
    heads = ["accuracy", "95 %"] if len(solvers) == 1 else list(solvers)
    more = len(every) - most
    yield (
        f"Accuracy by {found.first.depth} depth",
        ["depth", "problems", *heads],
        rows,
        f"{more:,} greater depths are in the report and the JSON." if more > 0 else "",
    )


def _at_depth(here: Sequence[Proportion | None]) -> list[report.Value]:
    """Return the number of problems and the accuracies; one alone has its interval."""
    count = max((one.n for one in here if one), default=0)
    if len(here) == 1:
        return [count, *share(here[0])]
    return [count, *(None if one is None else rate(one) for one in here)]


def _survival(solvers: Mapping[str, Stability]) -> Table:
    deepest = max(of.survival.depths[-1] for of in solvers.values())
    shown = sorted({max(1, round(deepest * part)) for part in (0.1, 0.25, 0.5, 1)})
    rows: Rows = []
    for solver, of in solvers.items():
        curve = of.survival
        rows.append(
            [solver, sum(curve.errors) + sum(curve.censored), sum(curve.errors), curve.median,
             *(percent(_share_at(curve.depths, curve.share, depth)) for depth in shown)]
        )  # fmt: skip
    return (
        "Families without an error",
        ["solver", "families", "failed", "half by", *(f"to {depth}" for depth in shown)],
        rows,
        "Kaplan-Meier: a family that is right to its end counts as far as it goes. "
        "Half by: the depth by which half have an error. To: without one to that depth.",
    )


def _share_at(depths: Sequence[int], shares: Sequence[float], depth: int) -> float:
    before = [one for at, one in zip(depths, shares, strict=True) if at <= depth]
    return before[-1] if before else 1.0


def _beside(field: str, solver: str, found: Sequence[AgainstRoot]) -> Table:
    rows: Rows = [
        [one.value, one.accuracy.n, rate(one.accuracy).replace(" %", "", 1), _gain(one.difference),
         _gains(one.interval), probability(one.mcnemar), probability(one.adjusted),
         _points(one.consistent.value)]
        for one in found
    ]  # fmt: skip
    return (
        f"{report.shown(solver)} beside its answers to the roots, by {field}",
        [field.rpartition(".")[2], "n", "right", "points", "95 %", "McNemar", "Holm", "same"],
        rows,
        "Right, in percent, and points more than on the same roots. McNemar takes pairs for "
        "independent; Holm: p by families, for so many tests. Same: both right or both wrong."
        + _unchanged(found),
    )


def _unchanged(found: Sequence[AgainstRoot]) -> str:
    """Return how many problems were the same input as their roots, of each kind with any."""
    told = [
        f"{one.unchanged:,} of {one.accuracy.n:,} of {report.shown(one.value)}"
        for one in found
        if one.unchanged
    ]
    return f" The same input as the root, for this solver: {', '.join(told)}." if told else ""


def _kinds(found: Stabilities) -> Iterator[Table]:
    if found.missing:
        yield "Errors by kind of edit", [""], [["not counted"]], f"Why: {found.missing}."
    several = {name: of for name, of in found.kinds.items() if of.kinds}
    if several:
        yield (
            "The kinds of edits that are most frequent in errors, in token edits",
            ["solver", "1st", "2nd", "3rd"],
            [[name, *_three(of)] for name, of in several.items()],
            "",
        )
    for name, of in several.items():
        yield _kinds_of(name, of, told=found.solvers[name].accuracy is not None)


def _three(found: EditKinds) -> list[report.Value]:
    cells: list[report.Value] = [
        f"{_signed(kind)} ({kind.wrong_edits:,})" for kind in found.most_frequent
    ]
    return [*cells, None, None, None][:3]


def _signed(kind: EditKind) -> str:
    return kind.kind.replace("-", "−", 1)


def _kinds_of(solver: str, found: EditKinds, *, told: bool) -> Table:
    rows: Rows = [
        [_signed(kind), kind.edits, kind.wrong_edits, kind.errors.n, kind.errors.right,
         *(_rate(kind) if told else ["—"] * 3)]
        for kind in found.kinds
    ]  # fmt: skip
    base = f" {percent(found.errors.value)}" if found.errors and told else " share"
    left = f" {found.left_out:,} problems without a root are left out." * bool(found.left_out)
    return (
        f"Errors by kind of edit: {report.shown(solver)}",
        ["kind", "edits", "in errors", "n", "wrong", "share", "points", "95 %"],
        rows,
        EDITS.format(share=base) + left,
    )


def _rate(kind: EditKind) -> list[report.Value]:
    interval = "—" if kind.interval is None else _gains(kind.interval)
    return [rate(kind.errors), _gain(kind.excess), interval]


def _people(found: Annotators, depth: str) -> Iterator[Table]:
    rows: Rows = [
        [one.participant, one.accuracy.n, *share(one.accuracy), one.errors, _number(one.mean),
         _number(one.first), _number(one.coin)]
        for one in found.people
    ]  # fmt: skip
    rows.append(["mean", None, percent(found.accuracy), *[None] * 5])
    yield (
        f"Annotators, and their error depth ({depth})",
        ["person", "answers", "accuracy", "95 %", "errors", "mean", "first", "coin"],
        rows,
        "Errors: on perturbed problems of a known depth.",
    )
    named = (("Fleiss' kappa", found.kappa), ("Krippendorff alpha", found.alpha))
    reasons = [f"{name} is not defined: {one.reason}." for name, one in named if one.reason]
    yield (
        "Agreement of the annotators",
        ["", "value", "95 %", "problems", "answers"],
        [[name, *_agreement(one)] for name, one in named],
        " ".join(reasons),
    )


def _agreement(found: Reliability) -> list[report.Value]:
    value = None if found.value is None else f"{found.value:.3f}"
    low_high = None if found.interval is None else "{:.3f} to {:.3f}".format(*found.interval)
    return [value, low_high, found.items, found.answers]


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _between(interval: tuple[float, float] | None) -> str | None:
    return None if interval is None else f"{interval[0]:.2f}–{interval[1]:.2f}"


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _gain(value: float) -> str:
    """Return a difference of shares in points; what rounds to nothing has no minus."""
    return f"{round(100 * value, 1) + 0.0:+.1f}"


def _gains(interval: tuple[float, float]) -> str:
    return " to ".join(map(_gain, interval))
