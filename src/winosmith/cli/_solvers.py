"""The names of solvers, and what each is made of on the command line; a chat model's options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._declared import option_of
from winosmith.cli._printing import progress
from winosmith.errors import InputError
from winosmith.options import from_table, schema, words
from winosmith.seen import Sees, differ_in_pronoun
from winosmith.solver_rule import KINDS, LEARNERS, SolverParts

if TYPE_CHECKING:
    from winosmith.dataset import Dataset
    from winosmith.problem import Problem
    from winosmith.solve import FullTextIndex, Solver

SHOTS = 30
"""Solved problems in a prompt when there are some to draw from (EvoGrad 2024, section 4.1)."""

Options = dict[str, Any]

Tell = Callable[[int, int], None]
"""Is told how many texts of how many a model has read, or answered."""

_OF_FILES = {"revision", "trained_on", "threads", "memory_gb"}
"""What only a rule in a file says of its solver."""

_DECLARED = {
    kind: {name: key for name, key in schema(of)["properties"].items() if name not in _OF_FILES}
    for kind, of in KINDS.items()
}

_RUNS = {"max_spent", "cache"}
"""What only a command says of a chat model."""


def _taken(kind: str) -> tuple[set[str], set[str]]:
    """Return the options that a kind of solver needs, and those that it may have."""
    known = _DECLARED[kind]
    needed = {name for name, key in known.items() if "default" not in key}
    other = set(known) - needed
    if kind == "chat":  # the environment may name the model and its server
        return set(), {*known, "train", *_RUNS}
    if "model" in known:
        other.add("combine")
    if kind in LEARNERS:
        (other if "shots" in known else needed).add("train")
    return needed, other


OPTIONS_BY_SOLVER = {kind: _taken(kind) for kind in KINDS}
"""By solver, the options that it needs and those that it may have."""

OPTIONS = {option for needed, other in OPTIONS_BY_SOLVER.values() for option in needed | other}
"""Those of any solver."""


def make_solver(
    options: Options, told: Collection[str], train: Dataset | None, tell: Tell
) -> Solver:
    """Return a solver, made of a command's options and the problems to learn from.

    Args:
        options: of the command.
        told: the names of those that the user gave.
        train: what the solver learns from, or is shown.
        tell: hears how far a model has read.

    Raises:
        InputError: an option is missing, or out of its range.
    """
    from winosmith import solve

    local = options["local_context"]
    if train is not None and local:
        from winosmith.dataset import Dataset

        train = Dataset(solve.local_only(train), train.name)
    solver = _solver(options, told, train, tell)
    return solve.LocalContext(solver) if local else solver


def check_options(name: str, given: set[str]) -> None:
    """Refuse options that a solver has no use for, or that it lacks.

    Raises:
        InputError: which, and which it takes.
    """
    needed, other = OPTIONS_BY_SOLVER[name]
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


def default_sees(
    options: Options, problems: Sequence[Problem], train: Dataset | None
) -> Sees | None:
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


def _solver(options: Options, told: Collection[str], train: Dataset | None, tell: Tell) -> Solver:
    kind = options["solver"]
    parts: dict[str, Any] = {}
    given = {name: options[name] for name in _DECLARED[kind] if name in told}
    if options["sees"] is not None:
        given["sees"] = options["sees"]
    if "shots" in _DECLARED[kind]:
        given["shots"] = number_of_shots(options, train)
    if kind == "chat":
        client = _client(options, lambda done, of, _: tell(done, of))
        given |= {"model": client.model, "base_url": client.base_url}
        parts = {"client": client, "reply_log": None if options["cache"] else []}
    elif "model" in given:
        models = [_model(each) for each in options["model"]]
        given["model"] = models[0]
        parts = {"models": models, "combine": options["combine"], "on_progress": tell}
    elif kind == "hunting":
        parts = {"index": _index(options)}
    solver: Solver = from_table(KINDS[kind], given).make(SolverParts(train, **parts))
    return solver


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


BASE_URL = click.option(
    "--base-url", metavar="URL", help="Of chat: address of an OpenAI-compatible server, such as "
    "http://localhost:8000/v1; by default OPENAI_BASE_URL.",
)  # fmt: skip
MAX_SPENT = click.option(
    "--max-spent", type=click.IntRange(min=1), metavar="TOKENS",
    help="Of chat: greatest number of tokens to spend, input and output together.",
)  # fmt: skip
"""Options of every command that asks a chat model."""


def solver_options(function: Any) -> Any:
    """Add the options of all solvers to a command; each says which solvers have it."""
    own: list[Any] = [
        click.option("--model", metavar="HUB_ID|FOLDER", multiple=True, help="Of causal, masked "
                     "and encoder: several make an ensemble. Of chat: the server's name for it; "
                     "by default OPENAI_MODEL."),
        click.option("--combine", type=click.Choice(["product", "vote"]), default="product",
                     show_default=True, help="How an ensemble combines its models."),
        BASE_URL,
        click.option("--shots", type=click.IntRange(min=0), help="Of causal and chat: number of "
                     "solved problems in the prompt, drawn from --train; by default 30 with "
                     "--train, otherwise none."),
        click.option("--sees", type=click.Choice(["blank", "pronoun"]), help="What the solver sees "
                     "in place of the options: the blank, or the pronoun, and it is asked whom the "
                     "pronoun refers to. By default the pronoun if the problems differ in nothing "
                     "else, as in Winogender, otherwise the blank; of encoder, what it was "
                     "trained to see."),
    ]  # fmt: skip
    stated = {"model", "combine", "base_url", "shots", "sees"}
    declared = dict.fromkeys(name for known in _DECLARED.values() for name in known)
    own += [declared_option(name) for name in declared if name not in stated]
    own += [
        MAX_SPENT,
        click.option("--no-cache", "cache", is_flag=True, default=True, flag_value=False,
                     help="Of chat: don't use cached replies, and cache none."),
    ]  # fmt: skip
    for option in reversed(own):
        function = option(function)
    return function


def declared_option(name: str) -> Callable[[Any], Any]:
    """Return the option of a name, from the declarations of the solvers that have it."""
    kinds: dict[str, tuple[list[str], Any]] = {}
    for kind, known in _DECLARED.items():
        if name in known:
            kinds.setdefault(str(known[name]), ([], known[name]))[0].append(kind)
    keys = [key for _, key in kinds.values()]
    helps = [_of(names) + key["description"][0].lower() + key["description"][1:]
             for names, key in kinds.values()]  # fmt: skip
    if len(keys) == 1:
        return option_of(name, f"--{name.replace('_', '-')}", {**keys[0], "description": helps[0]})
    help_ = " ".join(
        f"{help_[:-1]}: {words(key)}; by default {key['default']}."
        for help_, key in zip(helps, keys, strict=True)
    )
    return click.option(f"--{name}", metavar="KIND", help=help_)


def _of(kinds: Sequence[str]) -> str:
    """Return which solvers an option is of: "Of causal, masked and encoder: "."""
    return f"Of {' and '.join(filter(None, (', '.join(kinds[:-1]), kinds[-1])))}: "


def _client(options: Options, on_reply: Any) -> Any:
    """Return the client of the chat model that the options name.

    Raises:
        InputError: more than one model is named, or an option is out of its range.
    """
    if len(options["model"]) > 1:
        raise InputError("the solver 'chat' asks one model; name one with `model=`")
    return chat_client(
        options,
        options["model"][0] if options["model"] else None,
        is_cached=options["cache"],
        max_tokens=options["max_tokens"],
        concurrency=options["concurrency"],
        on_progress=on_reply,
    )


def chat_client(
    options: Mapping[str, Any], model: str | None, *, is_cached: bool = True, **more: Any
) -> Any:
    """Return the client of a command's options of chat models.

    Args:
        options: `base_url`, `temperature`, `key_variable` and `max_spent`.
        model: its name; that of the environment if None.
        is_cached: whether replies are kept in the user's cache.
        more: as of `chat.Client`.

    Raises:
        InputError: no server or model is named, or an option is out of its range.
    """
    from winosmith import chat, embed

    return chat.Client.from_environment(
        model,
        options["base_url"],
        temperature=options["temperature"],
        key_variable=options["key_variable"],
        budget=chat.Budget(tokens=options["max_spent"]),
        cache=embed.cache_folder() / "chat" if is_cached else None,
        **more,
    )


def number_of_shots(options: Options, train: Dataset | None) -> int:
    """Return how many shots a prompt has: as told, else 30 when there is where to draw them from.

    Raises:
        InputError: shots are asked for, and there is nowhere to draw them from.
    """
    if options["shots"] is None:
        return SHOTS if train is not None else 0
    if options["shots"] and train is None:
        raise InputError("--shots are drawn from solved problems; name them with `train=`")
    return int(options["shots"])


def reply_summary(solver: Solver, dataset: Dataset) -> dict[str, Any]:
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
    return solve.Interview(tuple(solver.reply_log)).summary() if solver.reply_log else {}
