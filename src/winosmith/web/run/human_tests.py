"""Human tests that an admin opens and closes here, by the calls of `winosmith admin test`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from winosmith.errors import InputError
from winosmith.humans import TITLE
from winosmith.web.people.models import Person
from winosmith.web.run.deeds import Progress, file_of, keep_file, note, works
from winosmith.web.run.files import TOLD, DataForm, Look, file_name, look_at, told
from winosmith.web.run.models import TEST, TEST_CLOSE, Deed
from winosmith.web.take.models import Round
from winosmith.web.take.rounds import close_round, open_round, plan_round

MOST_ORDERS = 100

LONGEST_CONSENT = 20_000
"""Characters."""


class TestForm(DataForm):
    """What is asked for with the problems of a test."""

    name = forms.SlugField(
        label=gettext_lazy("Name of the test"),
        help_text=gettext_lazy("Letters, digits and dashes; it is part of its address."),
        max_length=40,
    )
    title = forms.CharField(
        label=gettext_lazy("What stands at the top"), max_length=100, initial=TITLE
    )
    orders = forms.IntegerField(
        label=gettext_lazy("Orders of each sheet"),
        help_text=gettext_lazy("With more, the effect of the order is spread over people."),
        min_value=1,
        max_value=MOST_ORDERS,
        initial=1,
    )
    consent = forms.CharField(
        label=gettext_lazy("What people agree to before"),
        help_text=gettext_lazy("Empty: the text that ships. Headings are lines without a stop."),
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=LONGEST_CONSENT,
        required=False,
    )
    public_too = forms.BooleanField(
        label=gettext_lazy("Ask also what is public on the site already"),
        help_text=gettext_lazy("Anybody may have read both halves of it."),
        required=False,
    )


def propose(person: Person, form: TestForm) -> Deed:
    """Keep the file of a test, with the sheets that it would have, until that is confirmed.

    Raises:
        InputError: it can't be read as a whole, or no test can be made of it.
    """
    typed = form.cleaned_data
    names = ("name", "title", "orders", "consent", "public_too", "format", "new_ids")
    asked = {"file": file_name(typed["file"]), **{name: typed[name] for name in names}}
    deed = note(person, TEST, asked, state=Deed.State.SHOWN)
    keep_file(deed, typed["file"].read())
    try:
        found = _whole(deed)
        made = plan_round(found.dataset, asked["name"], **_options(asked))
    except InputError:
        file_of(deed).unlink(missing_ok=True)
        raise
    deed.total = len(found.dataset)
    deed.came = {
        "format": found.format,
        "notes": list(found.notes),
        "sheets": [[sheet.name, len(sheet)] for sheet in made.sheets],
        "alone": len(made.left_out),
        "left_out": [[each.problem.id, each.reason] for each in made.left_out[:TOLD]],
    }
    deed.save(update_fields=["total", "came"])
    return deed


def _whole(deed: Deed) -> Look:
    found = look_at(file_of(deed), deed.asked, "valid")
    if found.refused:
        raise InputError(
            "\n".join([_("A test is opened with all of a file, or not at all."),
                       *told(deed.asked, found)])
        )  # fmt: skip
    return found


def _options(asked: dict[str, Any]) -> dict[str, Any]:
    return {"title": asked["title"], "orders": asked["orders"], "public": asked["public_too"]}


def open_test(deed: Deed, progress: Progress) -> dict[str, Any]:
    """Carry out the opening of a test; called again after an interrupt, it goes on."""
    asked = deed.asked
    opened = Round.objects.filter(name=asked["name"], created__gte=deed.at).first()
    if opened is None:  # else its last step was done before somebody pulled the plug
        if not file_of(deed).exists():
            raise InputError(_("The file is gone; send it again."))
        consent = asked["consent"].replace("\r\n", "\n").strip() or None
        data = _whole(deed).dataset
        opened, _left = open_round(data, asked["name"], consent=consent, **_options(asked))
    return {"sheets": [[sheet.code, len(sheet.record["items"])] for sheet in opened.sheets.all()]}


works[TEST] = open_test


def close(person: Person, name: str, *, drop: bool) -> Deed:
    """Let nobody take a test any more, find its results, and note who closed it.

    Raises:
        InputError: there is none, it is closed, or sheets are out and are not to be dropped.
    """
    close_round(name, drop=drop)
    return note(person, TEST_CLOSE, {"name": name, "drop": drop})
