"""Check keys with people's answers: the folder of `audit --check`, and `winosmith humans keys`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import click

from winosmith import audit, formats, humans
from winosmith.audit import Audit, KeyCheck, WrongKeys
from winosmith.cli import _options
from winosmith.cli._humans_sheets import format_sheet, read_sheets, read_sittings
from winosmith.cli._output import Output
from winosmith.cli._printing import say
from winosmith.cli.admin import import_for_judging
from winosmith.dataset import Dataset
from winosmith.outputs import PRIVATE, OutputFolder, atomic_write
from winosmith.records import dump_json
from winosmith.report import Section, Signature, Text, join_names, percent, percent_span
from winosmith.response import Response
from winosmith.results import make_table
from winosmith.validate import read_votes

_CHECK_FILE = f"{PRIVATE}/check.json"

_LISTED_KEYS = 20
"""Maximum number of keys per verdict that are listed in a terminal."""


def write_check(
    result: Audit,
    count: int,
    out: str,
    *,
    suspect_count: int | None,
    seed: int,
    secret: str | None,
    force: bool,
) -> dict[str, Any]:
    """Draw a sample of items for a key check, write it to a folder, and print the next step.

    The folder contains the problems, forms for a browser and, in `private`, the keys. If there is a
    site, its judges also get the items, and `secret` is its secret. Otherwise, `secret` is None.
    The record of the check is returned.
    """
    (part,) = result.parts
    suspects = part.triage.suspects if part.triage else ()
    wrong_keys = part.triage.wrong_keys if part.triage else None
    planted = wrong_keys.ranks.tolist() if wrong_keys else ()
    check = audit.draw_check(
        part.dataset, suspects, count, seed=seed, planted=planted, suspect_count=suspect_count
    )
    asked = audit.make_problems_for_judges(check, part.dataset)
    alike = max(map(len, humans.group_schemas(asked.kept)), default=1)
    versions = ascii_lowercase[: max(2, alike)]
    made = humans.make_sheets(asked.kept, versions=versions)
    name_of = {item.asked: item.id for item in check.items}
    omitted = {name_of[one.problem.id]: one.reason for one in (*asked.dropped, *made.omitted)}
    on_site = None
    if secret is not None:
        check, on_site = _assign_site_ids(check, part.dataset, secret)
    record = dump_json(audit.make_check_record(check)) + "\n"
    digest = hashlib.sha256(record.encode("utf-8", "surrogatepass")).hexdigest()
    folder = OutputFolder.open(
        out, {"command": "check of keys", "checks": count}, secret={"check": digest}, force=force
    )
    with folder.discard_on_error():
        folder.write_lines(_CHECK_FILE, [record])
        folder.write_lines("problems.jsonl", formats.to_lines(asked.kept))
        for sheet in made.sheets:
            folder.write_lines(f"{sheet.name}.json", [format_sheet(sheet)])
            folder.write_lines(f"{sheet.name}.html", [humans.render_form(sheet, survey=())])
    if on_site is not None:
        import_for_judging(on_site)
    for name, reason in omitted.items():
        say(f"Undecided, because it is not on any form: {name}: {reason}")
    items = sum(stratum.items for stratum in check.strata)
    first = check.strata[0]
    drawn = f", among them {first.name}" if len(check.strata) > 1 else ""
    most = check.max_if_none_found
    forms = [str(folder.path / f"{sheet.name}.html") for sheet in made.sheets]
    apart = [sheet.name for sheet in made.sheets if sheet.test in versions]
    say(
        f"Wrote {folder.path}: {len(check.items):,} of {items:,} items{drawn}. If people find no "
        f"wrong key, at most {most:,} keys are wrong ({percent(most / items)}), the end of a 95 % "
        "interval.\n"
        f"Give {join_names(forms, len(forms))} to three people{' each' * (len(forms) > 1)}, and "
        f"keep {folder.path / PRIVATE} from them. Then run: winosmith humans keys {folder.path} "
        "ANSWERS"
    )
    if len(apart) > 1:
        say(
            f"{join_names(apart, len(apart))} have questions that look alike: nobody may fill in "
            "more than one of them."
        )
    return {
        "folder": str(folder.path),
        "checks": len(check.items),
        "strata": [asdict(one) for one in check.strata],
        "at_most_if_none": most,
        "forms": [f"{sheet.name}.html" for sheet in made.sheets],
        "omitted": [{"id": name, "reason": reason} for name, reason in omitted.items()],
    }


def _assign_site_ids(check: KeyCheck, data: Dataset, secret: str) -> tuple[KeyCheck, Dataset]:
    """Return the check with the ids of its items on the site, and the problems for the site."""
    from winosmith.web import importing

    asked = audit.make_problems_for_judges(check, data, site=True)
    name_of = {item.asked: item.id for item in check.items}
    for left in asked.dropped:
        say(f"Not sent to the site: {name_of[left.problem.id]}: {left.reason}")
    renamed = importing.assign_new_ids(asked.kept, secret)
    ids = dict(zip(asked.kept.ids, renamed.ids, strict=True))
    items = (replace(item, site=ids.get(item.asked, "")) for item in check.items)
    return replace(check, items=tuple(items)), renamed


@click.command("keys")
@click.argument("check", metavar="CHECK", type=_options.FOLDER)
@click.argument(
    "answers", nargs=-1, required=True, metavar="ANSWERS...", type=click.Path(exists=True)
)
@click.option("--errata", type=_options.OutputFile("id,old,new,", "a table of errata"),
              metavar="FILE.csv", help="Write the decided keys to this table, for `winosmith "
              "convert --errata` and `winosmith audit --errata`.")  # fmt: skip
@_options.page_option
@_options.json_option
def estimate_wrong_keys(check: str, answers: tuple[str, ...], errata: str | None) -> None:
    """Estimate the number of wrong keys in a data set, from people's ANSWERS to a CHECK.

    CHECK is the folder that `winosmith audit --check` wrote. ANSWERS are the files that its forms
    saved, folders of these files, tables of answers as for `winosmith humans enter`, or
    responses.jsonl from that command or from a site's export.

    A key is wrong if at least two judges, and more than half, choose the same other option. The
    result is an exact 95 % interval for the number of wrong keys; an undecided item counts as sound
    in the lower limit and as wrong in the upper limit.

    \b
    Example:
        winosmith audit items.jsonl --answers answers.csv --check 100 --check-to check
        winosmith humans keys check filled-in --errata errata.csv
        winosmith convert items.jsonl corrected.jsonl --errata errata.csv
    """  # noqa: D301
    drawn = audit.read_check(Path(check) / _CHECK_FILE)
    found = audit.estimate_wrong_keys(drawn, _read_responses(check, answers))
    if errata:
        options = {item.id: item.options for item in drawn.items}
        with atomic_write(errata) as file:
            formats.write_errata(found.errata, options, file)
    signature = Signature(
        drawn.data, found.items, {"checks": len(drawn.items), "people": found.people}, drawn.seed
    )
    Output(
        "Wrong keys",
        {**found.record(), "verdict": found.verdict, "signature": str(signature)},
        [*_make_sections(found)],
        verdict=found.verdict,
        signature=signature,
    ).show()
    if errata:
        wrong = sum(one.old != one.new for one in found.errata)
        say(
            f"Wrote {errata}: {wrong:,} corrected keys and {len(found.errata) - wrong:,} confirmed "
            "ones."
        )


def _read_responses(folder: str, paths: Sequence[str]) -> Iterator[Response]:
    responses = [path for path in paths if Path(path).suffix == ".jsonl"]
    for path in responses:
        yield from read_votes(path)
    if len(responses) < len(paths):
        sittings = read_sittings(
            [path for path in paths if path not in responses], read_sheets([folder])
        )
        humans.check_sittings(sittings)
        yield from humans.make_responses(sittings)


def _make_sections(tally: WrongKeys) -> Iterator[Section]:
    facts = [
        "The judges' verdicts are taken as correct: this is the number of keys that such judges "
        "would find wrong if they checked all items."
    ]
    wrong = tally.filter_keys("wrong")
    if wrong and any(one.item.other is not None for one in wrong):
        facts.append(
            f"For {tally.confirmed_proposals:,} of {len(wrong):,} wrong keys, judges chose the "
            "option that models propose."
        )
    if tally.seen is not None:
        facts.append(
            f"{tally.strata[0].name.capitalize()} contain {percent_span(tally.seen)} % of all "
            "wrong keys."
        )
    if tally.visibility is not None:
        low, high = tally.visibility
        facts.append(
            f"A wrong key is {low:.2f} to {high:.2f} times as likely to be among them as a planted "
            "one."
        )
    strata = make_table(
        "Wrong keys by stratum",
        tally.strata,
        "name items checked wrong undecided limits precision".split(),
        note="Wrong among all: exact limits, which hold for all rows together in 95 of 100 "
        "samples. Undecided: no option was chosen by at least two judges and more than half; such "
        "items count as sound in the lower limit and as wrong in the upper limit.",
    )
    yield Section("The number of wrong keys", [strata, Text(facts, "list")])
    for title, keys in (("Wrong keys", wrong), ("Undecided keys", tally.filter_keys("undecided"))):
        if keys:
            yield Section(title, [make_table(title, keys, most=_LISTED_KEYS)])
