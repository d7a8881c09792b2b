"""Write the sections about the filter in the reports of `build` and `debias`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from winosmith import debias, report
from winosmith.build._filter import FilterRun
from winosmith.build._filtering import INDEPENDENT, Measures, independent_model_reads_letters
from winosmith.practice import FilterRecall
from winosmith.text import format_count

EXAMPLES = 4
"""Number of removed twins, and of kept twins, to show; the paper's table 2 shows two of each."""


STOP_TEXTS = {
    "train size": "no more problems were left than a classifier needs for training",
    "cutoff": "fewer problems than the cutoff reached the threshold",
    "one class": "all remaining problems had the same answer",
    "target size": "the target size was reached",
}
"""The explanation of each `debias.StopReason` in a report."""


def make_figures(run: FilterRun, measures: Measures) -> list[report.KeyFigure]:
    """Make the key figures of a report, such as remaining accuracy, excess and recall."""
    chosen = run.chosen_subset
    figures = [_make_accuracy_figure(run, measures)]
    if (
        run.separability is not None
        and not run.vector_fault
        and run.separability.fraction < LOW_SEPARABILITY
    ):
        figures.append(
            report.KeyFigure(
                "of twins and singles have vectors that depend on the answer",
                run.separability.fraction,
                "no model can predict the answers of the others, so they are kept unchecked",
                ".1%",
            )
        )
    if measures.threshold_null is not None:
        null = measures.threshold_null
        figures.append(
            report.KeyFigure(
                "problems reach the threshold for removal in phase 1",
                int(null.value),
                f"with the answers of whole blocks flipped at random, {_format_count(null.mean)} "
                f"would (chance limit {_format_count(null.high)})",
            )
        )
    if measures.recalls is not None:
        found = measures.recalls[chosen]
        figures.append(
            report.KeyFigure(
                "of planted artifacts were removed",
                found.recall.value,
                f"{found.recall.count:,} of {found.recall.total:,}; "
                f"{_percent(found.false_removals.value)} of sound problems were also removed",
                ".1%",
            )
        )
    if run.method == "pmi":
        figures.append(
            report.KeyFigure("is coded as y = 1 if correct", PMI_LABELS[run.pmi_label], PMI_NOTE)
        )
    overlaps = [(other, one) for other, one in run.overlaps.items() if one.share is not None]
    if overlaps:
        figures.append(
            report.KeyFigure(
                f"of removed problems are also removed with {overlaps[0][0]}",
                overlaps[0][1].share,
                _describe_seed(run)
                or "; ".join(f"{_percent(one.share)} with {other}" for other, one in overlaps[1:]),
                ".1%",
            )
        )
    return figures


PMI_LABELS: Mapping[debias.PmiLabel, str] = {
    "first-mentioned": "the option mentioned first",
    "option-1": "option 1",
}
"""Description of the option that is correct if y = 1 in PMI filtering."""

PMI_NOTE = (
    "PMI filtering counts the words of problems with y = 1; WinoGrande's paper codes option 1, "
    "which depends on the order of options"
)


LOW_SEPARABILITY = 0.5
"""The fraction of units with answer-dependent vectors is reported only up to this value."""


ACCURACY_LABEL = "accuracy of a linear model"


def _make_accuracy_figure(run: FilterRun, measures: Measures) -> report.KeyFigure:
    found = measures.verification
    if isinstance(found, str):
        if measures.before is None:
            return report.KeyFigure(ACCURACY_LABEL, "—", found)
        value = f"{_percent(measures.before.accuracy)} → —"
        return report.KeyFigure(ACCURACY_LABEL, value, f"before the filter; after it, {found}")
    before, after = found.before[debias.LINEAR], found.after[debias.LINEAR]
    others = "; ".join(
        f"{_name_model(run, name)} {_percent(guess.accuracy)}"
        for name, guess in found.after.items()
        if name != debias.LINEAR
    )
    if run.method == "none":
        value, what, two = _percent(before.accuracy), "nothing was removed", "two"
    else:
        value = f"{_percent(before.accuracy)} → {_percent(after.accuracy)}"
        what, two = "before and after the filter", "two separately filtered"
    return report.KeyFigure(
        ACCURACY_LABEL,
        value,
        f"{what} (simultaneous 95 % interval {_interval(after)}); {others}; chance is "
        f"{_percent(after.chance)}. Trained on one of {two} halves and tested on the "
        f"other, in {format_count(found.splits, 'split')}{_note_size_gap(run, found)}",
    )


MIN_FRACTION_GAP = 0.1
"""A report mentions the kept fractions of the halves and of the whole if they differ by at least
this much. They may differ because the number of AFLite's phases may depend on its seed."""


def _note_size_gap(run: FilterRun, found: debias.Verification) -> str:
    kept = len(run.kept) / len(run.pool)
    if abs(kept - found.kept) < MIN_FRACTION_GAP:
        return ""
    return f"; the filter kept {_percent(found.kept)} of the halves, {_percent(kept)} of the whole"


def write_verdict(run: FilterRun, measures: Measures) -> str:
    """Write a report's first sentence: whether a model can still predict the kept problems.

    A model differs from chance if its whole interval, or the interval of its opposite, is above
    chance. A model that is incorrect too often also reveals the answer. With K > 2 options, the
    opposite predicts a random other option. If the model is incorrect, this option is correct with
    probability 1 / (K − 1).

    The sentence names the model whose interval is furthest from chance, but covers all models. If
    nothing is predictable, the sentence is false in at most one of twenty reports, because the 95 %
    intervals are simultaneous (`debias.Verification`).
    """
    found = measures.verification
    if isinstance(found, str):
        removed = "" if len(run.kept) < len(run.pool) else ". Nothing was removed"
        return f"{found[0].upper()}{found[1:]}{removed if run.vector_fault else ''}."
    left = f"the answers of {'these' if run.method == 'none' else 'the kept'} problems"
    many = run.options is not None
    surely = {
        name: _compute_excess(of.low, of.high, of.chance, many) for name, of in found.after.items()
    }
    finds = max(surely.values()) > 0
    beyond = {
        name: _compute_excess(of.accuracy, of.accuracy, of.chance, many)
        for name, of in found.after.items()
    }
    ranked = surely if finds else beyond
    name = max(ranked, key=ranked.__getitem__)
    after, before = found.after[name], found.before[name]
    unlike = _note_size_gap(run, found)
    who = _name_model(run, name)
    right = f"{_percent(after.accuracy)} (simultaneous 95 % interval {_interval(after)}; chance is "
    right += f"{_percent(after.chance)})"
    was = "" if run.method == "none" else f"; before the filter it was {_percent(before.accuracy)}"
    if not finds:
        return (
            f"No model predicts {left} better or worse than chance. The best, {who}, is correct on "
            f"{right}{was}{unlike}."
        )
    rest = (
        "other options are correct more often than by chance"
        if many
        else "the opposite prediction is correct on the rest"
    )
    how = "" if after.low > after.chance else f"; {rest}"
    return f"A model can still predict {left}: {who} is correct on {right}{how}{was}{unlike}."


def _name_model(run: FilterRun, name: str) -> str:
    if name == INDEPENDENT and independent_model_reads_letters(run):
        return "a linear model on the letters of the options"
    return MODEL_PHRASES.get(name, f"a model of {name}")


def _compute_excess(low: float, high: float, chance: float, many_options: bool) -> float:
    """Return how far a model, or its opposite, is above chance, given its accuracy's interval.

    With K options, the opposite is correct with probability 1 / (K − 1) if the model is incorrect.
    """
    return max(low, (1 - high) * (chance / (1 - chance) if many_options else 1)) - chance


MODEL_PHRASES = {
    debias.LINEAR: "a linear model",
    debias.TWO_PIECE: "a two-piece model",
    INDEPENDENT: "a linear model on hashed words",
}
"""The models' names in a sentence."""


def _describe_seed(run: FilterRun) -> str:
    if run.method == "random":
        return "the seed determines all removals"
    if run.method == "pmi":
        return "the seed only determines ties" + (
            f" and the selection of {len(run.pool.singles):,} singles" if run.pool.singles else ""
        )
    return ""


def make_filter_record(run: FilterRun, measures: Measures) -> dict[str, Any]:
    return {
        "verdict": write_verdict(run, measures),
        "blind": bool(run.vector_fault),
        "figures": [asdict(figure) for figure in make_figures(run, measures)],
        "aflite": run.aflite and run.aflite.record(),
        "mirror": run.mirror and run.mirror[0].record(),
        "again": {other: one.record() for other, one in run.overlaps.items()},
        "sight": run.separability and run.separability.record(),
        "measures": measures.record(),
    }


def _make_rerun_section(run: FilterRun) -> report.Section:
    table = report.Table(
        "Problems removed by this run and by another run",
        [
            "other run",
            "removed by this run",
            "removed by the other run",
            "removed by both",
            report.Column("overlap", form=".1%"),
            report.Column("Jaccard", form=".2f"),
        ],
        [
            [other, one.removed, one.other, one.both, one.share, one.jaccard]
            for other, one in run.overlaps.items()
        ],
        note="Another seed: the seed plus one. "
        + (
            "Perturbed vectors: each number is multiplied by 1 plus normal noise with a standard "
            f"deviation of {debias.NOISE:g}, about the rounding error of half precision. "
            if run.method in ("aflite", "mirror")
            else ""
        )
        + "Overlap: the fraction of problems removed by this run that the other run also removed. "
        "Jaccard: removed by both, divided by removed by either.",
    )
    lead = (
        "The problems that a phase removes determine the input of the next phase, so small changes "
        "grow. The removed problems are one random draw: statements about individual problems, and "
        "small differences between settings, may not hold in another run."
        if run.method == "aflite"
        else "Another seed assigns the problems to different folds, and thus to different models."
        if run.method == "mirror"
        else f"This filter does not use vectors: {_describe_seed(run)}."
    )
    return report.Section("Would another run remove the same problems?", [table], lead=lead)


def make_filter_sections(
    run: FilterRun, measures: Measures, shown: Sequence[int]
) -> list[report.Section]:
    """Make the sections; only the rows in `shown` may be shown individually."""
    sections = []
    if run.aflite is not None and run.method == "aflite":
        sections.append(_make_phases_section(run.aflite, measures))
    if run.mirror is not None:
        sections.append(_make_mirror_section(run.mirror[0], run, measures))
    if run.overlaps:
        sections.append(_make_rerun_section(run))
    sections.append(_make_accuracy_section(run, measures))
    if measures.recalls is not None:
        sections.append(_make_recall_section(measures.recalls, run.chosen_subset))
    if measures.assessment is not None:
        blocks = debias.make_assessment_blocks(measures.assessment, measures.signature)
        if "PMI" in run.subsets:
            coding = f"In PMI filtering, y = 1 if {PMI_LABELS[run.pmi_label]} is correct."
            blocks = [*blocks, report.Text([coding], "note")]
        sections.append(report.Section("Can the answers be separated?", blocks))
        if run.method != "none":
            sections.append(_make_examples_section(run, measures.assessment, shown))
    return sections


def _make_phases_section(result: debias.AfliteResult, measures: Measures) -> report.Section:
    phases, parameters = result.phases, result.parameters
    removed = len(result.scores) - len(result.kept)
    sizes, *of_scores = result.charts()
    blocks: list[report.Block] = [
        report.Drawing("Problems left after each phase.", [sizes], signature=measures.signature)
    ]
    if phases:
        blocks.append(
            report.Drawing(
                "Problems by the fraction of held-out classifiers that predict their answer, with "
                "the threshold. Hatched problems were removed.",
                of_scores,
            )
        )
    if phases and phases[0].chance is not None:
        blocks += _make_chance_blocks(result)
    elif (null := measures.threshold_null) is not None:
        text = (
            f"In the first phase, {_format_count(null.value)} problems reached the threshold. By "
            "chance, with the answers of whole blocks (twins, copies, look-alikes) flipped at "
            f"random, {_format_count(null.mean)} do on average, and more than "
            f"{_format_count(null.high)} (the chance limit) in at most 5 % of the "
            f"{len(null.draws)} draws."
        )
        blocks.append(report.Text([text], "note"))
    missed = ""
    if parameters["target_size"] is not None and result.stop_reason != "target size":
        missed = f" The target of {parameters['target_size']:,} problems was not reached."
    lead = (
        f"{removed:,} of {len(result.scores):,} problems were removed in "
        f"{format_count(len(phases), 'phase')}, by {parameters['ensemble_size']} classifiers "
        f"trained on {parameters['train_size']:,} problems each. The filter stopped because "
        f"{STOP_TEXTS[result.stop_reason]}.{missed}"
    )
    return report.Section("AFLite, phase by phase", blocks, lead=lead)


MIRROR_INTRO = (
    "A twin is one unit: a model only needs to predict which half has which answer. Models that "
    "were not trained on a unit give it a margin, which is positive if they are correct. If "
    "nothing reveals an answer, correct and incorrect predictions are equally likely, so the "
    "number of incorrect predictions estimates the number that are correct by chance."
)
"""Explanation of the mirror filter for units with one vector each."""

MIRROR_OPTIONS_INTRO = (
    "Models that were not trained on a problem choose an option. The margin is its lead over the "
    "next option, and is positive if the choice is correct. If nothing reveals an answer, one of K "
    "predictions is correct by chance, so each incorrect prediction represents 1 / (K − 1) "
    "predictions that are correct by chance. A twin is one unit."
)
"""Explanation of the mirror filter for options with one vector each."""

KNOWLEDGE_NOTES = {
    "options": "The models read only the options, not the question. They predict answers from the "
    "wording of options, or from knowledge (“The sun is cold” is never correct), which is not an "
    "artifact. Read removed problems before you call them artifacts.",
    "sentence": "The models read the question and the options, so they may know the answer, and "
    "the filter also removes easy problems. Vectors of only the options avoid this.",
}
"""Why a correct prediction need not reveal an artifact, for each kind of embedder input."""


def _make_mirror_section(
    mirror: debias.MirrorResult, run: FilterRun, measures: Measures
) -> report.Section:
    many = run.options is not None
    agree, differ = int((mirror.margins > 0).sum()), int((mirror.margins < 0).sum())
    share = "" if mirror.false_share is None else (
        f" About {_percent(mirror.false_share)} of the removed units are estimated to be sound."
    )  # fmt: skip
    if mirror.parameters["aim"] == "chance":
        text = (
            "At every margin, the excess of agreeing units over "
            + ("the number expected by chance" if many else "disagreeing ones")
            + f" was removed at random.{share} The filter does not identify the units that reveal "
            "their answers."
        )
    elif mirror.threshold is None:
        text = (
            "Nothing was removed: at no margin are there enough agreeing units per disagreeing "
            f"unit to limit the fraction of false removals to {mirror.parameters['error']:g}."
        )
    elif not len(mirror.removed):
        text = (
            f"Nothing was removed: {sum(c >= mirror.found for c in mirror.permuted_counts)} of "
            f"{len(mirror.permuted_counts)} runs with randomly permuted keys found at least as "
            "many."
        )
    else:
        text = (
            f"Agreeing units with a margin of at least {mirror.threshold:.2f} were removed.{share} "
            f"{sum(c >= mirror.found for c in mirror.permuted_counts) or 'None'} of "
            f"{len(mirror.permuted_counts)} runs with randomly permuted keys found at least as "
            f"many (p = {mirror.p:.2f}). Beyond the threshold, only disagreeing units are "
            "kept, so the kept units are not at chance; the two-piece model uses this."
        )
    lead = MIRROR_OPTIONS_INTRO if many else MIRROR_INTRO
    notes = [
        report.Text([f"{agree:,} agree, {differ:,} disagree, {mirror.ties:,} tie. {text}"], "note")
    ]
    if read := measures.signature.parameters.get("reads"):
        notes.append(report.Text([KNOWLEDGE_NOTES[str(read)]], "note"))
    return report.Section(
        "The mirror filter",
        [
            report.Drawing(
                "Agreeing units by margin, next to the mirror image of disagreeing units"
                + (" (each weighted by 1 / (K − 1) with K options)" if many else ""),
                mirror.charts,
                signature=measures.signature,
            ),
            *notes,
        ],
        lead=lead,
    )


def _make_chance_blocks(result: debias.AfliteResult) -> list[report.Block]:
    known = [(phase, phase.chance) for phase in result.phases if phase.chance is not None]
    rows: list[list[report.Value]] = [
        [phase.number + 1, phase.candidates, null.mean,
         null.high, phase.candidates - null.mean, phase.removed, phase.by_chance]
        for phase, null in known
    ]  # fmt: skip
    removed = sum(phase.removed for phase in result.phases)
    by_chance = result.by_chance or 0.0
    drawing = report.Drawing(
        "Problems that reach the threshold in each phase, with the real answers and by chance: "
        "with the answers of whole blocks (twins, copies, look-alikes) flipped at random, and with "
        "the same training sets. At most 5 % of these draws exceed the chance limit.",
        [
            report.draw_phase_chance(
                [phase.candidates for phase, _ in known],
                [(null.mean, null.high) for _, null in known],
            )
        ],
        table=report.Table(
            "Problems that reach the threshold, by phase",
            [
                "phase",
                "found",
                report.Column("by chance", form=",.0f"),
                report.Column("chance limit", form=",.0f"),
                report.Column("excess", form=",.0f"),
                "removed",
                report.Column("removed by chance", form=",.1f"),
            ],
            rows,
        ),
    )
    text = (
        f"Of the {removed:,} removed problems, about {_format_count(by_chance)} were removed by "
        "chance: with random answers, this many problems have such scores. The excess is "
        f"{_format_count(removed - by_chance)}."
    )
    return [drawing, report.Text([text], "note")]


def _make_accuracy_section(run: FilterRun, measures: Measures) -> report.Section:
    title, found = "What models can still predict", measures.verification
    if isinstance(found, str):
        text = f"After the filter: {found}.{_describe_singles(run)}"
        return report.Section(title, [report.Text([text], "note")])
    share = report.Column("after", form=".1%")
    opposite = "the opposite" if run.options is None else "another option"
    strange = (
        "hashed letters of the options" if independent_model_reads_letters(run) else "hashed words"
    )
    table = report.Table(
        "Accuracy of models trained on one half and tested on the other, filtered separately",
        ["model", report.Column("before", form=".1%"),
         report.Column("95 % interval", numeric=True), share,
         report.Column("95 % interval", numeric=True), report.Column("chance", form=".1%")],
        [
            [name, before.accuracy, _interval(before),
             found.after[name].accuracy, _interval(found.after[name]), found.after[name].chance]
            for name, before in found.before.items()
        ],
        note=f"{found.problems:,} problems in {found.blocks:,} blocks (twins, families, copies, "
        f"look-alikes), split into halves {format_count(found.splits, 'time')}; the filter kept "
        f"{_percent(found.kept)} of the halves, and {_percent(len(run.kept) / len(run.pool))} of "
        f"the whole. Linear: a linear model on the filter’s own vectors. Two-piece: "
        f"predicts like a linear model up to a margin and {opposite} beyond it (or the reverse), "
        "because a filter removes problems with large margins. Independent: a linear model on "
        f"{strange}, which the filter never used. Intervals are from {found.draws} resamples of "
        "the blocks, with refitted models. "
        f"They are simultaneous: with 95 % confidence, all {len(found.after)} contain the true "
        "values (Bonferroni, Student’s t)."
        f"{_describe_singles(run)}",
    )  # fmt: skip
    lead = (
        "A filter that uses answers keeps problems that contradict similar problems, so a model "
        "that is both trained and tested on the kept problems scores too low. Therefore the data "
        "were split into two halves, each half was filtered separately, and models were trained "
        "on one half and tested on the other."
    )
    return report.Section(title, [table], lead=lead)


def _describe_singles(run: FilterRun) -> str:
    if run.method != "pmi" or not run.pool.singles:
        return ""
    return (
        f" PMI filtering scores whole twins; it draws the same fraction of the "
        f"{len(run.pool.singles):,} singles at random."
    )


def _make_recall_section(recalls: Mapping[str, FilterRecall], chosen: str) -> report.Section:
    kinds = list(next(iter(recalls.values())).by_kind)
    rows: list[list[report.Value]] = [
        [
            "no filter" if name == "all" else name,
            found.recall.value,
            *(found.by_kind[kind].value for kind in kinds),
            found.false_removals.value,
            found.precision.value,
        ]
        for name, found in recalls.items()
    ]
    columns = ["with artifact", *kinds, "sound", "precision"]
    table = report.Table(
        "Fraction of each kind of problem that was removed",
        ["", *(report.Column(title, form=".1%") for title in columns)],
        rows,
        note="With artifact: problems that are known to contain an artifact, in total and by kind. "
        "Sound: all other problems. Precision: the fraction of removed problems with an artifact.",
    )
    found = recalls[chosen]
    lead = (
        f"{found.recall.count:,} of {found.recall.total:,} problems with an artifact were removed, "
        f"and {found.false_removals.count:,} of {found.false_removals.total:,} sound ones."
    )
    return report.Section("Removal of known artifacts", [table], lead=lead)


def _make_examples_section(
    run: FilterRun, assessment: debias.Assessment, shown: Sequence[int]
) -> report.Section:
    found = debias.find_associations(run.pool)
    kept = set(run.kept.tolist())
    allowed = [int(row) for row in shown]
    gone = [row for row in allowed if row not in kept]
    stayed = [row for row in allowed if row in kept]
    status = {
        row: (run.reasons.get(row, "kept").replace("guessed: ", "removed: "), row in kept)
        for row in allowed
    }
    removed = found.select_strongest(gone, EXAMPLES)
    groups = (
        ("Removed twins whose words reveal the answer most clearly", removed),
        ("Kept twins, drawn at random", found.draw_sample(stayed, EXAMPLES)),
    )
    legend = report.Passages.note if any(found.clues) else ""
    blocks: list[report.Block] = [
        report.Passages(title, debias.make_passages(twins, status), legend)
        for title, twins in groups
        if twins
    ]
    incomplete = {subset.name: subset.incomplete_twins for subset in assessment.subsets}
    lead = f"Of {incomplete[run.chosen_subset]:,} twins the filter kept only one half."
    if not removed:
        lead += " No removed twin is shown, because the words of none point to its answers."
    if legend:
        clues = debias.make_clue_table(found, {n: s.tolist() for n, s in run.subsets.items()})
        blocks.append(clues)
        lead += (
            " Marked words occur with the correct (or incorrect) option of other twins more often "
            "than expected by chance. The filter may have used other information."
        )
    return report.Section("Examples", blocks, lead=lead)


def _format_count(count: float) -> str:
    return report.to_fixed(count, ",.0f")


def _percent(fraction: float | None) -> str:
    return report.format_value(fraction, ".1%")


def _interval(accuracy: debias.GuesserAccuracy) -> str:
    return f"{report.to_fixed(100 * accuracy.low)}–{_percent(accuracy.high)}"
