"""What of a field could tell the answer: its last character, its parity, its order in a twin, …

A *tell* gives each row a small value, or None where the field says nothing. Whether it predicts
the answer is measured in `_leaks`; here is only what is looked at, simple things first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from winosmith.dataset import Dataset
from winosmith.problem import Problem, Scalar

__all__ = ["Tell", "tells", "tells_of_options"]

Tell = tuple[str, Sequence[Hashable]]
"""What is looked at, in words, and its value for each row; None where there is none."""

PLACES = 8
"""How many characters, from either end of a text, are looked at one by one."""

PARTS = 4
"""How many parts between punctuation, from either end of a text, are looked at."""

BLOCKS, BLOCK_ROWS = 64, 25
"""A field in order is cut into 64 blocks, or fewer, so that each has 25 rows or more."""

_PART = re.compile(r"[^\W_]+")
_LAST_NUMBER = re.compile(r"(\d{1,15})\D*$")
_ARTICLE = re.compile(r"(?:the|an?) ")


def tells(values: Sequence[Scalar], dataset: Dataset) -> Iterator[Tell]:
    """Yield what can be looked at in a field.

    Args:
        values: the field's value for each row of the data set, None where there is none.
        dataset: whose options and twins the values are compared with.
    """
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        yield "presence", [value is not None for value in values]
    yield "value", values
    if all(isinstance(value, bool) for value in present):
        return
    if all(isinstance(value, int | float) for value in present):
        yield from _of_numbers(values, dataset)
        return
    texts = [None if value is None else str(value) for value in values]
    yield from _of_texts(texts)
    yield "likeness to an option", _likeness(texts, dataset)
    numbers = [_last_number(text) for text in texts]
    yield from ((f"{what} (last number)", of) for what, of in _of_numbers(numbers, dataset))
    yield "order in the twin", _order_in_twin(texts, dataset)
    yield "place in sorted order", _blocks(texts)


def tells_of_options(dataset: Dataset) -> Iterator[Tell]:
    """Yield what the order of the options could tell: the option that stands out, by its index."""
    yield "order in the sentence", [_least(*_places(problem)) for problem in dataset]
    yield "alphabetical order", [_least(*map(str.casefold, p.options)) for p in dataset]
    yield "lengths", [_least(*(-len(option) for option in p.options)) for p in dataset]


def _places(problem: Problem) -> list[int | None]:
    sentence = problem.sentence.casefold()
    found = (sentence.find(option.strip().casefold()) for option in problem.options)
    return [None if at < 0 else at for at in found]


def _least(*values: Any) -> int | None:
    """Return the index of the one least value; None when it is shared or a value is missing."""
    if None in values:
        return None
    least = min(values)
    return values.index(least) if values.count(least) == 1 else None


def _of_texts(texts: Sequence[str | None]) -> Iterator[Tell]:
    yield "last character", [text and text[-1] for text in texts]
    yield "first character", [text and text[0] for text in texts]
    yield "length", [None if text is None else len(text) for text in texts]
    parts = [_PART.findall(text) if text else [] for text in texts]
    for at in range(PARTS):
        yield f"part {at + 1}", [found[at] if len(found) > at else None for found in parts]
    for at in range(1, PARTS + 1):
        which = "last part" if at == 1 else f"part {at} from the end"
        yield which, [found[-at] if len(found) >= at else None for found in parts]
    for at in range(1, PLACES):
        yield f"character {at + 1}", [text and text[at : at + 1] for text in texts]
    for at in range(2, PLACES + 1):
        yield f"character {at} from the end", [text and text[-at : 1 - at] for text in texts]


def _of_numbers(numbers: Sequence[Any], dataset: Dataset) -> Iterator[Tell]:
    for name, divisor in (("parity", 2), ("remainder by 3", 3), ("remainder by 4", 4)):
        yield name, [None if n is None else n % divisor for n in numbers]
    yield "last digit", [None if n is None else n % 10 for n in numbers]
    yield "order in the twin", _order_in_twin(numbers, dataset)
    yield "place in sorted order", _blocks(numbers)


def _last_number(text: str | None) -> int | None:
    found = _LAST_NUMBER.search(text) if text else None
    return int(found[1]) if found else None


def _likeness(texts: Sequence[str | None], dataset: Dataset) -> list[int | None]:
    """Return the index of the one option that the text equals, or else holds or is held by."""
    return [
        _like(_bare(text), [_bare(option) for option in problem.options]) if text else None
        for text, problem in zip(texts, dataset, strict=True)
    ]


def _like(text: str, options: Sequence[str]) -> int | None:
    equal = [index for index, option in enumerate(options) if option == text]
    held = [
        index
        for index, option in enumerate(options)
        if f" {option} " in f" {text} " or f" {text} " in f" {option} "
    ]
    return next((found[0] for found in (equal, held) if len(found) == 1), None)


def _bare(text: str) -> str:
    """Return the words in lower case, without punctuation and a leading article."""
    return _ARTICLE.sub("", " ".join(_PART.findall(text.casefold())), count=1)


def _order_in_twin(values: Sequence[Any], dataset: Dataset) -> list[str | None]:
    """Return whether the value comes before or after that of the other half."""
    order: list[str | None] = [None] * len(values)
    for first, second in dataset.twins:
        mine, other = values[first], values[second]
        if mine is None or other is None or mine == other:
            continue
        before, after = (first, second) if mine < other else (second, first)
        order[before], order[after] = "first", "second"
    return order


def _blocks(values: Sequence[Any]) -> list[int | None]:
    """Return the number of the block that the value falls into when all are sorted."""
    ordered = sorted(value for value in values if value is not None)
    blocks = min(BLOCKS, len(ordered) // BLOCK_ROWS)
    if blocks < 2:
        return [None] * len(values)
    edges = [ordered[len(ordered) * block // blocks] for block in range(1, blocks)]
    return [None if v is None else bisect_left(edges, v) for v in values]
