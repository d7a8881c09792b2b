"""Write the JSON Schema of each command's `--json` output.

The class of a result declares its keys, types and descriptions; the schema is generated from it.
`PRINTED` lists the results that each command prints, and the few keys that the command itself adds.
The tests validate all JSON output against these schemas.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any, Literal, NotRequired

from winosmith import (
    answers,
    audit,
    build,
    dataset,
    debias,
    exposure,
    humans,
    metrics,
    release,
    report,
    study,
    validate,
)
from winosmith.cli._printing import JSON_VERSION
from winosmith.cli._stability import StabilityResults
from winosmith.cli.score import ExtraResults
from winosmith.results import Member, Result, list_members

HERE = Path(__file__).resolve().parent / "reference" / "json"

Schema = dict[str, Any]

_SIMPLE: Mapping[Any, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null",
    dict: "object", list: "array", Path: "string",
}  # fmt: skip


class Printed:
    """The JSON output of a command.

    Attributes:
        results: the results whose keys the JSON contains.
        keys: types of the other keys; `NotRequired` if a key may be missing.
    """

    def __init__(self, *results: type, **keys: Any) -> None:
        """Declare the output of a command; "from_" stands for the key "from"."""
        self.results = results
        self.keys = {name.rstrip("_"): kind for name, kind in keys.items()}


Text = str | None
Record = dict[str, Any]
"""Values by names that depend on the data, the recipe or the solver."""

_TWO_COUNTS = dict[Literal["collected", "kept"], int]
_LEFT_OUT = list[dict[Literal["id", "reason"], str]]
_FILTER = {
    "verdict": str,
    "blind": bool,
    "figures": list[report.KeyFigure],
    "aflite": debias.AfliteResult | None,
    "mirror": debias.MirrorResult | None,
    "again": dict[str, debias.RunOverlap],
    "sight": debias.Separability | None,
    "measures": build.Measures,
}
_TRAINED = Printed(
    folder=str,
    n_train=int,
    n_dev=int,
    message=str,
    dev_accuracy=float,
    p_value=float,
    at_chance=bool,
    epoch_kept=int,
    epochs=list[Record],
    settings=Record,
    runs=list[Record],
    by_setting=list[Record],
    on_all=Record | None,
    signature=str,
)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Repaired(audit.Repair):
    """A repair with the first sentence of its report.

    Attributes:
        verdict: the first sentence of the report.
    """

    verdict: str


_BUILD = Printed(
    **_FILTER,
    signature=str,
    rules_used=NotRequired[validate.AppliedRules],
    reading=NotRequired[list[str]],
    funnel=validate.Funnel,
    counts=dict[str, int],
    unvalidated=dict[str, int],
    sides=NotRequired[Record],
    copies=NotRequired[Record],
    columns=NotRequired[Record],
    embedding=Record,
    recipe=Record,
)

PRINTED: Mapping[str, Printed | list[Printed]] = {
    "admin export": Printed(digest=str, files=dict[str, str], counts=dict[str, int]),
    "audit": [
        Printed(
            audit.Audit,
            verdict=str,
            broken=list[str],
            check=NotRequired[Record],
            repair=NotRequired[Repaired],
            repairs=NotRequired[dict[str, Repaired]],
        ),
        Printed(audit.ShuffledFiles),
    ],
    "build": _BUILD,
    "check": Printed(
        metrics.Copies,
        data=str,
        columns=dataset.ColumnRoles | None,
        rules_used=validate.AppliedRules,
        funnel=validate.Funnel,
        rules=list[Record],
        set_aside=Record,
        unvalidated=_TWO_COUNTS,
        human_accuracy=metrics.HumanAccuracy | None,
        signature=str,
    ),
    "compare": Printed(
        metrics.Comparison,
        data=str,
        logs=NotRequired[dict[str, answers.Log]],
        by_lineage=NotRequired[list[Record]],
        broken=list[str],
    ),
    "convert": Printed(
        to=str,
        written=int,
        embargoed=int,
        tasks=NotRequired[list[str]],
        from_=NotRequired[str],
        read=NotRequired[int],
        corrected=NotRequired[int],
        notes=NotRequired[list[str]],
        **dict.fromkeys(("left_over", "lost", "changed", "added"), NotRequired[dict[str, int]]),
    ),
    "curve": Printed(
        metrics.LearningCurve, file=str, at_chance=NotRequired[list[Record]], signature=str
    ),
    "data get": Printed(files=dict[str, str]),
    "data list": Printed(sets=list[Record]),
    "debias": Printed(**_FILTER, kept=int, dropped=int, parameters=Record, signature=str),
    "demo": _BUILD,
    "embed": Printed(file=str, problems=int, width=int, signature=str),
    "evolve": Printed(
        roots=int,
        sources=dict[str, list[str]],
        perturbed=int,
        made=int,
        parts=dict[str, Record],
        left_out=dict[str, int],
        signature=str,
    ),
    "exposure": Printed(exposure.Exposure, signature=str),
    "humans assign": Printed(
        given=list[dict[Literal["subject", "sheet", "name"], str]],
        takers=dict[str, int],
        ledger=list[dict[Literal["subject", "sheet", "state"], str]],
    ),
    "humans enter": Printed(
        subjects=NotRequired[int],
        answers=int,
        sheets=NotRequired[list[Record]],
        subject=NotRequired[str],
        sheet=NotRequired[str],
        differences=NotRequired[list[Record]],
    ),
    "humans keys": Printed(audit.WrongKeys, verdict=str, signature=str),
    "humans publish": Printed(used=int, alternates=int, released=int, withheld=int, canary=str),
    "humans results": Printed(humans.Results, data=str, signature=str),
    "humans select": Printed(
        humans.Selection,
        data=str,
        cross_fit=humans.CrossFit | None,
        no_cross_fit=Text,
        signature=str,
    ),
    "humans sheets": Printed(
        data=str,
        sheets=list[Record],
        files=list[str],
        left_out=_LEFT_OUT,
        signature=str,
    ),
    "leaderboard": Printed(
        file=str, columns=dict[str, Record], auc=float, auc_interval=list[float], signature=str
    ),
    "release": Printed(
        metrics.Copies,
        folder=str,
        written=bool,
        private=Text,
        canary=str,
        counts=dict[str, dict[str, int]],
        left_out=dict[str, int],
        changes=dict[str, int],
        missing_fields=dict[str, str],
        keyed=Record | None,
        unchecked=str,
    ),
    "round": Printed(
        winosmith=str,
        version=int,
        name=str,
        made_by=str,
        digest=str,
        build=Record,
        valid=float | None,
        artifacts=Record,
        people=Record | None,
        solvers=dict[str, Record],
        roots=dict[Literal["asked", "drawn"], int],
        sides=NotRequired[Record],
        fooling=dict[str, list[str]],
    ),
    "score": Printed(
        ExtraResults, data=str, solvers=dict[str, Record], stability=NotRequired[StabilityResults]
    ),
    "solve": Printed(
        file=str,
        solver=str,
        problems=int,
        answers_known=int,
        correct=float | None,
        accuracy=float | None,
        ties=int,
        interview=NotRequired[Record],
        signature=str,
    ),
    "stats": [
        Printed(
            metrics.Statistics,
            data=str,
            columns=dict[str, dataset.ColumnRoles | None],
            unmarked_twins=NotRequired[int],
            lineages=NotRequired[metrics.LineageStatistics],
        ),
        Printed(metrics.ClaimStatistics, data=str),
    ],
    "train": [_TRAINED, Printed(curve=str, sizes=list[Record])],
    "transfer": Printed(
        systems=dict[str, list[study.TransferResult]],
        beside=dict[str, list[Record]],
        gender=list[Record],
        withheld=NotRequired[dict[str, str]],
    ),
    "verify": Printed(release.VerificationResult),
}


class _Schemas:
    """The schemas of the results that one command prints, by name."""

    def __init__(self) -> None:
        self.by_name: dict[str, Schema] = {}

    def of_result(self, kind: type) -> Schema:
        """Return a reference to the schema of a result or another dataclass."""
        name = kind.__name__
        if name not in self.by_name:
            self.by_name[name] = {}
            self.by_name[name] |= _object(*self.keys_of(kind))
        return {"$ref": f"#/$defs/{name}"}

    def keys_of(self, kind: type) -> tuple[dict[str, Schema], list[str]]:
        """Return the schemas of a dataclass's keys, and the required keys."""
        found: dict[str, Schema] = {}
        required: list[str] = []
        meanings = _meanings(kind)
        for one, hint in _members(kind):
            if one.json is False:
                continue
            if one.json == "flat":
                kinds = [of for of in typing.get_args(hint) or [hint] if of is not type(None)]
                inner, always = self.keys_of(kinds[0])
                found |= inner
                required += always if kinds[0] is hint else []
                continue
            key = one.key or one.name
            found[key] = self.of(_returned(one.json) if callable(one.json) else hint)
            if one.name in meanings:
                found[key] = found[key] | {"description": meanings[one.name]}
            if one.json != "if any":
                required.append(key)
        return found, required

    def of_printed(self, command: str, printed: Printed) -> Schema:
        """Return the schema of an object that a command prints."""
        properties: dict[str, Schema] = {"schema": {"const": f"{command} {JSON_VERSION}"}}
        required = ["schema"]
        for kind in printed.results:
            inner, always = self.keys_of(kind)
            properties |= inner
            required += always
        for name, hint in printed.keys.items():
            properties[name] = self.of(hint)
            if typing.get_origin(hint) is not NotRequired:
                required.append(name)
        return _object(properties, required)

    def of(self, hint: Any) -> Schema:
        """Return the schema of a type's values; an unspecific type allows any value."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if hint in _SIMPLE:
            return {"type": _SIMPLE[hint]}
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.of(one) for one in arguments]}
        if origin in (typing.Annotated, NotRequired):
            return self.of(arguments[0])
        if inspect.isclass(origin) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if origin is tuple and arguments[-1] is not Ellipsis:
            return {"type": "array", "prefixItems": [self.of(one) for one in arguments],
                    "items": False}  # fmt: skip
        if inspect.isclass(origin) and issubclass(origin, Sequence | Set):
            return {"type": "array", "items": self.of(arguments[0])}
        record = getattr(hint, "record", None)
        if record is not None and record is not Result.record:
            return self.of(typing.get_type_hints(record).get("return", Any))
        return self.of_result(hint) if dataclasses.is_dataclass(hint) else {}


def _object(properties: dict[str, Schema], required: list[str]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
    }


def _members(kind: Any) -> Iterator[tuple[Member, Any]]:
    """Yield the members of a dataclass with their types."""
    if not issubclass(kind, Result):
        hints = typing.get_type_hints(kind)
        yield from ((Member(one.name), hints[one.name]) for one in dataclasses.fields(kind))
        return
    hints = typing.get_type_hints(kind)
    for one in list_members(kind):
        getter = getattr(kind, one.name, None) if one.name not in hints else None
        getter = getattr(getter, "fget", getattr(getter, "func", None))
        yield one, typing.get_type_hints(getter)["return"] if getter else hints[one.name]


def _returned(function: Callable[[Any], Any]) -> Any:
    """Return a function's return type, or Any if it has no annotation."""
    if function in (len, str):
        return int if function is len else str
    return typing.get_type_hints(function).get("return", Any)


@cache
def _meanings(kind: type) -> dict[str, str]:
    """Return the description of each attribute, from the docstring."""
    listed = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2]
    found = {}
    for entry in re.split(r"\n(?=    \S)", f"\n{listed}"):
        names, _, text = entry.strip().partition(": ")
        found |= {name: " ".join(text.split()) for name in names.split(", ")}
    return found


def schema_of(command: str) -> Schema:
    """Return the JSON Schema of a command's `--json` output."""
    declared, schemas = PRINTED[command], _Schemas()
    variants = declared if isinstance(declared, list) else [declared]
    objects = [schemas.of_printed(command, one) for one in variants]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"winosmith {command} --json",
        **(objects[0] if len(objects) == 1 else {"anyOf": objects}),
        "$defs": dict(sorted(schemas.by_name.items())),
    }


PAGE = """\
# JSON schemas

For programmers who process the output of commands. With `--json`, a command prints one JSON object.
Its first key, `schema`, names the command and the version of its [JSON
Schema](https://json-schema.org), such as `compare 1`. Later versions of winosmith may add keys. If
a key is removed, or its type or meaning changes, the version number increases.

```bash
winosmith compare dev.jsonl a.jsonl b.jsonl --json > compared.json
check-jsonschema --schemafile compare.schema.json compared.json
```

A schema describes the keys of results. For keys that depend on the data, the recipe or the solver,
it allows any value.

"""


def files() -> dict[Path, str]:
    """Map the paths of the schemas, and of the page that lists them, to their texts."""
    found = {HERE.with_suffix(".md"): PAGE}
    for command in PRINTED:
        name = f"{command.replace(' ', '-')}.schema.json"
        text = json.dumps(schema_of(command), indent=1, ensure_ascii=False)
        found[HERE / name] = f"{text}\n"
        found[HERE.with_suffix(".md")] += f"- [`{command}`](json/{name})\n"
    return found


def write() -> None:
    """Write the schemas and the page."""
    HERE.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
