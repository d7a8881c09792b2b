"""`winosmith evolve`: perturb problems into families, with lineage.

Here are its options and the perturbers that they name; `_evolve_run` carries it out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._options import cluster_option, format_option, json_option, on_cluster
from winosmith.cli._printing import print_json
from winosmith.errors import InputError

if TYPE_CHECKING:
    from winosmith.evolve import Perturber
    from winosmith.problem import Problem

KINDS = ("wordnet", "wordnet-paper", "chat", "masked")

_WORDNET = {"wordnet", "wordnet-paper"}

_FEW = 500
"""Problems below which starting processes costs more than it saves."""

Options = Mapping[str, Any]


def perturber_options(function: Any) -> Any:
    """Add the options of the perturbers."""
    options = [
        click.option("--count", type=click.IntRange(min=1), default=2, show_default=True,
                     help="Of wordnet, wordnet-paper and masked: children of a problem at most."),
        click.option("--wordnet", "wordnet_folder", metavar="FOLDER",
                     type=click.Path(exists=True, file_okay=False),
                     help="Of wordnet and wordnet-paper: its dictionary files, where they are not "
                     "found."),
        click.option("--wide", is_flag=True, help="Of wordnet: take synonyms that are less sure; "
                     "twice as many children, more of them wrong."),
        click.option("--model", metavar="NAME|FOLDER", help="Of masked: a hub id or a folder. Of "
                     "chat: the server's name for it; OPENAI_MODEL if not told."),
        click.option("--base-url", metavar="URL", help="Of chat: the server, such as "
                     "http://localhost:11434/v1; OPENAI_BASE_URL if not told."),
        click.option("--wanted", type=click.IntRange(min=1), default=100, show_default=True,
                     help="Of chat: children of each problem."),
        click.option("--batches", default="10,10,30,30,20", show_default=True,
                     metavar="N,N,…", help="Of chat: rows asked for in each turn."),
        click.option("--temperature", type=click.FloatRange(min=0), default=1.0,
                     show_default=True, help="Of chat."),
        click.option("--key-variable", metavar="NAME", help="Of chat: the environment variable "
                     "that holds the key; OPENAI_API_KEY, for https elsewhere, if not told."),
        click.option("--max-spent", type=click.IntRange(min=1), metavar="TOKENS",
                     help="Of chat: stop before more are spent, in and out together."),
        click.option("--device", metavar="NAME", help="Of masked: as torch names it."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=_FILE)
@click.option("--with", "kinds", multiple=True, required=True, type=click.Choice(KINDS),
              help="Who perturbs; given again, the next one perturbs all that there is by "
              "then.")  # fmt: skip
@click.option("--out", required=True, metavar="DIR", type=click.Path(file_okay=False),
              help="The folder to write.")  # fmt: skip
@click.option("--roots", type=click.IntRange(min=1), multiple=True, metavar="N",
              help="Draw so many roots from each DATA; once for all, or for each.")  # fmt: skip
@click.option("--right", multiple=True, metavar="PREDICTIONS", type=_FILE,
              help="Draw only what this solver gets right; may be given again.")  # fmt: skip
@click.option("--sets", is_flag=True, help="Write small, medium and large, split by root; the "
              "first --with makes medium, the second large.")  # fmt: skip
@click.option("--people", metavar="FILE", type=_FILE, help="Of --sets: what people made of the "
              "roots, with lineage; it belongs to small.")  # fmt: skip
@click.option("--grow", type=click.Choice(["roots", "small"]), default="roots", show_default=True,
              help="Of --sets: what medium grows from.")  # fmt: skip
@click.option("--augment", type=click.Choice(["train+dev", "all"]), default="train+dev",
              show_default=True, help="Of --sets: what of medium large grows from.")  # fmt: skip
@click.option("--split", type=click.IntRange(min=1), nargs=3, default=(10, 2, 2),
              show_default=True, metavar="TRAIN DEV TEST",
              help="Of --sets: shares of the roots.")  # fmt: skip
@perturber_options
@click.option("--workers", type=click.IntRange(min=1), default=os.cpu_count() or 1,
              help="Of wordnet, wordnet-paper: processes; one a core when not told.")  # fmt: skip
@cluster_option
@click.option("--seed", default=0, show_default=True, help="Of every draw.")
@click.option("--force", is_flag=True, help="Replace what another recipe wrote to DIR.")
@format_option
@json_option
def command(**options: Any) -> None:
    """Perturb the problems of DATA into families whose every step is recorded.

    Each child differs from its parent by a few tokens and names its root, its parent and the
    edits. It is marked as not validated until people have judged it (`winosmith check --votes`).
    Stop it at any time: the same command goes on.

    \b
    Perturbers:
        wordnet        a synonym of the sense that is meant, inflected    needs WordNet
        wordnet-paper  any synonym of any word, as EvoGrad did it         needs WordNet
        chat           a chat model, asked as an expert, row by row       --model --base-url
        masked         what a masked language model would say there       --model

    \b
    Example:
        winosmith evolve twins.jsonl --with wordnet --out evolved
        winosmith evolve wsc.xml dev.jsonl --roots 7 --right a.jsonl --right b.jsonl \\
            --with chat --model qwen3:8b --base-url http://localhost:11434/v1 \\
            --with wordnet --sets --out evograd
    """  # noqa: D301
    from winosmith.cli._evolve_run import run

    report = run(settled(options))
    if options["as_json"]:
        print_json(report)
    else:
        _print(report)


def _print(report: Mapping[str, Any]) -> None:
    from winosmith.cli._printing import print_table
    from winosmith.report import shown

    made, perturbed = report["made"], report["perturbed"]
    found = {letter for part in report["parts"].values() for letter in part["answers"]} - {"—"}
    letters = ascii_uppercase[: ascii_uppercase.index(max(found | {"B"})) + 1]
    print_table(
        f"{shown(made)} {'child' if made == 1 else 'children'} of "
        f"{shown(perturbed)} {'problem' if perturbed == 1 else 'problems'}",
        ("set", "problems", "families", " / ".join(letters), "mean depth", "not judged"),
        [
            (
                name,
                part["problems"],
                part["families"],
                " / ".join(str(part["answers"].get(place, 0)) for place in letters),
                "—" if part["mean_edit_depth"] is None else f"{part['mean_edit_depth']:.1f}",
                part["unvalidated"],
            )
            for name, part in report["parts"].items()
        ],
    )
    print_table(
        "Left out",
        ("problems", "because"),
        [(count, reason) for reason, count in report["left_out"].items()],
    )
    if report["sources"]:
        names = ", ".join(report["sources"])
        click.echo(f"Roots come from {names}: after training on these families, a figure there")
        click.echo("is no test any more.\n")
    click.echo(report["signature"])


def settled(options: Options) -> Options:
    """Return the options with the model that the environment names; refuse what can't work.

    All of it before a folder is made: one with a wrong option in its recipe would be in the way.

    Raises:
        InputError: batches that are no numbers, a model or a server without a name, or no WordNet.
    """
    kinds = set(options["kinds"])
    if "masked" in kinds and not options["model"]:
        raise InputError("the perturber 'masked' needs a model; name one with --model")
    if {"masked", "chat"} <= kinds:
        raise InputError("masked and chat would share --model; run one after the other")
    _batches(options["batches"])
    if kinds & _WORDNET:
        from winosmith.language import wordnet_folder

        wordnet_folder(options["wordnet_folder"])
    return {**options, "model": _client(options).model} if "chat" in kinds else options


def _batches(text: str) -> tuple[int, ...]:
    try:
        batches = tuple(int(size) for size in text.split(","))
    except ValueError:
        batches = ()
    if not batches or min(batches) < 1:
        raise InputError(f"--batches {text}: whole numbers of 1 or more with commas are needed")
    return batches


def perturber(
    kind: str,
    options: Options,
    dialogues: Path,
    taken: Sequence[Problem],
    on_progress: Callable[[int, int, str], None],
) -> Perturber:
    """Return the perturber of that name, with the options of the command.

    Args:
        kind: one of `KINDS`.
        options: of the command.
        dialogues: the folder where a chat model's dialogues are kept.
        taken: problems that a chat model must not make again.
        on_progress: hears of a dialogue's children.
    """
    from winosmith import evolve

    if kind in _WORDNET:
        from winosmith.language import WordNet, wordnet_folder

        return evolve.WordNetPerturber(
            options["count"],
            WordNet(wordnet_folder(options["wordnet_folder"])),
            wide=options["wide"] and kind == "wordnet",
            as_published=kind == "wordnet-paper",
        )
    if kind == "masked":
        return evolve.MaskedPerturber(
            options["model"], count=options["count"], device=options["device"]
        )
    return evolve.ChatPerturber(
        _client(options),
        wanted=options["wanted"],
        batches=_batches(options["batches"]),
        taken=taken,
        folder=dialogues,
        on_progress=on_progress,
    )


def _client(options: Options) -> Any:
    from winosmith import chat, embed
    from winosmith.evolve import REPLY_TOKENS

    return chat.Client.from_environment(
        options["model"],
        options["base_url"],
        temperature=options["temperature"],
        max_tokens=REPLY_TOKENS,
        key_variable=options["key_variable"],
        budget=chat.Budget(tokens=options["max_spent"]),
        cache=embed.cache_folder() / "chat",
    )


@contextmanager
def executor_for(kind: str, problems: int, options: Options) -> Iterator[Executor | None]:
    """Open who perturbs: a cluster, processes for WordNet on much data, or nobody but this one."""
    if options["cluster"] and kind != "chat":
        with on_cluster(options["cluster"]) as executor:
            yield executor
    elif kind in _WORDNET and options["workers"] > 1 and problems >= _FEW:
        with ProcessPoolExecutor(options["workers"]) as executor:
            yield executor
    else:
        yield None
