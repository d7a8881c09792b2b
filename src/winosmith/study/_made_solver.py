"""From the rule of a solver to the solver, the digest of its weights, and what it learnt from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from winosmith import chat, formats, metrics, models, published, solve
from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.metrics import Overlap
from winosmith.published import Contents
from winosmith.seen import Sees
from winosmith.solve import Solver
from winosmith.solver_rule import SolverRule

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


Parts = tuple[Solver, str, str]
"""A solver, a digest of what it has learnt or reads, and its revision."""


def _random(source: _Source) -> Parts:
    return solve.Random(source.options.get("seed", 0)), "", __version__


def _majority(source: _Source) -> Parts:
    return solve.Majority.trained_on(source.train), "", __version__


def _association(source: _Source) -> Parts:
    """Return word association that knows the twins that ship, or what it is taught.

    By `words` it has an opinion on nearly every sentence, if no better than chance; the few
    `pairs` of the twins that ship are in hardly any other.
    """
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
    model, weights, revision = _weights(source)
    kind = source.options.get("scoring", "sentence")
    device = source.options.get("device")
    return solve.Masked(model, kind, sees=source.sees, device=device), weights, revision


def _encoder(source: _Source) -> Parts:
    model, weights, revision = _weights(source)
    return solve.EncoderSolver(model, device=source.options.get("device")), weights, revision


def _weights(source: _Source) -> tuple[str, str, str]:
    """Return where a model lies, the digest of its files, and its revision.

    A folder is named by its digest; of the hub's models the folder's name is the commit.
    """
    named = source.folder / str(source.options["model"])
    place = models.model_folder(named if named.is_dir() else str(source.options["model"]))
    digest = models.weights_digest(place)
    in_hub = place.parent.name == "snapshots"
    return str(place), digest, place.name[:12] if in_hub else digest[:12]


def _chat(source: _Source) -> Parts:
    """Return a chat model as a solver; the key is read from the environment, request by request."""
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
    asked = f"{source.options['base_url']}\0{solver.opening}"
    return solver, hashlib.sha256(asked.encode()).hexdigest(), str(source.options["model"])


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


# What a solver was trained on, as far as it is known, and which problems it may have seen there.
# Four things tell: what the solver learns from here (the twins that ship), what its rule says
# (`trained_on`), what `winosmith train` left beside the weights, and, on the command line,
# `--trained-on`.

OTHER = "other:"
"""Leads the name of a corpus that is not here."""


@dataclass(frozen=True)
class TrainedOn:
    """What a solver was trained on.

    Attributes:
        datasets: those whose text is here.
        contents: of those of which digests are here alone.
        unknown: the names of corpora with which nothing here can be compared.
    """

    datasets: tuple[Dataset, ...] = ()
    contents: tuple[Contents, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def named(cls, names: Iterable[str], folder: Path = Path()) -> TrainedOn:
        """Return what names stand for.

        Args:
            names: files; published sets, as `published.known_contents` has them; or "other:NAME".
            folder: from where relative paths are seen.

        Raises:
            InputError: a name is none of these, or a file can't be read.
        """
        datasets: list[Dataset] = []
        contents: list[Contents] = []
        unknown: list[str] = []
        for name in names:
            if (folder / name).is_file():
                datasets.append(formats.read(folder / name))
            elif name.startswith(OTHER) and name != OTHER:
                unknown.append(name.removeprefix(OTHER))
            elif re.fullmatch(r"[\w-]+", name):
                contents.append(published.known_contents(name))
            else:
                raise InputError(f"there is no file {name!r}")
        return cls(tuple(datasets), tuple(contents), tuple(unknown))

    def overlap(self, test: Dataset) -> Overlap:
        """Return which problems of a test set may have been seen, each with the first reason."""
        rows: dict[int, str] = {}
        for found in (
            *(metrics.overlap(test, training) for training in self.datasets),
            *(metrics.overlap(test, public=[held]) for held in self.contents),
        ):
            rows = {**found.rows, **rows}
        return Overlap(dict(sorted(rows.items())), len(test), self.unknown)


def trained_on(rule: SolverRule, folder: Path) -> TrainedOn:
    """Return what the solver of a rule was trained on before anybody here teaches it.

    Raises:
        InputError: what the rule says is not there, as `TrainedOn.named`.

    >>> len(trained_on(SolverRule("words", "association"), Path()).datasets)
    1
    """
    from winosmith import practice

    try:
        told = TrainedOn.named(rule.options.get("trained_on", ()), folder)
    except InputError as error:
        raise InputError(f"the solver {rule.name}: trained_on: {error}") from None
    # The majority's answer is the same whatever the sentence: it has seen none.
    ships = rule.solver == "association" or rule.options.get("shots")
    datasets = (practice.handwritten(),) if ships and not rule.learn else ()
    left: tuple[Contents, ...] = ()
    if "model" in rule.options and rule.solver != "chat":
        left = published.contents_beside(folder / str(rule.options["model"]))
    return TrainedOn((*datasets, *told.datasets), (*left, *told.contents), told.unknown)
