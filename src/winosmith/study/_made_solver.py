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
from typing import Any, cast

from winosmith import chat, formats, metrics, models, published, solve
from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.metrics import Overlap
from winosmith.published import Contents
from winosmith.solve import ChatSolver, Solver, WordAssociation
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
        name: of the kind of solver.
        options: the rule's.
        folder: from where relative paths are seen.
        cache: where full-text indexes are kept.
        train: what a solver learns from.
        patience: seconds after which a chat server's reply is too late.
    """

    name: str
    options: Mapping[str, Any]
    folder: Path
    cache: Path
    train: Dataset
    patience: float

    def solver(self, **made: Any) -> Solver:
        """Return the solver, of the options and what else was made for it."""
        names = ("seed", "sees", "features", "snippets", "scoring", "device", "swap")
        options = {name: self.options[name] for name in names if name in self.options}
        shown = self.options.get("shots", 0)
        return solve.by_name(self.name, self.train, shown=shown, **{**options, **made})


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
        rule.solver,
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


def _plain(source: _Source) -> Parts:
    """Return what answers at random, or as most of what it learnt."""
    return source.solver(), "", __version__


def _association(source: _Source) -> Parts:
    """Return word association that knows the twins that ship, or what it is taught.

    By `words` it has an opinion on nearly every sentence, if no better than chance; the few
    `pairs` of the twins that ship are in hardly any other.
    """
    asked = source.solver(smoothing=SMOOTHING)
    counted = asked.solver if isinstance(asked, solve.TwoWay) else asked
    state = hashlib.sha256()
    for key, values in sorted(cast(WordAssociation, counted).weights.items()):
        state.update(f"{key}\0{' '.join(f'{value:.9g}' for value in values)}\n".encode())
    return asked, state.hexdigest(), __version__


def _hunting(source: _Source) -> Parts:
    """Return knowledge hunting in a collection of texts, by default the articles that ship."""
    with _collection(source) as texts:
        index = solve.FullTextIndex.of(texts, source.cache)
    return source.solver(index=index), index.digest, index.digest[:12]


@contextmanager
def _collection(source: _Source) -> Iterator[Path]:
    if "collection" in source.options:
        yield source.folder / str(source.options["collection"])
        return
    shipped = resources.files("winosmith").joinpath("topics.jsonl")
    with resources.as_file(shipped) as path:
        yield path


def _language(source: _Source) -> Parts:
    """Return a language model or an encoder as a solver."""
    model, weights, revision = _weights(source)
    return source.solver(models=(model,)), weights, revision


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
    solver = cast(ChatSolver, source.solver(client=client))
    asked = f"{source.options['base_url']}\0{solver.opening}"
    return solver, hashlib.sha256(asked.encode()).hexdigest(), str(source.options["model"])


_MAKERS: dict[str, Callable[[_Source], Parts]] = {
    "random": _plain,
    "majority": _plain,
    "association": _association,
    "hunting": _hunting,
    "causal": _language,
    "masked": _language,
    "encoder": _language,
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
        stated = TrainedOn.named(rule.options.get("trained_on", ()), folder)
    except InputError as error:
        raise InputError(f"the solver {rule.name}: trained_on: {error}") from None
    # The majority's answer is the same whatever the sentence: it has seen none.
    ships = rule.solver == "association" or rule.options.get("shots")
    datasets = (practice.handwritten(),) if ships and not rule.learn else ()
    left: tuple[Contents, ...] = ()
    if "model" in rule.options and rule.solver != "chat":
        left = published.contents_beside(folder / str(rule.options["model"]))
    return TrainedOn((*datasets, *stated.datasets), (*left, *stated.contents), stated.unknown)
