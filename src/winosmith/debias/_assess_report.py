"""An assessment as blocks of a report: the same figures as its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from winosmith import report
from winosmith.debias._assess import Along, Assessment, Subset
from winosmith.debias._clues import Associations, Clue, MarkedProblem


def assessment_blocks(
    assessment: Assessment, signature: report.Signature | str = ""
) -> list[report.Block]:
    """Return the drawings of an assessment, after the paper's figure 1, and its table."""
    subsets, settings = assessment.subsets, assessment.settings
    width = settings.bin_width
    bins = f"{settings.bins} bins" if width is None else f"bins {width:g} wide"
    ways = ", each problem in both orders of its options" if assessment.turns else ""
    fitted = "once, on all problems" if settings.fit == "all" else "on each subset anew"
    clouds = report.clouds(
        [report.Cloud(s.name, s.points, s.point_answers, f"{s.rows:,} problems") for s in subsets]
    )
    return [
        report.Drawing(
            "The first two principal components of the embeddings, by answer. The PCA was fitted "
            f"{fitted}; at most {settings.points:,} problems of a subset are drawn.",
            clouds,
            signature=signature,
        ),
        report.Drawing(
            f"The first component, d₁, by answer, in {bins}{ways}. Over each panel stands the KL "
            "divergence between the answers, and in brackets what noise gives: the mean and 95 % "
            "of the KL when the answers of whole blocks (twins, copies, look-alikes) are flipped "
            "at random.",
            _histograms(subsets, "d1", "d₁"),
            signature=signature,
        ),
        report.Drawing(
            "The answer axis: the direction along which the answers lie furthest apart, fitted on "
            "one half of the twins of a subset and read on the other, and the other way around. "
            "Where the two histograms cover each other, a linear model learns nothing.",
            _histograms(subsets, "axis", "answer axis, standard deviations"),
            signature=signature,
        ),
        report.Drawing(
            "The KL divergences (diamonds) beside what noise gives (bars). Few problems in many "
            "bins differ by chance: only what lies beyond its bar is bias.",
            [
                _levels(subsets, "d1", "Along d₁"),
                _levels(subsets, "axis", "Along the answer axis"),
            ],
            signature=signature,
        ),
        *_caution(subsets),
        _table(assessment),
    ]


def _histograms(subsets: Sequence[Subset], which: str, what: str) -> tuple[report.Svg, ...]:
    found: list[tuple[str, Along]] = [(subset.name, getattr(subset, which)) for subset in subsets]
    return report.histograms(
        [report.Bars(name, along.edges, along.counts, _in_short(along)) for name, along in found],
        what=what,
    )


def _in_short(found: Along) -> str:
    if found.kl is None or found.null is None:
        return "no KL: it needs both answers"
    null = found.null
    return f"KL {found.kl:.3f} (noise {null.mean:.3f}, {null.low:.3f}–{null.high:.3f})"


def _levels(subsets: Sequence[Subset], which: str, title: str) -> report.Svg:
    rows = []
    for subset in subsets:
        found: Along = getattr(subset, which)
        ends = (None, None) if found.null is None else (found.null.low, found.null.high)
        rows.append(report.Level(subset.name, found.kl, *ends))
    return report.levels(rows, title=title)


def _caution(subsets: Sequence[Subset]) -> list[report.Block]:
    """Say so where d1 shows nothing in the first subset, which is what the filter began with."""
    null = subsets[0].d1.null if subsets else None
    if null is None or null.p <= 0.05:
        return []
    return [
        report.Text(
            [
                f"Along d₁ the answers lie no further apart in “{subsets[0].name}” than noise puts "
                "them, so d₁ can't show what the filter did: these embeddings vary most along "
                "something else than the answer. Read the answer axis instead."
            ],
            kind="note",
        )
    ]


def _table(assessment: Assessment) -> report.Table:
    rows: list[list[report.Value]] = []
    for subset in assessment.subsets:
        for name, found in (("d1", subset.d1), ("answer axis", subset.axis)):
            null = found.null
            against: list[report.Value] = (
                [None, None, None]
                if null is None
                else [null.mean, f"{null.low:.3f}–{null.high:.3f}", null.p]
            )
            rows.append([subset.name, subset.rows, name, found.kl, *against])
    interval = report.Column("95 % of the null", numeric=True)
    return report.Table(
        "KL divergence between the answers",
        ["subset", "problems", "along", "KL (nats)", "null, mean", interval, "p"],
        rows,
        note=f"Null: {assessment.settings.draws} draws with the answers of whole blocks flipped; "
        "p is one-sided. WinoGrande's own figures along d1, in units it does not state, are 2.53 "
        "for all, 2.51 for random, 2.42 for PMI and 0.12 for AFLite.",
    )


def leads_table(
    found: Associations, subsets: Mapping[str, Iterable[int]], *, caption: str = ""
) -> report.Table:
    """Return how many problems of each subset have words that lead to the answer, or away."""
    rows: list[list[report.Value]] = []
    for name, chosen in subsets.items():
        leads = found.leads(chosen)
        of = max(leads.problems, 1)
        rows.append([name, leads.problems, leads.toward, leads.toward / of,
                     leads.away, leads.away / of])  # fmt: skip
    share = report.Column("of them", form=".1%")
    return report.Table(
        caption or "Problems whose words lead to an option",
        ["subset", "problems", "to the answer", share, "away from it", share],
        rows,
        note="By the strongest clue of each problem. Where words mean nothing, as many lead away "
        "as lead to the answer.",
    )


def passages(
    groups: Sequence[Sequence[MarkedProblem]], status: Mapping[int, tuple[str, bool]]
) -> tuple[tuple[report.Passage, ...], ...]:
    """Return marked problems as passages of a report, twins together.

    Args:
        groups: from `Associations.strongest` or `.drawn`.
        status: row → what became of the problem, and whether it was kept.
    """
    return tuple(tuple(_passage(problem, status) for problem in group) for group in groups)


def _passage(problem: MarkedProblem, status: Mapping[int, tuple[str, bool]]) -> report.Passage:
    parts, at = [], 0
    for mark in problem.marks:
        parts.append(report.Part(problem.sentence[at : mark.start]))
        word = problem.sentence[mark.start : mark.end]
        parts.append(report.Part(word, "toward" if mark.toward else "away"))
        at = mark.end
    parts.append(report.Part(problem.sentence[at:]))
    told, kept = status.get(problem.row, ("", None))
    return report.Passage(
        [part for part in parts if part.text],
        problem.options,
        problem.answer,
        told,
        kept,
        tuple(_clue(clue, problem) for clue in problem.clues),
    )


def _clue(clue: Clue, problem: MarkedProblem) -> str:
    place = ", by the order of the mentions" if clue.kind == "order" else ""
    option = problem.options[clue.option] + place
    words = " + ".join(f"“{word}”" for word in clue.words)
    return f"{words} → {option}: right in {clue.right} of {clue.right + clue.wrong} other problems"
