"""Declare the kinds of solvers, and the TOML tables of solvers in rounds and sites.

Each kind declares its options, whether it learns, and how to construct and identify the solver.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from winosmith._version import __version__
from winosmith.errors import InputError, RecipeError
from winosmith.options import OrFalse, Seed, declaration, describe_values, from_table, match_pattern

if TYPE_CHECKING:
    from winosmith.solve import Combination, Solver

SMOOTHING = 1.0
"""Laplace smoothing for word association in TOML files, where training sets are small."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,29}")

Variable = Annotated[
    str,
    match_pattern(
        r"[A-Za-z_][A-Za-z0-9_]{0,60}",
        "the name of an environment variable, such as OPENAI_API_KEY",
    ),
]

Options = Mapping[str, Any]
Text = Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")]


def _check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError("use up to 30 lower-case letters, digits and dashes")
    return name


@dataclass(frozen=True)
class SolverParts:
    """Objects that a solver needs in addition to the options of its kind.

    Attributes:
        train: the `Dataset` to learn from or to draw shots from, if any.
        models: for language models and encoders: folders or hub ids that replace the model in the
            options; several form an ensemble.
        combine: how an ensemble combines the scores of its models.
        smoothing: for word association: the number added to each count; None uses the default.
        index: for knowledge hunting: the `Retriever` to search.
        client: for chat: the `ChatModel` to ask.
        reply_log: for chat: a list to which replies are appended; None discards them.
        on_progress: called with the number of texts that a model has read, and the total number.
    """

    train: Any = None
    models: Sequence[str] = ()
    combine: Combination = "product"
    smoothing: float | None = None
    index: Any = None
    client: Any = None
    reply_log: list[Any] | None = None
    on_progress: Callable[[int, int], None] | None = None


class _SolverOptions(ABC):
    """Base class of solver options, which can construct the solver and compute its identity."""

    def make(self, parts: SolverParts) -> Solver:
        from winosmith import solve  # here, because it imports numpy

        return self.build(solve, parts)

    @abstractmethod
    def build(self, solve: Any, parts: SolverParts) -> Solver:
        """Construct the solver; `solve` is the package `winosmith.solve`."""

    def find_parts(self, folder: Path, cache: Path, timeout: float) -> Options:
        """Return the fields of `SolverParts` that the options name; paths are relative to `folder`.

        `cache` is the folder of full-text indexes; `timeout` is the time limit for a chat
        server's reply, in seconds.
        """
        return {}

    def identify(self, solver: Any) -> tuple[str, str]:
        """Return the digest of a solver's weights or texts, and its revision."""
        return "", __version__


@declaration
class Kind(_SolverOptions):
    """Base class of solver kinds, with the options of all kinds."""

    learns = False

    revision: OrFalse[Annotated[str, Field(min_length=1, max_length=80, pattern=r"\S")]] = None
    """Human-readable revision of the model; by default its digest."""
    trained_on: Annotated[tuple[Text, ...], Field(min_length=1, strict=False)] = ()
    """Training data of the solver: files, published data sets, and "other:NAME"."""


@declaration
class _InputOption:
    sees: Literal["blank", "pronoun"] = "blank"
    """Input of the solver: the sentence with the blank, or with the pronoun that it replaced."""


@declaration
class _SeedOption:
    seed: Seed = 0
    """Random seed."""


@declaration
class _ShotOptions(_SeedOption):
    shots: Annotated[int, Field(ge=0)] = 0
    """Number of solved problems in the prompt."""


@declaration
class _ModelOption:
    model: Text
    """Folder (relative to the file) or hub id of the model; for a chat server, its name."""


@declaration
class _LocalModelOptions(_ModelOption, _SolverOptions):
    device: OrFalse[Text] = None
    """Torch device, such as "cpu" or "cuda:0"; by default the GPU if there is one."""
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    """Number of processor threads on a site."""
    memory_gb: OrFalse[Annotated[int, Field(ge=1, le=4096)]] = None
    """Memory in GB above which a site restarts the model's process; by default 1.5 GB more than at
    startup."""

    def build_models(self, solve: Any, kind: Any, parts: SolverParts, settings: Options) -> Any:
        settings = {**settings, "device": self.device, "on_progress": parts.on_progress}
        solvers = tuple(kind(model, **settings) for model in parts.models or (self.model,))
        return solvers[0] if len(solvers) == 1 else solve.Ensemble(solvers, parts.combine)

    def find_parts(self, folder: Path, cache: Path, timeout: float) -> Options:
        """Find the model's folder, or download the model."""
        from winosmith.models import find_model_folder

        named = folder / self.model
        return {"models": (str(find_model_folder(named if named.is_dir() else self.model)),)}

    def identify(self, solver: Any) -> tuple[str, str]:
        """Return the digest of the weights, and the revision on the hub (the digest if unknown)."""
        from winosmith.models import digest_weights

        place = Path(solver.model)
        digest = digest_weights(place)
        return digest, place.name[:12] if place.parent.name == "snapshots" else digest[:12]


@declaration
class _Random(Kind, _SeedOption):
    """Random answers, drawn with a seed."""

    def build(self, solve: Any, parts: SolverParts) -> Any:
        return solve.Random(self.seed)


@declaration
class _Majority(Kind):
    """The option whose position is most often correct in the training data."""

    learns = True

    def build(self, solve: Any, parts: SolverParts) -> Any:
        return solve.Majority.trained_on(parts.train)


@declaration
class _Association(Kind, _InputOption):
    """Word association: the pointwise mutual information of words with answers."""

    learns = True

    features: Literal["pairs", "words"] = "words"
    """What is counted."""

    def build(self, solve: Any, parts: SolverParts) -> Any:
        smoothing = {"smoothing": parts.smoothing} if parts.smoothing else {}
        solver = solve.WordAssociation.trained_on(
            parts.train, features=self.features, sees=self.sees, **smoothing
        )
        return solve.TwoWay(solver) if self.features == "words" else solver

    def find_parts(self, folder: Path, cache: Path, timeout: float) -> Options:
        return {"smoothing": SMOOTHING}

    def identify(self, solver: Any) -> tuple[str, str]:
        state = hashlib.sha256()
        for key, values in sorted(getattr(solver, "solver", solver).weights.items()):
            state.update(f"{key}\0{' '.join(f'{value:.9g}' for value in values)}\n".encode())
        return state.hexdigest(), __version__


@declaration
class _Hunting(Kind):
    """Knowledge hunting: evidence found in texts."""

    collection: OrFalse[Text] = None
    """A text, or a folder of texts; by default winosmith's how-to articles."""
    snippets: Annotated[int, Field(ge=1, le=1000)] = 20
    """Number of snippets to read per search."""

    def build(self, solve: Any, parts: SolverParts) -> Any:
        return solve.KnowledgeHunting(parts.index, self.snippets)

    def find_parts(self, folder: Path, cache: Path, timeout: float) -> Options:
        from winosmith.solve import FullTextIndex

        return {"index": FullTextIndex.open(self.collection and folder / self.collection, cache)}

    def identify(self, solver: Any) -> tuple[str, str]:
        return solver.retriever.digest, solver.retriever.digest[:12]


@declaration
class _Causal(Kind, _ShotOptions, _InputOption, _LocalModelOptions):
    """The likelihood of each completed sentence under a causal language model."""

    learns = True

    scoring: Literal["partial", "full", "partial_per_token", "full_per_token"] = "partial"
    """Part of the sentence that is scored."""

    def build(self, solve: Any, parts: SolverParts) -> Any:
        prompt = ""
        if self.shots and parts.train is not None:
            prompt = solve.make_prompt(parts.train, self.shots, seed=self.seed, sees=self.sees)
        settings = {"kind": self.scoring, "prompt": prompt, "sees": self.sees}
        return self.build_models(solve, solve.Causal, parts, settings)


@declaration
class _Masked(Kind, _InputOption, _LocalModelOptions):
    """The likelihood of each option under a masked language model."""

    scoring: Literal["sentence", "option", "sentence_per_token", "option_per_token"] = "sentence"
    """Part of the sentence that is scored."""

    def build(self, solve: Any, parts: SolverParts) -> Any:
        settings = {"kind": self.scoring, "sees": self.sees}
        return self.build_models(solve, solve.Masked, parts, settings)


@declaration
class _Encoder(Kind, _LocalModelOptions):
    """An encoder that was fine-tuned for multiple choice, such as by `winosmith train`."""

    sees: OrFalse[Literal["blank", "pronoun"]] = None
    """Input of the encoder; by default the input that it was trained on."""

    def build(self, solve: Any, parts: SolverParts) -> Any:
        return self.build_models(solve, solve.EncoderSolver, parts, {"sees": self.sees})


@declaration
class _ServerOption:
    base_url: Text
    """Base URL of an OpenAI-compatible server."""


@declaration
class _Chat(Kind, _ShotOptions, _InputOption, _ServerOption, _ModelOption):
    """A chat model on an OpenAI-compatible server."""

    learns = True

    key_variable: Annotated[OrFalse[Variable], Field(json_schema_extra={"writeOnly": True})] = None
    """Name of the environment variable with the server's key; by default OPENAI_API_KEY for
    https on another machine. Files never contain the key itself."""
    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Temperature of the replies."""
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 256
    """Maximum number of tokens per reply."""
    draws: Annotated[int, Field(ge=1)] = 1
    """Number of times to draw the solved problems; the replies are votes."""
    swap: bool = False
    """Ask again with the options in other orders, and measure the preference for positions."""
    scoring: Literal["reply", "logprobs"] = "reply"
    """What to score: the reply, or the probabilities of its first token."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    """Number of concurrent requests."""

    def build(self, solve: Any, parts: SolverParts) -> Any:
        settings = {name: getattr(self, name) for name in ("swap", "scoring", "sees")}
        settings["reply_log"] = parts.reply_log
        if not self.shots or parts.train is None:
            return solve.ChatSolver(parts.client, **settings)
        return solve.ChatSolver.with_shots(
            parts.client, parts.train, self.shots, draws=self.draws, seed=self.seed, **settings
        )

    def find_parts(self, folder: Path, cache: Path, timeout: float) -> Options:
        from winosmith.chat import Client

        named = ("model", "base_url", "temperature", "max_tokens", "key_variable")
        settings = {name: getattr(self, name) for name in named}
        client = Client(**settings, concurrency=1, timeout=timeout, patience=timeout)
        return {"client": client}

    def identify(self, solver: Any) -> tuple[str, str]:
        digest = hashlib.sha256(f"{self.base_url}\0{solver.opening}".encode())
        return digest.hexdigest(), self.model


KINDS: dict[str, Any] = {
    "random": _Random,
    "majority": _Majority,
    "association": _Association,
    "hunting": _Hunting,
    "causal": _Causal,
    "masked": _Masked,
    "encoder": _Encoder,
    "chat": _Chat,
}
"""Maps each kind of solver to the class of its options.

Random, majority and hunting never see the pronoun (`winosmith.seen`)."""

LEARNERS = tuple(kind for kind, of in KINDS.items() if of.learns)
"""Kinds of solvers that learn by counting, or from solved problems in the prompt (`shots`)."""


def _check_kind(kind: str) -> str:
    if kind not in KINDS:  # programs may add kinds
        raise ValueError(f"it must be {describe_values({'enum': list(KINDS)})}")
    return kind


@declaration
class SolverRule:
    """A solver's table in a TOML file: `[[solvers]]` of a round or `[[models]]` of a site.

    >>> SolverRule("minilm", "encoder", {"model": "tuned"}).options["model"]
    'tuned'
    """

    name: Annotated[str, AfterValidator(_check_name)]
    """Name of the solver: up to 30 lower-case letters, digits and dashes; part of URLs."""
    solver: Annotated[
        str, AfterValidator(_check_kind), Field(json_schema_extra={"enum": list(KINDS)})
    ]
    """Kind of solver."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options for this kind of solver, such as `model`."""
    learn: bool = False
    """Whether the solver learns from the site's or round's own problems; otherwise it learns
    from the twins that are installed with winosmith."""

    def __post_init__(self) -> None:
        settings = self.settings
        if self.learn and not KINDS[self.solver].learns:
            raise ValueError(f"learn applies only to {', '.join(LEARNERS)}")
        if self.solver == "chat":
            from winosmith.chat import Client

            try:
                Client(settings.model, settings.base_url)
            except InputError as error:
                raise ValueError(f"base_url: {error}") from None

    @property
    def settings(self) -> Any:
        """The validated options, including defaults."""
        return from_table(KINDS[self.solver], self.options)

    @classmethod
    def parse(cls, table: Any, *, learns: bool = False) -> SolverRule:
        """Construct a rule from a table of a TOML file.

        Args:
            table: the parsed TOML table.
            learns: whether the file may contain `learn = true`.

        Raises:
            RecipeError: `table` is not a table, lacks `name` or `solver`, or is not a valid rule.
        """
        if not isinstance(table, dict) or not {"name", "solver"} <= set(table):
            raise RecipeError('each solver table needs name = "…" and solver = "…"')
        own = {key: table[key] for key in ("name", "solver", *["learn"] * learns) if key in table}
        options = {key: value for key, value in table.items() if key not in own}
        try:
            return cls(**own, options=options)
        except RecipeError as error:
            raise RecipeError(f"the solver {table['name']}: {error}") from None
