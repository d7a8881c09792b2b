"""The description of the API as a page shows it: operations by area, and the shapes they use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from winosmith.web.api.v1.document import document, operations

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
    found = [_operation(*one) for one in operations(made)]
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


def _operation(path: str, method: str, said: dict[str, Any]) -> Operation:
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
