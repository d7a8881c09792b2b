"""`winosmith debias`: filter a data set, and show what the filter did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from winosmith.cli import _options
from winosmith.cli._printing import log_shown, progress, say
from winosmith.cli.build import is_blind, tell_filter

BELONGS = {
    **dict.fromkeys(("aim", "error", "folds", "repeats"), ("mirror",)),
    **dict.fromkeys(
        "ensemble_size train_size cutoff threshold target_size remove null whole_twins".split(),
        ("aflite", "pmi", "random"),
    ),
    "pmi_variant": ("pmi",),
    "pmi_label": ("pmi",),
    "keep": ("pmi", "random"),
}
"""The methods that an option is of, where others have no use for it."""


def _number(ctx: click.Context, param: click.Parameter, value: str | None) -> int | float | None:
    """Return a whole number, or a share with a point in it, as it was written."""
    if value is None:
        return None
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number", ctx, param) from None


@click.command()
@_options.data_argument()
@click.option("--out", required=True, metavar="DIR", help="The folder to write; made if need be.")
@click.option("--method", type=click.Choice(["aflite", "mirror", "pmi", "random"]),
              default="aflite", show_default=True, help="What filters.")  # fmt: skip
@click.option("--encoder", default="light", show_default=True, metavar="light|HUB_ID|FOLDER")
@click.option("--embeddings", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Vectors from a .npy or .npz file, in place of an encoder.")  # fmt: skip
@click.option("--combine", type=click.Choice(["difference", "concat"]), default="difference",
              show_default=True, help="How two filled-in sentences become one vector.")  # fmt: skip
@click.option("--reads", type=click.Choice(["sentence", "options"]), help="What an embedder "
              "sees of an option: the sentence with it filled in, or the option alone. By default "
              "the sentence where all have two options and a blank, else the options alone: what "
              "is guessed by a question and an option may be known, not given away.")  # fmt: skip
@click.option("--aim", type=click.Choice(["error", "chance"]), default="error", show_default=True,
              help="Of mirror: error finds what gives its answer away; chance leaves as many that "
              "agree with a model as disagree, at every margin.")  # fmt: skip
@click.option("--error", default=0.1, show_default=True, help="Of mirror with --aim error: the "
              "share of sound ones among those removed, at most 0.2.")  # fmt: skip
@click.option("--folds", default=10, show_default=True, help="Of mirror: parts of the problems, "
              "each guessed by a model of the others.")  # fmt: skip
@click.option("--repeats", default=1, show_default=True, help="Of mirror: how often problems are "
              "dealt to folds; margins are averaged.")  # fmt: skip
@click.option("-C", "C", default=1.0, show_default=True, help="Inverse strength of the penalty "
              "of AFLite's and mirror's models.")  # fmt: skip
@click.option("--ensemble-size", default=64, show_default=True, help="Classifiers a phase (n).")
@click.option("--train-size", type=int, help="Problems each is trained on (m); by default the "
              "paper's 10,000, or the same share of fewer than 47,000.")  # fmt: skip
@click.option("--cutoff", callback=_number, metavar="NUMBER", help="The most a phase removes (k): "
              "a whole number, or a share of those left such as 0.01; by default the paper's 500, "
              "or the same share of fewer than 47,000.")  # fmt: skip
@click.option("--threshold", default=0.75, show_default=True, help="Score from which on a problem "
              "may be removed (tau).")  # fmt: skip
@click.option("--target-size", type=int, help="Stop when so many problems are left.")
@click.option("--remove", type=click.Choice(["problems", "twins"]), default="problems",
              show_default=True, help="Remove one by one, or twins whole, with copies of "
              "their halves.")  # fmt: skip
@click.option("--null", type=click.Choice(["off", "report"]), default="off", show_default=True,
              help="In every phase, also count what reaches the threshold by chance (answers of "
              "whole blocks flipped).")  # fmt: skip
@click.option("--null-draws", default=20, show_default=True, help="Draws of every null; with "
              "--null a phase takes so many times longer.")  # fmt: skip
@click.option("--again/--no-again", default=True, show_default=True, help="Also filter with "
              "another seed, and with vectors shaken by a ten-thousandth, and say how much of what "
              "was removed goes again; three times as long.")  # fmt: skip
@click.option("--splits", type=click.IntRange(min=0), default=5, show_default=True, help="Into "
              "halves that are filtered apart, to measure what can still be guessed; 0 measures "
              "nothing.")  # fmt: skip
@click.option("--whole-twins", is_flag=True, help="Keep twins on one side of each partition.")
@click.option("--keep", type=int, help="How many problems pmi and random keep; by default as many "
              "as AFLite would.")  # fmt: skip
@click.option("--pmi-variant", type=click.Choice(["signed", "absolute", "max", "pairwise"]),
              default="signed", show_default=True)  # fmt: skip
@click.option("--pmi-label", type=click.Choice(["first-mentioned", "option-1"]),
              default="first-mentioned", show_default=True, help="Correct option that counts as "
              "y = 1 of pmi: the one mentioned first in the sentence, or option 1 as in "
              "WinoGrande's paper, whose result depends on the order of options.")  # fmt: skip
@_options.cluster_option
@click.option("--scratch", metavar="DIR", type=click.Path(exists=True, file_okay=False),
              help="A folder for the rotated copy of the vectors, in place of memory.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="The same seed, the same bytes.")
@click.option("--force", is_flag=True, help="Replace the files of another run in that folder.")
@_options.format_option
@_options.json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Filter DATA: remove what a machine can guess from embeddings.

    AFLite takes problems one by one (WinoGrande, Algorithm 1). --method mirror takes whole twins,
    and with --aim error it says how large a share of those that it removes may be sound; it takes
    problems of any number of options.

    DIR takes kept.jsonl, dropped.jsonl with the reason for each problem, report.json and
    report.html. Stop it at any time; the same command goes on from the last phase, or shows what is
    finished. The folder holds answers: `winosmith build` makes a benchmark that can be published.

    It ends with code 1 if the vectors do not tell the problems apart: nothing is removed then, and
    what a model can still guess is not measured.

    \b
    Example:
        winosmith debias train.jsonl --out filtered --threshold 0.75
        winosmith debias train.jsonl --out filtered --embeddings vectors.npz
        winosmith debias train.jsonl --out filtered --method mirror --error 0.2
    """  # noqa: D301
    from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder, finished_filter

    _refuse_strangers(ctx)
    data, out = _options.read_data(options["data"], options["format_name"]), options["out"]
    asked: dict[str, Any] = {
        "embed": _picked(
            EmbedRecipe, options, array=options["embeddings"], encoder=options["encoder"]
        ),
        "chosen": _picked(FilterRecipe, options, pmi=options["pmi_variant"]),
        "splits": options["splits"],
        "seed": options["seed"],
    }
    if not options["force"] and finished_filter(data, out, **asked):
        say(f"{out} holds the finished results of this command; add --force to filter again")
    else:
        with log_shown(), _options.on_cluster(options["cluster"]) as executor:
            debias_to_folder(
                data,
                out,
                **asked,
                force=options["force"],
                step=progress,
                executor=executor,
                scratch=options["scratch"],
            )
    tell_filter(Path(out), options["as_json"])
    if is_blind(Path(out)):
        ctx.exit(1)


def _refuse_strangers(ctx: click.Context) -> None:
    """Refuse an option of another method, or of another aim, that would pass unnoticed."""
    method, aim = ctx.params["method"], ctx.params["aim"]
    for param in ctx.command.params:
        name = param.name or ""
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        if method not in BELONGS.get(name, (method,)):
            owners = " or ".join(f"--method {owner}" for owner in BELONGS[name])
            raise click.UsageError(f"{param.opts[0]} belongs to {owners}, not to {method}")
        if name == "error" and aim != "error":
            raise click.UsageError(f"--error belongs to --aim error, not to {aim}")


Kind = TypeVar("Kind")


def _picked(kind: type[Kind], options: Mapping[str, Any], **renamed: Any) -> Kind:
    """Construct a table of the recipe from the options that bear its fields' names."""
    names = {known.name for known in fields(kind)}  # type: ignore[arg-type]
    return kind(**{**{n: v for n, v in options.items() if n in names}, **renamed})
