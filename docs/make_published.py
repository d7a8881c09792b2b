"""Write what the published sets are known by: `src/winosmith/published.json`.

    WINOSMITH_DATA=FOLDER python docs/make_published.py

The file holds digests of 5 bytes, no sentence; see `winosmith.published`. `tests/test_published.py`
fails when it is not what this writes. The folder is laid out as the tests need it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from winosmith import formats
from winosmith.published import index

HERE = Path(__file__).resolve().parents[1] / "src/winosmith/published.json"

SETS = {
    "WSC": ["wsc/WSCollection.xml", "wsc/wsc-273.jsonl"],
    "PDP": ["pdp/PDPChallenge2016.xml", "pdp/PDPChallenge.xml"],
    "DPR": ["dpr/train.c.txt", "dpr/test.c.txt"],
    "KnowRef": ["knowref/knowref_test.json"],
    "COPA": ["copa/copa-all.xml"],
    "Winogender": ["winogender/all_sentences.tsv"],
    "SuperGLUE-WSC": [f"superglue_wsc/{part}.jsonl" for part in ("train", "val", "test")],
    "WinoGrande": [f"winogrande/{part}.jsonl" for part in ("train_xl", "dev", "test")],
}
"""The files of each set. The perturbed WSC is known by its lineages."""


def sentences(folder: Path, files: list[str]) -> Iterator[str]:
    """Yield the sentences of some files, each record that can be read."""
    for name in files:
        for item in formats.scan(folder / name).items:
            yield item.sentence


def text(folder: Path) -> str:
    """Return the file's content."""
    found = {name: sentences(folder, files) for name, files in SETS.items()}
    return json.dumps(index(found), indent=1) + "\n"


if __name__ == "__main__":
    HERE.write_text(text(Path(os.environ["WINOSMITH_DATA"])), "utf-8")
