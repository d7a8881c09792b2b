"""Validation of the commands' JSON against the published schemas."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).resolve().parents[1] / "docs/reference/json"


@cache
def validator(command: str) -> jsonschema.Draft202012Validator:
    """Return a validator for the JSON of a command, which refuses additional keys."""
    text = (FOLDER / f"{command.replace(' ', '-')}.schema.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(_closed(json.loads(text)))


def _closed(schema: Any) -> Any:
    """Return a schema whose objects with declared keys have no others."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "required" in schema else {}
    return {key: _closed(value) for key, value in schema.items()} | more


def refuse_invalid(document: str) -> None:
    """Raise an error if printed JSON does not conform to the schema of its command."""
    printed = json.loads(document)
    command = printed["schema"].rpartition(" ")[0]
    error = jsonschema.exceptions.best_match(validator(command).iter_errors(printed))
    assert error is None, f"{command} --json: {error.json_path}: {error.message[-300:]}"
