"""What becomes of rounds when somebody is erased with their texts: the files forget them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction

from winosmith.outputs import write_aside
from winosmith.web.problems.models import ERASED_SENTENCE, Problem
from winosmith.web.problems.states import GONE
from winosmith.web.rounds.models import Place, Round

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


def forget_texts(person: Person, texts: bool) -> None:
    """Let reasons that may quote what an erased person wrote go, and once that is sure, the files.

    Figures stay. Released texts stay, too.
    """
    if not texts:
        return
    places = Place.objects.filter(
        problem__twin__contributor=person, problem__released=False
    ).exclude(reason="")
    places.update(reason="")
    transaction.on_commit(forget_what_is_left)


def forget_what_is_left() -> int:
    """Take lines of erased texts out of all files of rounds; return how many files changed.

    Reports, which may quote them, go with them; the site makes its own anew. It is done at once
    after an erasure, and by tidying once more: for one that was cut off, and for rounds that were
    at work. A round also keeps on which sides the problems of earlier ones were, and one that
    failed has no places, so all rounds forget whatever was erased.
    """
    erased = Problem.objects.filter(state__in=GONE, sentence=ERASED_SENTENCE)
    gone = set(erased.values_list("ref", flat=True))
    if not gone:
        return 0
    ended = Round.objects.exclude(state__in=[Round.State.WAITING, Round.State.RUNNING])
    return sum(_forget(round_.folder, gone) for round_ in ended)


def _forget(folder: Path, gone: Collection[str]) -> int:
    """Drop the lines of some problems, by their ids on the site, from the files of a round."""
    ids = folder / "results" / "build" / "private" / "ids.jsonl"
    known = {line["id"] for line in _records(ids) if line["old_id"] in gone} | {*gone}
    files = [path for path in sorted(folder.rglob("*.jsonl")) if _drop(path, known)]
    if files:
        for page in folder.rglob("report.html"):
            page.unlink()
    return len(files)


def _drop(path: Path, gone: Collection[str]) -> bool:
    """Rewrite a file without what holds a sentence of these problems; tell whether any did."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    left = [line for line in lines if not _holds(line, gone)]
    if len(left) == len(lines):
        return False
    with write_aside(path) as file:
        file.writelines(left)
    return True


def _holds(line: str, gone: Collection[str]) -> bool:
    if '"sentence"' not in line:  # answers, say, whose last line an interrupt may have cut
        return False
    record = json.loads(line)
    return "sentence" in record and record.get("id") in gone


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
