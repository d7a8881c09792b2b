"""Format texts and numbers for reports, and make signatures.

Numbers are rounded only once, and every number has a signature, as in sacreBLEU (Post 2018).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from numbers import Integral, Real
from typing import Any

from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.escape import escape_page
from winosmith.text import format_count

Value = str | int | float | bool | None
"""The value of a cell or key figure; numbers may be numpy scalars."""


def truncate(text: object, length: int) -> str:
    """Shorten a text to one line of at most `length` characters, without control characters.

    >>> truncate("not answerable from the local context", 20)
    'not answerable from…'
    """
    line = " ".join(escape_page(text).split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def count_twins_and_singles(twins: int, singles: int) -> str:
    """Format the number of whole twins and of singles as a phrase.

    >>> count_twins_and_singles(1, 1_022)
    '1 whole twin and 1,022 singles'
    """
    return f"{format_count(twins, 'whole twin')} and {format_count(singles, 'single')}"


def join_names(names: Sequence[str], limit: int = 4) -> str:
    """Join names for a sentence; names beyond `limit` are replaced with their count.

    >>> join_names(["0"]), join_names(["0", "240"]), join_names("abc"), join_names("abcdefg")
    ('0', '0 and 240', 'a, b and c', 'a, b, c, d and 3 more')
    """
    more = len(names) - limit
    *first, last = names if more <= 0 else (*names[:limit], f"{more:,} more")
    return f"{', '.join(first)} and {last}" if first else last


_FORMAT_SPEC = re.compile(r"([+]?,?)\.(\d+)([f%])")
"""The format specifications that `to_fixed` rounds itself: sign and comma, decimals, and kind."""

_RELIABLE_DECIMALS = 12
"""Number of decimals that are reliable in float arithmetic; additional decimals are ignored."""

_MIN_WHOLE = 1e15
"""Value above which `format` is used, because such floats have hardly any decimals."""


def to_fixed(value: float, form: str = ".1f") -> str:
    """Format a number with fixed decimals, rounding half away from zero.

    Python's `format` rounds the binary number: it would print 69 of 80 as 86.2 %, and 0.35 as 0.3.
    Zero never has a minus sign.

    Args:
        value: The number.
        form: A format specification such as ".1f", "+.1f", ",.0f" or ".1%"; other specifications
            are passed to `format`.

    >>> to_fixed(100 * 69 / 80), to_fixed(0.35), to_fixed(-0.01, "+.1f")
    ('86.3', '0.4', '+0.0')
    >>> to_fixed(-0.85 + 0.8, "+.1%")
    '-5.0%'
    """
    asked = _FORMAT_SPEC.fullmatch(form)
    if asked is None or not abs(value) < _MIN_WHOLE:
        return format(value, form)
    flags, places, kind = asked.groups()
    number = Decimal(repr(round(float(value), _RELIABLE_DECIMALS))).scaleb(2 if kind == "%" else 0)
    rounded = number.quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP)
    return format(rounded + 0, f"{flags}f") + kind.replace("f", "")


def percent(fraction: float, digits: int = 1) -> str:
    """Format a fraction (0–1) as a percentage.

    >>> percent(69 / 80), percent(2 / 3, 0)
    ('86.3 %', '67 %')
    """
    return to_fixed(fraction, f".{digits}%").replace("%", " %")


def points(difference: float, digits: int = 1) -> str:
    """Format a difference between fractions in percentage points, with its sign.

    >>> points(0.0125), points(-0.0312), points(-0.0004)
    ('+1.3', '−3.1', '+0.0')
    """
    return to_fixed(100 * difference, f"+.{digits}f").replace("-", "−")


def percent_span(interval: tuple[float, float]) -> str:
    """Format an interval of fractions as a range in percent, without the percent signs.

    >>> percent_span((0.8095, 0.9))
    '81.0–90.0'
    """
    low, high = (to_fixed(100 * end) for end in interval)
    return f"{low}–{high}"


def points_span(interval: tuple[float, float]) -> str:
    """Format an interval of differences between fractions, in percentage points.

    >>> points_span((-0.02, 0.1))
    '−2.0 to +10.0'
    """
    return " to ".join(map(points, interval))


MIN_P_VALUE = 0.0001
"""Minimum p-value that is printed as a number."""


def probability(p: float) -> str:
    """Format a p-value with four decimals, or as "<0.0001" if it is below `MIN_P_VALUE`.

    >>> probability(0.03125), probability(2e-6)
    ('0.0313', '<0.0001')
    """
    return f"<{MIN_P_VALUE}" if p < MIN_P_VALUE else to_fixed(p, ".4f")


def p_value(p: float) -> str:
    """Format a p-value for a sentence.

    >>> p_value(0.03125), p_value(2e-6)
    ('p = 0.0313', 'p < 0.0001')
    """
    return f"p = {probability(p)}".replace("= <", "< ")


def format_value(value: object, form: str = "") -> str:
    r"""Format a value for reports.

    None and NaN become "—". Whole numbers get commas. Other numbers get three decimals, or the
    format specification `form` (see `to_fixed`). Text is unchanged; `winosmith.escape` escapes it
    on output.

    >>> format_value(12282), format_value(0.12345), format_value(0.12345, ".1%"), format_value(None)
    ('12,282', '0.123', '12.3\xa0%', '—')
    """
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return format(int(value), form or ",")
    if isinstance(value, Real):
        return to_fixed(float(value), form or ",.3f").replace("-", "−").replace("%", "\u00a0%")
    return str(value)


def format_percent_tick(value: float, _position: float = 0) -> str:
    """Format an axis tick as a percentage with as many decimals as it needs.

    With fixed decimals, ticks at 42.5, 45 and 47.5 % could become "42", "45" and "48 %".

    >>> format_percent_tick(0.425), format_percent_tick(0.45)
    ('42.5 %', '45 %')
    """
    return f"{round(100 * value, 2):g} %".replace("-", "−")


@dataclass(frozen=True)
class Signature:
    """A signature of the data, parameters, seed and version that determine a number.

    >>> print(Signature("0123456789abcdef", 40, {"threshold": 0.75}, seed=0, version="1.0"))
    data:0123456789ab|n:40|threshold:0.75|seed:0|version:1.0
    """

    data: str
    n: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    version: str = __version__

    def __str__(self) -> str:
        parts = {"data": self.data[:12], "n": self.n, **self.parameters}
        if self.seed is not None:
            parts["seed"] = self.seed
        parts["version"] = self.version
        return "|".join(f"{key}:{value}" for key, value in parts.items())

    def record(self) -> str:
        """Return the signature as a string, which is its JSON value."""
        return str(self)


def signature_of(dataset: Dataset, seed: int | None = None, **parameters: Any) -> Signature:
    """Make the signature of a number measured on a data set with these parameters."""
    return Signature(dataset.digest, len(dataset), parameters, seed)
