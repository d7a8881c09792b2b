"""From the rule of a solver to the solver, and the digest of what determines its scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winosmith._version import __version__
from winosmith.solver_rule import SolverRule

if TYPE_CHECKING:
    from winosmith.dataset import Dataset
    from winosmith.seen import Sees
    from winosmith.solve import Solver

__all__ = ["MadeSolver", "made_solver"]

CONCURRENCY = 4
"""Requests at once to a chat server, where `concurrency` does not say."""

SMOOTHING = 1.0
"""Of word association: Laplace's, for what is learnt from is small."""


@dataclass(frozen=True)
class MadeSolver:
    """A solver, and what it is.

    Attributes:
        solver: ready to be asked; the first question may load its weights.
        digest: 64 hexadecimal digits of its weights, and of all else that determines a score.
        revision: what its maker calls the revision, or what stands for that.
        about: what the solver says determines its scores, for pages; neither paths nor keys.
        at_once: how many problems are asked in threads of their own; 1 where a batch is one call.
    """

    solver: Solver
    digest: str
    revision: str
    about: dict[str, Any] = field(default_factory=dict)
    at_once: int = 1


@dataclass(frozen=True)
class _Source:
    """What makers are given beside the rule's options.

    Attributes:
        options: the rule's.
        folder: from where relative paths are seen.
        cache: where full-text indexes are kept.
        train: what a solver learns from.
        patience: seconds after which a chat server's reply is too late.
        sees: the blank, or the pronoun.
    """

    options: Mapping[str, Any]
    folder: Path
    cache: Path
    train: Dataset
    patience: float

    @property
    def sees(self) -> Sees:
        return "pronoun" if self.options.get("sees") == "pronoun" else "blank"


def made_solver(
    rule: SolverRule,
    folder: Path,
    train: Dataset | None = None,
    *,
    cache: Path | None = None,
    patience: float = 60.0,
) -> MadeSolver:
    """Make the solver of a rule; weights are read later, when it is asked.

    Args:
        rule: what is to be made.
        folder: from where its relative paths are seen.
        train: what it learns from, or is shown before a question; the twins that ship when None.
        cache: where full-text indexes are kept; the user's cache when None.
        patience: seconds after which a chat server's reply is too late.

    Raises:
        InputError: what the rule names is not there, or can't be used.
        DataError: `train` can't be learnt from.

    >>> found = made_solver(SolverRule("words", "association"), Path())
    >>> found.about["features"], len(found.digest)
    ('words', 64)
    """
    from winosmith import embed, practice

    source = _Source(
        rule.options,
        folder,
        cache or embed.cache_folder() / "texts",
        practice.handwritten() if train is None else train,
        patience,
    )
    solver, weights, revision = _MAKERS[rule.solver](source)
    about = {"solver": rule.solver, **getattr(solver, "parameters", {})}
    whole = json.dumps({"about": about, "weights": weights}, sort_keys=True, ensure_ascii=False)
    return MadeSolver(
        solver,
        hashlib.sha256(whole.encode()).hexdigest(),
        str(rule.options.get("revision", revision))[:80],
        about,
        rule.options.get("concurrency", CONCURRENCY) if rule.solver == "chat" else 1,
    )


Parts = tuple["Solver", str, str]
"""A solver, a digest of what it has learnt or reads, and its revision."""


def _random(source: _Source) -> Parts:
    from winosmith import solve

    return solve.Random(source.options.get("seed", 0)), "", __version__


def _majority(source: _Source) -> Parts:
    from winosmith import solve

    return solve.Majority.trained_on(source.train), "", __version__


def _association(source: _Source) -> Parts:
    """Return word association that knows the twins that ship, or what it is taught.

    By `words` it has an opinion on nearly every sentence, if no better than chance; the few
    `pairs` of the twins that ship are in hardly any other.
    """
    from winosmith import solve

    features = source.options.get("features", "words")
    solver = solve.WordAssociation.trained_on(
        source.train, features=features, sees=source.sees, smoothing=SMOOTHING
    )
    state = hashlib.sha256()
    for key, values in sorted(solver.weights.items()):
        state.update(f"{key}\0{' '.join(f'{value:.9g}' for value in values)}\n".encode())
    asked: Solver = solve.TwoWay(solver) if features == "words" else solver
    return asked, state.hexdigest(), __version__


def _hunting(source: _Source) -> Parts:
    """Return knowledge hunting in a collection of texts, by default the articles that ship."""
    from winosmith import solve

    with _collection(source) as texts:
        index = solve.FullTextIndex.of(texts, source.cache)
    solver = solve.KnowledgeHunting(index, source.options.get("snippets", 20))
    return solver, index.digest, index.digest[:12]


@contextmanager
def _collection(source: _Source) -> Iterator[Path]:
    if "collection" in source.options:
        yield source.folder / str(source.options["collection"])
        return
    shipped = resources.files("winosmith").joinpath("topics.jsonl")
    with resources.as_file(shipped) as path:
        yield path


def _causal(source: _Source) -> Parts:
    from winosmith import solve

    model, weights, revision = _weights(source)
    count = source.options.get("shots", 0)
    seed = source.options.get("seed", 0)
    prompt = solve.shots(source.train, count, seed=seed, sees=source.sees) if count else ""
    solver = solve.Causal(
        model,
        source.options.get("scoring", "partial"),
        prompt=prompt,
        sees=source.sees,
        device=source.options.get("device"),
    )
    return solver, weights, revision


def _masked(source: _Source) -> Parts:
    from winosmith import solve

    model, weights, revision = _weights(source)
    kind = source.options.get("scoring", "sentence")
    device = source.options.get("device")
    return solve.Masked(model, kind, sees=source.sees, device=device), weights, revision


def _encoder(source: _Source) -> Parts:
    from winosmith import solve

    model, weights, revision = _weights(source)
    return solve.EncoderSolver(model, device=source.options.get("device")), weights, revision


def _weights(source: _Source) -> tuple[str, str, str]:
    """Return where a model lies, the digest of its files, and its revision.

    A folder is named by its digest; of the hub's models the folder's name is the commit.
    """
    from winosmith import models

    named = source.folder / str(source.options["model"])
    place = models.model_folder(named if named.is_dir() else str(source.options["model"]))
    digest = models.weights_digest(place)
    in_hub = place.parent.name == "snapshots"
    return str(place), digest, place.name[:12] if in_hub else digest[:12]


def _chat(source: _Source) -> Parts:
    """Return a chat model as a solver; the key is read from the environment, request by request."""
    from winosmith import chat, solve

    client = chat.Client(
        source.options["model"],
        source.options["base_url"],
        temperature=source.options.get("temperature", 0.0),
        max_tokens=source.options.get("max_tokens", 256),
        key_variable=source.options.get("key_variable"),
        concurrency=1,
        timeout=source.patience,
        patience=source.patience,
    )
    settings = {
        "swap": source.options.get("swap", False),
        "scoring": source.options.get("scoring", "reply"),
        "sees": source.sees,
    }
    if count := source.options.get("shots", 0):
        seed = source.options.get("seed", 0)
        solver = solve.ChatSolver.with_shots(client, source.train, count, seed=seed, **settings)
    else:
        solver = solve.ChatSolver(client, **settings)
    told = f"{source.options['base_url']}\0{solver.opening}"
    return solver, hashlib.sha256(told.encode()).hexdigest(), str(source.options["model"])


_MAKERS: dict[str, Callable[[_Source], Parts]] = {
    "random": _random,
    "majority": _majority,
    "association": _association,
    "hunting": _hunting,
    "causal": _causal,
    "masked": _masked,
    "encoder": _encoder,
    "chat": _chat,
}
