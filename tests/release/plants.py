"""Faults to plant in a copied release: each is a function of its folder."""

import json
import re
from collections.abc import Callable
from pathlib import Path

Plant = Callable[[Path], None]


def in_line(path: str, number: int, change: Callable[[str], str]) -> Plant:
    """Return a plant that changes one line of a file; line numbers start at 1."""

    def plant(folder: Path) -> None:
        lines = (folder / path).read_text("utf-8").split("\n")
        lines[number - 1] = change(lines[number - 1])
        (folder / path).write_text("\n".join(lines), "utf-8")

    return plant


def in_text(path: str, old: str, new: str) -> Plant:
    """Return a plant that replaces the first match of a pattern, which must exist."""

    def plant(folder: Path) -> None:
        text = (folder / path).read_text("utf-8")
        assert re.search(old, text), f"{old} is not in {path}"
        (folder / path).write_text(re.sub(old, new, text, count=1), "utf-8")

    return plant


def placed(path: str, text: str) -> Plant:
    """Return a plant that writes a file with this text."""

    def plant(folder: Path) -> None:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, "utf-8")

    return plant


def in_record(change: Callable[[dict], object]) -> Plant:
    """Return a plant that changes the record in release.json."""

    def plant(folder: Path) -> None:
        record = json.loads((folder / "release.json").read_text("utf-8"))
        change(record)
        (folder / "release.json").write_text(json.dumps(record), "utf-8")

    return plant
