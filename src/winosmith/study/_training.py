"""What a study trains on, in whole blocks, and how: chosen on dev, on all the data, and by size."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winosmith.blocks import draw, shuffled_blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.models import FineTuned, Trained, TrainingRun, train_grid, train_multiple_choice
from winosmith.outputs import write_aside
from winosmith.problem import Claim, Problem

Trainable = Dataset | tuple[Claim, ...]
"""What an encoder is trained on: problems, or claims."""

SMALLEST, TIMES = 160, 4
"""WinoGrande's nested sizes are 160, 640, 2,558, 10,234 and all (table 4): 160 · 4^k, bar the few
that whole twins ask for."""


def joined(parts: Sequence[Trainable], name: str = "") -> Trainable:
    """Return several data sets as one; where their ids meet, the part's number leads each id.

    Raises:
        DataError: some hold problems, and some claims.

    >>> from winosmith import Problem
    >>> one = Dataset([Problem("1", "A _ b.", ("x", "y"), 0)])
    >>> joined([one, one]).ids
    ('1/1', '2/1')
    """
    problems = [part for part in parts if isinstance(part, Dataset)]
    claims = [part for part in parts if not isinstance(part, Dataset)]
    if problems and claims:
        raise DataError("problems and claims can't be trained on together; recast one of them")
    if claims:
        return tuple(
            replace(claim, problem_id=f"{number}/{claim.problem_id}")
            for number, part in enumerate(claims, start=1)
            for claim in part
        )
    ids = [problem.id for part in problems for problem in part]
    if len(set(ids)) == len(ids):
        return Dataset((problem for part in problems for problem in part), name)
    return Dataset(
        (
            replace(
                problem,
                id=f"{number}/{problem.id}",
                twin_id=problem.twin_id and f"{number}/{problem.twin_id}",
            )
            for number, part in enumerate(problems, start=1)
            for problem in part
        ),
        name,
    )


def apart(data: Trainable, size: int, seed: int = 0) -> tuple[Trainable, Trainable]:
    """Draw a part of about `size` problems, in whole blocks; return the rest and the part.

    Blocks are twins, families and lookalikes (`winosmith.blocks`), or the claims on one text.

    Raises:
        DataError: nothing would be left.
    """
    if not isinstance(data, Dataset):
        return _claims_apart(data, size, seed)
    drawn = sorted(draw(shuffled_blocks(data, seed), range(len(data)), [size])[0])
    taken = set(drawn)
    return data.select(row for row in range(len(data)) if row not in taken), data.select(drawn)


def _claims_apart(claims: tuple[Claim, ...], size: int, seed: int) -> tuple[Trainable, Trainable]:
    """Draw claims with all others on their text, in the order of their texts' digests."""
    from hashlib import sha256

    texts: dict[str, list[int]] = {}
    for row, claim in enumerate(claims):
        text = claim.sentence.replace("_", claim.pronoun or "_")
        texts.setdefault(text, []).append(row)
    order = sorted(texts, key=lambda text: sha256(f"{seed}\0{text}".encode()).digest())
    drawn: set[int] = set()
    for text in order:
        if len(drawn) >= size:
            break
        drawn.update(texts[text])
    if len(drawn) == len(claims):
        raise DataError(f"{size} claims are to be drawn from {len(claims)}; nothing would be left")
    return (
        tuple(claim for row, claim in enumerate(claims) if row not in drawn),
        tuple(claims[row] for row in sorted(drawn)),
    )


def nested(data: Dataset, seed: int = 0) -> tuple[Dataset, ...]:
    """Return nested parts of 160, 640, 2,560 … problems in whole blocks, and then all of it.

    Each holds the one before it. A part that would hold nearly all (80 %) is left out.

    >>> from winosmith.testing import made_twins
    >>> [len(part) for part in nested(made_twins(1000))]
    [160, 640, 2000]
    """
    rows: list[int] = []
    parts: list[Dataset] = []
    size = SMALLEST
    for block in shuffled_blocks(data, seed):
        if len(rows) >= size and size <= 0.8 * len(data):
            parts.append(data.select(sorted(rows)))
            size *= TIMES
        rows += block
    return (*parts, data)


def train_on_all(
    chosen: Trained,
    train: Trainable,
    dev: Trainable,
    *,
    model: str | Path,
    out: str | Path,
    device: str | None = None,
    on_step: Callable[[int, int, str], None] | None = None,
) -> FineTuned:
    """Train once more, on train and dev, with the settings and epochs that were chosen on dev.

    So WinoGrande's models for transfer were made ("fine-tuned on train and dev", table 6). The dev
    accuracy of the result is on problems that it was trained on: it says whether the run fell to
    chance, and nothing else.

    Args:
        chosen: what `train_grid` gave for `train` and `dev`.
        train: as there.
        dev: as there.
        model: as there: what to start from.
        out: the folder of the run.
        device: as torch names it.
        on_step: called after every step.
    """
    both = joined([train, dev])
    settings = replace(chosen.settings, last=chosen.best + 1)
    measured = both[len(train) :]  # with the ids that they have there
    return train_multiple_choice(
        both, measured, model=model, out=out, settings=settings, device=device, on_step=on_step
    )


@dataclass(frozen=True)
class CurveRun:
    """The best run of one seed on one training size.

    Attributes:
        size: training problems.
        run: what it gave on dev.
    """

    size: int
    run: TrainingRun


def curve_runs(
    parts: Sequence[Trainable],
    dev: Trainable,
    *,
    out: str | Path,
    on_size: Callable[[int, Trained], None] | None = None,
    **arguments: Any,
) -> list[CurveRun]:
    """Train on each part, and return the best run of each seed and size.

    Args:
        parts: nested, such as `nested` gives, or WinoGrande's xs to xl.
        dev: what measures all of them.
        out: a folder; each size gets one in it.
        on_size: is told each size and what it gave.
        arguments: `model`, `grid`, `settings`, `device`, `on_step`, `on_run` of `train_grid`.
    """
    points: list[CurveRun] = []
    for part in parts:
        trained = train_grid(part, dev, out=Path(out) / str(len(part)), **arguments)
        for seed in sorted({run.settings.seed for run in trained.runs}):
            own = [run for run in trained.runs if run.settings.seed == seed]
            points.append(CurveRun(len(part), max(own, key=lambda run: run.dev_accuracy)))
        if on_size:
            on_size(len(part), trained)
    return points


def write_curve(points: Sequence[CurveRun], path: str | Path) -> None:
    """Write the runs as `winosmith curve` reads them: size, accuracy (0–1), seed, at_chance."""
    with write_aside(path) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["size", "accuracy", "seed", "at_chance"])
        for point in points:
            run = point.run
            row = [point.size, f"{run.dev_accuracy:.6f}", run.settings.seed, int(run.at_chance)]
            table.writerow(row)


DPR_DEV = 122
"""WinoGrande (section 5.1) trains on 1,200 of DPR's and chooses by 122. It prints 1,332 for their
sum, which is 1,322."""

COPA_TRAIN, COPA_SIZE = 400, 500
"""SuperGLUE trains on the first 400 of COPA's dev set and chooses by the last 100, in its order."""


def paper_split(name: str, data: Trainable, seed: int = 0) -> tuple[Trainable, Trainable]:
    """Return what to train on and what to choose by, of the training data of a data set.

    DPR: 1,200 and 122, drawn in whole twins, as the paper does not say how. COPA: 400 and 100, as
    SuperGLUE. Elsewhere a tenth is drawn in whole blocks to choose by.

    >>> from winosmith.testing import made_twins
    >>> [len(part) for part in paper_split("dpr", made_twins(661))]
    [1200, 122]
    """
    if name == "copa" and isinstance(data, Dataset) and len(data) == COPA_SIZE:
        return data[:COPA_TRAIN], data[COPA_TRAIN:]
    return apart(data, DPR_DEV if name == "dpr" else -(-len(data) // 10), seed)


def overlap(one: Iterable[Problem | Claim], other: Iterable[Problem | Claim]) -> list[str]:
    """Return the distinct texts of the second set that are in the first one too, in order.

    A text is compared without its case and without what is no letter or digit, the pronoun in the
    blank where it is known: so a Winograd schema is found again in SuperGLUE-WSC.
    """
    held = {_plain(item) for item in one}
    shared = {_plain(item): item.sentence for item in other if _plain(item) in held}
    return list(shared.values())


def _plain(item: Problem | Claim) -> str:
    text = item.sentence.replace("_", item.pronoun or "_")
    return "".join(letter for letter in text.lower() if letter.isalnum())
