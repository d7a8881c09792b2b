"""Human tests that an admin opens, closes and publishes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.errors import InputError
from winosmith.web.jobs import TEST, TEST_PUBLISH, Job, Progress, Reading
from winosmith.web.people.models import Person
from winosmith.web.run.files import MAX_ROWS, DataForm, FileContent, get_faults, job_file, read_file
from winosmith.web.take import rounds
from winosmith.web.take.models import Round

MAX_ORDERS = 100
MAX_CONSENT_LENGTH = 20_000


class TestForm(DataForm):
    kind = TEST
    stored_fields = (
        "name",
        "title",
        "orders",
        "consent",
        "public_too",
        "format",
        "pair_by",
        "new_ids",
    )
    name = forms.SlugField(
        label=gettext_lazy("Name of the test"),
        help_text=gettext_lazy(
            "Letters A to Z, digits, - and _, without spaces; part of the test’s URL."
        ),
        max_length=40,
    )
    title = forms.CharField(
        label=gettext_lazy("Title that respondents see"),
        help_text=gettext_lazy("If empty, it is a question, such as “Who or what is meant?”"),
        max_length=100,
        required=False,
    )
    orders = forms.IntegerField(
        label=gettext_lazy("Number of question orders"),
        help_text=gettext_lazy(
            "With several orders, the order of the questions affects the results less."
        ),
        min_value=1,
        max_value=MAX_ORDERS,
        initial=1,
    )
    consent = forms.CharField(
        label=gettext_lazy("Consent form for respondents"),
        help_text=gettext_lazy(
            "If empty, the built-in text is used. Lines without a full stop are shown as headings."
        ),
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=MAX_CONSENT_LENGTH,
        required=False,
    )
    public_too = forms.BooleanField(
        label=gettext_lazy("Also ask problems that are already public on the site"),
        help_text=gettext_lazy("People may already have read both halves."),
        required=False,
    )


def preview_test(job: Job, reading: Reading) -> None:
    found = _read_complete_file(job, reading)
    made = rounds.plan_round(found.dataset, job.asked["name"], **_get_round_options(job.asked))
    job.total = len(found.dataset)
    job.came = {
        "format": found.format,
        "notes": list(found.notes),
        "sheets": [[sheet.name, len(sheet)] for sheet in made.sheets],
        "alone": len(made.omitted),
        "left_out": [[each.problem.id, each.reason] for each in made.omitted[:MAX_ROWS]],
    }


def _read_complete_file(job: Job, reading: Reading | None = None) -> FileContent:
    found = read_file(job_file(job), job.asked, "valid", reading)
    if found.refused:
        rule = _("A test uses all problems in a file; correct or remove the invalid ones.")
        raise InputError("\n".join([rule, *get_faults(job.asked, found)]))
    return found


def _get_round_options(options: dict[str, Any]) -> dict[str, Any]:
    return {"title": options["title"], "orders": options["orders"], "public": options["public_too"]}


def open_test(job: Job, progress: Progress) -> dict[str, Any]:
    asked = job.asked
    opened = None
    if job.state == job.State.RUNNING:  # the test may have been opened before an interrupt
        opened = Round.objects.filter(name=asked["name"], created__gte=job.at).first()
    if opened is None:
        consent = asked["consent"].replace("\r\n", "\n").strip() or None
        data, options = _read_complete_file(job).dataset, _get_round_options(asked)
        opened, _left = rounds.open_round(data, asked["name"], consent=consent, **options)
    return {"sheets": [[sheet.code, len(sheet.record["items"])] for sheet in opened.sheets.all()]}


def propose_publishing(person: Person, name: str) -> Job:
    """Return an unsaved job that previews the publication of a closed test."""
    return Job(
        actor=person,
        kind=TEST_PUBLISH,
        asked={"name": name},
        state=Job.State.SHOWN,
        came=_count_released(rounds.plan_publication(name)),
    )


def publish_test(job: Job, progress: Progress) -> dict[str, Any]:
    name = job.asked["name"]
    published = Round.objects.get(name=name).published if job.state == job.State.RUNNING else None
    if published is not None and published >= job.at:
        return dict(job.came)
    return _count_released(rounds.publish_round(name, actor=job.decided))


def _count_released(plan: dict[str, Any]) -> dict[str, int]:
    return {name: plan[name] for name in ("used", "alternates", "withheld")}
