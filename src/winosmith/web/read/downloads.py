"""Downloads: the problems in each written format, in constant memory, and the votes.

A download reads the rows twice. The first time it computes the digest, which is
`winosmith.Dataset.digest` of the data, and finds problems that don't fit the format; the second
time it writes, part by part, while the browser reads; parts of a table have the columns of the
whole file. If a row was withdrawn in between, the download ends with an error, so a file always has
its digest. The judges' votes are a separate file, in the form that `winosmith check` reads.
"""

from __future__ import annotations

import csv
import hashlib
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import IO, Protocol

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags, quote_etag
from django.views.decorators.http import require_safe

from winosmith import Problem as Datum, __version__, formats
from winosmith.errors import InputError
from winosmith.formats import Format, format_named, writer_named
from winosmith.records import canonical, problem_record
from winosmith.validate import write_votes
from winosmith.web.judge.votes import responses
from winosmith.web.pages import BOM, attached
from winosmith.web.people.gates import rate_limit_reading, wants_page
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_public, lean, numbers, rows
from winosmith.web.problems.states import public_problems
from winosmith.web.read.public import Filters, capped_count


class Closed(Protocol):
    """An object that can be closed: a file, or a generator that reads one."""

    def close(self) -> None:
        """Close it."""


class Aside:
    """The bytes of a file: its first line, and the rest from a temporary file.

    Args:
        first: the first line, perhaps empty.
        rest: open; it is closed once it has been read, or by `close`.
    """

    def __init__(self, first: bytes, rest: IO[bytes]):
        self._first, self._rest = first, rest

    def __iter__(self) -> Iterator[bytes]:
        with self._rest:
            if self._first:
                yield self._first
            self._rest.seek(0)
            while part := self._rest.read(1 << 16):
                yield part

    def close(self) -> None:
        """Delete the temporary file; callers that don't read it must call this."""
        self._rest.close()


class Sent:
    """Parts of a response, which Django closes at its end, with their source.

    Args:
        parts: the response.
        source: closed at the end, even if not all parts were read.
    """

    def __init__(self, parts: Iterable[bytes], source: Closed):
        self._parts, self._source = parts, source

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    def close(self) -> None:
        """Close the source."""
        self._source.close()


def header_of(table: str) -> list[str]:
    """Return the names of the columns; they never contain a newline."""
    return next(csv.reader([table.partition("\r\n")[0]]), [])


def union(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the columns of both, each in its own order.

    >>> union(["id", "sentence", "answer"], ["id", "sentence", "option3", "answer", "anchor"])
    ['id', 'sentence', 'option3', 'answer', 'anchor']
    """
    merged, rest = list[str](), list(other)
    for name in one:
        if name in rest:
            at = rest.index(name)
            merged += [new for new in rest[:at] if new not in one]
            rest = rest[at + 1 :]
        merged.append(name)
    return list(dict.fromkeys([*merged, *rest]))


def aligned(table: str, header: Sequence[str], *, with_header: bool) -> str:
    r"""Return a part with the columns of the whole file.

    >>> aligned("a,c\r\n1,2\r\n", ["a", "b", "c"], with_header=True)
    'a,b,c\r\n1,,2\r\n'
    """
    own = header_of(table)
    if own == list(header):
        return table if with_header else table.partition("\r\n")[2]
    file = StringIO(newline="")
    writer = csv.DictWriter(file, header, restval="", lineterminator="\r\n")
    if with_header:
        writer.writeheader()
    writer.writerows(csv.DictReader(StringIO(table, newline="")))
    return file.getvalue()


FILES: dict[str, Format] = {
    "problems.jsonl": format_named("winosmith"),
    "problems.csv": format_named("csv"),
    "problems.winogrande.jsonl": format_named("winogrande"),
}
"""File name → its format. A site has neither claims nor questions, which other formats contain."""

TABLE = "csv"
"""The format whose files start with column names; in the others, the file of two lists is the file
of the first and then that of the second."""

MOST_TOLD = 5
"""Problems that don't fit a format and are listed with their reasons."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The content of a download.

    Attributes:
        known: the format.
        rows: the numbers of the rows, the oldest first.
        digest: `winosmith.Dataset.digest` of the problems.
        header: the columns of a table; empty for other formats.
        unfit: the ids of problems that don't fit the format, with the reasons.
        silent: whether none of the problems has a twin or a lineage. Then each says so, if the
            format can, because only all of them together show whether some look like twins.
    """

    known: Format
    rows: array[int]
    digest: str
    header: tuple[str, ...]
    unfit: dict[str, str]
    silent: bool


def survey(query: QuerySet[Problem], known: Format, *, leave_out: bool = False) -> Survey:
    """Read public problems once, and return the content of their file.

    Args:
        query: part of `public_problems`; other problems in it are omitted.
        known: one of `FILES`.
        leave_out: omit problems that don't fit; otherwise they are in `rows`, and `unfit` is to be
            shown.
    """
    state, header, kept = hashlib.sha256(), list[str](), array("q")
    unfit: dict[str, str] = {}
    silent = True
    for chunk in rows(numbers(query.order_by("place")), lean(public_problems())):
        data = as_public(chunk)
        bad, columns = _try_format(data, known)
        unfit |= bad
        header = union(header, columns)
        for row, datum in zip(chunk, data, strict=True):
            if not (leave_out and datum.id in bad):
                kept.append(row.pk)
                state.update(_line(datum))
                silent &= not (datum.twin_id or datum.lineage)
    if silent and known.name == TABLE and kept:
        header = union(["answer", "twin_id"], header)
    return Survey(known, kept, state.hexdigest(), tuple(header), unfit, silent)


def _line(datum: Datum) -> bytes:
    return (canonical(problem_record(datum)) + "\n").encode("utf-8", "surrogatepass")


def _try_format(data: list[Datum], known: Format) -> tuple[dict[str, str], list[str]]:
    """Return the problems that don't fit, with reasons, and the columns of a table."""
    if known.name == "winosmith":
        return {}, []
    try:
        written = _written(data, known)
    except InputError:
        reasons = formats.unfit(data, known.name)
        bad = {data[at].id: reason for at, reason in reasons.items()}
        written = _written([datum for datum in data if datum.id not in bad], known)
        return bad, header_of(written) if known.name == TABLE else []
    return {}, header_of(written) if known.name == TABLE else []


def _written(data: Sequence[Datum], known: Format, *, silent: bool = False) -> str:
    if known.name == "winosmith":
        return "".join(formats.lines(data, marked=silent))
    file = StringIO(newline="")
    writer_named(known.name).write(data, file)
    return file.getvalue()


def text(found: Survey) -> Generator[bytes, None, None]:
    """Yield the file, as UTF-8.

    Raises:
        InputError: a problem was withdrawn after the survey; ask for the file again.
    """
    if not found.rows:
        yield _written([], found.known).encode()
        return
    first = True
    for data in _data(found):
        written = _written(data, found.known, silent=found.silent)
        if found.known.name == TABLE:
            written = aligned(written, found.header, with_header=first)
        first = False
        yield written.encode()


def _data(found: Survey) -> Iterator[list[Datum]]:
    """Yield the problems of a survey, unchanged since then."""
    state, count = hashlib.sha256(), 0
    for chunk in rows(found.rows, lean(public_problems())):
        data = as_public(chunk)
        for datum in data:
            state.update(_line(datum))
        count += len(data)
        yield data
    if (count, state.hexdigest()) != (len(found.rows), found.digest):
        raise InputError("a problem was withdrawn during the download; start it again")


def gzipped(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts as one gzip file without name and time: the same bytes for the same data."""
    packer = zlib.compressobj(6, wbits=31)
    for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()


VOTES = {
    "votes.csv": "a plain table: problem_id, participant, choice …",
    "votes.jsonl": "JSON Lines, one answer a line",
}
"""File name → its description."""


def votes(query: QuerySet[Problem], name: str) -> tuple[str, Aside]:
    """Return a digest of the file, and its bytes, which the caller closes; judges are pseudonyms.

    Args:
        query: public problems, with the alias `place`.
        name: one of `VOTES`.
    """
    found = rows(numbers(query.order_by("place")), public_problems())
    folder = Path(tempfile.mkdtemp(prefix="votes-"))
    try:
        path = folder / name
        write_votes((vote for chunk in found for vote in responses(chunk)), path)
        file = path.open("rb")  # open, it lives on without its name until it is sent
    finally:
        shutil.rmtree(folder)
    return hashlib.file_digest(file, "sha256").hexdigest(), Aside(b"", file)


MOST = 240
"""Downloads an hour from one network or account, because each reads all of its rows."""

TYPES = {
    ".csv": "text/csv; charset=utf-8; header=present",
    ".jsonl": "application/x-ndjson",
    ".sha256": "text/plain; charset=utf-8",
    ".gz": "application/gzip",
}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the files, for the filtered problems."""
    filters = Filters(request.GET)
    count, more = capped_count(filters.apply())
    context = {
        "filters": filters,
        "kept": filters.kept().urlencode(),
        "count": count,
        "more": more,
        "files": FILES,
        "votes": VOTES,
    }
    return render(request, "read/download.html", context, status=200 if filters.is_valid() else 422)


@require_safe
def file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send a file: `NAME`, `NAME.gz`, or a checksum of either, `NAME.sha256`."""
    wanted = name.removesuffix(".sha256")
    plain = wanted.removesuffix(".gz")
    if plain not in FILES and plain not in VOTES:
        raise Http404
    filters = Filters(request.GET)
    if not filters.is_valid():
        return render(request, "read/download_refused.html", {"filters": filters}, status=422)
    rate_limit_reading(request, "download", MOST)
    source: Aside | Generator[bytes, None, None]
    if plain in VOTES:
        digest, source = votes(filters.apply(), plain)
    else:
        found = survey(filters.apply(), FILES[plain], leave_out="fitting" in request.GET)
        if found.unfit and "fitting" not in request.GET:
            return _report_unfit(request, plain, found)
        digest, source = found.digest, text(found)
    parts: Iterable[bytes] = chain([BOM.encode()], source) if plain.endswith(".csv") else source
    if wanted != plain:
        parts = gzipped(parts)
    if wanted != name:
        parts = _checksum(parts, wanted)
    return sent(request, name, digest, source, parts)


def sent(
    request: HttpRequest,
    name: str,
    digest: str,
    source: Aside | Generator[bytes, None, None],
    parts: Iterable[bytes] | None = None,
) -> HttpResponseBase:
    """Send a file, or report that the client's copy is the same.

    Args:
        request: with the client's tag.
        name: its extension gives the type.
        digest: of the data.
        source: closed at the end, or at once if nothing of it is sent.
        parts: the response; None for the source itself.
    """
    tag = quote_etag(f"{digest[:32]}-{__version__}-{name}")
    known = tag in parse_etags(request.headers.get("If-None-Match", ""))
    response: HttpResponseBase
    if known or request.method == "HEAD":
        source.close()
    if known:
        response = HttpResponse(status=304)
    else:
        body = () if request.method == "HEAD" else Sent(parts or source, source)
        response = attached(StreamingHttpResponse(body), name)
        response.headers["Content-Type"] = TYPES[name[name.rindex(".") :]]
    response.headers["ETag"] = tag
    response.headers["X-Data-Digest"] = digest
    response.headers["X-Robots-Tag"] = "noindex"
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _report_unfit(request: HttpRequest, name: str, found: Survey) -> HttpResponse:
    """Report the problems that don't fit a format, and offer the others."""
    fitting = request.GET.copy()
    fitting["fitting"] = "1"
    unfit = list(found.unfit.items())[:MOST_TOLD]
    if not wants_page(request):
        lines = [f"{ref}: {reason}" for ref, reason in unfit]
        message = (
            f"422: this is no data: {found.known.title} has no place for {len(found.unfit)} of "
            f"{len(found.rows)} problems; add fitting=1 to the address to get the others."
        )
        return HttpResponse(
            "\n".join((message, *lines, "")), status=422, content_type="text/plain; charset=utf-8"
        )
    context = {
        "name": name,
        "format": found.known,
        "all": len(found.rows),
        "fit": len(found.rows) - len(found.unfit),
        "unfit": unfit,
        "more": max(0, len(found.unfit) - MOST_TOLD),
        "fitting": fitting.urlencode(),
    }
    return render(request, "read/download_refused.html", context, status=422)


def _checksum(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield one line in the form of `sha256sum --check`."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    yield f"{state.hexdigest()}  {name}\n".encode()
