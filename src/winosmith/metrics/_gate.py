"""Rules that a comparison of models must keep, for a release or a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winosmith.errors import InputError
from winosmith.metrics._compare import Comparison, Pair
from winosmith.report import points, points_span

_RULE = re.compile(r"worse(?:=(\d+(?:\.\d+)?)(?:pt)?)?")


def parsed_rules(rules: str) -> list[float | None]:
    """Return the rules of `regressions`: of each its points, 0–1, or None for the interval.

    Raises:
        InputError: there is no such rule.

    >>> parsed_rules("worse, worse=2pt")
    [None, 0.02]
    """
    return [_parsed(rule) for rule in filter(None, map(str.strip, rules.split(",")))]


def _parsed(text: str) -> float | None:
    found = _RULE.fullmatch(text)
    if found is None:
        raise InputError(f"unknown rule {text!r}; use worse or worse=2pt, or both with a comma")
    return float(found[1]) / 100 if found[1] else None


def regressions(found: Comparison, rules: str) -> list[str]:
    """Return a sentence for each model and rule that it breaks, of a comparison with a baseline.

    Args:
        found: `compare` with a baseline, which is the second of each pair.
        rules: with commas: "worse" is broken by a model whose 95 % interval of the difference from
            the baseline is below 0; "worse=2pt" by one whose accuracy is at least 2 points lower.

    Raises:
        InputError: there is no such rule.
    """
    asked = parsed_rules(rules)
    return [sentence for pair in found.pairs for sentence in _broken(pair, asked)]


def _broken(pair: Pair, rules: list[float | None]) -> Iterator[str]:
    difference = f"{points(-abs(pair.difference))} points"
    for least in rules:
        if least is None and pair.interval[1] < 0:
            span = points_span(pair.interval)
            yield f"{pair.first!r} is worse than {pair.second!r}: {difference} ({span})"
        elif least is not None and pair.difference <= -least + 1e-12 and pair.difference < 0:
            yield (
                f"{pair.first!r} is worse than {pair.second!r} by {100 * least:g} points or more: "
                f"{difference}"
            )
