"""Helpers that make studies, workers, their work, and a market's exports."""

import csv
import itertools
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.web.judge.making import give, singles, twin

__all__ = [
    "arrival", "export", "give", "judged", "link", "singles", "study", "twin", "worker", "working",
]  # fmt: skip

_numbers = itertools.count(1)

USUAL = {"reward": Decimal("2.00"), "currency": "GBP", "minutes": 10, "places": 100,
         "code": "DONE1"}  # fmt: skip


def study(amount: int = 2, *, kind: str = "judge", provider: str = "prolific", **more: Any) -> Any:
    """Make a study; return it with the secret part of its link."""
    from winosmith.web.market.studies import create_study

    return create_study(f"s{next(_numbers)}", provider, kind, amount, **{**USUAL, **more})


def worker(n: int) -> str:
    """Return an id of a worker or a submission in Prolific's format."""
    return f"{n:024x}"


def arrival(made: Any, n: int = 1, *, mark: str = "", submission: str | None = None) -> Any:
    """Return the arrival that the browser of worker `n` stores."""
    from winosmith.web.market.workers import Arrival

    sent = worker(1000 + n) if submission is None else submission
    return Arrival(made.pk, worker(n), sent, mark or f"browser {n}")


def working(made: Any, n: int = 1, **more: Any) -> Any:
    """Let worker `n` start a study and agree to all texts; return the participation."""
    from winosmith.web.market.workers import start_participation
    from winosmith.web.people.privacy import save_agreement

    part = start_participation(made, arrival(made, n, **more))
    save_agreement(part.person)
    save_agreement(part.person, judging=True)
    return part


def link(token: str, n: int = 1) -> str:
    """Return the link by which worker `n` comes from Prolific."""
    query = f"PROLIFIC_PID={worker(n)}&STUDY_ID={worker(9)}&SESSION_ID={worker(1000 + n)}"
    return f"/study/{token}/?{query}"


def export(path: Path, rows: Iterable[tuple[int, str]], *, code: str = "DONE1") -> Path:
    """Write an export of Prolific that has each worker's number and status."""
    header = ("Submission id,Participant id,Status,Custom study tncs accepted at,Started at,"
              "Completed at,Reviewed at,Archived at,Time taken,Completion code,Total approvals,"
              "Fluent languages,Age")  # fmt: skip
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(header.split(","))
        for n, said in rows:
            out.writerow([worker(1000 + n), worker(n), said, "Not Applicable",
                          "2026-10-25T12:27:09.179000Z", "", "", "", "612", code, "389",
                          "Czech, English", "25"])  # fmt: skip
    return path


def judged(made: Any = None, choice: int | None = None, *, n: int = 1) -> tuple[Any, Any]:
    """Let worker `n` judge a new problem; return the participation and the problem.

    The study asks for one problem unless another study is given.
    """
    (half,) = twin(halves=1)
    part = working(made or study(1)[0], n)
    give(part.person, choice)
    return part, half
