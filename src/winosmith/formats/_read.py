"""Read and write a file in any known format; say what can't be read or held.

What a reader settles whatever the format: ids that occur twice, blanks that touch a word, twins
that the file does not mark, and lineages that contradict themselves. `losses` compares what was
written with what is read back.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from io import StringIO
from pathlib import Path
from typing import IO, Any, TypeAlias

from winosmith.dataset import Dataset
from winosmith.errors import FormatError, ProblemError
from winosmith.formats._answers import without_repeats
from winosmith.formats._base import (
    Entry,
    Format,
    Item,
    Source,
    Writer,
    cannot_write,
    entry,
    named,
)
from winosmith.formats._columns import Columns
from winosmith.formats._csv import CSV
from winosmith.formats._detect import detect, format_named, writer_named
from winosmith.formats._jsonl import JSONL
from winosmith.formats._packed import stem
from winosmith.formats._questions import QUESTIONS, read_questions
from winosmith.formats._rows import EVERY, source_rows, told_of
from winosmith.formats._tables import Told, is_parquet, is_table, parquet_rows, table_rows
from winosmith.formats._twins import paired_apart, paired_by, refuse_unread_pairs
from winosmith.formats._winogrande import WINOGRANDE
from winosmith.lineage import apply_edits, check_lineages, edit_script
from winosmith.outputs import write_aside
from winosmith.problem import BLANK, Claim, Origin, Problem
from winosmith.records import claim_record, parsed, problem_of, problem_record
from winosmith.text import tokens, with_blank_apart


@dataclass
class Losses:
    """How many items differ in which field after they were written and read back.

    Attributes:
        lost: the field was filled and is empty now; parts of `origin`, `lineage` and `extra` are
            counted each by its name ("origin author").
        changed: it has another value now.
        added: it was empty and is filled now.
        missing: how many items did not come back at all.
    """

    lost: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    missing: int = 0

    def __bool__(self) -> bool:
        return bool(self.lost or self.changed or self.added or self.missing)

    def lines(self, noun: str) -> list[str]:
        """Return a line for each kind: "lost: twin_id in 20 problems, origin author in 40"."""
        lines = [
            f"{kind}: " + _listed(counts, noun)
            for kind, counts in (
                ("lost", self.lost),
                ("changed", self.changed),
                ("added", self.added),
            )
            if counts
        ]
        return [*lines, f"missing: {_many(self.missing, noun)}"] if self.missing else lines


def _listed(counts: Counter[str], noun: str) -> str:
    first, *others = sorted(counts.items())
    return ", ".join(
        [f"{first[0]} in {_many(first[1], noun)}", *(f"{k} in {n}" for k, n in others)]
    )


def _many(count: int, noun: str) -> str:
    return f"{count} {noun if count != 1 else noun.removesuffix('s')}"


def losses(written: Sequence[Item], read_back: Sequence[Item]) -> Losses:
    """Compare items with what came back from a file, one by one, in order.

    Twin ids are compared as groups: other names for the same twins are no change.
    """
    found = Losses(missing=len(written) - len(read_back))
    twins_are_same = _only_renamed(written, read_back)
    for before, after in zip(written, read_back, strict=False):
        if before == after:
            continue
        old, new = _parts(before), _parts(after)
        if twins_are_same:
            new["twin_id"] = old.get("twin_id")
        for name in old.keys() | new.keys():
            had, has = old.get(name), new.get(name)
            if had != has:
                kind = found.lost if has is None else found.added if had is None else found.changed
                kind[name] += 1
    return found


def _parts(item: Item) -> dict[str, Any]:
    """Return the filled fields of an item, those inside `origin`, `lineage`, `extra` by name."""
    record = problem_record(item) if isinstance(item, Problem) else claim_record(item)
    parts: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            parts |= {f"{name} {key}": part for key, part in value.items()}
        else:
            parts[name] = value
    return parts


def _only_renamed(written: Sequence[Item], read_back: Sequence[Item]) -> bool:
    """Tell whether the twins are the same, whatever they are called."""
    pairs = {
        (getattr(before, "twin_id", None), getattr(after, "twin_id", None))
        for before, after in zip(written, read_back, strict=False)
    }
    one_to_one = len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})
    return one_to_one and all((before is None) == (after is None) for before, after in pairs)


Readable: TypeAlias = str | Path | Any
"""A file; or a pandas DataFrame, or a data set of Hugging Face's library."""


class ReadingNote(UserWarning):
    """What a reader did beyond what the file says."""


SKIP_BAD = "add `skip_bad='bad.jsonl'` to set such records aside and continue"
"""What to do about records that can't be used."""


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes:
        format: the format in which it was read.
        items: the problems or claims, in order.
        lines: the 1-based line where each of the items starts.
        bad: the records that can't be read, each with its line and reason.
        notes: what the reader did beyond what the file says, a sentence each: twins that it told
            by their texts, blanks that it set apart from a word.
    """

    format: Format
    items: list[Item]
    lines: list[int]
    bad: list[Entry]
    notes: tuple[str, ...] = ()

    def first_error(self, path: str | Path) -> FormatError:
        """Return the error for the first bad record, which says how many more there are."""
        first = min(self.bad, key=lambda found: found.line)
        more = len(self.bad) - 1
        others = f"; {more} more record{'s' * (more > 1)} can't be read" if more else ""
        return FormatError(f"{first.reason}{others}", path, first.line)

    def refuse(self, path: str | Path, *, skip_bad: bool = False) -> None:
        """Raise the error of a file without a sound record, or with a bad one.

        Args:
            path: the file.
            skip_bad: accept bad records if there is a sound one.
        """
        if self.bad and not (skip_bad and self.items):
            error = self.first_error(path)
            hint = "; no record is left" if skip_bad else f"; {SKIP_BAD}"
            raise FormatError(f"{error.reason}{hint}", error.path, error.line)
        if not self.items:
            raise FormatError("the file holds no record that can be read", path)

    def tell(self, path: str | Path) -> None:
        """Warn of what the reader did beyond what the file says, a `ReadingNote` each."""
        for note in self.notes:
            warnings.warn(f"{path}: {note}", ReadingNote, stacklevel=4)


def scan(
    path: Readable | Source,
    format_name: str | None = None,
    *,
    pair_by: str | None = None,
    as_written: bool = False,
    columns: Columns | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> Contents:
    """Read every record of a file, the bad ones with the reason.

    Args:
        path: the file, or its `Source`; or a table in memory, a pandas DataFrame or a data set of
            Hugging Face's library, whose rows are our own records or questions.
        format_name: its format; found from its content when None.
        pair_by: a further column, or key of `extra`, that the halves of a twin share; it takes the
            place of all that the file else says of twins. With None, a file is refused if a column
            looks like one that marks twins (see `refuse_unread_pairs`); an empty text reads it
            anyway, without that column.
        as_written: look for no twins that the file does not mark itself, and leave a blank that
            stands against a word ("because _had") where it is.
        columns: which columns hold question, choices and answer; the file is then read as rows
            of questions.
        on_progress: called now and then with the share of a file's lines that is read, 0–1.

    Raises:
        FormatError: the file can't be opened or decoded, no format fits, nothing can be paired
            by that column, or the columns of questions can't be told.
    """
    known, all_entries, notes, source, marked = _entries(path, format_name, columns, on_progress)
    if source and on_progress and known is not QUESTIONS:
        all_entries = _telling(all_entries, source.text.count("\n") + 1, on_progress)
    entries = list(_distinct(all_entries))
    if not as_written:
        entries, apart = with_blanks_apart(entries)
        entries, repeats = without_repeats(entries) if known in (CSV, WINOGRANDE) else (entries, [])
        notes += apart + repeats
    if pair_by and any(found.item for found in entries):
        entries = _paired_by(entries, pair_by, place(path))
    elif (
        not as_written and not marked and (_have_blanks(entries) if known is QUESTIONS else source)
    ):
        entries, told = _with_twins_found(entries)
        notes += told
    contents = Contents(known, [], [], [], (*notes, *_notes(entries)))
    for found in with_lineages_checked(entries):
        if found.item is None:
            contents.bad.append(found)
        else:
            contents.items.append(found.item)
            contents.lines.append(found.line)
    if pair_by is None and not as_written and not marked:
        problems = [item for item in contents.items if isinstance(item, Problem)]
        refuse_unread_pairs(problems, place(path))
    return contents


def _notes(entries: Sequence[Entry]) -> list[str]:
    """Return the readers' notes on records: the first with its line, and how many there are."""
    noted = [found for found in entries if found.note]
    if not noted:
        return []
    more = f" ({len(noted):,} of {len(entries):,} records have such a note)" * (len(noted) > 1)
    return [f"line {noted[0].line}: {noted[0].note}{more}"]


def _telling(
    entries: Iterable[Entry], lines: int, on_progress: Callable[[float], object]
) -> Iterator[Entry]:
    for n, found in enumerate(entries):
        if n % EVERY == 0:
            on_progress(min(1.0, found.line / lines))
        yield found


def _entries(
    path: Readable | Source,
    format_name: str | None,
    columns: Columns | None,
    on_progress: Callable[[float], object] | None,
) -> tuple[Format, Iterable[Entry], list[str], Source | None, bool]:
    """Return the format, its entries, what was done to read them, and the text of a file.

    Last is whether the rows, or the format's reader, say which are twins, so that nothing else is
    looked for.
    """
    asked = columns is not None or format_name == QUESTIONS.name
    if isinstance(path, Source):
        source = path
    elif is_table(path) or is_parquet(path):
        told = list(table_rows(path) if is_table(path) else parquet_rows(path))
        first = next((row for _, _, row, _ in told if row is not None), {})
        if not asked and JSONL.needs <= first.keys():
            return JSONL, map(_own, told), _lost_places(told), None, "twin_id" in first
        entries, notes = read_questions(told, columns, place(path), on_progress)
        return QUESTIONS, entries, notes, None, False
    else:
        source = Source(path)
    if columns is not None and format_name not in (None, QUESTIONS.name):
        raise FormatError(
            f"columns are named for {QUESTIONS.name!r}, not for {format_name!r}", source.path
        )
    known = QUESTIONS if asked else format_named(format_name) if format_name else detect(source)
    if known is not QUESTIONS:
        marked = known.silent_on_twins is None or not known.silent_on_twins(source)
        return known, known.read(source), [], source, marked
    rows, where = source_rows(source)
    if on_progress:
        rows = told_of(rows, source.text.count("\n") + 1, on_progress)
    entries, notes = read_questions(rows, columns, source.path, on_progress)
    return known, entries, where + notes, source, False


def _have_blanks(entries: Iterable[Entry]) -> bool:
    return any(isinstance(one.item, Problem) and one.item.blank is not None for one in entries)


_APART = re.compile(rf"(?<!\w){BLANK}(?!\w)")


def _lost_places(told: Iterable[Told]) -> list[str]:
    """Say so where a table may have lost that a `_` is a blank, as one made of JSON Lines has.

    Where a row has a place, the table knows places, and a `_` inside a word is none.
    """
    rows = [row for _, _, row, _ in told if row is not None and "blank" in row]
    placed = any(row["blank"] is not None for row in rows)
    lone = [
        row
        for row in rows
        if row["blank"] is None
        and str(row["sentence"]).count(BLANK) == 1
        and (_APART.search(str(row["sentence"])) or not placed)
    ]
    if not lone:
        return []
    return [
        f"{len(lone):,} of the texts have one '_' ({lone[0]['id']!r}, …) and are read as "
        "questions, as their 'blank' is empty; if they are sentences, leave the column 'blank' out "
        "of their table, or read the JSON Lines that it was made of: a table can't tell a key that "
        "is left out from null"
    ]


def _own(told: Told) -> Entry:
    line, raw, row, reason = told
    if row is None:
        return Entry(line, raw, reason=reason)
    flat = row.keys() >= _RELEASED and not isinstance(row["extra"], Mapping)
    try:
        row = _of_release(row) if flat else row
    except ValueError as error:
        return Entry(line, raw, reason=f"'extra' is not JSON of an object: {error}")
    kept = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in row.items()
        if value is not None or key in ("answer", "blank")
    }
    return entry(line, raw, lambda: problem_of(kept))


_ORIGIN = tuple(known.name for known in fields(Origin))
_OF_RELEASE = ("judges", "judged_by", "removed_by", "phase")
_RELEASED = frozenset({*_ORIGIN, *_OF_RELEASE, "root", "parent", "declared", "edits", "extra"})
"""The columns of a release's Parquet files that are no keys of our lines."""


def _of_release(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a row of a release's table, in which all that a problem has is flat."""
    extra = parsed(row["extra"] or "{}")
    if not isinstance(extra, dict):
        raise ValueError("it is no object")
    for name in _OF_RELEASE:
        if row[name] is not None:
            told = row[name]
            extra[f"release.{name}"] = " ".join(told) if isinstance(told, list) else told
    lineage = {name: row[name] for name in ("root", "parent", "edits", "declared")}
    record = {name: value for name, value in row.items() if name not in _RELEASED}
    if "blank" in extra:
        record["blank"] = extra.pop("blank")
    return record | {
        "extra": extra or None,
        "origin": {name: row[name] for name in _ORIGIN if row[name] is not None} or None,
        "lineage": {k: v for k, v in lineage.items() if v is not None} or None,
    }


def place(path: Readable | Source) -> str:
    """Return what a message calls a file, or a table in memory."""
    if isinstance(path, Source):
        return str(path.path)
    return f"<{type(path).__name__}>" if is_table(path) else str(path)


def _distinct(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Turn a problem whose id was already used into a bad record."""
    seen: dict[str, int] = {}
    for found in entries:
        problem = found.item
        if isinstance(problem, Problem) and problem.id in seen:
            reason = f"the id {problem.id!r} was already used at line {seen[problem.id]}"
            yield Entry(found.line, found.raw, reason=reason)
            continue
        if isinstance(problem, Problem):
            seen[problem.id] = found.line
        yield found


def with_blanks_apart(entries: Iterable[Entry]) -> tuple[list[Entry], list[str]]:
    """Set each blank apart from a word that it touches (`text.with_blank_apart`).

    Edits that were counted in the words as they stood are counted anew.

    Returns:
        The entries, and a sentence that says how many were mended; none when none was.
    """
    found = list(entries)
    before: dict[str, str] = {}
    mended = 0
    example = ""
    for row, one in enumerate(found):
        if one.item is None or (isinstance(one.item, Problem) and one.item.blank is None):
            continue
        sentence = with_blank_apart(one.item.sentence)
        if sentence == one.item.sentence:
            continue
        mended += 1
        example = example or _blank_and_neighbours(one.item.sentence)
        if isinstance(one.item, Problem):
            before[one.item.id] = one.item.sentence
        found[row] = replace(one, item=replace(one.item, sentence=sentence))
    if not mended:
        return found, []
    what = "sentence has its blank" if mended == 1 else "sentences have their blanks"
    return _with_edits(found, before), [
        f"{mended:,} {what} against a word ({example!r}); a space was set between, lest the "
        "option run into the word"
    ]


def _blank_and_neighbours(sentence: str) -> str:
    """Return the blank with the words around it."""
    cut = sentence.split()
    at = next(at for at, word in enumerate(cut) if BLANK in word)
    return " ".join(cut[max(0, at - 1) : at + 1])


def _with_edits(entries: list[Entry], before: dict[str, str]) -> list[Entry]:
    """State edits anew where a sentence or its parent's was mended and they fitted before."""
    known = {one.item.id: one.item for one in entries if isinstance(one.item, Problem)}
    for row, one in enumerate(entries):
        problem = one.item
        if not isinstance(problem, Problem) or not problem.lineage or not problem.lineage.edits:
            continue
        lineage = problem.lineage
        if before.keys().isdisjoint((problem.id, lineage.parent)):
            continue
        edits = lineage.edits
        if (parent := known.get(lineage.parent)) is None:
            edits = ()  # they count in words that no longer are, of a sentence that is not here
        elif _edits_fit(parent, problem, before):
            edits = edit_script(tokens(parent.sentence), tokens(problem.sentence))
        entries[row] = replace(one, item=replace(problem, lineage=replace(lineage, edits=edits)))
    return entries


def _edits_fit(parent: Problem, problem: Problem, before: dict[str, str]) -> bool:
    """Tell whether the stated edits turn the parent as it stood into the problem as it stood."""
    then, now = (before.get(one.id, one.sentence) for one in (parent, problem))
    edits = problem.lineage.edits if problem.lineage else ()
    try:
        return apply_edits(tokens(then), edits) == tuple(tokens(now))
    except ProblemError:
        return False


def _paired_by(entries: list[Entry], column: str, path: str | Path) -> list[Entry]:
    try:
        return paired_by(entries, column)
    except FormatError as error:
        raise FormatError(error.reason, path) from None


def _with_twins_found(entries: list[Entry]) -> tuple[list[Entry], list[str]]:
    """Pair by their texts problems of which none has a twin id or a lineage; say so."""
    problems = [one.item for one in entries if isinstance(one.item, Problem)]
    if any(problem.twin_id or problem.lineage for problem in problems):
        return entries, []
    found = paired_apart(entries)
    halves = sum(isinstance(one.item, Problem) and one.item.twin_id is not None for one in found)
    if not halves:
        return entries, []
    return found, [
        f"{halves:,} of {len(problems):,} problems are read as {halves // 2:,} "
        f"twin{'s' * (halves > 2)}, told by their texts: no id or column marks twins (name one "
        "with `pair_by=`, or give each problem a twin_id)"
    ]


def with_lineages_checked(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries; those whose lineage contradicts itself are bad, with the reason.

    A cycle, a root that the parent does not share, and edits that don't turn the parent's sentence
    into the child's make a record bad. A parent that is not in the file does not: a file may hold a
    part of a family, such as what a filter kept. Nor does a declared depth: those that are
    published follow no single rule. `winosmith check` reports both.

    Args:
        entries: of a file, in order; no two problems share an id.
    """
    checked = list(entries)
    rows = [at for at, found in enumerate(checked) if isinstance(found.item, Problem)]
    problems = [found.item for found in checked if isinstance(found.item, Problem)]
    if not any(problem.lineage for problem in problems):
        return checked
    for row, reason in check_lineages(Dataset(problems), complete=False).items():
        bad = checked[rows[row]]
        checked[rows[row]] = Entry(bad.line, bad.raw, reason=reason)
    return checked


def read_items(
    path: Readable,
    format_name: str | None = None,
    *,
    skip_bad: str | Path | None = None,
    pair_by: str | None = None,
    as_written: bool = False,
    columns: Columns | None = None,
) -> list[Item]:
    """Read the problems or claims of a file, in order.

    What was done beyond what the file says (`Contents.notes`) is told as a warning.

    Args:
        path: the file.
        format_name: its format; found from its content when None.
        skip_bad: a file for the records that can't be read, as JSON Lines with `file`, `line`,
            `reason` and `record`; it is written only if there are any. If None, the first bad
            record ends the reading.
        pair_by: a further column that the halves of a twin share; see `scan`.
        as_written: neither look for twins nor mend blanks; see `scan`.
        columns: which columns hold question, choices and answer; see `scan`.

    Raises:
        FormatError: no format fits, a record can't be read (file, line, reason), or none is left.
    """
    how = {"pair_by": pair_by, "as_written": as_written, "columns": columns}
    return _sound(path, format_name, skip_bad, how).items


def _sound(
    path: Readable, format_name: str | None, skip_bad: str | Path | None, how: Mapping[str, Any]
) -> Contents:
    """Return the contents of a file without bad records, and warn of its notes."""
    contents = scan(path, format_name, **how)
    if contents.bad and skip_bad is not None:
        set_aside({place(path): contents.bad}, skip_bad)
    contents.refuse(place(path), skip_bad=skip_bad is not None)
    contents.tell(place(path))
    return contents


def set_aside(bad: Mapping[str, Sequence[Entry]], path: str | Path) -> None:
    """Write the bad records of files as JSON Lines with `file`, `line`, `reason` and `record`."""
    with write_aside(path) as file:
        for name, entries in bad.items():
            for found in entries:
                record = {"file": name, "line": found.line, "reason": found.reason}
                file.write(json.dumps(record | {"record": found.raw}, ensure_ascii=False) + "\n")


def read(
    path: Readable,
    format_name: str | None = None,
    *,
    skip_bad: str | Path | None = None,
    pair_by: str | None = None,
    as_written: bool = False,
    columns: Columns | None = None,
) -> Dataset:
    """Read a file of problems as a data set named after the file; see `read_items`.

    A table in memory, a pandas DataFrame or a data set of Hugging Face's library, is read too.

    Raises:
        FormatError: as `read_items`, or the file holds claims.
    """
    how = {"pair_by": pair_by, "as_written": as_written, "columns": columns}
    return problems_of(_sound(path, format_name, skip_bad, how), path)


def dataset_of(data: Dataset | Readable) -> Dataset:
    """Return a data set as it is, and anything else as `read` reads it."""
    return data if isinstance(data, Dataset) else read(data)


def problems_of(contents: Contents, path: Readable) -> Dataset:
    """Return the problems of a file as a data set named after it.

    Raises:
        FormatError: the file contains claims.
    """
    problems = [item for item in contents.items if isinstance(item, Problem)]
    if len(problems) < len(contents.items):
        raise FormatError(
            "the file holds true-or-false claims, not problems; regroup them first with "
            "`winosmith convert --recast problems`",
            place(path),
        )
    return Dataset(problems, "table" if is_table(path) else stem(path))


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

    A problem under embargo goes only into a format that keeps the mark.

    Raises:
        FormatError: the format is unknown or only read, or a record does not fit into it.
        OutputError: the file can't be written.
    """
    writer = writer_named(format_name)
    if not all(isinstance(item, writer.holds) for item in items):
        kind = "claims" if writer.holds is Claim else "problems"
        raise FormatError(
            f"the format {format_name!r} holds only {kind}; turn the others into them with "
            f"`winosmith convert --recast {kind}`"
        )
    with write_aside(path) as file:
        _write(writer, items, file)


def unfit(items: Sequence[Item], format_name: str) -> dict[int, str]:
    """Return the rows of the items that don't fit into a format, each with the reason.

    Raises:
        FormatError: the format is unknown or only read.
    """
    writer = writer_named(format_name)
    reasons: dict[int, str] = {}
    for row, item in enumerate(items):
        try:
            _write(writer, [item], StringIO())
        except FormatError as error:
            reasons[row] = error.reason.removeprefix(f"{named(item)!r} can't be written: ")
    return reasons


def _write(writer: Writer, items: Sequence[Item], file: IO[str]) -> None:
    for item in items:
        if isinstance(item, Problem) and item.embargo and "embargo" not in writer.keeps:
            raise cannot_write(item, "it is under embargo, and the format would lose the mark")
    writer.write(items, file)
