"""Record looks at a release in a ledger, because each new look has a lower significance level.

A look is a test of one or several models together. The ledger `looks.jsonl` in the private folder
is append-only, with a line for each look. Testing the same scores again is not a new look, because
their result can't change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from winosmith.errors import DataError, FormatError
from winosmith.locks import try_lock
from winosmith.outputs import make_write_error
from winosmith.records import dump_json, parse_json_lines

LEDGER = "looks.jsonl"

_KEYS = ("look", "release", "models", "scores", "date")
"""Keys of a line: the number of the look (from 1), the digest of the release's data, the names of
the models, the sorted digests of their scores, and the time in UTC."""


def record_look(
    folder: str | Path, release: str, models: Sequence[str], scores: Iterable[str]
) -> int:
    """Return the number of the look at these scores, after adding it to the ledger if it is new.

    A look is recorded before the coins are used, so even an interrupted command is a look.

    Args:
        folder: The private folder of the release.
        release: The digest of the release's data.
        models: The names of the models.
        scores: The digests of the models' scores; the digest of the reference's scores has the
            prefix "reference:".

    Raises:
        DataError: Another process is using the ledger.
        FormatError: The ledger is damaged.
        OutputError: The ledger can't be written.
    """
    path, digests = Path(folder) / LEDGER, sorted(scores)
    try:
        with os.fdopen(
            os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8"
        ) as file:
            if not try_lock(file.fileno()):
                raise DataError(f"{path}: another command is using the ledger; try again later")
            looks = _parse_ledger(file.read(), path)
            earlier = [look["scores"] for look in looks if look["release"] == release]
            if digests in earlier:
                return earlier.index(digests) + 1
            date = datetime.now(UTC).isoformat(timespec="seconds")
            values = (len(earlier) + 1, release, [*models], digests, date)
            file.write(dump_json(dict(zip(_KEYS, values, strict=True))) + "\n")
            file.flush()
            os.fsync(file.fileno())
            return len(earlier) + 1
    except OSError as error:
        raise make_write_error(error, path) from error


def _parse_ledger(text: str, path: Path) -> list[dict[str, Any]]:
    looks: list[dict[str, Any]] = []
    for number, record in parse_json_lines(text, path):
        before = sum(look["release"] == record.get("release") for look in looks)
        if record.keys() != {*_KEYS} or record["look"] != before + 1:
            raise FormatError(
                "the ledger is damaged; restore it from a backup, because its levels "
                "depend on all looks",
                path,
                number,
            )
        looks.append(record)
    if text and not text.endswith("\n"):
        raise FormatError(
            "the ledger's last line is incomplete; restore it from a backup",
            path,
        )
    return looks
