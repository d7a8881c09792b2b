"""Logs of OpenAI evals: JSON Lines with the run's `spec`, its events, and a `final_report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winosmith.answers._answers import Answers, Log
from winosmith.answers._items import Items, Row, look_up, options_in_order
from winosmith.answers._rules import read_rows
from winosmith.dataset import Dataset
from winosmith.errors import FormatError


def read_events(
    path: Path, records: Sequence[tuple[int, Mapping[str, Any]]], dataset: Dataset
) -> Answers:
    """Return the answers of a run: what was sampled for each sample, by its `match` event.

    An item is found in the prompt, which has its question and its options. The model is the first
    of the run's `completion_fns`.

    Raises:
        FormatError: the log has no `match` events; see also `read_rows`.
    """
    spec: Mapping[str, Any] = {}
    report: Mapping[str, Any] | None = None
    events: dict[str, dict[str, Any]] = {}
    for line, record in records:
        if isinstance(record.get("spec"), dict):
            spec = record["spec"]
        if isinstance(record.get("final_report"), dict):
            report = record["final_report"]
        data, kind = record.get("data"), record.get("type")
        if isinstance(data, dict) and kind in ("match", "sampling"):
            own = events.setdefault(str(record.get("sample_id")), {})
            if kind == "match" and "match" in own:
                raise FormatError(
                    f"2 rows per item, such as {record.get('sample_id')!r}: write a log of one "
                    "attempt for each sample",
                    path,
                    line,
                )
            own[kind] = data
            own["line"] = line
    items = Items(dataset)
    rows = [_row(name, own, items) for name, own in events.items()]
    if not any("match" in own for own in events.values()):
        raise FormatError("the log has no events of the type 'match', which state answers", path)
    accuracy = look_up(report, "accuracy")
    log = Log(
        status=None if report else f"the run ended without a report, after {len(rows):,} samples",
        reported={"accuracy": float(accuracy)} if isinstance(accuracy, int | float) else {},
    )
    model = str(look_up(spec, "completion_fns", 0) or path.stem)
    return read_rows(rows, dataset, path, model, log)


def _row(name: str, events: Mapping[str, Any], items: Items) -> Row:
    match, sampling = events.get("match", {}), events.get("sampling", {})
    prompt = match.get("prompt", sampling.get("prompt", ""))
    if isinstance(prompt, list):
        prompt = "\n".join(str(one.get("content")) for one in prompt if isinstance(one, dict))
    problem = items.find_in_text(str(prompt))
    said, expected = match.get("sampled", sampling.get("sampled")), match.get("expected")
    said = said[0] if isinstance(said, list) and said else said
    expected = expected[0] if isinstance(expected, list) and expected else expected
    correct = match.get("correct")
    return Row(
        events["line"],
        name,
        problem.sentence if problem else "",
        options_in_order(str(prompt), problem) if problem else (),
        str(prompt),
        str(said or "") if match else None,
        target=None if expected is None else str(expected),
        correct=correct if isinstance(correct, bool) else None,
    )
