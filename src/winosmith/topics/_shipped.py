"""The topics that come with winosmith."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from winosmith.topics._jsonl import JsonlTopics

__all__ = ["shipped"]


@cache
def shipped() -> JsonlTopics:
    """Return short how-to articles written for winosmith, half of them social, half physical.

    They are original and may be used under the licence of winosmith (Apache-2.0).
    """
    with resources.as_file(resources.files("winosmith.topics") / "articles.jsonl") as path:
        return JsonlTopics.open(Path(path), source="winosmith")
