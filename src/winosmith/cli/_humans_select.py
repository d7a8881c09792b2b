"""`winosmith humans select` and `publish`: select the reliable subset, and release it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import click

from winosmith import formats, humans
from winosmith.cli import _options
from winosmith.cli._declared import declared_options
from winosmith.cli._output import print_table
from winosmith.cli._printing import echo, print_json, progress, say
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.humans import CrossFit, Rules, Selection
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.records import canonical
from winosmith.report import Signature, percent, sign
from winosmith.response import Response
from winosmith.validate import read_votes

_SIGNED = ("floor", "subjects", "per_text", "both_halves")
"""The constraints that the signature names."""

_REASONS = 10
"""Number of reasons that are printed, the most frequent first."""


@click.command("select")
@_options.data_argument()
@click.argument("responses", nargs=-1, required=True, type=_options.FILE)
@_options.format_option
@declared_options(Rules)
@declared_options(humans.cross_fit)
@_options.seed_option("Random seed of the chosen halves, of ties, and of the folds of people.")
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR",
              help="Write chosen.jsonl, left-out.jsonl and report.json there.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace what another selection wrote to DIR.")
@_options.json_option
def select_problems(**options: Any) -> None:
    """Select the problems of DATA that people agree on, from their RESPONSES.

    The selection is exact: the largest number of problems within the constraints, or --size of
    them, with the highest agreement. The agreement of a schema is that on both of its halves; if
    both are sound, one is drawn at random. Every omitted problem has a reason. The agreement on
    the selected problems is printed twice: by the answers that selected them, which is optimistic,
    and by people who had no part in the selection.

    RESPONSES are files of `winosmith humans enter`, or tables of responses.

    \b
    Example:
        winosmith humans select schemas.jsonl answers.jsonl --size 60 --out reliable
    """  # noqa: D301
    dataset = _options.read_data(options["data"], options["format_name"])
    said = [response for path in options["responses"] for response in read_votes(path)]
    rules = Rules(**{of.name: options[of.name] for of in fields(Rules)})
    found = humans.select(dataset, humans.tally(dataset, said), rules, options["seed"])
    fit, why_not = _cross_fitted(dataset, said, rules, options)
    balance = ",".join(f"{name}={value:g}" for name, value in sorted(rules.balance.items()))
    parameters = {name: getattr(rules, name) for name in _SIGNED}
    signature = sign(
        dataset,
        options["seed"],
        **{"responses": len(said), "size": rules.size or "all", **parameters},
        **({"balance": balance} if balance else {}),
        folds=options["folds"],
    )
    report = {
        "data": options["data"],
        **found.record(),
        "cross_fit": fit and fit.record(),
        "no_cross_fit": why_not,
        "signature": str(signature),
    }
    if options["out"]:
        _write(found, report, options["out"], options["force"])
    if options["as_json"]:
        print_json(report)
    else:
        _print(dataset, found, fit, why_not, signature)


def _cross_fitted(
    dataset: Dataset, said: Sequence[Response], rules: Rules, options: Mapping[str, Any]
) -> tuple[CrossFit | None, str | None]:
    """Return the estimate, or the reason that there is none."""
    try:
        with progress("Selecting without a part of the people", options["folds"]) as advance:
            fit = humans.cross_fit(
                dataset,
                said,
                rules,
                folds=options["folds"],
                seed=options["seed"],
                on_fold=lambda done, _: advance(done, ""),
            )
    except DataError as error:
        return None, str(error)
    return fit, None


def _print(
    dataset: Dataset,
    found: Selection,
    fit: CrossFit | None,
    why_not: str | None,
    signature: Signature,
) -> None:
    echo(
        f"{len(found.rows)} of {len(dataset)} problems are chosen; {found.sound} are sound\n",
        bold=True,
    )
    print_table(
        "People who gave the intended answer",
        ("intended", "of", "problems"),
        [(right, of, count) for (right, of), count in found.levels.items()],
    )
    if found.schemas:
        print_table(
            "Both halves of the chosen schemas, by people who gave the intended answer",
            ("half", "other half", "schemas"),
            [
                (*(f"{right} of {of}" for right, of in both), count)
                for both, count in found.schemas.items()
            ],
        )
    reasons = Counter(_kind(left.reason) for left in found.filtered.dropped).most_common()
    print_table("Omitted", ("problems", "because"), [(n, why) for why, n in reasons[:_REASONS]])
    if found.answers:
        echo(
            f"Agreement by the answers that chose them:  {percent(found.naive, 2)} "
            f"({found.right} of {found.answers}; optimistic)"
        )
    if fit is not None:
        low, high = fit.agreement.interval
        echo(
            f"Agreement of people who did not choose:    {percent(fit.agreement.value, 2)} "
            f"({percent(low)} to {percent(high)}; {fit.folds} folds)"
        )
        echo(f"Of the set, {percent(fit.kept, 0)} is chosen without a part of the people, too.")
    else:
        echo(f"Agreement of people who did not choose:    unknown\n  ({why_not})")
    echo(f"\n{signature}")


def _kind(reason: str) -> str:
    """Return a reason without the details of one problem, for counting."""
    if "gave the intended answer" in reason:
        is_other = reason.startswith("its other")
        return "its other half is not sound" if is_other else "too few gave the intended answer"
    if reason.startswith("the other half of"):
        return "the other half is chosen"
    return reason


def _write(found: Selection, report: Mapping[str, Any], out: str, force: bool) -> None:
    recipe = {"command": "humans select", "signature": report["signature"]}
    folder = OutputFolder.open(out, recipe, force=force)
    folder.write_lines("chosen.jsonl", formats.lines(found.filtered.kept))
    folder.write_lines("left-out.jsonl", (left.line() for left in found.filtered.dropped))
    folder.write_lines("report.json", [canonical(report) + "\n"])
    say(f"Wrote {folder.path / 'chosen.jsonl'} and {folder.path / 'left-out.jsonl'}.")


_NOTE = """# Released test materials

{released} problems: those that a round asked, and their alternates. Every record carries this
canary, so that training data can be searched for it; please leave the line where it is.

    {canary}
"""


@click.command("publish")
@_options.data_argument()
@click.argument("used", type=_options.FILE)
@_options.format_option
@click.option("--out", type=click.Path(file_okay=False), required=True, metavar="DIR",
              help="Write released.jsonl and private/withheld.jsonl there.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace what another round wrote to DIR.")
@_options.json_option
def publish_problems(
    data: str, used: str, format_name: str | None, out: str, force: bool, as_json: bool
) -> None:
    """Release the problems of DATA that a round USED, and put the rest under embargo.

    USED is a file of problems, such as chosen.jsonl of `winosmith humans select`. They are released
    with their other halves. The rest is marked, and no export of winosmith contains it until the
    mark is removed. Every problem has a canary string.

    \b
    Example:
        winosmith humans publish schemas.jsonl reliable/chosen.jsonl --out after-the-round
    """  # noqa: D301
    dataset = _options.read_data(data, format_name)
    asked = formats.read(used)
    after = humans.publish(dataset, asked.ids)
    recipe = {"command": "humans publish", "data": dataset.digest, "used": asked.digest}
    folder = OutputFolder.open(out, recipe, force=force)
    folder.write_lines("released.jsonl", formats.lines(after.released))
    folder.write_lines(f"{PRIVATE}/withheld.jsonl", formats.lines(after.withheld))
    note = _NOTE.format(released=len(after.released), canary=after.canary)
    folder.write_lines("README.md", [note])
    counts = {
        "used": len(asked),
        "alternates": after.alternates,
        "released": len(after.released),
        "withheld": len(after.withheld),
        "canary": after.canary,
    }
    if as_json:
        print_json(counts)
        return
    echo(
        f"{len(after.released)} problems are released ({len(asked)} used, {after.alternates} "
        f"alternates); {len(after.withheld)} stay under embargo"
    )
    echo(after.canary)
    say(f"Wrote {folder.path / 'released.jsonl'} and {folder.path / PRIVATE / 'withheld.jsonl'}.")
