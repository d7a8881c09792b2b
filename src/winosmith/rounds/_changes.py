"""What changed against the last round."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winosmith.errors import InputError

__all__ = ["RECORD", "Change", "changes", "read_record"]

RECORD = "round.json"
"""The file in a round's folder that holds its figures."""

VERSION = 1
"""Of that file's form."""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of two rounds.

    Attributes:
        what: the figure, in words.
        before: in the last round; None where it has none.
        now: in this one; None where it has none.
        form: how to print it, a format specification.
    """

    what: str
    before: float | int | None
    now: float | int | None
    form: str

    @property
    def by(self) -> float | int | None:
        """How much it rose; None where either is not known."""
        return None if self.before is None or self.now is None else self.now - self.before

    @property
    def told(self) -> str | None:
        """The change with its sign, of shares in percentage points; None where it is not known."""
        if self.by is None:
            return None
        if self.form.endswith("%"):
            return f"{100 * self.by:+.1f} points"
        return f"{self.by:+{self.form}}"


def read_record(folder: str | Path) -> dict[str, Any]:
    """Return the figures of a finished round.

    Raises:
        InputError: the folder holds none.
    """
    path = Path(folder) / RECORD
    try:
        record = dict(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no finished round: {path} is missing") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not the record of a round: {error}") from None
    if record.get("winosmith") != "round" or record.get("version") != VERSION:
        raise InputError(f"{path} is not the record of a round, of version {VERSION}")
    return record


def changes(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[Change]:
    """Return the figures of a round beside those of the last one, in the order of the report.

    Args:
        now: this round's record.
        before: the last round's; None in the first.
    """
    last: Mapping[str, Any] = before or {}
    names = list(dict.fromkeys([*now["solvers"], *last.get("solvers", {})]))
    found = [_change(what, path, form, now, last) for what, path, form in _FIGURES]
    found += [
        _change(f"{name}: {what}", ("solvers", name, *path), form, now, last)
        for name in names
        for what, path, form in _OF_SOLVERS
    ]
    return [change for change in found if (change.before, change.now) != (None, None)]


_Path = tuple[str, ...]

_FIGURES: tuple[tuple[str, _Path, str], ...] = (
    ("collected", ("build", "funnel", "collected", "problems"), ",d"),
    ("valid share of what was collected", ("valid",), ".1%"),
    ("kept", ("build", "kept"), ",d"),
    ("train_xl", ("build", "counts", "train_xl"), ",d"),
    ("dev", ("build", "counts", "dev"), ",d"),
    ("test", ("build", "counts", "test"), ",d"),
    ("a linear model on what was collected", ("artifacts", "before"), ".1%"),
    ("a linear model on what was kept", ("artifacts", "after"), ".1%"),
    ("KL along the first component, kept", ("artifacts", "kl"), ".3f"),
    ("judges agree with a kept answer", ("people", "agree"), ".1%"),
    ("kept with all judges agreeing", ("people", "unanimous"), ".1%"),
    ("people who had not judged are right", ("people", "accuracy"), ".1%"),
)
"""What it is, where it stands in the record, how it is printed."""

_OF_SOLVERS: tuple[tuple[str, _Path, str], ...] = (
    ("accuracy on this round's dev and test", ("accuracy", "value"), ".1%"),
    ("whole twins right", ("twins", "value"), ".1%"),
    ("mean depth of its errors", ("stability", "error_depth", "mean", "value"), ".2f"),
    ("families without an error", ("stability", "consistency", "value"), ".1%"),
)


def _change(
    what: str, path: _Path, form: str, now: Mapping[str, Any], last: Mapping[str, Any]
) -> Change:
    return Change(what, _at(last, path), _at(now, path), form)


def _at(record: Any, path: _Path) -> Any:
    for key in path:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record
