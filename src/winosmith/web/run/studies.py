"""Paid studies that an admin makes and looks after, as `winosmith admin study` does it.

What changes who may come, or whose votes count, is shown before it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.errors import InputError
from winosmith.web import jobs
from winosmith.web.jobs import Job, Progress, Reading, note
from winosmith.web.market.exports import Plan, apply, plan, read_export
from winosmith.web.market.models import Study
from winosmith.web.market.providers import PROVIDERS
from winosmith.web.market.studies import (
    MOST_PLACES,
    Requirement,
    close_study,
    create_study,
    give_places,
    new_link,
    read_ids,
    screen,
    study_named,
)
from winosmith.web.people.models import Person
from winosmith.web.run.files import TOLD, FileForm, there


class StudyForm(forms.ModelForm):
    """What a study asks and pays."""

    provider = forms.ChoiceField(
        label=gettext_lazy("Market"),
        choices=[
            (name, gettext_lazy("another market") if name == "generic" else known.title)
            for name, known in PROVIDERS.items()
        ],
    )
    kind = forms.ChoiceField(label=gettext_lazy("Work"), choices=Study.Kind.choices)
    amount = forms.IntegerField(
        label=gettext_lazy("Number of problems or twins"),
        min_value=1,
        max_value=10_000,
        initial=20,
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
            "reward": gettext_lazy("Pay for all of it"),
            "currency": gettext_lazy("Currency"),
            "least_wage": gettext_lazy("Minimum hourly pay"),
            "code": gettext_lazy("Completion code"),
            "short_code": gettext_lazy("Code if no work is left"),
            "short_reward": gettext_lazy("Pay for that code"),
            "market_study": gettext_lazy("The market’s id of the study"),
            "trust": gettext_lazy("Votes count at once"),
        }
        help_texts: ClassVar = {
            "name": gettext_lazy("Letters, digits, dashes. Workers don’t see it."),
            "places": gettext_lazy(
                "Up to half as many more may start, to replace people who return their place."
            ),
            "currency": gettext_lazy("GBP, USD, EUR …"),
            "least_wage": gettext_lazy("The ledger warns about lower pay."),
            "code": gettext_lazy(
                "The market’s code. If it gives none, each worker gets an own code."
            ),
            "short_code": gettext_lazy("For people who could not do all of the work."),
            "market_study": gettext_lazy("Links must then contain it."),
            "trust": gettext_lazy(
                "If off, votes count when the market has approved the submission."
            ),
        }
        error_messages: ClassVar = {
            "name": {"invalid": gettext_lazy("Only letters, digits and dashes.")},
            "currency": {"max_length": gettext_lazy("Write it like GBP, USD, EUR.")},
        }

    def validate_unique(self) -> None:
        """Leave a name that is taken to `create_study`: a form that is sent twice is no fault."""


def make_study(person: Person, values: dict[str, Any]) -> tuple[Study, str]:
    """Make a study and note who did; return it with the secret part of its link.

    Raises:
        InputError: the name is taken, or a value can't be used.
    """
    rest = {key: value for key, value in values.items() if key not in _FIRST}
    study, token = create_study(*(values[key] for key in _FIRST), **rest)
    asked = {**values, "currency": study.currency}
    told = {key: str(value) for key, value in asked.items() if value not in (None, "")}
    note(person, jobs.STUDY, {k: v for k, v in told.items() if not k.endswith("code")})
    return study, token


_FIRST = ("name", "provider", "kind", "amount")


def link_anew(person: Person, name: str) -> tuple[Study, str]:
    """Make a new link in place of one that is lost; return the study and the secret part.

    Raises:
        InputError: there is no such study, or it is closed.
    """
    study = study_named(name)
    if study.closed:
        raise InputError(_("This study is closed."))
    note(person, jobs.STUDY_LINK, {"name": name})
    return study, new_link(study)


def end_study(person: Person, name: str) -> Job:
    """Let nobody new come; who is at work may finish.

    Raises:
        InputError: there is no such study, or it is closed.
    """
    close_study(study_named(name))
    return note(person, jobs.STUDY_CLOSE, {"name": name})


class PlacesForm(forms.Form):
    """How many people the market sends from now on."""

    kind = jobs.STUDY_PLACES

    places = forms.IntegerField(
        label=gettext_lazy("People sent by the market"), min_value=1, max_value=MOST_PLACES
    )

    def proposed(self, person: Person, *, name: str) -> Job:
        """Return what other places of a study would come to, a job to be saved."""
        places = self.cleaned_data["places"]
        return Job(
            actor=person,
            kind=self.kind,
            state=Job.State.SHOWN,
            asked={"name": name, "places": places},
            came={
                "before": study_named(name).places,
                "places": places,
                "may_begin": Study(places=places).most,
            },
        )


class ListForm(FileForm):
    """Who may come, or may not."""

    kind = jobs.STUDY_LIST
    asks = ("allowed", "require")
    allowed = forms.ChoiceField(
        label=gettext_lazy("Meaning of the list"),
        choices=[
            ("only", gettext_lazy("only they may take part")),
            ("never", gettext_lazy("they may not take part")),
        ],
        initial="only",
        widget=forms.RadioSelect,
    )
    require = forms.CharField(
        label=gettext_lazy("Requirements for a row"),
        help_text=gettext_lazy(
            "One per line, such as approval rate>=99. If empty, every row counts."
        ),
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=1000,
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = _("The market’s ids, one a line, or a table (CSV).")

    def clean_require(self) -> str:
        """Refuse a line that requires nothing."""
        text = str(self.cleaned_data["require"])
        try:
            _required(text)
        except InputError as error:
            raise forms.ValidationError(str(error)) from None
        return text


class PaidForm(FileForm):
    """What the market says of those who came."""

    kind = jobs.STUDY_PAID
    asks = ("final",)
    final = forms.BooleanField(
        label=gettext_lazy("This file contains all submissions"),
        help_text=gettext_lazy("People who are not in it did not come from the market."),
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = _("The market’s table of submissions (CSV).")


def change_places(job: Job, progress: Progress) -> dict[str, Any]:
    """Carry out a change of places."""
    give_places(study_named(job.asked["name"]), job.asked["places"])
    return dict(job.came)


def look_list(job: Job, _reading: Reading) -> None:
    """Read a list of people, and write into the row how many they are.

    Raises:
        InputError: it can't be read, or nobody is on it.
    """
    study = study_named(job.asked["name"])
    listed = study.screens.filter(allowed=_alone(job)).count()
    job.came = {
        "people": len(_ids(job, study)),
        "listed": listed,
        "began": study.participations.count(),
    }


def let_come(job: Job, progress: Progress) -> dict[str, Any]:
    """Carry out a list: those on it alone may come, or may not; again, it changes nothing."""
    study = study_named(job.asked["name"])
    return {**job.came, "listed": screen(study, _ids(job, study), allowed=_alone(job))}


def look_paid(job: Job, _reading: Reading) -> None:
    """Read what the market says, and write into the row what that would change.

    Raises:
        InputError: it is no export of this market; with each fault's line.
    """
    job.came = _came(_plan(job))


def reconcile(job: Job, progress: Progress) -> dict[str, Any]:
    """Carry out what the market says; called again after an interrupt, it continues."""
    found, study = _plan(job), study_named(job.asked["name"])
    return {**_came(found), "counted": apply(study, found)}


def _came(found: Plan) -> dict[str, Any]:
    told = found.record()
    lists = ("changes", "doubts", "notes", "unknown", "missing")
    return {
        "same": found.same,
        "unmatched": told["unmatched"],
        "votes": sum(change.votes for change in found.changes),
        **{name: told[name][:TOLD] for name in lists},
        **{f"all_{name}": len(told[name]) for name in lists},
    }


def _plan(job: Job) -> Plan:
    study, path = study_named(job.asked["name"]), there(job)
    with _named(job, path):
        rows = read_export(path, study.provider, study.currency)
    return plan(study, rows, final=job.asked["final"], sent=job.at)


def _ids(job: Job, study: Study) -> list[str]:
    path = there(job)
    with _named(job, path):
        return read_ids(path, study.provider, _required(job.asked["require"]))


@contextmanager
def _named(job: Job, path: Path) -> Iterator[None]:
    """Let what is wrong with a file be told under the name that its sender gave it."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(str(path), job.asked["file"])) from None


def _required(text: str) -> list[Requirement]:
    return [Requirement.of(line) for line in text.splitlines() if line.strip()]


def _alone(job: Job) -> bool:
    return bool(job.asked["allowed"] == "only")
