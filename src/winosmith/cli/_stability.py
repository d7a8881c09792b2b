"""What `--by lineage` measures of solvers, in sections.

Error depths, kinds of edits, what perturbation costs, and how people do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from winosmith import metrics, report
from winosmith.cli._output import Rows, of_each, share
from winosmith.cli._printing import progress
from winosmith.dataset import Dataset
from winosmith.errors import MissingExtraError
from winosmith.lineage import depths
from winosmith.metrics import rate
from winosmith.problem import Problem
from winosmith.report import Signature, fixed, percent, points, points_span, probability
from winosmith.response import Response
from winosmith.results import table
from winosmith.text import changes, tokens


@dataclass(frozen=True)
class Stabilities:
    """How stable solvers are on perturbed problems.

    Attributes:
        solvers: of each by its name; at least one.
        kinds: the errors of each by kind of edit; empty if nothing could tag the tokens.
        missing: what is needed to tag them; empty if nothing is.
        beside: field → solver → its problems next to their roots, for each value of the field.
        people: how the annotators did, if any were given.
    """

    solvers: Mapping[str, metrics.Stability]
    kinds: Mapping[str, metrics.EditKinds] = field(default_factory=dict)
    missing: str = ""
    beside: Mapping[str, Mapping[str, Sequence[metrics.VersusRoot]]] = field(default_factory=dict)
    people: metrics.Annotators | None = None

    @property
    def signatures(self) -> dict[str, Signature]:
        """What the numbers of each solver rest on."""
        return {f"{name} by lineage": of.signature for name, of in self.solvers.items()}

    @property
    def first(self) -> metrics.Stability:
        """That of the first solver, for what all have in common."""
        return next(iter(self.solvers.values()))

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        record: dict[str, Any] = {
            "depth": self.first.depth,
            "solvers": {name: found.record() for name, found in self.solvers.items()},
            "kinds": {name: self._kinds(name) for name in self.kinds} or None,
        }
        if self.missing:
            record["kinds_need"] = self.missing
        if self.beside:
            record["beside_roots"] = {
                name: {solver: [one.record() for one in found] for solver, found in of.items()}
                for name, of in self.beside.items()
            }
        if self.people:
            record["annotators"] = self.people.record()
        return record

    def _kinds(self, solver: str) -> dict[str, Any]:
        """Return the kinds of a solver's edits; counts alone where its accuracy is withheld."""
        record = self.kinds[solver].record()
        if self.solvers[solver].accuracy is None:
            counts = ("kind", "edits", "wrong_edits")
            kinds = [{name: kind[name] for name in counts} for kind in record["kinds"]]
            record = {**record, "errors": None, "kinds": kinds}
        return record


def stabilities(
    dataset: Dataset,
    solvers: Mapping[str, metrics.Graded],
    *,
    depth: Any = None,
    fields: Sequence[str] = (),
    overlap: Mapping[str, metrics.Overlap] | None = None,
    people: Sequence[Response] | None = None,
    seed: int = 0,
) -> Stabilities:
    """Measure the stability of each solver.

    Args:
        dataset: the problems.
        solvers: what each answered, by its name.
        depth: which depth; when None, the one that `metrics.stability` finds for the first solver.
        fields: for each value of them, problems are compared with their roots.
        overlap: of each solver with what it was trained on.
        people: annotators' responses.
        seed: of bootstraps and nulls.

    Raises:
        DataError: nothing is perturbed, or no problem has such a depth.
    """
    overlap = overlap or {}
    found: dict[str, metrics.Stability] = {}
    for name, graded in solvers.items():
        found[name] = metrics.stability(graded, depth=depth, overlap=overlap.get(name), seed=seed)
        depth = found[name].depth
    shown = {
        name: graded
        for name, graded in solvers.items()
        if name not in overlap or not overlap[name].withheld
    }
    tagged, missing = _tagged(dataset)
    far = [
        getattr(of, str(depth)) if problem.lineage else None
        for problem, of in zip(dataset, depths(dataset), strict=True)
    ]
    return Stabilities(
        found,
        {n: metrics.edit_kinds(graded, tagged, seed) for n, graded in solvers.items() if tagged},
        missing,
        {
            name: {n: metrics.compare_with_roots(graded, name, seed) for n, graded in shown.items()}
            for name in fields
        },
        None if people is None else metrics.annotators(dataset, people, far, seed),
    )


def _tagged(dataset: Dataset) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return the tags of every sentence of a family, or what is needed for them."""
    from winosmith.language import tag

    rows = sorted({row for of in dataset.families.values() if len(of) > 1 for row in of})
    tags: dict[str, tuple[str, ...]] = {}
    with progress("Tagging", len(rows)) as advance:
        for done, row in enumerate(rows, 1):
            try:
                tags[dataset[row].id] = tag(tokens(dataset[row].sentence))
            except MissingExtraError as error:
                return {}, str(error)
            advance(done, "")
    return tags, ""


MOST_FAMILIES = 100
"""So many are shown; more make a page that nobody reads, and no browser opens."""


def stability_sections(
    found: Stabilities, solvers: Mapping[str, metrics.Graded]
) -> list[report.Section]:
    """Return what was measured, in sections.

    Families show the problems that all solvers answered.
    """
    tables = [
        _depths(found),
        _accuracies(found.solvers),
        *_by_depth(found),
        _survival(found.solvers),
        *(
            _against_roots(name, solver, rows)
            for name, of in found.beside.items()
            for solver, rows in of.items()
        ),
        *(_people(found.people, found.first.depth) if found.people else ()),
    ]
    pictured = report.OnPage(lambda: [_cards(found), *_drawings(found)])
    sections = [
        report.Section("Stability", [pictured, *tables]),
        report.Section("Families", [report.OnPage(lambda: [_families(found, solvers)])]),
    ]
    if kinds := list(_kinds(found)):
        sections.append(report.Section("Errors by kind of edit", kinds))
    return sections


ROWS = 24
"""A terminal lists so many depths; the report and the JSON have all."""

EDITS = (
    "Edits between root and problem; one word for another is one out and one in. "
    "In errors: edits in problems answered wrongly, which is what EvoGrad counts; n and wrong "
    "count problems. Points: more than the{share} that are wrong of all that differ from their "
    "root. "
    "Of so many kinds, some stand out by chance."
)


def _depths(found: Stabilities) -> report.Table:
    rows: Rows = []
    for solver, of in found.solvers.items():
        named = (("errors", of.mean), ("families", of.family_mean), ("first", of.first))
        for name, one in named:
            rows.append(
                [solver if name == "errors" else "", name, _number(one.value),
                 _between(one.interval), one.errors, _number(one.null.coin),
                 None if one.null.p_value is None else probability(one.null.p_value)]
            )  # fmt: skip
    solvers = found.solvers.items()
    sizes = {n: f"{of.n:,} perturbed problems, {len(of.families):,} families" for n, of in solvers}
    unknown = {name: f"{of.unknown:,}" for name, of in solvers}
    left = f" Without a known depth, and omitted: {of_each(unknown)}."
    left *= any(of.unknown for _, of in solvers)
    return report.Table(
        f"Error depth ({found.first.depth}): {of_each(sizes)}",
        ["solver", "mean of", "depth", "95 %", "n", "coin", "p"],
        rows,
        "How deep errors are: all of them, families' own means, families' first errors. "
        "Coin: the same of a coin flipper, so a depth near it tells nothing. "
        f"p: of errors so early or late, if each family's fell on any of its problems.{left}",
    )


def _accuracies(solvers: Mapping[str, metrics.Stability]) -> report.Table:
    rows: Rows = []
    for solver, of in solvers.items():
        if of.accuracy is None:
            rows.append([solver, *["—"] * 5])
            continue
        roots = None if of.roots is None else rate(of.roots)
        rows.append([solver, *share(of.accuracy), roots, *share(of.consistency)])
    return report.Table(
        "Accuracy on perturbed problems and on roots, and families that are all right",
        ["solver", "perturbed", "95 %", "roots", "families", "95 %"],
        rows,
    )


def _by_depth(found: Stabilities) -> Iterator[report.Table]:
    solvers = {name: of for name, of in found.solvers.items() if of.by_depth}
    if not solvers:
        return
    rows: Rows = []
    if any(of.roots for of in solvers.values()):
        rows.append(["root", *_at_depth([of.roots for of in solvers.values()])])
    every = sorted({depth for of in solvers.values() for depth in of.by_depth or ()})
    for depth in every:
        here = [(of.by_depth or {}).get(depth) for of in solvers.values()]
        rows.append([str(depth), *_at_depth(here)])
    heads = ["accuracy", "95 %"] if len(solvers) == 1 else list(solvers)
    yield report.Table(
        f"Accuracy by {found.first.depth} depth",
        ["depth", "problems", *heads],
        rows,
        most=ROWS + len(rows) - len(every),
        beyond="{:,} greater depths are in the report and the JSON.",
    )


def _at_depth(here: Sequence[metrics.Proportion | None]) -> list[report.Value]:
    """Return the number of problems and the accuracies; one alone has its interval.

    If solvers answered different numbers of problems, each accuracy has its own.
    """
    sizes = {one.n for one in here if one}
    if len(here) == 1:
        return [*(sizes or (0,)), *share(here[0])]
    if len(sizes) == 1:
        return [*sizes, *(None if one is None else rate(one) for one in here)]
    return [None, *(None if one is None else f"{rate(one)} of {one.n:,}" for one in here)]


def _survival(solvers: Mapping[str, metrics.Stability]) -> report.Table:
    deepest = max(of.survival.depths[-1] for of in solvers.values())
    shown = sorted({max(1, round(deepest * part)) for part in (0.1, 0.25, 0.5, 1)})
    rows: Rows = []
    for solver, of in solvers.items():
        curve = of.survival
        rows.append(
            [solver, sum(curve.errors) + sum(curve.censored), sum(curve.errors), curve.median,
             *(percent(_share_at(curve.depths, curve.share, depth)) for depth in shown)]
        )  # fmt: skip
    return report.Table(
        "Families without an error",
        ["solver", "families", "failed", "half by", *(f"to {depth}" for depth in shown)],
        rows,
        "Kaplan-Meier: a family that is right to its end counts as far as it goes. "
        "Half by: the depth by which half have an error. To: without one to that depth.",
    )


def _share_at(depths: Sequence[int], shares: Sequence[float], depth: int) -> float:
    before = [one for at, one in zip(depths, shares, strict=True) if at <= depth]
    return before[-1] if before else 1.0


def _against_roots(field: str, solver: str, found: Sequence[metrics.VersusRoot]) -> report.Table:
    return table(
        f"{report.shown(solver)} beside its answers to the roots, by {field}",
        {one.value: one for one in found},
        "accuracy difference interval mcnemar adjusted consistent".split(),
        head=field.rpartition(".")[2],
        note="Right, in percent, and points more than on the same roots. McNemar takes pairs for "
        "independent; Holm: p by families, for so many tests. Same: both right or both wrong."
        + _unchanged(found)
        + _all_right(found),
    )


def _all_right(found: Sequence[metrics.VersusRoot]) -> str:
    """Return what the points can't tell where no root is wrong, as those that were drawn for it."""
    if any(one.roots.value < 1 for one in found):
        return ""
    return (
        " It is right on every root: where they were chosen for that, points can only be lost, "
        "also on versions that are no harder."
    )


def _unchanged(found: Sequence[metrics.VersusRoot]) -> str:
    """Return how many problems were the same input as their roots, of each kind with any."""
    told = [
        f"{one.unchanged:,} of {one.accuracy.n:,} of {report.shown(one.value)}"
        for one in found
        if one.unchanged
    ]
    return f" The same input as the root, for this solver: {', '.join(told)}." if told else ""


def _kinds(found: Stabilities) -> Iterator[report.Table]:
    if found.missing:
        why = f"Why: {found.missing}."
        yield report.Table("Errors by kind of edit", [""], [["not counted"]], why)
    several = {name: of for name, of in found.kinds.items() if of.kinds}
    if several:
        yield report.Table(
            "The kinds of edits that are most frequent in errors, in token edits",
            ["solver", "1st", "2nd", "3rd"],
            [[name, *_three(of)] for name, of in several.items()],
        )
    for name, of in several.items():
        yield _kinds_of(name, of, told=found.solvers[name].accuracy is not None)


def _three(found: metrics.EditKinds) -> list[report.Value]:
    cells: list[report.Value] = [
        f"{_signed(kind)} ({kind.wrong_edits:,})" for kind in found.most_frequent
    ]
    return [*cells, None, None, None][:3]


def _signed(kind: metrics.EditKind) -> str:
    return kind.kind.replace("-", "−", 1)


def _kinds_of(solver: str, found: metrics.EditKinds, *, told: bool) -> report.Table:
    rows: Rows = [
        [_signed(kind), kind.edits, kind.wrong_edits, kind.errors.n, kind.errors.right,
         *(_rate(kind) if told else ["—"] * 3)]
        for kind in found.kinds
    ]  # fmt: skip
    base = f" {percent(found.errors.value)}" if found.errors and told else " share"
    left = f" {found.left_out:,} problems without a root are left out." * bool(found.left_out)
    return report.Table(
        f"Errors by kind of edit: {report.shown(solver)}",
        ["kind", "edits", "in errors", "n", "wrong", "share", "points", "95 %"],
        rows,
        EDITS.format(share=base) + left,
    )


def _rate(kind: metrics.EditKind) -> list[report.Value]:
    interval = "—" if kind.interval is None else points_span(kind.interval)
    return [rate(kind.errors), points(kind.excess), interval]


def _people(found: metrics.Annotators, depth: str) -> Iterator[report.Table]:
    people = table(
        f"Annotators, and their error depth ({depth})",
        found.people,
        note="Errors: on perturbed problems of a known depth.",
    )
    mean = ["mean", None, percent(found.accuracy), *[None] * 5]
    yield replace(people, rows=[*people.rows, mean])
    named = (("Fleiss' kappa", found.kappa), ("Krippendorff alpha", found.alpha))
    reasons = [f"{name} is not defined: {one.reason}." for name, one in named if one.reason]
    yield table("Agreement of the annotators", dict(named), note=" ".join(reasons))


def _number(value: float | None) -> str | None:
    return None if value is None else fixed(value, ".2f")


def _between(interval: tuple[float, float] | None) -> str | None:
    return None if interval is None else "–".join(fixed(end, ".2f") for end in interval)


Verdicts = Mapping[str, bool | None]
"""Whether each problem was answered rightly, by its id; None for a tie."""


def _cards(found: Stabilities) -> report.Cards:
    return report.Cards(
        [
            report.KeyFigure(
                f"{name}: mean depth of errors",
                of.mean.value,
                f"a coin flipper's: {fixed(of.mean.null.coin, '.2f')}; {of.mean.errors:,} errors "
                f"in {of.n:,} perturbed problems"
                if of.accuracy
                else f"a coin flipper's: {fixed(of.mean.null.coin, '.2f')}",
                ".2f",
            )
            for name, of in found.solvers.items()
        ]
    )


def _drawings(found: Stabilities) -> Iterator[report.Drawing]:
    depth = found.first.depth
    for panels in metrics.stability_drawings(found.solvers):
        yield report.Drawing(
            f"Left, families without an error, by {depth} depth; a stroke marks "
            "where a family ended without one. Right, accuracy at each depth with "
            f"{metrics.FEWEST} problems or more, roots at 0; the dashed line is guessing. Bands "
            "are 95 % intervals.",
            panels,
        )


def _families(found: Stabilities, solvers: Mapping[str, metrics.Graded]) -> report.Families:
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


def _verdicts(graded: metrics.Graded) -> list[bool | None]:
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
    marks = {"": "", "ins": "added", "del": "removed"}
    for text, kind in changes((before or problem).sentence, problem.sentence):
        yield report.Change(text, marks[kind])
