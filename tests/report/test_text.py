"""Formatting of values and percentages in reports."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import winosmith
from winosmith.report import format_value, percent, to_fixed


@pytest.mark.parametrize(
    ("value", "form", "printed"),
    [
        (12_282, "", "12,282"),
        (np.int64(1_000), "", "1,000"),
        (0.12345, "", "0.123"),
        (np.float32(0.5), ".1%", "50.0\u00a0%"),
        (-2.5, "", "−2.500"),
        (None, "", "—"),
        (math.nan, "", "—"),
        (True, "", "yes"),
        ("as it is", ".1%", "as it is"),
    ],
)
def test_values_are_formatted(value, form, printed):
    assert format_value(value, form) == printed


@given(st.integers(0, 5000), st.integers(1, 5000), st.integers(0, 3))
def test_percentages_are_rounded_half_up_from_the_exact_fraction(right, more, digits):
    """Negative ones mirror it."""
    n = right + more - 1 or 1
    whole = (200 * 10**digits * right + n) // (2 * n)
    printed = str(whole // 10**digits)
    if digits:
        printed += f".{whole % 10**digits:0{digits}}"
    assert percent(right / n, digits) == f"{printed} %"
    assert to_fixed(-100 * right / n, f"+.{digits}f") == (f"-{printed}" if whole else f"+{printed}")


@pytest.mark.parametrize(
    ("right", "n", "printed"), [(69, 80, "86.3 %"), (70, 80, "87.5 %"), (1865, 2052, "90.9 %")]
)
def test_percentages_are_rounded_as_in_papers(right, n, printed):
    """PDP's 69 of 80 is 86.3 in table 6 of WinoGrande; Python's float format gives 86.2."""
    assert percent(right / n) == printed


_OWN = re.compile(r":[^:{}\"']*\.\d+%|\.\d%\"\.format|(100 \*|\* 100\b)[^{}\"]*:[+,]*\.\df")


def test_percentages_are_formatted_only_in_fixed():
    """So the same fraction looks the same everywhere."""
    source = Path(winosmith.__file__).parent
    found = [
        f"{path.relative_to(source)}:{number}"
        for path in source.rglob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _OWN.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line", ['f"{share:.1%}"', 'f"{100 * share:+.1f}"', 'f"{share * 100:.0f} %"']
)
def test_search_finds_each_way_to_format_a_percentage(line):
    """It is the search of the test above."""
    assert _OWN.search(line)
