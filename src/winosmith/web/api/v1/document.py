"""The description of the API, OpenAPI 3.1: what ninja tells, and what holds for every operation."""

from __future__ import annotations

from functools import cache
from typing import Any

from winosmith.web.api.v1.app import api
from winosmith.web.api.v1.faults import MEANINGS, TYPE
from winosmith.web.api.v1.shapes import Error

ROOT = "/api/v1"

ABOUT = """Reading, writing and perturbing, for programs; people judge and moderate, on pages.

Make a token on the site (/tokens/) and send it in each request: `Authorization: Bearer ws_…`.
Everything that is public needs none. A request that writes carries an `Idempotency-Key` of its
own; sent again with the same key, it does nothing twice. Errors are problem details (RFC 9457).
"""

_TAGS = {
    "read": "The public problems, their files and figures.",
    "families": "Families of perturbed problems, and how far models follow.",
    "models": "The models of the site.",
    "me": "Whom the token stands for, and what they wrote.",
    "write": "Drafts, their checks, and sending twins.",
    "perturb": "Perturbing problems, and what models make of it.",
}


@cache
def document() -> dict[str, Any]:
    """Return the description, as JSON can hold it."""
    made: dict[str, Any] = dict(api.get_openapi_schema(path_prefix=f"{ROOT}/"))
    made["info"]["description"] = ABOUT
    made["tags"] = [{"name": name, "description": about} for name, about in _TAGS.items()]
    components = made["components"]
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "from /tokens/"}
    }
    components["schemas"]["Error"] = Error.model_json_schema(
        ref_template="#/components/schemas/{model}"
    )
    components["schemas"] |= components["schemas"]["Error"].pop("$defs")
    for path, _method, operation in operations(made):
        _finish(path, operation)
    used = _used(made["paths"], components["schemas"], set())
    components["schemas"] = {name: components["schemas"][name] for name in sorted(used)}
    return made


def operations(made: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the operations of a description: path, method, and what is said of each."""
    return [
        (path, method, operation)
        for path, methods in made["paths"].items()
        for method, operation in methods.items()
    ]


def _used(said: Any, shapes: dict[str, Any], found: set[str]) -> set[str]:
    """Return the names of the shapes that a part of the description leads to."""
    if isinstance(said, dict):
        name = str(said.get("$ref", "")).rpartition("/")[2]
        if name and name not in found:
            found.add(name)
            _used(shapes[name], shapes, found)
    for inner in said.values() if isinstance(said, dict) else said:
        if isinstance(inner, dict | list):
            _used(inner, shapes, found)
    return found


def _finish(path: str, operation: dict[str, Any]) -> None:
    """Say of an operation which errors it may answer with."""
    operation["operationId"] = operation["operationId"].rpartition("_v1_")[2]
    for status in _errors(path, operation):
        operation["responses"][status] = {
            "description": str(MEANINGS[status]),
            "content": {TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}},
        }


def _errors(path: str, operation: dict[str, Any]) -> list[int]:
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    writes = "Idempotency-Key" in names or "requestBody" in operation
    possible = {
        400: "requestBody" in operation,
        401: True,
        403: True,
        404: "{" in path or "after" in names,
        409: writes,
        422: bool(names) or writes,
        429: writes,
        503: True,
    }
    return [status for status, may in possible.items() if may]
