"""Rules that a comparison of models must keep, for a release or a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winosmith.errors import InputError
from winosmith.metrics._compare import Comparison, Pair
from winosmith.report import points, points_span

_RULE = re.compile(r"worse(?:=(\d+(?:\.\d+)?)(?:pt)?)?")


def parse_rules(rules: str) -> list[float | None]:
    """Return the rules of `find_regressions`: each as a difference, 0–1, or None for the interval.

    Raises:
        InputError: A rule is unknown.

    >>> parse_rules("worse, worse=2pt")
    [None, 0.02]
    """
    return [_parse_rule(rule) for rule in filter(None, map(str.strip, rules.split(",")))]


def _parse_rule(text: str) -> float | None:
    found = _RULE.fullmatch(text)
    if found is None:
        raise InputError(
            f"unknown rule {text!r}; use worse or worse=2pt, or both separated by a comma"
        )
    return float(found[1]) / 100 if found[1] else None


def find_regressions(found: Comparison, rules: str) -> list[str]:
    """Return a sentence for each rule that a model breaks compared with the baseline.

    Args:
        found: The result of `compare` with a baseline, which is the second of each pair.
        rules: Rules separated by commas: "worse" is broken by a model whose 95 % interval of the
            difference from the baseline is below 0; "worse=2pt" by one whose accuracy is at least 2
            points lower.

    Raises:
        InputError: A rule is unknown.
    """
    asked = parse_rules(rules)
    return [sentence for pair in found.pairs for sentence in _find_broken_rules(pair, asked)]


def _find_broken_rules(pair: Pair, rules: list[float | None]) -> Iterator[str]:
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
