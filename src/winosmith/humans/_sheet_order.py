"""The orders of a test: texts stay together, and each question is early in one, late in another."""

from __future__ import annotations

from collections.abc import Sequence

from winosmith.dataset import Dataset
from winosmith.humans._assign_schemas import place
from winosmith.humans._sheet_text import text_key
from winosmith.problem import BLANK

__all__ = ["ordered"]


def ordered(
    dataset: Dataset, rows: Sequence[int], *, seed: int, test: str, order: int, orders: int
) -> list[int]:
    """Return the rows of a test in one of its orders.

    The questions on one text follow each other, in the order of their pronouns. The texts are
    shuffled and cut into as many parts as there are orders, with about as many questions each;
    from order to order the parts move on by one place (a Latin square), so that over all orders
    each question stands once in each part of the sheet, and practice and fatigue fall on all
    alike. Within its part a text has another neighbour in each order.

    Args:
        dataset: the problems.
        rows: those of the test.
        seed: of the shuffle.
        test: the test's name, so that two tests are shuffled independently.
        order: which order, from 1 to `orders`.
        orders: how many there are.
    """
    texts: dict[str, list[int]] = {}
    for row in rows:
        texts.setdefault(text_key(dataset[row]), []).append(row)
    parts: list[list[str]] = [[] for _ in range(orders)]
    before = 0
    for text in sorted(texts, key=lambda text: place(seed, "part", test, text)):
        parts[before * orders // len(rows)].append(text)
        before += len(texts[text])
    turned = parts[order - 1 :] + parts[: order - 1]
    return [
        row
        for part in turned
        for text in sorted(part, key=lambda text: place(seed, "order", test, order, text))
        for row in sorted(texts[text], key=lambda row: _pronoun_at(dataset[row].sentence))
    ]


def _pronoun_at(sentence: str) -> int:
    return " ".join(sentence.split()).index(BLANK)
