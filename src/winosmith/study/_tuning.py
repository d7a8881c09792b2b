"""Fine-tuning on the data sets of table 5 as WinoGrande did it: what is dev, and what leaks."""

from __future__ import annotations

from collections.abc import Iterable

from winosmith.dataset import Dataset
from winosmith.problem import Claim, Problem
from winosmith.study._sets import Trainable, apart

__all__ = ["overlap", "paper_split"]

DPR_DEV = 122
"""WinoGrande (section 5.1) trains on 1,200 of DPR's and chooses by 122. It prints 1,332 for their
sum, which is 1,322."""

COPA_TRAIN, COPA_SIZE = 400, 500
"""SuperGLUE trains on the first 400 of COPA's dev set and chooses by the last 100, in its order."""


def paper_split(name: str, data: Trainable, seed: int = 0) -> tuple[Trainable, Trainable]:
    """Return what to train on and what to choose by, of the training data of a data set.

    DPR: 1,200 and 122, drawn in whole twins, as the paper does not say how. COPA: 400 and 100, as
    SuperGLUE. Elsewhere a tenth is drawn in whole blocks to choose by.

    >>> from winosmith.testing import made_twins
    >>> [len(part) for part in paper_split("dpr", made_twins(661))]
    [1200, 122]
    """
    if name == "copa" and isinstance(data, Dataset) and len(data) == COPA_SIZE:
        return data[:COPA_TRAIN], data[COPA_TRAIN:]
    return apart(data, DPR_DEV if name == "dpr" else -(-len(data) // 10), seed)


def overlap(one: Iterable[Problem | Claim], other: Iterable[Problem | Claim]) -> list[str]:
    """Return the distinct texts of the second set that are in the first one too, in order.

    A text is compared without its case and without what is no letter or digit, the pronoun in the
    blank where it is known: so a Winograd schema is found again in SuperGLUE-WSC.
    """
    held = {_plain(item) for item in one}
    shared = {_plain(item): item.sentence for item in other if _plain(item) in held}
    return list(shared.values())


def _plain(item: Problem | Claim) -> str:
    text = item.sentence.replace("_", item.pronoun or "_")
    return "".join(letter for letter in text.lower() if letter.isalnum())
