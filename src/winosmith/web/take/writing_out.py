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
from winosmith.web.take.models import Round, Sitting
from winosmith.web.take.sheets import sheet_of

__all__ = ["write_results", "write_round"]


def write_results(round_: Round, folder: str | Path, *, force: bool = False) -> dict[str, int]:
    """Write what a round gave so far as a folder; return how many there are of each kind.

    Args:
        round_: open or closed; sheets that were handed in count.
        folder: new, empty, or with the same results; others are refused.
        force: replace an earlier look at the round.

    Raises:
        OutputError: the folder can't be used.
    """
    records = [humans.answers_record(sitting) for sitting in sittings_of(round_)]
    given = [[one.subject, one.sheet, one.state] for one in ledger_of(round_).given]
    said = hashlib.sha256(canonical({"answers": records, "given": given}).encode())
    recipe = {
        "command": "winosmith admin test results",
        "round": round_.name,
        "answers": said.hexdigest(),
    }
    secret = {"data": dataset_of(round_).digest}
    out = OutputFolder.open(folder, recipe, secret=secret, force=force)
    with out.or_nothing():
        return write_round(out, round_)


def write_round(out: OutputFolder, round_: Round, under: str = "") -> dict[str, int]:
    """Write a round among the files of a folder; return how many there are of each kind.

    `sheets/*.json`, `answers/*.json` (as the form for a browser saves them), `responses.jsonl`,
    `subjects.jsonl`, `ledger.json`, and the problems in `private/schemas.jsonl`: what the commands
    of `winosmith humans` read. Sheets that were not handed in, or are held for their pace, stand in
    the ledger alone.

    Args:
        out: the folder.
        round_: open or closed.
        under: what the names of the files begin with, such as "private/tests/NAME/".
    """
    sittings = sittings_of(round_)
    dataset, responses, subjects = gather(dataset_of(round_), sittings)
    for sheet in map(sheet_of, round_.sheets.order_by("pk")):
        _write(out, f"{under}sheets/{sheet.name}.json", [humans.sheet_record(sheet)])
    for record in map(humans.answers_record, sittings):
        name = f"{under}answers/answers-{record['subject']}-{record['sheet']}.json"
        with out.write(name) as file:
            file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    write_votes(responses, out.path / f"{under}responses.jsonl")
    out.add(f"{under}responses.jsonl")
    _write(out, f"{under}subjects.jsonl", map(humans.subject_record, subjects))
    humans.write_ledger(ledger_of(round_), out.path / f"{under}ledger.json")
    out.add(f"{under}ledger.json")
    _write(out, f"{under}{PRIVATE}/schemas.jsonl", map(problem_record, dataset))
    held = Sitting.objects.filter(subject__round=round_, held=True).count()
    return {
        "sheets": round_.sheets.count(),
        "handed in": len(sittings) + held,
        **({"held for their pace, left out": held} if held else {}),
        "people": len(subjects),
        "answers": len(responses),
    }


def _write(out: OutputFolder, name: str, records: Iterable[Any]) -> None:
    with out.write(name) as file:
        file.writelines(canonical(record) + "\n" for record in records)
