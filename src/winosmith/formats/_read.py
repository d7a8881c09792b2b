"""Read files in any format, and report the records that can't be read.

For all formats, this module checks for repeated ids, blanks that touch a word, twins that the file
does not mark, and contradictory lineages.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TypedDict, Unpack

from winosmith import data
from winosmith.data import Place, Readable, Source
from winosmith.dataset import ColumnRoles, Dataset
from winosmith.errors import AdvisedText, FormatError, ProblemError
from winosmith.formats._answers import KINDS, drop_repeated_keys
from winosmith.formats._base import Entry, Format, Item, find_extra_key, get_problems, replace_items
from winosmith.formats._columns import Columns
from winosmith.formats._csv import CSV
from winosmith.formats._detect import detect
from winosmith.formats._jsonl import JSONL, find_lost_blanks
from winosmith.formats._names import ID_COLUMNS, INDEX, find_existing, join_names
from winosmith.formats._questions import QUESTIONS, read_questions
from winosmith.formats._rows import PARSED_FRACTION, report_progress
from winosmith.formats._twins import (
    clear_list_ids,
    describe_paired_neighbours,
    pair_by_column,
    pair_by_ids,
    pair_lookalikes,
    refuse_unread_pairs,
    separate_twins_of_files,
)
from winosmith.formats._winogrande import WINOGRANDE
from winosmith.formats._write import write_bad_records
from winosmith.lineage import apply_edits, check_lineages, find_edits
from winosmith.parallel import pause_garbage_collection
from winosmith.problem import BLANK, Claim, Extra, OutOfRangeText, Problem
from winosmith.text import separate_blank, tokenize


class ReadingNote(UserWarning):
    """An assumption or correction that a reader made."""


_MIN_ANSWERS = 20
"""Minimum number of answers in which each option's number should occur."""

SKIP_BAD = "add `skip_bad='bad.jsonl'` to set such records aside and continue"


@dataclass(frozen=True)
class Contents:
    """The contents of a file, or of another container.

    Attributes:
        format: the format in which the file was read.
        items: the problems or claims, in order.
        places: the location of each item.
        bad: the records that can't be read, with their locations and reasons.
        omitted: the 0-based positions of the bad records among all records.
        notes: one sentence per assumption or correction, such as twins that were detected by their
            texts, and blanks that were separated from a word.
        path: the path of the file, or "<DataFrame>".
        name: the name of the data set.
        is_numbered: whether the ids are numbers that other files may use for other items.
        roles: how the columns were read.
    """

    format: Format
    items: list[Item] = field(repr=False)
    places: list[Place] = field(repr=False)
    bad: list[Entry] = field(repr=False)
    omitted: list[int] = field(repr=False)
    notes: tuple[str, ...] = ()
    path: str = ""
    name: str = ""
    is_numbered: bool = False
    roles: ColumnRoles | None = None

    @property
    def line_numbers(self) -> list[int]:
        """The 1-based number of each item's first line or row."""
        return [place.number for place in self.places]

    @property
    def problems(self) -> list[Problem]:
        """The items that are problems."""
        return [item for item in self.items if isinstance(item, Problem)]

    def raise_if_bad(self, *, skip_bad: bool = False) -> None:
        """Raise FormatError if any record is bad, or if no record can be read.

        Args:
            skip_bad: whether to accept bad records if other records can be read.
        """
        if self.bad and not (skip_bad and self.items):
            same = [one for one in self.bad if one.place.path == self.bad[0].place.path]
            first = min(same, key=lambda one: one.line)
            more = len(self.bad) - 1
            others = f"; {more} more record{'s' * (more > 1)} can't be read" if more else ""
            advice = "no record is left" if skip_bad else SKIP_BAD
            raise first.place.make_error(f"{first.reason}{others}; {advice}")
        if not self.items:
            raise FormatError("the file has no readable records", self.path)

    def warn(self) -> None:
        """Issue a `ReadingNote` warning for each note."""
        for note in self.notes:
            warnings.warn(f"{self.path}: {note}", ReadingNote, stacklevel=4)


@pause_garbage_collection()
def scan(
    path: Readable,
    format_name: str | None = None,
    *,
    pair_by: str | None = None,
    as_written: bool = False,
    columns: Columns | None = None,
    encoding: str | None = None,
    ids_are_places: bool = False,
    on_progress: Callable[[float], object] | None = None,
) -> Contents:
    """Read every record of a file, and return bad records with their reasons.

    Args:
        path: a file, a folder, a glob, several files, "-" for standard input, or a table in memory
            (a pandas DataFrame, a `datasets.Dataset`, a table of pyarrow or polars, records, or
            lists by column). Files may be compressed. Several files are read as one data set.
        format_name: name of the format; None to detect it.
        pair_by: an additional column, or key of `extra`, whose value the halves of a twin share;
            all other marks of twins are ignored. If None, a file in which an unused column seems to
            mark twins is refused (see `refuse_unread_pairs`). If "", such a column is ignored.
        as_written: whether to skip the search for unmarked twins and the separation of blanks from
            words ("because _had").
        columns: the columns of question, choices, answer and id. If any except the id is given, the
            file is read as rows of questions.
        encoding: encoding of text that is not UTF-8. By default, UTF-8 is detected, and UTF-16 or
            UTF-32 with a byte-order mark.
        ids_are_places: whether to use locations as ids ("unit-1/quiz.json:12"), so that files
            with the same ids can form one data set. Problems with a lineage keep their ids.
        on_progress: called regularly with the fraction of lines that have been read, 0–1.

    Raises:
        FormatError: the file can't be opened or decoded, no format matches, `pair_by` forms no
            pairs, or the columns of questions are ambiguous.
    """
    rows = data.read(path, encoding=encoding)
    columns = columns or Columns()
    if columns.name_questions:
        if format_name not in (None, QUESTIONS.name):
            raise FormatError(
                f"only the format {QUESTIONS.name!r} lets you name columns, not {format_name!r}",
                rows.path,
            )
        format_name = QUESTIONS.name
    own_notes = rows.notes
    known, rows, notes = detect(rows, format_name)
    notes += own_notes
    roles = ColumnRoles(known.name, id=columns.id)
    if known is QUESTIONS:
        read = report_progress(rows, rows.source, on_progress, PARSED_FRACTION)
        with _name_file(rows.path):
            entries, question_notes, roles = read_questions(read, columns, on_progress)
        notes += question_notes
    else:
        entries = list(report_progress(known.read(rows), rows.source, on_progress))
        if known is WINOGRANDE:
            replace_items(entries, clear_list_ids(get_problems(entries)))
        notes += find_lost_blanks(rows, entries) if known is JSONL else []
    _refuse_shifted_answers(entries)
    if known in (JSONL, CSV, WINOGRANDE):
        notes += _note_missing_number(get_problems(entries).values(), int(known is not JSONL))
    if ids_are_places:
        _replace_ids_by_places(entries)
        roles = replace(roles, id=None)
    elif known is not QUESTIONS:
        column = columns.id
        if column is None and known in (CSV, WINOGRANDE) and {"id", "qID"}.isdisjoint(rows.names):
            column = _find_index(get_problems(entries))
        if column is not None:
            _use_id_column(entries, column, rows.path)
    _reject_repeated_ids(entries)
    is_numbered = _are_ids_positions(get_problems(entries), rows)
    if is_numbered and rows.parts:
        notes.append("the files have no unique ids: all problems are numbered together, from 0")
    if not as_written:
        notes += separate_blanks(entries)
        notes += drop_repeated_keys(entries) if known in (CSV, WINOGRANDE) else []
    notes += _note_odd_texts(entries)
    problems, files = get_problems(entries), [one.place.path for one in entries]
    if not (as_written or pair_by) and (separated := separate_twins_of_files(problems, files)):
        replace_items(entries, separated)
        notes.append("twin ids are repeated in several files; twins are paired within each file")
    marked = known.twin_names is None or rows.may_have(known.twin_names)
    if pair_by and any(one.item for one in entries):
        with _name_file(rows.path):
            replace_items(entries, pair_by_column(problems, files, pair_by))
    elif not as_written and (
        any(problem.blank is not None for problem in problems.values())
        if known is QUESTIONS
        else not marked
    ):
        notes += _find_twins(entries)
    notes += _summarise_notes(entries)
    reject_bad_lineages(entries)
    contents = Contents(
        known,
        items=[one.item for one in entries if one.item is not None],
        places=[one.place for one in entries if one.item is not None],
        bad=[one for one in entries if one.item is None],
        omitted=[row for row, one in enumerate(entries) if one.item is None],
        notes=tuple(notes),
        path=rows.path,
        name=rows.name,
        is_numbered=is_numbered,
        roles=roles,
    )
    if pair_by is None and not as_written and (known is QUESTIONS or not marked):
        files = [one.place.path for one in entries if isinstance(one.item, Problem)]
        refuse_unread_pairs(contents.problems, files, rows.path)
    return contents


def _refuse_shifted_answers(entries: Sequence[Entry]) -> None:
    """Raise FormatError if answers seem to be numbered from 0 instead of 1, or vice versa.

    The records that can be read would then have the key of the option next to it.
    """
    problems = get_problems(entries).values()
    has_first = any(one.answer == 0 for one in problems)
    has_last = any(one.answer == len(one.options) - 1 for one in problems)
    for one in entries:
        fault = one.reason
        if not isinstance(fault, OutOfRangeText):
            continue
        may_be_from_0 = fault.first == 1 and fault.number == 0 and not has_last
        may_be_from_1 = fault.first == 0 and fault.number == fault.options and not has_first
        if may_be_from_0 or may_be_from_1:
            raise one.place.make_error(
                f"{fault}; if all answers are numbered from {1 - fault.first}, renumber them, or "
                "name the columns with `question=`, `choices=` and `answer=`"
            )


def _note_missing_number(problems: Iterable[Problem], first: int) -> list[str]:
    """Return a note if the absence of a number shows that answers may count from another number."""
    found = [(one.answer, first * (len(one.options) - 1)) for one in problems
             if one.answer is not None]  # fmt: skip
    is_clear = any(at == sought for at, sought in found) or {at for at, _ in found} == {0}
    if is_clear or len(found) < _MIN_ANSWERS:
        return []
    fact = f"the answers are read as counted from {first}, but none is "
    fact += "that of a last option" if first else "0"
    other = f"; if they count from {1 - first}, name the columns with `question=`, `choices=`, "
    return [AdvisedText(fact, "answer_is", f"{other}`answer=` and `answer_is=`")]


@contextmanager
def _name_file(path: str) -> Iterator[None]:
    try:
        yield
    except FormatError as error:
        raise error if error.path else FormatError(error.reason, path) from None


def _summarise_notes(entries: Sequence[Entry]) -> list[str]:
    with_note = [one for one in entries if one.note]
    if not with_note:
        return []
    count = len(with_note)
    more = f" ({count:,} of {len(entries):,} records have such a note)" * (count > 1)
    return [f"{_format_place(with_note[0], entries)}: {with_note[0].note}{more}"]


def _format_place(entry: Entry, entries: Sequence[Entry]) -> str:
    one_file = len({one.place.path for one in entries}) == 1
    return entry.place.position if one_file else str(entry.place)


def _note_odd_texts(entries: Sequence[Entry]) -> list[str]:
    """Return notes on equal options, and on C1 control characters in texts."""
    equal, with_controls = list[Entry](), list[Entry]()
    for one in entries:
        if one.item is None:
            continue
        options = one.item.options if isinstance(one.item, Problem) else (one.item.candidate,)
        texts = (one.item.sentence, *options)
        equal += [one] * (len({*map(str.strip, options)}) < len(options))
        if not all(map(str.isascii, texts)) and any(map(data.CONTROLS.search, texts)):
            with_controls.append(one)
    advice = (
        ": they are quotes or dashes of Windows-1252, if that was taken for Latin-1; convert the "
        "original file again, with: iconv -f cp1252 -t utf-8"
    )
    controls = "control characters (U+0080 to U+009F)"
    return [
        f"{len(found):,} {noun}{' has' if len(found) == 1 else 's have'} {what}, the first at "
        f"{_format_place(found[0], entries)}{more}"
        for found, noun, what, more in (
            (with_controls, "record", controls, advice), (equal, "problem", "equal options", "")
        )
        if found
    ]  # fmt: skip


def _replace_ids_by_places(entries: list[Entry]) -> None:
    last, times = None, 0
    for row, one in enumerate(entries):
        times = times + 1 if one.place is last else 1
        last = one.place
        if isinstance(one.item, Problem) and not one.item.lineage:
            name = str(one.place) if times == 1 else f"{one.place}, item {times}"
            entries[row] = replace(one, item=replace(one.item, id=name))


def _use_id_column(entries: list[Entry], column: str, path: str) -> None:
    """Replace the problems' ids by the values of an additional column.

    Raises:
        FormatError: there is no such column, or the format does not read it.
    """
    problems = get_problems(entries)
    keys = {row: find_extra_key(one.extra, column) for row, one in problems.items()}
    if not any(keys.values()):
        raise FormatError(f"there is no column {column!r}, or the format does not read it", path)
    for row, key in keys.items():
        extra = dict(problems[row].extra)
        if value := data.format_cell(extra.pop(key)) if key else "":
            replace_items(entries, {row: replace(problems[row], id=value, extra=Extra(extra))})
        else:
            _reject(entries, row, f"the id column {column!r} is empty")


def _find_index(problems: Mapping[int, Problem]) -> str | None:
    """Return the name of a column with the row numbers of pandas or R, if there is one."""
    if not problems or any(one.id != str(row) for row, one in problems.items()):
        return None
    first = next(iter(problems.values())).extra
    for name in ("unnamed", "Unnamed: 0", "__index_level_0__"):
        if key := find_extra_key(first, name):
            numbers = {data.format_cell(one.extra.get(key)) for one in problems.values()}
            if len(numbers) == len(problems) and all(map(str.isdecimal, numbers)):
                return name
    return None


def _are_ids_positions(problems: Mapping[int, Problem], rows: data.Rows) -> bool:
    """Return whether problems of several files, or with ids that are not unique, are numbered."""
    if any(one.id != str(row) for row, one in problems.items()):
        return False
    wanted, parts = (*ID_COLUMNS, *INDEX), rows.parts or (rows,)
    names = {name for part in parts for name in find_existing(wanted, part.names)}
    extras = [one.extra for one in problems.values()]
    are_unused = all(any(find_extra_key(one, name) for one in extras) for name in names)
    return are_unused and (bool(names) or len(parts) > 1)


def _reject_repeated_ids(entries: list[Entry]) -> None:
    seen: dict[str, Place] = {}
    for row, problem in get_problems(entries).items():
        place = entries[row].place
        first = seen.setdefault(problem.id, place)
        if first is not place:
            where = first.position if first.path == place.path else first
            _reject(entries, row, f"the id {problem.id!r} was already used at {where}")


def _reject(entries: list[Entry], row: int, reason: str) -> None:
    entries[row] = Entry(entries[row].place, entries[row].raw, reason=reason)


def separate_blanks(entries: list[Entry]) -> list[str]:
    """Separate each blank from a word that it touches (`text.separate_blank`).

    The edits of changed problems are recomputed. If entries were changed, return a note with their
    number.
    """
    original = dict[int, Item]()
    for row, one in enumerate(entries):
        item = one.item
        if item is None or (isinstance(item, Problem) and item.blank is None):
            continue
        sentence = separate_blank(item.sentence)
        if sentence != item.sentence:
            original[row] = item
            entries[row] = replace(one, item=replace(item, sentence=sentence))
    if not original:
        return []
    texts = {one.id: one.sentence for one in original.values() if isinstance(one, Problem)}
    _recompute_edits(entries, texts)
    words = next(iter(original.values())).sentence.split()
    at = next(at for at, word in enumerate(words) if BLANK in word)
    example = " ".join(words[max(0, at - 1) : at + 1])
    what = "sentence has a blank" if len(original) == 1 else "sentences have a blank"
    return [
        f"{len(original):,} {what} that touches a word ({example!r}); a space was added to "
        "separate the option from the word"
    ]


def _recompute_edits(entries: list[Entry], original_texts: Mapping[str, str]) -> None:
    problems = get_problems(entries)
    known = {one.id: one for one in problems.values()}
    for row, problem in problems.items():
        lineage = problem.lineage
        if not lineage or not lineage.edits:
            continue
        if original_texts.keys().isdisjoint((problem.id, lineage.parent)):
            continue
        edits = lineage.edits
        if (parent := known.get(lineage.parent)) is None:
            edits = ()  # without the parent, edits of the old words can't be adapted
        else:
            old, new = (original_texts.get(one.id, one.sentence) for one in (parent, problem))
            with suppress(ProblemError):
                if apply_edits(tokenize(old), edits) == tuple(tokenize(new)):
                    edits = find_edits(tokenize(parent.sentence), tokenize(problem.sentence))
        replace_items(entries, {row: replace(problem, lineage=replace(lineage, edits=edits))})


def _find_twins(entries: list[Entry]) -> list[str]:
    """Pair problems by ids or texts if none has a twin id or a lineage, and return notes."""
    problems = get_problems(entries)
    if any(problem.twin_id or problem.lineage for problem in problems.values()):
        return []
    notes = []
    for pair, how in ((pair_by_ids, "ids: no"), (pair_lookalikes, "texts: no id or")):
        if halves := pair(problems):
            count = len(halves)
            notes.append(
                AdvisedText(
                    f"{count:,} of {len(problems):,} problems are read as {count // 2:,} "
                    f"twin{'s' * (count > 2)}, found by their {how} column marks twins",
                    "pair_by",
                    " (name one with `pair_by=`, or give each problem a twin_id)",
                )
            )
            replace_items(entries, halves)
            break
    return notes + describe_paired_neighbours([*get_problems(entries).values()])


def reject_bad_lineages(entries: list[Entry]) -> None:
    """Turn problems with a contradictory lineage into bad records.

    A lineage is contradictory if it has a cycle, if its root differs from the parent's root, or if
    its edits don't turn the parent's sentence into the child's. A missing parent is accepted,
    because a file may contain only part of a family, such as the problems that a filter kept. Any
    declared depth is accepted, because published depths don't follow a single rule. `winosmith
    check` reports missing parents and declared depths.
    """
    problems = get_problems(entries)
    if not any(problem.lineage for problem in problems.values()):
        return
    rows = [*problems]
    for at, reason in check_lineages(Dataset(problems.values()), complete=False).items():
        _reject(entries, rows[at], reason)


class ScanOptions(TypedDict, total=False):
    pair_by: str | None
    as_written: bool
    columns: Columns | None
    encoding: str | None
    ids_are_places: bool


def read_items(
    path: Readable,
    format_name: str | None = None,
    *,
    skip_bad: str | Path | None = None,
    **how: Unpack[ScanOptions],
) -> list[Item]:
    """Return the problems or claims in a file, in order.

    The reader's notes (`Contents.notes`) are issued as warnings.

    Args:
        path: the file, or another container; see `scan`.
        format_name: name of the format; None to detect it.
        skip_bad: path of a file for the bad records, written as JSON Lines with `file`, `line`,
            `reason` and `record` if there are any. If None, the first bad record raises an error.
        **how: `pair_by`, `as_written`, `columns`, `encoding`; see `scan`.

    Raises:
        FormatError: no format matches, a record can't be read (the message has the file, line and
            reason), or no record is left.
    """
    return _read_contents(path, format_name, skip_bad, how).items


def _read_contents(
    path: Readable, format_name: str | None, skip_bad: str | Path | None, how: ScanOptions
) -> Contents:
    contents = scan(path, format_name, **how)
    if contents.bad and skip_bad is not None:
        write_bad_records(contents.bad, skip_bad)
    contents.raise_if_bad(skip_bad=skip_bad is not None)
    contents.warn()
    return contents


def read(
    path: Readable,
    format_name: str | None = None,
    *,
    skip_bad: str | Path | None = None,
    **how: Unpack[ScanOptions],
) -> Dataset:
    """Read the problems in a file or another container as a data set; see `read_items`.

    Raises:
        FormatError: as `read_items`, or the file contains claims.
    """
    return to_dataset(_read_contents(path, format_name, skip_bad, how))


def as_dataset(data: Dataset | Sequence[Problem] | Readable) -> Dataset:
    """Return a data set unchanged, or make one from problems or any input of `read`."""
    if isinstance(data, list | tuple) and all(isinstance(one, Problem) for one in data):
        return Dataset(data)
    return data if isinstance(data, Dataset) else read(data)


def as_splits(given: Dataset | Readable | Mapping[str, Dataset | Readable]) -> dict[str, Dataset]:
    """Return the data set of each split, by name.

    Args:
        given: one split, in any form that `as_dataset` accepts, or a mapping of split names to
            splits, such as a `DatasetDict`.

    >>> asked = [{"question": "Which is red?", "choices": ["a rose", "grass"], "answer": "A"}]
    >>> as_splits({"train": asked, "test": asked})
    {'train': <Dataset 'table': 1 problems, 0 twins>, 'test': <Dataset 'table': 1 problems, 0 twins>}
    """  # noqa: E501
    single = (Dataset, str, PathLike, data.Rows, Source)
    if isinstance(given, Mapping) and all(
        isinstance(one, single) or data.is_table(one) for one in given.values()
    ):  # otherwise columns
        return {name: as_dataset(one) for name, one in given.items()}
    only = as_dataset(given)
    return {only.name or "data": only}


def to_dataset(contents: Contents) -> Dataset:
    """Return the problems in a file as a data set with the file's name.

    Raises:
        FormatError: the file contains claims.
    """
    problems = contents.problems
    if len(problems) < len(contents.items):
        raise FormatError(
            "the file contains true-or-false claims, not problems; regroup them first with "
            "`winosmith convert --recast problems`",
            contents.path,
        )
    return Dataset(problems, contents.name, contents.roles, is_numbered=contents.is_numbered)


def describe_columns(datasets: Mapping[str, Dataset], *, advise: bool = True) -> list[str]:
    r"""Describe how the files of data sets were read, in a sentence for all files read alike.

    With `advise`, the last sentence is how to change this. Data sets without roles are ignored.

    >>> asked = [{"stem": "Which is red?", "choices": ["a rose", "grass"], "key": "A", "by": "me"}]
    >>> print(*describe_columns({"quiz": read(asked)}), sep="\n")
    quiz: the question is 'stem'; the choices are 'choices'; the answer is 'key' (letters); no column is used as the id; other columns: 'by'.
    If this is incorrect, name the columns with `question=`, `choices=`, `answer=`, `answer_is=` or `id=`.
    """  # noqa: E501
    names: dict[ColumnRoles, list[str]] = {}
    for name, dataset in datasets.items():
        if dataset.roles is not None:
            names.setdefault(dataset.roles, []).append(name)
    lines = [f"{', '.join(own)}: {_describe_roles(roles)}." for roles, own in names.items()]
    options = "`question=`, `choices=`, `answer=`, `answer_is=` or `id=`"
    advice = f"If this is incorrect, name the columns with {options}."
    return lines + [advice] * (advise and any(roles.question for roles in names))


def _describe_roles(roles: ColumnRoles) -> str:
    if not roles.question:
        return f"read in the format {roles.format}"
    question, choices, others = (
        join_names(names, 6) for names in (roles.question, roles.choices, roles.others)
    )
    kind = f" ({KINDS[roles.answer_is]})" if roles.answer_is else ""
    answer = f"the answer is {roles.answer!r}{kind}" if roles.answer else "no answer column"
    own_id = f"the id is {roles.id!r}" if roles.id else "no column is used as the id"
    parts = f"the question is {question}; the choices are {choices}; {answer}; {own_id}"
    return parts + f"; other columns: {others}" * bool(others)


def read_claims(path: str | Path) -> tuple[Claim, ...]:
    """Read a file of true-or-false claims; see `read_items`.

    Raises:
        FormatError: as `read_items`, or the file contains problems.
    """
    items = read_items(path)
    claims = tuple(item for item in items if isinstance(item, Claim))
    if len(claims) < len(items):
        raise FormatError("the file contains problems, not true-or-false claims", path)
    return claims
