"""Write files in any format, and find the items and fields that a format can't store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import IO, Any

from winosmith.errors import FormatError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Item, Writer
from winosmith.formats._detect import get_writer
from winosmith.outputs import atomic_write
from winosmith.problem import Claim, Problem
from winosmith.records import make_claim_record, make_problem_record


def write(items: Sequence[Item], path: str | Path, format_name: str = "winosmith") -> None:
    """Write problems or claims to a file, which appears under its name only when it is complete.

    Problems under embargo can be written only to formats that store the embargo.

    Raises:
        FormatError: the format is unknown or read-only, or it can't store an item.
        OutputError: the file can't be written.
    """
    writer = get_writer(format_name)
    if not all(isinstance(item, writer.item_types) for item in items):
        kind = "claims" if writer.item_types is Claim else "problems"
        raise FormatError(
            f"the format {format_name!r} stores only {kind}; convert the other items with "
            f"`winosmith convert --recast {kind}`"
        )
    with atomic_write(path) as file:
        _write(writer, items, file)


def find_unwritable(items: Sequence[Item], format_name: str) -> dict[int, str]:
    """Map the 0-based row of each item that a format can't store to the reason.

    Raises:
        FormatError: the format is unknown or read-only.
    """
    writer = get_writer(format_name)
    reasons: dict[int, str] = {}
    for row, item in enumerate(items):
        try:
            _write(writer, [item], StringIO())
        except FormatError as error:
            start = f"{_base.get_item_id(item)!r} can't be written: "
            reasons[row] = error.reason.removeprefix(start)
    return reasons


def _write(writer: Writer, items: Sequence[Item], file: IO[str]) -> None:
    for item in items:
        if isinstance(item, Problem) and item.embargo and "embargo" not in writer.kept_fields:
            raise _base.make_unwritable_error(
                item, "it is under embargo, but the format can't store embargoes"
            )
        if not isinstance(item, writer.item_types):
            can = "can't store" if isinstance(item, Claim) else "can store only"
            raise _base.make_unwritable_error(item, f"the format {can} true-or-false claims")
    writer.write(items, file)


def write_bad_records(bad: Sequence[Entry], path: str | Path) -> None:
    """Write bad records as JSON Lines with `file`, `line`, `reason` and `record`.

    For records of a table, `row` replaces `line`.
    """
    with atomic_write(path) as file:
        for one in bad:
            record = {"file": one.place.path, one.place.unit: one.line, "reason": one.reason}
            file.write(json.dumps(record | {"record": one.raw}, ensure_ascii=False) + "\n")


@dataclass
class Losses:
    """The numbers of items whose fields changed when the items were written and read back.

    Attributes:
        lost: number of items with a field that became empty, by field. The parts of `origin`,
            `lineage` and `extra` are separate fields ("origin author").
        changed: number of items in which a field has a different value, by field.
        added: number of items with an empty field that was filled, by field.
        missing: number of items that were not read back.
    """

    lost: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def lines(self, noun: str) -> list[str]:
        """Return a line per kind of loss: "lost: twin_id in 20 problems, origin author in 40"."""
        lines = []
        for kind in ("lost", "changed", "added"):
            if counts := sorted(getattr(self, kind).items()):
                (name, first), *others = counts
                parts = [f"{name} in {_format_count(first, noun)}"]
                parts += [f"{k} in {n}" for k, n in others]
                lines.append(f"{kind}: {', '.join(parts)}")
        missing = f"missing: {_format_count(self.missing, noun)}"
        return [*lines, missing] if self.missing else lines


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun if count != 1 else noun.removesuffix('s')}"


def find_losses(written: Sequence[Item], read_back: Sequence[Item]) -> Losses:
    """Compare written items with the items that were read back, in order.

    Twin ids are compared as groups, so renaming a twin is not a change.
    """
    found = Losses(missing=len(written) - len(read_back))
    pairs = {
        (getattr(before, "twin_id", None), getattr(after, "twin_id", None))
        for before, after in zip(written, read_back, strict=False)
    }
    twins_are_same = len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})
    twins_are_same &= all((old is None) == (new is None) for old, new in pairs)
    for before, after in zip(written, read_back, strict=False):
        if before == after:
            continue
        old, new = _flatten_fields(before), _flatten_fields(after)
        if twins_are_same:
            new["twin_id"] = old.get("twin_id")
        for name in old.keys() | new.keys():
            had, has = old.get(name), new.get(name)
            if had != has:
                kind = found.lost if has is None else found.added if had is None else found.changed
                kind[name] += 1
    return found


def _flatten_fields(item: Item) -> dict[str, Any]:
    record = make_problem_record(item) if isinstance(item, Problem) else make_claim_record(item)
    parts = {name: value for name, value in record.items() if not isinstance(value, dict)}
    for name in record.keys() - parts:
        parts |= {f"{name} {key}": part for key, part in record[name].items()}
    return parts
