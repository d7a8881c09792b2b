"""Write the digests by which published data sets are recognised: `src/winosmith/published.npz`.

    WINOSMITH_DATA=FOLDER python docs/make_published.py

The file contains digests, but no text; see `winosmith.published`. `tests/test_published.py` fails
if the file is out of date. The folder has the layout that the tests need.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import formats, published
from winosmith.published import Digests, compute_digests

HERE = Path(published.__file__).with_name(published.DIGESTS_RESOURCE)

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
"""Files of each data set, with "-" for a space in its name. A sentence that occurs in several data
sets belongs to the first."""


def contents(name: str, folder: Path) -> Digests:
    """Return the digests of a data set's readable records from its files in a folder."""
    files = [file for pattern in SETS[name] for file in sorted(folder.glob(pattern))]
    return compute_digests(name, (item for file in files for item in formats.scan(file).items))


def write(folder: Path) -> None:
    """Write the digests of all data sets."""
    arrays: dict[str, Any] = {}
    for name in SETS:
        found = contents(name, folder)
        arrays[f"{name}/whole"] = np.array(sorted(found.whole), np.uint64)
        arrays[f"{name}/sides"] = np.array(sorted(found.sides), np.uint64)
    np.savez_compressed(HERE, **arrays)


if __name__ == "__main__":
    write(Path(os.environ["WINOSMITH_DATA"]))
