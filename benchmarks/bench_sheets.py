"""How long 200 questions take, from a data set to printed sheets, a form and an assignment.

    python benchmarks/bench_sheets.py

There is no rival to time: sheets of this kind were put together by hand.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

from winosmith.humans import Ledger, assign, form, make_sheets, pdf
from winosmith.testing import made_twins

QUESTIONS, SUBJECTS = 200, 40


def timed(name: str, function: Callable[[], Any]) -> Any:
    """Run a function and print its seconds."""
    start = time.perf_counter()
    result = function()
    print(f"{name:<44} {time.perf_counter() - start:6.2f} s")
    return result


def enrolled(sheets: Any) -> Ledger:
    """Give all subjects a sheet, one after another."""
    ledger = Ledger()
    for at in range(SUBJECTS):
        ledger, _ = assign(ledger, sheets, f"S{at}")
    return ledger


def main() -> None:
    """Print the seconds of each step."""
    data = made_twins(QUESTIONS)
    print(f"{len(data)} halves, {QUESTIONS} questions a sheet")
    sheets = timed("two tests in four orders", lambda: make_sheets(data, orders=4).sheets)
    timed("one of them as PDF", lambda: pdf(sheets[0]))
    timed("one of them as PDF, large", lambda: pdf(sheets[0], large=True))
    timed("one of them as a form", lambda: form(sheets[0]))
    timed(f"{SUBJECTS} subjects given a sheet", lambda: enrolled(sheets))
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
