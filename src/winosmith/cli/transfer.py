"""`winosmith transfer`: a solver on the data sets of the field, next to the published rows."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from winosmith import study
from winosmith.cli import solve as solve_command
from winosmith.cli._options import MORE_DATA, format_option, how_read, json_option, read_train
from winosmith.cli._predictions import overlaps, trained_option
from winosmith.cli._printing import Output, echo, progress, say
from winosmith.cli._solvers import OPTIONS, check_options, default_sees, make_solver
from winosmith.cli.score import women_by_occupation
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.metrics import gap_readings
from winosmith.models import GRIDS
from winosmith.outputs import OutputFolder
from winosmith.parallel import Advance
from winosmith.solver_rule import KINDS

if TYPE_CHECKING:
    from winosmith.metrics import Overlap
    from winosmith.solve import Solver
    from winosmith.study import Solved, Target

Options = dict[str, Any]

_OCCUPATIONS = "occupations-stats.tsv"


@click.command()
@click.argument("data", metavar="DATA...", nargs=-1, required=True)
@click.option("--solver", type=click.Choice(list(KINDS)), default="encoder", show_default=True,
              help="Who answers; its options are those of winosmith solve.")  # fmt: skip
@click.option("--out", required=True, metavar="DIR", help="The report, results.json, and the "
              "predictions.")  # fmt: skip
@click.option("--name", help="What the tables call your system; its model's name if not told.")
@click.option("--tune", metavar="TRAIN", multiple=True, type=MORE_DATA, help="Of encoder: tune "
              "on this before its data set is solved once more (-ft); the data set is told by the "
              "format. May be given again.")  # fmt: skip
@click.option("--grid", type=click.Choice(list(GRIDS)), default="one", show_default=True,
              help="Of --tune: what is tried, as in winosmith train.")  # fmt: skip
@trained_option
@format_option
@click.option("--force", is_flag=True, help="Replace the results of another solver in DIR.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Solve DATA, and lay the numbers next to those of WinoGrande's tables 3, 6 and 7.

    WinoGrande's dev set has those of EvoGrad's table 4, too.

    DATA are files, told by their format, or folders with what `winosmith data get` wrote:
    WSC273, PDP, SuperGLUE-WSC, DPR, KnowRef, COPA, Winogender and WinoGrande's dev set. A file
    whose format does not tell is named: wsc=schemas.jsonl. Printed figures that can't be a share of
    their questions are pointed out.

    \b
    Example:
        winosmith transfer data --model tuned --out transfer
        winosmith transfer data --model tuned --out transfer --grid winogrande \\
            --tune dpr/train.c.txt --tune copa/copa-dev.xml
    """  # noqa: D301
    sources = {name: ctx.get_parameter_source(name) for name in options}
    told = {name for name, source in sources.items() if source is ParameterSource.COMMANDLINE}
    check_options(options["solver"], told & OPTIONS)
    options["told"] = told
    if options["tune"] and (options["solver"] != "encoder" or len(options["model"]) != 1):
        raise InputError("--tune trains an encoder; name one with --solver encoder --model")

    options["name"] = options["name"] or _name(options)
    targets, seen = _not_seen(_targets(options), options)
    withheld = {
        data: f"{study.TARGETS[data]}: {_told(options['name'], found)}"
        for data, found in seen.items()
        if found.withheld
    }
    _result(_found(targets, seen, withheld, options), withheld).tell(
        as_json=options["as_json"], out=None
    )
    if not options["as_json"]:
        echo(textwrap.fill(f"{study.MARKS}.", 80))
    say(f"Written to {options['out']}: report.html, results.json, predictions")


command.params[2:2] = [
    option for option in solve_command.command.params if option.name in {*OPTIONS, "local_context"}
]


def _targets(options: Options) -> list[Target]:

    how = {**how_read(), "format_name": options["format_name"]}
    targets: dict[str, Target] = {}
    for given in options["data"]:
        name, equals, path = given.partition("=")
        if equals and name in study.TARGETS:
            found = [(name, Path(path))]
        elif Path(given).is_dir():
            found = study.test_files(given)
        else:
            found = [("", Path(given))]
        for known, file in found:
            target = study.read_target(file, known or None, how)
            if target.name in targets:
                raise InputError(
                    f"{file} and {targets[target.name].file} are both {target.name}; name one"
                )
            targets[target.name] = target
    return list(targets.values())


def _not_seen(targets: list[Target], options: Options) -> tuple[list[Target], dict[str, Overlap]]:
    """Return the data sets that training may not have shown, and what of each it may have.

    What `winosmith train` left next to a model's weights tells it, and `--trained-on`.

    Raises:
        InputError: `--trained-on` names what is not there, or a data set of `--tune` that may have
            been seen.
        DataError: all may have been seen.
    """
    from winosmith import published, study

    name, given = options["name"], options["trained_on"]
    beside = study.TrainedOn(
        contents=tuple(c for m in options["model"] for c in published.contents_in(Path(m)))
    )
    seen: dict[str, Overlap] = {}
    for target in targets:
        problems = _problems(target)
        found = beside.overlap(problems)
        for asked in overlaps(problems, [name], given).values():
            found = replace(asked, rows={**found.rows, **asked.rows})
        if found.withheld or found.unknown:
            seen[target.name] = found
    left = [t for t in targets if t.name not in seen or not seen[t.name].withheld]
    if not left:
        told = "; ".join(f"{study.TARGETS[data]}: {_told(name, f)}" for data, f in seen.items())
        raise DataError(f"nothing is left to solve: {told}")
    return left, seen


def _told(name: str, seen: Overlap) -> str:
    from winosmith.metrics import overlap_sentences

    return "; ".join(overlap_sentences(name, seen.record()))


def _problems(target: Target) -> Dataset:
    """Return what is compared with training: a claim that is alone on its text by that text."""
    from winosmith.problem import Problem
    from winosmith.recast import to_problems

    if isinstance(target.asked, Dataset):
        return target.asked
    recast = to_problems(target.asked)
    alone = (
        Problem(f"claim {row}", left.claim.sentence, (left.claim.candidate, "-"))
        for row, left in enumerate(recast.leftovers)
    )
    return Dataset([*recast.problems, *alone], target.name)


def _found(
    targets: list[Target],
    seen: Mapping[str, Overlap],
    withheld: Mapping[str, str],
    options: Options,
) -> dict[str, list[Solved]]:
    train = read_train(options)
    solver = make_solver(options, options["told"], train, lambda done, of: None)
    recipe = {"transfer": dict(getattr(solver, "parameters", {})), "tune": {}}
    if (
        options["sees"] is None
        and recipe["transfer"].get("sees")
        and options["solver"] != "encoder"
    ):
        recipe["transfer"]["sees"] = "by the data"
    if options["tune"]:
        recipe["tune"] = {"grid": options["grid"], "files": sorted(options["tune"])}
    folder = OutputFolder.open(options["out"], recipe, force=options["force"])
    name = options["name"]
    found = {name: _solved_as_seen(targets, train, folder.path / "predictions", options)}
    if options["tune"]:
        found[f"{name}-ft"] = _tuned(targets, folder.path, options)
    found = {
        system: [
            replace(one, notes=(*one.notes, _told(name, seen[one.data])))
            if one.data in seen and seen[one.data].unknown
            else one
            for one in own
        ]
        for system, own in found.items()
    }
    _write(folder, found, withheld)
    return found


def _solved_as_seen(
    targets: list[Target], train: Dataset | None, out: Path, options: Options
) -> list[Solved]:
    """Solve each data set with what the solver is to see of it, the weights loaded once for each.

    The one solver is let go before the next is made: two may not fit into memory.

    Raises:
        DataError: the solver sees the pronoun, and a data set has none; before any work.
    """
    problems_of = {t.name: t.asked if isinstance(t.asked, Dataset) else () for t in targets}
    seen = {name: default_sees(options, problems, train) for name, problems in problems_of.items()}
    results: dict[str, Solved] = {}
    for kind in dict.fromkeys(seen.values()):
        own = [target for target in targets if seen[target.name] == kind]
        solver = make_solver(
            {**options, "sees": kind}, options["told"], train, lambda done, of: None
        )
        if getattr(solver, "parameters", {}).get("sees") == "pronoun":
            _check_pronouns(own)
        results |= {solved.data: solved for solved in _solved(own, solver, out, options)}
    return [results[target.name] for target in targets]


def _check_pronouns(targets: list[Target]) -> None:
    without = [t.name for t in targets if not all((one.pronoun or "").strip() for one in t.asked)]
    if without:
        raise DataError(
            f"the solver sees the pronoun, and not every problem of {', '.join(without)} has one "
            "that is known; leave these data sets out"
        )


def _name(options: Options) -> str:
    """Return what the model is called: its folder's name, past the `all` and `model` of a run."""
    names = []
    for model in map(Path, options["model"]):
        while model.name in ("all", "model") and model.parent.name:
            model = model.parent
        names.append(model.name)
    return "+".join(names) or str(options["solver"])


def _solved(targets: list[Target], solver: Solver, out: Path, options: Options) -> list[Solved]:

    out.mkdir(parents=True, exist_ok=True)
    results = []
    for target in targets:
        with progress(f"Solving {target.name}", len(target)) as advance:

            def show(done: int, advance: Advance = advance) -> None:
                advance(done, "")

            solved = study.solve_target(
                target,
                solver,
                out,
                women=_women(target),
                force=options["force"],
                on_progress=show,
            )
        results.append(solved)
    return results


def _women(target: Target) -> dict[str, float] | None:
    """Return the percentage of women by occupation, from the table next to Winogender."""
    if target.name != "winogender":
        return None
    table = Path(target.file).with_name(_OCCUPATIONS)
    if not table.is_file():
        say(f"{table} is not there, so there is no gender gap; winosmith data get winogender")
        return None
    columns = women_by_occupation(str(table))
    first, _ = gap_readings(columns)[0]
    return columns[first]


def _tuned(targets: list[Target], out: Path, options: Options) -> list[Solved]:
    """Fine-tune for each data set with training data, then solve it."""
    from winosmith import models, solve

    results = []
    by_name = {target.name: target for target in targets}
    for path in options["tune"]:
        training = study.read_target(path)
        target = by_name.get(training.name)
        if target is None:
            raise InputError(f"{path} is {training.name}, which is not among DATA; name it there")
        shared = study.overlap(training.asked, target.asked)
        if shared:
            say(f"{len(shared):,} texts of {target.file} are in {path} too, such as {shared[0]!r}")
        train, dev = study.paper_split(training.name, training.asked)
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
        results += _solved([target], solver, out / "predictions-ft", options)
    return results


def _write(
    folder: OutputFolder, found: dict[str, list[Solved]], withheld: Mapping[str, str]
) -> None:
    result = _result(found, withheld)
    with folder.write("results.json") as file:
        json.dump(result.record, file, indent=2, ensure_ascii=False)
        file.write("\n")
    with folder.write("report.html") as file:
        file.write(result.page())


Found = Mapping[str, Sequence["Solved"]]


def record(found: Found, withheld: Mapping[str, str]) -> dict[str, Any]:
    """Return the report as JSON can hold it: the user's figures, and and the printed ones.

    `withheld` are data sets that were not solved, with the reason.
    """
    return {
        "systems": {name: [solved.record() for solved in own] for name, own in found.items()},
        "beside": {
            name: [line.record() for line in lines]
            for name, lines in study.accuracy_lines(found).items()
        },
        "gender": [line.record() for line in study.gender_lines(found)],
        **({"withheld": dict(withheld)} if withheld else {}),
    }


def _result(found: Found, withheld: Mapping[str, str]) -> Output:
    """Return a table for each data set, with the user's rows marked, and what to know of them."""
    return Output(
        "Transfer",
        record(found, withheld),
        study.transfer_sections(found, tuple(withheld.values())),
        subtitle=f"{', '.join(found)} beside the tables of WinoGrande (AAAI 2020). {study.MARKS}.",
        apart=True,
    )
