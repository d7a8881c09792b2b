"""The problems or claims that `winosmith train` reads, and their dev part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from winosmith.cli._printing import say
from winosmith.errors import InputError

if TYPE_CHECKING:
    from winosmith.study import Trainable

__all__ = ["read_trainable", "with_dev"]


def read_trainable(path: str, as_claims: bool) -> Trainable:
    """Return the problems of a file, or its claims; problems as claims if asked for."""
    from winosmith import formats
    from winosmith.dataset import Dataset
    from winosmith.problem import Claim, Problem
    from winosmith.recast import to_claims

    items = formats.read_items(path)
    claims = [item for item in items if isinstance(item, Claim)]
    problems = [item for item in items if isinstance(item, Problem)]
    if claims:
        return tuple(claims)
    return to_claims(problems) if as_claims else Dataset(problems, Path(path).stem)


def with_dev(train: Trainable, dev: str, as_claims: bool) -> tuple[Trainable, Trainable]:
    """Return what to train on, and a dev part: a file, or drawn from what to train on."""
    from winosmith import study

    if dev.isdigit() and not Path(dev).exists():
        return study.apart(train, int(dev))
    if not Path(dev).is_file():
        raise InputError(f"the dev part {dev!r} is neither a file nor a number of problems")
    held = read_trainable(dev, as_claims or isinstance(train, tuple))
    shared = study.overlap(train, held)
    if shared:
        say(
            f"Warning: {len(shared):,} texts of {dev} are trained on too, such as {shared[0]!r}; "
            "its accuracy is too good"
        )
    return train, held
