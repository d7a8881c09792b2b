"""Make and fine-tune the solvers of a study, and find their training data.

Training sets are split in whole blocks, into train and dev or into nested sizes. After selection on
dev, a solver can be trained on both parts.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from winosmith import formats, metrics, published
from winosmith.blocks import draw_blocks, shuffle_blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.metrics import Overlap
from winosmith.models import FinishedRun, GridResult, TrainingRun, train_grid, train_multiple_choice
from winosmith.outputs import atomic_write
from winosmith.problem import Claim, Problem
from winosmith.published import Digests
from winosmith.records import is_file
from winosmith.solve import Solver
from winosmith.solver_rule import SolverParts, SolverRule


@dataclass(frozen=True)
class MadeSolver:
    """A solver with its digest, revision and parameters.

    Attributes:
        solver: the solver; its first prediction may load the weights.
        digest: SHA-256 of the weights and parameters, 64 hexadecimal digits.
        revision: the publisher's name for the revision, or a digest.
        about: the parameters that determine the scores, without paths and keys.
        concurrency: number of concurrent requests, in threads; 1 if the solver works in batches.
    """

    solver: Solver
    digest: str
    revision: str
    about: dict[str, Any] = field(default_factory=dict)
    concurrency: int = 1


def make_solver(
    rule: SolverRule,
    folder: Path,
    train: Dataset | None = None,
    *,
    cache: Path | None = None,
    timeout: float = 60.0,
) -> MadeSolver:
    """Return the solver that a rule describes; its weights are loaded on first use.

    Args:
        rule: the solver and its settings.
        folder: base folder of the rule's relative paths.
        train: problems for training or few-shot examples; by default winosmith's handwritten twins.
        cache: folder of full-text indexes; by default the user's cache.
        timeout: time limit for a chat server's reply, in seconds.

    Raises:
        InputError: a file or model of the rule is missing or unusable.
        DataError: `train` is unusable.

    >>> found = make_solver(SolverRule("words", "association"), Path())
    >>> found.about["features"], len(found.digest)
    ('words', 64)
    """
    from winosmith import embed, practice

    settings = rule.settings
    parts = settings.find_parts(folder, cache or embed.get_cache_folder() / "texts", timeout)
    solver = settings.make(
        SolverParts(practice.read_handwritten() if train is None else train, **parts)
    )
    weights, revision = settings.identify(solver)
    about = {"solver": rule.solver, **getattr(solver, "parameters", {})}
    whole = json.dumps({"about": about, "weights": weights}, sort_keys=True, ensure_ascii=False)
    return MadeSolver(
        solver,
        hashlib.sha256(whole.encode()).hexdigest(),
        (settings.revision or revision)[:80],
        about,
        getattr(settings, "concurrency", 1),
    )


# There are four sources of known training data: the handwritten twins, the rule's `trained_on`, the
# digests that `winosmith train` saved next to the weights, and `--trained-on`.

OTHER_PREFIX = "other:"
"""Prefix for the name of an unavailable corpus."""


@dataclass(frozen=True)
class TrainingData:
    """The known training data of a solver.

    Attributes:
        datasets: available data sets.
        contents: digests of data sets that are not available.
        unknown: names of corpora that can't be compared with a test set.
    """

    datasets: tuple[Dataset, ...] = ()
    contents: tuple[Digests, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def from_names(cls, names: Iterable[str], folder: Path = Path()) -> TrainingData:
        """Return the training data with the given names.

        Args:
            names: paths of files; names of published sets (`published.get_published_digests`); or
                "other:NAME".
            folder: base folder of relative paths.

        Raises:
            InputError: a name is none of these, or a file can't be read.
        """
        datasets: list[Dataset] = []
        contents: list[Digests] = []
        unknown: list[str] = []
        for name in names:
            if is_file(folder / name):
                datasets.append(formats.read(folder / name))
            elif name.startswith(OTHER_PREFIX) and name != OTHER_PREFIX:
                unknown.append(name.removeprefix(OTHER_PREFIX))
            elif re.fullmatch(r"[\w-]+", name):
                contents.append(published.get_published_digests(name))
            else:
                raise InputError(
                    f"{name!r} is not a file; for a corpus without a file, write {OTHER_PREFIX}NAME"
                )
        return cls(tuple(datasets), tuple(contents), tuple(unknown))

    def find_overlap(self, test: Dataset) -> Overlap:
        """Return the problems of a test set that the solver may have seen, each with a reason."""
        rows: dict[int, str] = {}
        for found in (
            *(metrics.find_overlap(test, training) for training in self.datasets),
            *(metrics.find_overlap(test, public=[held]) for held in self.contents),
        ):
            rows = {**found.rows, **rows}
        return Overlap(dict(sorted(rows.items())), len(test), self.unknown)


def find_training_data(rule: SolverRule, folder: Path) -> TrainingData:
    """Return the data on which a rule's solver was trained before this study.

    Raises:
        InputError: the rule's `trained_on` has an unknown name.

    >>> len(find_training_data(SolverRule("words", "association"), Path()).datasets)
    1
    """
    from winosmith import practice

    try:
        stated = TrainingData.from_names(rule.settings.trained_on, folder)
    except InputError as error:
        raise InputError(f"the solver {rule.name}: trained_on: {error}") from None
    ships = rule.solver == "association" or rule.options.get("shots")
    datasets = (practice.read_handwritten(),) if ships and not rule.learn else ()
    left: tuple[Digests, ...] = ()
    if "model" in rule.options and rule.solver != "chat":
        left = published.read_digests(folder / str(rule.options["model"]))
    return TrainingData((*datasets, *stated.datasets), (*left, *stated.contents), stated.unknown)


Trainable = Dataset | tuple[Claim, ...]
"""Training data of an encoder: problems or claims."""

SMALLEST_SIZE, SIZE_RATIO = 160, 4
"""WinoGrande's nested sizes are 160, 640, 2,558, 10,234 and all (table 4). They are only
approximately 160 · 4^k, because twins stay together."""


def join_data(parts: Sequence[Trainable], name: str = "") -> Trainable:
    """Join data sets; if ids repeat, each id is prefixed with the number of its data set.

    Raises:
        DataError: some parts are problems and others are claims.

    >>> from winosmith import Problem
    >>> one = Dataset([Problem("1", "A _ b.", ("x", "y"), 0)])
    >>> join_data([one, one]).ids
    ('1/1', '2/1')
    """
    problems = [part for part in parts if isinstance(part, Dataset)]
    claims = [part for part in parts if not isinstance(part, Dataset)]
    if problems and claims:
        raise DataError("can't train on problems and claims together; recast one of them")
    if claims:
        return tuple(
            replace(claim, problem_id=f"{number}/{claim.problem_id}")
            for number, part in enumerate(claims, start=1)
            for claim in part
        )
    numbers = [number for number, part in enumerate(problems, start=1) for _ in part]
    joined = [problem for part in problems for problem in part]
    if len({problem.id for problem in joined}) < len(joined):
        joined = [_prefix_ids(one, f"{n}/") for n, one in zip(numbers, joined, strict=True)]
    return Dataset(formats.pair_files(joined, numbers), name)


def _prefix_ids(problem: Problem, prefix: str) -> Problem:
    lineage, twin_id = problem.lineage, problem.twin_id
    if lineage:
        lineage = replace(lineage, root=prefix + lineage.root, parent=prefix + lineage.parent)
    return replace(
        problem, id=prefix + problem.id, twin_id=twin_id and prefix + twin_id, lineage=lineage
    )


def hold_out(data: Trainable, size: int, seed: int = 0) -> tuple[Trainable, Trainable]:
    """Hold out about `size` random problems in whole blocks; return the rest and the held-out part.

    Blocks are twins, families and look-alikes (`winosmith.blocks`), or the claims about one text.

    Raises:
        DataError: nothing would remain.
    """
    if isinstance(data, Dataset):
        drawn = set(draw_blocks(shuffle_blocks(data, seed), range(len(data)), [size])[0])
        left = (row for row in range(len(data)) if row not in drawn)
        return data.select(left), data.select(sorted(drawn))
    texts: dict[bytes, list[int]] = {}
    for row, claim in enumerate(data):
        digest = hashlib.sha256(f"{seed}\0{get_text(claim)}".encode()).digest()
        texts.setdefault(digest, []).append(row)
    drawn = set()
    for digest in sorted(texts):
        if len(drawn) < size:
            drawn.update(texts[digest])
    if len(drawn) == len(data):
        raise DataError(f"can't hold out {size} of {len(data)} claims: none would remain")
    return (
        tuple(claim for row, claim in enumerate(data) if row not in drawn),
        tuple(data[row] for row in sorted(drawn)),
    )


def get_text(item: Problem | Claim) -> str:
    return item.sentence.replace("_", item.pronoun or "_")


def draw_nested_parts(data: Dataset) -> tuple[Dataset, ...]:
    """Return nested random parts of 160, 640, 2,560, … problems in whole blocks, and all problems.

    Each part contains the previous one. Parts larger than 80 % of the data are omitted.

    >>> from winosmith.testing import make_twins
    >>> [len(part) for part in draw_nested_parts(make_twins(1000))]
    [160, 640, 2000]
    """
    rows: list[int] = []
    parts: list[Dataset] = []
    size = SMALLEST_SIZE
    for block in shuffle_blocks(data, seed=0):
        if len(rows) >= size and size <= 0.8 * len(data):
            parts.append(data.select(sorted(rows)))
            size *= SIZE_RATIO
        rows += block
    return (*parts, data)


def train_on_all(
    grid_result: GridResult,
    train: Trainable,
    dev: Trainable,
    *,
    model: str | Path,
    out: str | Path,
    device: str | None = None,
    on_step: Callable[[int, int, str], None] | None = None,
) -> FinishedRun:
    """Retrain on train and dev, with the settings and number of epochs selected on dev.

    WinoGrande's models for transfer were trained in this way (table 6: "fine-tuned on train and
    dev"). The result's dev accuracy is measured on training problems, so it only shows whether the
    run fell to chance. `grid_result` is the result of `train_grid` for `train` and `dev`; for the
    other arguments, see `train_multiple_choice`.
    """
    both = join_data([train, dev])
    settings = replace(grid_result.settings, last=grid_result.kept_epoch + 1)
    measured = both[len(train) :]  # `dev`, with the ids of `both`
    return train_multiple_choice(
        both, measured, model=model, out=out, settings=settings, device=device, on_step=on_step
    )


def make_curve_runs(
    parts: Sequence[Trainable],
    dev: Trainable,
    *,
    out: str | Path,
    on_size: Callable[[int, GridResult], None] | None = None,
    **arguments: Any,
) -> list[TrainingRun]:
    """Train on each part, and return the run with the best dev accuracy for each seed and size.

    Args:
        parts: nested training sets, from `draw_nested_parts` or WinoGrande's xs to xl.
        dev: the dev set for all of them.
        out: folder of the runs, with a subfolder for each size.
        on_size: called with each size and its runs.
        arguments: `model`, `grid`, `settings`, `device`, `on_step` and `on_run`: see `train_grid`.
    """
    points: list[TrainingRun] = []
    for part in parts:
        trained = train_grid(part, dev, out=Path(out) / str(len(part)), **arguments)
        best: dict[int, TrainingRun] = {}
        for run in sorted(trained.runs, key=lambda run: (run.settings.seed, -run.dev_accuracy)):
            best.setdefault(run.settings.seed, run)
        points += best.values()
        if on_size:
            on_size(len(part), trained)
    return points


def write_curve(runs: Sequence[TrainingRun], path: str | Path) -> None:
    """Write a CSV file for `winosmith curve`: size, accuracy (0–1), seed and at_chance (0 or 1)."""
    with atomic_write(path) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["size", "accuracy", "seed", "at_chance"])
        for run in runs:
            row = [run.n_train, f"{run.dev_accuracy:.6f}", run.settings.seed, int(run.at_chance)]
            table.writerow(row)


DPR_DEV = 122
"""WinoGrande (section 5.1) trains on 1,200 problems of DPR and selects on 122. It prints the sum
1,332 instead of 1,322."""

COPA_TRAIN, COPA_SIZE = 400, 500
"""SuperGLUE trains on the first 400 problems of COPA's dev set and selects on the last 100."""


def split_as_in_paper(name: str, data: Trainable) -> tuple[Trainable, Trainable]:
    """Split a data set's training data into train and dev, as in WinoGrande.

    DPR is split into 1,200 and 122 problems, in whole twins (the paper does not say how), and COPA
    into 400 and 100, as in SuperGLUE. In other data sets, a random tenth, in whole blocks, becomes
    dev.

    >>> from winosmith.testing import make_twins
    >>> [len(part) for part in split_as_in_paper("dpr", make_twins(661))]
    [1200, 122]
    """
    if name == "copa" and isinstance(data, Dataset) and len(data) == COPA_SIZE:
        return data[:COPA_TRAIN], data[COPA_TRAIN:]
    return hold_out(data, DPR_DEV if name == "dpr" else -(-len(data) // 10))


def find_shared_sentences(first: Trainable, second: Trainable) -> list[str]:
    """Return the distinct sentences of `second` that are also in `first`, in the order of `second`.

    Only letters and digits are compared, in lower case. If the pronoun is known, it fills the
    blank, so that a Winograd schema is also found in SuperGLUE-WSC.
    """
    known = {_make_text_key(item) for item in first}
    shared = {
        _make_text_key(item): item.sentence for item in second if _make_text_key(item) in known
    }
    return list(shared.values())


def _make_text_key(item: Problem | Claim) -> str:
    return "".join(letter for letter in get_text(item).lower() if letter.isalnum())
