"""Test for exposure: whether models' scores depend on a release's coins.

A look is a test of one or several models together. Each new look has a lower significance level,
so looks are recorded in an append-only ledger in the private folder, with a line for each look.
Testing the same scores again is not a new look, because the result can't change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from winosmith.errors import DataError, FormatError
from winosmith.exposure._coins import KeyedRelease
from winosmith.exposure._scores import Scores, get_presentation_kind
from winosmith.exposure._statistic import (
    Floats,
    compute_detectable_shift,
    compute_look_level,
    sign_test,
    subtract_fit,
)
from winosmith.locks import try_lock
from winosmith.metrics import correct_by_holm
from winosmith.outputs import make_write_error
from winosmith.records import dump_json, parse_json_lines
from winosmith.report import probability, to_fixed
from winosmith.results import Result, shown

MIN_BLOCKS = 50
"""Minimum number of blocks with different scores that a significance test requires."""

_LEDGER = "looks.jsonl"

_LOOK_KEYS = {"look", "release", "models", "scores", "date"}
"""Keys of a line of the ledger: the number of the look (from 1), the digest of the release's data,
the names of the models, the sorted digests of their scores, and the time in UTC. The digest of the
reference's scores has the prefix "reference:"."""


def _format_interval(interval: tuple[float, float]) -> str:
    return " to ".join(to_fixed(end, "+.2f").replace("-", "−") for end in interval)


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
        depends: whether the adjusted p-value is at most the look's level.
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
    """The results of testing all models in one look (interim analysis) at a release.

    Attributes:
        release: digest of the release's data.
        look: number of the look at this release, from 1.
        level: significance level of the look.
        blocks: number of blocks whose presentation a coin decided.
        blocks_without_coin: number of blocks without an equivalent presentation.
        reference: name of the reference model; None if there is none.
        models: the result of each model by name.
    """

    release: str
    look: int
    level: float
    blocks: int
    blocks_without_coin: int
    reference: str | None
    models: Mapping[str, ModelExposure] = field(metadata={"rows": True})


def measure_exposure(
    keyed: KeyedRelease,
    scores: Sequence[Scores],
    *,
    private: str | Path,
    reference: Scores | None = None,
) -> Exposure:
    """Test whether models' scores on a keyed release depend on its coins.

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
        DataError: There is no model, two models have the same name, a model's scores for the two
            presentations differ in fewer than 50 blocks, or the differences are equal in all blocks
            of each kind.
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
    tested = []
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
        tested.append((one, rows, left))
    digests = [one.digest for one in scores]
    if reference is not None:
        digests.append(f"reference:{reference.digest}")
    look = _record_look(private, keyed.digest, names, digests)
    coins = np.array([keyed.coins[block] for block in kinds])
    tests = [sign_test(left, coins[rows]) for _, rows, left in tested]
    level = compute_look_level(look)
    adjusted = correct_by_holm([test.p_value for test in tests])
    results = {
        one.model: ModelExposure(
            blocks=len(rows),
            equal=len(coins) - len(rows),
            scores=one.kind,
            shift=test.shift,
            interval=test.interval,
            p_value=test.p_value,
            adjusted=holm,
            depends=holm <= level,
            detectable=compute_detectable_shift(len(rows), level / len(scores)),
        )
        for (one, rows, _), test, holm in zip(tested, tests, adjusted, strict=True)
    }
    named = None if reference is None else reference.model
    return Exposure(
        keyed.digest, look, level, len(coins), keyed.blocks_without_coin, named, results
    )


def _average_differences(keyed: KeyedRelease, scores: Scores) -> Floats:
    values: dict[str, list[float]] = {}
    for pair, difference in zip(keyed.pairs, scores.differences.tolist(), strict=True):
        values.setdefault(pair.block, []).append(difference)
    return np.array([sum(differences) / len(differences) for differences in values.values()])


def _record_look(
    folder: str | Path, release: str, models: Sequence[str], scores: Iterable[str]
) -> int:
    """Return the number of the look at these scores, and record a new look in the ledger.

    A look is recorded before the coins are used, so even an interrupted command is a look.
    """
    path, digests = Path(folder) / _LEDGER, sorted(scores)
    try:
        with os.fdopen(
            os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8"
        ) as file:
            if not try_lock(file.fileno()):
                raise DataError(f"{path}: another command is using the ledger; try again later")
            looks = _parse_ledger(file.read(), path)
            earlier = [look["scores"] for look in looks if look["release"] == release]
            if digests in earlier:
                return earlier.index(digests) + 1
            look = {
                "look": len(earlier) + 1,
                "release": release,
                "models": [*models],
                "scores": digests,
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            file.write(dump_json(look) + "\n")
            file.flush()
            os.fsync(file.fileno())
            return len(earlier) + 1
    except OSError as error:
        raise make_write_error(error, path) from error


def _parse_ledger(text: str, path: Path) -> list[dict[str, Any]]:
    looks: list[dict[str, Any]] = []
    for number, record in parse_json_lines(text, path):
        before = sum(look["release"] == record.get("release") for look in looks)
        if record.keys() != _LOOK_KEYS or record["look"] != before + 1:
            raise FormatError(
                "the ledger is damaged; restore it from a backup, because the significance level "
                "of each look depends on the looks before it",
                path,
                number,
            )
        looks.append(record)
    if text and not text.endswith("\n"):
        raise FormatError(
            "the ledger's last line is incomplete; restore it from a backup",
            path,
        )
    return looks
