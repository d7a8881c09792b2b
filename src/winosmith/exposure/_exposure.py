"""Test for exposure: whether models' scores depend on a release's coins.

Differences are tested after a fit that does not use the coins. The coins are fair and independent,
and the scores are made without them. So, given the scores, the statistic is distributed like a sum
of numbers with random signs, without any assumption about the model.

A look is a test of one or several models together. Each new look has a lower significance level,
so looks are recorded in an append-only ledger in the private folder, with a line for each look.
Testing the same scores again is not a new look, because the result can't change.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError, FormatError
from winosmith.exposure._coins import KeyedRelease
from winosmith.exposure._scores import Scores, get_presentation_kind
from winosmith.locks import try_lock
from winosmith.metrics import correct_by_holm
from winosmith.outputs import make_write_error
from winosmith.records import dump_json, parse_json_lines
from winosmith.report import probability, to_fixed
from winosmith.results import Result, shown

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_SCORE = 50
"""Maximum absolute score. Scores are integers, so that their distribution is computed exactly. Any
function of the differences gives an exact test, and this rounding costs no power."""

MAX_DEVIATIONS = 8.0
"""Maximum distance of a sum from 0, in standard deviations. The probability of larger sums, which
are ignored, is below 3e-14 (Hoeffding 1963, theorem 2)."""

MIN_P = 1e-12

LEVEL = 0.05
"""Maximum probability of any false detection over all looks at a release."""

EFFICIENCY = 3 / math.pi
"""Pitman efficiency of signed ranks relative to the mean of normal differences (Hodges and Lehmann
1956). For other continuous distributions, it is at least .864, and more than 1 if their tails are
heavier than those of the logistic distribution."""


def subtract_fit(differences: Floats, strata: Integers, reference: Floats | None = None) -> Floats:
    """Subtract a fit that does not use the coins from the score differences.

    The fit consists of the mean of each stratum and a non-negative multiple of the reference's
    differences, fitted by least squares within strata. If the reference was exposed, too, the test
    loses power, but remains valid.

    Args:
        differences: The difference between presentations A and B for each block, (n,).
        strata: The number of each block's stratum, from 0, (n,).
        reference: The differences of a model that was not exposed, (n,).

    Returns:
        The residuals, (n,), rounded to preserve ties.
    """

    def subtract_means(values: Floats) -> Floats:
        sums, counts = np.bincount(strata, values), np.bincount(strata)
        means: Floats = (sums / np.maximum(counts, 1))[strata]
        return values - means

    residuals = subtract_means(differences)
    if reference is not None:
        other = subtract_means(reference)
        if size := float(other @ other):
            residuals = residuals - max(0.0, float(residuals @ other) / size) * other
    unit = float(np.abs(differences).max(initial=0.0)) or 1.0
    return unit * np.round(residuals / unit, 12)


def signed_ranks(values: Floats) -> Integers:
    """Return the centred signed ranks of values as integers from -`MAX_SCORE` to `MAX_SCORE`.

    Ties get their mean rank. Subtracting the mean of the signed ranks ensures that a remaining
    preference for presentation A or B costs no power.

    >>> signed_ranks(np.array([-3.0, 1.0, 2.0, 2.0]))
    array([-50,   6,  22,  22])
    """
    from scipy.stats import rankdata

    ranks = np.sign(values) * rankdata(np.abs(values))
    ranks = ranks - ranks.mean() if len(ranks) else ranks
    largest = float(np.abs(ranks).max(initial=0.0))
    scores: Integers = np.rint(ranks * (MAX_SCORE / largest if largest > 1e-9 else 0.0)).astype(
        np.int64
    )
    return scores


def tail_probability(scores: Integers, sums: npt.ArrayLike) -> Floats:
    """Return the probability that randomly signed scores sum to at least each of `sums`.

    The distribution is computed from its characteristic function, the product of cos(score · θ),
    by a discrete Fourier transform over sums up to `MAX_DEVIATIONS` standard deviations.

    Args:
        scores: Integers, (n,).
        sums: Observed sums, of any shape.

    Returns:
        The p-values in the shape of the sums, exact to 1e-12 and at least `MIN_P`.

    >>> tail_probability(np.array([1, 2, 3]), [4, 0])
    array([0.25 , 0.625])
    """
    from scipy.fft import irfft, next_fast_len

    sizes, counts = np.unique(np.abs(scores), return_counts=True)
    reach = math.ceil(
        min(float(sizes @ counts), MAX_DEVIATIONS * math.sqrt(float(sizes**2 @ counts)))
    )
    points: int = next_fast_len(2 * reach + 1, real=True)
    angles = np.arange(points // 2 + 1) * (2 * np.pi / points)
    product = np.ones(len(angles))
    for size, count in zip(sizes, counts, strict=True):
        product *= np.cos(size * angles) ** count
    # Sums from -reach to reach in order; the transform has negative sums at its end.
    law = np.roll(irfft(product, points), reach)[: 2 * reach + 1]
    tails = np.append(law[::-1].cumsum()[::-1], 0.0)
    found: Floats = tails[np.clip(sums, -reach, reach + 1) + reach]
    return np.clip(found.round(13), MIN_P, 1.0)


@dataclass(frozen=True)
class SignTest:
    """The sign test of one model's differences.

    Attributes:
        p_value: the one-sided p-value, exact.
        shift: the mean shift towards the published presentation, in standard deviations of the
            residuals.
        interval: 95 % interval of the shift.
    """

    p_value: float
    shift: float
    interval: tuple[float, float]


def sign_test(residuals: Floats, coins: npt.NDArray[np.bool_]) -> SignTest:
    """Test whether residuals depend on the coins, and estimate the mean shift.

    The estimate is the mean of the residuals, each multiplied by the sign of its coin. Averaged
    over the coin tosses, it equals the mean shift, except for a fraction 1 / n due to the fit. This
    is also true if blocks have different shifts. The interval uses Student's t.

    Args:
        residuals: The residuals, (n,), at least two and not all 0.
        coins: Whether presentation A of each block was published, (n,).
    """
    from scipy.special import stdtrit

    signs = np.where(coins, 1, -1)
    scores = signed_ranks(residuals)
    signed = signs * residuals / residuals.std()
    shift = float(signed.mean())
    half = float(
        stdtrit(len(residuals) - 1, 0.975) * signed.std(ddof=1) / math.sqrt(len(residuals))
    )
    p_value = float(tail_probability(scores, signs @ scores))
    return SignTest(p_value, shift, (shift - half, shift + half))


def compute_look_level(look: int, level: float = LEVEL) -> float:
    """Return the significance level of one look; over all looks, the levels add up to `level`.

    Look j gets level · 6 / (π² j²), because the sum of all 1 / j² is π² / 6.

    Args:
        look: The number of the look, from 1.
        level: The significance level of all looks together, between 0 and 1.

    Raises:
        DataError: The number of the look is not positive.

    >>> [round(compute_look_level(look), 4) for look in (1, 2, 3)]
    [0.0304, 0.0076, 0.0034]
    """
    if look < 1:
        raise DataError(f"the number of the look must be at least 1, not {look}")
    return level * 6 / (math.pi * look) ** 2


def compute_detectable_shift(blocks: int, level: float = LEVEL, power: float = 0.8) -> float:
    """Return the minimum mean shift of differences that `measure_exposure` can detect.

    If a model has read the published presentation of a block, its difference d between the two
    presentations shifts towards this presentation. The detectable shift is (z(1 - level) +
    z(power)) / √(blocks · 3/π): the normal approximation of a one-sided signed-rank test, for
    normally distributed differences with the same shift in all blocks. With heavier tails, smaller
    shifts are detectable; a shift in only a few blocks is harder to detect. A test of the mean of
    normal differences needs 4.5 % fewer blocks for the same shift (2,473 for .05, 619 for .1).

    Args:
        blocks: The number of blocks whose two presentations have different scores.
        level: The level of the one-sided test, between 0 and 1; for m models, divide it by m.
        power: The probability of detecting the shift, between 0 and 1.

    Returns:
        The shift in standard deviations of d, after subtracting the fit made without coins.

    Raises:
        DataError: There is no block, or the level or power is not between 0 and 1.

    >>> [round(compute_detectable_shift(blocks), 2) for blocks in (2472, 618, 155)]
    [0.05, 0.1, 0.2]
    >>> [round(compute_detectable_shift(blocks, 0.0025), 2) for blocks in (5326, 1332, 333)]
    [0.05, 0.1, 0.2]
    """
    from scipy.special import ndtri

    if blocks < 1:
        raise DataError(f"the number of blocks must be 1 or more, not {blocks}")
    for name, value in (("level", level), ("power", power)):
        if not 0 < value < 1:
            raise DataError(f"the {name} must be between 0 and 1, not {value}")
    return float((ndtri(1 - level) + ndtri(power)) / math.sqrt(blocks * EFFICIENCY))


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
