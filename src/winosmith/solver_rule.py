"""A solver as a table of TOML names it: for a round, for the platform."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from winosmith.errors import InputError, RecipeError

__all__ = ["KINDS", "LEARNERS", "SolverRule"]

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,29}")

VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,60}")

Check = Callable[[Any], str | None]
"""Says what a value should be where it is not; it never repeats the value."""


def _text(value: Any) -> str | None:
    fits = isinstance(value, str) and value.strip() and len(value) <= 300
    return None if fits else "is a text of up to 300 characters"


def _revision(value: Any) -> str | None:
    fits = isinstance(value, str) and value.strip() and len(value) <= 80
    return None if fits else "is a text of up to 80 characters"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "is true or false"


def _variable(value: Any) -> str | None:
    if isinstance(value, str) and VARIABLE.fullmatch(value):
        return None
    return "names an environment variable, such as OPENAI_API_KEY; a key never stands in the file"


def _names(value: Any) -> str | None:
    fits = isinstance(value, list) and value and not any(map(_text, value))
    return None if fits else 'is a list of files, published sets and "other:NAME"'


def _whole(least: int, most: int) -> Check:
    def check(value: Any) -> str | None:
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return None if fits else f"is a whole number from {least:,} to {most:,}"

    return check


def _number(value: Any) -> str | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 10
    return None if fits else "is a number from 0 to 10"


def _one_of(*words: str) -> Check:
    def check(value: Any) -> str | None:
        return None if value in words else f"is one of {', '.join(words)}"

    return check


_SEES: dict[str, Check] = {"sees": _one_of("blank", "pronoun")}
_SHOTS: dict[str, Check] = {"shots": _whole(0, 100), "seed": _whole(0, 2**31)}
_FILES: dict[str, Check] = {
    "model": _text,
    "device": _text,
    "threads": _whole(1, 256),
    "memory_gb": _whole(1, 4096),
}
_PARTIAL = ("partial", "full", "partial_per_token", "full_per_token")
_SENTENCE = ("sentence", "option", "sentence_per_token", "option_per_token")

KINDS: dict[str, dict[str, Check]] = {
    "random": {"seed": _whole(0, 2**31)},
    "majority": {},
    "association": {**_SEES, "features": _one_of("pairs", "words")},
    "hunting": {"collection": _text, "snippets": _whole(1, 1000)},
    "causal": {**_FILES, **_SHOTS, **_SEES, "scoring": _one_of(*_PARTIAL)},
    "masked": {**_FILES, **_SEES, "scoring": _one_of(*_SENTENCE)},
    "encoder": _FILES,
    "chat": {
        **_SHOTS,
        **_SEES,
        "model": _text,
        "base_url": _text,
        "key_variable": _variable,
        "temperature": _number,
        "max_tokens": _whole(1, 100_000),
        "swap": _flag,
        "scoring": _one_of("reply", "logprobs"),
        "concurrency": _whole(1, 64),
    },
}
"""By kind of solver, its options; each may have a `revision`, too, and say by `trained_on` what it
was trained on: files, published sets, or "other:NAME".

An encoder sees what it was trained to; who answers at random, by the majority or by hunting, sees
no pronoun (`winosmith.seen`)."""

_NEEDED = {
    "causal": ("model",),
    "masked": ("model",),
    "encoder": ("model",),
    "chat": ("model", "base_url"),
}

LEARNERS = ("majority", "association", "causal", "chat")
"""Kinds that are taught: by counting, or by problems shown before the question (`shots`)."""


@dataclass(frozen=True, slots=True)
class SolverRule:
    """One solver of a TOML file: a `[[solvers]]` of a round, a `[[models]]` of a site.

    Attributes:
        name: up to 30 small letters, digits and dashes; part of addresses.
        solver: the kind of solver, one of `KINDS`.
        options: what that kind is made of, such as `model`, a folder or a hub id.
        learn: it is taught problems, by those who make it; else it knows the twins that ship.

    Raises:
        RecipeError: the name can't be used, there is no such kind, or it has no such option, lacks
            one, or one is out of its range.

    >>> SolverRule("minilm", "encoder", {"model": "tuned"}).options["model"]
    'tuned'
    """

    name: str
    solver: str
    options: Mapping[str, Any] = field(default_factory=dict)
    learn: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise RecipeError(
                f"a solver can't be named {self.name!r}; use up to 30 small letters, digits and "
                "dashes"
            )
        if not isinstance(self.solver, str) or self.solver not in KINDS:
            raise self._refusal(f"solver is one of {', '.join(KINDS)}; not {self.solver!r}")
        known = {**KINDS[self.solver], "revision": _revision, "trained_on": _names}
        for key, value in self.options.items():
            if key not in known:
                raise self._refusal(
                    f"{key!r} is not for the solver {self.solver!r}; it takes "
                    f"{', '.join(sorted(known))}"
                )
            if wanted := known[key](value):
                raise self._refusal(f"{key} {wanted}")
        for key in _NEEDED.get(self.solver, ()):
            if key not in self.options:
                raise self._refusal(f"the solver {self.solver!r} needs {key} = …")
        if self.learn and self.solver not in LEARNERS:
            raise self._refusal(f"learn is for {', '.join(LEARNERS)}")
        if self.solver == "chat":
            self._check_address()

    def _refusal(self, reason: str) -> RecipeError:
        return RecipeError(f"the solver {self.name}: {reason}")

    def _check_address(self) -> None:
        from winosmith.chat import Client

        try:
            Client(self.options["model"], self.options["base_url"])
        except InputError as error:
            raise self._refusal(f"base_url: {error}") from None

    @classmethod
    def of(cls, table: Any, *, learns: bool = False) -> SolverRule:
        """Return the rule of one table of a file.

        Args:
            table: as TOML gives it.
            learns: the file may say `learn = true`.

        Raises:
            RecipeError: it is no table, or lacks `name` or `solver`; or as the rule itself.
        """
        if not isinstance(table, dict) or not {"name", "solver"} <= set(table):
            raise RecipeError('each table of a solver needs name = "…" and solver = "…"')
        own = ("name", "solver", *(("learn",) if learns else ()))
        options = {key: value for key, value in table.items() if key not in own}
        if not isinstance(learn := table.get("learn", False), bool):
            raise RecipeError(f"the solver {table['name']}: learn is true or false")
        return cls(table["name"], table["solver"], options, learn if learns else False)
