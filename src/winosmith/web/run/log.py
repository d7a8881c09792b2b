"""The log of admins' actions, described with the labels of the forms that started them."""

from __future__ import annotations

from typing import Any

from django import forms, template
from django.utils.translation import gettext as _, gettext_lazy

from winosmith import formats
from winosmith.web import jobs
from winosmith.web.jobs import Job
from winosmith.web.run.choices import get_setting_label, get_value_label
from winosmith.web.run.files import OWN_FORMATS, ImportForm
from winosmith.web.run.human_tests import TestForm
from winosmith.web.run.studies import DecisionForm, ListForm, PlacesForm, StudyForm

register = template.Library()

FORMAT_TITLES: dict[str, Any] = {one.name: one.title for one in formats.FORMATS} | OWN_FORMATS
register.filter("format_title", lambda name: FORMAT_TITLES.get(name, name))

FORMS: dict[str, type[forms.Form]] = {
    jobs.STUDY: StudyForm,
    **{form.kind: form for form in (ImportForm, TestForm, PlacesForm, ListForm, DecisionForm)},
}

OTHER_LABELS = {
    "name": gettext_lazy("Name"),
    "drop": gettext_lazy("Treat unfinished sheets as abandoned"),
}


@register.filter("request_facts")
def describe_request(job: Job) -> list[tuple[Any, str]]:
    """Describe a job's request by form labels and values; the value of a checked box is "".

    Empty fields are omitted, except for settings.
    """
    if job.kind == jobs.SETTINGS:
        return [
            (get_setting_label(name), _describe_setting(name, value))
            for name, value in job.asked.items()
        ]
    fields = FORMS[job.kind].base_fields if job.kind in FORMS else {}
    rows = []
    for name, value in job.asked.items():
        text = "" if value is None else str(value)
        if text in ("", "False"):
            continue
        field = fields.get(name) or fields.get(f"{name}_")  # `as` is a keyword in Python
        if text == "True":
            text = ""
        elif isinstance(field, forms.ChoiceField):
            text = str(dict(field.choices).get(text, text))
        rows.append((OTHER_LABELS.get(name, name) if field is None else field.label, text))
    return rows


def _describe_setting(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        value = ", ".join(value)
    return get_value_label(name, str(value)) or "–"
