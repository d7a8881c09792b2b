"""What the scores of language models share: sums and means over tokens, option by option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from winosmith import models
from winosmith.errors import DataError, InputError
from winosmith.problem import Problem
from winosmith.seen import Sees, check_pronouns, check_sees

__all__ = ["LanguageScores", "check_kind", "gathered", "referred"]


@dataclass(frozen=True)
class LanguageScores:
    """Every score of a language model for some problems.

    Attributes:
        scores: by their name, one tuple a problem.
        tokens_fed: the tokens that the model read, padding counted.
    """

    scores: dict[str, list[tuple[float, ...]]]
    tokens_fed: int


def check_kind(kind: str, kinds: Sequence[str]) -> None:
    """Refuse a score that is none, with InputError."""
    if kind not in kinds:
        raise InputError(f"the score is one of {', '.join(kinds)}; not {kind!r}")


def referred(problems: Sequence[Problem], sees: Sees, end: str = "") -> Sequence[Problem]:
    """Return the problems as a language model is asked about them; see `models.referring`.

    Raises:
        InputError: `sees` is none.
        DataError: a pronoun that is to be seen is not known.
    """
    check_sees(sees)
    if sees == "blank":
        return problems
    check_pronouns(problems)
    return [models.referring(problem, end) for problem in problems]


def gathered(
    problems: Sequence[Problem],
    parts: Sequence[str],
    values: Sequence[npt.NDArray[np.float64]],
    tokens_fed: int,
    model: str | Path,
) -> LanguageScores:
    """Return sums and means of the values, option by option, for each part in turn."""
    rows = iter(values)
    scores: dict[str, list[tuple[float, ...]]] = {}
    for part in parts:
        sums, means = [], []
        for problem in problems:
            own = [next(rows) for _ in problem.options]
            if not all(np.isfinite(one).all() for one in own):
                raise DataError(
                    f"the model {model} gives values that are not finite, first for "
                    f"{problem.id!r}; its weights are damaged, or the dtype is too coarse"
                )
            sums.append(tuple(float(one.sum()) for one in own))
            means.append(tuple(float(one.mean()) if len(one) else 0.0 for one in own))
        scores |= {part: sums, f"{part}_per_token": means}
    return LanguageScores(scores, tokens_fed)
