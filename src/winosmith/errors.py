"""The errors of winosmith, in one tree.

    WinosmithError
    ├── InputError                 unusable input: the command ends with code 2
    │   ├── ProblemError           a record that is not a problem, with the reason
    │   ├── FormatError            a file that can't be read: file, line, reason
    │   ├── RecipeError            a recipe with an unknown key or a value out of range
    │   ├── OutputError            a folder or file that must not be written to
    │   ├── DataError              arrays or labels that can't be filtered or measured
    │   │   ├── OtherDataError     predictions of other problems than a data set's
    │   │   └── SameInputError     groups that were the same input to the solver compared on them
    │   └── MissingExtraError      an optional dependency that is not installed
    └── Interrupted                stopped by the user, with how to resume: code 130

Every message states the fault, its place and the remedy.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

__all__ = [
    "DataError",
    "FormatError",
    "InputError",
    "Interrupted",
    "MissingExtraError",
    "OtherDataError",
    "OutputError",
    "ProblemError",
    "RecipeError",
    "SameInputError",
    "WinosmithError",
    "check_choice",
    "first_line",
    "require",
]


class WinosmithError(Exception):
    """Base class of winosmith's errors."""


class InputError(WinosmithError, ValueError):
    """The input can't be used; the message states the reason and the remedy."""


class ProblemError(InputError):
    """A record is not a problem (no blank, two blanks, equal options, …)."""


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

    def because(self, reason: str) -> FormatError:
        """Return an error about the same place with another reason."""
        return FormatError(reason, self.path, self.line, self.unit)

    def __reduce__(
        self,
    ) -> tuple[type[FormatError], tuple[str, str | None, int | None, Literal["line", "row"]]]:
        """Pickle by parts, so that the error can leave a worker process."""
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
    """An output folder or file must not be written to."""


class DataError(InputError):
    """Arrays, labels or data sets can't be filtered or measured."""


class OtherDataError(DataError):
    """Predictions don't match the problems of a data set.

    Attributes:
        common: number of problems with a prediction.
    """

    def __init__(self, message: str, common: int = 0):
        self.common = common
        super().__init__(message)


class SameInputError(DataError):
    """Groups can't be compared because the solver's inputs were the same in both."""


class MissingExtraError(InputError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class Interrupted(WinosmithError):  # noqa: N818 - it reports a wish of the user's, not a fault
    """The user stopped the work; the message states what is finished and how to resume."""


def first_line(error: BaseException) -> str:
    r"""Return the first line of a library's message, without the mark at its end.

    If the message is empty, it is the name of the error's class.

    >>> first_line(OSError("\nno network.\nRetry later.")), first_line(TimeoutError())
    ('no network', 'TimeoutError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(" .:;")


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse a value that a `Literal` does not list.

    Raises:
        InputError: the value is not in the list, which the message contains.

    >>> check_choice("pooling", "max", Literal["mean", "cls"])
    Traceback (most recent call last):
    winosmith.errors.InputError: unknown pooling 'max'; use 'mean' or 'cls'
    """
    if value not in get_args(choices):
        *first, last = map(repr, get_args(choices))
        raise InputError(f"unknown {name} {value!r}; use {', '.join(first)} or {last}")


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module.

    Raises:
        MissingExtraError: the module is not installed; the message names winosmith's extra.

    >>> require("json", "models").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"this needs the package {error.name!r}, which is not installed; "
            f"install it with: pip install 'winosmith[{extra}]'"
        ) from error
