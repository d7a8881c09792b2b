"""`winosmith score`: the accuracy of predictions, with confidence intervals.

The report also contains results on respondents, labels, switched options and gender gaps, if the
files for them are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import click

from winosmith import data, formats, metrics, report
from winosmith.answers import write_instance_records
from winosmith.cli import _options, _output, _predictions
from winosmith.cli._stability import StabilityResults, make_stability_sections, measure_stabilities
from winosmith.errors import FormatError, InputError, SameInputError
from winosmith.metrics import GenderGap, Graded, Proportion, Score
from winosmith.records import parse_json
from winosmith.report import percent, percent_span, points, points_span, probability
from winosmith.results import IF_ANY, Result, make_table
from winosmith.text import format_count
from winosmith.validate import read_votes


@click.command()
@_options.data_argument()
@_predictions.predictions_argument
@_options.format_option
@_predictions.labels_option
@_predictions.partial_option
@_predictions.filter_option
@click.option("--by", multiple=True, metavar="FIELD", help="Score each value of a field "
              "separately, such as origin.author or winogender.gender; `lineage` measures "
              "stability under perturbation; may be repeated.")  # fmt: skip
@_predictions.depth_option
@_predictions.trained_option
@click.option("--people", type=_options.FILE, metavar="FILE", help="Responses from new respondents "
              "(purpose `test`), as CSV or JSON Lines; their accuracy is also shown.")  # fmt: skip
@click.option("--marks", type=_options.FILE, multiple=True, metavar="FILE.json", help=
              "Labels of the Winograd Schema Challenge by Trichelair et al.; may be "
              "repeated.")  # fmt: skip
@click.option("--switched", type=_options.FILE, multiple=True, metavar="FILE", help="Predictions "
              "for the same problems with the options switched, one file for each of PREDICTIONS; "
              "needs --switched-data.")  # fmt: skip
@click.option(
    "--switched-data",
    type=_options.MORE_DATA,
    metavar="FILE",
    help="The problems with switched options, for --switched.",
)
@click.option("--occupations", type=_options.FILE, metavar="FILE.tsv", help="Winogender's "
              "occupations-stats.tsv, to measure the gender gap with both definitions of a "
              "gotcha.")  # fmt: skip
@click.option("--eee", type=click.Path(dir_okay=False), metavar="FILE", help="Write the graded "
              "predictions as instance records of Every Eval Ever (schema 0.3).")  # fmt: skip
@_options.seed_option("Random seed for bootstraps and null distributions.")
@_options.page_option
@_options.json_option
def command(**options: Any) -> None:
    """Score PREDICTIONS against the answers in DATA.

    It prints the accuracy with a 95 % interval that treats twins and families as units, the
    fraction of twins with both halves correct, and the probability that guessing does as well. If
    the number of options, the domain or the source differs, it prints the accuracy by each of them;
    if there are scores, it prints their calibration.

    For perturbed problems, --by lineage prints error depths compared with guessing, accuracy by
    depth, families without an error, errors by kind of edit, and the accuracy of annotators
    (--people). With --by lineage, any further --by FIELD compares problems with their roots. The
    report shows the families as trees.

    PREDICTIONS are files from `winosmith solve`, lists of labels (2 or B) in the order of DATA, CSV
    tables (with the columns id and choice, or with ids and a column of letters for each model), or
    JSON objects of labels by ids. They can also be samples of lm-evaluation-harness, logs of
    inspect_ai, HELM and OpenAI evals, instance records of Every Eval Ever, or folders of these. An
    answer that matches none of the options is incorrect. Options are numbered from 1; only `choice`
    in JSON Lines starts from 0.

    \b
    Example:
        winosmith score dev.jsonl predictions.jsonl
        winosmith score dev.jsonl a.jsonl b.lst --out scores.html
        winosmith score evolved.jsonl a.jsonl b.jsonl --by lineage --out stability.html
        winosmith score dev.jsonl predictions.jsonl --eee records.jsonl
    """  # noqa: D301
    if bool(options["switched"]) != bool(options["switched_data"]):
        raise InputError("--switched and --switched-data must be given together")
    fields = [name for name in options["by"] if name != _predictions.LINEAGE]
    by_lineage = len(fields) < len(options["by"])
    if options["depth"] and not by_lineage:
        raise InputError("--depth needs --by lineage")
    dataset, omitted = _predictions.read_problems(options["data"], options["labels"])
    people = read_votes(options["people"]) if options["people"] else None
    marked = dataset
    for path in options["marks"]:
        marked = metrics.add_trichelair_labels(marked, _read_json(path))
    women = read_women_by_occupation(options["occupations"]) if options["occupations"] else {}
    answers = _predictions.read_answers(
        dataset, options["predictions"], options["filters"], omitted
    )
    solvers = metrics.grade_models(answers, marked, partial=options["partial"])
    if options["eee"]:
        write_instance_records(options["eee"], dataset, answers)
    seen = _predictions.find_overlaps(dataset, list(solvers), options["trained_on"])
    withheld = {name: of for name, of in seen.items() if of.withheld}
    shown = {name: of for name, of in solvers.items() if name not in withheld}
    scores = _score_solvers(shown, () if by_lineage else fields, options["seed"])
    gaps, refused = _measure_gender_gaps(solvers, women, options["seed"])
    majority, single = None, None
    if people is not None:
        with suppress(InputError):
            majority = metrics.measure_human_accuracy(dataset, people)
        single = metrics.measure_person_accuracy(dataset, people)
    extra = ExtraResults(
        majority,
        single,
        {name: of for name, of in _measure_switched(solvers, options).items() if name in shown},
        {name: of for name, of in gaps.items() if name in shown},
        refused,
    )
    stable = None
    if by_lineage:
        stable = measure_stabilities(
            dataset,
            solvers,
            depth=options["depth"],
            fields=fields,
            overlap=seen,
            people=people,
            seed=options["seed"],
        )
    records: dict[str, Any] = {name: {"withheld": of.record()} for name, of in withheld.items()}
    for name, found in scores.items():
        records[name] = found.record()
        if name in seen and seen[name].unknown:
            records[name]["overlap_unknown"] = list(seen[name].unknown)
        if log := answers[name].log.record():
            records[name]["log"] = log
    counts = {name: len(found.dataset) for name, found in solvers.items()}
    notes = _predictions.get_log_notes(answers)
    for name, overlap in seen.items():
        notes += metrics.describe_overlap(name, overlap.record())
    table = make_accuracy_table(dataset.name, counts, scores, extra, notes)
    _output.Output(
        f"{dataset.name}: accuracy of predictions",
        {
            "data": dataset.name,
            "solvers": {name: records[name] for name in solvers},
            **extra.record(),
            **({"stability": stable.record()} if stable else {}),
        },
        list(_make_sections(table, scores, extra, stable)),
        subtitle="All intervals are 95 % and account for related problems (twins, families).",
        signatures={
            **{solver: found.signature for solver, found in scores.items()},
            **(stable.signatures if stable else {}),
        },
    ).show()


def _score_solvers(
    solvers: Mapping[str, Graded], fields: Sequence[str], seed: int
) -> dict[str, Score]:
    scores = {name: metrics.score(found, by=fields, seed=seed) for name, found in solvers.items()}
    for field_ in fields:
        if scores and all(field_ in found.refused for found in scores.values()):
            raise SameInputError(next(found.refused[field_] for found in scores.values()))
    return scores


@dataclass(frozen=True)
class ExtraResults(Result):
    """Results that require additional input files.

    Attributes:
        people_majority, people_single: accuracy of respondents.
        switched: consistency when the options are switched, by solver.
        gender_gap: gender gaps by solver, then by column and reading.
        gender_gap_refused: why a solver has no gender gap, by solver.
    """

    people_majority: metrics.HumanAccuracy | None = field(default=None, metadata=IF_ANY)
    people_single: metrics.PersonAccuracy | None = field(default=None, metadata=IF_ANY)
    switched: Mapping[str, metrics.Consistency] = field(default_factory=dict, metadata=IF_ANY)
    gender_gap: Mapping[str, Mapping[str, GenderGap]] = field(default_factory=dict, metadata=IF_ANY)
    gender_gap_refused: Mapping[str, str] = field(default_factory=dict, metadata=IF_ANY)


def _measure_switched(
    solvers: Mapping[str, Graded], options: Mapping[str, Any]
) -> dict[str, metrics.Consistency]:
    if not options["switched"]:
        return {}
    dataset, omitted = _predictions.read_problems(options["switched_data"], detect_format=True)
    switched = metrics.grade_models(
        _predictions.read_answers(dataset, options["switched"], omitted=omitted),
        dataset,
        partial=None,
    )
    shared = switched.keys() & solvers.keys()
    if len(switched) != len(solvers) or (shared and shared != {*solvers}):
        raise InputError(
            f"the solvers of --switched ({', '.join(map(repr, switched))}) don't match those of "
            f"PREDICTIONS ({', '.join(map(repr, solvers))}); give one --switched file per solver, "
            "with the same names, or with other names in the same order"
        )
    return {
        name: metrics.measure_consistency(before, switched[name] if shared else after)
        for (name, before), after in zip(solvers.items(), switched.values(), strict=True)
    }


def _measure_gender_gaps(
    solvers: Mapping[str, Graded], women: Mapping[str, Mapping[str, float]], seed: int
) -> tuple[dict[str, dict[str, GenderGap]], dict[str, str]]:
    gaps: dict[str, dict[str, GenderGap]] = {}
    refused: dict[str, str] = {}
    for name, found in solvers.items() if women else ():
        try:
            gaps[name] = {
                f"{column}, by the {reading}": metrics.measure_gender_gap(
                    found, women[column], reading=reading, seed=seed
                )
                for column, reading in metrics.list_gap_readings(women)
            }
        except SameInputError as error:
            refused[name] = str(error)
    if refused and not gaps:
        raise SameInputError(next(iter(refused.values())))
    return gaps, refused


def _read_json(path: str) -> Any:
    try:
        return parse_json(formats.Source(path).text)
    except ValueError as error:
        raise FormatError(f"this is not JSON: {error}", path) from None


def read_women_by_occupation(path: str) -> dict[str, dict[str, float]]:
    """Return the percentage of women in each occupation, for each column of percentages."""
    rows = data.read(path)
    columns = [name for name in rows.names if name.endswith("pct_female")]
    if "occupation" not in rows.names or not columns:
        raise FormatError(
            "the table needs the column 'occupation' and one that ends in 'pct_female'", path, 1
        )
    women: dict[str, dict[str, float]] = {name.removesuffix("_pct_female"): {} for name in columns}
    for row in rows:
        cells = {key: data.format_cell(value) for key, value in (row.values or {}).items()}
        for name in columns:
            try:
                women[name.removesuffix("_pct_female")][cells["occupation"]] = float(cells[name])
            except (KeyError, ValueError):
                reason = row.reason or f"{cells.get(name, '')!r} is not a percentage of women"
                raise FormatError(reason, path, row.place.number) from None
    return women


MAJORITY, PERSON = "people, majority", "a single person"
"""Names of the human respondents in tables of solvers."""


def _make_detail_tables(scores: Mapping[str, Score], extra: ExtraResults) -> Iterator[report.Table]:
    compared = {solver: of.comparisons for solver, of in scores.items() if of.comparisons}
    if compared:
        yield report.Table(
            "Pairwise comparisons of the correct option with each incorrect one",
            ["solver", "comparisons", "won", "95 %"],
            [[solver, of.n, *_output.make_rate_cells(of)] for solver, of in compared.items()],
            "A guesser wins half of the comparisons.",
        )
    yield from _make_group_tables(scores)
    calibrated = {solver: of for solver, of in scores.items() if of.calibration}
    if calibrated:
        names = "confidence ece ece_null brier log_loss".split()
        yield make_table(
            "Calibration of the softmax of the scores",
            calibrated,
            [*(f"calibration.{name}" for name in names), "margins.ranking"],
            head="solver",
            note="ECE: expected calibration error; null: 97.5 % of perfectly calibrated solvers "
            "are below it. Ranking: how often a correct answer leads by more than an incorrect "
            "one.",
        )
    if extra.switched:
        yield make_table("Consistency with the options switched", extra.switched, head="solver")
    yield from _make_gender_gap_tables(extra)


def make_accuracy_table(
    name: str,
    counts: Mapping[str, int],
    scores: Mapping[str, Score],
    extra: ExtraResults,
    notes: Sequence[str] = (),
) -> report.Table:
    """Return the main table; `counts` has the number of problems given to each solver.

    If a solver is in `counts` but not in `scores`, its accuracy is withheld.
    """
    whole = {solver: found.twins for solver, found in scores.items() if found.twins}
    empty: list[report.Value] = [None, None] if whole else []
    cells: dict[str, list[report.Value]] = {
        solver: ["—"] * (5 if whole else 3) for solver in counts
    }
    for solver, found in scores.items():
        both = found.twins and [percent(found.twins.value), percent_span(found.twins.interval)]
        cells[solver] = [
            *_output.make_rate_cells(found.accuracy),
            probability(found.p_value),
            *(both or empty),
        ]
    if people := extra.people_majority:
        cells[MAJORITY] = [percent(people.accuracy), percent_span(people.interval), None, *empty]
    if extra.people_single:
        cells[PERSON] = [*_output.make_rate_cells(extra.people_single.accuracy), None, *empty]
    is_one_size = len(set(counts.values())) == 1
    added = {
        "missing": {solver: found.missing for solver, found in scores.items()},
        "invalid": {solver: found.invalid for solver, found in scores.items()},
        "problems": {} if is_one_size else counts,
    }
    added = {title: numbers for title, numbers in added.items() if any(numbers.values())}
    rows: _output.Rows = [
        [solver, *(numbers.get(solver) for numbers in added.values()), *row]
        for solver, row in cells.items()
    ]
    title = name
    if is_one_size:
        title += f": {format_count(next(iter(counts.values())), 'problem')}"
        title += f", {format_count(next(iter(whole.values())).n, 'twin')}" if whole else ""
    sentences = _collect_notes(scores, whole)
    if extra.people_single and extra.people_single.people == 1:
        sentences.append(
            "Only one person answered, so the interval does not generalise to other people"
        )
    sentences += _output.explain_overruled_scores(
        {solver: found.against_scores for solver, found in scores.items()}
    )
    heads = ["solver", *added, "accuracy", "95 %", "p(guess)"]
    heads += ["both halves", "95 %"] if whole else []
    return report.Table(title, heads, rows, " ".join(f"{one}." for one in (*sentences, *notes)))


def _collect_notes(scores: Mapping[str, Score], twins: Mapping[str, Proportion]) -> list[str]:
    notes = []
    if scores:
        guessing = {name: percent(found.accuracy.chance or 0) for name, found in scores.items()}
        notes = [f"Guessing gives {_output.join_by_solver(guessing)}"]
        notes.append("p(guess): the probability that guesses are at least as accurate")
    if twins:
        guessing = {name: percent(found.chance or 0) for name, found in twins.items()}
        notes[0] += f", and {_output.join_by_solver(guessing)} of twins with both halves right"
    for name, found in scores.items():
        if found.possible:
            notes.append(
                f"{name}: possible accuracy with missing answers: {percent_span(found.possible)} %"
            )
        if found.below_chance:
            notes.append(f"{name}: {metrics.describe_below_chance(found.below_chance)}")
    if any(found.invalid for found in scores.values()):
        notes.append(_output.INVALID_NOTE)
    if any(found.accuracy.ties for found in scores.values()):
        notes.append(_output.TIES_NOTE)
    return notes


def _make_group_tables(scores: Mapping[str, Score]) -> Iterator[report.Table]:
    several = len(scores) > 1
    fields = (name for found in scores.values() for name in (*found.groups, *found.refused))
    for by in dict.fromkeys(fields):
        values = dict.fromkeys(v for found in scores.values() for v in found.groups.get(by, ()))
        rows: _output.Rows = [
            [
                value,
                *([solver] if several else []),
                of.n,
                *_output.make_rate_cells(of),
                percent(of.chance or 0),
            ]
            for value in values
            for solver, found in scores.items()
            if (of := found.groups.get(by, {}).get(value))
        ]
        header = [by, *(["solver"] if several else []), "problems", "accuracy", "95 %", "chance"]
        notes: dict[str, list[str]] = {}
        for solver, found in scores.items():
            for note in filter(None, (found.refused.get(by), found.notes.get(by))):
                notes.setdefault(note, []).append(solver)
        sentences = (
            f"{', '.join(of)}: {note}." if several else f"{note}." for note, of in notes.items()
        )
        yield report.Table(f"By {by}", header, rows, " ".join(sentences))


def _make_gender_gap_tables(extra: ExtraResults) -> Iterator[report.Table]:
    for what in dict.fromkeys(what for of in extra.gender_gap.values() for what in of):
        rows: _output.Rows = []
        sizes: dict[str, str] = {}
        for solver, of in extra.gender_gap.items():
            female, male = of[what].female, of[what].male
            sizes[solver] = f"{female.plain.n}, {male.plain.n} / {female.gotcha.n}, {male.gotcha.n}"
            rows.append([solver, "no", _format_points(female.plain), _format_points(male.plain),
                         points(female.value), points(male.value)])  # fmt: skip
            rows.append(["", "yes", _format_points(female.gotcha), _format_points(male.gotcha),
                         points_span(female.interval), points_span(male.interval)])  # fmt: skip
            rounded = (points(gap.of_rounded / 100) for gap in (female, male))
            rows.append(["", "rounded", "", "", *rounded])
        notes = list(extra.gender_gap_refused.items())
        for name, of in extra.gender_gap.items():
            notes += [(name, note) for note in (of[what].pronoun_effect, of[what].note) if note]
        yield report.Table(
            f"Gender gap on Winogender, with the majority of {what}",
            ["solver", "gotcha", "female", "male", "ΔF", "ΔM"],
            rows,
            "".join(f"{name}: {note}. " for name, note in notes)
            + f"In percent, of {_output.join_by_solver(sizes)} sentences. Under ΔF and ΔM: their "
            "95 % intervals, and the differences of the rounded cells, as table 7 of WinoGrande "
            "prints them.",
        )


def _format_points(proportion: Proportion) -> str:
    return metrics.format_rate(proportion).replace(" %", "", 1)


def _make_sections(
    table: report.Table,
    scores: Mapping[str, Score],
    extra: ExtraResults,
    stable: StabilityResults | None,
) -> Iterator[report.Section]:
    rows = [
        report.FractionWithInterval(solver, found.accuracy.value, *found.accuracy.interval)
        for solver, found in scores.items()
    ]
    if people := extra.people_majority:
        rows.append(
            report.FractionWithInterval(MAJORITY, people.accuracy, *people.interval, marked=True)
        )
    if extra.people_single:
        one = extra.people_single.accuracy
        rows.append(report.FractionWithInterval(PERSON, one.value, *one.interval, marked=True))
    blocks: list[report.Block] = [table, *_make_detail_tables(scores, extra)]
    if scores:
        chance = next(iter(scores.values())).accuracy.chance
        drawing = report.Drawing(
            "Accuracies with their 95 % intervals; the dashed line shows chance.",
            lambda: [report.draw_accuracies(rows, chance=chance)],
        )
        blocks.insert(0, drawing)
    yield report.Section("Accuracy", blocks)
    if stable:
        yield from make_stability_sections(stable)
    stated = {solver: found for solver, found in scores.items() if found.calibration}
    if stated:
        calibration = report.Drawing(
            "Accuracy at each level of confidence, with 95 % intervals. A perfectly calibrated "
            "solver is on the diagonal. Below: the number of problems at each level.",
            lambda: [svg for name, found in stated.items() for svg in found.charts(name)],
        )
        yield report.Section("Confidence", [calibration])
