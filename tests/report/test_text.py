"""Values as the report prints them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith.report import shown
from winosmith.report._text import clean


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
    assert shown(value, form) == printed


@given(st.text(alphabet=st.characters()))
def test_cleaned_text_can_be_written_and_nothing_is_lost(text: str) -> None:
    """What is cleaned encodes as UTF-8, keeps its length, and cleaning again changes nothing."""
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert len(cleaned) == len(text)
    assert clean(cleaned) == cleaned
    assert all(new in (old, "\ufffd") for old, new in zip(text, cleaned, strict=True))


def test_controls_and_lone_surrogates_are_replaced() -> None:
    """A NUL and a lone surrogate become the replacement character; a line break stays."""
    assert clean("a\x00b\ud800c\nd") == "a\ufffdb\ufffdc\nd"
