"""A solver by its kind and the options that `winosmith.solver_rule` declares for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from winosmith.chat import ChatModel
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.metrics import PMI_SMOOTHING
from winosmith.solve._baselines import Majority, Random, WordAssociation
from winosmith.solve._chat import ChatSolver
from winosmith.solve._hunting import KnowledgeHunting, Retriever
from winosmith.solve._language import Causal, Combination, EncoderSolver, Ensemble, Masked, shots
from winosmith.solve._solver import Solver, TwoWay


def by_name(
    kind: str,
    options: Any,
    train: Dataset | None = None,
    *,
    models: Sequence[str] = (),
    combine: Combination = "product",
    smoothing: float = PMI_SMOOTHING,
    index: Retriever | None = None,
    client: ChatModel | None = None,
    heard: list[Any] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Solver:
    """Return the solver of a kind.

    Args:
        kind: one of `winosmith.solver_rule.KINDS`.
        options: of that kind, as declared there.
        train: the problems that it learns from, or that its shots are drawn from.
        models: of causal, masked and encoder: folders or hub ids, in place of the one in `options`;
            several are an ensemble.
        combine: how an ensemble combines its scores.
        smoothing: of association: added to each count, 0 or more.
        index: of hunting: the texts that it searches.
        client: of chat: the model that it asks.
        heard: of chat: a list that takes the replies; None keeps none.
        on_progress: called with the number of texts that a language model or an encoder has read,
            and of all.

    Raises:
        InputError: there is no solver of that kind, or it lacks what it needs.

    >>> from winosmith.solver_rule import KINDS
    >>> by_name("random", KINDS["random"](seed=3))
    Random(seed=3)
    """
    match kind:
        case "random":
            return Random(options.seed)
        case "majority" if train is not None:
            return Majority.trained_on(train)
        case "association" if train is not None:
            solver = WordAssociation.trained_on(
                train, features=options.features, smoothing=smoothing, sees=options.sees
            )
            return TwoWay(solver) if options.features == "words" else solver
        case "hunting" if index is not None:
            return KnowledgeHunting(index, options.snippets)
        case "chat" if client is not None:
            settings = {name: getattr(options, name) for name in ("swap", "scoring", "sees")}
            if not options.shots or train is None:
                return ChatSolver(client, heard=heard, **settings)
            return ChatSolver.with_shots(
                client, train, options.shots, draws=options.draws, seed=options.seed, heard=heard,
                **settings,
            )  # fmt: skip
        case "causal" | "masked" | "encoder":
            solvers = tuple(
                _language(kind, options, model, train, on_progress)
                for model in models or (options.model,)
            )
            return solvers[0] if len(solvers) == 1 else Ensemble(solvers, combine)
    raise InputError(f"there is no solver {kind!r}, or it lacks what it needs")


def _language(
    kind: str,
    options: Any,
    model: str,
    train: Dataset | None,
    on_progress: Callable[[int, int], None] | None,
) -> Solver:
    """Return the solver of one model: causal, masked or encoder."""
    how: dict[str, Any] = {
        "sees": options.sees,
        "device": options.device,
        "on_progress": on_progress,
    }
    if kind == "encoder":
        return EncoderSolver(model, **how)
    if kind == "masked":
        return Masked(model, options.scoring, **how)
    prompt = ""
    if options.shots and train is not None:
        prompt = shots(train, options.shots, seed=options.seed, sees=options.sees)
    return Causal(model, options.scoring, prompt=prompt, **how)
