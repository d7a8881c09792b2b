"""The names of solvers, and what each is made of on the command line; a chat model's options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._printing import progress
from winosmith.errors import InputError
from winosmith.seen import Sees, differ_in_pronoun

if TYPE_CHECKING:
    from winosmith.dataset import Dataset
    from winosmith.problem import Problem
    from winosmith.solve import FullTextIndex, Solver

SHOTS = 30
"""Solved problems in a prompt when there are some to draw from (EvoGrad 2024, section 4.1)."""

CHAT = {
    "base_url", "draws", "swap", "temperature", "max_tokens", "concurrency", "key_variable",
    "max_spent", "cache",
}  # fmt: skip
"""The options that only chat models have."""

Options = dict[str, Any]

Tell = Callable[[int, int], None]
"""Is told how many texts of how many a model has read, or answered."""


def made(options: Options, train: Dataset | None, tell: Tell) -> Solver:
    """Return the solver of that name, made of the options and the problems to learn from.

    Raises:
        InputError: an option is missing, or out of its range.
    """
    from winosmith import solve

    local = options["local_context"]
    if train is not None and local:
        from winosmith.dataset import Dataset

        train = Dataset(solve.local_only(train), train.name)
    solver = _by_name(options, train, tell)
    return solve.LocalContext(solver) if local else solver


def check_options(name: str, given: set[str]) -> None:
    """Refuse options that a solver has no use for, or that it lacks.

    Raises:
        InputError: which, and which it takes.
    """
    needed, other = TAKES[name]
    unused = sorted(given - needed - other)
    if unused:
        takes = ", ".join(map(_flag, sorted(needed | other))) or "none of its own"
        why = _NO_PRONOUN.get(name, "") if unused[0] == "sees" else ""
        raise InputError(
            f"{_flag(unused[0])} is not for the solver {name!r}{why}; it takes {takes}"
        )
    missing = sorted(needed - given)
    if missing:
        raise InputError(f"the solver {name!r} needs {_flag(missing[0])}; see --help")


_NO_PRONOUN = {
    "majority": ", which reads no sentence",
    "random": ", which reads no sentence",
    "hunting": ", which looks for what a sentence tells, with whoever does it left out",
}
"""Why a solver can't be shown the pronoun."""


def sees(options: Options, problems: Sequence[Problem], train: Dataset | None) -> Sees | None:
    """Return what the solver is to see of some problems: as told, or else by the problems.

    Where they differ in nothing but their pronouns, as in Winogender, it is the pronoun: to a
    solver that sees the blank they are the same. Not where solved problems in its prompt have no
    pronoun. An encoder sees what it was trained to.
    """
    told: Sees | None = options["sees"]
    if told or options["solver"] not in ("causal", "masked", "chat"):
        return told
    shown = options["solver"] != "masked" and train is not None
    known = not shown or all((problem.pronoun or "").strip() for problem in train or ())
    return "pronoun" if known and differ_in_pronoun(problems) else "blank"


def _flag(option: str) -> str:
    return "--no-cache" if option == "cache" else "--" + option.replace("_", "-")


def _by_name(options: Options, train: Dataset | None, tell: Tell) -> Solver:
    from winosmith import solve

    name = options["solver"]
    if name == "chat":
        return _chat(options, train, lambda done, of, _: tell(done, of))
    return solve.by_name(
        name,
        train,
        seed=options["seed"],
        sees=options["sees"],
        features=options["features"],
        index=_index(options) if name == "hunting" else None,
        snippets=options["snippets"],
        models=[_model(each) for each in options["model"]],
        combine=options["combine"],
        scoring=options["scoring"],
        shown=shots_asked(options, train) if name == "causal" else 0,
        device=options["device"],
        on_progress=tell,
    )


def _index(options: Options) -> FullTextIndex:
    from winosmith import embed, solve

    with progress("Indexing, sentence") as advance:
        return solve.FullTextIndex.of(
            options["collection"],
            embed.cache_folder() / "texts",
            lambda text, of, sentences: advance(sentences, f"in text {text} of {of}"),
        )


def _model(name: str) -> str:
    """Return a folder's own path, and a hub id as it is."""
    return str(Path(name).resolve()) if Path(name).is_dir() else name


_MODEL = {"combine", "device", "sees"}
_SHOTS = {"shots", "train", "seed"}

TAKES: dict[str, tuple[set[str], set[str]]] = {
    "majority": ({"train"}, set()),
    "random": (set(), {"seed"}),
    "association": ({"train"}, {"features", "sees"}),
    "hunting": ({"collection"}, {"snippets"}),
    "causal": ({"model"}, {"scoring", *_MODEL, *_SHOTS}),
    "masked": ({"model"}, {"scoring", *_MODEL}),
    "encoder": ({"model"}, _MODEL),
    "chat": (set(), {"model", "scoring", "sees", *_SHOTS, *CHAT}),
}
"""By solver, the options that it needs and those that it may have."""

SOLVERS = tuple(TAKES)


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


def _chat(options: Options, train: Dataset | None, on_reply: Any) -> Solver:
    """Return a solver that asks the chat model of these options.

    Raises:
        InputError: more than one model is named, or an option is out of its range.
    """
    from winosmith import chat, embed, solve

    if len(options["model"]) > 1:
        raise InputError("the solver 'chat' asks one model; name one with `model=`")
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
    if (options["scoring"] or "reply") not in ("reply", "logprobs"):
        raise InputError(f"--scoring of chat is reply or logprobs; not {options['scoring']!r}")
    return solve.by_name(
        "chat",
        train,
        client=client,
        shown=shots_asked(options, train),
        draws=options["draws"],
        seed=options["seed"],
        swap=options["swap"],
        scoring=options["scoring"],
        sees=options["sees"],
        heard=None if options["cache"] else [],
    )


def shots_asked(options: Options, train: Dataset | None) -> int:
    """Return how many shots a prompt has: as told, else 30 when there is where to draw them from.

    Raises:
        InputError: shots are asked for, and there is nowhere to draw them from.
    """
    if options["shots"] is None:
        return SHOTS if train is not None else 0
    if options["shots"] and train is None:
        raise InputError("--shots are drawn from solved problems; name them with `train=`")
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
