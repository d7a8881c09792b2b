"""Shuffle the options of items within their files.

The random order depends on the item's text and the seed (see `winosmith.audit.repair`), so a second
run changes nothing. Orders are never balanced, because a solver could exploit the balance. Items
that can't be changed safely (`_edits`) are left unchanged and reported with the reason.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from winosmith import data, formats
from winosmith.audit._edits import apply_edits, plan_edits
from winosmith.audit._repair import draw_order
from winosmith.data import Place
from winosmith.errors import DataError, FormatError
from winosmith.formats import Contents
from winosmith.outputs import atomic_write
from winosmith.problem import Problem
from winosmith.results import HIDDEN, Result, shown


@dataclass(frozen=True)
class UnchangedItem(Result):
    """An item that was left unchanged, with the reason."""

    place: Place = field(metadata=shown("place", str, json=str))
    reason: str = field(metadata=shown("reason"))


@dataclass(frozen=True)
class ShuffledFile(Result):
    """A file whose options were shuffled.

    Attributes:
        path: path of the file.
        items: number of items.
        changed: number of items whose options have a new order.
        most: number of keys at the most frequent position.
        chance: the number of keys at this position that 95 of 100 random files don't exceed.
        before: the original text.
        text: the new text.
        encoding: encoding of the file.
    """

    path: str = field(metadata={"key": "file"} | shown("file"))
    items: int = field(metadata=shown("items"))
    changed: int = field(metadata=shown("changed"))
    most: int = field(metadata={"key": "most_frequent_place"} | shown("most at one position"))
    chance: int = field(metadata={"key": "by_chance_at_most"} | shown("maximum by chance"))
    before: str = field(metadata=HIDDEN)
    text: str = field(metadata=HIDDEN)
    encoding: str = field(metadata=HIDDEN)


@dataclass(frozen=True)
class ShuffledFiles(Result):
    """The result of shuffling options in files.

    Attributes:
        files: the files, in the given order.
        unchanged: the items that were left unchanged.
    """

    files: tuple[ShuffledFile, ...]
    unchanged: tuple[UnchangedItem, ...]

    def write(self) -> list[str]:
        """Write the changed files with their old permissions, and return their paths.

        Raises:
            DataError: a file is read-only, or has changed since it was read. In both cases, no file
                is written.
        """
        changed = {
            Path(file.path).resolve(): file for file in self.files if file.text != file.before
        }
        for target, file in changed.items():
            if not os.access(target, os.W_OK):
                raise DataError(f"{file.path} is read-only; no file was changed")
            if target.read_bytes() != file.before.encode(file.encoding):
                raise DataError(f"{file.path} has changed since it was read; run the command again")
        for target, file in changed.items():
            mode = stat.S_IMODE(target.stat().st_mode)
            with atomic_write(target, "wb") as out:
                out.write(file.text.encode(file.encoding))
            target.chmod(mode)
        return [file.path for file in changed.values()]


def shuffle_files(
    paths: Sequence[str | Path],
    seed: int = 0,
    *,
    format_name: str | None = None,
    columns: formats.Columns | None = None,
    encoding: str | None = None,
) -> ShuffledFiles:
    """Shuffle the options of the items in files; `ShuffledFiles.write` saves the result.

    All files are treated as one data set. The shuffled files are read again; an item whose texts or
    answer would be read differently is left unchanged.

    Args:
        paths: paths of uncompressed JSON, JSON Lines, YAML, CSV or TSV files.
        seed: random seed of the orders.
        format_name: see `formats.scan`.
        columns: see `formats.scan`.
        encoding: encoding of the files; detected if None.

    Raises:
        FormatError: the files can't be read.
        DataError: a file can't be written back in its encoding, or two records overlap.
    """
    sources = [data.Source(path, encoding=encoding) for path in paths]
    originals = {str(one.path): (one.text, _detect_encoding(one, encoding)) for one in sources}
    how: dict[str, Any] = {"columns": columns, "pair_by": "", "ids_are_places": True}
    before = formats.scan(_read_rows(sources), format_name, **how)
    left, draw = {one.place: str(one.reason) for one in before.bad}, partial(draw_order, seed=seed)
    while True:
        edits, kinds = plan_edits(
            before, {str(one.path): one for one in sources}, columns, draw, left
        )
        texts = [apply_edits(one.text, edits[str(one.path)]) for one in sources]
        again = [*map(_replace_text, sources, texts)]
        try:
            after = formats.scan(_read_rows(again), format_name, **how)
        except FormatError as error:
            left |= _find_items_to_leave(error, before, left, kinds)
            continue
        differ = [
            place
            for place, old, new in zip(before.places, before.items, after.items, strict=False)
            if place not in left and _get_content(old) != _get_content(new)
        ]
        if len(before.items) != len(after.items):
            raise DataError(
                "shuffling would change the number of items that are read from the files; nothing "
                "was changed"
            )
        if not differ:
            break
        left |= dict.fromkeys(differ, "it would be read differently after shuffling")
    own: defaultdict[str, list[tuple[formats.Item, formats.Item]]] = defaultdict(list)
    for place, old, new in zip(before.places, before.items, after.items, strict=True):
        own[place.path].append((old, new))
    files = [
        _make_shuffled_file(path, text, originals[path], own[path])
        for path, text in zip((str(one.path) for one in sources), texts, strict=True)
    ]
    unchanged = tuple(UnchangedItem(place, why) for place, why in left.items())
    return ShuffledFiles(tuple(files), unchanged)


def _replace_text(source: data.Source, text: str) -> data.Source:
    return data.Source(source.path, text.encode("utf-8", "surrogatepass"))


def _find_items_to_leave(
    error: FormatError, contents: Contents, unchanged: Mapping[Place, str], kinds: Mapping[str, str]
) -> dict[Place, str]:
    """Return the items that must stay unchanged to keep the files readable, with the reasons.

    If no new key shows whether keys start from 0 or 1, the first item whose old key shows this
    stays unchanged; otherwise, all items of the unreadable file do. `error` is raised again if
    these items were already left unchanged.
    """
    free = [
        (place, item)
        for place, item in zip(contents.places, contents.items, strict=True)
        if place not in unchanged and isinstance(item, Problem) and item.answer is not None
    ]
    if error.parameter == "answer_is":
        for place, item in free:
            if item.answer == (0 if "0" in kinds.values() else len(item.options) - 1):
                return {place: "its key is needed to detect whether keys start from 0 or 1"}
    stays = "its file could not be read after shuffling"
    if found := {place: stays for place, _ in free if place.path == error.path}:
        return found
    raise error


def _detect_encoding(source: data.Source, encoding: str | None) -> str:
    """Return the encoding that turns the text of a file back into its bytes."""
    raw = Path(source.path).read_bytes()
    for codec in ("utf-8", "utf-8-sig", *filter(None, [encoding])):
        if source.text.encode(codec, "replace") == raw:
            return codec
    raise DataError(
        f"{source.path} can't be changed in place: decompress it, and save it as UTF-8 first"
    )


def _read_rows(sources: Sequence[data.Source]) -> data.Rows:
    return data.join_rows([data.read(source) for source in sources], str(sources[0].path))


def _get_content(item: formats.Item) -> object:
    """Return the texts and the correct option of an item, which shuffling must not change."""
    if not isinstance(item, Problem):
        return item
    key = None if item.answer is None else item.options[item.answer]
    return item.sentence, tuple(sorted(item.options)), key


def _make_shuffled_file(
    path: str,
    text: str,
    original: tuple[str, str],
    items: Sequence[tuple[formats.Item, formats.Item]],
) -> ShuffledFile:
    answered = [new for _, new in items if isinstance(new, Problem) and new.answer is not None]
    most = max(Counter(one.answer for one in answered).values(), default=0)
    chance = _compute_chance_limit(tuple(len(one.options) for one in answered))
    changed = sum(old != new for old, new in items)
    before, encoding = original
    return ShuffledFile(path, len(items), changed, most, chance, before, text, encoding)


@cache
def _compute_chance_limit(counts: tuple[int, ...]) -> int:
    """Return the 95th percentile of the largest number of keys at a position in random files."""
    if not counts:
        return 0
    drawn = np.random.default_rng(0).random((2000, len(counts))) * np.array(counts)
    places = drawn.astype(int)
    most = np.max([(places == at).sum(axis=1) for at in range(max(counts))], axis=0)
    return int(np.quantile(most, 0.95, method="inverted_cdf"))
