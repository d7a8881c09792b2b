"""Logs of OpenAI evals: JSON Lines with the run's `spec`, its events, and a `final_report`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winosmith.answers._answers import Answers, Log
from winosmith.answers._file import AnswerFile
from winosmith.answers._items import Items, Row, look_up
from winosmith.answers._rules import make_repeated_rows_error, read_rows


def can_read(file: AnswerFile) -> bool:
    keys = file.rows.first.keys()
    return bool(keys & {"spec", "final_report"}) or {"sample_id", "type", "data"} <= keys


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers of a run, from its `match` events.

    Each item is identified by the question and options in the prompt. The model is the first of the
    run's `completion_fns`.
    """
    run: dict[str, Any] = {}
    events: dict[str, dict[str, Any]] = {}
    for place, record in file.read_records():
        run |= {key: record[key] for key in ("spec", "final_report") if record.get(key)}
        data, kind = record.get("data"), record.get("type")
        if isinstance(data, dict) and kind in ("match", "sampling"):
            name = str(record.get("sample_id"))
            sample_events = events.setdefault(name, {})
            if kind == "match" and "match" in sample_events:
                raise make_repeated_rows_error(file, 2, name, [sample_events["place"], place])
            sample_events |= {kind: data, "place": place}
    items = Items(file.dataset)
    rows = [_make_row(name, sample_events, items) for name, sample_events in events.items()]
    if not any("match" in sample_events for sample_events in events.values()):
        raise file.make_error("the log has no events of type 'match', which contain the answers")
    accuracy = look_up(run, "final_report", "accuracy")
    ended = "final_report" in run
    log = Log(
        status=None if ended else f"the run ended without a report, after {len(rows):,} samples",
        reported={"accuracy": float(accuracy)} if isinstance(accuracy, int | float) else {},
    )
    model = str(look_up(run, "spec", "completion_fns", 0) or file.rows.name)
    return [read_rows(rows, file, model, log)]


def _make_row(sample_id: str, events: Mapping[str, Any], items: Items) -> Row:
    match, sampling = events.get("match", {}), events.get("sampling", {})
    prompt = match.get("prompt", sampling.get("prompt", ""))
    if isinstance(prompt, list):
        prompt = "\n".join(str(one.get("content")) for one in prompt if isinstance(one, dict))
    question, options = items.find_in_prompt(str(prompt))
    reply = match.get("picked") or match.get("sampled", sampling.get("sampled"))
    expected = match.get("expected")
    reply = reply[0] if isinstance(reply, list) and reply else reply
    expected = expected[0] if isinstance(expected, list) and expected else expected
    correct = match.get("correct")
    return Row(
        events["place"],
        sample_id,
        question,
        options,
        str(prompt),
        str(reply or "") if match else None,
        target=None if expected is None else str(expected),
        correct=correct if isinstance(correct, bool) else None,
    )
