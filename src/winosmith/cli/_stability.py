"""Report sections of `--by lineage`: error depths, kinds of edits, accuracy lost, annotators."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from winosmith import metrics, report
from winosmith.cli._output import Rows, join_by_solver, make_rate_cells
from winosmith.cli._printing import progress
from winosmith.dataset import Dataset
from winosmith.errors import MissingExtraError
from winosmith.lineage import depths
from winosmith.metrics import format_rate
from winosmith.report import Signature, percent, points, points_span, probability, to_fixed
from winosmith.response import Response
from winosmith.results import HIDDEN, IF_ANY, Result, computed, make_table
from winosmith.text import tokenize


@dataclass(frozen=True)
class StabilityResults(Result):
    """The stability of solvers on perturbed problems.

    Attributes:
        solvers: stability of each solver, by its name; at least one.
        kinds: errors of each solver by kind of edit; empty if tokens can't be tagged.
        missing: a component that tagging needs and that is not installed; empty if there is none.
        root_comparisons: field → solver → its problems compared with their roots, for each value of
            the field.
        people: the annotators' results, if any.
    """

    solvers: Mapping[str, metrics.Stability]
    kinds: Mapping[str, metrics.EditKinds] = field(default_factory=dict, metadata=HIDDEN)
    missing: str = field(default="", metadata={"key": "kinds_need", **IF_ANY})
    root_comparisons: Mapping[str, Mapping[str, Sequence[metrics.RootComparison]]] = field(
        default_factory=dict, metadata={"key": "root_comparisons", **IF_ANY}
    )
    people: metrics.Annotators | None = field(
        default=None, metadata={"key": "annotators", **IF_ANY}
    )

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signature of each solver's results."""
        return {f"{name} by lineage": of.signature for name, of in self.solvers.items()}

    @property
    @computed()
    def depth(self) -> str:
        """The kind of depth that is measured for all solvers."""
        return next(iter(self.solvers.values())).depth

    @property
    @computed(key="kinds")
    def errors_by_kind(self) -> dict[str, Any] | None:
        """Each solver's errors by kind of edit: only the counts if its accuracy is withheld."""
        records = {}
        for solver, found in self.kinds.items():
            record = found.record()
            if self.solvers[solver].accuracy is None:
                counts = ("kind", "edits", "wrong_edits")
                kinds = [{name: kind[name] for name in counts} for kind in record["kinds"]]
                record = {**record, "errors": None, "kinds": kinds}
            records[solver] = record
        return records or None


def measure_stabilities(
    dataset: Dataset,
    solvers: Mapping[str, metrics.Graded],
    *,
    depth: Any = None,
    fields: Sequence[str] = (),
    overlap: Mapping[str, metrics.Overlap] | None = None,
    people: Sequence[Response] | None = None,
    seed: int = 0,
) -> StabilityResults:
    """Measure the stability of each solver.

    If `depth` is None, a kind of depth that suits the first solver is used for all
    (`measure_stability`). For each value of `fields`, problems are compared with their roots.
    """
    overlap = overlap or {}
    found: dict[str, metrics.Stability] = {}
    for name, graded in solvers.items():
        found[name] = metrics.measure_stability(
            graded, depth=depth, overlap=overlap.get(name), seed=seed
        )
        depth = found[name].depth
    shown = {
        name: graded
        for name, graded in solvers.items()
        if name not in overlap or not overlap[name].withheld
    }
    tagged, missing = _tag_families(dataset)
    far = [
        getattr(of, str(depth)) if problem.lineage else None
        for problem, of in zip(dataset, depths(dataset), strict=True)
    ]
    return StabilityResults(
        found,
        {
            n: metrics.count_edit_kinds(graded, tagged, seed)
            for n, graded in solvers.items()
            if tagged
        },
        missing,
        {
            name: {n: metrics.compare_with_roots(graded, name, seed) for n, graded in shown.items()}
            for name in fields
        },
        None if people is None else metrics.measure_annotators(dataset, people, far, seed),
    )


def _tag_families(dataset: Dataset) -> tuple[dict[str, tuple[str, ...]], str]:
    from winosmith.language import tag

    rows = sorted({row for of in dataset.families.values() if len(of) > 1 for row in of})
    tags: dict[str, tuple[str, ...]] = {}
    with progress("Tagging", len(rows)) as advance:
        for done, row in enumerate(rows, 1):
            try:
                tags[dataset[row].id] = tag(tokenize(dataset[row].sentence))
            except MissingExtraError as error:
                return {}, str(error)
            advance(done, "")
    return tags, ""


def make_stability_sections(results: StabilityResults) -> list[report.Section]:
    tables = [
        _make_depth_table(results),
        _make_accuracy_table(results.solvers),
        *_make_tables_by_depth(results),
        _make_survival_table(results.solvers),
        *(
            _make_root_table(name, solver, rows)
            for name, of in results.root_comparisons.items()
            for solver, rows in of.items()
        ),
    ]
    if results.people:
        people = make_table(
            f"Annotators, and their error depth ({results.depth})",
            results.people.people,
            note="Errors are counted only on perturbed problems with a known depth.",
        )
        mean = ["mean", None, percent(results.people.accuracy), *[None] * 5]
        kappas = {
            "Fleiss' kappa": results.people.kappa,
            "Krippendorff alpha": results.people.alpha,
        }
        reasons = [f"{n} is not defined: {of.reason}." for n, of in kappas.items() if of.reason]
        note = " ".join(reasons)
        tables += [
            replace(people, rows=[*people.rows, mean]),
            make_table("Agreement among the annotators", kappas, note=note),
        ]
    sections = [
        report.Section("Stability", [report.PageOnly(lambda: _make_pictures(results)), *tables])
    ]
    if kinds := list(_make_kind_blocks(results)):
        sections.append(report.Section("Errors by kind of edit", kinds))
    return sections


MAX_DEPTH_ROWS = 24
"""Maximum number of depths shown in a terminal. The page and the JSON contain all depths."""

EDITS_NOTE = (
    "Edits: tokens added to the root or removed from it; a replaced token counts as both. In "
    "errors: edits in problems answered incorrectly, as EvoGrad counts them; n and errors count "
    "problems. Points: the fraction of errors minus that of all problems that differ from their "
    "root{share}. With this many kinds, some differ by "
    "chance."
)


def _make_depth_table(results: StabilityResults) -> report.Table:
    rows: Rows = []
    for solver, of in results.solvers.items():
        named = (("errors", of.mean), ("families", of.family_mean), ("first errors", of.first))
        for name, one in named:
            interval = one.interval and "–".join(to_fixed(end, ".2f") for end in one.interval)
            p_value = None if one.null.p_value is None else probability(one.null.p_value)
            rows.append(
                [solver if name == "errors" else "", name, _format_depth(one.value), interval,
                 one.errors, _format_depth(one.null.coin), p_value]
            )  # fmt: skip
    solvers = results.solvers.items()
    sizes = {n: f"{of.n:,} perturbed problems, {len(of.families):,} families" for n, of in solvers}
    unknown = {name: f"{of.unknown:,}" for name, of in solvers}
    left = f" Omitted, because their depth is unknown: {join_by_solver(unknown)}."
    left *= any(of.unknown for _, of in solvers)
    return report.Table(
        f"Error depth ({results.depth}): {join_by_solver(sizes)}",
        ["solver", "mean over", "depth", "95 %", "n", "guessing", "p"],
        rows,
        "Mean depth of all errors, of the family means, and of each family's first error. "
        "Guessing: the mean depth if a solver guesses; a depth near this value shows nothing. p: "
        "the probability of errors at least this early or late if each family's errors fell on "
        f"random problems of the family; families of one block (twins, copies, look-alikes) move "
        f"together, so p is conservative.{left}",
    )


def _make_accuracy_table(solvers: Mapping[str, metrics.Stability]) -> report.Table:
    rows: Rows = []
    for solver, of in solvers.items():
        if of.accuracy is None:
            rows.append([solver, *["—"] * 5])
            continue
        roots = None if of.roots is None else format_rate(of.roots)
        rows.append(
            [solver, *make_rate_cells(of.accuracy), roots, *make_rate_cells(of.consistency)]
        )
    return report.Table(
        "Accuracy on perturbed problems, on roots, and on whole families",
        ["solver", "perturbed", "95 %", "roots", "families", "95 %"],
        rows,
    )


def _make_tables_by_depth(results: StabilityResults) -> Iterator[report.Table]:
    solvers = {name: of for name, of in results.solvers.items() if of.by_depth}
    if not solvers:
        return
    rows: Rows = []
    if any(of.roots for of in solvers.values()):
        rows.append(["root", *_make_depth_cells([of.roots for of in solvers.values()])])
    every = sorted({depth for of in solvers.values() for depth in of.by_depth or ()})
    for depth in every:
        here = [(of.by_depth or {}).get(depth) for of in solvers.values()]
        rows.append([str(depth), *_make_depth_cells(here)])
    heads = ["accuracy", "95 %"] if len(solvers) == 1 else list(solvers)
    yield report.Table(
        f"Accuracy by {results.depth} depth",
        ["depth", "problems", *heads],
        rows,
        most=MAX_DEPTH_ROWS + len(rows) - len(every),
        beyond="The report and the JSON contain {:,} greater depths.",
    )


def _make_depth_cells(rates: Sequence[metrics.Proportion | None]) -> list[report.Value]:
    """Return cells for the number of problems and the accuracies.

    A single accuracy also has its interval.
    """
    sizes = {one.n for one in rates if one}
    if len(rates) == 1:
        return [*(sizes or (0,)), *make_rate_cells(rates[0])]
    if len(sizes) == 1:
        return [*sizes, *(None if one is None else format_rate(one) for one in rates)]
    return [None, *(None if one is None else f"{format_rate(one)} of {one.n:,}" for one in rates)]


def _make_survival_table(solvers: Mapping[str, metrics.Stability]) -> report.Table:
    deepest = max(of.survival.depths[-1] for of in solvers.values())
    shown = sorted({max(1, round(deepest * part)) for part in (0.1, 0.25, 0.5, 1)})
    rows: Rows = []
    for solver, of in solvers.items():
        curve = of.survival
        rows.append(
            [solver, sum(curve.errors) + sum(curve.censored), sum(curve.errors), curve.median,
             *(None if depth > curve.depths[-1] and curve.share[-1]
               else percent([1.0, *curve.share][bisect(curve.depths, depth)]) for depth in shown)]
        )  # fmt: skip
    return report.Table(
        "Families without an error",
        ["solver", "families", "failed", "median", *(f"to {depth}" for depth in shown)],
        rows,
        "Kaplan-Meier estimates: a family without an error is censored at its maximum depth. "
        "Median: the depth by which half of the families have an error. To: the fraction without "
        "an error up to that depth.",
    )


def _make_root_table(
    field: str, solver: str, rows: Sequence[metrics.RootComparison]
) -> report.Table:
    cautions = []
    counts = [
        f"{one.unchanged:,} of {one.accuracy.n:,} of {report.format_value(one.value)}"
        for one in rows
        if one.unchanged
    ]
    if counts:
        cautions.append(f" With the same input as the root: {', '.join(counts)}.")
    if all(one.roots.value == 1 for one in rows):
        cautions.append(
            " The solver is correct on every root: if roots were chosen for that, it can only lose "
            "points, even on versions that are no harder."
        )
    return make_table(
        f"{solver} compared with its answers to the roots, by {field}",
        {one.value: one for one in rows},
        "accuracy difference interval mcnemar adjusted consistent".split(),
        head=field.rpartition(".")[2],
        note="Accuracy, and the difference from the accuracy on the same roots, in points. "
        "McNemar: a test that treats pairs as independent. Holm: p by families, corrected for all "
        "tests. Same: both answers are correct, or both incorrect." + "".join(cautions),
    )


def _make_kind_blocks(results: StabilityResults) -> Iterator[report.Block]:
    if results.missing:
        yield report.Text([f"Kinds of edits are not counted: {results.missing}."])
    several = {name: of for name, of in results.kinds.items() if of.kinds}
    rows: Rows = []
    if several:
        for name, of in several.items():
            kinds = [
                f"{_format_edit_kind(kind)} ({kind.wrong_edits:,})" for kind in of.most_frequent
            ]
            rows.append([name, *kinds, *[None] * (3 - len(kinds))])
        yield report.Table(
            "Most frequent kinds of edits in errors, with their number of tokens",
            ["solver", "first", "second", "third"],
            rows,
        )
    for name, of in several.items():
        has_accuracy = results.solvers[name].accuracy is not None
        rows = []
        for kind in of.kinds:
            rates: list[report.Value] = ["—"] * 3
            if has_accuracy:
                interval = "—" if kind.interval is None else points_span(kind.interval)
                rates = [format_rate(kind.errors), points(kind.excess), interval]
            errors = kind.errors.n, kind.errors.right
            rows.append([_format_edit_kind(kind), kind.edits, kind.wrong_edits, *errors, *rates])
        base = f" ({percent(of.errors.value)})" if of.errors and has_accuracy else ""
        left = f" Omitted: {of.left_out:,} problems without a root." * bool(of.left_out)
        yield report.Table(
            f"Errors by kind of edit: {name}",
            ["kind", "edits", "in errors", "n", "errors", "fraction", "points", "95 %"],
            rows,
            EDITS_NOTE.format(share=base) + left,
        )


def _format_edit_kind(kind: metrics.EditKind) -> str:
    return kind.kind.replace("-", "−", 1)


def _format_depth(value: float | None) -> str | None:
    return None if value is None else to_fixed(value, ".2f")


def _make_pictures(results: StabilityResults) -> list[report.Block]:
    figures = [
        report.KeyFigure(
            f"{name}: mean depth of errors",
            of.mean.value,
            f"guessing: {to_fixed(of.mean.null.coin, '.2f')}"
            + f"; {of.mean.errors:,} errors in {of.n:,} perturbed problems" * bool(of.accuracy),
            ".2f",
        )
        for name, of in results.solvers.items()
    ]
    caption = (
        f"Left: families without an error, by {results.depth} depth; a tick marks the maximum "
        "depth of a family without an error. Right: accuracy at each depth with at least "
        f"{metrics.MIN_PLOTTED} problems, roots at 0; the dashed line shows the result of "
        "guessing. Bands are 95 % intervals."
    )
    charts = metrics.draw_stability(results.solvers)
    return [report.Cards(figures), *(report.Drawing(caption, panels) for panels in charts)]
