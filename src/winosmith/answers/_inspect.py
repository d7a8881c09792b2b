"""Logs of inspect_ai: `.json` documents, and `.eval` archives of the same records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile
from winosmith.answers._items import Items, Row, look_up
from winosmith.answers._rules import choose_filters, read_rows
from winosmith.errors import FormatError
from winosmith.records import parse_json

_HEADER_FILES = ("header.json", "_journal/start.json")
"""Files in an archive that describe the run; the first file is written when the run ends."""

_VERDICTS = {"C": True, "I": False, "1": True, "0": False, "1.0": True, "0.0": False,
             "True": True, "False": False}  # fmt: skip

_OUTCOMES = {"cancelled": "was cancelled", "error": "failed", "started": "did not finish"}


def can_read(file: AnswerFile) -> bool:
    """Return whether a file is an inspect_ai log, even if the log has no samples."""
    is_archive = any(part.path.endswith(_HEADER_FILES) for part in file.rows.parts)
    return is_archive or bool(file.document.keys() & {"eval", "configs"})


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers in a log for one scorer and one epoch.

    Answers are missing for samples that failed or were not scored.
    """
    log = _unpack_log(file) if file.rows.parts else file.document
    samples, run = log.get("samples"), log.get("eval")
    if "configs" in log and samples is None:
        raise file.make_error(
            "these are results, not answers: run lm_eval with --log_samples, and pass the "
            "samples_*.jsonl files that it writes"
        )
    if not (
        isinstance(run, dict)
        and isinstance(samples, list)
        and all(isinstance(sample, dict) for sample in samples)
    ):
        raise file.make_error(
            "this is not a valid inspect_ai log: 'eval' must be an object, and 'samples' a list of "
            "objects"
        )
    if not samples:
        why = _describe_status(log, run, [])
        raise file.make_error("the log has no samples" + (f": {why}" if why else ""))
    samples = sorted(samples, key=lambda one: (str(one.get("epoch")), str(one.get("id")).zfill(9)))
    epochs = [f"epoch {sample.get('epoch', 1)}" for sample in samples]
    scorers = [*dict.fromkeys(name for sample in samples for name in _get_scores(sample))]
    (epoch, scorer), facts = choose_filters(file, [*dict.fromkeys(epochs)], scorers)
    samples = [sample for sample, name in zip(samples, epochs, strict=True) if name == epoch]
    status = _describe_status(log, run, samples)
    facts = replace(facts, status=status, reported=_get_reported_accuracy(log, scorer))
    items = Items(file.dataset)
    rows = [_parse_row(sample, scorer, items) for sample in samples]
    if _are_grades([row for row in rows if row.reply]):
        raise file.make_error(
            f"the answers of the scorer {scorer!r} are grades, such as C and I, not the options "
            "that the model chose: choose another scorer with `filters=`, or write a table with "
            "each id and 'correct' or 'incorrect'"
        )
    return [read_rows(rows, file, str(run.get("model")), facts)]


def _unpack_log(file: AnswerFile) -> dict[str, Any]:
    """Return the log in an archive, using the last of several files with the same name."""
    parts: dict[str, Any] = {}
    for part in file.rows.parts:
        name = part.path.removeprefix(f"{file.path}/")
        if part.source and (name in _HEADER_FILES or name.startswith("samples/")):
            try:
                parts[name] = parse_json(part.source.text, finite=False)
            except ValueError as error:
                raise FormatError(f"this is not JSON ({error})", part.path) from None
    header: dict[str, Any] = next(
        (one for one in map(parts.get, _HEADER_FILES) if isinstance(one, dict)), {}
    )
    samples = [sample for name, sample in parts.items() if name.startswith("samples/")]
    return {"status": "started", **header, "samples": samples}


def _get_scores(sample: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    scores = sample.get("scores") or {"score": sample.get("score")}
    named = scores.items() if isinstance(scores, dict) else ()
    return {str(name): score for name, score in named if isinstance(score, dict)}


def _describe_status(
    log: Mapping[str, Any], run: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]
) -> str | None:
    total, limit = look_up(run, "dataset", "samples"), look_up(run, "config", "limit")
    if isinstance(total, int) and isinstance(limit, int):
        total = min(total, limit)
    scored = sum(bool(_get_scores(sample)) and not sample.get("error") for sample in samples)
    is_known = isinstance(total, int) and total >= scored
    done = f"{scored:,} of {total:,}" if is_known else f"{scored:,} items"
    if outcome := _OUTCOMES.get(str(log.get("status"))):
        return f"the run {outcome} after {done}"
    if (isinstance(total, int) and scored < total) or scored < len(samples):
        return f"the log contains answers to only {done}"
    return None


def _get_reported_accuracy(log: Mapping[str, Any], scorer: str) -> dict[str, float]:
    scores = look_up(log, "results", "scores")
    for score in scores if isinstance(scores, list) else ():
        value = look_up(score, "metrics", "accuracy", "value")
        if look_up(score, "name") == scorer and isinstance(value, int | float):
            return {"accuracy": float(value)}
    return {}


def _parse_row(sample: Mapping[str, Any], scorer: str, items: Items) -> Row:
    choices, attachments = sample.get("choices"), sample.get("attachments")
    options = tuple(map(str, choices)) if isinstance(choices, list) else ()
    prompt = _get_prompt(sample.get("input"), attachments if isinstance(attachments, dict) else {})
    score = _get_scores(sample).get(scorer)
    target = sample.get("target")
    target = target[0] if isinstance(target, list) and len(target) == 1 else target
    question, options = (prompt, options) if options else items.find_in_prompt(prompt)
    return Row(
        None,
        str(sample.get("id", "")),
        question,
        options,
        prompt,
        None if score is None or sample.get("error") else str(score.get("answer") or ""),
        target=target if isinstance(target, str) else None,
        correct=_VERDICTS.get(str(score.get("value"))) if score else None,
    )


def _are_grades(rows: Sequence[Row]) -> bool:
    """Return whether all answers are grades (C, I, P, N), and one of them can't name an option."""
    return {row.reply for row in rows} <= {*"CIPN"} and any(
        (row.reply == "I" and not formats.interpret_answer("I", row.options))
        or (row.reply == "C" and row.correct and row.target in ("A", "B", "D"))
        for row in rows
    )


def _get_prompt(content: Any, attachments: Mapping[str, str]) -> str:
    if isinstance(content, list):
        return " ".join(
            _get_prompt(message.get("content" if "role" in message else "text", ""), attachments)
            for message in content
            if isinstance(message, dict) and message.get("role", "user") == "user"
        )
    text = str(content)
    return attachments.get(text.removeprefix("attachment://"), text)
