"""`winosmith practice` and `demo`: practice twins, and a benchmark built from them."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from winosmith import formats, practice as corpora, validate
from winosmith.build import MeasureRecipe, Recipe, build, is_build_finished, read_recipe
from winosmith.cli._options import json_option, seed_option
from winosmith.cli._printing import echo, is_json_requested, progress, say
from winosmith.cli.build import print_build
from winosmith.escape import escape_line
from winosmith.finished import BuildFiles
from winosmith.outputs import OutputFolder
from winosmith.parallel import Step
from winosmith.report import format_value, percent

RECIPE = """\
# winosmith build {folder}/recipe.toml --out benchmark
name = "practice"
data = "twins.jsonl"
votes_file = "votes.csv"
planted = "planted.json"
seed = {seed}
"""


@click.command()
@click.option("--out", required=True, metavar="DIR", help="Output folder, which must be new or "
              "already contain these practice twins.")  # fmt: skip
@click.option("--twins", type=click.IntRange(1), default=3000, show_default=True,
              help="Number of twins.")  # fmt: skip
@click.option("--strength", type=click.FloatRange(0, 1), default=0.5, show_default=True,
              help="Fraction of twins with an artifact.")  # fmt: skip
@click.option("--symmetric", is_flag=True, help="Swap the answers of sound twins at random, so "
              "that a model can learn nothing from them.")  # fmt: skip
@click.option("--handwritten", is_flag=True, help="Write the built-in hand-written twins instead "
              "of generated ones.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite older practice twins in the folder.")
@seed_option()
def practice(out: str, handwritten: bool, **options: Any) -> None:
    """Write practice twins: problems, simulated votes, and the planted artifacts.

    DIR contains twins.jsonl, votes.csv, planted.json and a recipe.toml to build them.

    \b
    Example:
        winosmith practice --out pool
        winosmith build pool/recipe.toml --out benchmark
    """  # noqa: D301
    folder = Path(out)
    if handwritten:
        output = OutputFolder.open(folder, {"practice": "handwritten"}, force=options["force"])
        formats.write(corpora.read_handwritten().problems, folder / "twins.jsonl")
        output.add("twins.jsonl")
        say(f"{len(corpora.read_handwritten())} problems are in {folder / 'twins.jsonl'}")
        return
    write_practice(folder, **options)
    say(f"{options['twins']:,} twins are in {folder}; build them with:")
    say(f"  winosmith build {folder / 'recipe.toml'} --out benchmark")


def write_practice(
    folder: Path,
    *,
    twins: int,
    strength: float,
    symmetric: bool = False,
    seed: int = 0,
    force: bool = False,
) -> Path:
    """Write the practice corpus into a folder, and return the path of its recipe."""
    made = corpora.generate_corpus(twins, seed=seed, strength=strength, symmetric=symmetric)
    kinds = list(corpora.ARTIFACTS)
    parameters = {"twins": twins, "strength": strength, "artifacts": kinds, "seed": seed}
    parameters |= {"symmetric": True} if symmetric else {}
    output = OutputFolder.open(folder, {"practice": parameters}, force=force)
    formats.write(made.dataset.problems, folder / "twins.jsonl")
    validate.write_votes(made.votes, folder / "votes.csv")
    for name in ("twins.jsonl", "votes.csv"):
        output.add(name)
    output.write_lines("planted.json", [json.dumps(made.planted, indent=0, sort_keys=True)])
    output.write_lines("recipe.toml", [RECIPE.format(folder=escape_line(folder), seed=seed)])
    return folder / "recipe.toml"


TWINS, STRENGTH = 3_000, 0.5

SPLITS = 2
"""Number of splits into separately filtered halves. The default of a recipe, 5, takes twice as
long."""


@click.command()
@click.option(
    "--out", default="winosmith-demo", show_default=True, metavar="DIR", help="Output folder."
)
@click.option("--force", is_flag=True, help="Overwrite an older demo in the folder.")
@json_option
def command(out: str, force: bool) -> None:
    """Build a benchmark from practice twins with known artifacts; takes about a minute.

    Nothing is downloaded. DIR/pool contains the raw twins, the votes and the recipe; DIR/benchmark
    the published files and the report, which states how many of the planted artifacts were found.
    DIR/mirror contains the same twins, filtered with mirror instead of AFLite.

    \b
    Example:
        winosmith demo
    """  # noqa: D301
    folder = Path(out)
    say(f"Writing {TWINS:,} practice twins, {percent(STRENGTH, 0)} of them with a planted artifact")
    recipe = write_practice(folder / "pool", twins=TWINS, strength=STRENGTH, force=force)
    read = replace(read_recipe(recipe), measure=MeasureRecipe(SPLITS))
    mirror = replace(read, filter=replace(read.filter, method="mirror", again=False))
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        mirrored = other.submit(_build_unless_finished, mirror, folder / "mirror", force)
        _build_unless_finished(read, folder / "benchmark", force, progress)
        say("Filtering the same twins with mirror")
        mirrored.result()
    print_build(folder / "benchmark")
    if is_json_requested():
        return
    records = [BuildFiles(folder / name).report for name in ("benchmark", "mirror")]
    kept = [record["funnel"]["steps"][-1]["kept"] for record in records]
    measures = [record["measures"] for record in records]
    found = [own["found"][name] for own, name in zip(measures, ("AFLite", "mirror"), strict=True)]
    after = [own["verified"]["after"]["linear"]["accuracy"] for own in measures]
    rows = {
        "same twins, filtered by": ["AFLite", "mirror"],
        "whole twins kept": [f"{own['twins']:,}" for own in kept],
        "singles kept": [f"{own['singles']:,}" for own in kept],
        "planted problems found": [_format_fraction(own["recall"]) for own in found],
        "sound problems removed": [_format_fraction(own["false_removals"]) for own in found],
        "accuracy of a model, cross-filtered": [format_value(rate, ".1%") for rate in after],
    }
    echo()
    for title, (by_aflite, by_mirror) in rows.items():
        echo(f"{title:<44}{by_aflite:>8}{by_mirror:>8}")
    echo(f"Now try your own twins: edit a copy of {recipe}")


def _build_unless_finished(
    recipe: Recipe, folder: Path, force: bool, step: Step | None = None
) -> None:
    if force or not is_build_finished(recipe, folder):
        build(recipe, folder, force=force, step=step)


def _format_fraction(fraction: dict[str, int]) -> str:
    return format_value(fraction["count"] / fraction["total"], ".1%")
