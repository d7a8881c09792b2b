"""The options of chat models, and the solver that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from winosmith.errors import InputError

if TYPE_CHECKING:
    from winosmith.dataset import Dataset
    from winosmith.problem import Problem
    from winosmith.solve import Solver

__all__ = ["CHAT", "chat_options", "chat_solver", "interviewed"]

Options = dict[str, Any]

SHOTS = 30
"""Solved problems in a prompt when there are some to draw from (EvoGrad 2024, section 4.1)."""

CHAT = {
    "base_url", "draws", "swap", "temperature", "max_tokens", "concurrency", "key_variable",
    "max_spent", "cache",
}  # fmt: skip
"""The options that only chat models have."""


def chat_options(function: Any) -> Any:
    """Add the options of chat models to a command."""
    options = [
        click.option("--base-url", metavar="URL", help="Of a chat server, such as "
                     "http://localhost:8000/v1; OPENAI_BASE_URL if not told."),
        click.option("--draws", type=click.IntRange(min=1), default=1, show_default=True,
                     help="Of chat: how many times shots are drawn; the replies are votes."),
        click.option("--swap", is_flag=True, help="Of chat: ask with the options in other places "
                     "too, and measure the liking for a place."),
        click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True,
                     help="Of chat: 0 for the likeliest reply."),
        click.option("--max-tokens", type=click.IntRange(min=1), default=256, show_default=True,
                     help="Of chat: the longest reply."),
        click.option("--concurrency", type=click.IntRange(min=1), default=8, show_default=True,
                     help="Of chat: requests at once."),
        click.option("--key-variable", metavar="NAME", help="Of chat: the environment variable "
                     "that holds the key; OPENAI_API_KEY, for https elsewhere, if not told."),
        click.option("--max-spent", type=click.IntRange(min=1), metavar="TOKENS",
                     help="Of chat: stop before more are spent, in and out together."),
        click.option("--no-cache", "cache", is_flag=True, default=True, flag_value=False,
                     help="Of chat: neither read nor keep replies."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def chat_solver(options: Options, train: Dataset | None, on_reply: Any) -> Solver:
    """Return a solver that asks the chat model of these options.

    Raises:
        InputError: more than one model is named, or an option is out of its range.
    """
    from winosmith import chat, embed, solve

    if len(options["model"]) > 1:
        raise InputError("the solver 'chat' asks one model; name one with --model")
    client = chat.Client.from_environment(
        options["model"][0] if options["model"] else None,
        options["base_url"],
        temperature=options["temperature"],
        max_tokens=options["max_tokens"],
        concurrency=options["concurrency"],
        key_variable=options["key_variable"],
        budget=chat.Budget(tokens=options["max_spent"]),
        cache=embed.cache_folder() / "chat" if options["cache"] else None,
        on_progress=on_reply,
    )
    settings: Options = {
        "swap": options["swap"],
        "scoring": options["scoring"] or "reply",
        "sees": options["sees"] or "blank",
    }
    if not options["cache"]:
        settings["heard"] = []
    if settings["scoring"] not in ("reply", "logprobs"):
        raise InputError(f"--scoring of chat is reply or logprobs; not {options['scoring']!r}")
    count = shots_asked(options, train)
    if not count or train is None:
        return solve.ChatSolver(client, **settings)
    return solve.ChatSolver.with_shots(
        client, train, count, draws=options["draws"], seed=options["seed"], **settings
    )


def shots_asked(options: Options, train: Dataset | None) -> int:
    """Return how many shots a prompt has: as told, else 30 when there is where to draw them from.

    Raises:
        InputError: shots are asked for, and there is nowhere to draw them from.
    """
    if options["shots"] is None:
        return SHOTS if train is not None else 0
    if options["shots"] and train is None:
        raise InputError("--shots are drawn from solved problems; name them with --train")
    return int(options["shots"])


def interviewed(solver: Solver, dataset: Dataset) -> dict[str, Any]:
    """Return what a chat model's replies were like; empty for others.

    They are read from the cache; without one, those of this run are told of. Where an earlier run
    had solved a part, these are fewer `problems` than the data set has.
    """
    from winosmith import chat, solve

    problems: Sequence[Problem] = dataset.blind()
    if isinstance(solver, solve.LocalContext):
        problems = solve.local_only(problems, solver.before)
        solver = solver.solver
    if not isinstance(solver, solve.ChatSolver) or not isinstance(solver.model, chat.Client):
        return {}
    if solver.model.cache:
        return solver.ask(problems).summary()
    return solve.Interview(tuple(solver.heard)).summary() if solver.heard else {}
