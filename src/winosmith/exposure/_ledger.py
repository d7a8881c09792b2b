"""Record looks at a release in a ledger, because each new look has a lower significance level.

The ledger `looks.jsonl` in the private folder is append-only, with a line for each look. Testing
the same scores again is not a new look, because their result can't change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from winosmith.errors import DataError, FormatError
from winosmith.locks import try_lock
from winosmith.outputs import make_write_error
from winosmith.records import dump_json, parse_json_lines

LEDGER = "looks.jsonl"


@dataclass(frozen=True)
class Look:
    """One look at a release: a test of one or several models together.

    Attributes:
        look: number of the look, from 1.
        release: digest of the release's data.
        models: names of the models.
        scores: sorted digests of the models' scores; the digest of the reference's scores has the
            prefix "reference:".
        date: time of the record in UTC.
    """

    look: int
    release: str
    models: tuple[str, ...]
    scores: tuple[str, ...]
    date: str


def record_look(
    folder: str | Path, release: str, models: Sequence[str], scores: Iterable[str]
) -> Look:
    """Return the look at these scores, after adding it to the ledger if it is new.

    A look is recorded before the coins are used, so even an interrupted command is a look.

    Args:
        folder: The private folder of the release.
        release: The digest of the release's data.
        models: The names of the models.
        scores: The digests of the models' scores.

    Raises:
        DataError: Another process is using the ledger.
        FormatError: The ledger is damaged.
        OutputError: The ledger can't be written.
    """
    path, digests = Path(folder) / LEDGER, tuple(sorted(scores))
    try:
        with os.fdopen(
            os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8"
        ) as file:
            if not try_lock(file.fileno()):
                raise DataError(f"{path}: another command is using the ledger; try again later")
            looks = _parse_ledger(file.read(), path)
            earlier = [look for look in looks if look.release == release]
            if same := next((look for look in earlier if look.scores == digests), None):
                return same
            date = datetime.now(UTC).isoformat(timespec="seconds")
            new = Look(len(earlier) + 1, release, tuple(models), digests, date)
            file.write(dump_json(asdict(new)) + "\n")
            file.flush()
            os.fsync(file.fileno())
            return new
    except OSError as error:
        raise make_write_error(error, path) from error


def _parse_ledger(text: str, path: Path) -> list[Look]:
    looks: list[Look] = []
    for number, record in parse_json_lines(text, path):
        try:
            look = Look(**{**record, "models": tuple(record["models"]),
                           "scores": tuple(record["scores"])})  # fmt: skip
        except (KeyError, TypeError):
            look = None
        if look is None or look.look != 1 + sum(one.release == look.release for one in looks):
            raise FormatError(
                "the ledger is damaged; restore it from a backup, because its levels "
                "depend on all looks",
                path,
                number,
            )
        looks.append(look)
    if text and not text.endswith("\n"):
        raise FormatError(
            "the ledger's last line is incomplete; restore it from a backup",
            path,
        )
    return looks
