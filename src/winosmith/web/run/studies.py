"""Paid studies that an admin creates and manages.

Changes to admissions or votes are previewed first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.errors import InputError
from winosmith.web import jobs
from winosmith.web.jobs import Job, Progress, Reading, create_job
from winosmith.web.market import studies
from winosmith.web.market.exports import Plan, apply_plan, plan_changes, read_export
from winosmith.web.market.ledger import read_bonuses, record_bonuses
from winosmith.web.market.models import MAX_PLACES, Payment, Study
from winosmith.web.people.models import Person
from winosmith.web.run.files import MAX_ROWS, FileForm, job_file


class StudyForm(forms.ModelForm):
    provider = forms.ChoiceField(
        label=gettext_lazy("Crowd market"),
        choices=[
            (name, gettext_lazy("another market") if name == "generic" else known.title)
            for name, known in studies.PROVIDERS.items()
        ],
    )
    kind = forms.ChoiceField(label=gettext_lazy("Work"), choices=Study.Kind.choices)
    amount = forms.IntegerField(
        label=gettext_lazy("Number of problems or twins"), min_value=1, max_value=10_000, initial=20
    )

    class Meta:
        model = Study
        fields: ClassVar = [
            "name", "provider", "kind", "amount", "places", "minutes", "reward", "currency",
            "least_wage", "code", "short_code", "short_reward", "market_study", "trust",
        ]  # fmt: skip
        labels: ClassVar = {
            "name": gettext_lazy("Name of the study"),
            "places": gettext_lazy("People sent by the market"),
            "minutes": gettext_lazy("Expected minutes"),
            "reward": gettext_lazy("Pay for completed work"),
            "currency": gettext_lazy("Currency"),
            "least_wage": gettext_lazy("Minimum hourly pay"),
            "code": gettext_lazy("Completion code"),
            "short_code": gettext_lazy("Code for incomplete work"),
            "short_reward": gettext_lazy("Pay for incomplete work"),
            "market_study": gettext_lazy("The market’s study id"),
            "trust": gettext_lazy("Votes count immediately"),
        }
        help_texts: ClassVar = {
            "name": gettext_lazy("Letters, digits, dashes. Workers don’t see it."),
            "places": gettext_lazy("Up to 50 % more can start, to replace people who leave."),
            "currency": gettext_lazy("GBP, USD, EUR …"),
            "least_wage": gettext_lazy("If people earn less, the ledger shows a warning."),
            "code": gettext_lazy(
                "The market’s code. If there is none, each worker gets an individual code."
            ),
            "short_code": gettext_lazy("For people who could not finish because no work was left."),
            "market_study": gettext_lazy("If you enter this id, links must contain it."),
            "trust": gettext_lazy(
                "If this is off, votes count once the market has approved the submission."
            ),
        }

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean()
        provider = studies.PROVIDERS.get(values.get("provider", ""))
        code = values.get("code")
        if code == "" and provider and not provider.individual_codes:
            self.add_error("code", _("This market requires a completion code."))
        if code and code == values.get("short_code"):
            fault = _("The codes for completed and for incomplete work must differ.")
            self.add_error("short_code", fault)
        return values

    def validate_unique(self) -> None:
        """Skip the check: `studies.create_study` detects taken names and repeated submissions."""


def create_and_log_study(person: Person, values: dict[str, Any]) -> tuple[Study, str]:
    """Create a study and log its creator; return the study and its link token."""
    study, token = studies.create_study(**values)
    asked = {**values, "currency": study.currency}
    texts = {key: str(value) for key, value in asked.items() if value not in (None, "")}
    create_job(person, jobs.STUDY, {k: v for k, v in texts.items() if not k.endswith("code")})
    return study, token


def replace_study_link(person: Person, name: str) -> tuple[Study, str]:
    study = Study.objects.get(name=name)
    if study.closed:
        raise InputError(_("This study is closed."))
    create_job(person, jobs.STUDY_LINK, {"name": name})
    return study, studies.replace_link(study)


def close_and_log_study(person: Person, name: str) -> Job:
    """Close a study to new people; people who have started can finish."""
    studies.close_study(Study.objects.get(name=name))
    return create_job(person, jobs.STUDY_CLOSE, {"name": name})


class PlacesForm(forms.Form):
    kind = jobs.STUDY_PLACES

    places = forms.IntegerField(
        label=gettext_lazy("People sent by the market"), min_value=1, max_value=MAX_PLACES
    )

    def propose_job(self, person: Person, *, name: str) -> Job:
        places = self.cleaned_data["places"]
        return Job(
            actor=person,
            kind=self.kind,
            state=Job.State.SHOWN,
            asked={"name": name, "places": places},
            came={
                "before": Study.objects.get(name=name).places,
                "places": places,
                "may_begin": Study(places=places).max_starts,
            },
        )


class ListForm(FileForm):
    kind = jobs.STUDY_LIST
    stored_fields = ("allowed",)
    file_help = gettext_lazy("The market’s ids, one per line, or a table (CSV).")
    allowed = forms.ChoiceField(
        label=gettext_lazy("Meaning of the list"),
        choices=[
            ("only", gettext_lazy("only they may take part")),
            ("never", gettext_lazy("they may not take part")),
        ],
        initial="only",
        widget=forms.RadioSelect,
    )


class DecisionForm(FileForm):
    kind = jobs.STUDY_PAID
    stored_fields = ("final",)
    file_help = gettext_lazy("The market’s table of submissions (CSV).")
    final = forms.BooleanField(
        label=gettext_lazy("This file contains all submissions"),
        help_text=gettext_lazy("People who are not in the file did not come from the market."),
        required=False,
    )


class BonusForm(FileForm):
    kind = jobs.STUDY_BONUS
    file_help = gettext_lazy("The file of due bonuses from the ledger (CSV).")


def change_places(job: Job, progress: Progress) -> dict[str, Any]:
    studies.set_places(_get_study(job), job.asked["places"])
    return dict(job.came)


def preview_screening_list(job: Job, _reading: Reading) -> None:
    study = _get_study(job)
    is_allowlist = job.asked["allowed"] == "only"
    job.came = {
        "people": len(_read_listed_ids(job, study)),
        "listed": study.screens.filter(allowed=is_allowlist).count(),
        "began": study.participations.count(),
    }


def apply_screening_list(job: Job, progress: Progress) -> dict[str, Any]:
    study, is_allowlist = _get_study(job), job.asked["allowed"] == "only"
    listed = studies.screen_workers(study, _read_listed_ids(job, study), allowed=is_allowlist)
    return {**job.came, "listed": listed}


def preview_decisions(job: Job, _reading: Reading) -> None:
    job.came = _make_plan_record(_make_plan(job))


def apply_decisions(job: Job, progress: Progress) -> dict[str, Any]:
    found, study = _make_plan(job), _get_study(job)
    return {**_make_plan_record(found), "counted": apply_plan(study, found)}


def _make_plan_record(plan: Plan) -> dict[str, Any]:
    lists = ("changes", "doubts", "notes", "unknown", "missing")
    return {
        "same": plan.unchanged,
        "unmatched": f"{plan.unmatched:.2f}",
        "votes": sum(change.votes for change in plan.changes),
        "changes": [change.make_record() for change in plan.changes[:MAX_ROWS]],
        **{name: getattr(plan, name)[:MAX_ROWS] for name in ("doubts", "notes", "unknown")},
        **{f"all_{name}": len(getattr(plan, name)) for name in lists},
    }


def _make_plan(job: Job) -> Plan:
    study = _get_study(job)
    rows = _read_file(job, lambda path: read_export(path, study.provider, study.currency))
    return plan_changes(study, rows, final=job.asked["final"], sent=job.at)


def preview_bonuses(job: Job, _reading: Reading) -> None:
    payments = [payment for _where, payment in _read_bonuses(job).values()]
    total = sum(payment.amount for payment in payments)
    job.came = {"payments": len(payments), "total": f"{total:.2f}"}


def apply_bonuses(job: Job, progress: Progress) -> dict[str, Any]:
    return {**job.came, "new": record_bonuses(_get_study(job), _read_bonuses(job))}


def _read_bonuses(job: Job) -> dict[str, tuple[str, Payment]]:
    return _read_file(job, lambda path: read_bonuses(_get_study(job), path))


def _get_study(job: Job) -> Study:
    return Study.objects.get(name=job.asked["name"])


def _read_listed_ids(job: Job, study: Study) -> list[str]:
    ids: list[str] = _read_file(job, lambda path: studies.read_ids(path, study.provider))
    return ids


def _read_file(job: Job, read: Callable[[Path], Any]) -> Any:
    """Read a job's file; error messages show the name under which it was uploaded."""
    path = job_file(job)
    try:
        return read(path)
    except InputError as error:
        raise InputError(str(error).replace(str(path), job.asked["file"])) from None
