"""What `winosmith evolve` does: roots, generations, sets, and the folder that holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from winosmith import evolve, formats
from winosmith.answers import Prediction
from winosmith.cli._options import read_data
from winosmith.cli._printing import progress, say
from winosmith.cli.evolve import executor_for, perturber
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError, InputError
from winosmith.evolve import Evolved, Roots, Sets, draw_roots, not_solved
from winosmith.outputs import OutputFolder
from winosmith.problem import Problem
from winosmith.records import canonical, problem_record
from winosmith.report import sign

Options = Mapping[str, Any]

_NOT_OF_RECIPE = {"out", "force", "as_json", "workers", "cluster", "format_name", "key_variable",
                  "max_spent", "device", "base_url"}  # fmt: skip
"""Options that change no problem."""

_OF = {
    "count": {"wordnet", "wordnet-paper", "masked"},
    "wordnet_folder": {"wordnet", "wordnet-paper"},
    "wide": {"wordnet"},
    "model": {"masked", "chat"},
    "wanted": {"chat"},
    "batches": {"chat"},
    "temperature": {"chat"},
}
"""The perturbers that an option is for."""

_OF_SETS = {"grow", "augment", "split"}


def run(options: Options) -> dict[str, Any]:
    """Perturb, write the folder, and return the report.

    Raises:
        InputError: options that do not go together, or files that do not fit.
    """
    if options["sets"] and len(options["kinds"]) != 2:
        raise InputError("--sets takes --with twice: who makes medium, then who makes large")
    roots = all_roots(options)
    small = _small(roots.dataset, options["people"])
    signature = sign(small, options["seed"], **_parameters(options))
    recipe = {"command": "evolve", "signature": str(signature)}
    folder = OutputFolder.open(options["out"], recipe, force=options["force"])
    stages: list[Evolved] = []
    if options["sets"]:
        sets, families = _sets(roots, small, stages, options, folder)
        parts = _parts(sets)
    else:
        data = small
        for number, kind in enumerate(options["kinds"]):
            stages.append(_generation(number, kind, data, small, options, folder))
            data = stages[-1].dataset
        families, parts, sets = data, {"evolved": data}, None
    report = _report(roots, stages, sets, parts, families, str(signature))
    _write(folder, parts, _left_out(stages, sets), report)
    return report


def _parameters(options: Options) -> dict[str, Any]:
    told = {name: value for name, value in options.items() if name not in _NOT_OF_RECIPE}
    names = {"data", "kinds", "right", "people", "seed"}
    names |= {name for name, kinds in _OF.items() if kinds.isdisjoint(options["kinds"])}
    names |= set() if options["sets"] else _OF_SETS
    kept = {name: _plain(told[name]) for name in sorted(told.keys() - names) if told[name]}
    return {"with": "+".join(options["kinds"]), **kept}


def _plain(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else value


def _small(roots: Dataset, people: str | None) -> Dataset:
    """Return the roots with what people made of them."""
    if people is None:
        return roots
    made = formats.read(people)
    ids = set(roots.ids)
    mine = [p for p in made if p.lineage is not None and p.root in ids]
    if not mine:
        raise DataError(f"{people} holds no problem whose root is one of those drawn")
    if len(mine) < len(made):
        say(f"{people}: {len(made) - len(mine):,} of {len(made):,} problems have other roots")
    return evolve.without_repeats(roots, [mine, *([] for _ in roots[1:])]).dataset


def _generation(
    number: int, kind: str, data: Dataset, taken: Dataset, options: Options, folder: OutputFolder
) -> Evolved:
    """Let one perturber perturb every problem, from where an earlier run stopped."""
    name = f"generation-{number + 1}.jsonl"
    dialogues = folder.path / "dialogues"
    with (
        folder.scratch(name) as path,
        progress(f"Perturbing with {kind}", len(data)) as advance,
        executor_for(kind, len(data), options) as executor,
    ):
        state = {"done": 0}

        def hear(done: int, made: int) -> None:
            state["done"] = done
            advance(done, f"children: {made:,}")

        def hear_of_rows(accepted: int, wanted: int, note: str) -> None:
            advance(state["done"], f"{accepted} of {wanted} {note}")

        made = evolve.resumed_children(
            data.problems,
            perturber(kind, options, dialogues, taken.problems, hear_of_rows),
            options["seed"] + number,  # else twice the same perturber makes the same children
            Path(path),
            executor=executor,
            on_progress=hear,
        )
    return evolve.without_repeats(data, made)


def _sets(
    roots: Roots, small: Dataset, stages: list[Evolved], options: Options, folder: OutputFolder
) -> tuple[Sets, Dataset]:
    """Return the three sets, and a data set with all families."""
    parts = evolve.split_roots(roots.dataset, options["split"], options["seed"])
    start = small if options["grow"] == "small" else roots.dataset
    medium = _generation(0, options["kinds"][0], start, small, options, folder)
    stages.append(medium)
    grows = [p for p in medium.dataset if options["augment"] == "all" or parts[p.root] != "test"]
    large = _generation(1, options["kinds"][1], Dataset(grows), small, options, folder)
    stages.append(large)
    everything = Dataset({p.id: p for p in (*medium.dataset, *large.children)}.values())
    made = evolve.assemble(
        small, medium.dataset, everything, parts, test_grows=options["augment"] == "all"
    )
    return made, Dataset({p.id: p for p in (*small, *everything)}.values())


def _parts(sets: Sets) -> dict[str, Dataset]:
    return {
        "small": sets.small,
        **{f"medium-{name}": part for name, part in sets.medium.items()},
        **{f"large-{name}": part for name, part in sets.large.items()},
    }


def _left_out(stages: Sequence[Evolved], sets: Sets | None) -> list[Dropped]:
    repeated = [left for stage in stages for left in stage.repeated]
    return [*repeated, *(sets.dropped if sets else ())]


def _report(
    roots: Roots,
    stages: Sequence[Evolved],
    sets: Sets | None,
    parts: Mapping[str, Dataset],
    families: Dataset,
    signature: str,
) -> dict[str, Any]:
    left = Counter(_kind(one.reason) for one in _left_out(stages, sets))
    barren = sum(len(stage.barren) for stage in stages)
    if barren:
        left["no child came about"] = barren
    return {
        "roots": len(roots.dataset),
        "sources": {name: list(ids) for name, ids in roots.sources.items()},
        "perturbed": sum(len(stage.dataset) - len(stage.children) for stage in stages),
        "made": sum(len(stage.children) for stage in stages),
        "parts": {name: evolve.described(part, families) for name, part in parts.items()},
        "left_out": dict(left.most_common()),
        "signature": signature,
    }


def _kind(reason: str) -> str:
    return "it says the same as another" if reason.startswith("it says the same") else reason


def _write(
    folder: OutputFolder,
    parts: Mapping[str, Dataset],
    left_out: Iterable[Dropped],
    report: Mapping[str, Any],
) -> None:
    for name, part in parts.items():
        _jsonl(folder, f"{name}.jsonl", part)
    with folder.write("left-out.jsonl") as file:
        file.writelines(
            canonical({"reason": one.reason, "problem": problem_record(one.problem)}) + "\n"
            for one in left_out
        )
    with folder.write("report.json") as file:
        file.write(canonical(report) + "\n")
    names = [f"{name}.jsonl" for name in parts]
    say(f"Wrote {folder.path}: {', '.join(names)}, left-out.jsonl and report.json.")


def _jsonl(folder: OutputFolder, name: str, problems: Iterable[Problem]) -> None:
    with folder.write(name) as file:
        file.writelines(formats.lines(problems))


TWO = 2
"""Options that a problem must have for a dialogue with a chat model: EvoGrad's table has two."""


def all_roots(options: Mapping[str, Any]) -> Roots:
    """Return the problems that families grow from.

    Raises:
        InputError: options that do not go together.
        DataError: problems clash, or predictions fit no data set.
    """
    datasets = [read_data(path, options["format_name"]) for path in options["data"]]
    wanted = options["roots"]
    if not wanted:
        return _everything(datasets, options)
    if len(wanted) not in (1, len(datasets)):
        raise InputError(
            f"--roots is given {len(wanted)} times for {len(datasets)} data sets; give it once, "
            "or once for each"
        )
    numbers = wanted * len(datasets) if len(wanted) == 1 else wanted
    return draw_roots(
        datasets,
        numbers,
        _wrong(datasets, options["right"]),
        options["seed"],
        options=TWO if "chat" in options["kinds"] else None,
    )


def _everything(datasets: Sequence[Dataset], options: Mapping[str, Any]) -> Roots:
    if options["right"]:
        raise InputError("--right tells which roots may be drawn; add --roots N")
    if options["sets"]:
        raise InputError("--sets needs roots; add --roots N")
    if len(datasets) > 1:
        raise InputError("several data sets need --roots N, which makes their ids distinct")
    others = [problem.id for problem in datasets[0] if len(problem.options) != TWO]
    if "chat" in options["kinds"] and others:
        raise InputError(
            f"{len(others):,} of {len(datasets[0]):,} problems have more than two options (first: "
            f"{others[0]!r}), for which a chat model can't be asked; draw from the others with "
            "--roots N, or take --with wordnet or masked"
        )
    return Roots(datasets[0], {}, ())


def _wrong(datasets: Sequence[Dataset], paths: Sequence[str]) -> list[frozenset[str]]:
    """Return for each data set what its solvers do not get right; each has some files, or none."""
    solvers: list[list[Sequence[Prediction]]] = [[] for _ in datasets]
    for path in paths:
        at = _of_which(datasets, path)
        solvers[at].append(formats.read_predictions(path, datasets[at]).predictions)
    return [
        not_solved(dataset, own) if own else frozenset()
        for dataset, own in zip(datasets, solvers, strict=True)
    ]


def _of_which(datasets: Sequence[Dataset], path: str) -> int:
    """Return which data set a file of predictions is for: by its digest, or else by its ids."""
    found = formats.read_predictions(path)
    ids = {prediction.problem_id for prediction in found.predictions}
    for at, dataset in enumerate(datasets):
        if found.data == dataset.blind().digest:
            return at
    for at, dataset in enumerate(datasets):
        if ids == set(dataset.ids):
            return at
    raise DataError(f"{path} has predictions for none of the data sets: their ids differ")
