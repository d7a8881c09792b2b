"""`winosmith transfer`: results of a solver on published data sets, next to published results."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from winosmith import models, published, solve, study
from winosmith.cli import _options, solve as solve_command
from winosmith.cli._output import Output
from winosmith.cli._predictions import find_overlaps, trained_option
from winosmith.cli._printing import echo, is_json_requested, progress, say
from winosmith.cli._solvers import ALL_OPTIONS, check_options, choose_input, make_solver
from winosmith.cli.score import read_women_by_occupation
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.metrics import Overlap, describe_overlap, list_gap_readings
from winosmith.models import GRIDS
from winosmith.outputs import OutputFolder
from winosmith.problem import Problem
from winosmith.recast import to_problems
from winosmith.solve import Solver
from winosmith.solver_rule import KINDS
from winosmith.study import Target, TransferResult

Options = dict[str, Any]

_OCCUPATIONS = "occupations-stats.tsv"


@click.command()
@click.argument("data", metavar="DATA...", nargs=-1, required=True)
@click.option("--solver", type=click.Choice(list(KINDS)), default="encoder", show_default=True,
              help="Solver; its options are those of winosmith solve.")  # fmt: skip
@click.option("--out", required=True, metavar="DIR", help="Output folder for the report, "
              "results.json and the predictions.")  # fmt: skip
@click.option("--name", help="Name of your system in the tables; by default that of its model.")
@click.option("--tune", metavar="TRAIN", multiple=True, type=_options.MORE_DATA, help="For "
              "encoder: also fine-tune on this file, and report its results on the same data set "
              "(suffix -ft). The file's format determines the data set. May be "
              "repeated.")  # fmt: skip
@click.option("--grid", type=click.Choice(list(GRIDS)), default="one", show_default=True,
              help="With --tune: grid of settings, as in winosmith train.")  # fmt: skip
@trained_option
@_options.format_option
@click.option("--force", is_flag=True, help="Overwrite another solver's results in DIR.")
@_options.json_option
def command(**options: Any) -> None:
    """Solve DATA, and show the results next to those of WinoGrande's tables 3, 6 and 7.

    WinoGrande's dev set is also compared with EvoGrad's table 4.

    DATA are files, whose data set is detected from their format, or folders of `winosmith data
    get`: WSC273, PDP, SuperGLUE-WSC, DPR, KnowRef, COPA, Winogender and WinoGrande's dev set. For a
    file in another format, add the name: wsc=schemas.jsonl. Published numbers that can't be a
    fraction of their number of questions are marked.

    \b
    Example:
        winosmith transfer data --model tuned --out transfer
        winosmith transfer data --model tuned --out transfer --grid winogrande \\
            --tune dpr/train.c.txt --tune copa/copa-dev.xml
    """  # noqa: D301
    check_options(options["solver"])
    if options["tune"] and (options["solver"] != "encoder" or len(options["model"]) != 1):
        raise InputError("--tune trains an encoder; name one with --solver encoder --model")

    if not options["name"]:
        # Each model's folder, or the run's folder if the model's is named `all` or `model`.
        folders = []
        for folder in map(Path, options["model"]):
            while folder.name in ("all", "model") and folder.parent.name:
                folder = folder.parent
            folders.append(folder.name)
        options["name"] = "+".join(folders) or options["solver"]
    targets, seen = _exclude_overlapping(_read_targets(options), options)
    withheld = {
        data: f"{study.TARGETS[data]}: {_describe_overlap(options['name'], found)}"
        for data, found in seen.items()
        if found.withheld
    }
    result = _solve_all(targets, seen, withheld, options)
    result.show()
    if not is_json_requested():
        echo(textwrap.fill(f"{study.MARKS}.", 80))
    say(f"Written to {options['out']}: report.html, results.json, predictions")


command.params[2:2] = [
    option
    for option in solve_command.command.params
    if option.name in {*ALL_OPTIONS, "local_context"}
]


def _read_targets(options: Options) -> list[Target]:
    how = _options.get_reading_arguments()
    targets: dict[str, Target] = {}
    for given in options["data"]:
        name, equals, path = given.partition("=")
        if equals and name in study.TARGETS:
            found = [(name, Path(path))]
        elif Path(given).is_dir():
            found = study.list_test_files(given)
        else:
            found = [("", Path(given))]
        for known, file in found:
            target = study.read_target(file, known or None, how)
            if target.name in targets:
                raise InputError(
                    f"{file} and {targets[target.name].file} are both {target.name}; give only one "
                    "of them"
                )
            targets[target.name] = target
    return list(targets.values())


def _exclude_overlapping(
    targets: list[Target], options: Options
) -> tuple[list[Target], dict[str, Overlap]]:
    """Return the data sets to solve, and the known or possible overlaps with training data."""
    name, given = options["name"], options["trained_on"]
    trained = study.TrainingData(
        contents=tuple(c for m in options["model"] for c in published.read_digests(Path(m)))
    )
    seen: dict[str, Overlap] = {}
    for target in targets:
        problems = target.items
        if not isinstance(problems, Dataset):
            recast = to_problems(problems)
            alone = (
                Problem(f"claim {row}", left.claim.sentence, (left.claim.candidate, "-"))
                for row, left in enumerate(recast.leftovers)
            )
            problems = Dataset([*recast.problems, *alone], target.name)
        found = trained.find_overlap(problems)
        for asked in find_overlaps(problems, [name], given).values():
            unknown = tuple(dict.fromkeys((*found.unknown, *asked.unknown)))
            found = replace(asked, rows={**found.rows, **asked.rows}, unknown=unknown)
        if found.withheld or found.unknown:
            seen[target.name] = found
    left = [t for t in targets if t.name not in seen or not seen[t.name].withheld]
    if not left:
        why = "; ".join(
            f"{study.TARGETS[data]}: {_describe_overlap(name, f)}" for data, f in seen.items()
        )
        raise DataError(f"no problems are left to solve: {why}")
    return left, seen


def _describe_overlap(name: str, overlap: Overlap) -> str:
    return "; ".join(describe_overlap(name, overlap.record()))


def _solve_all(
    targets: list[Target],
    overlaps: Mapping[str, Overlap],
    withheld: Mapping[str, str],
    options: Options,
) -> Output:
    train = _options.read_training_data(options)
    parameters = dict(getattr(make_solver(options, train), "parameters", {}))
    if options["sees"] is None and parameters.get("sees") and options["solver"] != "encoder":
        parameters["sees"] = "by the data"
    recipe: dict[str, Any] = {"transfer": parameters, "tune": {}}
    if options["tune"]:
        recipe["tune"] = {"grid": options["grid"], "files": sorted(options["tune"])}
    folder = OutputFolder.open(options["out"], recipe, force=options["force"])
    name = options["name"]
    found = {name: _solve_by_input(targets, train, folder.path / "predictions", options)}
    if options["tune"]:
        found[f"{name}-ft"] = _tune_and_solve(targets, folder.path, options)
    found = {
        system: [
            replace(one, notes=(*one.notes, _describe_overlap(name, overlaps[one.data])))
            if one.data in overlaps and overlaps[one.data].unknown
            else one
            for one in own
        ]
        for system, own in found.items()
    }
    result = _make_output(found, withheld)
    document = json.dumps(result.record, indent=2, ensure_ascii=False)
    folder.write_lines("results.json", [document, "\n"])
    folder.write_lines("report.html", [result.render_page()])
    return result


def _solve_by_input(
    targets: list[Target], train: Dataset | None, out: Path, options: Options
) -> list[TransferResult]:
    """Solve the data sets, grouped by the solver's input: the blank or the pronoun.

    One solver is released before the next is made, because two may not fit into memory.
    """
    problems_of = {t.name: t.items if isinstance(t.items, Dataset) else () for t in targets}
    seen = {name: choose_input(options, of, train) for name, of in problems_of.items()}
    results: dict[str, TransferResult] = {}
    for kind in dict.fromkeys(seen.values()):
        own = [target for target in targets if seen[target.name] == kind]
        solver = make_solver({**options, "sees": kind}, train)
        if getattr(solver, "parameters", {}).get("sees") == "pronoun":
            without = [t.name for t in own if not all((p.pronoun or "").strip() for p in t.items)]
            if without:
                raise DataError(
                    f"the solver sees the pronoun, but not every problem of {', '.join(without)} "
                    "has a known pronoun; omit these data sets"
                )
        results |= {solved.data: solved for solved in _solve_targets(own, solver, out, options)}
    return [results[target.name] for target in targets]


def _solve_targets(
    targets: list[Target], solver: Solver, out: Path, options: Options
) -> list[TransferResult]:
    out.mkdir(parents=True, exist_ok=True)

    def solve_one(target: Target) -> TransferResult:
        with progress(f"Solving {target.name}", len(target)) as advance:
            return study.solve_target(
                target,
                solver,
                out,
                women=_read_women(target),
                force=options["force"],
                on_progress=lambda done: advance(done, ""),
            )

    return [solve_one(target) for target in targets]


def _read_women(target: Target) -> dict[str, float] | None:
    if target.name != "winogender":
        return None
    table = Path(target.file).with_name(_OCCUPATIONS)
    if not table.is_file():
        advice = "download it with: winosmith data get winogender"
        say(f"{table} is missing, so no gender gap is measured; {advice}")
        return None
    columns = read_women_by_occupation(str(table))
    first, _ = list_gap_readings(columns)[0]
    return columns[first]


def _tune_and_solve(targets: list[Target], out: Path, options: Options) -> list[TransferResult]:
    results = []
    by_name = {target.name: target for target in targets}
    for path in options["tune"]:
        training = study.read_target(path)
        target = by_name.get(training.name)
        if target is None:
            raise InputError(f"{path} is {training.name}, which is not among DATA; add it to DATA")
        shared = study.find_shared_sentences(training.items, target.items)
        if shared:
            example = f"for example {shared[0]!r}"
            say(f"{len(shared):,} texts in {target.file} are also in {path}, {example}")
        train, dev = study.split_as_in_paper(training.name, training.items)
        folder = out / "tuned" / training.name
        with progress(f"Fine-tuning on {training.name}, step") as advance:
            arguments: dict[str, Any] = {
                "model": options["model"][0],
                "device": options["device"],
                "on_step": lambda done, of, note: advance(done, f"of {of}, {note}"),
            }
            how = models.load_input_format(options["model"][0]) or models.InputFormat()
            settings = models.TrainingSettings(sees=options["sees"] or how.sees)
            chosen = models.train_grid(
                train, dev, out=folder, grid=GRIDS[options["grid"]], force=options["force"],
                settings=settings,
                **arguments,
            )  # fmt: skip
            say(f"{training.name}: {chosen.message}")
            tuned = study.train_on_all(chosen, train, dev, out=folder / "all", **arguments)
        solver = solve.EncoderSolver(tuned.folder, device=options["device"])
        results += _solve_targets([target], solver, out / "predictions-ft", options)
    return results


def _make_output(
    runs: Mapping[str, Sequence[TransferResult]], withheld: Mapping[str, str]
) -> Output:
    record = {
        "systems": {name: [solved.record() for solved in own] for name, own in runs.items()},
        "beside": {
            name: [line.record() for line in lines]
            for name, lines in study.make_accuracy_lines(runs).items()
        },
        "gender": [line.record() for line in study.make_gender_lines(runs)],
        **({"withheld": dict(withheld)} if withheld else {}),
    }
    return Output(
        "Transfer",
        record,
        study.make_transfer_sections(runs, tuple(withheld.values())),
        subtitle=f"{', '.join(runs)} compared with the tables of WinoGrande (AAAI 2020). "
        f"{study.MARKS}.",
    )
