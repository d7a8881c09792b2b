"""`winosmith evolve`: perturb problems into families, with lineage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

import click

from winosmith.cli._evolve_perturbers import KINDS, perturber_options, settled
from winosmith.cli._options import cluster_option, format_option, json_option
from winosmith.cli._printing import print_json

__all__ = ["command"]

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
