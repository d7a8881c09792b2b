"""The chapters of a report that speak of the filter: a build's, and that of filtering alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from winosmith import debias, report
from winosmith.build._filter import FilterRun
from winosmith.build._filtering import STRANGER, Measures, by_letters
from winosmith.text import number_of

EXAMPLES = 4
"""Twins shown of the removed, and as many of the kept; the paper's table 2 shows two of each."""


ENDED = {
    "train size": "no more problems were left than a classifier is trained on",
    "cutoff": "a phase found fewer problems than the cutoff",
    "one class": "only one answer was left",
    "target size": "the target size was reached",
}
"""What the report says of `debias.StopReason`."""


def key_figures(run: FilterRun, measures: Measures) -> list[report.KeyFigure]:
    """Return the numbers that matter: what can still be guessed, the excess, what was found."""
    chosen = run.chosen
    figures = [_guessed_figure(run, measures)]
    if run.separability is not None and not run.blind and run.separability.fraction < SEEN:
        figures.append(
            report.KeyFigure(
                "of the twins and singles have vectors that differ by their answers",
                run.separability.fraction,
                "of the others no model can guess the answers, and they are kept unseen",
                ".1%",
            )
        )
    if measures.excess is not None:
        null = measures.excess
        figures.append(
            report.KeyFigure(
                "at the threshold at first",
                int(null.value),
                f"{_whole(null.mean)} when the answers of whole blocks are flipped at random "
                f"({_whole(null.low)}–{_whole(null.high)}, {null.interval})",
            )
        )
    if measures.found is not None:
        found = measures.found[chosen]
        figures.append(
            report.KeyFigure(
                "of the planted were found",
                found.recall.value,
                f"{found.recall.count:,} of {found.recall.total:,}; of the sound "
                f"{_percent(found.false_removals.value)} were taken too",
                ".1%",
            )
        )
    if run.method == "pmi":
        figures.append(report.KeyFigure("is correct if y = 1", PMI_LABELS[run.pmi_label], PMI_NOTE))
    told = [(other, one) for other, one in run.again.items() if one.share is not None]
    if told:
        figures.append(
            report.KeyFigure(
                f"of the removed go with {told[0][0]} too",
                told[0][1].share,
                _seed_draws(run)
                or "; ".join(f"with {other}, {_percent(one.share)}" for other, one in told[1:]),
                ".1%",
            )
        )
    return figures


PMI_LABELS: Mapping[debias.PmiLabel, str] = {
    "first-mentioned": "the option mentioned first",
    "option-1": "option 1",
}
"""What y = 1 of PMI filtering means, in words."""

PMI_NOTE = (
    "PMI filtering counts words with y = 1; WinoGrande's paper takes option 1, which depends on "
    "the order in which options are written"
)


SEEN = 0.5
"""If the vectors tell apart a smaller fraction of the twins and singles, a figure reports it."""


GUESSED = "guessed by a machine"


def _guessed_figure(run: FilterRun, measures: Measures) -> report.KeyFigure:
    """Return what is guessed before and after the filter, or what went in and why no more."""
    found = measures.verified
    if isinstance(found, str):
        if measures.before is None:
            return report.KeyFigure(GUESSED, "—", found)
        value = f"{_percent(measures.before.accuracy)} → —"
        return report.KeyFigure(GUESSED, value, f"before the filter; after it: {found}")
    before, after = found.before[debias.LINEAR], found.after[debias.LINEAR]
    others = "; ".join(
        f"{NAMED.get(name, name)} {_percent(guess.accuracy)}"
        for name, guess in found.after.items()
        if name != debias.LINEAR
    )
    if run.method == "none":
        value, what, apart = _percent(before.accuracy), "nothing is removed", ""
    else:
        value = f"{_percent(before.accuracy)} → {_percent(after.accuracy)}"
        what, apart = "before and after the filter", " filtered apart"
    return report.KeyFigure(
        GUESSED,
        value,
        f"{what} (simultaneous 95 % interval {_interval(after)}); {others}; chance is "
        f"{_percent(after.chance)}. Measured across halves{apart}, "
        f"{number_of(found.splits, 'split')} both ways{_unlike(run, found)}",
    )


UNLIKE = 0.1
"""If the fractions kept of a half and of the whole differ by this much, the report states it: the
end of AFLite may depend on its seed."""


def _unlike(run: FilterRun, found: debias.Verification) -> str:
    """Return a note if the filters of halves kept another fraction than this one; "" if not."""
    kept = len(run.kept) / len(run.pool)
    if abs(kept - found.kept) < UNLIKE:
        return ""
    return f"; the filters of halves kept {_percent(found.kept)}, this one {_percent(kept)}"


def verdict(run: FilterRun, measures: Measures) -> str:
    """Return what a report says first: whether a machine can still guess what was kept.

    It is one statement about all guessers, false in at most one of twenty reports on problems that
    nothing gives away: their 95 % intervals are simultaneous (`debias.Verification`). A guesser
    differs from chance if its whole interval is above chance, or if that of its opposite is: a
    guesser that is wrong too often reveals the answer, too. Of more options the opposite is any
    other one, which is right in one of K − 1 if the guesser is wrong. Of several that differ, the
    one is named whose interval is furthest off; if none does, the one that is.
    """
    found = measures.verified
    if isinstance(found, str):
        removed = "" if len(run.kept) < len(run.pool) else ". Nothing was removed"
        return f"{found[0].upper()}{found[1:]}{removed if run.blind else ''}."
    left = "these problems" if run.method == "none" else "what the filter left"
    many = run.options is not None
    surely = {
        name: _above_chance(of.low, of.high, of.chance, many) for name, of in found.after.items()
    }
    finds = max(surely.values()) > 0
    beyond = {
        name: _above_chance(of.accuracy, of.accuracy, of.chance, many)
        for name, of in found.after.items()
    }
    ranked = surely if finds else beyond
    name = max(ranked, key=ranked.__getitem__)
    after, before = found.after[name], found.before[name]
    unlike = _unlike(run, found)
    who = GUESSERS.get(name, f"a guesser of {name}")
    if name == STRANGER and by_letters(run):
        who = LETTERS
    right = f"{_percent(after.accuracy)} (simultaneous 95 % interval {_interval(after)}; chance is "
    right += f"{_percent(after.chance)})"
    was = "" if run.method == "none" else f"; before the filter it was {_percent(before.accuracy)}"
    if not finds:
        return (
            f"No guesser differs from chance on {left}: the strongest, {who}, is right on "
            f"{right}{was}{unlike}."
        )
    rest = (
        "naming another option is right more often" if many else "its opposite is right on the rest"
    )
    how = "" if after.low > after.chance else f"; {rest}"
    return f"A machine still guesses {left}: {who} is right on {right}{how}{was}{unlike}."


def _above_chance(low: float, high: float, chance: float, many: bool) -> float:
    """Return how far a guesser, or its opposite, is above chance: by an interval, or by a value.

    If the guesser is wrong, its opposite scores 1 / (K − 1) with K options.
    """
    return max(low, (1 - high) * (chance / (1 - chance) if many else 1)) - chance


NAMED = {debias.LINEAR: "linear", debias.TWO_PIECE: "two-piece", STRANGER: "a stranger"}
"""The guessers, as the report calls them."""

LETTERS = "a linear guesser on the letters of the options"
"""The stranger in a sentence, where problems are questions or have more than two options."""

GUESSERS = {
    debias.LINEAR: "a linear guesser",
    debias.TWO_PIECE: "a two-piece guesser",
    STRANGER: "a linear guesser on hashed words",
}
"""The same, in a sentence."""


def _seed_draws(run: FilterRun) -> str:
    """Return what the seed draws in a method without vectors; "" for AFLite and mirror."""
    if run.method == "random":
        return "the seed draws them all"
    if run.method == "pmi":
        return "the seed draws among ties" + (
            f", and of the {len(run.pool.singles):,} singles" if run.pool.singles else " alone"
        )
    return ""


def filter_record(run: FilterRun, measures: Measures) -> dict[str, Any]:
    """Return what a report says of a filter, as JSON can hold it."""
    return {
        "verdict": verdict(run, measures),
        "blind": bool(run.blind),
        "figures": [asdict(figure) for figure in key_figures(run, measures)],
        "aflite": run.aflite and run.aflite.record(),
        "mirror": run.mirror and run.mirror[0].record(),
        "again": {other: one.record() for other, one in run.again.items()},
        "sight": run.separability and asdict(run.separability),
        "measures": measures.record(),
    }


def _again(run: FilterRun) -> report.Section:
    """Return how much of what was removed goes again."""
    table = report.Table(
        "What this run removed, and what another one did",
        [
            "run again with",
            "removed here",
            "removed there",
            "by both",
            report.Column("of those here", form=".1%"),
            report.Column("Jaccard", form=".2f"),
        ],
        [
            [other, one.removed, one.other, one.both, one.share, one.jaccard]
            for other, one in run.again.items()
        ],
        note="Another seed: the next one. "
        + (
            "Shaken vectors: each number times 1 plus a normal draw "
            f"of {debias.NOISE:g}, about what half precision rounds off. "
            if run.method in ("aflite", "mirror")
            else ""
        )
        + "Jaccard: by both over by either.",
    )
    lead = (
        "Which problems one phase removes decides what the next ones see, so that small changes "
        "grow. What is removed by one run is one draw: a figure about single problems, and a "
        "small difference between two settings, may come out otherwise in another."
        if run.method == "aflite"
        else "Another seed deals the problems to other folds, and so to other models."
        if run.method == "mirror"
        else f"No vectors decide what this filter removes: {_seed_draws(run)}."
    )
    return report.Section("Would the same go again?", [table], lead=lead)


def filter_sections(
    run: FilterRun, measures: Measures, shown: Sequence[int]
) -> list[report.Section]:
    """Return the chapters on the filter.

    Args:
        run: the filter's.
        measures: its figures.
        shown: the rows of the pool that may be shown one by one.
    """
    sections = []
    if run.aflite is not None and run.method == "aflite":
        sections.append(_phases(run.aflite, measures))
    if run.mirror is not None:
        sections.append(_mirror(run.mirror[0], run, measures))
    if run.again:
        sections.append(_again(run))
    sections.append(_guessed(run, measures))
    if measures.found is not None:
        sections.append(_planted(measures, run))
    if measures.assessment is not None:
        blocks = debias.assessment_blocks(measures.assessment, measures.signature)
        reading = f"PMI counts words with y = 1: {PMI_LABELS[run.pmi_label]} is correct."
        lead = reading if "PMI" in run.subsets else ""
        sections.append(report.Section("How far the answers stand apart", blocks, lead=lead))
        if run.method != "none":
            sections.append(_examples(run, measures.assessment, shown))
    return sections


def _phases(result: debias.AfliteResult, measures: Measures) -> report.Section:
    """Return what AFLite did."""
    phases, parameters = result.phases, result.parameters
    removed = len(result.scores) - len(result.kept)
    drawings = [report.phase_sizes([p.size for p in phases], [p.removed for p in phases])]
    blocks: list[report.Block] = [
        report.Drawing("Problems left after each phase.", drawings, signature=measures.signature)
    ]
    if phases:
        blocks.append(
            report.Drawing(
                "The share of the ensemble that guesses a problem, with the threshold. Hatched is "
                "what the phase took, which is no more than its cutoff.",
                _scores(result),
            )
        )
    if phases and phases[0].chance is not None:
        blocks += _chance(result)
    elif (null := measures.excess) is not None:
        told = (
            f"In the first phase {_whole(null.value)} problems were at the threshold. With the "
            "answers of whole blocks (twins, copies, look-alikes) flipped at random, so that "
            "nothing is left to find, it was "
            f"{_whole(null.mean)} on average ({_whole(null.low)} to {_whole(null.high)}, "
            f"{null.interval}; {len(null.draws)} draws): so many go for nothing."
        )
        blocks.append(report.Text([told], "note"))
    missed = ""
    if parameters["target_size"] is not None and result.stopped != "target size":
        missed = f" The target of {parameters['target_size']:,} problems was not reached."
    lead = (
        f"{removed:,} of {len(result.scores):,} problems were removed in "
        f"{number_of(len(phases), 'phase')}, by {parameters['ensemble_size']} classifiers "
        f"trained on {parameters['train_size']:,} problems each. It ended because "
        f"{ENDED[result.stopped]}.{missed}"
    )
    return report.Section("AFLite, phase by phase", blocks, lead=lead)


def _scores(result: debias.AfliteResult) -> list[report.Svg]:
    """Return the scores in the first phase and in the last, on one axis."""
    edges, threshold = debias.HISTOGRAM_EDGES, float(result.parameters["threshold"])
    shown = {phase.number: phase for phase in (result.phases[0], result.phases[-1])}
    top = 1.05 * max(1, *(count for phase in shown.values() for count in phase.histogram))
    drawings = []
    for number, phase in shown.items():
        gone = result.scores[result.removed_in == number]
        taken, _ = np.histogram(gone[np.isfinite(gone)], edges)
        title = f"Scores in phase {number + 1}"
        drawings.append(
            report.scores(edges, phase.histogram, threshold, taken=taken, top=top, title=title)
        )
    return drawings


TWO_UNITS = (
    "A twin is one unit: what there is to guess of it is which half has which answer. Models "
    "that never saw a unit give it a margin, above zero where they are right. Where nothing "
    "gives an answer away, one is as likely right as wrong, so those that are wrong show how "
    "many are right by luck."
)
"""What the mirror is, where units have one vector."""

MANY_UNITS = (
    "Models that never saw a problem name one of its options, by a lead over the next one, which "
    "is the margin: above zero where they are right. Where nothing gives an answer away, the right "
    "one of K options is named once in K times, so each that is named wrongly stands for "
    "1 / (K − 1) that are right by luck. A twin is one unit."
)
"""The same, where options have a vector each."""

KNOWN = {
    "options": "The models read the options alone, not what is asked. What they guess is in how "
    "options are worded, or is known of them whatever is asked (that the sun is cold is never "
    "right): who agrees may know, and need not have been told. Look at what went before you call "
    "it an artifact.",
    "sentence": "The models read what is asked, and the options in it. Who agrees may know the "
    "answer, and need not have been told: a filter by such vectors also takes what is easy. "
    "Vectors of the options alone leave that out.",
}
"""Why what is guessed need not be given away, by what an embedder read."""


def _mirror(found: debias.MirrorResult, run: FilterRun, measures: Measures) -> report.Section:
    """Return what the mirror filter found: the margins next to their mirror image."""
    gone = np.zeros(len(found.margins), np.bool_)
    gone[found.removed] = True
    many = run.options is not None
    options = found.options if many else None
    drawing = report.mirrored(found.margins, gone, options=options, threshold=found.threshold)
    agree, differ = int((found.margins > 0).sum()), int((found.margins < 0).sum())
    share = "" if found.false_share is None else (
        f" About {_percent(found.false_share)} of what went are estimated to have had nothing that "
        "gives them away."
    )  # fmt: skip
    if found.parameters["aim"] == "chance":
        told = (
            "At every margin as many that agree were to go as there are more of them than "
            + ("luck explains" if many else "of those that disagree")
            + f"; they were drawn at random.{share} No culprit is named."
        )
    elif found.threshold is None:
        told = (
            "Nothing was removed: at no margin are there enough that agree, for each that "
            f"disagrees, to keep the share of false removals at {found.parameters['error']:g}."
        )
    elif not len(found.removed):
        told = (
            f"Nothing was removed: {sum(c >= found.found for c in found.turned)} of "
            f"{len(found.turned)} runs on keys turned at random found as much."
        )
    else:
        told = (
            f"What agrees from a margin of {found.threshold:.2f} on went.{share} Of "
            f"{len(found.turned)} runs on keys turned at random "
            f"{sum(c >= found.found for c in found.turned) or 'none'} found as much "
            f"(p = {found.p:.2f}). What is kept beyond the threshold only disagrees, so it is not "
            "at chance there; the two-piece guesser is the one that uses this."
        )
    lead = MANY_UNITS if many else TWO_UNITS
    notes = [
        report.Text([f"{agree:,} agree, {differ:,} disagree, {found.ties:,} tie. {told}"], "note")
    ]
    if read := measures.signature.parameters.get("reads"):
        notes.append(report.Text([KNOWN[str(read)]], "note"))
    return report.Section(
        "What the mirror shows",
        [
            report.Drawing(
                "Units by margin: those that agree, beside the mirror image of those that disagree"
                + (" (of K options each counts 1 / (K − 1))" if many else ""),
                [drawing],
                signature=measures.signature,
            ),
            *notes,
        ],
        lead=lead,
    )


def _chance(result: debias.AfliteResult) -> list[report.Block]:
    """Return what each phase found next to what chance puts there, and the excess."""
    known = [(phase, phase.chance) for phase in result.phases if phase.chance is not None]
    rows: list[list[report.Value]] = [
        [phase.number + 1, phase.candidates, null.mean, f"{_whole(null.low)}–{_whole(null.high)}",
         phase.candidates - null.mean, phase.removed, phase.by_chance]
        for phase, null in known
    ]  # fmt: skip
    removed = sum(phase.removed for phase in result.phases)
    by_chance = result.by_chance or 0.0
    interval = known[0][1].interval if known else ""
    drawing = report.Drawing(
        "What each phase found at the threshold by the real answers, and by answers that mean "
        "nothing: those of whole blocks (twins, copies, look-alikes) flipped at random, the same "
        "training sets.",
        [
            report.phase_chance(
                [phase.candidates for phase, _ in known],
                [(null.mean, null.low, null.high) for _, null in known],
                interval,
            )
        ],
        table=report.Table(
            "Problems at the threshold, phase by phase",
            [
                "phase",
                "found",
                report.Column("by chance", form=",.0f"),
                report.Column(interval, numeric=True),
                report.Column("excess", form=",.0f"),
                "removed",
                report.Column("of these by chance", form=",.1f"),
            ],
            rows,
        ),
    )
    told = (
        f"Of the {removed:,} that were removed, about {_whole(by_chance)} went by chance: so many "
        f"have scores as high when no answer means anything. The excess is "
        f"{_whole(removed - by_chance)}."
    )
    return [drawing, report.Text([told], "note")]


def _guessed(run: FilterRun, measures: Measures) -> report.Section:
    """Return what each guesser makes of what the filter left."""
    title, found = "What a machine can still guess", measures.verified
    if isinstance(found, str):
        told = f"After the filter: {found}.{_drawn(run)}"
        return report.Section(title, [report.Text([told], "note")])
    share = report.Column("after", form=".1%")
    opposite = "the opposite" if run.options is None else "another option"
    strange = "hashed letters of the options" if by_letters(run) else "hashed words"
    table = report.Table(
        "Guessed of one half by what learnt from the other, each half filtered apart",
        ["guesser", report.Column("before", form=".1%"),
         report.Column("95 % interval", numeric=True), share,
         report.Column("95 % interval", numeric=True), report.Column("chance", form=".1%")],
        [
            [NAMED.get(name, name), before.accuracy, _interval(before),
             found.after[name].accuracy, _interval(found.after[name]), found.after[name].chance]
            for name, before in found.before.items()
        ],
        note=f"{found.problems:,} problems in {found.blocks:,} blocks (twins, families, copies, "
        f"look-alikes), dealt to halves {number_of(found.splits, 'time')}; the filter kept "
        f"{_percent(found.kept)} of a half, and {_percent(len(run.kept) / len(run.pool))} of the "
        f"whole. Linear: on the filter’s own vectors. Two-piece: "
        f"follows a linear model of the whole half up to a margin and says {opposite} beyond it, "
        f"or the reverse. A stranger: a linear model on {strange} that the filter never saw. "
        f"Intervals are of {found.draws} resamples of the blocks, every guesser refitted. They are "
        f"simultaneous: with 95 % confidence, all {len(found.after)} hold their true values "
        "(Bonferroni, Student’s t)."
        f"{_drawn(run)}",
    )  # fmt: skip
    lead = (
        "A filter that sees answers keeps what disagrees with the rest of its kind, so a model "
        "that is trained and tested on what it kept says nothing. Here the whole filter ran on "
        "each half alone."
    )
    return report.Section(title, [table], lead=lead)


def _drawn(run: FilterRun) -> str:
    """Return what PMI does with problems that it has no score for."""
    if run.method != "pmi" or not run.pool.singles:
        return ""
    return (
        f" PMI filtering scores whole twins; of the {len(run.pool.singles):,} singles it draws as "
        "large a share at random."
    )


def _planted(measures: Measures, run: FilterRun) -> report.Section:
    assert measures.found is not None  # noqa: S101 - the caller looked
    kinds = list(next(iter(measures.found.values())).by_kind)
    rows: list[list[report.Value]] = [
        [
            "no filter" if name == "all" else name,
            found.recall.value,
            *(found.by_kind[kind].value for kind in kinds),
            found.false_removals.value,
            found.precision.value,
        ]
        for name, found in measures.found.items()
    ]
    columns = ["planted", *kinds, "sound", "planted among removed"]
    table = report.Table(
        "The share of each kind of problem that was removed",
        ["", *(report.Column(title, form=".1%") for title in columns)],
        rows,
        note="Planted: problems known to hold an artifact, all and by kind. Sound: the others; "
        "what is removed of them is lost for nothing.",
    )
    found = measures.found[run.chosen]
    lead = (
        f"Of {found.recall.total:,} planted problems {found.recall.count:,} were removed, and of "
        f"{found.false_removals.total:,} sound ones {found.false_removals.count:,}."
    )
    return report.Section("What was planted, and what was found", [table], lead=lead)


def _examples(
    run: FilterRun, assessment: debias.Assessment, shown: Sequence[int]
) -> report.Section:
    found = debias.associations(run.pool)
    kept = set(run.kept.tolist())
    allowed = [int(row) for row in shown]
    gone = [row for row in allowed if row not in kept]
    stayed = [row for row in allowed if row in kept]
    status = {
        row: (run.reasons.get(row, "kept").replace("guessed: ", "removed: guessed "), row in kept)
        for row in allowed
    }
    groups = (
        (
            "Removed: twins that their words give away the most",
            found.select_strongest(gone, EXAMPLES),
        ),
        ("Kept: twins drawn at random", found.draw_sample(stayed, EXAMPLES)),
    )
    blocks: list[report.Block] = [
        report.Passages(title, debias.make_passages(twins, status))
        for title, twins in groups
        if twins
    ]
    parted = {subset.name: subset.parted for subset in assessment.subsets}
    blocks.append(debias.leads_table(found, {n: s.tolist() for n, s in run.subsets.items()}))
    lead = (
        f"The filter left {parted[run.chosen]:,} twins with one half. Marked words stood "
        "with the right option, or with the wrong one, in other twins more often than chance "
        "allows; what the filter saw may be something else."
    )
    return report.Section("Examples", blocks, lead=lead)


def _whole(count: float) -> str:
    """Return a mean count as the tables next to it print it."""
    return report.fixed(count, ",.0f")


def _percent(share: float | None) -> str:
    return report.shown(share, ".1%")


def _interval(guess: debias.GuesserAccuracy) -> str:
    return f"{report.fixed(100 * guess.low)}–{_percent(guess.high)}"
