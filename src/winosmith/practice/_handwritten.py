"""Twins written by hand for winosmith."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from winosmith.dataset import Dataset
from winosmith.records import problem_of


@cache
def handwritten() -> Dataset:
    """Return 72 twins written by hand, half of them social and half physical.

    They are original, keep every rule of `winosmith.validate.structure`, and may be used under
    the licence of winosmith (Apache-2.0).

    >>> twins = handwritten()
    >>> len(twins.twins), {problem.origin.domain for problem in twins} == {"social", "physical"}
    (72, True)
    """
    lines = resources.files("winosmith.practice").joinpath("handwritten.jsonl").read_text("utf-8")
    return Dataset((problem_of(json.loads(line)) for line in lines.splitlines()), "handwritten")
