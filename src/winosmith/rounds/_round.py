"""Run a round: build a release, measure its difficulty, and draw the roots of the next round.

A round first builds a release (`winosmith.build`). Then, like EvoGrad, it solves the release, and
finds the problems that every solver answers correctly and those that fool a solver. The recipe
determines the build, the solvers, and the number of roots for the next round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from winosmith import build, formats, metrics
from winosmith._version import __version__
from winosmith.build import Recipe
from winosmith.dataset import Dataset
from winosmith.debias import LINEAR
from winosmith.errors import DataError, InputError, RecipeError
from winosmith.finished import CHECKSUMS_NAME, BuildFiles
from winosmith.options import declaration
from winosmith.outputs import PRIVATE, OutputFolder, sha256
from winosmith.parallel import Step, no_progress
from winosmith.records import read_toml
from winosmith.results import Result, to_json
from winosmith.rounds._report import RECORD, Change, make_round_page, pair_results, read_record
from winosmith.rounds._solving import (
    NextRound,
    Predictions,
    collect_predictions,
    measure_solver,
    plan_next_round,
)
from winosmith.seen import check_pronouns
from winosmith.solver_rule import SolverRule
from winosmith.study import find_training_data
from winosmith.validate import select_eligible

ROUND_KEYS = ("solvers", "roots", "redraw")
"""The keys of a round's recipe that do not belong to the build."""


@declaration
class RoundRecipe:
    """The recipe of a round: everything that determines its results."""

    build: Recipe
    """Recipe for building this round's release from the pool."""
    solvers: tuple[SolverRule, ...]
    """The reference solvers, with distinct names. Solvers with `learn` are trained on this round's
    train_xl; the others are used as they are."""
    roots: Annotated[int, Field(ge=0)] = 14
    """Maximum number of roots to draw for the next round; EvoGrad drew 14 (section 3.1)."""
    redraw: bool = False
    """Draw train, dev and test again; by default, problems stay in the previous round's split."""
    folder: Path = field(default=Path(), compare=False)
    """Base folder for the paths of solvers."""

    def __post_init__(self) -> None:
        if not self.solvers:
            raise ValueError("a round needs at least one [[solvers]] table")
        names = [rule.name for rule in self.solvers]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two solvers are named {twice[0]!r}; rename one")
        if self.build.split.dev <= 0:
            raise ValueError("split.dev is 0, but a round measures its solvers on dev")


def read_round(path: str | Path) -> RoundRecipe:
    """Read a round's recipe: a build's recipe with `[[solvers]]`, `roots` and `redraw`.

    Paths are relative to the folder of the recipe.

    Raises:
        RecipeError: the file is not TOML, or has an unknown key or an invalid value.
    """
    path = Path(path)
    table = read_toml(path)
    try:
        return parse_round(table, folder=path.resolve().parent)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from None


def parse_round(table: Mapping[str, Any], *, folder: Path | None = None) -> RoundRecipe:
    """Parse a round's recipe from a TOML table.

    >>> solvers = [{"name": "pairs", "solver": "association", "learn": True}]
    >>> parse_round({"name": "mine", "data": "pool.jsonl", "solvers": solvers}).solvers[0].learn
    True
    """
    own = {key: table[key] for key in ROUND_KEYS if key in table}
    solvers = own.pop("solvers", [])
    if not isinstance(solvers, list):
        raise RecipeError(f"solvers is {solvers!r}; it must be a list of tables: [[solvers]]")
    return RoundRecipe(
        build.parse_recipe(
            {key: value for key, value in table.items() if key not in ROUND_KEYS}, folder=folder
        ),
        tuple(SolverRule.parse(rule, learns=True) for rule in solvers),
        **own,
        folder=folder or Path(),
    )


BUILD = "build"
"""The subfolder of a round with the release."""


@dataclass(frozen=True, eq=False)
class Round:
    """A finished round.

    Attributes:
        folder: folder of the round.
        record: content of `round.json`.
        changes: the results of this round and of the previous one.
    """

    folder: Path
    record: Mapping[str, Any]
    changes: tuple[Change, ...]

    @property
    def report(self) -> Path:
        """Path of the HTML report."""
        return self.folder / "report.html"


def run_round(
    recipe: RoundRecipe,
    out: str | Path,
    *,
    last: str | Path | None = None,
    stored: str | Path | None = None,
    force: bool = False,
    step: Step | None = None,
) -> Round:
    """Run a round: build the release, measure the solvers, and draw the next roots.

    Writes `build/` (the release of this round), `predictions/`, `roots.jsonl` and `fooling.jsonl`
    for the next round, `round.json` and `report.html`. Files that reveal answers are written to
    `private/`. After an interruption, the same call resumes the round.

    Args:
        recipe: the recipe, from `read_round`.
        out: output folder.
        last: folder of the previous round; None in the first round. Problems stay in the split of
            earlier rounds, unless the recipe has `redraw`.
        stored: a finished folder of the same round, whose vectors and predictions are reused, so
            that no model is needed and the output is byte-identical.
        force: whether to replace the results of another recipe.
        step: a function that shows progress.

    Raises:
        InputError: data, votes, solvers or folders can't be used.
        OutputError: the output folder is in use or can't be written.
    """
    _check_pronouns_known(recipe)
    show = step or no_progress
    before = read_record(last) if last is not None else None
    kept = None if stored is None else Path(stored)
    if kept is not None and not (kept / CHECKSUMS_NAME).is_file():
        raise InputError(f"{kept} has no finished round with vectors and predictions to reuse")
    folder = OutputFolder.open(out, _make_recipe_record(recipe, before), force=force)
    place = folder.path / BUILD
    old_build = None if last is None or recipe.redraw else Path(last) / BUILD
    if force or not build.is_build_finished(recipe.build, place, old_build):
        vectors = None if kept is None else kept / BUILD
        build.build(
            recipe.build, place, force=force, step=show, vectors_from=vectors, last=old_build
        )
    files = BuildFiles(place)
    train, dev, test = map(files.read_problems, ("train_xl", "dev", f"{PRIVATE}/test"))
    sets = {"dev": dev, "test": test}
    if last is not None:
        sets["last"] = _read_previous_dev(Path(last))
    answers = {}
    for rule in recipe.solvers:
        with show(f"solving with {rule.name}", sum(map(len, sets.values()))) as advance:
            answers[rule.name] = collect_predictions(
                rule,
                folder,
                sets,
                train,
                base_folder=recipe.folder,
                stored=kept,
                on_progress=advance,
            )
    with show("measuring", None):
        record, following = _measure_round(recipe, files, train, sets, answers)
    found = tuple(pair_results(record, before))
    with show("writing", None):
        _write_files(folder, record, following, found)
    return Round(folder.path, record, found)


def _check_pronouns_known(recipe: RoundRecipe) -> None:
    seeing = [rule.name for rule in recipe.solvers if rule.options.get("sees") == "pronoun"]
    if not seeing:
        return
    try:
        check_pronouns(build.read_pool(recipe.build))
    except DataError as error:
        raise InputError(f'the solver {seeing[0]} has sees = "pronoun": {error}') from None


def _make_recipe_record(recipe: RoundRecipe, previous: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "round": build.tabulate_recipe(recipe.build),
        "solvers": [asdict(rule) for rule in recipe.solvers],
        "roots": recipe.roots,
        "last": previous and previous["digest"],
        "version": __version__,
        **({"redraw": True} if recipe.redraw else {}),
    }


def _read_previous_dev(folder: Path) -> Dataset:
    try:
        found = BuildFiles(folder / BUILD).read_problems("dev")
    except OSError:
        raise InputError(
            f"{folder / BUILD} has no dev set; is {folder} the folder of a round?"
        ) from None
    return Dataset(found, "last dev")


def _measure_round(
    recipe: RoundRecipe,
    files: BuildFiles,
    train: Dataset,
    sets: Mapping[str, Dataset],
    answers: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Predictions]]],
) -> tuple[dict[str, Any], NextRound]:
    dev, asked = sets["dev"], Dataset((*sets["dev"], *sets["test"]), "dev and test")
    seed = recipe.build.seed
    solvers = {}
    for rule in recipe.solvers:
        about, own = answers[rule.name]
        found = measure_solver(
            asked,
            (*own["dev"], *own.get("test", ())),
            last=(sets["last"], own["last"]) if "last" in own else None,
            train=train if rule.learn else None,
            earlier=find_training_data(rule, recipe.folder),
            seed=seed,
        )
        solvers[rule.name] = {**about, **found.record()}
    pool, old_ids = build.read_pool(recipe.build), files.read_pool_ids()
    originals = {id_: pool[pool.row(old_ids[id_])] for id_ in dev.ids}
    given = {name: own["dev"] for name, (_, own) in answers.items()}
    following = plan_next_round(dev, given, recipe.roots, seed, originals)
    report, funnel = files.report, files.report["funnel"]
    whole = funnel["collected"]["problems"]
    kept_by = {s["stage"]: s["kept"]["problems"] / whole for s in funnel["steps"]} if whole else {}
    record = {
        "winosmith": "round",
        "version": 1,
        "name": recipe.build.name,
        "made_by": __version__,
        "digest": files.digest,
        "build": {
            "signature": report["signature"],
            "funnel": funnel,
            "counts": report["counts"],
            "kept": (funnel["steps"] or [{"kept": funnel["collected"]}])[-1]["kept"]["problems"],
        },
        "valid": kept_by.get("votes", kept_by.get("structure")),
        "artifacts": _summarize_artifacts(report, build.METHOD_NAMES[recipe.build.filter.method]),
        "people": to_json(measure_people(recipe.build, files, asked)),
        "solvers": solvers,
        "roots": {"asked": following.requested_root_count, "drawn": len(following.roots)},
        **({"sides": report["sides"]} if "sides" in report else {}),
        "fooling": {id_: list(names) for id_, names in following.fooled_solvers.items()},
    }
    return record, following


def _summarize_artifacts(report: Mapping[str, Any], subset_name: str) -> dict[str, Any]:
    measures = report["measures"]
    known, before = measures["verified"], measures["before"]
    assessed = measures["assessment"] or {"subsets": []}
    subsets = {s["name"]: s for s in assessed["subsets"]}
    return {
        "verdict": report["verdict"],
        "blind": report["blind"],
        "before": known["before"][LINEAR]["accuracy"] if known else before and before["accuracy"],
        "after": known["after"][LINEAR]["accuracy"] if known else None,
        "kl": subsets[subset_name]["d1"].get("kl") if subset_name in subsets else None,
    }


def _write_files(
    folder: OutputFolder,
    record: Mapping[str, Any],
    next_round: NextRound,
    changes: tuple[Change, ...],
) -> None:
    folder.write_lines("roots.jsonl", formats.to_lines(next_round.roots))
    folder.write_lines("fooling.jsonl", formats.to_lines(next_round.fooling))
    folder.write_json(RECORD, record)
    folder.write_lines("report.html", [make_round_page(record, changes, next_round)])
    names = sorted(
        name for name in folder.files if name != CHECKSUMS_NAME and not name.startswith("private/")
    )
    with folder.write(CHECKSUMS_NAME) as file:
        file.writelines(f"{folder.files[name]}  {name}\n" for name in names)
        build_sums = (folder.path / BUILD / CHECKSUMS_NAME).read_text("utf-8").splitlines()
        file.writelines(f"{line[:66]}{BUILD}/{line[66:]}\n" for line in build_sums)
        file.write(f"{sha256(folder.path / BUILD / CHECKSUMS_NAME)}  {BUILD}/{CHECKSUMS_NAME}\n")


@dataclass(frozen=True)
class People(Result):
    """A summary of people's answers to the problems on which solvers are measured.

    Attributes:
        judged: number of problems with eligible votes (`validate.select_eligible`).
        agree: fraction of these votes that are for the answer, 0–1; None if there are no votes. Use
            it to compare rounds. It is not an accuracy, because problems are kept only if most
            judges chose the answer.
        unanimous: fraction of the judged problems for which all judges chose the answer.
        accuracy: accuracy of the majority of people who were not judges; None if the votes contain
            no responses to a test.
    """

    judged: int
    agree: float | None
    unanimous: float | None
    accuracy: metrics.HumanAccuracy | None = field(
        metadata={"json": lambda found: found and found.accuracy}
    )


def measure_people(recipe: Recipe, files: BuildFiles, dataset: Dataset) -> People | None:
    """Return None if the recipe has no votes.

    Raises:
        DataError: a subject of a human test had judged the problem.
    """
    if recipe.votes_file is None:
        return None
    old_of = files.read_pool_ids()
    new_of = {old_of[problem.id]: problem.id for problem in dataset if problem.id in old_of}
    given = build.read_pool_votes(recipe)
    said = [
        replace(vote, problem_id=new_of[vote.problem_id])
        for vote in given
        if vote.problem_id in new_of
    ]
    answers = dict(zip(dataset.ids, dataset.answers, strict=True))
    right: dict[str, list[bool]] = {}
    counted, _ = select_eligible(
        build.read_pool(recipe), given, both_halves=recipe.votes.both_halves
    )
    for vote in counted:
        if vote.purpose == "validate" and vote.problem_id in new_of:
            problem = new_of[vote.problem_id]
            right.setdefault(problem, []).append(vote.choice == answers[problem])
    tested = any(vote.purpose == "test" for vote in said)
    return People(
        len(right),
        sum(map(sum, right.values())) / sum(map(len, right.values())) if right else None,
        sum(map(all, right.values())) / len(right) if right else None,
        metrics.measure_human_accuracy(dataset, said) if tested else None,
    )


def find_differing_files(first: str | Path, second: str | Path) -> list[str]:
    """Return the names of the public files that differ between two finished rounds.

    Raises:
        InputError: a folder has no finished round.
    """
    lines: list[set[str]] = []
    for folder in (first, second):
        try:
            lines.append({*(Path(folder) / CHECKSUMS_NAME).read_text("utf-8").splitlines()})
        except OSError:
            raise InputError(f"{folder} has no finished round") from None
    return sorted({line[66:] for line in lines[0] ^ lines[1]})
