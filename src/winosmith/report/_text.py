"""Text, numbers and signatures as reports show them.

Numbers are rounded once, and every figure carries a signature, as sacreBLEU's scores do
(Post 2018).
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
from winosmith.escape import for_page
from winosmith.text import number_of

Value = str | int | float | bool | None
"""The value of a cell or a key figure; numpy's scalars count as numbers."""


def cut(text: object, most: int) -> str:
    """Return the cleaned text on one line, with at most `most` characters.

    >>> cut("not answerable from the local context", 20)
    'not answerable from…'
    """
    line = " ".join(for_page(text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def whole_and_single(twins: int, singles: int) -> str:
    """Return the numbers of whole twins and of singles, in words.

    >>> whole_and_single(1, 1_022)
    '1 whole twin and 1,022 singles'
    """
    return f"{number_of(twins, 'whole twin')} and {number_of(singles, 'single')}"


def joined(names: Sequence[str], most: int = 4) -> str:
    """Return names as a sentence lists them, of many only the first.

    >>> joined(["0"]), joined(["0", "240"]), joined("abc"), joined("abcdefg")
    ('0', '0 and 240', 'a, b and c', 'a, b, c, d and 3 more')
    """
    more = len(names) - most
    *first, last = names if more <= 0 else (*names[:most], f"{more:,} more")
    return f"{', '.join(first)} and {last}" if first else last


_FORM = re.compile(r"([+]?,?)\.(\d+)([f%])")
"""Format specifications with a number of decimals."""

_EXACT = 12
"""Decimals that float arithmetic keeps; numbers that differ beyond them are equal."""

_LARGE = 1e15
"""From this number on, floats have no halves."""


def fixed(value: float, form: str = ".1f") -> str:
    """Return a number with the decimals of `form`, rounded as papers print figures.

    What lies half way goes away from zero. A float's own format rounds the binary number that
    stands for it: it would print 69 of 80 as 86.2 %, and 0.35 as 0.3. What rounds to nothing has no
    minus.

    Args:
        value: the number.
        form: a format specification: ".1f", "+.1f", ",.0f", ".1%"; others are the float's own.

    >>> fixed(100 * 69 / 80), fixed(0.35), fixed(-0.85 + 0.8, "+.1%"), fixed(-0.01, "+.1f")
    ('86.3', '0.4', '-5.0%', '+0.0')
    """
    asked = _FORM.fullmatch(form)
    if asked is None or not abs(value) < _LARGE:
        return format(value, form)
    flags, places, kind = asked.groups()
    number = Decimal(repr(round(float(value), _EXACT))).scaleb(2 if kind == "%" else 0)
    rounded = number.quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP)
    return format(rounded + 0, f"{flags}f") + kind.replace("f", "")


def percent(share: float, digits: int = 1) -> str:
    """Return a fraction of 0–1 in percent.

    >>> percent(69 / 80), percent(2 / 3, 0)
    ('86.3 %', '67 %')
    """
    return fixed(share, f".{digits}%").replace("%", " %")


def points(change: float, digits: int = 1) -> str:
    """Return a difference of shares in points of percent, with its sign.

    >>> points(0.0125), points(-0.0312), points(-0.0004)
    ('+1.3', '−3.1', '+0.0')
    """
    return fixed(100 * change, f"+.{digits}f").replace("-", "−")


def span(interval: tuple[float, float], digits: int = 1) -> str:
    """Return an interval of shares in percent.

    >>> span((0.8095, 0.9))
    '81.0–90.0'
    """
    low, high = (fixed(100 * end, f".{digits}f") for end in interval)
    return f"{low}–{high}"


def points_span(interval: tuple[float, float], digits: int = 1) -> str:
    """Return an interval of differences of shares, in points of percent.

    >>> points_span((-0.02, 0.1))
    '−2.0 to +10.0'
    """
    return " to ".join(points(end, digits) for end in interval)


LEAST_P = 0.0001
"""The smallest p-value that is printed as a number."""


def probability(p: float) -> str:
    """Return a p-value; one below `LEAST_P` is printed as such.

    >>> probability(0.03125), probability(2e-6)
    ('0.0313', '<0.0001')
    """
    return f"<{LEAST_P}" if p < LEAST_P else fixed(p, ".4f")


def p_value(p: float) -> str:
    """Return a p-value in a sentence.

    >>> p_value(0.03125), p_value(2e-6)
    ('p = 0.0313', 'p < 0.0001')
    """
    return f"p = {probability(p)}".replace("= <", "< ")


def shown(value: object, form: str = "") -> str:
    r"""Return a value as the report prints it.

    Nothing (None, NaN) is "—"; whole numbers have commas; other numbers three decimals, unless
    `form`, a format specification, says otherwise (`fixed` rounds); text stays, and is escaped
    where it is written (`winosmith.escape`).

    >>> shown(12282), shown(0.12345), shown(0.12345, ".1%"), shown(None)
    ('12,282', '0.123', '12.3\xa0%', '—')
    """
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return format(int(value), form or ",")
    if isinstance(value, Real):
        return fixed(float(value), form or ",.3f").replace("-", "−").replace("%", "\u00a0%")
    return str(value)


def percent_tick(value: float, _position: float = 0) -> str:
    """Return the label of a tick of an axis of fractions, with the decimals of the tick.

    Rounded to whole percents, ticks at 42.5, 45 and 47.5 % would be at "42", "45" and "48 %".

    >>> percent_tick(0.425), percent_tick(0.45)
    ('42.5 %', '45 %')
    """
    return f"{round(100 * value, 2):g} %".replace("-", "−")


@dataclass(frozen=True)
class Signature:
    """The determinants of a number: data, number of problems, parameters, seed and version.

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
        """Return it as text, for records."""
        return str(self)


def sign(dataset: Dataset, seed: int | None = None, **parameters: Any) -> Signature:
    """Return the signature of a figure that was measured on `dataset` with these parameters."""
    return Signature(dataset.digest, len(dataset), parameters, seed)
