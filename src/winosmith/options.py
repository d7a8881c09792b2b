"""Declare the type, range, default and meaning of each parameter in one class.

`@declaration` turns a class into a frozen dataclass that validates its values. The range is in the
type (`Annotated[int, Field(ge=1)]`), and the description in the string below the field. Rules for
several fields are in `__post_init__`, which raises ValueError. Errors, recipe tables, the
reference, command-line options and the JSON schema are generated from the class.
`dataclasses.replace` validates the new values, too. `@checked` validates the parameters of a
function in the same way.

This module also contains the declarations shared by recipes and `winosmith debias`.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, dataclass_transform

import pydantic.dataclasses
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from winosmith.errors import RecipeError

T = TypeVar("T")
P = ParamSpec("P")

OrFalse = Annotated[T | None, BeforeValidator(lambda value: None if value is False else value)]
"""An optional value that is `false` in a file, and None in Python, if it is turned off."""

Texts = Annotated[tuple[str, ...], Field(strict=False)]

Numbers = Annotated[tuple[int, int], Field(strict=False)]

Count = Annotated[int, Field(ge=1)]

Fraction = Annotated[float, Field(ge=0, le=1)]

Part = Annotated[float, Field(gt=0, lt=1)]

Positive = Annotated[float, Field(gt=0)]

TwoOrMore = Annotated[int, Field(ge=2)]

Draws = Annotated[int, Field(ge=20)]
"""Number of random draws for a null distribution or a bootstrap. An interval needs at least 20."""

Seed = Annotated[int, Field(ge=0)]


def match_pattern(pattern: str, description: str) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"it must be {description}")
        return text

    return AfterValidator(check)


_CONFIG = ConfigDict(
    strict=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
)


@dataclass_transform(frozen_default=True)
def declaration(kind: type[T]) -> type[T]:
    """Make a class a declaration: a frozen dataclass that validates its values.

    Its constructor raises RecipeError for a value of the wrong type or out of range.

    >>> @declaration
    ... class Penalty:
    ...     C: Annotated[float, Field(gt=0)] = 1.0
    >>> Penalty(C=0)
    Traceback (most recent call last):
    winosmith.errors.RecipeError: C is 0; it must be a number above 0
    """
    made = pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(kind)
    check = made.__init__

    @functools.wraps(check)
    def checked_init(self: Any, *args: Any, **values: Any) -> None:
        args = tuple(map(_to_python_scalar, args))
        values = {name: _to_python_scalar(value) for name, value in values.items()}
        try:
            check(self, *args, **values)
        except ValidationError as error:
            given = dict(zip(build_schema(made)["properties"], args, strict=False)) | values
            raise _convert_error(made, given, error) from None

    made.__init__ = checked_init  # type: ignore[method-assign]
    return typing.cast("type[T]", made)


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Validate a function's parameters whose annotations are `Annotated` or `Literal`.

    The function raises RecipeError for a value of the wrong type or out of range.

    >>> @checked
    ... def deal(people: list[str], folds: TwoOrMore = 10) -> int:
    ...     return len(people) // folds
    >>> deal(["a", "b"], folds=1)
    Traceback (most recent call last):
    winosmith.errors.RecipeError: folds is 1; it must be a whole number, 2 or more
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **values: P.kwargs) -> T:
        given = inspect.signature(function).bind(*args, **values)
        kind = _declare_parameters(wrapper)
        names = given.arguments.keys() & typing.get_type_hints(kind)
        plain = kind(**{name: given.arguments[name] for name in names})
        given.arguments.update({name: getattr(plain, name) for name in names})
        return function(*given.args, **given.kwargs)

    return wrapper


def checked_class(kind: type[T]) -> type[T]:
    """Validate the fields of a dataclass like the parameters of a function; see `checked`."""
    kind.__init__ = checked(kind.__init__)  # type: ignore[method-assign]
    return kind


@functools.cache
def _declare_parameters(function: Callable[..., Any]) -> type:
    hints = typing.get_type_hints(function, include_extras=True)
    stated = {
        name: of.default
        for name, of in inspect.signature(function).parameters.items()
        if re.search(r"Annotated\[|Literal\[", str(hints.get(name)))
    }
    annotations = {name: hints[name] for name in stated}
    values = {name: of for name, of in stated.items() if of is not inspect.Parameter.empty}
    return declaration(type(function.__name__, (), {"__annotations__": annotations, **values}))


def _convert_error(kind: type, values: Mapping[str, Any], error: ValidationError) -> RecipeError:
    found = error.errors(include_url=False)[0]
    cause = found.get("ctx", {}).get("error", found["msg"])
    if isinstance(cause, RecipeError):  # `__post_init__` names the field
        return cause
    message = str(cause)
    if not found["loc"]:
        return RecipeError(message)
    properties = build_schema(kind)["properties"]
    place = found["loc"][0]
    key = list(properties)[place] if isinstance(place, int) else place
    if found["type"] == "missing":
        return RecipeError(f"the key {key!r} is missing")
    if key not in properties:
        return RecipeError(_describe_unknown_key(key, kind, kind))
    wanted = message
    if found["type"] != "value_error":
        wanted = f"it must be {describe_values(properties[key])}"
    held = list(values[key]) if isinstance(values[key], tuple) else values[key]  # as in TOML
    value = "not valid" if properties[key].get("writeOnly") else repr(held)
    refusal = RecipeError(f"{key} is {value}; {wanted}")
    refusal.key, refusal.wanted = key, wanted
    return refusal


def _to_python_scalar(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", None) == 0 else value


def from_table(kind: type[T], table: Mapping[str, Any], root: type | None = None) -> T:
    """Construct a declaration from a TOML table, including nested tables.

    `root` is the class of the whole file. It is used to suggest the table of a misplaced key.

    Raises:
        RecipeError: a key is unknown or missing, or a value is invalid.
    """
    values, hints = dict(table), typing.get_type_hints(kind)
    for key, value in table.items():
        if key not in hints:
            raise RecipeError(_describe_unknown_key(key, kind, root or kind))
        allowed = typing.get_args(hints[key])
        if typing.get_origin(hints[key]) is tuple and isinstance(value, list | tuple):
            values[key] = tuple(value)
            of = allowed[0]
            if is_dataclass(of) and not all(map(is_dataclass, value)):
                if not all(isinstance(one, Mapping) for one in value):
                    raise RecipeError(f"{key} must be a list of tables: [[{key}]]")
                values[key] = tuple(_parse_nested_table(f"[[{key}]]", of, one, of) for one in value)
        elif inner := _find_declaration(hints[key]):
            if not isinstance(value, Mapping):
                hint = f"; did you mean {key}_file?" if f"{key}_file" in hints else ""
                raise RecipeError(f"{key} is {value!r}; it must be a table: [{key}]{hint}")
            values[key] = _parse_nested_table(f"[{key}]", inner, value, root or kind)
        elif value is False and type(None) in allowed and bool not in allowed:
            values[key] = None  # TOML has no null
    return kind(**values)


def _parse_nested_table(title: str, kind: Any, table: Mapping[str, Any], root: Any) -> Any:
    try:
        return from_table(kind, table, root)
    except RecipeError as error:
        raise RecipeError(f"{title} {error}") from None


def to_table(instance: Any) -> dict[str, Any]:
    """Return a declaration's TOML table without default values: the inverse of `from_table`."""
    adapter = TypeAdapter(type(instance))
    return dict(adapter.dump_python(instance, mode="json", exclude_defaults=True))


def _find_declaration(hint: Any) -> type[Any] | None:
    inside = () if typing.get_origin(hint) is tuple else typing.get_args(hint)
    found = next(filter(is_dataclass, (hint, *inside)), None)
    return typing.cast("type[Any] | None", found)


def _describe_unknown_key(key: str, kind: type, root: type) -> str:
    known = list(typing.get_type_hints(kind))
    elsewhere = {
        inner: name
        for name, table in typing.get_type_hints(root).items()
        if is_dataclass(table)
        for inner in typing.get_type_hints(table)
    }
    if near := difflib.get_close_matches(key, known, n=1):
        return f"unknown key {key!r}; did you mean {near[0]!r}?"
    if far := difflib.get_close_matches(key, elsewhere, n=1):
        return f"unknown key {key!r}; did you mean {far[0]!r} in the table [{elsewhere[far[0]]}]?"
    return f"unknown key {key!r}; the keys are {', '.join(known)}"


@functools.cache
def build_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a declaration or of a checked function's parameters.

    Nested tables are in `$defs`.
    """
    kind = kind if isinstance(kind, type) else _declare_parameters(kind)
    found = TypeAdapter(kind).json_schema()
    bases: list[Any] = [base for base in kind.__mro__[1:] if is_dataclass(base)]
    for base in bases:  # pydantic inherits no descriptions
        for name, key in build_schema(base)["properties"].items():
            found["properties"][name].setdefault("description", key.get("description", ""))
    tables: list[Any] = [_find_declaration(hint) for hint in typing.get_type_hints(kind).values()]
    for table in tables:
        if table is not None:
            found["$defs"][table.__name__]["properties"] = build_schema(table)["properties"]
    return found


def describe_values(part: Mapping[str, Any]) -> str:
    """Describe in words the values that a part of a JSON schema allows.

    >>> describe_values({"type": "integer", "minimum": 1})
    'a whole number, 1 or more'
    >>> describe_values({"anyOf": [{"enum": ["mean", "cls"]}, {"type": "null"}]})
    '"mean" or "cls" or false'
    """
    if "$ref" in part:
        return "a table"
    if "anyOf" in part:
        choices = [describe_values(one) for one in part["anyOf"]]
        return (", or " if any("," in choice for choice in choices) else " or ").join(choices)
    if "enum" in part:
        *first, last = (f'"{one}"' for one in part["enum"])
        return f"{', '.join(first)} or {last}"
    if "const" in part:
        return f'"{part["const"]}"'
    if "prefixItems" in part:
        return "two whole numbers"
    if "enum" in part.get("items", {}):
        return f"a list of {describe_values(part['items'])}"
    kind = {
        "array": f"a list of {'one or more ' * ('minItems' in part)}"
        + _describe_items(part.get("items", {})),
        "object": "a table of texts",
        "boolean": "true or false",
        "integer": "a whole number",
        "null": "false",
        "number": "a number",
        "string": "text",
    }[part["type"]]
    if part.get("minLength") and "maxLength" not in part:
        return "non-empty text"
    if "maxLength" in part:
        return f"{kind} of {part.get('minLength', 0)} to {part['maxLength']:,} characters"
    return kind + _describe_range(part)


def _describe_items(part: Mapping[str, Any]) -> str:
    if "$ref" in part:
        return "tables"
    return f"whole numbers{_describe_range(part)}" if part.get("type") == "integer" else "texts"


def _describe_range(part: Mapping[str, Any]) -> str:
    if "minimum" in part and "maximum" in part:
        return f" from {part['minimum']:,} to {part['maximum']:,}"
    limits = [
        form.format(part[name])
        for name, form in (
            ("minimum", "{:,} or more"),
            ("exclusiveMinimum", "above {:,}"),
            ("maximum", "at most {:,}"),
            ("exclusiveMaximum", "below {:,}"),
        )
        if name in part
    ]
    return (", " if "minimum" in part else " ") * bool(limits) + " and ".join(limits)


File = Annotated[str, Field(json_schema_extra={"format": "path"})]
"""The path of a file that must exist."""

Aim = Literal["error", "chance"]

FalseRemovalFraction = Annotated[float, Field(gt=0, le=0.2)]
"""Fraction of sound problems among the problems that the mirror filter removes."""

PmiVariant = Literal["signed", "absolute", "max", "pairwise"]

PmiLabel = Literal["first-mentioned", "option-1"]
"""The correct option that is coded as y = 1: the one that the sentence mentions first, or the one
that is listed first, as in WinoGrande, section 3."""

Method = Literal["aflite", "mirror", "pmi", "random", "none"]


@declaration
class EmbedRecipe:
    """`[embed]`: how problems are embedded as vectors (WinoGrande, section 3)."""

    encoder: str = "light"
    """The light embedder ("light"), "minilm", or the hub id or folder of an encoder."""
    array: OrFalse[File] = None
    """A .npy or .npz file of vectors to use instead of an encoder."""
    combine: Literal["difference", "concat"] = "difference"
    """How two filled-in sentences become one vector: their "difference", or both ("concat")."""
    reads: OrFalse[Literal["sentence", "options"]] = None
    """The embedder's input: "sentence" with each option filled in, or only the "options",
    without the question. By default "sentence" if all problems have two options and a blank,
    otherwise "options": a model may know the answer from a question and an option together, which
    is not an artifact. The light embedder reads sentences only for two options."""
    pooling: OrFalse[Literal["mean", "cls"]] = None
    """Pooling of an encoder; by default "cls" after fine-tuning, otherwise "mean"."""
    dimensions: Annotated[int, Field(ge=2)] = 512
    """Dimensions of the light embedder."""
    finetune_train: Annotated[int, Field(ge=0)] = 0
    """Number of problems, in whole twins, on which the encoder is fine-tuned and which are then
    removed (5,000 in the paper); 0 uses the encoder unchanged."""
    finetune_dev: Annotated[int, Field(ge=0)] = 0
    """Number of problems, in whole twins, that are used to select the best fine-tuning epoch and
    are then removed (1,000 in the paper)."""
    finetune_weight_decay: Annotated[float, Field(ge=0)] = 0.01
    """Weight decay of AdamW for matrices (0 in the released code)."""
    finetune_dropout: OrFalse[Annotated[float, Field(ge=0, lt=1)]] = 0.0
    """Dropout rate throughout the encoder; false uses the encoder's own rates (as in the released
    code)."""

    def __post_init__(self) -> None:
        tuned = bool(self.finetune_train)
        if tuned != bool(self.finetune_dev):
            raise ValueError("finetune_train and finetune_dev must be set together")
        if tuned and (self.encoder == "light" or self.array is not None):
            raise ValueError(
                "finetune_train needs a Hugging Face encoder: set encoder to its hub id or folder, "
                "and omit array"
            )
        if self.reads == "options" and (tuned or self.array is not None):
            raise ValueError(
                "an encoder is fine-tuned on sentences, and a file has ready-made vectors; "
                'neither can be used with reads = "options"'
            )


@declaration
class FilterRecipe:
    """`[filter]`: how problems are removed (WinoGrande, section 3, Algorithm 1, or `mirror`)."""

    method: Method = "aflite"
    """The filter."""
    aim: Aim = "error"
    """Objective of "mirror": "error" finds problems that give their answer away, with a stated
    fraction of sound problems among them; "chance" keeps equal numbers of problems that agree and
    disagree with a model at every margin."""
    error: FalseRemovalFraction = 0.1
    """Fraction of sound problems among those that "mirror" removes with aim = "error"."""
    folds: TwoOrMore = 10
    """Number of folds for "mirror"; each fold is predicted by a model trained on the others."""
    repeats: Count = 1
    """Number of times that "mirror" draws folds; the margins are averaged."""
    ensemble_size: Count = 64
    """n, the number of linear classifiers per phase."""
    train_size: OrFalse[Count] = None
    """m, the number of training problems per classifier; by default 10,000 as in the paper, or the
    same fraction if there are fewer than 47,000 problems."""
    cutoff: OrFalse[Count | Part] = None
    """k, the maximum number (or fraction of the remaining problems) to remove in a phase; by
    default 500 as in the paper, or the same fraction if there are fewer than 47,000 problems."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.75
    """tau, the minimum score at which a problem may be removed."""
    C: Positive = 1.0
    """Inverse regularisation strength of AFLite's and mirror's classifiers."""
    target_size: OrFalse[Count] = None
    """Number of problems at which the filter stops; by default none."""
    remove: Literal["problems", "twins"] = "problems"
    """Units that are removed: "problems" one by one, or "twins" whole, with the copies of their
    halves, but not their families; each twin is then in a single part of every partition."""
    null: Literal["off", "report"] = "off"
    """Whether to "report", for every phase, how many problems reach the threshold by chance (with
    the answers of whole blocks flipped)."""
    keep: OrFalse[Count] = None
    """Number of problems that "random" and "pmi" keep; by default as many as AFLite would."""
    pmi: PmiVariant = "signed"
    """Variant of "pmi", which scores only twins; singles are kept at random at the same rate."""
    pmi_label: PmiLabel = "first-mentioned"
    """Correct option that is coded as y = 1 for "pmi": "first-mentioned" in the sentence, or
    "option-1", as in the paper, whose result depends on the order of options."""
    null_draws: Draws = 20
    """Number of draws of twin-flipped labels for every null distribution; an interval needs at
    least 20. With null = "report", a phase takes this many times longer."""
    again: bool = True
    """Filter again with another seed, and with vectors perturbed by a ten-thousandth, and report
    the fraction of removed problems that are removed again; this triples the filter's time."""


@declaration
class MeasureRecipe:
    """`[measure]`: how the build measures what a model can still predict after filtering."""

    splits: Annotated[int, Field(ge=0)] = 5
    """Number of random splits into two halves, which are filtered separately (see
    `winosmith.debias.verify`); each split runs the filter twice. With 0 nothing is measured, and
    the report makes no claim of success."""
