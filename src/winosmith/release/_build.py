"""The main job: raw twins in, a debiased benchmark and its report out.

The steps are WinoGrande's (sections 2 and 3), in its order: check the structure and the votes, set
aside what fine-tunes the encoder, embed the rest, filter, split, write.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import validate
from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.outputs import PRIVATE, OutputFolder, sha256
from winosmith.release._anonymous import anonymous
from winosmith.release._filter import FilterRun, run_filter
from winosmith.release._measure import Measures, measure
from winosmith.release._publish import publish
from winosmith.release._recipe import Recipe
from winosmith.release._report import report_page
from winosmith.release._split import shuffled, split
from winosmith.release._stages import Stages, check, read_inputs, set_aside
from winosmith.release._vectors import Embedded, embedded
from winosmith.report import Signature

__all__ = ["Advance", "Built", "Step", "build"]

Advance = Callable[[int, str], None]
"""Is told how much of a step is done, and a note."""

Step = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows a step of the work, given its title and its total when that is known."""

VECTORS = f"{PRIVATE}/embeddings.npy"
TOLD = f"{PRIVATE}/embeddings.json"
PHASES = f"{PRIVATE}/aflite.npz"


@dataclass(frozen=True, eq=False)
class Built:
    """What a build made.

    Attributes:
        folder: where everything is.
        funnel: what each stage kept.
        run: the filter's.
        measures: its figures.
        counts: problems in each published set.
        told: what the embedding has to say, such as that fine-tuning stayed at chance.
        shown: the rows of the pool that may be shown one by one: those that no dev or test
            problem is tied to.
    """

    folder: Path
    funnel: validate.Funnel
    run: FilterRun
    measures: Measures
    counts: Mapping[str, int]
    told: Mapping[str, Any]
    shown: Sequence[int]

    @property
    def report(self) -> Path:
        """The report, to be opened in a browser."""
        return self.folder / "report.html"


def build(
    recipe: Recipe, out: str | Path, *, force: bool = False, step: Step | None = None
) -> Built:
    """Build a benchmark from raw twins.

    The folder takes the published files, `report.html` and `report.json`; what would give test
    answers away goes to its `private/`. When it holds an unfinished build of the same recipe, the
    vectors and the phases of AFLite that are there are not computed again; the result has the same
    bytes.

    Args:
        recipe: everything that determines the result; see `read_recipe`.
        out: the folder; see `winosmith.outputs` for which folders are taken.
        force: replace the results of another recipe.
        step: shows progress.

    Raises:
        InputError: data, votes, vectors or parameters that can't be used, with the reason.
        OutputError: the folder can't be taken or written.
    """
    started = time.monotonic()
    show = step or _silent
    with show("reading", None):
        inputs = read_inputs(recipe)
        collected, order = shuffled(inputs.dataset, recipe.seed)
        dataset = anonymous(collected, recipe.name)
        digest = dataset.blind().digest
        shown = _public_recipe(recipe, digest)
        folder = OutputFolder.open(out, shown, secret=_secret(recipe, collected), force=force)
    with show("checking", None):
        stages = Stages(collected)
        check(stages, recipe, inputs.votes)
        tuning = set_aside(stages, recipe, order)
        rows = stages.rows()
        pool = dataset.select(rows)
    with show("embedding", len(pool)) as advance:
        found = _embedded(recipe, folder, stages, tuning, advance)
    with show("filtering", len(pool)) as advance:
        run = _filtered(recipe, folder, pool, found.X, advance)
        stages.add(recipe.filter.method, stages.left.drop(run.reasons, recipe.filter.method))
    parts = split(
        dataset,
        order,
        pool=rows,
        kept=stages.rows(),
        dev=recipe.split.dev,
        test=recipe.split.test,
    )
    with show("measuring", None):
        tied = {*parts.dev, *parts.test, *parts.withheld}
        loose = [at for at, row in enumerate(rows) if row not in tied]
        measures = measure(
            run,
            signature=_signature(recipe, digest, len(dataset)),
            seed=recipe.seed,
            null_draws=recipe.filter.null_draws,
            shown=loose,
            planted=_renamed(inputs.planted, collected, dataset),
        )
    with show("writing", None):
        counts = publish(
            folder, dataset, collected.ids, parts, stages.verdicts(), recipe.files.format
        )
        built = Built(
            folder.path, validate.funnel(stages.done), run, measures, counts, found.told, loose
        )
        _write_reports(folder, built, shown)
        _write_run(folder, time.monotonic() - started)
    return built


def _silent(title: str, total: int | None) -> AbstractContextManager[Advance]:
    return nullcontext(lambda done, note: None)


def _public_recipe(recipe: Recipe, digest: str) -> dict[str, Any]:
    """Return the recipe as it is published: no paths, and the digest of the problems alone.

    A digest of the answers, or of ids that depend on them, could be used to find them by trying.
    """
    table = asdict(recipe)
    for key in ("data", "votes_file", "planted"):
        table[key] = table[key] and Path(table[key]).name
    table["embed"]["array"] = recipe.embed.array and Path(recipe.embed.array).name
    return {**table, "problems": digest, "version": __version__}


def _secret(recipe: Recipe, collected: Dataset) -> dict[str, Any]:
    """Return the digests of everything that holds answers."""
    files = {"votes": recipe.votes_file, "planted": recipe.planted, "array": recipe.embed.array}
    digests = {name: sha256(path) for name, path in files.items() if path is not None}
    return {"collected": collected.digest, **digests}


def _signature(recipe: Recipe, digest: str, n: int) -> Signature:
    chosen, array = recipe.filter, recipe.embed.array
    source = {"array": Path(array).name} if array else {"encoder": Path(recipe.embed.encoder).name}
    parameters = {**source, "combine": recipe.embed.combine, "method": chosen.method}
    if chosen.method == "aflite":
        parameters |= {"ensemble": str(chosen.ensemble_size), "threshold": str(chosen.threshold)}
    return Signature(digest, n, parameters, recipe.seed)


def _renamed(
    planted: Mapping[str, str] | None, collected: Dataset, dataset: Dataset
) -> dict[str, str] | None:
    """Return what is planted, by the new ids."""
    if planted is None:
        return None
    new = dict(zip(collected.ids, dataset.ids, strict=True))
    return {new[old]: kind for old, kind in planted.items() if old in new}


def _embedded(
    recipe: Recipe,
    folder: OutputFolder,
    stages: Stages,
    tuning: tuple[Dataset, Dataset] | None,
    advance: Advance,
) -> Embedded:
    """Return the vectors of the pool: those that are there, or new ones."""
    if folder.finished(VECTORS) and folder.finished(TOLD):
        told = json.loads((folder.path / TOLD).read_text("utf-8"))
        return Embedded(np.load(folder.path / VECTORS, allow_pickle=False), told)
    found = embedded(
        recipe.embed,
        stages.left,
        collected_ids=stages.collected.ids,
        tuning=tuning,
        work=folder.path / PRIVATE / "encoder",
        seed=recipe.seed,
        on_progress=advance,
    )
    with folder.write(TOLD) as file:
        json.dump(found.told, file, indent=1)
    with folder.write(VECTORS, "wb") as file:
        np.save(file, found.X, allow_pickle=False)
    return found


def _filtered(
    recipe: Recipe, folder: OutputFolder, pool: Dataset, X: NDArray[Any], advance: Advance
) -> FilterRun:
    with folder.scratch(PHASES) as checkpoint:
        return run_filter(
            pool,
            X,
            recipe.filter,
            seed=recipe.seed,
            on_phase=lambda phase: advance(
                len(pool) - phase.size + phase.removed, f"phase {phase.number + 1}"
            ),
            checkpoint=checkpoint,
        )


def _write_reports(folder: OutputFolder, built: Built, shown: Mapping[str, Any]) -> None:
    record = {
        "signature": str(built.measures.signature),
        "funnel": built.funnel.record(),
        "aflite": built.run.aflite and built.run.aflite.record(),
        "measures": built.measures.record(),
        "counts": built.counts,
        "embedding": built.told,
        "recipe": shown,
    }
    with folder.write("report.json") as file:
        json.dump(record, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
    with folder.write("report.html") as file:
        file.write(report_page(built, shown))
    names = sorted(name for name in folder.files if not name.startswith(f"{PRIVATE}/"))
    with folder.write("checksums.sha256") as file:
        file.writelines(f"{folder.files[n]}  {n}\n" for n in names if n != "checksums.sha256")


def _write_run(folder: OutputFolder, seconds: float) -> None:
    """Write what depends on the machine and the day; it is in no checksum and no manifest."""
    libraries = ("numpy", "scipy", "scikit-learn", "numba", "torch", "transformers")
    versions = {}
    for name in libraries:
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
