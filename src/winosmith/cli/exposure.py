"""`winosmith exposure`: test whether models depend on the coins of a keyed release."""

from __future__ import annotations

import re
from pathlib import Path

import click

from winosmith import exposure as exposures, report
from winosmith.cli import _options
from winosmith.cli._output import Output, join_by_solver
from winosmith.cli._printing import progress, say
from winosmith.errors import InputError
from winosmith.exposure import Exposure, KeyedRelease
from winosmith.outputs import PRIVATE
from winosmith.report import join_names, to_fixed
from winosmith.results import make_table
from winosmith.text import format_count

PROVIDER_CAUTION = (
    "A provider that answers or scores the items sees both presentations of each item; if the "
    "provider stores them, its later models can't be tested with this release."
)


@click.command()
@click.argument("release", type=_options.FOLDER)
@click.option("--model", multiple=True, metavar="M", help="Causal language model to score and "
              "test: a folder or a hub id; may be repeated.")  # fmt: skip
@click.option("--scores", multiple=True, type=_options.FILE, metavar="FILE", help="Scores of both "
              "presentations of all items, from one run of a model; may be repeated.")  # fmt: skip
@click.option("--reference", type=_options.FILE, metavar="FILE", help="Scores of a model that "
              "can't have seen the release, for more statistical power.")  # fmt: skip
@click.option("--export", metavar="FILE.jsonl", help="Write both presentations of each item for "
              "your own scorer, and exit.")  # fmt: skip
@click.option("--private", type=_options.FOLDER, metavar="FOLDER", help="The release's private "
              "folder; by default private/NAME next to the release.")  # fmt: skip
@_options.device_option
@_options.page_option
@_options.json_option
def command(
    release: str,
    model: tuple[str, ...],
    scores: tuple[str, ...],
    reference: str | None,
    export: str | None,
    private: str | None,
    device: str | None,
) -> None:
    """Test whether models depend on the coins of RELEASE, made by winosmith release --keyed.

    Each block of RELEASE was published in one of two equivalent presentations, chosen by a secret
    coin. A model that prefers the published presentations depends on the coins: through training,
    retrieval, or selection based on the published texts. All models in one command count as one
    look at the release, and each further look has a smaller significance level, so test all models
    in one command.

    \b
    Example:
        winosmith exposure releases/mine-1.0.0-* --model openai-community/gpt2
        winosmith exposure releases/mine-1.0.0-* --export both.jsonl
        winosmith exposure releases/mine-1.0.0-* --scores gpt.jsonl --scores qwen.jsonl
    """  # noqa: D301
    keyed = exposures.read_keyed_release(release, private)
    folder = Path(release).resolve()
    owner = Path(private) if private else folder.parent / PRIVATE / folder.name
    if export:
        exposures.write_presentations(keyed.pairs, keyed.digest, export)
        say(f"Written to {export}: both presentations of {format_count(len(keyed.pairs), 'item')}.")
        say(f"{PROVIDER_CAUTION} Keep the file secret.")
        return
    if not model and not scores:
        raise InputError(
            "name a model with `model=` or a file with `scores=`; --export writes the "
            "presentations for your own scorer"
        )
    files = [*scores, *(_score_presentations(keyed, name, owner, device) for name in model)]
    read = [exposures.read_scores(file, keyed.pairs, keyed.digest) for file in files]
    other = exposures.read_scores(reference, keyed.pairs, keyed.digest) if reference else None
    found = exposures.measure_exposure(keyed, read, private=owner, reference=other)
    signature = report.Signature(
        keyed.digest,
        found.blocks,
        {"look": found.look, "scores": "+".join(one.digest[:6] for one in read)},
    )
    shown = [name for name, one in found.models.items() if one.depends]
    others = [name for name, one in found.models.items() if not one.depends]
    verdict = []
    if shown:
        verb = "depends" if len(shown) == 1 else "depend"
        verdict.append(
            f"{join_names(shown)} {verb} on the coins (through training, retrieval, or "
            "selection based on published texts)."
        )
    if others:
        verdict.append(
            f"No dependence on the coins is shown for {join_names(others)}; this does not mean "
            "that the release was not seen."
        )
    Output(
        f"{folder.name}: exposure",
        {**found.record(), "signature": str(signature)},
        [report.Section("Models", _make_blocks(found))],
        " ".join(verdict),
        signature=signature,
    ).show()


def _score_presentations(keyed: KeyedRelease, model: str, folder: Path, device: str | None) -> str:
    name = re.sub(r"[^\w.-]+", "-", model).strip("-.")
    path = folder / "scores" / f"{name}.jsonl"
    with progress(f"Scoring with {model}, text", 2 * len(keyed.pairs)) as advance:
        exposures.score_presentations(
            keyed.pairs,
            keyed.digest,
            model,
            path,
            device=device,
            on_progress=lambda done, _: advance(done, ""),
        )
    say(f"Scores written to {path}")
    return str(path)


def _make_blocks(exposure: Exposure) -> list[report.Block]:
    equal = {name: f"{one.equal:,}" for name, one in exposure.models.items()}
    shifts = {name: to_fixed(one.detectable, ".2f") for name, one in exposure.models.items()}
    numbers = [
        f"This is look {exposure.look} at this release, at the significance level "
        f"{exposure.level:.4f}.",
        f"{format_count(exposure.blocks, 'block')} decided by a coin flip, and "
        f"{exposure.blocks_without_coin:,} without an equivalent presentation; "
        f"{join_by_solver(equal)} have equal scores and are omitted.",
        f"The smallest shift that is detected in 80 % of cases is {join_by_solver(shifts)}.",
    ]
    if exposure.reference:
        numbers.append(f"The differences are adjusted for {exposure.reference}.")
    note = (
        "Shift: towards the published presentations, in standard deviations of the differences "
        "between both; p: exact, one-sided; Holm: p corrected for the models of this look."
    )
    return [
        make_table("Dependence on the coins", exposure.models, head="model", note=note),
        report.Text([*numbers, PROVIDER_CAUTION], "list"),
    ]
