"""`winosmith debias`: filter a data set, and show what the filter did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from winosmith.cli import _options
from winosmith.cli._declared import declared_options
from winosmith.cli._printing import log_shown, progress, say
from winosmith.cli.build import is_blind, print_filter
from winosmith.options import EmbedRecipe, FilterRecipe, MeasureRecipe, schema

EMBED = ("encoder", "array", "combine", "reads")
"""The fields of `EmbedRecipe` that the command has options for: it fine-tunes nothing."""

FILTER = [name for name in schema(FilterRecipe)["properties"] if name != "method"]
"""The fields of `FilterRecipe` that it has options for: `--method` can't be "none"."""

BELONGS = {
    **dict.fromkeys(("aim", "error", "folds", "repeats"), ("mirror",)),
    **dict.fromkeys(
        "ensemble_size train_size cutoff threshold target_size remove null whole_twins".split(),
        ("aflite", "pmi", "random"),
    ),
    "pmi": ("pmi",),
    "pmi_label": ("pmi",),
    "keep": ("pmi", "random"),
}
"""The methods that an option is of, where others have no use for it."""


@click.command()
@_options.data_argument()
@click.option("--out", required=True, metavar="DIR", help="The folder to write; made if need be.")
@click.option("--method", type=click.Choice(["aflite", "mirror", "pmi", "random"]),
              default="aflite", show_default=True, help="What filters.")  # fmt: skip
@declared_options(EmbedRecipe, only=EMBED, named={"array": "--embeddings"})
@declared_options(FilterRecipe, only=FILTER, named={"C": "-C", "pmi": "--pmi-variant"})
@declared_options(MeasureRecipe)
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
    from winosmith.build import debias_to_folder, finished_filter

    _refuse_strangers(ctx)
    data, out = _options.read_data(options["data"], options["format_name"]), options["out"]
    asked: dict[str, Any] = {
        "embed": EmbedRecipe(**{name: options[name] for name in EMBED}),
        "chosen": FilterRecipe(**{name: options[name] for name in ("method", *FILTER)}),
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
    print_filter(Path(out), options["as_json"])
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
