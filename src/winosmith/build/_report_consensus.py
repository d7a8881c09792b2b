"""The chapter of a report on the vote of several embedders."""

from __future__ import annotations

from winosmith import debias, report
from winosmith.build._measure import Measures


def consensus_section(found: debias.ConsensusResult, measures: Measures) -> report.Section:
    """Return what each embedder found, what they agreed on, and what the floor gave back."""
    blocks: list[report.Block] = [_votes(found), _embedders(found, measures)]
    if found.agreed.any():
        blocks.append(report.Text([_floor(found)], "note"))
    several = len(found.runs) > 1
    lead = (
        f"{len(found.removed):,} of {len(found.found):,} problems were dropped: those that "
        f"{found.least} of {len(found.runs)} embedders or more find predictable, each in an AFLite "
        "run of its own."
        if several
        else f"{len(found.removed):,} of {len(found.found):,} problems were dropped."
    )
    return report.Section("What the embedders agree on", blocks, lead=lead)


def _votes(found: debias.ConsensusResult) -> report.Table:
    count = len(found.runs)
    rows: list[list[report.Value]] = []
    for least in range(1, count + 1):
        other = found.decided_by(least)
        rows.append(
            [
                f"{least} of {count}" + (" (chosen)" if least == found.least else ""),
                int((found.found == least).sum()),
                len(other.removed),
                len(other.spared),
                len(other.kept),
            ]
        )
    return report.Table(
        "What would be dropped if so many had to agree",
        ["embedders", "found by just so many", "dropped", "given back by the floor", "kept"],
        rows,
    )


def _embedders(found: debias.ConsensusResult, measures: Measures) -> report.Table:
    rows: list[list[report.Value]] = []
    for name, run in found.runs.items():
        gone = run.removed_in >= 0
        row: list[report.Value] = [
            name,
            len(run.phases),
            int(gone.sum()),
            int((gone & (found.found == 1)).sum()),
        ]
        known = measures.verified
        if isinstance(known, debias.Verification):
            guesser = name if rows else debias.LINEAR  # the first one's vectors are the filter's
            before, after = known.before[guesser], known.after[guesser]
            row += [before.accuracy, after.accuracy, after.chance]
        else:
            row += [None, None, None]
        rows.append(row)
    guessed = [report.Column(name, form=".1%") for name in ("guessed before", "after", "chance")]
    return report.Table(
        "The embedders: what AFLite drops with each alone, and what a linear model of its vectors "
        "guesses before and after the vote",
        ["embedder", "phases", "dropped alone", "of these by no other", *guessed],
        rows,
        note="Guessed across halves, on each of which the whole vote was held apart.",
    )


def _floor(found: debias.ConsensusResult) -> str:
    agreed, gone = int(found.agreed.sum()), int(found.agreed[found.removed].sum())
    return (
        f"On {agreed:,} of {len(found.found):,} problems people agree (a share of "
        f"{found.parameters['agreed']:g} or more chose the answer). At least {found.floor:.0%} of "
        f"them are kept: {gone:,} were dropped, and {len(found.spared):,} were given back that "
        "enough embedders find predictable."
    )
