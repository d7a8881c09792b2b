"""A round as a folder of files that `winosmith humans` reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from winosmith import humans
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.records import canonical, problem_record
from winosmith.validate import write_votes
from winosmith.web.take.gathering import dataset_of, gather, ledger_of, sittings_of
from winosmith.web.take.models import Round
from winosmith.web.take.sheets import sheet_of

__all__ = ["write_results"]


def write_results(round_: Round, folder: str | Path, *, force: bool = False) -> dict[str, int]:
    """Write what a round gave so far; return how many there are of each kind.

    `sheets/*.json`, `answers/*.json` (as the form for a browser saves them), `responses.jsonl`,
    `subjects.jsonl`, `ledger.json`, and the problems in `private/schemas.jsonl`.

    Args:
        round_: open or closed; sheets that were handed in count.
        folder: new, empty, or with the same results; others are refused.
        force: replace an earlier look at the round.

    Raises:
        OutputError: the folder can't be used.
    """
    sittings = sittings_of(round_)
    records = [humans.answers_record(sitting) for sitting in sittings]
    dataset, responses, subjects = gather(dataset_of(round_), sittings)
    ledger = ledger_of(round_)
    said = hashlib.sha256(
        canonical({"answers": records, "given": [_given(g) for g in ledger.given]}).encode()
    )
    recipe = {
        "command": "winosmith admin test results",
        "round": round_.name,
        "answers": said.hexdigest(),
    }
    out = OutputFolder.open(folder, recipe, secret={"data": dataset.digest}, force=force)
    with out.or_nothing():
        for sheet in map(sheet_of, round_.sheets.order_by("pk")):
            _write(out, f"sheets/{sheet.name}.json", [humans.sheet_record(sheet)])
        for record in records:
            name = f"answers/answers-{record['subject']}-{record['sheet']}.json"
            with out.write(name) as file:
                file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        write_votes(responses, out.path / "responses.jsonl")
        out.add("responses.jsonl")
        _write(out, "subjects.jsonl", map(humans.subject_record, subjects))
        humans.write_ledger(ledger, out.path / "ledger.json")
        out.add("ledger.json")
        _write(out, f"{PRIVATE}/schemas.jsonl", map(problem_record, dataset))
    return {
        "sheets": round_.sheets.count(),
        "handed in": len(sittings),
        "people": len(subjects),
        "answers": len(responses),
    }


def _given(given: humans.Given) -> list[str]:
    """Return a line of the ledger."""
    return [given.subject, given.sheet, given.state]


def _write(out: OutputFolder, name: str, records: Iterable[Any]) -> None:
    with out.write(name) as file:
        file.writelines(canonical(record) + "\n" for record in records)
