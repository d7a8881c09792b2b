"""Read a file in any known format; say what can't be read, and set it aside if asked to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.formats._base import Entry, Format, Item, Source
from winosmith.formats._known import FORMATS
from winosmith.outputs import write_aside
from winosmith.problem import Claim, Problem

__all__ = ["detect", "format_named", "read", "read_claims", "read_items", "write"]


def format_named(name: str) -> Format:
    """Return the format of that name.

    Raises:
        FormatError: there is none; the message lists the names.
    """
    for known in FORMATS:
        if known.name == name:
            return known
    names = ", ".join(sorted(known.name for known in FORMATS))
    raise FormatError(f"there is no format {name!r}; the formats are {names}")


def detect(source: Source) -> Format:
    """Return the one format whose signs the file's content bears.

    Raises:
        FormatError: none, or more than one, recognises it.
    """
    found = [known for known in FORMATS if known.recognises(source)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(known.name for known in (found or FORMATS))
    what = "more than one format fits" if found else "no known format fits"
    raise FormatError(f"{what} its content; name one with --from ({names})", source.path)


def read_items(
    path: str | Path, format_name: str | None = None, *, skip_bad: str | Path | None = None
) -> list[Item]:
    """Read the problems or claims of a file, in order.

    Args:
        path: the file.
        format_name: its format; found from its content when None.
        skip_bad: a file for the records that can't be read, as JSON Lines with `line`, `reason`
            and `record`; it is written only when there are any. When None, the first bad record
            ends the reading.

    Raises:
        FormatError: no format fits, a record can't be read (file, line, reason), or none is left.
    """
    source = Source(path)
    known = format_named(format_name) if format_name else detect(source)
    items: list[Item] = []
    bad: list[Entry] = []
    for found in _distinct(known.read(source)):
        if found.item is not None:
            items.append(found.item)
        elif skip_bad is None:
            raise FormatError(found.reason or "unreadable", source.path, found.line)
        else:
            bad.append(found)
    if bad and skip_bad is not None:
        _set_aside(bad, skip_bad)
    if not items:
        raise FormatError("the file holds no record that can be read", source.path)
    return items


def read(
    path: str | Path, format_name: str | None = None, *, skip_bad: str | Path | None = None
) -> Dataset:
    """Read a file of problems as a data set named after the file; see `read_items`.

    Raises:
        FormatError: as `read_items`, or the file holds claims.
    """
    items = read_items(path, format_name, skip_bad=skip_bad)
    problems = [item for item in items if isinstance(item, Problem)]
    if len(problems) < len(items):
        raise FormatError(
            "the file holds true-or-false claims, not problems; regroup them first with: "
            "winosmith convert --recast problems",
            path,
        )
    return Dataset(problems, Path(path).stem)


def read_claims(
    path: str | Path, format_name: str | None = None, *, skip_bad: str | Path | None = None
) -> tuple[Claim, ...]:
    """Read a file of true-or-false claims; see `read_items`.

    Raises:
        FormatError: as `read_items`, or the file holds problems.
    """
    items = read_items(path, format_name, skip_bad=skip_bad)
    claims = tuple(item for item in items if isinstance(item, Claim))
    if len(claims) < len(items):
        raise FormatError("the file holds problems, not true-or-false claims", path)
    return claims


def write(items: Sequence[Item], path: str | Path, format_name: str = "winosmith") -> None:
    """Write problems or claims to a file, which takes its name only when it is complete.

    Raises:
        FormatError: the format is unknown or only read, or a record does not fit into it.
        OutputError: the file can't be written.
    """
    known = format_named(format_name)
    if known.write is None:
        raise FormatError(f"the format {known.name!r} can be read, not written")
    with write_aside(path) as file:
        known.write(items, file)


def _distinct(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Turn a problem whose id was already used into a bad record."""
    seen: dict[str, int] = {}
    for found in entries:
        if isinstance(found.item, Problem):
            first = seen.setdefault(found.item.id, found.line)
            if first != found.line:
                reason = f"the id {found.item.id!r} was already used at line {first}"
                found = Entry(found.line, found.raw, reason=reason)
        yield found


def _set_aside(bad: Sequence[Entry], path: str | Path) -> None:
    with write_aside(path) as file:
        for found in bad:
            record = {"line": found.line, "reason": found.reason, "record": found.raw}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
