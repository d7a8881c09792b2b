"""A solver by the name that the command line and tables of TOML have for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from winosmith.chat import ChatModel
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.metrics import PMI_SMOOTHING
from winosmith.seen import Sees
from winosmith.solve._baselines import Features, Majority, Random, WordAssociation
from winosmith.solve._chat import ChatSolver
from winosmith.solve._hunting import KnowledgeHunting, Retriever
from winosmith.solve._language import Causal, Combination, EncoderSolver, Ensemble, Masked, shots
from winosmith.solve._solver import Solver, TwoWay


def by_name(
    name: str,
    train: Dataset | None = None,
    *,
    seed: int = 0,
    sees: Sees | None = None,
    features: Features = "words",
    smoothing: float = PMI_SMOOTHING,
    index: Retriever | None = None,
    snippets: int = 20,
    models: Sequence[str] = (),
    combine: Combination = "product",
    scoring: Any = None,
    shown: int = 0,
    draws: int = 1,
    device: str | None = None,
    client: ChatModel | None = None,
    swap: bool = False,
    heard: list[Any] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Solver:
    """Return the solver of that name.

    Args:
        name: majority, random, association, hunting, causal, masked, encoder or chat.
        train: what it learns from, or what its shots are drawn from.
        seed: of random answers and of the draw of shots, 0 or more.
        sees: the blank or the pronoun; the blank when None, and what it was trained to of an
            encoder.
        features: of association: what is counted.
        smoothing: of association: added to each count.
        index: of hunting: where it looks.
        snippets: of hunting: how many it reads, 1 or more.
        models: folders or hub ids of causal, masked and encoder; several are an ensemble.
        combine: how an ensemble does it.
        scoring: of causal, masked and chat; their own default when None.
        shown: how many solved problems of `train` stand in the prompt of causal and chat.
        draws: of chat: how often the solved problems are drawn.
        device: as torch names it.
        client: of chat: whom it asks.
        swap: of chat: it asks with the options in other places, too.
        heard: of chat: a list that takes the replies; None keeps none.
        on_progress: hears how many texts of how many a language model or an encoder has read.

    Raises:
        InputError: there is no solver of that name, it lacks what it needs, or something is out
            of its range.

    >>> by_name("random", seed=3)
    Random(seed=3)
    """
    match name:
        case "random":
            return Random(seed)
        case "majority" if train is not None:
            return Majority.trained_on(train)
        case "association" if train is not None:
            solver = WordAssociation.trained_on(
                train, features=features, smoothing=smoothing, sees=sees or "blank"
            )
            return TwoWay(solver) if features == "words" else solver
        case "hunting" if index is not None:
            return KnowledgeHunting(index, snippets)
        case "chat" if client is not None:
            settings: dict[str, Any] = {
                "swap": swap,
                "scoring": scoring or "reply",
                "sees": sees or "blank",
                "heard": heard,
            }
            if not shown or train is None:
                return ChatSolver(client, **settings)
            return ChatSolver.with_shots(client, train, shown, draws=draws, seed=seed, **settings)
        case "causal" | "masked" | "encoder" if models:
            prompt = ""
            if name == "causal" and shown and train is not None:
                prompt = shots(train, shown, seed=seed, sees=sees or "blank")
            how: dict[str, Any] = {"device": device, "on_progress": on_progress}
            solvers = tuple(_language(name, model, scoring, sees, prompt, how) for model in models)
            return solvers[0] if len(solvers) == 1 else Ensemble(solvers, combine)
    raise InputError(f"there is no solver {name!r}, or it lacks what it needs")


def _language(
    name: str, model: str, scoring: Any, sees: Sees | None, prompt: str, how: dict[str, Any]
) -> Solver:
    """Return the solver of one model: causal, masked or encoder."""
    if name == "causal":
        return Causal(model, scoring or "partial", prompt=prompt, sees=sees or "blank", **how)
    if name == "masked":
        return Masked(model, scoring or "sentence", sees=sees or "blank", **how)
    return EncoderSolver(model, sees=sees, **how)
