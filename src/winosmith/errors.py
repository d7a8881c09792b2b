"""The exceptions of winosmith.

    WinosmithError
    ├── InputError                 unusable input: the command exits with code 2
    │   ├── ProblemError           a record that is not a problem, with the reason
    │   ├── FormatError            a file that can't be read: file, line, reason
    │   ├── RecipeError            a recipe with an unknown key or a value out of range
    │   ├── OutputError            a folder or file that must not be written to
    │   ├── DataError              arrays or labels that can't be filtered or measured
    │   │   ├── PredictionMismatchError     predictions that do not match a data set's problems
    │   │   └── SameInputError     groups whose inputs are the same for the compared solver
    │   └── MissingExtraError      an optional dependency that is not installed
    └── Interrupted                the user stopped the work; the command exits with code 130

Every message states what is wrong, where, and what to do.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args


class WinosmithError(Exception):
    """Base class of winosmith's exceptions."""


class InputError(WinosmithError, ValueError):
    """The input can't be used. The message states the reason and the remedy."""


class ProblemError(InputError):
    """A record is not a problem (no blank, two blanks, equal options, …)."""


class AdvisedText(str):
    """A message with advice on a parameter, in the syntax of a Python call.

    A command prints the corresponding option. A program that has no such option, like a site, shows
    the fact with its own advice.

    Attributes:
        fact: the message without the advice.
        parameter: the parameter that the advice names.

    >>> text = AdvisedText("the encoding is unknown", "encoding", "; name it with `encoding=`")
    >>> text, text.fact
    ('the encoding is unknown; name it with `encoding=`', 'the encoding is unknown')
    """

    fact: str
    parameter: str

    def __new__(
        cls, fact: str, parameter: str = "", advice: str = "", *, before: str = ""
    ) -> AdvisedText:
        text = super().__new__(cls, f"{before}{fact}{advice}")
        text.fact, text.parameter = fact, parameter
        return text


class FormatError(InputError):
    """A file, or one of its records, can't be read.

    >>> str(FormatError("the sentence has 2 blanks ('_'); exactly 1 is needed", "train.jsonl", 31))
    "train.jsonl:31: the sentence has 2 blanks ('_'); exactly 1 is needed"
    >>> str(FormatError("the record has no 'answer'", "<DataFrame>", 3, "row"))
    "<DataFrame>, row 3: the record has no 'answer'"
    """

    def __init__(
        self,
        reason: str,
        path: str | Path | None = None,
        line: int | None = None,
        unit: Literal["line", "row"] = "line",
    ):
        self.reason = reason
        self.path = None if path is None else str(path)
        self.line = line
        self.unit = unit
        number = "" if line is None else f":{line}" if unit == "line" else f", row {line}"
        super().__init__(reason if path is None else f"{path}{number}: {reason}")

    @classmethod
    def advise(cls, fact: str, parameter: str, advice: str, *place: Any) -> FormatError:
        """Make an error with advice on a parameter; see `AdvisedText`."""
        return cls(AdvisedText(fact, parameter, advice), *place)

    @property
    def fact(self) -> str:
        """The reason without advice on a parameter."""
        return getattr(self.reason, "fact", self.reason)

    @property
    def parameter(self) -> str:
        """The parameter that the reason advises to set, or ""."""
        return getattr(self.reason, "parameter", "")

    def with_reason(self, reason: str) -> FormatError:
        """Return a copy of the error with a different reason."""
        return FormatError(reason, self.path, self.line, self.unit)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments, so that a worker process can raise the error."""
        return FormatError, (self.reason, self.path, self.line, self.unit)


class RecipeError(InputError):
    """A recipe has an unknown key or a value out of range.

    Attributes:
        key: the key of the invalid value, or "".
        wanted: the allowed values, in words.
    """

    key = ""
    wanted = ""


class OutputError(InputError):
    """An output folder or file can't be written, or must not be overwritten."""


class DataError(InputError):
    """Arrays, labels or data sets are unsuitable for filtering or measuring."""


class PredictionMismatchError(DataError):
    """Predictions don't match the problems in a data set.

    Attributes:
        common: number of problems with a prediction.
    """

    def __init__(self, message: str, common: int = 0):
        self.common = common
        super().__init__(message)


class SameInputError(DataError):
    """Groups can't be compared because they contain the same inputs for the solver."""


class MissingExtraError(InputError, ImportError):
    """An optional dependency is not installed. The message names the extra that installs it."""


class Interrupted(WinosmithError):  # noqa: N818 - the user's decision, not an error
    """The user stopped the work. The message states what is finished and how to resume."""


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error's message, without punctuation at the end.

    If the message is empty, return the name of the error's class.

    >>> first_line(OSError("\nno network.\nRetry later.")), first_line(TimeoutError())
    ('no network', 'TimeoutError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(" .:;")


def join_ids(ids: Sequence[str], limit: int = 3) -> str:
    """Format the first ids for a message, with an ellipsis if there are more.

    >>> join_ids(["a", "b", "c", "d"])
    "'a', 'b', 'c', …"
    """
    return ", ".join(map(repr, ids[:limit])) + (", …" if len(ids) > limit else "")


def check_choice(name: str, value: object, choices: Any) -> None:
    """Check that a value is one of the choices of a `Literal`.

    Raises:
        InputError: the value is not among the choices, which the message lists.

    >>> check_choice("pooling", "max", Literal["mean", "cls"])
    Traceback (most recent call last):
    winosmith.errors.InputError: unknown pooling 'max'; use 'mean' or 'cls'
    """
    if value not in get_args(choices):
        *first, last = map(repr, get_args(choices))
        raise InputError(f"unknown {name} {value!r}; use {', '.join(first)} or {last}")


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module, and return it.

    Raises:
        MissingExtraError: the module is not installed; the message names winosmith's extra.

    >>> require("json", "models").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the package {error.name!r} is required but not installed; "
            f"install it with: pip install 'winosmith[{extra}]'"
        ) from error
