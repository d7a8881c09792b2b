"""Items for tests of answers, and functions that write files of answers."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from winosmith import Dataset, Problem, answers, formats

LETTERS = "ABCD"
ORDERS = ("CABD", "DBAC", "BADC", "ADCB", "CDAB", "BCDA")

DATA = Dataset(
    Problem(
        f"q{at}",
        f"Which mark on map {at} shows the well?",
        tuple(ORDERS[at // 2]) if at % 2 else tuple(f"{n + at} stones" for n in (8, 6, 2, 4)),
        (at * 3 + 1) % 4,
        blank=None,
    )
    for at in range(12)
)
"""The options of every second item are letters in another order."""

KEYS = [problem.answer or 0 for problem in DATA]


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """Write one record per line and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def write_text(path: Path, text: str) -> Path:
    """Write the text and return the path."""
    path.write_text(text, "utf-8")
    return path


def make_source(name: str, text: str) -> formats.Source:
    """Return a file in memory."""
    return formats.Source(name, text.encode())


def read_choices(source: Any, data: Dataset = DATA) -> dict[str, list[int | None]]:
    """Return each model's choices."""
    found = answers.read(source, data)
    return {model: [one.choice for one in of.predictions] for model, of in found.items()}
