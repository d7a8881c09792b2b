"""What a round gave, as `humans` takes it: filled-in sheets by code, the ledger, the results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.db.models import Prefetch

from winosmith import Dataset, Response, humans
from winosmith.errors import DataError
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_problem
from winosmith.web.take.models import Answer, Remark, Round, Sitting
from winosmith.web.take.sheets import sheet_of

__all__ = ["Gathered", "dataset_of", "figures_of", "gather", "ledger_of", "sittings_of"]

Gathered = tuple[Dataset, tuple[Response, ...], tuple[humans.Subject, ...]]
"""The problems with their answers, the responses, and the subjects: what `humans.results` takes."""


def dataset_of(round_: Round) -> Dataset:
    """Return a round's problems in the order of its data; those whose text was erased are gone."""
    rows = Problem.objects.filter(pk__in=round_.materials.values("problem"))
    of = {row.pk: row for row in rows.select_related("twin__contributor")}
    keys = round_.materials.order_by("place").values_list("problem", flat=True)
    return Dataset((as_problem(of[key]) for key in keys if of[key].answer is not None), round_.name)


def ledger_of(round_: Round) -> humans.Ledger:
    """Return who was given what in a round, by code, in the order in which it was given."""
    rows = Sitting.objects.filter(subject__round=round_).order_by("pk")
    given = rows.values_list("subject__code", "sheet__code", "state")
    sheets = round_.sheets.filter(sittings__isnull=False).distinct()
    return humans.Ledger(
        tuple(humans.Given(who, code, state) for who, code, state in given),
        {sheet.code: sheet_of(sheet) for sheet in sheets},
    )


def sittings_of(round_: Round) -> list[humans.Sitting]:
    """Return the sheets that were handed in, by code: in the order of the files that hold them.

    Those that are held for their pace are none of them.
    """
    rows = Sitting.objects.filter(subject__round=round_, state=Sitting.State.DONE, held=False)
    rows = rows.select_related("subject", "sheet").order_by("subject__code", "sheet__code")
    rows = rows.prefetch_related(
        Prefetch("answers", Answer.objects.order_by("number")),
        Prefetch("remarks", Remark.objects.order_by("number", "pk")),
    )
    return [_sitting(row) for row in rows]


def _sitting(row: Sitting) -> humans.Sitting:
    told = dict(row.subject.declared)
    native = told.pop("native", None)
    seen = [answer.seconds for answer in row.answers.all()]
    known = [seconds for seconds in seen if seconds is not None]
    return humans.Sitting(
        row.subject.code,
        sheet_of(row.sheet),
        {
            answer.number: humans.Answer(answer.letter, _tenths(answer.seconds))
            for answer in row.answers.all()
            if answer.letter
        },
        _time(row.given),
        _time(row.ended),
        _tenths(sum(known)) if seen and len(known) == len(seen) else None,
        _noted(row, "recognised"),
        _noted(row, "word"),
        {"yes": True, "no": False}.get(native or ""),
        told,
    )


def _noted(row: Sitting, kind: str) -> tuple[humans.Noted, ...]:
    return tuple(
        humans.Noted(each.number, each.text) for each in row.remarks.all() if each.kind == kind
    )


def _tenths(seconds: float | None) -> float | None:
    """Return seconds as the form for a browser rounds them."""
    return None if seconds is None else round(seconds, 1)


def _time(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="milliseconds") if at else None


def gather(dataset: Dataset, sittings: Sequence[humans.Sitting]) -> Gathered:
    """Return what `humans.results` takes; what was asked of a text that is erased is left out."""
    asked = set(dataset.ids)
    responses = humans.responses_of(sittings)
    return (
        dataset,
        tuple(response for response in responses if response.problem_id in asked),
        tuple(_living(subject, asked) for subject in humans.subjects_of(sittings)),
    )


def _living(subject: humans.Subject, asked: Collection[str]) -> humans.Subject:
    taken = (
        replace(each, problems=tuple(p for p in each.problems if p in asked))
        for each in subject.taken
    )
    return replace(subject, taken=tuple(taken))


def figures_of(round_: Round) -> dict[str, Any] | None:
    """Return the results of a round as JSON can hold them; None where nobody answered anything."""
    dataset, responses, subjects = gather(dataset_of(round_), sittings_of(round_))
    if not responses:
        return None
    try:
        return humans.results(dataset, responses, subjects).record()
    except DataError as error:
        return {"fault": str(error)}
