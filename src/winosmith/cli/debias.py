"""`winosmith debias`: filter a data set, and show the effect of the filter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from winosmith.build import debias_to_folder, is_filter_finished
from winosmith.cli import _options
from winosmith.cli._printing import progress, say, show_log
from winosmith.cli.build import print_build
from winosmith.options import EmbedRecipe, FilterRecipe, MeasureRecipe, build_schema

EMBED_FIELDS = ("encoder", "array", "combine", "reads")
"""Fields of `EmbedRecipe` that have an option. The command does not fine-tune."""

FILTER_FIELDS = [name for name in build_schema(FilterRecipe)["properties"] if name != "method"]
"""Fields of `FilterRecipe` that have a generated option. `--method` is not generated, because it
can't be "none"."""

METHODS_BY_OPTION = {
    **dict.fromkeys(("aim", "error", "folds", "repeats"), ("mirror",)),
    **dict.fromkeys(
        "ensemble_size train_size cutoff threshold target_size remove null".split(),
        ("aflite", "pmi", "random"),
    ),
    "pmi": ("pmi",),
    "pmi_label": ("pmi",),
    "keep": ("pmi", "random"),
}
"""Maps options that apply only to some methods to these methods."""


@click.command()
@_options.data_argument()
@click.option("--out", required=True, metavar="DIR", help="Output folder; created if missing.")
@click.option("--method", type=click.Choice(["aflite", "mirror", "pmi", "random"]),
              default="aflite", show_default=True, help="Filter.")  # fmt: skip
@_options.add_declared_options(
    EmbedRecipe, only=EMBED_FIELDS, option_names={"array": "--embeddings"}
)
@_options.add_declared_options(
    FilterRecipe, only=FILTER_FIELDS, option_names={"C": "-C", "pmi": "--pmi-variant"}
)
@_options.add_declared_options(MeasureRecipe)
@_options.cluster_option
@click.option("--scratch", metavar="DIR", type=click.Path(exists=True, file_okay=False),
              help="Folder for the rotated copy of the vectors, which saves memory.")  # fmt: skip
@_options.seed_option()
@click.option("--force", is_flag=True, help="Overwrite a different run in DIR.")
@_options.format_option
@_options.json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Filter DATA: remove problems that a model can answer from embeddings.

    AFLite removes problems one by one (WinoGrande, Algorithm 1). --method mirror removes whole
    twins, with any number of options; with --aim error it reports the fraction of removed problems
    that may be sound.

    DIR contains kept.jsonl, dropped.jsonl with the reason for each problem, report.json and
    report.html. You can stop the command at any time; run it again to resume from the last phase,
    or to show the finished result. DIR contains the answers; to publish a benchmark, use `winosmith
    build`.

    The exit code is 1 if the vectors do not distinguish the problems; then nothing is removed, and
    the remaining guessability is not measured.

    \b
    Example:
        winosmith debias train.jsonl --out filtered --threshold 0.75
        winosmith debias train.jsonl --out filtered --embeddings vectors.npz
        winosmith debias train.jsonl --out filtered --method mirror --error 0.2
    """  # noqa: D301
    given = _options.find_given_options(ctx)
    for param in (param for param in ctx.command.params if param.name in given):
        name, method = str(param.name), options["method"]
        if method not in METHODS_BY_OPTION.get(name, (method,)):
            owners = " or ".join(f"--method {owner}" for owner in METHODS_BY_OPTION[name])
            raise click.UsageError(f"{param.opts[0]} is for {owners}, not for {method}")
        if name == "error" and options["aim"] != "error":
            raise click.UsageError(f"--error is for --aim error, not for {options['aim']}")
    data, out = _options.read_data(options["data"]), options["out"]
    asked: dict[str, Any] = {
        "embed": EmbedRecipe(**{name: options[name] for name in EMBED_FIELDS}),
        "filter_recipe": FilterRecipe(
            **{name: options[name] for name in ("method", *FILTER_FIELDS)}
        ),
        "splits": options["splits"],
        "seed": options["seed"],
    }
    if not options["force"] and is_filter_finished(data, out, **asked):
        say(f"{out} contains the finished results of this command; add --force to filter again")
    else:
        with show_log(), _options.connect_cluster(options["cluster"]) as executor:
            debias_to_folder(
                data,
                out,
                **asked,
                force=options["force"],
                step=progress,
                executor=executor,
                scratch=options["scratch"],
            )
    if print_build(Path(out))["blind"]:
        ctx.exit(1)
