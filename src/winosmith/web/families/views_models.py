"""The page that compares models over all families, and the files to measure it again."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags, quote_etag
from django.views.decorators.http import require_safe

from winosmith.web.families.data import answered_by, in_families, predictions_file
from winosmith.web.families.measuring import measured
from winosmith.web.families.nodes import DEPTH_NAMES
from winosmith.web.families.tree import DEPTHS
from winosmith.web.people.limits import spend_reading
from winosmith.web.predict.asking import current_models
from winosmith.web.predict.models import Model
from winosmith.web.read.aside import Aside
from winosmith.web.read.downloads import MOST, TYPES
from winosmith.web.read.exports import FILES, survey, text

__all__ = ["file", "models"]

PROBLEMS = "problems.jsonl"
"""The name of the file of problems."""

MOST_DEPTHS = 60
"""Rows of the table by depth; the files have all."""

MOST_KINDS = 20
"""Rows of the table of edits."""


@require_safe
def models(request: HttpRequest) -> HttpResponse:
    """Show how stable all models are over all families, as it was measured last."""
    depth = request.GET.get("depth", "lineage")
    if depth not in DEPTHS:
        raise Http404
    found = measured(depth)
    answers = found.answers if found else []
    context = {
        "found": found,
        "depth": depth,
        "kind": DEPTH_NAMES[depth],
        "tabs": [(DEPTH_NAMES[kind], f"depth={kind}", kind == depth) for kind in DEPTHS],
        "answers": [one for one in answers if "stability" in one],
        "faults": [one for one in answers if one["fault"]],
        "by_depth": _by_depth(answers),
        "kinds": _kinds([one for one in answers if "stability" in one]),
        "models": [(model, answered_by(model).count()) for model in current_models()],
        "problems": in_families().count(),
        "files": " ".join(f"{model.name}.jsonl" for model in current_models()),
    }
    return render(request, "families/models.html", context)


@require_safe
def file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send the problems of families, or what a model predicted about them.

    `problems.jsonl` are all; with `?model=NAME` those that the model answered. `NAME.jsonl` are
    its answers; with `?of=all` those to all public problems of the site.
    """
    families = request.GET.get("of", "") != "all"
    if name == PROBLEMS:
        wanted = request.GET.get("model", "")
        query = answered_by(_model(wanted), families=families) if wanted else in_families()
        spend_reading(request, "download", MOST)
        found = survey(query, FILES[PROBLEMS])
        digest = found.digest
        source: Aside | Generator[bytes, None, None] = text(found)
    else:
        model = _model(name.removesuffix(".jsonl")) if name.endswith(".jsonl") else None
        if model is None:
            raise Http404
        spend_reading(request, "download", MOST)
        digest, source = predictions_file(model, families=families)
    tag = quote_etag(f"{digest[:32]}-{name}")
    response: HttpResponseBase
    known = tag in parse_etags(request.headers.get("If-None-Match", ""))
    if known or request.method == "HEAD":
        source.close()
    if known:
        response = HttpResponse(status=304)
    else:
        response = StreamingHttpResponse(() if request.method == "HEAD" else source)
        response.headers["Content-Type"] = TYPES[".jsonl"]
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["ETag"] = tag
    response.headers["X-Data-Digest"] = digest
    response.headers["X-Robots-Tag"] = "noindex"
    patch_cache_control(response, private=True, no_cache=True)
    return response


def _model(name: str) -> Model:
    for model in current_models():
        if model.name == name:
            return model
    raise Http404


def _kinds(answers: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """Return the kinds of edits, a row a kind: all together, then the worst of any model first."""
    of = [{kind["kind"]: kind for kind in one.get("kinds", ())} for one in answers]
    names = {
        name: sum(one[name]["right"] for one in of if name in one) for one in of for name in one
    }
    order = sorted(names, key=lambda name: (name != "", -names[name], name))
    return [(name, [one.get(name) for one in of]) for name in order[: 1 + MOST_KINDS]]


def _by_depth(answers: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """Return the accuracies by depth, a row a depth: the roots first."""
    told = [one["stability"] for one in answers if "stability" in one]
    depths = sorted({int(depth) for of in told for depth in of["by_depth"] or {}})[:MOST_DEPTHS]
    rows = [("", [of["roots"] for of in told])] if any(of["roots"] for of in told) else []
    return [*rows, *((str(at), [of["by_depth"].get(str(at)) for of in told]) for at in depths)]
