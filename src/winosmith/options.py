"""Declarations of parameters: one class states each parameter's type, range, default and meaning.

Under `@declaration` a class is a frozen dataclass that checks its values. The range is in the type
(`Annotated[int, Field(ge=1)]`), the meaning in the string below the field, and a rule for several
fields in `__post_init__`, which raises ValueError. The error, the table of a recipe, the page of
the reference, the options of a command and the JSON schema come from this one declaration.
`dataclasses.replace` checks the new values, too.

The declarations that a recipe and `winosmith debias` share are here as well.
"""

from __future__ import annotations

import difflib
import functools
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

import pydantic.dataclasses
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from winosmith.errors import RecipeError

T = TypeVar("T")

OrFalse = Annotated[T | None, BeforeValidator(lambda value: None if value is False else value)]
"""A value that can be switched off: `false` in a file, None in Python."""

Texts = Annotated[tuple[str, ...], Field(strict=False)]
"""A list of texts."""

Numbers = Annotated[tuple[int, int], Field(strict=False)]
"""A list of two whole numbers."""

_CONFIG = ConfigDict(
    strict=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
)


@dataclass_transform(frozen_default=True)
def declaration(kind: type[T]) -> type[T]:
    """Make a class a frozen dataclass that checks its values.

    Raises:
        RecipeError: by the class, for a value of another type or out of range.

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
    def checked(self: Any, *args: Any, **values: Any) -> None:
        args = tuple(map(_plain, args))
        values = {name: _plain(value) for name, value in values.items()}
        try:
            check(self, *args, **values)
        except ValidationError as error:
            given = dict(zip(schema(made)["properties"], args, strict=False)) | values
            raise _refusal(made, given, error) from None

    made.__init__ = checked  # type: ignore[method-assign]
    return typing.cast("type[T]", made)


def _refusal(kind: type, given: Mapping[str, Any], error: ValidationError) -> RecipeError:
    """Return the error for the first value that is wrong."""
    found = error.errors(include_url=False)[0]
    cause = found.get("ctx", {}).get("error", found["msg"])
    if isinstance(cause, RecipeError):  # of a rule for several fields, which names one of them
        return cause
    message = str(cause)
    if not found["loc"]:
        return RecipeError(message)
    key = str(found["loc"][0])
    properties = schema(kind)["properties"]
    if found["type"] == "missing":
        return RecipeError(f"the key {key!r} is missing")
    if key not in properties:
        return RecipeError(_unknown(key, kind, kind))
    wanted = message if found["type"] == "value_error" else f"it must be {words(properties[key])}"
    held = list(given[key]) if isinstance(given[key], tuple) else given[key]  # as in a file
    value = "not valid" if properties[key].get("writeOnly") else repr(held)
    refusal = RecipeError(f"{key} is {value}; {wanted}")
    refusal.key, refusal.wanted = key, wanted
    return refusal


def _plain(value: Any) -> Any:
    """Return a scalar of numpy as one of Python; any other value as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def from_table(kind: type[T], table: Mapping[str, Any], top: type | None = None) -> T:
    """Construct a declaration from a table of TOML, and those of its fields from the tables in it.

    Args:
        kind: the declaration.
        table: its keys and values.
        top: the declaration of the whole file, whose tables a misplaced key may belong to.

    Raises:
        RecipeError: an unknown or missing key, or a value that does not fit.
    """
    values, hints = dict(table), typing.get_type_hints(kind)
    for key, value in table.items():
        if key not in hints:
            raise RecipeError(_unknown(key, kind, top or kind))
        allowed = typing.get_args(hints[key])
        if isinstance(value, list) and typing.get_origin(hints[key]) is tuple:
            values[key] = tuple(value)
        elif inner := _table_of(hints[key]):
            if not isinstance(value, Mapping):
                raise RecipeError(f"{key} is {value!r}; it must be a table: [{key}]")
            try:
                values[key] = from_table(inner, value, top or kind)
            except RecipeError as error:
                raise RecipeError(f"[{key}] {error}") from None
        elif value is False and type(None) in allowed and bool not in allowed:
            values[key] = None  # TOML has no null
    return kind(**values)


def _table_of(hint: Any) -> type[Any] | None:
    """Return the declaration of a field that is a table, needed or not; None of any other field."""
    inside = () if typing.get_origin(hint) is tuple else typing.get_args(hint)
    found = next(filter(is_dataclass, (hint, *inside)), None)
    return typing.cast("type[Any] | None", found)


def _unknown(key: str, kind: type, top: type) -> str:
    known = list(typing.get_type_hints(kind))
    elsewhere = {
        inner: name
        for name, table in typing.get_type_hints(top).items()
        if is_dataclass(table)
        for inner in typing.get_type_hints(table)
    }
    if near := difflib.get_close_matches(key, known, n=1):
        return f"unknown key {key!r}; did you mean {near[0]!r}?"
    if far := difflib.get_close_matches(key, elsewhere, n=1):
        return f"unknown key {key!r}; did you mean {far[0]!r} in the table [{elsewhere[far[0]]}]?"
    return f"unknown key {key!r}; the keys are {', '.join(known)}"


@functools.cache
def schema(kind: type) -> dict[str, Any]:
    """Return the JSON schema of a declaration; its tables are in `$defs`."""
    found = TypeAdapter(kind).json_schema()
    for base in filter(is_dataclass, kind.__mro__[1:]):  # pydantic inherits no descriptions
        for name, key in schema(base)["properties"].items():
            found["properties"][name].setdefault("description", key.get("description", ""))
    for table in filter(is_dataclass, typing.get_type_hints(kind).values()):
        properties = schema(typing.cast("type", table))["properties"]
        found["$defs"][typing.cast("type", table).__name__]["properties"] = properties
    return found


def words(of: Mapping[str, Any]) -> str:
    """Return the values that a part of a JSON schema allows.

    >>> words({"type": "integer", "minimum": 1})
    'a whole number, 1 or more'
    >>> words({"anyOf": [{"enum": ["mean", "cls"]}, {"type": "null"}]})
    '"mean" or "cls" or false'
    """
    if "$ref" in of:
        return "a table"
    if "anyOf" in of:
        choices = [words(one) for one in of["anyOf"]]
        return (", or " if any("," in choice for choice in choices) else " or ").join(choices)
    if "enum" in of:
        *first, last = (f'"{one}"' for one in of["enum"])
        return f"{', '.join(first)} or {last}"
    if "const" in of:
        return f'"{of["const"]}"'
    if "prefixItems" in of:
        return "two whole numbers"
    if "enum" in of.get("items", {}):
        return f"a list of {words(of['items'])}"
    kind = {
        "array": f"a list of {'one or more ' * ('minItems' in of)}"
        + ("tables" if "$ref" in of.get("items", {}) else "texts"),
        "object": "a table of texts",
        "boolean": "true or false",
        "integer": "a whole number",
        "null": "false",
        "number": "a number",
        "string": "text",
    }[of["type"]]
    if of.get("minLength") and "maxLength" not in of:
        return "text that is not empty"
    if "maxLength" in of:
        return f"{kind} of {of.get('minLength', 0)} to {of['maxLength']:,} characters"
    return kind + _range(of)


def _range(of: Mapping[str, Any]) -> str:
    if "minimum" in of and "maximum" in of:
        return f" from {of['minimum']:,} to {of['maximum']:,}"
    limits = [
        form.format(of[name])
        for name, form in (
            ("minimum", "{:,} or more"),
            ("exclusiveMinimum", "above {:,}"),
            ("maximum", "at most {:,}"),
            ("exclusiveMaximum", "below {:,}"),
        )
        if name in of
    ]
    return (", " if "minimum" in of else " ") * bool(limits) + " and ".join(limits)


File = Annotated[str, Field(json_schema_extra={"format": "path"})]
"""The path of a file; a command checks that the file exists."""

Method = Literal["aflite", "mirror", "pmi", "random", "none"]


@declaration
class EmbedRecipe:
    """`[embed]`: how problems become vectors (WinoGrande, section 3)."""

    encoder: str = "light"
    """The light embedder ("light"), or the hub id or folder of a Hugging Face encoder."""
    array: OrFalse[File] = None
    """A .npy or .npz file of vectors, in place of an encoder."""
    combine: Literal["difference", "concat"] = "difference"
    """How two filled-in sentences become one vector: their "difference", or both ("concat")."""
    reads: OrFalse[Literal["sentence", "options"]] = None
    """What the embedder reads: "sentence" fills the options in; "options" reads only the options,
    without the question. By default "sentence" if all problems have two options and a blank,
    otherwise "options": a model may know the answer from a question and an option together, which
    is not an artifact. The light embedder reads sentences only for two options."""
    pooling: OrFalse[Literal["mean", "cls"]] = None
    """Pooling of an encoder; by default "cls" after fine-tuning, otherwise "mean"."""
    dimensions: Annotated[int, Field(ge=2)] = 512
    """Dimensions of the light embedder."""
    finetune_train: Annotated[int, Field(ge=0)] = 0
    """Number of problems, in whole twins, that fine-tune the encoder and are then removed (the
    paper: 5,000); 0 uses the encoder as it is."""
    finetune_dev: Annotated[int, Field(ge=0)] = 0
    """Number of problems, in whole twins, that choose the best epoch of the fine-tuning and are
    then removed (the paper: 1,000)."""
    finetune_weight_decay: Annotated[float, Field(ge=0)] = 0.01
    """Weight decay of AdamW, on matrices (the released code: 0)."""
    finetune_dropout: OrFalse[Annotated[float, Field(ge=0, lt=1)]] = 0.0
    """Dropout rate everywhere in the encoder; false is the encoder's own (as in the released
    code)."""

    def __post_init__(self) -> None:
        tuned = bool(self.finetune_train)
        if tuned != bool(self.finetune_dev):
            raise ValueError("finetune_train and finetune_dev go together; set both or neither")
        if tuned and (self.encoder == "light" or self.array is not None):
            raise ValueError("finetune_train needs a Hugging Face encoder in encoder")
        if self.reads == "options" and (tuned or self.array is not None):
            raise ValueError(
                "an encoder is fine-tuned on sentences, and a file of vectors has been read "
                'already; reads = "options" goes with neither'
            )


@declaration
class FilterRecipe:
    """`[filter]`: what is removed (WinoGrande, section 3, Algorithm 1; or `debias.mirror`)."""

    method: Method = "aflite"
    """The filter."""
    aim: Literal["error", "chance"] = "error"
    """Objective of "mirror": "error" finds problems that give their answer away, with a stated
    fraction of sound ones among them; "chance" keeps as many that agree with a model as disagree,
    at every margin."""
    error: Annotated[float, Field(gt=0, le=0.2)] = 0.1
    """Fraction of sound problems among those that "mirror" removes, with the aim "error"."""
    folds: Annotated[int, Field(ge=2)] = 10
    """Number of parts of the problems for "mirror"; each is predicted by a model of the others."""
    repeats: Annotated[int, Field(ge=1)] = 1
    """Number of times that "mirror" draws the folds; the margins are averaged."""
    ensemble_size: Annotated[int, Field(ge=1)] = 64
    """n, the number of linear classifiers of a phase."""
    train_size: OrFalse[Annotated[int, Field(ge=1)]] = None
    """m, the number of problems that train each classifier; by default the paper's 10,000, or the
    same fraction of fewer than 47,000."""
    cutoff: OrFalse[Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)]] = None
    """k, the most that one phase removes: a number of problems, or a fraction of the remaining
    ones; by default the paper's 500, or the same fraction of fewer than 47,000."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.75
    """tau, the score from which on a problem may be removed."""
    C: Annotated[float, Field(gt=0)] = 1.0
    """Inverse strength of the penalty of AFLite's and mirror's classifiers."""
    target_size: OrFalse[Annotated[int, Field(ge=1)]] = None
    """Number of problems at which the filter stops; by default none."""
    remove: Literal["problems", "twins"] = "problems"
    """Units that are removed: "problems" one by one, or "twins" whole, with the copies of their
    halves, but not their families; each twin is then on one side of every partition."""
    null: Literal["off", "report"] = "off"
    """Whether to "report", for every phase, how many problems reach the threshold by chance (with
    the answers of whole blocks flipped)."""
    whole_twins: bool = False
    """Keep both halves, and the rest of their block (copies, families, look-alikes), on one side of
    each partition; with remove = "twins", only the halves and copies."""
    keep: OrFalse[Annotated[int, Field(ge=1)]] = None
    """Number of problems that "random" and "pmi" keep; by default as many as AFLite would."""
    pmi: Literal["signed", "absolute", "max", "pairwise"] = "signed"
    """Variant of "pmi", which scores twins; singles are drawn at the same rate."""
    pmi_label: Literal["first-mentioned", "option-1"] = "first-mentioned"
    """Correct option that counts as y = 1 of "pmi": "first-mentioned" in the sentence, or
    "option-1", as in the paper, whose result depends on the order of options."""
    null_draws: Annotated[int, Field(ge=20)] = 20
    """Number of draws of twin-flipped labels for every null; an interval needs 20. With the null
    "report" a phase takes this many times longer."""
    again: bool = True
    """Filter also with another seed, and with vectors perturbed by a ten-thousandth, and report how
    much of what was removed is removed again; the filter takes three times as long."""


@declaration
class MeasureRecipe:
    """`[measure]`: how the build measures what a model can still predict after the filter."""

    splits: Annotated[int, Field(ge=0)] = 5
    """Number of times that the problems are split at random into two halves, which are filtered
    separately (see `winosmith.debias.verify`): the filter runs twice for each. 0 measures nothing,
    and the report then says so and claims no success."""
