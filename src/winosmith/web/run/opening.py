"""What an admin opens and closes: human tests and paid studies, as `winosmith admin` does it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from winosmith.errors import InputError
from winosmith.humans import TITLE
from winosmith.web.market.models import Study
from winosmith.web.market.providers import PROVIDERS, external_question
from winosmith.web.market.studies import (
    MOST_PLACES,
    close_study,
    create_study,
    new_link,
    study_named,
)
from winosmith.web.people.models import Person
from winosmith.web.run.deeds import Progress, file_of, kept_file, note
from winosmith.web.run.files import TOLD, DataForm, Look, file_name, look_at, told
from winosmith.web.run.models import STUDY, STUDY_CLOSE, STUDY_LINK, TEST, TEST_CLOSE, Deed
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


def propose_test(person: Person, form: TestForm) -> Deed:
    """Keep the file of a test; return the sheets that it would have, a deed to be saved.

    It may take seconds: it is called in no transaction, so that others can write meanwhile.

    Raises:
        InputError: it can't be read as a whole, or no test can be made of it.
    """
    typed = form.cleaned_data
    names = ("name", "title", "orders", "consent", "public_too", "format", "new_ids")
    asked = {"file": file_name(typed["file"]), **{name: typed[name] for name in names}}
    deed = Deed(actor=person, kind=TEST, asked=asked, state=Deed.State.SHOWN)
    with kept_file(deed, typed["file"].read()):
        found = _whole(deed)
        made = plan_round(found.dataset, asked["name"], **_options(asked))
    deed.total = len(found.dataset)
    deed.came = {
        "format": found.format,
        "notes": list(found.notes),
        "sheets": [[sheet.name, len(sheet)] for sheet in made.sheets],
        "alone": len(made.left_out),
        "left_out": [[each.problem.id, each.reason] for each in made.left_out[:TOLD]],
    }
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


def close_test(person: Person, name: str, *, drop: bool) -> Deed:
    """Let nobody take a test any more, find its results, and note who closed it.

    Raises:
        InputError: there is none, it is closed, or sheets are out and are not to be dropped.
    """
    close_round(name, drop=drop)
    return note(person, TEST_CLOSE, {"name": name, "drop": drop})


def _money(label: Any, help_text: Any = "", *, required: bool = False) -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        help_text=help_text,
        min_value=0,
        max_digits=8,
        decimal_places=2,
        required=required,
    )


def _code(label: Any, help_text: Any) -> forms.RegexField:
    return forms.RegexField(
        r"^[A-Za-z0-9-]{1,40}$",
        label=label,
        help_text=help_text,
        required=False,
        error_messages={"invalid": gettext_lazy("Letters, digits and dashes alone.")},
    )


class StudyForm(forms.Form):
    """What a study asks and pays."""

    name = forms.RegexField(
        r"^[A-Za-z0-9_-]{1,40}$",
        label=gettext_lazy("Name of the study"),
        help_text=gettext_lazy("Letters, digits, dashes. Workers don’t see it."),
        error_messages={"invalid": gettext_lazy("Letters, digits and dashes alone.")},
    )
    provider = forms.ChoiceField(
        label=gettext_lazy("Market"),
        choices=[(name, known.title) for name, known in PROVIDERS.items()],
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Work"),
        choices=[
            ("judge", gettext_lazy("judge problems")),
            ("write", gettext_lazy("write twins")),
        ],
    )
    amount = forms.IntegerField(
        label=gettext_lazy("How many of them"), min_value=1, max_value=10_000, initial=20
    )
    places = forms.IntegerField(
        label=gettext_lazy("People that the market sends"),
        help_text=gettext_lazy("Half as many again may begin, for those who return their place."),
        min_value=1,
        max_value=MOST_PLACES,
    )
    minutes = forms.IntegerField(
        label=gettext_lazy("Minutes that it should take"), min_value=1, max_value=10_000
    )
    reward = _money(gettext_lazy("Pay for all of it"), required=True)
    currency = forms.RegexField(
        r"^[A-Z]{3}$",
        label=gettext_lazy("Currency"),
        help_text=gettext_lazy("GBP, USD, EUR …"),
        error_messages={"invalid": gettext_lazy("Write it like GBP, USD, EUR.")},
    )
    least_wage = _money(
        gettext_lazy("Least wage of an hour"), gettext_lazy("The ledger warns below it.")
    )
    code = _code(
        gettext_lazy("Completion code"),
        gettext_lazy("The market’s. Where it gives none, each worker gets one of their own."),
    )
    short_code = _code(
        gettext_lazy("Code where no work was left"),
        gettext_lazy("For those who could not do all of it."),
    )
    short_reward = _money(gettext_lazy("What the market pays for that code"))
    market_study = forms.CharField(
        label=gettext_lazy("The market’s id of the study"),
        help_text=gettext_lazy("Links must name it then."),
        max_length=60,
        required=False,
    )
    trust = forms.BooleanField(
        label=gettext_lazy("Votes count at once"),
        help_text=gettext_lazy("Off: once the market has confirmed who gave them."),
        required=False,
    )


def make_study(person: Person, values: dict[str, Any]) -> tuple[Study, str]:
    """Make a study and note who did; return it with the secret part of its link.

    Raises:
        InputError: the name is taken, or a value can't be used.
    """
    rest = {key: value for key, value in values.items() if key not in _FIRST}
    study, token = create_study(*(values[key] for key in _FIRST), **rest)
    told = {key: str(value) for key, value in values.items() if value not in (None, "")}
    note(person, STUDY, {k: v for k, v in told.items() if not k.endswith("code")})
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
    note(person, STUDY_LINK, {"name": name})
    return study, new_link(study)


def end_study(person: Person, name: str) -> Deed:
    """Let nobody new come; who is at work may finish.

    Raises:
        InputError: there is no such study, or it is closed.
    """
    close_study(study_named(name))
    return note(person, STUDY_CLOSE, {"name": name})


def link_of(study: Study, token: str, address: str) -> str:
    """Return what the market is given: a link, or the XML of an ExternalQuestion.

    Args:
        study: whose it is.
        token: the secret part.
        address: of the site.

    Raises:
        InputError: the market takes https addresses alone, and this is none.
    """
    if study.provider == "mturk":
        return external_question(address, f"/study/{token}/frame/")
    return f"{address.rstrip('/')}/study/{token}/?{PROVIDERS[study.provider].query}"
