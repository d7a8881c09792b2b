"""What the published data sets hold, as digests: so one that is not here can be compared with.

    python -m winosmith.study._contents FOLDER      # below which all files of `FILES` are

writes `contents.npz` anew. No text is in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import formats
from winosmith.blocks import traces
from winosmith.errors import InputError
from winosmith.metrics import Contents
from winosmith.problem import Claim, Problem

__all__ = ["FILES", "contents", "contents_of", "known_contents"]

FILES = {
    "winogrande": ("winogrande/*.jsonl",),
    "wsc": ("wsc/WSCollection.xml",),
    "pdp": ("pdp/PDPChallenge2016.xml",),
    "superglue-wsc": tuple(f"superglue_wsc/{part}.jsonl" for part in ("train", "val", "test")),
    "copa": ("copa/copa-all.xml",),
    "superglue-copa": tuple(
        f"superglue_copa/{part}.jsonl" for part in ("train", "unlabeled", "val", "test")
    ),
    "dpr": ("dpr/train.c.txt", "dpr/test.c.txt"),
    "knowref": ("knowref/knowref_test.json",),
    "winogender": ("winogender/all_sentences.tsv",),
    "perturbed-wsc": ("perturbed_wsc/dataset/enhanced_wsc.tsv",),
}
"""The data sets whose contents are known, by the names of `winosmith data`, and their files. Of
KnowRef only the test part is public in this form."""

HELD = "contents.npz"


def known_contents(name: str) -> Contents:
    """Return what a published data set holds.

    Raises:
        InputError: its contents are not known; the message lists those that are.

    >>> known_contents("WSC").name, len(known_contents("wsc").whole) > 285
    ('wsc', True)
    """
    known = name.casefold().replace("_", "-")
    if known not in FILES:
        raise InputError(
            f"the contents of {name!r} are not known; known are {', '.join(FILES)}. Give the file, "
            f"or name a corpus that is not here as other:{name}"
        )
    return _held()[known]


@cache
def _held() -> dict[str, Contents]:
    with (
        resources.as_file(resources.files(__package__).joinpath(HELD)) as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        return {
            name: Contents(
                name,
                frozenset(arrays[f"{name}/whole"].tolist()),
                frozenset(arrays[f"{name}/sides"].tolist()),
            )
            for name in FILES
        }


def contents_of(name: str, items: Iterable[Problem | Claim]) -> Contents:
    """Return what a data set holds."""
    found = [traces(item) for item in items]
    return Contents(
        name,
        frozenset().union(*(whole for whole, _ in found)),
        frozenset().union(*(sides for _, sides in found)),
    )


def contents(name: str, folder: Path) -> Contents:
    """Return what a published data set holds, from its files below a folder."""
    files = sorted(file for pattern in FILES[name] for file in folder.glob(pattern))
    return contents_of(name, (item for file in files for item in formats.scan(file).items))


def _write(folder: Path) -> None:
    """Write what all of them hold."""
    arrays: dict[str, Any] = {}
    for name in FILES:
        found = contents(name, folder)
        arrays[f"{name}/whole"] = np.array(sorted(found.whole), np.uint64)
        arrays[f"{name}/sides"] = np.array(sorted(found.sides), np.uint64)
    np.savez_compressed(Path(__file__).with_name(HELD), **arrays)


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
