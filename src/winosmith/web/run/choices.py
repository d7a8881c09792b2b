"""The settings that an admin chooses in the browser: the form, and how they come to hold.

What `site.toml` sets is shown and stays as it is there. What may be chosen at all says
`_site.CHOOSABLE`: nothing that names a file, an address or a program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, get_args

from django import forms
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.locks import wait_for_lock
from winosmith.outputs import write_aside
from winosmith.web._lock import writing
from winosmith.web._site import (
    CHOOSABLE,
    CHOSEN,
    RANGES,
    Review,
    Signup,
    SiteRules,
    Unfit,
    read_chosen,
)
from winosmith.web.pages import renew_rules
from winosmith.web.people.models import Person
from winosmith.web.run.deeds import note
from winosmith.web.run.models import SETTINGS, Deed

RANGE = {name: (least, most) for name, least, most in RANGES}

WORDS = {
    "title": (gettext_lazy("Name of the site"), gettext_lazy("At the top of each page.")),
    "contact": (
        gettext_lazy("How to reach you"),
        gettext_lazy("A mail address or a page; shown with the consent text, and below each page."),
    ),
    "language": (
        gettext_lazy("Language of the sentences"),
        gettext_lazy("As browsers name it: en, de, pt-BR."),
    ),
    "goal": (
        gettext_lazy("How many valid problems you want"),
        gettext_lazy("Shown to contributors; 0 for none."),
    ),
    "signup": (gettext_lazy("Who may make an account"), ""),
    "open_judging": (
        gettext_lazy("Everyone with an account may judge"),
        gettext_lazy("Off: moderators make people judges."),
    ),
    "anonymous": (
        gettext_lazy("People without an account may write"),
        gettext_lazy("They never judge."),
    ),
    "review": (gettext_lazy("What a moderator must let through before it is judged"), ""),
    "judges": (
        gettext_lazy("Judges of a problem"),
        gettext_lazy("Distinct people; an odd number, so that a majority exists."),
    ),
    "local_first": (
        gettext_lazy("Judges answer from the words around the blank first"),
        gettext_lazy("Before they read the whole; it shows what word association gives away."),
    ),
    "local_before": (gettext_lazy("Words before the blank that they see then"), ""),
    "both_halves": (
        gettext_lazy("One person may judge both halves of a twin"),
        gettext_lazy("Whoever has seen one half reads the other as its opposite."),
    ),
    "lease_minutes": (gettext_lazy("Minutes for which a problem waits for its judge"), ""),
    "wait_days": (
        gettext_lazy("Days for which a valid half waits for the other"),
        gettext_lazy("0: not at all. Its answer tells the other half’s."),
    ),
    "training_questions": (
        gettext_lazy("Questions of the training"),
        gettext_lazy("Gold questions before somebody’s first vote; 0 for no training."),
    ),
    "training_right": (gettext_lazy("How many of them must be right"), ""),
    "gold_every": (
        gettext_lazy("One problem in so many has a known answer"),
        gettext_lazy("0 for none."),
    ),
    "hold_pace_seconds": (
        gettext_lazy("Seconds a problem below which a judge’s votes wait"),
        gettext_lazy("Until a moderator has looked; 0 for never."),
    ),
    "hold_gold_percent": (
        gettext_lazy("Percent of gold questions right below which votes wait"),
        gettext_lazy("0 for never."),
    ),
    "hold_accounts": (
        gettext_lazy("Accounts of one address on one problem from which votes wait"),
        gettext_lazy("2 or more; 0 for never, as for a class behind one address."),
    ),
    "writes_per_hour": (gettext_lazy("Twins that one person may write in an hour"), ""),
    "answers_per_hour": (gettext_lazy("Judgements that one person may give in an hour"), ""),
    "perturbs_per_hour": (gettext_lazy("Perturbations that one person may send in an hour"), ""),
    "words_to_flag": (
        gettext_lazy("Words that send a sentence to the moderators"),
        gettext_lazy("One a line."),
    ),
}
"""Of each setting, what it is called and what is told of it."""

OPTIONS = {
    "open": gettext_lazy("everyone"),
    "invited": gettext_lazy("only people with an invitation"),
    "none": gettext_lazy("nothing"),
    "flagged": gettext_lazy("what looks odd or is anonymous"),
    "all": gettext_lazy("everything"),
}

REFUSED = {
    "judges": gettext_lazy("An odd number of judges is needed, so that a majority exists."),
    "training_right": gettext_lazy("There are not so many questions: nobody could pass."),
    "hold_accounts": gettext_lazy("Give 2 or more, or 0 for never."),
    "language": gettext_lazy("Write it like en, de or pt-BR."),
}
"""Of each setting that may not fit, what is told at its field."""

GROUPS = (
    ("name", gettext_lazy("Name and contact"), ("title", "contact", "language", "goal")),
    ("people", gettext_lazy("Who takes part"),
     ("signup", "open_judging", "anonymous", "review")),
    ("judging", gettext_lazy("How problems are judged"),
     ("judges", "local_first", "local_before", "both_halves", "lease_minutes", "wait_days")),
    ("trust", gettext_lazy("How far judges are trusted"),
     ("training_questions", "training_right", "gold_every",
      "hold_pace_seconds", "hold_gold_percent", "hold_accounts")),
    ("limits", gettext_lazy("Limits"),
     ("writes_per_hour", "answers_per_hour", "perturbs_per_hour", "words_to_flag")),
)  # fmt: skip
"""Of each part of the form, its anchor, its heading and its settings."""

LONGEST = 100
"""Characters of a name, an address, or a word."""

MOST_WORDS = 1000

COMING = "chosen.new"
"""In the site's folder: what was chosen, until the log of it is on the disk."""


def _field(name: str) -> forms.Field:
    label, told = WORDS[name]
    # What the form showed travels with it: of two admins neither takes back what the other chose.
    words: dict[str, Any] = {"label": label, "help_text": told, "show_hidden_initial": True}
    usual = getattr(SiteRules(), name)
    if isinstance(usual, bool):
        return forms.BooleanField(required=False, **words)
    if isinstance(usual, int):
        least, most = RANGE[name]
        return forms.IntegerField(min_value=least, max_value=most, **words)
    if name in ("signup", "review"):
        choices = [
            (word, OPTIONS[word]) for word in get_args(Signup if name == "signup" else Review)
        ]
        return forms.ChoiceField(choices=choices, **words)
    if name == "words_to_flag":
        return forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 4}), **words)
    return forms.CharField(max_length=LONGEST, required=name != "contact", **words)


class Choices(forms.Form):
    """The settings that may be chosen; what `site.toml` sets can be read alone."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        rules = settings.RULES
        now = {name: getattr(rules, name) for name in CHOOSABLE}
        now["words_to_flag"] = "\n".join(now["words_to_flag"])
        super().__init__(*args, initial=now, **kwargs)
        for name in CHOOSABLE:
            field = _field(name)
            if name in settings.SITE.fixed:
                field.disabled = True
                field.help_text = _("It is set in site.toml, on the server.")
            self.fields[name] = field

    def groups(self) -> list[tuple[str, Any, list[forms.BoundField]]]:
        """Return the parts of the form: an anchor, a heading, and its fields."""
        return [(at, heading, [self[name] for name in names]) for at, heading, names in GROUPS]

    def clean_words_to_flag(self) -> tuple[str, ...]:
        """Return the words, each once."""
        typed = self.cleaned_data["words_to_flag"].splitlines()
        words = tuple(dict.fromkeys(word for line in typed if (word := " ".join(line.split()))))
        if len(words) > MOST_WORDS or any(len(word) > LONGEST for word in words):
            raise forms.ValidationError(
                _("Give at most %(most)d words of up to %(long)d characters.")
                % {"most": MOST_WORDS, "long": LONGEST}
            )
        return words

    def clean(self) -> dict[str, Any]:
        """Refuse what does not go together, as the site would when it starts."""
        typed: dict[str, Any] = super().clean()
        if not self.errors:
            try:
                replace(settings.RULES, **typed)
            except Unfit as error:
                self.refuse(error)
        return typed

    def refuse(self, error: Unfit) -> None:
        """Say at its field why a setting can't be as it was typed."""
        self.add_error(error.name, REFUSED.get(error.name, str(error)))

    def changed(self) -> dict[str, Any]:
        """Return the settings that were changed in the form, and would be others than now."""
        rules = settings.RULES
        return {
            name: self.cleaned_data[name]
            for name in self.changed_data
            if self.cleaned_data[name] != getattr(rules, name)
        }


@contextmanager
def turn_to_choose() -> Iterator[None]:
    """Let one admin at a time choose settings, of all processes of the site."""
    with (settings.SITE.folder / "choose.lock").open("wb") as file:
        wait_for_lock(file.fileno())
        yield


def choose(person: Person, changed: dict[str, Any]) -> Deed:
    """Note what is chosen, and let it hold once that is on the disk, in every process of the site.

    What is the same as what is built in is not kept. What can't be written is not noted either.

    Args:
        person: an admin, in their `turn_to_choose`.
        changed: from `Choices.changed`.

    Raises:
        Unfit: it does not go with what another admin chose meanwhile.
        OutputError: the file can't be written.
    """
    renew_rules()
    replace(settings.RULES, **changed)
    folder, usual = settings.SITE.folder, SiteRules()
    with writing():
        chosen = {**read_chosen(folder), **changed}
        kept = {name: chosen[name] for name in CHOOSABLE if name in chosen}
        kept = {name: value for name, value in kept.items() if value != getattr(usual, name)}
        with write_aside(folder / COMING) as file:
            file.write(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
        deed = note(person, SETTINGS, {name: _plain(value) for name, value in changed.items()})
        transaction.on_commit(_take)
    return deed


def _take() -> None:
    (settings.SITE.folder / COMING).replace(settings.SITE.folder / CHOSEN)
    renew_rules()


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
