"""The options of solvers and chat models, and the solvers that commands make from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._options import find_given_options, make_option
from winosmith.cli._printing import progress
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.options import build_schema, describe_values, from_table
from winosmith.report import join_names
from winosmith.seen import Sees, is_about_pronouns
from winosmith.solver_rule import KINDS, LEARNERS, SolverParts

if TYPE_CHECKING:
    from winosmith.problem import Problem
    from winosmith.solve import Interview, Solver

DEFAULT_SHOTS = 30
"""Default number of solved problems in a prompt with --train (EvoGrad 2024, section 4.1)."""

Options = dict[str, Any]

_FILE_ONLY = {"revision", "trained_on", "threads", "memory_gb"}
"""Settings that can be used only in solver files."""

_SETTINGS_BY_SOLVER = {
    kind: {
        name: key for name, key in build_schema(of)["properties"].items() if name not in _FILE_ONLY
    }
    for kind, of in KINDS.items()
}


def _find_solver_options(kind: str) -> tuple[set[str], set[str]]:
    known = _SETTINGS_BY_SOLVER[kind]
    needed = {name for name, key in known.items() if "default" not in key}
    other = set(known) - needed
    if kind == "chat":  # the environment may name the model and its server
        return set(), {*known, "train", "max_spent", "cache"}
    if "model" in known:
        other.add("combine")
    if kind in LEARNERS:
        (other if "shots" in known else needed).add("train")
    return needed, other


SOLVER_OPTIONS = {kind: _find_solver_options(kind) for kind in KINDS}
"""The required and the optional options of each solver."""

ALL_OPTIONS = {option for needed, other in SOLVER_OPTIONS.values() for option in needed | other}


def check_options(solver: str) -> None:
    needed, other = SOLVER_OPTIONS[solver]
    given = find_given_options(click.get_current_context()) & ALL_OPTIONS
    unused = sorted(given - needed - other)
    if unused:
        takes = ", ".join(map(_format_option, sorted(needed | other))) or "no options of its own"
        why = _REASONS_WITHOUT_PRONOUN.get(solver, "") if unused[0] == "sees" else ""
        raise InputError(
            f"{_format_option(unused[0])} is not for the solver {solver!r}{why}; it takes {takes}"
        )
    missing = sorted(needed - given)
    if missing:
        raise InputError(f"the solver {solver!r} needs {_format_option(missing[0])}; see --help")


_REASONS_WITHOUT_PRONOUN = {
    "majority": ", which does not read the sentence",
    "random": ", which does not read the sentence",
    "hunting": ", whose queries have no subject",
}


def choose_input(
    options: Options, problems: Sequence[Problem], train: Dataset | None
) -> Sees | None:
    """Return the value of `--sees`, or its default for these problems.

    The default is the pronoun if the problems differ in nothing else, as in Winogender, because a
    solver that sees the blank can't distinguish them. It is the blank if a solved problem in the
    prompt has no pronoun. For solvers other than causal, masked and chat, it is None. An encoder
    sees what it was trained to see.
    """
    given: Sees | None = options["sees"]
    if given or options["solver"] not in ("causal", "masked", "chat"):
        return given
    shown = options["solver"] != "masked" and train is not None
    known = not shown or all((problem.pronoun or "").strip() for problem in train or ())
    return "pronoun" if known and is_about_pronouns(problems) else "blank"


def make_solver(
    options: Options,
    train: Dataset | None,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> Solver:
    """Return the solver that a command's options describe.

    The solver learns from `train`, or shows examples from it in the prompt. `on_progress` is called
    with the number of texts that a model has read and the total number of texts.
    """
    from winosmith import embed, solve

    local = options["local_context"]
    if train is not None and local:
        train = Dataset(solve.cut_to_local_context(train), train.name)
    kind = options["solver"]
    given = find_given_options(click.get_current_context())
    rule = {name: options[name] for name in _SETTINGS_BY_SOLVER[kind] if name in given}
    more: dict[str, Any] = {}
    if options["sees"] is not None:
        rule["sees"] = options["sees"]
    if "shots" in _SETTINGS_BY_SOLVER[kind]:
        if options["shots"] and train is None:
            raise InputError("--shots are drawn from solved problems; name them with `train=`")
        default = DEFAULT_SHOTS if train is not None else 0
        rule["shots"] = default if options["shots"] is None else options["shots"]
    if kind == "chat":
        if len(options["model"]) > 1:
            raise InputError("the solver 'chat' asks one model; name one with `model=`")
        client = make_chat_client(
            options,
            options["model"][0] if options["model"] else None,
            is_cached=options["cache"],
            max_tokens=options["max_tokens"],
            concurrency=options["concurrency"],
            on_progress=lambda done, of, _: on_progress(done, of),
        )
        rule |= {"model": client.model, "base_url": client.base_url}
        more = {"client": client, "reply_log": None if options["cache"] else []}
    elif "model" in rule:
        models = [
            str(Path(name).resolve()) if Path(name).is_dir() else name for name in options["model"]
        ]
        rule["model"] = models[0]
        more = {"models": models, "combine": options["combine"], "on_progress": on_progress}
    elif kind == "hunting":
        with progress("Indexing, sentence") as advance:
            more["index"] = solve.FullTextIndex.open(
                options["collection"],
                embed.get_cache_folder() / "texts",
                lambda text, of, sentences: advance(sentences, f"in text {text} of {of}"),
            )
    solver = from_table(KINDS[kind], rule).make(SolverParts(train, **more))
    return solve.LocalContext(solver) if local else solver


def _format_option(option: str) -> str:
    return "--no-cache" if option == "cache" else "--" + option.replace("_", "-")


BASE_URL = click.option(
    "--base-url", metavar="URL", help="For chat: base URL of an OpenAI-compatible server, such as "
    "http://localhost:8000/v1; by default OPENAI_BASE_URL.",
)  # fmt: skip
max_spent_option = click.option(
    "--max-spent", type=click.IntRange(min=1), metavar="TOKENS",
    help="For chat: maximum number of tokens to spend, input and output together.",
)  # fmt: skip
"""Options of every command that uses a chat model."""


def solver_options(function: Any) -> Any:
    own: list[Any] = [
        click.option("--model", metavar="HUB_ID|FOLDER", multiple=True, help="Hub id or folder of "
                     "the model. For causal, masked and encoder, may be repeated to form an "
                     "ensemble. For chat, the model's name on the server; by default "
                     "OPENAI_MODEL."),
        click.option("--combine", type=click.Choice(["product", "vote"]), default="product",
                     show_default=True, help="How an ensemble combines its models."),
        BASE_URL,
        click.option("--shots", type=click.IntRange(min=0), help="For causal and chat: number of "
                     "solved problems in the prompt, drawn from --train; by default 30 with "
                     "--train, otherwise none."),
        click.option("--sees", type=click.Choice(["blank", "pronoun"]), help="Whether the solver "
                     "sees the blank, or sees the pronoun and is asked whom it refers to. By "
                     "default the pronoun if the problems differ only in their pronouns, as in "
                     "Winogender, otherwise the blank; for encoder, the input that it was trained "
                     "on."),
    ]  # fmt: skip
    stated = {"model", "combine", "base_url", "shots", "sees"}
    declared = dict.fromkeys(name for known in _SETTINGS_BY_SOLVER.values() for name in known)
    own += [declared_option(name) for name in declared if name not in stated]
    own += [
        max_spent_option,
        click.option("--no-cache", "cache", is_flag=True, default=True, flag_value=False,
                     help="For chat: neither use nor store cached replies."),
    ]  # fmt: skip
    for option in reversed(own):
        function = option(function)
    return function


def declared_option(name: str) -> Callable[[Any], Any]:
    kinds: dict[str, tuple[list[str], Any]] = {}
    for kind, known in _SETTINGS_BY_SOLVER.items():
        if name in known:
            kinds.setdefault(str(known[name]), ([], known[name]))[0].append(kind)
    keys = [key for _, key in kinds.values()]
    helps = [
        f"For {join_names(names, len(names))}: {key['description'][0].lower()}"
        f"{key['description'][1:]}"
        for names, key in kinds.values()
    ]
    if len(keys) == 1:
        return make_option(
            name, f"--{name.replace('_', '-')}", {**keys[0], "description": helps[0]}
        )
    help_ = " ".join(
        f"{help_[:-1]}: {describe_values(key)}; by default {key['default']}."
        for help_, key in zip(helps, keys, strict=True)
    )
    return click.option(f"--{name}", metavar="KIND", help=help_)


def make_chat_client(
    options: Mapping[str, Any], model: str | None, *, is_cached: bool = True, **settings: Any
) -> Any:
    """Return a chat client. If `model` is None, the environment names the model."""
    from winosmith import chat, embed

    return chat.Client.from_environment(
        model,
        options["base_url"],
        temperature=options["temperature"],
        key_variable=options["key_variable"],
        budget=chat.Budget(tokens=options["max_spent"]),
        cache=embed.get_cache_folder() / "chat" if is_cached else None,
        **settings,
    )


def collect_replies(solver: Solver, dataset: Dataset) -> Interview | None:
    """Return a chat model's replies, or None for other solvers.

    Replies are read from the cache. Without a cache, only the replies of this run are returned.
    """
    from winosmith import chat, solve

    problems: Sequence[Problem] = dataset.blind()
    if isinstance(solver, solve.LocalContext):
        problems = solve.cut_to_local_context(problems, solver.before)
        solver = solver.solver
    if not isinstance(solver, solve.ChatSolver) or not isinstance(solver.model, chat.Client):
        return None
    if solver.model.cache:
        return solver.ask(problems)
    return solve.Interview(tuple(solver.reply_log)) if solver.reply_log else None
