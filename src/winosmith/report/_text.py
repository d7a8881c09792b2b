"""Text and numbers as the report shows them: cleaned of what no page can hold, rounded once."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real

__all__ = ["Value", "clean", "cut", "shown"]

Value = str | int | float | bool | None
"""What a cell of a table or a key figure may hold; numpy's scalars count as numbers."""

_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def clean(text: object) -> str:
    r"""Return the text with what XML and UTF-8 can't hold replaced by U+FFFD.

    Lone surrogates come out of JSON files ("\ud800"), control characters out of anywhere.

    >>> clean("a\x00b")
    'a�b'
    """
    return _UNSHOWABLE.sub("�", str(text))


def cut(text: object, most: int) -> str:
    """Return the text cleaned, on one line, and no longer than `most` characters.

    >>> cut("not answerable from the local context", 20)
    'not answerable from…'
    """
    line = " ".join(clean(text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def shown(value: object, form: str = "") -> str:
    r"""Return a value as the report prints it.

    Nothing (None, NaN) is "—"; whole numbers have commas; other numbers three decimals, unless
    `form`, a format specification, says otherwise; text stays.

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
        return format(float(value), form or ",.3f").replace("-", "−").replace("%", "\u00a0%")
    return clean(value)
