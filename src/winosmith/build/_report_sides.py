"""What a build that follows another says of its sides, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from winosmith import report


def sides_told(record: Mapping[str, Any] | None) -> list[str]:
    """Return the sentences: what stayed, what is new, and where blocks joined two sides.

    Args:
        record: as `report.json` holds it under "sides"; None where there is no last build.

    >>> joined = {"former": ["train", "test"], "side": "train", "problems": ["a", "b"]}
    >>> for line in sides_told({"stayed": {"train": 60, "dev": 5, "test": 7},
    ...                         "new": {"train": 0, "dev": 2, "test": 0}, "joined": [joined]}):
    ...     print(line)
    72 problems stay on the side of the last build (train 60, dev 5, test 7), 2 are in new blocks (dev 2)
    1 block joins what was in train and test, and is in train now (2 problems)
    """  # noqa: E501
    if record is None:
        return []
    stayed, new = (record[key] for key in ("stayed", "new"))
    lines = [
        f"{_counted(stayed)} on the side of the last build{_each(stayed)}, "
        f"{sum(new.values()):,} {'is' if sum(new.values()) == 1 else 'are'} in new blocks"
        f"{_each(new)}"
    ]
    blocks, problems = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for joint in record["joined"]:
        kind = " and ".join(joint["former"]), joint["side"]
        blocks[kind] += 1
        problems[kind] += len(joint["problems"])
    for (former, side), count in blocks.items():
        joins, is_in = ("block joins", "is") if count == 1 else ("blocks join", "are")
        lines.append(
            f"{count:,} {joins} what was in {former}, and {is_in} in {side} now "
            f"({problems[former, side]:,} problem{'' if problems[former, side] == 1 else 's'})"
        )
    return lines


def sides_blocks(record: Mapping[str, Any] | None) -> list[report.Block]:
    """Return the same for a report."""
    first, *joints = sides_told(record) or [""]
    blocks: list[report.Block] = [report.Text([f"{first}."])] if first else []
    if joints:
        why = (
            "Where a block was on several sides, training comes before dev, and dev before test: "
            "what was trained on or published with its answer measures nothing any more."
        )
        blocks.append(report.Text([*(f"{line}." for line in joints), why]))
    return blocks


def _counted(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{total:,} problem{' stays' if total == 1 else 's stay'}"


def _each(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{side} {count:,}" for side, count in counts.items() if count)
    return f" ({told})" if told else ""
