"""Version 1 of the API, put together; its description, for programs and as a page shows it.

The description is OpenAPI 3.1: what ninja tells, and what holds for every operation. The page has
operations by area, and the shapes they use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any

from django.http import HttpRequest
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern
from ninja import NinjaAPI
from ninja.params.models import QueryModel

from winosmith import __version__
from winosmith.web.api import drafts, families, own, perturbing, reading
from winosmith.web.api.door import MEANINGS, TYPE, Error, Malformed, join


def _known_alone(operation: Any) -> None:
    """Let an operation refuse parameters that it does not know, such as misspelt ones.

    django-ninja passes over them, whatever the parameters' model forbids.
    """
    act = operation.view_func
    known = {
        name
        for model in operation.models
        if issubclass(model, QueryModel)
        for name in model.__ninja_flatten_map__
    }

    @wraps(act)
    def acted(request: HttpRequest, *args: Any, **named: Any) -> Any:
        if unknown := sorted(set(request.GET) - known):
            raise Malformed(
                {f"query.{name}": ["Extra inputs are not permitted"] for name in unknown}
            )
        return act(request, *args, **named)

    operation.view_func = acted


api = NinjaAPI(
    title="Winosmith",
    version=__version__,
    docs_url=None,
    openapi_url=None,
    urls_namespace="api-v1",
)
for _area in (reading, families, own, drafts, perturbing):
    for _path in _area.router.path_operations.values():
        for _operation in _path.operations:
            _known_alone(_operation)
    api.add_router("", _area.router)
join(api)

resolver = URLResolver(RegexPattern(r"^"), api.urls[0])
"""Finds the operation of an address below the version's."""


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
    operation["operationId"] = operation["operationId"].removeprefix("winosmith_web_api_")
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


REF = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Field:
    """Something that is sent or answered: its name, what it is, and the shape it leads to."""

    name: str
    kind: str
    shape: str
    needed: bool
    about: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        scope: what a token must be for; "" where any will do.
        public: whether it needs none.
        fields: of the address and the headers.
        sent: the body; None without one.
        given: the answer; None where it is empty.
    """

    id: str
    method: str
    path: str
    summary: str
    about: str
    scope: str
    public: bool
    fields: list[Field]
    sent: Field | None
    given: Field | None
    status: int


@cache
def reference() -> dict[str, Any]:
    """Return the areas with their operations, and the shapes with their fields."""
    made = document()
    found = [_described(*one) for one in operations(made)]
    tags = {one[2]["operationId"]: one[2]["tags"][0] for one in operations(made)}
    return {
        "areas": [
            (tag["name"], tag["description"], [one for one in found if tags[one.id] == tag["name"]])
            for tag in made["tags"]
        ],
        "shapes": [
            (name, shape.get("description", ""), list(_fields(shape)))
            for name, shape in sorted(made["components"]["schemas"].items())
            if "properties" in shape
        ],
    }


def _described(path: str, method: str, said: dict[str, Any]) -> Operation:
    status, answered = next(iter(said["responses"].items()))
    wanted = next(iter(said["security"]))["token"]
    return Operation(
        id=said["operationId"],
        method=method.upper(),
        path=path,
        summary=said["summary"],
        about=said["description"],
        scope=wanted[0] if wanted else "",
        public={} in said["security"],
        fields=[
            _field(one["name"], one["schema"], one["required"])
            for one in said.get("parameters", ())
        ],
        sent=_body(said.get("requestBody")),
        given=_body(answered),
        status=status,
    )


def _body(said: dict[str, Any] | None) -> Field | None:
    content = (said or {}).get("content", {}).get("application/json")
    return _field("", content["schema"], needed=True) if content else None


def _fields(shape: dict[str, Any]) -> Iterator[Field]:
    needed = shape.get("required", ())
    for name, said in shape["properties"].items():
        yield _field(name, said, name in needed)


def _field(name: str, said: dict[str, Any], needed: bool) -> Field:
    refs = list(_refs(said))
    return Field(
        name, _kind(said), refs[0] if refs else "", needed, str(said.get("description", ""))
    )


def _refs(said: dict[str, Any]) -> Iterator[str]:
    if "$ref" in said:
        yield said["$ref"].removeprefix(REF)
    inside = [*said.get("anyOf", ()), *said.get("allOf", ())]
    for inner in inside + ([said["items"]] if "items" in said else []):
        yield from _refs(inner)


def _kind(said: dict[str, Any]) -> str:
    """Return what something is, in a few words."""
    if "$ref" in said:
        return str(said["$ref"].removeprefix(REF))
    if "enum" in said:
        return " | ".join(f'"{value}"' for value in said["enum"])
    if inner := said.get("anyOf") or said.get("allOf"):
        return " | ".join(map(_kind, inner))
    if said.get("type") == "array":
        parts = said.get("prefixItems") or [said.get("items") or {}]
        return f"[{', '.join(map(_kind, parts))}]"
    return str(said.get("format") or said.get("type") or "anything")
