"""The results of a round: computation, files, and the page's context."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.db.models import Prefetch
from django.utils.translation import gettext as _

from winosmith import Dataset, Response, humans
from winosmith.errors import DataError
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.records import dump_json, make_problem_record
from winosmith.validate import write_votes
from winosmith.web.pages import (
    format_interval,
    format_percentage_interval,
    to_fixed,
    to_percent,
)
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_problem
from winosmith.web.take.models import Answer, Remark, Round, Sitting
from winosmith.web.take.sheets import read_sheet


def load_dataset(round_: Round) -> Dataset:
    """Load a round's problems in data order, without erased problems."""
    rows = Problem.objects.filter(pk__in=round_.materials.values("problem"))
    of = {row.pk: row for row in rows.select_related("twin__contributor")}
    keys = round_.materials.order_by("place").values_list("problem", flat=True)
    return Dataset((as_problem(of[key]) for key in keys if of[key].answer is not None), round_.name)


def load_ledger(round_: Round) -> humans.Ledger:
    """Load a round's assignments, in the order in which they were made."""
    rows = Sitting.objects.filter(subject__round=round_).order_by("pk")
    given = rows.values_list("subject__code", "sheet__code", "state")
    sheets = round_.sheets.filter(sittings__isnull=False).distinct()
    return humans.Ledger(
        tuple(humans.Assignment(who, code, state) for who, code, state in given),
        {sheet.code: read_sheet(sheet) for sheet in sheets},
    )


def load_sittings(round_: Round) -> list[humans.Sitting]:
    """Load the submitted sittings, sorted by respondent code and sheet code.

    Sittings that are on hold because of their pace are omitted.
    """
    rows = Sitting.objects.filter(subject__round=round_, state=Sitting.State.DONE, held=False)
    rows = rows.select_related("subject", "sheet").order_by("subject__code", "sheet__code")
    rows = rows.prefetch_related(
        Prefetch("answers", Answer.objects.order_by("number")),
        Prefetch("remarks", Remark.objects.order_by("number", "pk")),
    )
    sittings = []
    for row in rows:
        answers = row.answers.all()
        seen = [answer.seconds for answer in answers]
        total = sum(seen) if seen and None not in seen else None
        given = {
            answer.number: humans.Answer(answer.letter, _round_seconds(answer.seconds))
            for answer in answers
            if answer.letter
        }
        sittings.append(
            humans.Sitting(
                row.subject.code,
                read_sheet(row.sheet),
                given,
                _format_time(row.given),
                _format_time(row.ended),
                _round_seconds(total),
                _read_notes(row, "recognised"),
                _read_notes(row, "word"),
                row.subject.native,
                {},
            )
        )
    return sittings


def _read_notes(row: Sitting, kind: str) -> tuple[humans.SheetRemark, ...]:
    return tuple(
        humans.SheetRemark(each.number, each.text)
        for each in row.remarks.all()
        if each.kind == kind
    )


def _round_seconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def _format_time(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds") if moment else None


def gather_input(
    round_: Round, sittings: Sequence[humans.Sitting]
) -> tuple[Dataset, tuple[Response, ...], tuple[humans.Subject, ...]]:
    """Gather the input for `humans.compute_results`, without questions whose texts were erased."""
    dataset = load_dataset(round_)
    asked = set(dataset.ids)
    responses = tuple(one for one in humans.make_responses(sittings) if one.problem_id in asked)
    subjects = []
    for subject in humans.make_subjects(sittings):
        taken = tuple(
            replace(each, problems=tuple(p for p in each.problems if p in asked))
            for each in subject.taken
        )
        subjects.append(replace(subject, taken=taken))
    return dataset, responses, tuple(subjects)


def compute_results(round_: Round, sittings: Sequence[humans.Sitting]) -> dict[str, Any] | None:
    """Compute the results of a round for JSON; None if there are no answers.

    If the results can't be computed, the reason is in `fault`.
    """
    dataset, responses, subjects = gather_input(round_, sittings)
    if not responses:
        return None
    try:
        return humans.compute_results(dataset, responses, subjects).record()
    except DataError as error:
        return {"fault": str(error)}


def write_round(out: OutputFolder, round_: Round, prefix: str) -> int:
    """Write a round's data to a folder, and return the number of answers.

    The files are `sheets/*.json`, `answers/*.json` (in the format of the form for a browser),
    `responses.jsonl`, `subjects.jsonl`, `ledger.json`, and the problems in `private/schemas.jsonl`.
    They are the input of `winosmith humans`. Sheets that were not submitted, or are on hold, are
    only in the ledger. The files' names start with the prefix, such as "private/tests/NAME/".
    """
    sittings = load_sittings(round_)
    dataset, responses, subjects = gather_input(round_, sittings)
    for sheet in map(read_sheet, round_.sheets.order_by("pk")):
        record = humans.make_sheet_record(sheet)
        out.write_lines(f"{prefix}sheets/{sheet.name}.json", [dump_json(record) + "\n"])
    for record in map(humans.make_answers_record, sittings):
        name = f"{prefix}answers/answers-{record['subject']}-{record['sheet']}.json"
        with out.write(name) as file:
            file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    write_votes(responses, out.path / f"{prefix}responses.jsonl")
    out.add(f"{prefix}responses.jsonl")
    records = map(humans.make_subject_record, subjects)
    out.write_lines(f"{prefix}subjects.jsonl", (dump_json(record) + "\n" for record in records))
    humans.write_ledger(load_ledger(round_), out.path / f"{prefix}ledger.json")
    out.add(f"{prefix}ledger.json")
    records = map(make_problem_record, dataset)
    name = f"{prefix}{PRIVATE}/schemas.jsonl"
    out.write_lines(name, (dump_json(record) + "\n" for record in records))
    return len(responses)


def make_results_context(round_: Round) -> dict[str, Any]:
    figures = round_.figures or {"fault": _("Nobody has submitted an answer.")}
    if "fault" in figures:
        return figures
    asked = {item["problem"] for test in figures["tests"] for item in test["items"]}
    texts = {row.ref: row for row in Problem.objects.filter(ref__in=asked)}
    tests = [
        {
            "name": test["name"],
            "facts": _list_test_facts(test),
            "subjects": test["people"],
            "items": [
                {**item, "row": texts.get(item["problem"])}
                for item in sorted(test["items"], key=lambda item: item["right"] / item["asked"])
            ],
            "flagged": sum(item["flagged"] for item in test["items"]),
        }
        for test in figures["tests"]
    ]
    return {**figures, "share": to_percent(figures["right"] / figures["answers"]), "tests": tests}


def _list_test_facts(test: Mapping[str, Any]) -> list[tuple[str, str]]:
    share, chance = test["share"], test["chance"]
    facts = [
        (
            _("intended answers"),
            f"{to_percent(share['value'])} ({share['correct']} / {share['n']})",
        ),
        (_("95 % interval"), format_percentage_interval(share["interval"])),
        (_("chance"), to_percent(chance["share"])),
        (_("the question’s most frequent answer"), to_percent(test["same"])),
        (_("answers “X”"), str(test["ambiguous"])),
        (_("Fleiss’ kappa"), _format_agreement(test["kappa"])),
        (_("Krippendorff’s alpha"), _format_agreement(test["alpha"])),
    ]
    if test["deviation"] is not None:
        points = _("%s points") % to_fixed(100 * test["deviation"], 1)
        facts.insert(2, (_("standard deviation of scores"), points))
    if groups := test["groups"]:
        means = " / ".join(to_percent(mean) for mean in groups["means"])
        facts.append((_("native speakers, others"), means))
    if without := test["without"]:
        left = ", ".join(without["left_out"])
        facts.append((_("without %s") % left, to_percent(without["mean"])))
    return facts


def _format_agreement(estimate: Mapping[str, Any]) -> str:
    if estimate["value"] is None or estimate["interval"] is None:
        return _("not defined: %s") % estimate["reason"]
    return f"{to_fixed(estimate['value'], 2)} ({format_interval(estimate['interval'])})"
