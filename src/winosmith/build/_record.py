"""What a build writes about itself: the recipe as published, the report, and the run."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winosmith._version import __version__
from winosmith.build._copies import Copies
from winosmith.build._filter import FilterRun
from winosmith.build._panel import described
from winosmith.build._pool import paths_of
from winosmith.build._recipe import EmbedRecipe, Recipe
from winosmith.build._recipe_file import recipe_table, recipe_toml
from winosmith.build._report import report_page
from winosmith.build._report_filter import again_record, key_figures
from winosmith.dataset import Dataset
from winosmith.outputs import PRIVATE, OutputFolder, sha256
from winosmith.report import Signature

if TYPE_CHECKING:
    from winosmith.build._build import Built

LAST = "checksums.sha256"
"""The file that a build writes last."""

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "transformers")
"""Those whose versions may change a result."""


def public_recipe(recipe: Recipe, digest: str, last: str | None = None) -> dict[str, Any]:
    """Return the recipe as it is published: no paths, and the digest of the problems alone.

    A digest of the answers, or of ids that depend on them, could be used to find them by trying.

    Args:
        recipe: as given.
        digest: of the problems.
        last: what the last build is known by, whose sides are kept.
    """
    followed = {"last": last} if last else {}
    return {**recipe_table(recipe), "problems": digest, "version": __version__, **followed}


def secret_inputs(recipe: Recipe, collected: Dataset) -> dict[str, str]:
    """Return the digests of everything that holds answers."""
    files = {"votes": recipe.votes_file, "planted": recipe.planted, "array": recipe.embed.array}
    files |= {"consensus": tuple(recipe.consensus.arrays)}
    digests = {name: " ".join(map(sha256, paths_of(named))) for name, named in files.items()}
    return {"collected": collected.digest, **{n: told for n, told in digests.items() if told}}


def problems_digest(dataset: Dataset) -> str:
    """Return a digest of sentences and options: no answers, no ids, in no order but their own."""
    seen = sorted(json.dumps([p.sentence, *p.options]) for p in dataset)
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()


def signature_of(
    embed: EmbedRecipe,
    run: FilterRun,
    *,
    digest: str,
    n: int,
    seed: int,
    others: Sequence[EmbedRecipe] = (),
    copies: Copies = "once",
) -> Signature:
    """Return what the figures of a filter carry; `others` voted beside the embedder `embed`."""
    if embed.array is not None:
        parameters: dict[str, Any] = {"array": sha256(embed.array)[:12]}
    elif embed.encoder == "light":
        parameters = {"encoder": "light", "d": embed.dimensions, "combine": embed.combine}
    else:
        parameters = {"encoder": Path(embed.encoder).name, "combine": embed.combine}
        parameters |= {"pooling": embed.pooling} if embed.pooling else {}
    parameters["method"] = run.method
    if run.aflite is not None:
        names = {"ensemble_size": "ensemble", "train_size": "m", "cutoff": "k", "threshold": "tau"}
        parameters |= {short: run.aflite.parameters[name] for name, short in names.items()}
        parameters |= {"C": run.aflite.parameters["C"]}
        parameters |= {"groups": "twins"} if run.aflite.parameters["groups"] else {}
        parameters |= _unusual(run.aflite.parameters)
    if run.mirror is not None:
        parameters |= run.mirror[0].parameters
        del parameters["seed"]
    if run.consensus is not None:
        parameters |= {"with": "+".join(map(described, others))} if others else {}
        parameters |= {"least": run.consensus.least}
        if run.consensus.floor:
            known = run.consensus.parameters
            parameters |= {"floor": known["floor"], "agreed": known["agreed"]}
    parameters |= {"copies": copies} if copies != "once" else {}
    return Signature(digest, n, parameters, seed)


def _unusual(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what goes beyond the paper's Algorithm 1, under the names of a signature."""
    told: dict[str, Any] = {}
    if parameters["classifier"] != "logistic":
        told["classifier"] = parameters["classifier"]
    if parameters["target_size"] is not None:
        told["target"] = parameters["target_size"]
    if parameters["remove"] != "rows":
        told["remove"] = "twins"
    if parameters["null"] == "stop":
        told |= {"null": "stop", "draws": parameters["null_draws"]}
    return told


def write_reports(folder: OutputFolder, built: Built, recipe: Mapping[str, Any]) -> None:
    """Write the report as JSON and as a page, and the checksums of the public files."""
    record = {
        "signature": str(built.measures.signature),
        **({} if built.applied is None else {"rules_used": built.applied.record()}),
        "funnel": built.funnel.record(),
        "aflite": built.run.aflite and built.run.aflite.record(),
        "mirror": built.run.mirror and built.run.mirror[0].record(),
        "again": again_record(built.run),
        **({} if built.run.consensus is None else {"consensus": built.run.consensus.record()}),
        "measures": built.measures.record(),
        "counts": built.counts,
        "unvalidated": dict(built.unvalidated),
        **({} if built.sides is None else {"sides": built.sides}),
        **({"copies": dict(built.copies)} if built.copies else {}),
        **({"columns": dict(built.columns)} if built.columns.get("columns") else {}),
        "embedding": built.told,
        "figures": [asdict(figure) for figure in key_figures(built.run, built.measures)],
        "recipe": recipe,
    }
    with folder.write("recipe.toml") as file:
        file.write(_runnable(built.recipe, recipe))
    with folder.write("report.json") as file:
        json.dump(record, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    with folder.write("report.html") as file:
        file.write(report_page(built, recipe))
    names = sorted(name for name in folder.files if not name.startswith(f"{PRIVATE}/"))
    with folder.write(LAST) as file:
        file.writelines(f"{folder.files[n]}  {n}\n" for n in names if n != LAST)


def _runnable(recipe: Recipe, shown: Mapping[str, Any]) -> str:
    """Return the recipe as a file, with what it takes to build the same again."""
    keys = ("data", "votes_file", "planted")
    names = [Path(path).name for key in keys for path in paths_of(getattr(recipe, key))]
    names += [shown["embed"]["array"]] if shown["embed"]["array"] else []
    names += [Path(path).name for path in recipe.consensus.arrays]
    last, option = "", ""
    if "last" in shown:
        option = " --last LAST"
        last = (
            "# LAST is the folder of the build before, whose checksums.sha256 has the SHA-256\n"
            f"# {shown['last']}.\n"
        )
    return (
        f"# winosmith {shown['version']} built this benchmark from the recipe below.\n"
        f"# To build it again, put beside this file: {', '.join(names)}\n"
        f"# (the SHA-256 of the problems, without answers, is {shown['problems']}), then run\n"
        f"#     winosmith build recipe.toml --out again{option}\n{last}\n{recipe_toml(recipe)}"
    )


def is_finished(folder: OutputFolder, last: str) -> bool:
    """Tell whether a folder's files are all there as they were written, up to the last."""
    return last in folder.files and all(folder.finished(name) for name in folder.files)


def write_run(folder: OutputFolder, seconds: float) -> None:
    """Write what depends on the machine and the day; it is in no checksum and no manifest."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    run = {
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": versions,
    }
    (folder.path / "run.json").write_text(json.dumps(run, indent=2) + "\n", "utf-8")
