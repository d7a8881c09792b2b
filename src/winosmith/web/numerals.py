"""Figures with decimals as the language of the page writes them: 0.42, and in German 0,42."""

from __future__ import annotations

from django.utils.formats import number_format


def fixed(value: float, digits: int) -> str:
    """Return a number with so many decimals."""
    return number_format(f"{value:.{digits}f}", use_l10n=True)


def percent(share: float, digits: int = 1) -> str:
    """Return a share (0–1) in percent, with its sign."""
    return f"{fixed(100 * share, digits)} %"
