"""Values as the report prints them."""

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
def test_values_print_alike_everywhere(value: object, form: str, printed: str) -> None:
    """Numbers have commas and few decimals, nothing is a dash, text stays."""
    assert format_value(value, form) == printed


@given(st.integers(0, 5000), st.integers(1, 5000), st.integers(0, 3))
def test_a_share_is_rounded_as_its_count_would_be(right: int, more: int, digits: int) -> None:
    """K of n prints as the fraction k/n rounded, a half upwards; its negative mirrors it."""
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
def test_shares_print_as_papers_print_them(right: int, n: int, printed: str) -> None:
    """PDP's 69 of 80 is 86.3 in table 6 of WinoGrande, where a float's own format says 86.2."""
    assert percent(right / n) == printed


_OWN = re.compile(r":[^:{}\"']*\.\d+%|\.\d%\"\.format|(100 \*|\* 100\b)[^{}\"]*:[+,]*\.\df")


def test_no_other_place_rounds_a_share() -> None:
    """Outside of `fixed` no text formats a share by itself: the same share prints alike."""
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
def test_a_share_rounded_by_itself_is_found(line: str) -> None:
    """The test above sees each way in which a share was formatted."""
    assert _OWN.search(line)
