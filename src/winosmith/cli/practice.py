"""`winosmith practice`: twins to practise on, with a recipe to build them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from winosmith.cli._printing import say

RECIPE = """\
# winosmith build {folder}/recipe.toml --out benchmark
name = "practice"
data = "twins.jsonl"
votes_file = "votes.csv"
planted = "planted.json"
seed = {seed}
"""


@click.command()
@click.option("--out", required=True, metavar="DIR", help="A new folder for the files.")
@click.option("--twins", default=3000, show_default=True, help="How many twins to make.")
@click.option("--strength", default=0.5, show_default=True, help="Share of twins with an artifact.")
@click.option(
    "--artifact",
    "artifacts",
    multiple=True,
    help="A kind to plant; may be repeated. Without it, all: association, length, polarity, "
    "position.",
)
@click.option(
    "--symmetric",
    is_flag=True,
    help="Turn the answers of sound twins round by a coin, so that nothing can be learnt of them.",
)
@click.option("--handwritten", is_flag=True, help="Write the hand-written twins instead.")
@click.option("--force", is_flag=True, help="Replace older practice twins in that folder.")
@click.option("--seed", default=0, show_default=True, help="The same seed, the same twins.")
def command(
    out: str,
    twins: int,
    strength: float,
    artifacts: tuple[str, ...],
    symmetric: bool,
    handwritten: bool,
    force: bool,
    seed: int,
) -> None:
    """Write twins to practise on: problems, simulated votes, and what is planted in them.

    DIR takes twins.jsonl, votes.csv, planted.json and a recipe.toml that builds them.

    \b
    Example:
        winosmith practice --out pool
        winosmith build pool/recipe.toml --out benchmark
    """  # noqa: D301
    folder = Path(out)
    if handwritten:
        from winosmith import formats, practice
        from winosmith.outputs import OutputFolder

        held = OutputFolder.open(folder, {"practice": "handwritten"}, force=force)
        formats.write(practice.handwritten().problems, folder / "twins.jsonl")
        held.add("twins.jsonl")
        say(f"{len(practice.handwritten())} problems are in {folder / 'twins.jsonl'}")
        return
    write_practice(
        folder,
        twins=twins,
        strength=strength,
        artifacts=artifacts,
        symmetric=symmetric,
        seed=seed,
        force=force,
    )
    say(f"{twins:,} twins are in {folder}; build them with:")
    say(f"  winosmith build {folder / 'recipe.toml'} --out benchmark")


def write_practice(
    folder: Path,
    *,
    twins: int,
    strength: float,
    artifacts: tuple[str, ...] = (),
    symmetric: bool = False,
    seed: int = 0,
    force: bool = False,
) -> Path:
    """Write the practice corpus into a folder; return the path of its recipe."""
    from typing import cast

    from winosmith import formats, practice, validate
    from winosmith.outputs import OutputFolder

    kinds = cast("tuple[practice.Artifact, ...]", artifacts) or practice.ARTIFACTS
    made = practice.corpus(
        twins, seed=seed, strength=strength, artifacts=kinds, symmetric=symmetric
    )
    parameters = {"twins": twins, "strength": strength, "artifacts": list(kinds), "seed": seed}
    parameters |= {"symmetric": True} if symmetric else {}
    held = OutputFolder.open(folder, {"practice": parameters}, force=force)
    formats.write(made.dataset.problems, folder / "twins.jsonl")
    validate.write_votes(made.votes, folder / "votes.csv")
    for name in ("twins.jsonl", "votes.csv"):
        held.add(name)
    with held.write("planted.json") as file:
        json.dump(made.planted, file, indent=0, sort_keys=True)
    with held.write("recipe.toml") as file:
        file.write(RECIPE.format(folder=folder, seed=seed))
    return folder / "recipe.toml"
