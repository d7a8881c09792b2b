"""`winosmith check`: validate twins by their structure and by votes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from winosmith import formats, validate
from winosmith.cli._check_report import check_record, print_check
from winosmith.cli._options import (
    data_argument,
    format_option,
    json_option,
    read_data,
    unmarked_twins,
)
from winosmith.cli._printing import print_json, say
from winosmith.dataset import Dataset, Dropped
from winosmith.outputs import OutputFolder
from winosmith.records import canonical, problem_record
from winosmith.validate import Checked, StructureRules, VoteRules

__all__ = ["command"]

SWITCHES = {
    "length": "length",
    "overlap": "overlap",
    "edit": "edit",
    "anchor": "anchor",
    "function-word": "content_anchor",
    "options": "options_in_sentence",
    "same-options": "same_options",
    "flipped": "flipped",
}
"""What `--skip` takes, and the field of `StructureRules` that it switches off."""

OF_STRUCTURE = ("rules", "length", "overlap", "edit", "complete")
"""The options that are fields of `StructureRules`."""

_NAMED = 3
"""How many parents that are gone are named."""

_AGREEMENT = click.Choice(["majority", "unanimous", "off"])


def _shown(name: str, help: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: A002
    return click.option(name, help=help, show_default=True, **settings)


@click.command()
@data_argument()
@format_option
@click.option(
    "--votes",
    "votes_path",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The judges' responses, as CSV or JSON Lines.",
)
@_shown(
    "--rules",
    "WinoGrande's rules for authors: for everything, for nothing, or (auto) not for perturbed "
    "problems and known published sets.",
    type=click.Choice(["auto", "winogrande", "none"]),
    default="auto",
)
@_shown("--length", "Words in a half.", type=(int, int), default=(15, 30), metavar="MIN MAX")
@_shown("--overlap", "Least share of words that the halves have in common.", default=0.7)
@_shown("--edit", "Greatest share of tokens in which the halves differ.", default=0.3)
@click.option(
    "--skip",
    type=click.Choice(list(SWITCHES)),
    multiple=True,
    metavar="RULE",
    help=f"Leave out a rule ({', '.join(SWITCHES)}); may be given again.",
)
@click.option("--complete", is_flag=True, help="Refuse problems whose other half is missing.")
@_shown("--judges", "Judges that a problem needs.", default=3)
@_shown("--correct", "How many must choose the right option.", type=_AGREEMENT, default="majority")
@_shown(
    "--unambiguous",
    "How many must find one option clearly more plausible.",
    type=_AGREEMENT,
    default="majority",
)
@_shown(
    "--unassociated",
    "How many must find that nearby words do not give the answer away.",
    type=_AGREEMENT,
    default="majority",
)
@_shown(
    "--local",
    "Refuse a problem when so many are right from the local context alone.",
    type=_AGREEMENT,
    default="unanimous",
)
@_shown("--local-before", "Words of the local context before the blank.", default=2)
@click.option("--both-halves", is_flag=True, help="A judge may vote on both halves of a twin.")
@_shown(
    "--undecided",
    "What becomes of problems with too few votes.",
    type=click.Choice(["drop", "keep"]),
    default="drop",
)
@_shown("--examples", "How many to show of each fault.", type=click.IntRange(min=0), default=3)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write kept.jsonl and dropped.jsonl there.",
)
@click.option("--force", is_flag=True, help="Replace what another check wrote to DIR.")
@click.option("--strict", is_flag=True, help="End with code 1 when a problem is dropped.")
@json_option
def command(
    data: str,
    format_name: str | None,
    votes_path: str | None,
    skip: tuple[str, ...],
    examples: int,
    out: str | None,
    force: bool,
    strict: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    """Validate twins: their structure, and the votes of judges if there are any.

    Prints which rules were used and why, how many problems each stage kept, which rules were
    broken, with examples, and which votes did not count. A rule that lacks its input (no anchor,
    an answer that is withheld, words that no spaces part) is not checked, and never failed.
    Generated problems that enough judges find valid lose the mark `evolve.unvalidated` in
    kept.jsonl.

    \b
    Example:
        winosmith check twins.jsonl --votes votes.csv --out checked
    """  # noqa: D301
    structure, votes = _rules(skip, rules)
    dataset = read_data(data, format_name)
    _say_what_is_gone(dataset, data)
    if advice := unmarked_twins(dataset)[1]:
        say(f"{advice}.")
    responses = validate.read_votes(votes_path) if votes_path else None
    checked = validate.check(dataset, responses, structure, votes)
    if out:
        _write(checked, out, force)
    if as_json:
        print_json(check_record(data, checked, responses, examples))
    else:
        print_check(data, checked, responses, examples)
    if strict and checked.result.dropped:
        click.get_current_context().exit(1)


def _rules(skip: tuple[str, ...], rules: dict[str, Any]) -> tuple[StructureRules, VoteRules]:
    """Return the rules that the options set."""
    of_structure = {name: rules.pop(name) for name in OF_STRUCTURE}
    of_structure.update((SWITCHES[name], None) for name in skip)
    return StructureRules(**of_structure), VoteRules(**rules)


def _say_what_is_gone(dataset: Dataset, path: str) -> None:
    """Name the parents and roots that perturbed problems need and the file does not hold."""
    ids = set(dataset.ids)
    needed = {
        ancestor: problem.id
        for problem in dataset
        if problem.lineage
        for ancestor in (problem.lineage.root, problem.lineage.parent)
    }
    gone = [f"{ancestor!r} of {of!r}" for ancestor, of in needed.items() if ancestor not in ids]
    if gone:
        more = f" and {len(gone) - _NAMED:,} more" if len(gone) > _NAMED else ""
        say(
            f"Not in {path}: the parent or root {', '.join(gone[:_NAMED])}{more}; lineages "
            "are not checked there."
        )


def _write(checked: Checked, out: str, force: bool) -> None:
    """Write what was kept and what was dropped, as JSON Lines."""
    folder = OutputFolder.open(
        Path(out), {"command": "check", "signature": str(checked.signature)}, force=force
    )
    with folder.write("kept.jsonl") as file:
        file.writelines(formats.lines(checked.kept))
    with folder.write("dropped.jsonl") as file:
        file.writelines(canonical(_dropped(entry)) + "\n" for entry in checked.result.dropped)
    say(f"Wrote {folder.path / 'kept.jsonl'} and {folder.path / 'dropped.jsonl'}.")


def _dropped(entry: Dropped) -> dict[str, Any]:
    return {
        "stage": entry.stage,
        "reason": entry.reason,
        "row": entry.row,
        "problem": problem_record(entry.problem),
    }
