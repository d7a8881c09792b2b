"""Logs of inspect_ai: `.eval` archives, which its own library reads, and `.json` documents."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from winosmith.answers._answers import Answers, Log
from winosmith.answers._items import Items, Row, look_up, options_in_order
from winosmith.answers._rules import check_wanted, choose, read_rows
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, require

_LONGEST, _IN_ALL, _PARTS = 1 << 30, 1 << 32, 200_000
"""The most bytes that a part of an `.eval` log may unpack to, and all parts; the most parts."""

_VERDICTS = {"C": True, "I": False, "1": True, "0": False, "1.0": True, "0.0": False,
             "True": True, "False": False}  # fmt: skip
"""The values of a scorer that are a verdict."""


def read_archive(path: Path, dataset: Dataset, filters: Collection[str]) -> Answers:
    """Return the answers of an `.eval` log; see `read_log`.

    Raises:
        FormatError: the archive can't be read, or would unpack to too much; see also `read_log`.
        MissingExtraError: inspect_ai is not installed.
    """
    log = require("inspect_ai.log", "inspect")
    try:
        with TemporaryDirectory() as folder:
            sound = Path(folder) / "log.eval"
            _copy_bounded(path, sound)
            head = log.read_eval_log(str(sound), header_only=True)
            record = head.model_dump(mode="json", include={"status", "eval", "results"})
            samples = log.read_eval_log_samples(
                str(sound), all_samples_required=False, resolve_attachments="core"
            )
            kept = {"id", "epoch", "input", "choices", "target", "scores", "error"}
            record["samples"] = [one.model_dump(mode="json", include=kept) for one in samples]
    except FormatError:
        raise
    except Exception as error:  # noqa: BLE001 - of an archive by anybody, read by another library
        what = " ".join(str(error).split())[:300] or type(error).__name__
        raise FormatError(f"this log of inspect_ai can't be read: {what}", path) from None
    return read_log(record, path, dataset, filters)


def read_log(
    log: Mapping[str, Any], path: Path, dataset: Dataset, filters: Collection[str]
) -> Answers:
    """Return the answers of a log, of one scorer and one epoch. The model is the log's.

    A sample that the run did not score, or that failed, is missing.

    Raises:
        FormatError: the log has no samples; see also `read_rows`.
    """
    samples, head = log.get("samples"), log.get("eval")
    if "configs" in log and samples is None:
        raise FormatError(
            "these are results, not answers: run lm_eval with --log_samples, and give the files "
            "samples_*.jsonl that it writes",
            path,
        )
    if not isinstance(head, dict) or not isinstance(samples, list):
        raise FormatError("this is not a log of inspect_ai with samples", path)
    if not all(isinstance(sample, dict) for sample in samples):
        raise FormatError("this is not a log of inspect_ai: a sample is not a record", path)
    if not samples:
        raise FormatError("the log has no samples", path)
    epochs = _names(f"epoch {sample.get('epoch', 1)}" for sample in samples)
    scorers = _names(name for sample in samples for name in _scores(sample))
    names = (*(epochs if len(epochs) > 1 else ()), *(scorers if len(scorers) > 1 else ()))
    wanted = {f"epoch {name}" if name.isdecimal() else name for name in filters}
    if not wanted & {*names}:
        check_wanted(names, wanted, path)
    epoch, scorer = choose(epochs, wanted), choose(scorers, wanted)
    own = [sample for sample in samples if f"epoch {sample.get('epoch', 1)}" == epoch]
    used = [name for name in (epoch, scorer) if name in names]
    items = Items(dataset)
    facts = Log(
        status=_status(log, head, own),
        filter=", ".join(map(str, used)) or None,
        filters=names,
        reported=_reported(log, scorer),
    )
    rows = [_row(sample, scorer or "", items) for sample in own]
    return read_rows(rows, dataset, path, str(head.get("model")), facts)


def _names(names: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _scores(sample: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    scores = sample.get("scores")
    given = scores.items() if isinstance(scores, dict) else ()
    return {str(name): score for name, score in given if isinstance(score, dict)}


def _status(
    log: Mapping[str, Any], head: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return why a log is not complete, or None."""
    of, limit = look_up(head, "dataset", "samples"), look_up(head, "config", "limit")
    if isinstance(of, int) and isinstance(limit, int):
        of = min(of, limit)
    scored = sum(bool(_scores(sample)) and not sample.get("error") for sample in samples)
    share = f"{scored:,} of {of:,}" if isinstance(of, int) and of >= scored else f"{scored:,} items"
    status = log.get("status", "success")
    if status in ("cancelled", "error", "started"):
        how = {"cancelled": "was cancelled", "error": "failed", "started": "did not end"}[status]
        return f"the run {how} after {share}"
    if (isinstance(of, int) and scored < of) or scored < len(samples):
        return f"the log has the answers to {share}"
    return None


def _reported(log: Mapping[str, Any], scorer: str | None) -> dict[str, float]:
    scores = look_up(log, "results", "scores")
    for score in scores if isinstance(scores, list) else ():
        value = look_up(score, "metrics", "accuracy", "value")
        if look_up(score, "name") == scorer and isinstance(value, int | float):
            return {"accuracy": float(value)}
    return {}


def _row(sample: Mapping[str, Any], scorer: str, items: Items) -> Row:
    choices, attachments = sample.get("choices"), sample.get("attachments")
    options = tuple(map(str, choices)) if isinstance(choices, list) else ()
    asked = _input(sample.get("input"), attachments if isinstance(attachments, dict) else {})
    score = _scores(sample).get(scorer)
    target = sample.get("target")
    target = target[0] if isinstance(target, list) and len(target) == 1 else target
    problem = None if options else items.find_in_text(asked)
    return Row(
        None,
        str(sample.get("id", "")),
        problem.sentence if problem else asked,
        options_in_order(asked, problem) if problem else options,
        asked,
        None if score is None or sample.get("error") else str(score.get("answer") or ""),
        target=target if isinstance(target, str) else None,
        correct=_VERDICTS.get(str(score.get("value"))) if score else None,
    )


def _copy_bounded(path: Path, to: Path) -> None:
    """Copy a log as an archive in which every size is true.

    Sizes that an archive states may be wrong, and readers differ in what they then do; `zipfile`
    stops at the stated size and compares the check sum.

    Raises:
        FormatError: it would unpack to too much, or its parts lie in one another.
    """
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as sound:
        parts = {part.filename: part for part in packed.infolist()}  # of two the later one counts
        stated = sum(part.file_size for part in parts.values())
        longest = max(parts.values(), key=lambda part: part.file_size, default=None)
        if len(parts) > _PARTS:
            raise FormatError(f"this log has {len(parts):,} parts, over {_PARTS:,}", path)
        if longest and longest.file_size > _LONGEST:
            raise FormatError(
                f"{longest.filename!r} of this log would unpack to {_size(longest.file_size)}, "
                f"over {_size(_LONGEST)}",
                path,
            )
        if stated > _IN_ALL:
            raise FormatError(
                f"this log would unpack to {_size(stated)}, over {_size(_IN_ALL)}", path
            )
        if sum(part.compress_size for part in packed.infolist()) > path.stat().st_size:
            raise FormatError("the parts of this log lie in one another", path)
        for part in parts.values():
            with packed.open(part) as source, sound.open(part.filename, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def _size(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


def _input(given: Any, attachments: Mapping[str, str]) -> str:
    """Return what a sample asks: a text, or the user's part of a conversation."""
    if isinstance(given, list):
        return " ".join(
            _input(message.get("content"), attachments) if "role" in message
            else _input(message.get("text", ""), attachments)
            for message in given
            if isinstance(message, dict) and message.get("role", "user") == "user"
        )  # fmt: skip
    text = str(given)
    return attachments.get(text.removeprefix("attachment://"), text)
