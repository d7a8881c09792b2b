"""The stages before the filter: what each takes out of the collected problems, and why."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from winosmith import validate
from winosmith.answers import Response
from winosmith.blocks import draw
from winosmith.build._copies import COPIES, Once, once
from winosmith.build._pool import read_pool, read_pool_votes
from winosmith.build._publish import Verdict
from winosmith.build._recipe import Recipe
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import RecipeError
from winosmith.records import parsed

DISCARDED = "embed split", "discarded: it fine-tuned the encoder"
"""The stage and the reason of problems that fine-tuned an encoder."""


@dataclass(frozen=True)
class Inputs:
    """What a recipe names, read.

    Attributes:
        dataset: the collected problems, with their old ids.
        votes: the judges' responses; empty when there are none.
        planted: the artifact of each problem that is known to hold one, by old id; None when
            nothing is known.
    """

    dataset: Dataset
    votes: tuple[Response, ...] = ()
    planted: Mapping[str, str] | None = None


def read_inputs(recipe: Recipe) -> Inputs:
    """Read the files that a recipe names.

    Raises:
        FormatError: one can't be read; file, line and reason.
        RecipeError: the file of planted artifacts does not map ids to kinds.
    """
    return Inputs(
        dataset=read_pool(recipe),
        votes=read_pool_votes(recipe),
        planted=_read_planted(recipe.planted) if recipe.planted else None,
    )


def _read_planted(path: str) -> Mapping[str, str]:
    try:
        planted = parsed(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise RecipeError(f"{path}: not JSON: {error}") from None
    if not isinstance(planted, dict) or not all(isinstance(k, str) for k in planted.values()):
        raise RecipeError(f"{path}: must map the ids of problems to the kind of their artifact")
    return planted


@dataclass
class Stages:
    """The collected problems, and what is left of them after each stage.

    Attributes:
        collected: everything that came in.
        done: what each stage kept and dropped, in order.
        valid: the ids of the problems that enough judges found valid.
        applied: to which problems the rules for authors were applied, and why.
        copies: what was found to be there more than once, by the rows of the collected problems.
    """

    collected: Dataset
    done: dict[str, Filtered] = field(default_factory=dict)
    valid: frozenset[str] = frozenset()
    applied: validate.Applied | None = None
    copies: Once = field(default_factory=lambda: Once({}, {}, (), ()))

    @property
    def left(self) -> Dataset:
        """What the last stage kept."""
        return list(self.done.values())[-1].kept if self.done else self.collected

    def rows(self) -> list[int]:
        """Return the rows, in the collected problems, of what is left."""
        return [self.collected.row(problem_id) for problem_id in self.left.ids]

    def add(self, stage: str, result: Filtered) -> None:
        """Go on with what this stage kept."""
        self.done[stage] = result

    def verdicts(self) -> dict[int, Verdict]:
        """Return why each dropped problem was dropped, by its row."""
        return {
            row: Verdict(entry.stage, entry.reason, self.copies.of.get(row))
            for result in self.done.values()
            for entry in result.dropped
            for row in [self.collected.row(entry.problem.id)]
        }


def check(stages: Stages, recipe: Recipe, votes: Sequence[Response]) -> None:
    """Apply the rules of structure and, where there are votes, those of validation."""
    embargoed = {
        row: "embargo: not to be published" for row, p in enumerate(stages.left) if p.embargo
    }
    if embargoed:
        stages.add("embargo", stages.left.drop(embargoed, "embargo"))
    checked = validate.check(stages.left, votes or None, recipe.structure, recipe.votes)
    for examined in checked.stages:
        stages.add(examined.stage, examined.filtered())
    stages.valid, stages.applied = checked.valid, checked.applied


def without_copies(stages: Stages, recipe: Recipe, known: Collection[str]) -> None:
    """Find what passed the checks more than once; take it out, unless the recipe keeps it.

    After the checks, for a copy that breaks a rule, or that judges refuse, is none to choose; of
    two with different answers the judges may have found out which one is right.

    Args:
        stages: the problems.
        recipe: says what becomes of copies.
        known: the ids of problems that were published before; of several, one of these stays.
    """
    rows = stages.rows()
    found = once(stages.left, recipe.seed, known)
    stages.copies = Once(
        {rows[row]: reason for row, reason in found.reasons.items()},
        {rows[row]: rows[of] for row, of in found.of.items()} if recipe.copies == "once" else {},
        [[rows[row] for row in group] for group in found.groups],
        [[rows[row] for row in group] for group in found.contradictory],
    )
    if recipe.copies == "once" and found.reasons:
        stages.add(COPIES, stages.left.drop(dict(found.reasons), COPIES))


def set_aside(
    stages: Stages, recipe: Recipe, order: Sequence[Sequence[int]]
) -> tuple[Dataset, Dataset] | None:
    """Take out the problems that fine-tune the encoder; return them for training and for dev.

    They are drawn in whole blocks and then left out of the benchmark (WinoGrande, section 3). An
    array that `winosmith embed --finetune` wrote says which were; there is nothing to train then.
    """
    first = [] if recipe.embed.array is None else [recipe.embed.array]
    known = {id_ for array in (*first, *recipe.consensus.arrays) for id_ in tuned_on(array)}
    sizes = recipe.embed.finetune_train, recipe.embed.finetune_dev
    if not any(sizes):
        _discard(stages, known)
        return None
    free = [row for row in stages.rows() if stages.collected.ids[row] not in known]
    train, dev = draw(order, free, sizes)
    _discard(stages, known | {stages.collected.ids[row] for row in (*train, *dev)})
    return stages.collected.select(train), stages.collected.select(dev)


def _discard(stages: Stages, taken: Collection[str]) -> None:
    stage, reason = DISCARDED
    rows = {row: reason for row, problem in enumerate(stages.left) if problem.id in taken}
    if rows:
        stages.add(stage, stages.left.drop(rows, stage))


def tuned_on(array: str) -> set[str]:
    """Return the ids of the problems that an array's encoder was fine-tuned on."""
    if not zipfile.is_zipfile(array):
        return set()
    with np.load(array, allow_pickle=False) as held:
        lists = [held[key] for key in ("train_ids", "dev_ids") if key in held.files]
    return {str(problem_id) for ids in lists for problem_id in ids}
