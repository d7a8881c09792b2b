"""Tables of the trials' results, with the target of each row."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Table:
    """A Markdown table of a trial's results, printed row by row.

    Attributes:
        columns: names of the columns; the last one states whether the target was met.
    """

    title: str
    columns: Sequence[str]
    failed: int = field(default=0)

    def __post_init__(self) -> None:
        print(f"\n### {self.title}\n\n| {' | '.join((*self.columns, 'met'))} |")
        print("|" + "---|" * (len(self.columns) + 1), flush=True)

    def row(self, *cells: object, met: bool) -> None:
        """Print a row."""
        self.failed += not met
        print(f"| {' | '.join(map(str, cells))} | {'yes' if met else '**no**'} |", flush=True)


def describe_machine() -> str:
    """Describe this machine."""
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}"
    )


def finish(*tables: Table) -> None:
    """End the trial, with exit code 1 if a target was missed."""
    failed = sum(table.failed for table in tables)
    print(f"\n{describe_machine()}: {f'{failed} targets missed' if failed else 'every target met'}")
    sys.exit(1 if failed else 0)


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of the values; 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
