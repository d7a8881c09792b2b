"""From a `[[models]]` of `site.toml` to a solver, and the digest of what determines its scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winosmith import __version__

if TYPE_CHECKING:
    from winosmith.dataset import Dataset
    from winosmith.solve import Solver
    from winosmith.web._models import ModelRule

__all__ = ["Made", "made"]

Options = Mapping[str, Any]

CONCURRENCY = 4
"""Requests at once to a chat server, where `concurrency` does not say."""

SMOOTHING = 1.0
"""Of word association: Laplace's, for what is learnt from is small."""


@dataclass(frozen=True)
class Made:
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


def made(rule: ModelRule, folder: Path, patience: float) -> Made:
    """Make the solver of a rule; weights are read later, when it is asked.

    Args:
        rule: checked already.
        folder: the site's; relative paths are seen from there, and indexes are kept there.
        patience: seconds after which a chat server's reply is too late.

    Raises:
        InputError: what the rule names is not there, or can't be used.
    """
    options = {**rule.options, "patience": patience}
    solver, weights, revision = _MAKERS[rule.solver](options, folder)
    about = {"solver": rule.solver, **getattr(solver, "parameters", {})}
    whole = json.dumps({"about": about, "weights": weights}, sort_keys=True, ensure_ascii=False)
    return Made(
        solver,
        hashlib.sha256(whole.encode()).hexdigest(),
        str(rule.options.get("revision", revision))[:80],
        about,
        options.get("concurrency", CONCURRENCY) if rule.solver == "chat" else 1,
    )


Parts = tuple["Solver", str, str]
"""A solver, a digest of what it has learnt or reads, and its revision."""


def _practice() -> Dataset:
    from winosmith import practice

    return practice.handwritten()


def _random(options: Options, folder: Path) -> Parts:
    from winosmith import solve

    return solve.Random(options.get("seed", 0)), "", __version__


def _majority(options: Options, folder: Path) -> Parts:
    from winosmith import solve

    return solve.Majority.trained_on(_practice()), "", __version__


def _association(options: Options, folder: Path) -> Parts:
    """Return word association that knows the twins that ship, and nothing of the site.

    By `words` it has an opinion on nearly every sentence, if no better than chance; the few
    `pairs` of the twins that ship are in hardly any other.
    """
    from winosmith import solve

    features = options.get("features", "words")
    solver = solve.WordAssociation.trained_on(_practice(), features=features, smoothing=SMOOTHING)
    state = hashlib.sha256()
    for key, values in sorted(solver.weights.items()):
        state.update(f"{key}\0{' '.join(f'{value:.9g}' for value in values)}\n".encode())
    asked: Solver = solve.TwoWay(solver) if features == "words" else solver
    return asked, state.hexdigest(), __version__


def _hunting(options: Options, folder: Path) -> Parts:
    """Return knowledge hunting in a collection of texts, by default the articles that ship."""
    from winosmith import solve

    with _collection(options, folder) as texts:
        index = solve.FullTextIndex.of(texts, folder / "models" / "texts")
    solver = solve.KnowledgeHunting(index, options.get("snippets", 20))
    return solver, index.digest, index.digest[:12]


@contextmanager
def _collection(options: Options, folder: Path) -> Iterator[Path]:
    if "collection" in options:
        yield folder / str(options["collection"])
        return
    shipped = resources.files("winosmith.topics").joinpath("articles.jsonl")
    with resources.as_file(shipped) as path:
        yield path


def _causal(options: Options, folder: Path) -> Parts:
    from winosmith import solve

    model, weights, revision = _weights(options, folder)
    count = options.get("shots", 0)
    prompt = solve.shots(_practice(), count, seed=options.get("seed", 0)) if count else ""
    solver = solve.Causal(
        model, options.get("scoring", "partial"), prompt=prompt, device=options.get("device")
    )
    return solver, weights, revision


def _masked(options: Options, folder: Path) -> Parts:
    from winosmith import solve

    model, weights, revision = _weights(options, folder)
    kind = options.get("scoring", "sentence")
    return solve.Masked(model, kind, device=options.get("device")), weights, revision


def _encoder(options: Options, folder: Path) -> Parts:
    from winosmith import solve

    model, weights, revision = _weights(options, folder)
    return solve.EncoderSolver(model, device=options.get("device")), weights, revision


def _weights(options: Options, folder: Path) -> tuple[str, str, str]:
    """Return where a model lies, the digest of its files, and its revision.

    A folder is named by its digest; of the hub's models the folder's name is the commit.
    """
    from winosmith import models

    named = folder / str(options["model"])
    place = models.model_folder(named if named.is_dir() else str(options["model"]))
    digest = models.weights_digest(place)
    in_hub = place.parent.name == "snapshots"
    return str(place), digest, place.name[:12] if in_hub else digest[:12]


def _chat(options: Options, folder: Path) -> Parts:
    """Return a chat model as a solver; the key is read from the environment, request by request."""
    from winosmith import chat, solve

    client = chat.Client(
        options["model"],
        options["base_url"],
        temperature=options.get("temperature", 0.0),
        max_tokens=options.get("max_tokens", 256),
        key_variable=options.get("key_variable"),
        concurrency=1,
        timeout=options["patience"],
        patience=options["patience"],
    )
    settings = {"swap": options.get("swap", False), "scoring": options.get("scoring", "reply")}
    if count := options.get("shots", 0):
        seed = options.get("seed", 0)
        solver = solve.ChatSolver.with_shots(client, _practice(), count, seed=seed, **settings)
    else:
        solver = solve.ChatSolver(client, **settings)
    told = f"{options['base_url']}\0{solver.instruction}"
    return solver, hashlib.sha256(told.encode()).hexdigest(), str(options["model"])


_MAKERS: dict[str, Callable[[Options, Path], Parts]] = {
    "random": _random,
    "majority": _majority,
    "association": _association,
    "hunting": _hunting,
    "causal": _causal,
    "masked": _masked,
    "encoder": _encoder,
    "chat": _chat,
}
