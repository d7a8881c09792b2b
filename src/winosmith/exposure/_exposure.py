"""Test for exposure: whether models' scores depend on a release's coins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from winosmith.errors import DataError
from winosmith.exposure._coins import KeyedRelease
from winosmith.exposure._ledger import record_look
from winosmith.exposure._scores import Scores, get_presentation_kind
from winosmith.exposure._statistic import (
    Floats,
    compute_detectable_shift,
    compute_look_level,
    sign_test,
    subtract_fit,
)
from winosmith.metrics import correct_by_holm
from winosmith.report import fixed, probability
from winosmith.results import Result, shown

MIN_BLOCKS = 50
"""Minimum number of blocks with different scores that a significance test requires."""


def _format_interval(interval: tuple[float, float]) -> str:
    return " to ".join(fixed(end, "+.2f").replace("-", "−") for end in interval)


@dataclass(frozen=True)
class ModelExposure(Result):
    """The test result of one model.

    Attributes:
        blocks: number of blocks that were tested.
        equal: number of blocks that were omitted because their presentations have equal scores.
        scores: kind of the scores: "log-probabilities" or "answers".
        shift: mean shift towards the published presentations, in standard deviations of the
            residuals.
        interval: 95 % interval of the shift.
        p_value: the one-sided p-value.
        adjusted: the p-value after Holm's correction for the models of this look.
        depends: whether the scores are shown to depend on the coins: the adjusted p-value is at
            most the look's level.
        detectable: the shift that is detected with 80 % power; see `compute_detectable_shift`.
    """

    blocks: int = field(metadata=shown("blocks"))
    equal: int
    scores: str
    shift: float = field(metadata=shown("shift", "+.2f"))
    interval: tuple[float, float] = field(metadata=shown("95 %", _format_interval))
    p_value: float = field(metadata=shown("p", probability))
    adjusted: float = field(metadata=shown("Holm", probability))
    depends: bool = field(metadata=shown("depends", lambda of: "yes" if of else "not shown"))
    detectable: float


@dataclass(frozen=True)
class Exposure(Result):
    """The test results of all models in one look at a release.

    Attributes:
        release: digest of the release's data.
        look: number of the look at this release, from 1.
        level: significance level of the look.
        blocks: number of blocks whose presentation a coin decided.
        without: number of blocks without an equivalent presentation.
        reference: name of the reference model; None if there is none.
        models: the result of each model by name.
    """

    release: str
    look: int
    level: float
    blocks: int
    without: int
    reference: str | None
    models: Mapping[str, ModelExposure] = field(metadata={"rows": True})


def measure_exposure(
    keyed: KeyedRelease,
    scores: Sequence[Scores],
    *,
    private: str | Path,
    reference: Scores | None = None,
) -> Exposure:
    """Test whether models' scores of a keyed release depend on its coins.

    A model whose scores don't depend on the coins has no preference for the published
    presentations, whatever else it has read. The probability of a false detection is at most the
    level. A block's difference d is the mean over its items of the score of presentation A minus
    that of B. Blocks with d = 0 are omitted. A fit of d on the kind of presentation and the
    reference's d is subtracted (`subtract_fit`). The statistic is the sum of the centred signed
    ranks of the residuals, multiplied by the signs of the coins. The p-value is exact and one-sided
    (`sign_test`).

    Args:
        keyed: The release's presentations and coins.
        scores: The scores of each model, each from one run; see `read_scores`.
        private: The release's private folder, which contains the ledger of looks.
        reference: The scores of a model that can't depend on the coins, for example because it is
            older than the release.

    Returns:
        The result of each model.

    Raises:
        DataError: There is no model, two models have the same name, a model's two scores differ in
            fewer than 50 blocks, or the differences are equal in all blocks of each kind.
        FormatError: The ledger is damaged.
        OutputError: The ledger can't be written.
    """
    names = [one.model for one in scores]
    if not scores or len(names) > len({*names}):
        raise DataError(
            f"the models are {names}; at least one model is needed, and names must be unique"
        )
    kinds = {pair.block: get_presentation_kind(pair) for pair in keyed.pairs}
    strata = np.array([int(kind == "options") for kind in kinds.values()], np.int64)
    other = None if reference is None else _average_differences(keyed, reference)
    tested = {}
    for one in scores:
        differences = _average_differences(keyed, one)
        rows = np.flatnonzero(differences)
        if len(rows) < MIN_BLOCKS:
            raise DataError(
                f"{one.model}: the presentations have different scores in {len(rows):,} of "
                f"{len(differences):,} blocks; {MIN_BLOCKS} or more are needed"
            )
        left = subtract_fit(differences[rows], strata[rows], None if other is None else other[rows])
        if not left.any():
            raise DataError(
                f"{one.model}: the difference between the presentations is the same in all blocks "
                "of each kind, so it can't depend on the coins"
            )
        tested[one.model] = rows, left
    digests = [one.digest for one in scores]
    if reference is not None:
        digests.append(f"reference:{reference.digest}")
    look = record_look(private, keyed.digest, names, digests)
    coins = np.array([keyed.coins[block] for block in kinds])
    tests = {name: sign_test(left, coins[rows]) for name, (rows, left) in tested.items()}
    level = compute_look_level(look)
    adjusted = correct_by_holm([test.p_value for test in tests.values()])
    results = {
        one.model: ModelExposure(
            depends=holm <= level,
            scores=one.kind,
            blocks=len(tested[one.model][0]),
            equal=len(coins) - len(tested[one.model][0]),
            shift=tests[one.model].shift,
            interval=tests[one.model].interval,
            p_value=tests[one.model].p_value,
            adjusted=holm,
            detectable=compute_detectable_shift(len(tested[one.model][0]), level / len(scores)),
        )
        for one, holm in zip(scores, adjusted, strict=True)
    }
    named = None if reference is None else reference.model
    return Exposure(keyed.digest, look, level, len(coins), keyed.without, named, results)


def _average_differences(keyed: KeyedRelease, scores: Scores) -> Floats:
    values: dict[str, list[float]] = {}
    for pair, difference in zip(keyed.pairs, scores.differences.tolist(), strict=True):
        values.setdefault(pair.block, []).append(difference)
    return np.array([sum(differences) / len(differences) for differences in values.values()])
