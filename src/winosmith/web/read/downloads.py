"""The pages and files of downloads."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags, quote_etag
from django.views.decorators.http import require_safe

from winosmith import __version__
from winosmith.web.people.gates import rate_limit_reading, wants_page
from winosmith.web.read.exports import (
    FILES,
    LOOKED,
    MOST_TOLD,
    VOTES,
    Aside,
    Sent,
    Survey,
    gzipped,
    refusing,
    survey,
    text,
    votes,
)
from winosmith.web.read.filters import Filters, capped_count

MOST = 240
"""Downloads an hour from one network or account: each walks over all that is asked for."""

TYPES = {
    ".csv": "text/csv; charset=utf-8; header=present",
    ".tsv": "text/tab-separated-values; charset=utf-8",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".sha256": "text/plain; charset=utf-8",
    ".gz": "application/gzip",
}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show which files there are, for what the filters leave."""
    filters = Filters(request.GET)
    count, more = capped_count(filters.apply())
    main = ("problems.jsonl", "problems.csv", "problems.winogrande.jsonl")
    reasons = refusing(filters.apply())
    offered = [(name, known, reasons.get(name, "")) for name, known in FILES.items()]
    context = {
        "filters": filters,
        "kept": filters.kept().urlencode(),
        "count": count,
        "more": more,
        "main": [one for one in offered if one[0] in main],
        "others": [one for one in offered if one[0] not in main],
        "looked": LOOKED,
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
            return _refused(request, plain, found)
        digest, source = found.digest, text(found)
    tag = quote_etag(f"{digest[:32]}-{__version__}-{name}")
    known = tag in parse_etags(request.headers.get("If-None-Match", ""))
    if known or request.method == "HEAD":
        source.close()
    if known:
        return _dressed(HttpResponse(status=304), tag, digest)
    parts: Iterable[bytes] = source
    if wanted != plain:
        parts = gzipped(parts)
    if wanted != name:
        parts = _checksum(parts, wanted)
    response = StreamingHttpResponse(() if request.method == "HEAD" else Sent(parts, source))
    response.headers["Content-Type"] = TYPES[name[name.rindex(".") :]]
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return _dressed(response, tag, digest)


def _dressed(response: HttpResponseBase, tag: str, digest: str) -> HttpResponseBase:
    response.headers["ETag"] = tag
    response.headers["X-Data-Digest"] = digest
    response.headers["X-Robots-Tag"] = "noindex"
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _refused(request: HttpRequest, name: str, found: Survey) -> HttpResponse:
    """Tell what does not fit into a format, and offer what does."""
    fitting = request.GET.copy()
    fitting["fitting"] = "1"
    unfit = list(found.unfit.items())[:MOST_TOLD]
    if not wants_page(request):
        lines = [f"{ref}: {reason}" for ref, reason in unfit]
        told = (
            f"422: this is no data: {found.known.title} has no place for {len(found.unfit)} of "
            f"{len(found.rows)} problems; add fitting=1 to the address to get the others."
        )
        return HttpResponse(
            "\n".join((told, *lines, "")), status=422, content_type="text/plain; charset=utf-8"
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
    """Yield one line as `sha256sum --check` reads it."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    yield f"{state.hexdigest()}  {name}\n".encode()
