"""`winosmith score`: the accuracy of predictions, with confidence intervals.

The report, as text, page or JSON, also has the results of respondents, labels, switched options
and gender gaps if their files are given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click

from winosmith import data, formats, metrics, report
from winosmith.cli import _predictions
from winosmith.cli._options import FILE, MORE_DATA, PAGE, data_argument, format_option, json_option
from winosmith.cli._printing import INVALID, TIES, Output, Rows, of_each, off_scores, share
from winosmith.cli._stability import Stabilities, stabilities, stability_sections
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, SameInputError
from winosmith.metrics import (
    Consistency,
    GenderGap,
    Graded,
    HumanAccuracy,
    Overlap,
    PersonAccuracy,
    Proportion,
    Score,
    overlap_sentences,
    rate,
)
from winosmith.records import parsed
from winosmith.report import percent, points, points_span, probability, span
from winosmith.response import Response
from winosmith.results import IF_ANY, Result, table
from winosmith.text import number_of


@click.command()
@data_argument()
@_predictions.predictions_argument
@format_option
@_predictions.labels_option
@_predictions.partial_option
@_predictions.filter_option
@click.option("--by", multiple=True, metavar="FIELD", help="Score each value of a field "
              "separately, such as origin.author or winogender.gender; `lineage` measures "
              "stability under perturbation; may be repeated.")  # fmt: skip
@_predictions.depth_option
@_predictions.trained_option
@click.option("--people", type=FILE, metavar="FILE", help="Responses of new people (purpose "
              "`test`), as CSV or JSON Lines: their accuracy is shown, too.")  # fmt: skip
@click.option("--marks", type=FILE, multiple=True, metavar="FILE.json", help="Trichelair's labels "
              "of the Winograd Schema Challenge; may be repeated.")  # fmt: skip
@click.option("--switched", type=FILE, multiple=True, metavar="FILE", help="Predictions for the "
              "same problems with the options switched, one file for each of PREDICTIONS; needs "
              "--switched-data.")  # fmt: skip
@click.option(
    "--switched-data",
    type=MORE_DATA,
    metavar="FILE",
    help="The problems with switched options, for --switched.",
)
@click.option("--occupations", type=FILE, metavar="FILE.tsv", help="Winogender's "
              "occupations-stats.tsv: the gender gap in both readings.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Random seed of bootstraps and nulls.")
@click.option(
    "--out", type=PAGE, metavar="FILE.html", help="Write a report with charts to this file."
)
@json_option
def command(**options: Any) -> None:
    """Score PREDICTIONS against the answers of DATA.

    Prints the accuracy with a 95 % interval that treats twins and families as units; the fraction
    of twins with both halves correct; the probability that guessing does as well; accuracy by
    number of options, domain and source, if they differ; and calibration, if there are scores.

    For perturbed problems, --by lineage prints error depths compared with guessing, accuracy by
    depth, families without an error, errors by kind of edit, and the accuracy of annotators
    (--people). Any other --by then compares problems with their roots. The report shows the
    families as trees.

    PREDICTIONS are files of `winosmith solve`; lists of labels (2 or B) in the order of DATA; CSV
    tables with the columns id and choice, or with ids and a column of letters for each model; JSON
    objects of labels by ids; samples of lm-evaluation-harness; logs of inspect_ai, HELM and OpenAI
    evals; or folders of such logs. An answer that is none of the options is incorrect.

    \b
    Example:
        winosmith score dev.jsonl predictions.jsonl
        winosmith score dev.jsonl a.jsonl b.lst --out scores.html
        winosmith score evolved.jsonl a.jsonl b.jsonl --by lineage --out stability.html
    """  # noqa: D301
    dataset = _predictions.answered(options["data"], options["format_name"], options["labels"])
    given = ExtraInputs.read(options)
    answers = _predictions.read(dataset, options["predictions"], options["filters"])
    solvers = _predictions.graded(given.marked(dataset), answers, options["partial"])
    counts = {name: len(found.dataset) for name, found in solvers.items()}
    seen = _predictions.overlaps(dataset, list(solvers), options["trained_on"])
    withheld = {name: found for name, found in seen.items() if found.withheld}
    scores = _scores(solvers, withheld, options)
    extra = extra_figures(given, dataset, solvers, options["seed"]).without(withheld)
    stable = _stable(dataset, solvers, given, seen, options)
    kept = {name: found.record() for name, found in scores.items()}
    for name, found in kept.items():
        if name in seen and seen[name].unknown:
            found["overlap_unknown"] = list(seen[name].unknown)
    for name, found in kept.items():
        if log := answers[name].log.record():
            found["log"] = log
    hidden = {name: {"withheld": found.record()} for name, found in withheld.items()}
    Output(
        f"{dataset.name}: accuracy of predictions",
        {
            "data": dataset.name,
            "solvers": {name: {**kept, **hidden}[name] for name in solvers},
            **extra.record(),
            **({"stability": stable.record()} if stable else {}),
        },
        [
            report.Section(
                "Accuracy",
                [
                    *_drawn(scores, extra),
                    *score_tables(
                        dataset.name, counts, scores, extra, seen, _predictions.log_notes(answers)
                    ),
                ],
            ),
            *(stability_sections(stable, solvers) if stable else ()),
            *_confidence(scores),
        ],
        subtitle="All intervals are 95 % and account for related problems (twins, families).",
        signatures={
            **{solver: found.signature for solver, found in scores.items()},
            **(stable.signatures if stable else {}),
        },
        cut=True,
    ).tell(as_json=options["as_json"], out=options["out"])


def _scores(
    solvers: Mapping[str, Graded], withheld: Mapping[str, Overlap], options: Mapping[str, Any]
) -> dict[str, Score]:
    """Return the score of each solver whose accuracy is not withheld.

    Raises:
        SameInputError: a field that was asked for can be compared for none of them.
    """
    from winosmith.metrics import score

    by = () if _predictions.LINEAGE in options["by"] else options["by"]
    scores = {
        name: score(found, by=by, seed=options["seed"])
        for name, found in solvers.items()
        if name not in withheld
    }
    for asked in by:
        if scores and all(asked in found.refused for found in scores.values()):
            raise SameInputError(next(found.refused[asked] for found in scores.values()))
    return scores


def _stable(
    dataset: Dataset,
    solvers: Mapping[str, Graded],
    given: ExtraInputs,
    seen: Mapping[str, Overlap],
    options: Mapping[str, Any],
) -> Stabilities | None:
    """Measure stability if that is asked for."""
    if _predictions.LINEAGE not in options["by"]:
        if options["depth"]:
            raise InputError("--depth goes with --by lineage")
        return None
    return stabilities(
        dataset,
        solvers,
        depth=options["depth"],
        fields=[name for name in options["by"] if name != _predictions.LINEAGE],
        overlap=seen,
        people=given.people,
        seed=options["seed"],
    )


@dataclass(frozen=True)
class ExtraInputs:
    """The inputs in addition to data and predictions.

    Attributes:
        people: responses of respondents.
        marks: the records of each file of marks.
        switched: the paths of predictions for the switched problems.
        switched_data: the path of those problems.
        women: column → occupation → percentage of women.
    """

    people: Sequence[Response] | None
    marks: Sequence[Any]
    switched: Sequence[str]
    switched_data: str | None
    women: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> ExtraInputs:
        """Read the files that the options name.

        Raises:
            InputError: switched predictions without their data.
        """
        from winosmith.validate import read_votes

        if bool(options["switched"]) != bool(options["switched_data"]):
            raise InputError("--switched and --switched-data belong together; give both or none")
        return cls(
            read_votes(options["people"]) if options["people"] else None,
            [_records(path) for path in options["marks"]],
            options["switched"],
            options["switched_data"],
            women_by_occupation(options["occupations"]) if options["occupations"] else {},
        )

    def marked(self, dataset: Dataset) -> Dataset:
        """Return the problems with their marks."""
        for records in self.marks:
            dataset = metrics.add_marks(dataset, records)
        return dataset


@dataclass(frozen=True)
class ExtraFigures(Result):
    """What was measured with the extra inputs.

    Attributes:
        people_majority, people_single: how well people do.
        switched: of each solver, by its name.
        gender_gap: of each solver, by its name: the gender gap by column and reading.
        gender_gap_refused: solvers, by their names, that can have none, and why.
    """

    people_majority: HumanAccuracy | None = field(default=None, metadata=IF_ANY)
    people_single: PersonAccuracy | None = field(default=None, metadata=IF_ANY)
    switched: Mapping[str, Consistency] = field(default_factory=dict, metadata=IF_ANY)
    gender_gap: Mapping[str, Mapping[str, GenderGap]] = field(default_factory=dict, metadata=IF_ANY)
    gender_gap_refused: Mapping[str, str] = field(default_factory=dict, metadata=IF_ANY)

    def without(self, solvers: Collection[str]) -> ExtraFigures:
        """Return it without the measurements of these solvers."""
        return replace(
            self,
            switched={n: of for n, of in self.switched.items() if n not in solvers},
            gender_gap={n: of for n, of in self.gender_gap.items() if n not in solvers},
        )


def extra_figures(
    more: ExtraInputs, dataset: Dataset, solvers: Mapping[str, Graded], seed: int
) -> ExtraFigures:
    """Measure the extra inputs."""
    majority = person = None
    if more.people is not None:
        person = metrics.person_accuracy(dataset, more.people)
        majority = _majority(dataset, more.people)
    gaps, refused = _gaps(more, solvers, seed)
    return ExtraFigures(majority, person, _consistency(more, solvers), gaps, refused)


def _majority(dataset: Dataset, responses: Sequence[Response]) -> HumanAccuracy | None:
    """Return the majority's accuracy; None when no problem has three subjects."""
    try:
        return metrics.human_accuracy(dataset, responses)
    except InputError:
        return None


def _consistency(more: ExtraInputs, solvers: Mapping[str, Graded]) -> dict[str, Consistency]:
    if more.switched_data is None:
        return {}
    dataset = _predictions.answered(more.switched_data, None)
    switched = _predictions.graded(dataset, _predictions.read(dataset, more.switched))
    shared = switched.keys() & solvers.keys()
    if len(switched) != len(solvers) or (shared and shared != {*solvers}):
        raise InputError(
            f"the files of --switched have {', '.join(map(repr, switched))}, and PREDICTIONS "
            f"{', '.join(map(repr, solvers))}; give one for each, by the same names, or by other "
            "names in the same order"
        )
    return {
        name: metrics.consistency(before, switched[name] if shared else after)
        for (name, before), after in zip(solvers.items(), switched.values(), strict=True)
    }


def _gaps(
    more: ExtraInputs, solvers: Mapping[str, Graded], seed: int
) -> tuple[dict[str, dict[str, GenderGap]], dict[str, str]]:
    """Return the gaps of each solver, and of whom there is none, with the reason.

    Raises:
        SameInputError: there is a gap of none.
    """
    gaps: dict[str, dict[str, GenderGap]] = {}
    refused: dict[str, str] = {}
    for name, found in solvers.items() if more.women else ():
        try:
            gaps[name] = {
                f"{column}, by the {reading}": metrics.gender_gap(
                    found, more.women[column], reading=reading, seed=seed
                )
                for column, reading in metrics.gap_readings(more.women)
            }
        except SameInputError as error:
            refused[name] = str(error)
    if refused and not gaps:
        raise SameInputError(next(iter(refused.values())))
    return gaps, refused


def _records(path: str) -> Any:
    try:
        return parsed(formats.Source(path).text)
    except ValueError as error:
        raise FormatError(f"this is not JSON: {error}", path) from None


def women_by_occupation(path: str) -> dict[str, dict[str, float]]:
    """Return the percentage of women by occupation, for each column that has it."""
    rows = data.read(path)
    columns = [name for name in rows.names if name.endswith("pct_female")]
    if "occupation" not in rows.names or not columns:
        raise FormatError(
            "the table needs the column 'occupation' and one that ends in 'pct_female'", path, 1
        )
    women: dict[str, dict[str, float]] = {name.removesuffix("_pct_female"): {} for name in columns}
    for row in rows:
        for name in columns:
            cells = {key: data.cell(value) for key, value in (row.values or {}).items()}
            try:
                women[name.removesuffix("_pct_female")][cells["occupation"]] = float(cells[name])
            except (KeyError, ValueError):
                reason = row.reason or f"{cells.get(name, '')!r} is not a percentage of women"
                raise FormatError(reason, path, row.place.number) from None
    return women


MAJORITY, PERSON = "people, majority", "a single person"
"""The names of respondents in tables of solvers."""


def score_tables(
    name: str,
    counts: Mapping[str, int],
    scores: Mapping[str, Score],
    extra: ExtraFigures,
    seen: Mapping[str, Overlap],
    log_notes: Sequence[str] = (),
) -> Iterator[report.Table]:
    """Yield the tables of scores.

    If a solver may have seen something in training, there is no score. `log_notes` are sentences
    about the logs.
    """
    yield _main(name, counts, scores, extra, seen, log_notes)
    if any(found.comparisons for found in scores.values()):
        yield _comparisons(scores)
    yield from _groups(scores)
    if any(found.calibration for found in scores.values()):
        yield _calibration(scores)
    if extra.switched:
        yield table("The options switched in the sentence", extra.switched, head="solver")
    yield from _gap_tables(extra)


def _main(
    name: str,
    counts: Mapping[str, int],
    scores: Mapping[str, Score],
    extra: ExtraFigures,
    seen: Mapping[str, Overlap],
    log_notes: Sequence[str],
) -> report.Table:
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
    if extra.people_majority:
        people = extra.people_majority
        rows.append([MAJORITY, percent(people.accuracy), span(people.interval), None, *empty])
    if extra.people_single:
        rows.append([PERSON, *share(extra.people_single.accuracy), None, *empty])
    problems = next(iter(counts.values()))
    title = f"{report.shown(name)}: {number_of(problems, 'problem')}"
    notes = []
    if scores:
        guessing = {name: percent(found.accuracy.chance or 0) for name, found in scores.items()}
        notes = [f"Guessing gives {of_each(guessing)}"]
    whole = {name: found.twins for name, found in scores.items() if found.twins}
    if whole:
        title += f", {number_of(next(iter(whole.values())).n, 'twin')}"
        guessing = {name: percent(found.chance or 0) for name, found in whole.items()}
        notes[0] += f", and {of_each(guessing)} of twins with both halves right"
    added = {"problems": counts if len(set(counts.values())) > 1 else {}}
    for what in ("invalid", "missing"):
        added[what] = {solver: getattr(found, what) for solver, found in scores.items()}
    for what, numbers in added.items():
        if any(numbers.values()):
            header.insert(1, what)
            for row in rows:
                row.insert(1, numbers.get(str(row[0])))
    if added["problems"]:
        title = report.shown(name)
    for solver, found in scores.items():
        if found.possible:
            which = f"{span(found.possible)} % are possible"
            notes.append(f"{report.shown(solver)}: with the missing answers, {which}")
        if found.below_chance:
            sentence = metrics.below_chance_sentence(found.below_chance)
            notes.append(f"{report.shown(solver)}: {sentence}")
    if any(found.invalid for found in scores.values()):
        notes.append(INVALID)
    if any(found.accuracy.ties for found in scores.values()):
        notes.append(TIES)
    if extra.people_single and extra.people_single.people == 1:
        notes.append(
            "Only one person answered, so that interval covers other problems, not other people"
        )
    notes += off_scores({solver: found.against_scores for solver, found in scores.items()})
    notes += log_notes
    for solver, overlap in seen.items():
        notes += overlap_sentences(solver, overlap.record())
    heads = [*header, *(["both halves", "95 %"] if twins else [])]
    return report.Table(title, heads, rows, " ".join(f"{note}." for note in notes))


def _whole(found: Proportion | None) -> list[report.Value]:
    """Return the fraction of twins with both halves correct, and its interval, as cells."""
    return [None, None] if found is None else [percent(found.value), span(found.interval)]


def _comparisons(scores: Mapping[str, Score]) -> report.Table:
    rows: Rows = [
        [solver, found.comparisons.n, *share(found.comparisons)]
        for solver, found in scores.items()
        if found.comparisons
    ]
    return report.Table(
        "Pairwise comparisons of the correct option with each incorrect one",
        ["solver", "comparisons", "won", "95 %"],
        rows,
        "A guesser wins half of them.",
    )


def _groups(scores: Mapping[str, Score]) -> Iterator[report.Table]:
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
        yield report.Table(f"By {by}", header, rows, _carried(scores, by))


def _carried(scores: Mapping[str, Score], by: str) -> str:
    """Return why a field is missing for some solvers, and the notes on it."""
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


def _calibration(scores: Mapping[str, Score]) -> report.Table:
    of_calibration = ("confidence", "ece", "ece_null", "brier", "log_loss")
    return table(
        "Calibration of the softmax of the scores",
        {solver: found for solver, found in scores.items() if found.calibration},
        [*(f"calibration.{name}" for name in of_calibration), "margins.ranking"],
        head="solver",
        note="ECE: expected calibration error; null: 97.5 % of perfectly calibrated solvers are "
        "below it. Ranking: how often a correct answer leads by more than an incorrect one.",
    )


def _gap_tables(extra: ExtraFigures) -> Iterator[report.Table]:
    for what in dict.fromkeys(what for of in extra.gender_gap.values() for what in of):
        rows: Rows = []
        sizes: dict[str, str] = {}
        for solver, of in extra.gender_gap.items():
            female, male = of[what].female, of[what].male
            sizes[solver] = f"{female.plain.n}, {male.plain.n} / {female.gotcha.n}, {male.gotcha.n}"
            rows.append([solver, "no", _points(female.plain), _points(male.plain),
                         points(female.value), points(male.value)])  # fmt: skip
            rows.append(["", "yes", _points(female.gotcha), _points(male.gotcha),
                         points_span(female.interval), points_span(male.interval)])  # fmt: skip
            rounded = (points(gap.of_rounded / 100) for gap in (female, male))
            rows.append(["", "rounded", "", "", *rounded])
        yield report.Table(
            f"Gender gap on Winogender, with the majority of {what}",
            ["solver", "gotcha", "female", "male", "ΔF", "ΔM"],
            rows,
            f"{_gap_notes(extra, what)}In percent, of {of_each(sizes)} sentences. "
            "Under ΔF and ΔM: their 95 % intervals, and "
            "the differences of the rounded cells, as table 7 of WinoGrande prints them.",
        )


def _gap_notes(extra: ExtraFigures, what: str) -> str:
    """Return why some solvers have no gap, and the notes on the others."""
    notes = list(extra.gender_gap_refused.items())
    for name, of in extra.gender_gap.items():
        notes += [(name, note) for note in (of[what].of_pronoun, of[what].note) if note]
    return "".join(f"{report.shown(name)}: {note}. " for name, note in notes)


def _points(found: Proportion) -> str:
    return rate(found).replace(" %", "", 1)


def _drawn(scores: Mapping[str, Score], extra: ExtraFigures) -> list[report.Drawing]:
    """Return the chart of accuracies; empty if all are withheld."""
    rows = [
        report.Measured(solver, found.accuracy.value, *found.accuracy.interval)
        for solver, found in scores.items()
    ]
    if not rows:
        return []
    if extra.people_majority:
        people = extra.people_majority
        rows.append(report.Measured(MAJORITY, people.accuracy, *people.interval, marked=True))
    if extra.people_single:
        one = extra.people_single.accuracy
        rows.append(report.Measured(PERSON, one.value, *one.interval, marked=True))
    chance = next(iter(scores.values())).accuracy.chance
    return [
        report.Drawing(
            "Accuracies with their 95 % intervals; the dashed line is chance.",
            lambda: [report.accuracies(rows, chance=chance)],
        )
    ]


def _confidence(scores: Mapping[str, Score]) -> list[report.Section]:
    """Return the section of a page with a reliability diagram of each solver that has scores."""
    stated = {solver: found for solver, found in scores.items() if found.calibration}
    caption = (
        "Accuracy at each level of confidence, with 95 % intervals. A perfectly calibrated solver "
        "is on the diagonal. Below: the number of problems at each level."
    )
    drawing = report.Drawing(caption, lambda: [_diagram(*each) for each in stated.items()])
    return [report.Section("Confidence", [drawing])] if stated else []


def _diagram(solver: str, found: Score) -> report.Svg:
    own = found.calibration
    rows = [
        report.Stated(b.confidence, b.accuracy.value, *b.accuracy.interval, b.accuracy.n)
        for b in (own.bins if own else ())
    ]
    note = f"calibration error {own.ece:.3f}, if calibrated {own.ece_null[0]:.3f}" if own else ""
    return report.reliability(rows, name=solver, note=note)
