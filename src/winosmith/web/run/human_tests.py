"""Human tests that an admin opens, closes and publishes, as `winosmith admin test` does it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.errors import InputError
from winosmith.humans import TITLE
from winosmith.web.jobs import TEST, TEST_CLOSE, TEST_PUBLISH, Job, Progress, Reading, note
from winosmith.web.people.models import Person
from winosmith.web.run.files import TOLD, DataForm, Look, look_at, there, told
from winosmith.web.take import rounds
from winosmith.web.take.models import Round

MOST_ORDERS = 100

LONGEST_CONSENT = 20_000
"""Characters."""


class TestForm(DataForm):
    """What is asked for with the problems of a test."""

    kind = TEST
    asks = ("name", "title", "orders", "consent", "public_too", "format", "new_ids")
    name = forms.SlugField(
        label=gettext_lazy("Name of the test"),
        help_text=gettext_lazy("Letters, digits and dashes; it is part of its address."),
        max_length=40,
    )
    title = forms.CharField(label=gettext_lazy("Heading"), max_length=100, initial=TITLE)
    orders = forms.IntegerField(
        label=gettext_lazy("Orders of each sheet"),
        help_text=gettext_lazy("With more orders, the effect of the order is spread over people."),
        min_value=1,
        max_value=MOST_ORDERS,
        initial=1,
    )
    consent = forms.CharField(
        label=gettext_lazy("Text that people agree to first"),
        help_text=gettext_lazy(
            "If empty, the built-in text. Lines without a full stop are headings."
        ),
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=LONGEST_CONSENT,
        required=False,
    )
    public_too = forms.BooleanField(
        label=gettext_lazy("Also ask problems that are already public on the site"),
        help_text=gettext_lazy("People may have read both halves of them."),
        required=False,
    )


def look_test(job: Job, reading: Reading) -> None:
    """Read the file of a test, and write into the row the sheets that it would have.

    Raises:
        InputError: it can't be read as a whole, or no test can be made of it.
    """
    found = _whole(job, reading)
    made = rounds.plan_round(found.dataset, job.asked["name"], **_options(job.asked))
    job.total = len(found.dataset)
    job.came = {
        "format": found.format,
        "notes": list(found.notes),
        "sheets": [[sheet.name, len(sheet)] for sheet in made.sheets],
        "alone": len(made.left_out),
        "left_out": [[each.problem.id, each.reason] for each in made.left_out[:TOLD]],
    }


def _whole(job: Job, reading: Reading | None = None) -> Look:
    found = look_at(there(job), job.asked, "valid", reading)
    if found.refused:
        raise InputError(
            "\n".join([_("A test is opened with all problems of a file, or not at all."),
                       *told(job.asked, found)])
        )  # fmt: skip
    return found


def _options(asked: dict[str, Any]) -> dict[str, Any]:
    return {"title": asked["title"], "orders": asked["orders"], "public": asked["public_too"]}


def open_test(job: Job, progress: Progress) -> dict[str, Any]:
    """Carry out the opening of a test; called again after an interrupt, it continues."""
    asked = job.asked
    opened = None
    if job.state == job.State.RUNNING:  # its last step may have been done before an interrupt
        opened = Round.objects.filter(name=asked["name"], created__gte=job.at).first()
    if opened is None:
        consent = asked["consent"].replace("\r\n", "\n").strip() or None
        data = _whole(job).dataset
        opened, _left = rounds.open_round(data, asked["name"], consent=consent, **_options(asked))
    return {"sheets": [[sheet.code, len(sheet.record["items"])] for sheet in opened.sheets.all()]}


def close_test(person: Person, name: str, *, drop: bool) -> Job:
    """Let nobody take a test any more, and note who closed it; its results are found after that.

    Raises:
        InputError: there is none, it is closed, or sheets are out and are not to be dropped.
    """
    rounds.end_round(name, drop=drop)
    return note(person, TEST_CLOSE, {"name": name, "drop": drop})


def propose_publishing(person: Person, name: str) -> Job:
    """Return what would become public of a closed test, a job to be saved.

    Raises:
        InputError: it is open, or was published; or another open one asks some of this.
        DataError: nobody was given a sheet.
    """
    return Job(
        actor=person,
        kind=TEST_PUBLISH,
        asked={"name": name},
        state=Job.State.SHOWN,
        came=_public(rounds.plan_publishing(name)),
    )


def publish_test(job: Job, progress: Progress) -> dict[str, Any]:
    """Carry out the publishing of a test; called again after an interrupt, it is done."""
    name = job.asked["name"]
    published = rounds.round_named(name).published if job.state == job.State.RUNNING else None
    if published is not None and published >= job.at:
        return dict(job.came)
    return _public(rounds.publish_round(name, by=job.decided))


def _public(plan: rounds.Released) -> dict[str, int]:
    return {"used": plan.used, "alternates": plan.alternates, "withheld": plan.withheld}
