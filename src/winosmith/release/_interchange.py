"""What the exports to other harnesses share.

An export is a folder that needs nothing of winosmith: the problems as JSON Lines, and what the
harness reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.outputs import OutputFolder

__all__ = ["check", "line", "marked", "noted", "opened", "task_name", "write"]


def task_name(name: str) -> str:
    """Return a name that both harnesses and Python take.

    >>> task_name("WSC-273 (v2)"), task_name("")
    ('wsc_273_v2', 'problems')
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "problems"
    return f"t{plain}" if plain[0].isdigit() else plain


def check(dataset: Dataset) -> None:
    """Refuse a data set that a harness can count nothing of, or must not see, with DataError."""
    if not len(dataset):
        raise DataError("there is no problem to export")
    embargoed = sum(problem.embargo for problem in dataset)
    if embargoed:
        raise DataError(
            f"{embargoed} of {len(dataset)} problems are under embargo; a task for a harness would "
            "show them to whoever reads it, so take them out first"
        )
    missing = [problem.id for problem in dataset if problem.answer is None]
    if missing:
        named = ", ".join(map(repr, missing[:3])) + (", …" if len(missing) > 3 else "")
        raise DataError(
            f"{len(missing)} of {len(dataset)} problems have no answer ({named}); a harness needs "
            "one to count what is right"
        )


def opened(dataset: Dataset, folder: str | Path, recipe: dict[str, str]) -> OutputFolder:
    """Take the folder of an export, by the rules of `winosmith.outputs`."""
    return OutputFolder.open(folder, {**recipe, "data": dataset.digest})


def write(out: OutputFolder, name: str, pieces: Iterable[str]) -> None:
    """Write the pieces of a text as one file of the folder."""
    with out.write(name) as file:
        file.writelines(pieces)


def line(record: Mapping[str, Any]) -> str:
    """Return a record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def marked(canary: str) -> dict[str, str]:
    """Return what a record carries of a canary: nothing where there is none."""
    return {"canary": canary} if canary else {}


def noted(canary: str) -> str:
    """Return a canary as the first line of a Python or YAML file: nothing where there is none."""
    return f"# {canary}\n" if canary else ""
