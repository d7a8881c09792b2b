"""Downloads of the problems and of the judges' votes, in constant memory.

A download of problems reads the rows twice. First, it computes the digest, which is
`winosmith.Dataset.digest` of the data, and finds problems that don't fit the format. Then it sends
the file in parts; each part of a table has the columns of the whole file. If a problem was
withdrawn in between, the download ends with an error, so each complete file matches its digest. The
votes are a separate file, in the format of `winosmith check`.
"""

from __future__ import annotations

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
from typing import IO

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags, quote_etag
from django.views.decorators.http import require_safe

from winosmith import Problem as Datum, __version__, formats
from winosmith.errors import InputError
from winosmith.formats import Format, get_format, get_writer
from winosmith.records import dump_json, make_problem_record
from winosmith.validate import write_votes
from winosmith.web._lock import chunked
from winosmith.web.judge.votes import iter_responses
from winosmith.web.pages import BOM, mark_as_download
from winosmith.web.people.gates import accepts_html, rate_limit_reading
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import CHUNK, as_public, iter_public_rows, load_keys
from winosmith.web.read.public import Filters, count_rows


class HeadedFile:
    """The bytes `first`, followed by the content of an open temporary file.

    The temporary file is closed once it has been read, or by `close`.
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
        """Close and delete the temporary file; callers that don't read it must call this."""
        self._rest.close()


Source = HeadedFile | Generator[bytes, None, None]
"""The source of a response; it must be closed."""


class ClosingIterator:
    """An iterator over a response's parts, which closes the source even if not all parts were read.

    Django closes the iterator at the end of the response.
    """

    def __init__(self, parts: Iterable[bytes], source: Source):
        self._parts, self._source = parts, source

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    def close(self) -> None:
        self._source.close()


FILES: dict[str, Format] = {
    "problems.jsonl": get_format("winosmith"),
    "problems.csv": get_format("csv"),
    "problems.winogrande.jsonl": get_format("winogrande"),
}
"""Format of each file. Formats for claims and questions are omitted."""

TABLE = "csv"
"""The format whose files start with column names. Files in other formats can be concatenated."""

MAX_LISTED = 5
"""Maximum number of problems that are listed because they don't fit a format."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file to download.

    Attributes:
        rows: The keys of the rows, oldest first.
        digest: The `winosmith.Dataset.digest` of the problems.
        columns: The columns of a table; empty for other formats.
        unfit: The reasons why problems don't fit the format, by problem id.
        is_without_twins: Whether none of the problems has a twin or a lineage. In that case, each
            problem is marked as single, if the format allows it, because otherwise readers could
            mistake similar problems for twins.
    """

    file_format: Format
    rows: array[int]
    digest: str
    columns: frozenset[str]
    unfit: dict[str, str]
    is_without_twins: bool


def make_content(
    query: QuerySet[Problem], file_format: Format, *, skip_unfit: bool = False
) -> Content:
    """Read a query's public problems in one pass, and return the content of their file.

    With `skip_unfit`, problems that don't fit the format are omitted. Otherwise, `rows` includes
    them, and the caller must show `unfit`.
    """
    state, columns, kept = hashlib.sha256(), set[str](), array("q")
    unfit, is_without_twins = dict[str, str](), True
    for chunk in iter_public_rows(load_keys(query.order_by("place"))):
        data = as_public(chunk)
        bad = {}
        if file_format.name != "winosmith":
            try:
                _write_part(data, file_format)
            except InputError:
                reasons = formats.find_unwritable(data, file_format.name)
                bad = {data[at].id: reason for at, reason in reasons.items()}
        unfit |= bad
        if file_format.name == TABLE:
            columns |= formats.list_columns(datum for datum in data if datum.id not in bad)
        for row, datum in zip(chunk, data, strict=True):
            if not (skip_unfit and datum.id in bad):
                kept.append(row.pk)
                state.update(encode_for_digest(datum))
                is_without_twins &= not (datum.twin_id or datum.lineage)
    if is_without_twins and file_format.name == TABLE and kept:
        columns.add("twin_id")
    digest = state.hexdigest()
    return Content(file_format, kept, digest, frozenset(columns), unfit, is_without_twins)


def encode_for_digest(datum: Datum) -> bytes:
    """Return the bytes of a problem from which `winosmith.Dataset.digest` is computed."""
    return (dump_json(make_problem_record(datum)) + "\n").encode("utf-8", "surrogatepass")


def _write_part(data: Sequence[Datum], file_format: Format, *, mark_single: bool = False) -> str:
    if file_format.name == "winosmith":
        return "".join(formats.to_lines(data, marked=mark_single))
    file = StringIO(newline="")
    get_writer(file_format.name).write(data, file)
    return file.getvalue()


def iter_file(content: Content) -> Generator[bytes, None, None]:
    """Yield the parts of the file, encoded as UTF-8.

    Raises an InputError if a problem was withdrawn in the meantime.
    """
    if not content.rows:
        yield _write_part([], content.file_format).encode()
        return
    state, count = hashlib.sha256(), 0
    for chunk in iter_public_rows(content.rows):
        data = as_public(chunk)
        for datum in data:
            state.update(encode_for_digest(datum))
        if content.file_format.name == TABLE:
            file = StringIO(newline="")
            formats.to_table(data, content.columns, file, header=not count)
            written = file.getvalue()
        else:
            written = _write_part(data, content.file_format, mark_single=content.is_without_twins)
        count += len(data)
        yield written.encode()
    if (count, state.hexdigest()) != (len(content.rows), content.digest):
        raise InputError("a problem was withdrawn during the download; start it again")


def gzip_parts(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Compress parts into a reproducible gzip file, which contains no name and no time."""
    packer = zlib.compressobj(6, wbits=31)
    for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()


VOTES = {
    "votes.csv": "a plain table: problem_id, participant, choice …",
    "votes.jsonl": "JSON Lines, one answer per line",
}
"""Description of each file."""


def create_votes_file(query: QuerySet[Problem], name: str) -> tuple[str, HeadedFile]:
    """Write the votes on a query's problems to a file, and return its digest and the open file.

    `name` is one of `VOTES`. The query has the alias `place`. The caller must close the file.
    """
    keys = load_keys(query.order_by("place"))
    public = Problem.objects.filter(public=True).only("ref").order_by("pk")
    folder = Path(tempfile.mkdtemp(prefix="votes-"))
    try:
        path = folder / name
        queries = (public.filter(pk__in=chunk) for chunk in chunked(keys, CHUNK))
        write_votes((vote for rows in queries for vote in iter_responses(rows)), path)
        file = path.open("rb")  # the open file stays readable after its folder is deleted
    finally:
        shutil.rmtree(folder)
    return hashlib.file_digest(file, "sha256").hexdigest(), HeadedFile(b"", file)


MAX_DOWNLOADS_PER_HOUR = 240
"""Maximum number of downloads per hour for a network or account. Each one reads all its rows."""

CONTENT_TYPES = {
    ".csv": "text/csv; charset=utf-8; header=present",
    ".jsonl": "application/x-ndjson",
    ".sha256": "text/plain; charset=utf-8",
    ".gz": "application/gzip",
}


@require_safe
def show_downloads(request: HttpRequest) -> HttpResponse:
    filters = Filters(request.GET)
    count, more = count_rows(filters.apply())
    context = {
        "filters": filters,
        "kept": filters.get_params().urlencode(),
        "count": count,
        "more": more,
        "files": FILES,
        "votes": VOTES,
    }
    return render(request, "read/download.html", context, status=200 if filters.is_valid() else 422)


@require_safe
def download_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send a file, its gzip file (`.gz`), or the checksum of either (`.sha256`)."""
    wanted = name.removesuffix(".sha256")
    plain = wanted.removesuffix(".gz")
    if plain not in FILES and plain not in VOTES:
        raise Http404
    filters = Filters(request.GET)
    if not filters.is_valid():
        return render(request, "read/download_refused.html", {"filters": filters}, status=422)
    rate_limit_reading(request, "download", MAX_DOWNLOADS_PER_HOUR)
    source: Source
    if plain in VOTES:
        digest, source = create_votes_file(filters.apply(), plain)
    else:
        found = make_content(filters.apply(), FILES[plain], skip_unfit="fitting" in request.GET)
        if found.unfit and "fitting" not in request.GET:
            return _render_unfit_problems(request, plain, found)
        digest, source = found.digest, iter_file(found)
    parts: Iterable[bytes] = chain([BOM.encode()], source) if plain.endswith(".csv") else source
    if wanted != plain:
        parts = gzip_parts(parts)
    if wanted != name:
        parts = _iter_checksum_line(parts, wanted)
    return send_file(request, name, digest, source, parts)


def send_file(
    request: HttpRequest,
    name: str,
    digest: str,
    source: Source,
    parts: Iterable[bytes] | None = None,
) -> HttpResponseBase:
    """Send a file, or status 304 if the client's copy is current.

    The source is closed at the end, or immediately if no body is sent. `parts` are the parts of the
    response; None for the source itself.
    """
    tag = quote_etag(f"{digest[:32]}-{__version__}-{name}")
    known = tag in parse_etags(request.headers.get("If-None-Match", ""))
    response: HttpResponseBase
    if known or request.method == "HEAD":
        source.close()
    if known:
        response = HttpResponse(status=304)
    else:
        body = () if request.method == "HEAD" else ClosingIterator(parts or source, source)
        response = mark_as_download(StreamingHttpResponse(body), name)
        response.headers["Content-Type"] = CONTENT_TYPES[name[name.rindex(".") :]]
    response.headers["ETag"] = tag
    response.headers["X-Data-Digest"] = digest
    response.headers["X-Robots-Tag"] = "noindex"
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _render_unfit_problems(request: HttpRequest, name: str, content: Content) -> HttpResponse:
    fitting = request.GET.copy()
    fitting["fitting"] = "1"
    unfit = list(content.unfit.items())[:MAX_LISTED]
    if not accepts_html(request):
        lines = [f"{ref}: {reason}" for ref, reason in unfit]
        message = (
            f"422: {content.file_format.title} can't contain {len(content.unfit)} of "
            f"{len(content.rows)} problems; add fitting=1 to the URL to get the others."
        )
        return HttpResponse(
            "\n".join((message, *lines, "")), status=422, content_type="text/plain; charset=utf-8"
        )
    context = {
        "name": name,
        "format": content.file_format,
        "all": len(content.rows),
        "fit": len(content.rows) - len(content.unfit),
        "unfit": unfit,
        "more": max(0, len(content.unfit) - MAX_LISTED),
        "fitting": fitting.urlencode(),
    }
    return render(request, "read/download_refused.html", context, status=422)


def _iter_checksum_line(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    yield f"{state.hexdigest()}  {name}\n".encode()
