"""`winosmith debias`: filter a data set, and show what the filter did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import click

from winosmith.cli._built import print_figures
from winosmith.cli._common import data_argument, format_option, json_option, progress, say

__all__ = ["command"]


@click.command()
@data_argument()
@click.option("--out", required=True, metavar="DIR", help="The folder to write; made if need be.")
@click.option(
    "--method",
    type=click.Choice(["aflite", "pmi", "random"]),
    default="aflite",
    show_default=True,
    help="What filters.",
)
@click.option("--encoder", default="light", show_default=True, metavar="light|HUB_ID|FOLDER")
@click.option("--embeddings", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Vectors from a .npy or .npz file, in place of an encoder.")  # fmt: skip
@click.option("--combine", type=click.Choice(["difference", "concat"]), default="difference",
              show_default=True, help="How two filled-in sentences become one vector.")  # fmt: skip
@click.option("--ensemble-size", default=64, show_default=True, help="Classifiers a phase (n).")
@click.option("--train-size", type=int, help="Problems each is trained on (m); by default the "
              "paper's 10,000, or the same share of fewer than 47,000.")  # fmt: skip
@click.option("--cutoff", type=int, help="The most a phase removes (k); by default the paper's "
              "500, or the same share of fewer than 47,000.")  # fmt: skip
@click.option("--threshold", default=0.75, show_default=True, help="Score from which on a problem "
              "may be removed (tau).")  # fmt: skip
@click.option("--whole-twins", is_flag=True, help="Keep twins on one side of each partition.")
@click.option("--keep", type=int, help="How many problems pmi and random keep; by default as many "
              "as AFLite would.")  # fmt: skip
@click.option("--pmi-variant", type=click.Choice(["signed", "absolute", "max", "pairwise"]),
              default="signed", show_default=True)  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="The same seed, the same bytes.")
@click.option("--force", is_flag=True, help="Replace the files of another run in that folder.")
@format_option
@json_option
def command(**options: Any) -> None:
    """Filter DATA: remove what a machine can guess from embeddings.

    DIR takes kept.jsonl, dropped.jsonl with the reason for each problem, report.json and
    report.html. Stop it at any time; the same command goes on from the last phase. The folder
    holds answers: `winosmith build` makes a benchmark that can be published.

    \b
    Example:
        winosmith debias train.jsonl --out filtered --threshold 0.75
        winosmith debias train.jsonl --out filtered --embeddings vectors.npz
    """  # noqa: D301
    from winosmith import formats
    from winosmith.release import EmbedRecipe, FilterRecipe, debias_to_folder, key_figures

    done = debias_to_folder(
        formats.read(options["data"], options["format_name"]),
        options["out"],
        embed=_picked(
            EmbedRecipe, options, array=options["embeddings"], encoder=options["encoder"]
        ),
        chosen=_picked(FilterRecipe, options, pmi=options["pmi_variant"]),
        seed=options["seed"],
        force=options["force"],
        step=progress,
    )
    if options["as_json"]:
        click.echo((done.folder / "report.json").read_text("utf-8"), nl=False)
        return
    kept, dropped = len(done.filtered.kept), len(done.filtered.dropped)
    click.echo(f"{kept:,} problems kept of {kept + dropped:,}")
    print_figures(key_figures(done.run, done.measures))
    click.secho(f"The report is {(done.folder / 'report.html').resolve()}", bold=True)
    say(f"signature {done.measures.signature}")


Kind = TypeVar("Kind")


def _picked(kind: type[Kind], options: Mapping[str, Any], **renamed: Any) -> Kind:
    """Construct a table of the recipe from the options that bear its fields' names."""
    names = {known.name for known in fields(kind)}  # type: ignore[arg-type]
    return kind(**{**{n: v for n, v in options.items() if n in names}, **renamed})
