"""A solver as a table of TOML names it: for a round, for the platform."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from winosmith.errors import InputError, RecipeError
from winosmith.options import OrFalse, declaration, from_table

__all__ = ["KINDS", "LEARNERS", "SolverRule"]

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,29}")

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")

Text = Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")]
Seed = Annotated[int, Field(ge=0)]


def _check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError("use up to 30 small letters, digits and dashes")
    return name


def _check_variable(name: str) -> str:
    if not VARIABLE.fullmatch(name):
        raise ValueError("it must be the name of an environment variable, such as OPENAI_API_KEY")
    return name


@declaration
class _Common:
    revision: OrFalse[Annotated[str, Field(min_length=1, max_length=80, pattern=r"\S")]] = None
    """Revision that people read; by default the digest."""
    trained_on: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)] = ()
    """What the solver was trained on: files, published sets, and "other:NAME"."""


@declaration
class _Sees:
    sees: Literal["blank", "pronoun"] = "blank"
    """What the solver sees in place of the options: the blank, or the pronoun that it replaced."""


@declaration
class _Seeded:
    seed: Seed = 0
    """Random seed."""


@declaration
class _Shots(_Seeded):
    shots: Annotated[int, Field(ge=0)] = 0
    """Number of solved problems in the prompt."""


@declaration
class _Model:
    model: Text
    """Folder, relative to the file's own, or hub id of the model; on a chat server, its name."""


@declaration
class _Files(_Model):
    device: OrFalse[Text] = None
    """Device, as torch names it; by default the GPU if there is one."""
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    """Number of processor threads on a site."""
    memory_gb: OrFalse[Annotated[int, Field(ge=1, le=4096)]] = None
    """Memory in GB beyond which a site starts the model's process again; by default 1.5 GB more
    than at its start."""


@declaration
class _Random(_Common, _Seeded):
    """Answers at random: chance."""


@declaration
class _Majority(_Common):
    """Answers the option at the place that is correct most often in what it learns from."""


@declaration
class _Association(_Common, _Sees):
    """Word association: the pointwise mutual information of words with answers."""

    features: Literal["pairs", "words"] = "words"
    """What is counted."""


@declaration
class _Hunting(_Common):
    """Knowledge hunting: evidence found in texts."""

    collection: OrFalse[Text] = None
    """A text, or a folder of texts; by default the articles that ship."""
    snippets: Annotated[int, Field(ge=1, le=1000)] = 20
    """Number of snippets that are read for each search."""


@declaration
class _Causal(_Common, _Shots, _Sees, _Files):
    """The likelihood of each completed sentence under a causal language model."""

    scoring: Literal["partial", "full", "partial_per_token", "full_per_token"] = "partial"
    """Part of the sentence that is scored."""


@declaration
class _Masked(_Common, _Sees, _Files):
    """The likelihood of each option under a masked language model."""

    scoring: Literal["sentence", "option", "sentence_per_token", "option_per_token"] = "sentence"
    """Part of the sentence that is scored."""


@declaration
class _Encoder(_Common, _Files):
    """An encoder that was fine-tuned for multiple choice, such as by `winosmith train`."""

    sees: OrFalse[Literal["blank", "pronoun"]] = None
    """What the encoder sees; by default what it was trained to see."""


@declaration
class _Address:
    base_url: Text
    """Address of an OpenAI-compatible server."""


@declaration
class _Chat(_Common, _Shots, _Sees, _Address, _Model):
    """A chat model, asked through an OpenAI-compatible server."""

    key_variable: Annotated[
        OrFalse[Annotated[str, AfterValidator(_check_variable)]],
        Field(json_schema_extra={"writeOnly": True}),
    ] = None
    """Name of the environment variable that holds the server's key; by default OPENAI_API_KEY, for
    https on another machine. The key itself is never in a file."""
    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Temperature of the replies."""
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 256
    """Number of tokens of a reply, at most."""
    draws: Annotated[int, Field(ge=1)] = 1
    """Number of times that the solved problems are drawn; the replies are votes."""
    swap: bool = False
    """Ask also with the options in other places, and measure the preference for a place."""
    scoring: Literal["reply", "logprobs"] = "reply"
    """What is scored: the reply, or the probabilities of its first token."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    """Number of requests at the same time."""


KINDS: dict[str, type] = {
    "random": _Random,
    "majority": _Majority,
    "association": _Association,
    "hunting": _Hunting,
    "causal": _Causal,
    "masked": _Masked,
    "encoder": _Encoder,
    "chat": _Chat,
}
"""The options of each kind of solver.

Random, majority and hunting see no pronoun (`winosmith.seen`)."""

LEARNERS = ("majority", "association", "causal", "chat")
"""Kinds that are taught: by counting, or by problems shown before the question (`shots`)."""


@declaration
class SolverRule:
    """One solver of a TOML file: a `[[solvers]]` of a round, a `[[models]]` of a site.

    >>> SolverRule("minilm", "encoder", {"model": "tuned"}).options["model"]
    'tuned'
    """

    name: Annotated[str, AfterValidator(_check_name)]
    """Name of the solver: up to 30 small letters, digits and dashes; part of addresses."""
    solver: Literal[
        "random", "majority", "association", "hunting", "causal", "masked", "encoder", "chat"
    ]
    """Kind of solver."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of that kind, such as `model`, as they were given."""
    learn: bool = False
    """The solver is taught problems by those who make it; otherwise it knows the twins that
    ship."""

    def __post_init__(self) -> None:
        settings = self.settings
        if self.learn and self.solver not in LEARNERS:
            raise ValueError(f"learn is for {', '.join(LEARNERS)}")
        if self.solver == "chat":
            from winosmith.chat import Client

            try:
                Client(settings.model, settings.base_url)
            except InputError as error:
                raise ValueError(f"base_url: {error}") from None

    @property
    def settings(self) -> Any:
        """The options, with the defaults of those that were not given."""
        return from_table(KINDS[self.solver], self.options)

    @classmethod
    def of(cls, table: Any, *, learns: bool = False) -> SolverRule:
        """Return the rule of one table of a file.

        Args:
            table: as TOML gives it.
            learns: the file may say `learn = true`.

        Raises:
            RecipeError: it is not a table, or lacks `name` or `solver`; or as the rule itself.
        """
        if not isinstance(table, dict) or not {"name", "solver"} <= set(table):
            raise RecipeError('each table of a solver needs name = "…" and solver = "…"')
        own = {key: table[key] for key in ("name", "solver", *["learn"] * learns) if key in table}
        options = {key: value for key, value in table.items() if key not in own}
        try:
            return cls(**own, options=options)
        except RecipeError as error:
            raise RecipeError(f"the solver {table['name']}: {error}") from None
