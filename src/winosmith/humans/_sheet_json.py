"""The machine-readable form of a sheet: what `enter` reads, and any other program can.

`read_sheet` tells what is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winosmith.errors import FormatError, InputError
from winosmith.humans._item import AMBIGUOUS, Item
from winosmith.humans._sheet import Sheet
from winosmith.records import parsed

__all__ = ["read_sheet", "sheet_of", "sheet_record"]

_VERSION = 1


def sheet_record(sheet: Sheet) -> dict[str, Any]:
    """Return a sheet as the object that `read_sheet` describes."""
    return {
        "winosmith": "sheet",
        "version": _VERSION,
        "code": sheet.code,
        "title": sheet.title,
        "test": sheet.test,
        "order": sheet.order,
        "seed": sheet.seed,
        "data": sheet.data,
        "items": [_item_record(item) for item in sheet.items],
    }


def _item_record(item: Item) -> dict[str, Any]:
    lettered = zip(item.letters, item.options, item.shown, strict=True)
    return {
        "number": item.number,
        "problem": item.problem_id,
        "schema": item.schema,
        "text": list(item.text),
        "snippet": list(item.snippet),
        "options": [{"letter": a, "text": text, "option": i} for a, text, i in lettered],
        "ambiguous": AMBIGUOUS,
        "label": item.label,
    }


def sheet_of(record: Mapping[str, Any], path: str | Path | None = None) -> Sheet:
    """Return the sheet of such an object.

    Args:
        record: the object.
        path: the file that it came from, for errors.

    Raises:
        FormatError: it is no sheet, of another version, or was changed after it was printed.
    """
    if record.get("winosmith") != "sheet":
        raise FormatError("this is not a sheet of `winosmith humans sheets`", path)
    if record.get("version") != _VERSION:
        raise FormatError(
            f"the sheet has version {record.get('version')!r}; this winosmith reads {_VERSION}",
            path,
        )
    try:
        items = tuple(_item_of(item) for item in record["items"])
        kept = {name: record[name] for name in ("title", "test", "order", "seed", "data")}
        sheet = Sheet(items=items, **kept)
        code = record["code"]
    except InputError as error:
        raise FormatError(str(error), path) from error
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the sheet can't be read: {error!r}; make it again", path) from error
    if sheet.code != code:
        raise FormatError(
            f"the sheet was changed: its code is {code!r}, its items give {sheet.code!r}; "
            "make it again from the data",
            path,
        )
    return sheet


def _item_of(record: Mapping[str, Any]) -> Item:
    before, pronoun, after = record["text"]
    snippet_before, snippet_pronoun, snippet_after = record["snippet"]
    return Item(
        number=record["number"],
        problem_id=record["problem"],
        schema=record["schema"],
        text=(before, pronoun, after),
        snippet=(snippet_before, snippet_pronoun, snippet_after),
        options=tuple(option["text"] for option in record["options"]),
        shown=tuple(option["option"] for option in record["options"]),
        label=record["label"],
    )


def read_sheet(path: str | Path) -> Sheet:
    """Read a sheet from its JSON file.

    A file `a-1.json` holds one object:

        winosmith   "sheet"
        version     1, of this form
        code        printed on the sheet; "a-1-7Q2K"
        title, test, order, seed, data      as in `Sheet`
        items       a list, in the order of the sheet; each an object:
            number      from 1
            problem     the id of the problem
            schema      shared by what one subject may not see together
            text        [before, pronoun, after]; the pronoun is "_" for a blank
            snippet     [before, pronoun, after]
            options     a list of {"letter": "A", "text": "trophy", "option": 0}; `option` is the
                        index among the problem's options that the letter stands for
            ambiguous   "X": the letter for a genuinely ambiguous question, always allowed
            label       "SAME TEXT AS PREVIOUS QUESTION", "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"
                        or null

    No answer is in it. Ids are (and those of WinoGrande give answers away), so it is for whoever
    runs the test, not for those who take it; the printed sheets and the forms hold no ids.

    Raises:
        FormatError: it can't be read as a sheet; the message names the file.
    """
    path = Path(path)
    try:
        record = parsed(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"this is not a sheet's JSON file: {error}", path) from error
    if not isinstance(record, dict):
        raise FormatError("this is not a sheet of `winosmith humans sheets`", path)
    return sheet_of(record, path)
