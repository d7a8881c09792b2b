"""The parts of a release: which files there are, and which of them make a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["PARTS", "PROBLEMS", "TEST", "configurations", "is_train", "part_named", "side"]

TEST, DEV, TRAIN, PROBLEMS = "test", "dev", "train", "problems"

NESTED = ("train_xs", "train_s", "train_m", "train_l", "train_xl")
"""Training sets of which each is the beginning of the next (WinoGrande, table 4)."""

PARTS = (*NESTED, "train_debiased", TRAIN, DEV, TEST, PROBLEMS)
"""Every part that a release may have, in the order in which they are listed."""

TOLD = {
    "train_xs": "the first whole twins of the next larger",
    "train_s": "the first whole twins of the next larger",
    "train_m": "the first whole twins of the next larger",
    "train_l": "the first whole twins of the next larger",
    "train_xl": "whole twins, kept or removed by the filter, apart from dev and test",
    "train_debiased": "kept by the filter, apart from dev and test; some are singles",
    TRAIN: "for training",
    DEV: "for development; with answers",
    TEST: "for the last measurement; without answers",
    PROBLEMS: "the whole set, not split",
}
"""What the card says of each part."""

_ALSO = {"validation": DEV, "valid": DEV, "val": DEV}

HUB = {DEV: "validation", TEST: "test", PROBLEMS: "problems"}
"""A part's name as a split of the Hugging Face hub; every training set is "train"."""


def part_named(stem: str) -> str | None:
    """Return the part that a file's name stands for, or None.

    >>> part_named("validation"), part_named("train_xs"), part_named("twins")
    ('dev', 'train_xs', None)
    """
    name = _ALSO.get(stem.lower(), stem.lower())
    return name if name in PARTS else None


def is_train(part: str) -> bool:
    """Tell whether a part is to be trained on."""
    return part.startswith(TRAIN)


def side(part: str) -> str:
    """Return what must be apart from what: all training sets are one side."""
    return TRAIN if is_train(part) else part


def configurations(parts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return for each configuration of the hub its splits, each with the part that fills it.

    A training set is a configuration, dev and test belong to each; the largest comes first, and is
    what is loaded when none is named.

    >>> configurations(["train_xs", "train_xl", "dev"])["xl"]
    {'train': 'train_xl', 'validation': 'dev'}
    >>> list(configurations(["train_xs", "train_xl", "dev"])), configurations(["dev"])
    (['xl', 'xs'], {'default': {'validation': 'dev'}})
    """
    held = [part for part in PARTS if part in set(parts)]
    shared = {HUB[part]: part for part in held if not is_train(part)}
    sizes = [part for part in reversed(NESTED) if part in held]
    training = sizes + [part for part in ("train_debiased", TRAIN) if part in held]
    named = {
        "default" if part == TRAIN else part.removeprefix("train_"): {TRAIN: part, **shared}
        for part in training
    }
    return named or {"default": shared}


def data_files(parts: Iterable[str]) -> Mapping[str, str]:
    """Return each part's file of our JSON Lines, relative to the release."""
    return {part: f"data/{part}.jsonl" for part in PARTS if part in set(parts)}
