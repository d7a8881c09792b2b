"""YAML (`pip install 'winosmith[yaml]'`): a list of records, or a mapping with one such list.

Plain scalars follow the core schema of YAML 1.2, in which yes, no and 1:30 are strings. No code is
executed. Aliases and merge keys are refused, because a small file could expand to a very large one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from winosmith.data._json import are_records, make_row
from winosmith.data._source import Row, Source
from winosmith.data._spans import Value
from winosmith.errors import FormatError, require

_BOOLEANS = {one: one.lower() == "true" for one in "true True TRUE false False FALSE".split()}
_NULLS = {"", "~", "null", "Null", "NULL"}
_INTEGER = re.compile(r"[-+]?[0-9]{1,300}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")


def is_yaml(source: Source) -> bool:
    return source.path.suffix.lower() in (".yaml", ".yml")


def read_yaml(source: Source) -> Iterator[Row[Mapping[str, Any]]]:
    for record in parse_yaml_records(source):
        place = source.locate(record.start, record.end)
        yield make_row(place, source.text[record.start : record.end], record.value, "a mapping")


def parse_yaml_records(source: Source) -> list[Value]:
    """Return a YAML file's records with the offsets of their values, and refuse aliases."""
    yaml: Any = require("yaml", "yaml")
    path, loader = source.path, getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(source.text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                number = event.start_mark.line + 1
                raise FormatError("aliases (*name) are not allowed; write the value", path, number)
        nodes = [*yaml.compose_all(source.text, Loader=loader)]
        documents = [_convert_node(node, path) for node in nodes if node is not None]
    except yaml.MarkedYAMLError as error:
        number = error.problem_mark.line + 1 if error.problem_mark else None
        raise FormatError(f"this is not YAML: {error.problem}", path, number) from None
    except FormatError:
        raise
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise FormatError(f"this is not YAML: {error}", path) from None
    if len(documents) != 1:
        return documents
    [value] = documents
    lists = [one for one in value.members.values() if are_records(one.value)]
    if isinstance(value.value, list):
        return [*value.members.values()]
    if len(lists) > 1:
        raise FormatError("the file has several lists of records; write only one per file", path)
    return [*lists[0].members.values()] if lists else documents


def _convert_node(node: Any, path: object) -> Value:
    start, end = node.start_mark.index, node.end_mark.index
    if node.id == "scalar":
        if node.style in ("|", ">"):
            return Value(start, end, node.value.rstrip("\n"), {})
        is_text = bool(node.style) or node.tag == "tag:yaml.org,2002:str"
        return Value(start, end, node.value if is_text else _parse_scalar(node.value), {})
    if node.id == "sequence":
        inside: dict[int | str, Value] = {
            at: _convert_node(child, path) for at, child in enumerate(node.value)
        }
        value: Any = [child.value for child in inside.values()]
    else:
        inside = {}
        for name, child in node.value:
            number = name.start_mark.line + 1
            if name.id != "scalar" or name.value in inside:
                raise FormatError("each key must be a unique string", str(path), number)
            if name.value == "<<" and not name.style:
                raise FormatError("merge keys (<<) are not allowed", str(path), number)
            inside[name.value] = _convert_node(child, path)
        value = {name: child.value for name, child in inside.items()}
    if not node.flow_style and inside:
        end = max(child.end for child in inside.values())  # without the comments that follow
    return Value(start, end, value, inside)


def _parse_scalar(text: str) -> Any:
    """Parse a plain scalar by YAML 1.2's core schema, in which other number formats are strings.

    >>> [_parse_scalar(text) for text in ("3", "0.5", "true", "yes", "1:30", "~")]
    [3, 0.5, True, 'yes', '1:30', None]
    """
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
