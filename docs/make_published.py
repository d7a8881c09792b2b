"""Write what the published sets are known by: `src/winosmith/published.npz`.

    WINOSMITH_DATA=FOLDER python docs/make_published.py

The file holds digests, no text; see `winosmith.published`. `tests/test_published.py` fails when it
is not what this writes. The folder is laid out as the tests need it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import formats, published
from winosmith.published import Digests, digests_of

HERE = Path(published.__file__).with_name(published.PUBLISHED)

SETS = {
    "WSC": ["wsc/WSCollection.xml", "wsc/wsc-273.jsonl"],
    "PDP": ["pdp/PDPChallenge2016.xml", "pdp/PDPChallenge.xml"],
    "DPR": ["dpr/train.c.txt", "dpr/test.c.txt"],
    "KnowRef": ["knowref/knowref_test.json"],
    "COPA": ["copa/copa-all.xml"],
    "Winogender": ["winogender/all_sentences.tsv"],
    "SuperGLUE-WSC": [f"superglue_wsc/{part}.jsonl" for part in ("train", "val", "test")],
    "SuperGLUE-COPA": [
        f"superglue_copa/{part}.jsonl" for part in ("train", "unlabeled", "val", "test")
    ],
    "Perturbed-WSC": ["perturbed_wsc/dataset/enhanced_wsc.tsv"],
    "WinoGrande": ["winogrande/*.jsonl"],
}
"""The files of each set, by its name; "-" for a space. A sentence that several hold is told for the
first."""


def contents(name: str, folder: Path) -> Digests:
    """Return what a set holds, each record that can be read, from its files below a folder."""
    files = [file for pattern in SETS[name] for file in sorted(folder.glob(pattern))]
    return digests_of(name, (item for file in files for item in formats.scan(file).items))


def write(folder: Path) -> None:
    """Write what all of them hold."""
    arrays: dict[str, Any] = {}
    for name in SETS:
        found = contents(name, folder)
        arrays[f"{name}/whole"] = np.array(sorted(found.whole), np.uint64)
        arrays[f"{name}/sides"] = np.array(sorted(found.sides), np.uint64)
    np.savez_compressed(HERE, **arrays)


if __name__ == "__main__":
    write(Path(os.environ["WINOSMITH_DATA"]))
