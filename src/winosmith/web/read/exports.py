"""Downloads: the problems in any format that can be written, in constant memory.

A download is two walks over the same rows. The first makes the digest, the one that
`winosmith.Dataset.digest` has of the data, and finds what does not fit into the format; the second
writes. Formats whose records stand one after another are written while the browser reads; the
others are written aside first. A row that is withdrawn between the walks ends the download with
an error: a file is never other than its digest says.
"""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO, TextIOWrapper
from typing import IO, overload

from django.db.models import QuerySet

from winosmith import Claim, formats
from winosmith import Problem as Datum
from winosmith.errors import InputError
from winosmith.formats import FORMATS, Format
from winosmith.records import canonical, problem_record
from winosmith.web.problems.lineages import as_public, with_distances
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.problems.records import lean, numbers, rows
from winosmith.web.read.tables import aligned, header_of, union

__all__ = ["FILES", "LOOKED", "Survey", "gzipped", "refusing", "survey", "text"]

FILES: dict[str, Format] = {
    f"problems{known.suffix}"
    if known.name in ("winosmith", "csv")
    else f"problems.{known.name}{known.suffix}": known
    for known in FORMATS
    if known.write is not None and known.holds is not Claim
}
"""File name → its format: the names are ours, whatever is asked for."""

LINES = frozenset({"winosmith", "winogrande", "wsc273-jsonl", "dpr"})
"""Formats in which the file of two lists is the file of the one and then that of the other."""

TABLES = frozenset({"csv", "dpr-tsv"})
"""The same under one line of column names."""

LOOKED = 100
"""Problems by which the page of downloads knows which formats have no place for them."""

MOST_TOLD = 5
"""Problems that do not fit into a format and are told with their reasons."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a download will hold.

    Attributes:
        known: the format.
        rows: the numbers of the rows, from the oldest on.
        digest: `winosmith.Dataset.digest` of the problems.
        header: the columns of a table; empty for other formats.
        unfit: the ids of problems that the format has no place for, with the reasons.
        silent: whether none of the problems has a twin or a lineage. Then each says so, where the
            format can: whether some look like twins is only told from all of them at once.
    """

    known: Format
    rows: array[int]
    digest: str
    header: tuple[str, ...]
    unfit: dict[str, str]
    silent: bool


def survey(query: QuerySet[Problem], known: Format, *, leave_out: bool = False) -> Survey:
    """Walk over public problems once, and return what their file will hold.

    Args:
        query: out of `public_problems`; anything else in it is left out.
        known: one of `FILES`.
        leave_out: leave out what does not fit; else it is in `rows`, and `unfit` is to be shown.
    """
    state, header, kept = hashlib.sha256(), list[str](), array("q")
    unfit: dict[str, str] = {}
    silent = True
    for chunk in rows(numbers(query.order_by("place")), lean(public_problems())):
        data = as_public(chunk)
        bad, columns = _tried(_fitted(chunk, data, known), known)
        unfit |= bad
        header = union(header, columns)
        for row, datum in zip(chunk, data, strict=True):
            if not (leave_out and datum.id in bad):
                kept.append(row.pk)
                state.update(_line(datum))
                silent &= not (datum.twin_id or datum.lineage)
    if silent and known.name == "csv" and kept:
        header = union(["answer", "twin_id"], header)
    return Survey(known, kept, state.hexdigest(), tuple(header), unfit, silent)


def refusing(query: QuerySet[Problem]) -> dict[str, str]:
    """Return the files into which none of the newest problems fits, each with the first reason.

    Args:
        query: as for `survey`; of it the newest `LOOKED` are looked at.
    """
    newest = query.order_by("-place").values_list("id", flat=True)[:LOOKED]
    chunk = next(rows(list(newest), lean(public_problems())), [])
    data, found = as_public(chunk), {}
    for name, known in FILES.items() if data else ():
        bad, _columns = _tried(_fitted(chunk, data, known), known)
        if len(bad) == len(data):
            found[name] = next(iter(bad.values()))
    return found


def _fitted(chunk: Sequence[Problem], data: list[Datum], known: Format) -> list[Datum]:
    """Return problems with what their format needs and the data need not say."""
    return with_distances(chunk, data) if known.name == "evograd" else data


def _line(datum: Datum) -> bytes:
    return (canonical(problem_record(datum)) + "\n").encode("utf-8", "surrogatepass")


def _tried(data: list[Datum], known: Format) -> tuple[dict[str, str], list[str]]:
    """Return what does not fit, with reasons, and the columns of a table."""
    if known.name == "winosmith":
        return {}, []
    try:
        written = _written(data, known)
    except InputError:
        reasons = formats.unfit(data, known.name)
        bad = {data[at].id: reason for at, reason in reasons.items()}
        written = _written([datum for datum in data if datum.id not in bad], known)
        return bad, header_of(written) if known.name in TABLES else []
    return {}, header_of(written) if known.name in TABLES else []


def _written(data: Sequence[Datum], known: Format, *, silent: bool = False) -> str:
    if known.name == "winosmith":
        return "".join(formats.lines(data, marked=silent))
    file = StringIO(newline="")
    _write(known, data, file)
    return file.getvalue()


def _write(known: Format, data: Sequence[Datum], file: IO[str]) -> None:
    if known.write is None:
        raise InputError(f"the format {known.name!r} can be read, not written")
    known.write(data, file)


def text(found: Survey) -> Generator[bytes, None, None]:
    """Yield the file, as UTF-8.

    Raises:
        InputError: a problem was withdrawn after the survey; ask for the file again.
    """
    if found.known.name in LINES | TABLES:
        yield from _chunks(found)
        return
    with tempfile.TemporaryFile() as raw:
        file = TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        _write(found.known, _Rows(found), file)
        file.flush()
        raw.seek(0)
        while part := raw.read(1 << 16):
            yield part
        file.detach()


def _chunks(found: Survey) -> Iterator[bytes]:
    first = True
    for data in _data(found):
        written = _written(data, found.known, silent=found.silent)
        if found.known.name in TABLES:
            written = aligned(written, found.header, with_header=first)
        first = False
        yield written.encode()


def _data(found: Survey) -> Iterator[list[Datum]]:
    """Yield the problems of a survey, each as it was when it was taken."""
    state, count = hashlib.sha256(), 0
    for chunk in rows(found.rows, lean(public_problems())):
        data = as_public(chunk)
        for datum in data:
            state.update(_line(datum))
        count += len(data)
        yield _fitted(chunk, data, found.known)
    if (count, state.hexdigest()) != (len(found.rows), found.digest):
        raise InputError("a problem was withdrawn during the download; start it again")


class _Rows(Sequence[Datum]):
    """The problems of a survey as a sequence that is read anew each time, never held at once."""

    def __init__(self, found: Survey):
        self._found = found

    def __len__(self) -> int:
        return len(self._found.rows)

    def __iter__(self) -> Iterator[Datum]:
        for data in _data(self._found):
            yield from data

    @overload
    def __getitem__(self, index: int) -> Datum: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Datum]: ...
    def __getitem__(self, index: int | slice) -> Datum | Sequence[Datum]:
        all_rows = list(self._found.rows)
        of = [all_rows[index]] if isinstance(index, int) else all_rows[index]
        data = [one for chunk in rows(of, lean(public_problems())) for one in as_public(chunk)]
        return data[0] if isinstance(index, int) else data


def gzipped(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts as one gzip file, without name and time: the same bytes for the same data."""
    packer = zlib.compressobj(6, wbits=31)
    for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()
