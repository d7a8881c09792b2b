"""The settings that an admin chooses in the browser: their form, and how a choice takes effect.

The form is made from the declaration of the settings (`_rules.SiteRules`). It shows a setting of
`site.toml`, but does not change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from winosmith.errors import RecipeError
from winosmith.locks import wait_for_lock
from winosmith.outputs import write_aside
from winosmith.web._lock import writing
from winosmith.web._rules import CHOSEN, GROUPS, choosable, label_and_hint, read_chosen, settings_of
from winosmith.web.jobs import SETTINGS, Job, note
from winosmith.web.pages import renew_rules
from winosmith.web.people.models import Person

COMING = "chosen.new"
"""In the site's folder: what was chosen, until the log of it is on the disk."""


def _declared() -> dict[str, dict[str, Any]]:
    return choosable(type(settings.RULES))


def label(name: str) -> str:
    """Return the label of a setting, in the reader's language."""
    return _(label_and_hint(_declared()[name])[0])


def word(name: str, value: str) -> str:
    """Return the label of a setting's word, in the reader's language; other texts unchanged."""
    choices: Mapping[str, str] = _declared()[name]["choices"] or {}
    return _(choices[value]) if value in choices else value


def _field(name: str, key: Mapping[str, Any]) -> forms.Field:
    # What the form showed travels with it: of two admins neither reverts what the other chose.
    hint = label_and_hint(key)[1]
    words: dict[str, Any] = {"label": label(name), "help_text": hint and _(hint)}
    words["show_hidden_initial"] = True
    if "enum" in key:
        choices = [(one, word(name, one)) for one in key["enum"]]
        return forms.ChoiceField(choices=choices, **words)
    if key["type"] == "boolean":
        return forms.BooleanField(required=False, **words)
    if key["type"] == "integer":
        return forms.IntegerField(min_value=key["minimum"], max_value=key["maximum"], **words)
    if key["type"] == "array":
        words["help_text"] = words["help_text"] or _("One per line.")
        return Lines(required=False, widget=forms.Textarea(attrs={"rows": 4}), **words)
    required = bool(key.get("minLength"))
    return forms.CharField(max_length=key["maxLength"], required=required, **words)


class Lines(forms.CharField):
    """A list of texts, one on each line, each once."""

    def prepare_value(self, value: Any) -> Any:
        """Return the text of the control."""
        return "\n".join(value) if isinstance(value, tuple) else value

    def to_python(self, value: Any) -> tuple[str, ...]:
        """Return the texts, without spaces at their ends."""
        lines = self.prepare_value(value or "").splitlines()
        return tuple(dict.fromkeys(text for line in lines if (text := " ".join(line.split()))))

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether the texts differ."""
        return self.to_python(initial) != self.to_python(data)


class Choices(forms.Form):
    """The settings that may be chosen; those of `site.toml` can only be read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        rules, declared = settings.RULES, _declared()
        super().__init__(*args, initial={name: getattr(rules, name) for name in declared}, **kwargs)
        for name, key in declared.items():
            field = self.fields[name] = _field(name, key)
            if name in settings.SITE.fixed:
                field.disabled = True
                field.help_text = _("Set in site.toml on the server.")

    def sections(self) -> list[dict[str, Any]]:
        """Return the groups of the form, each with its fields and those behind "More".

        A group is opened if a setting behind "More" is wrong, or differs from its default.
        """
        found = []
        for group in GROUPS:
            keys = settings_of(group, type(settings.RULES))
            more = [self[name] for name, key in keys.items() if key["more"]]
            found.append(
                {
                    "name": group.name,
                    "title": _(group.title),
                    "lead": _(group.lead),
                    "fields": [self[name] for name, key in keys.items() if not key["more"]],
                    "more": more,
                    "opened": any(
                        field.errors or _plain(field.initial) != keys[field.name]["default"]
                        for field in more
                    ),
                }
            )
        return found

    def clean(self) -> dict[str, Any]:
        """Refuse values that do not fit together, as the site would when it starts."""
        typed: dict[str, Any] = super().clean()
        if not self.errors:
            try:
                replace(settings.RULES, **typed)
            except RecipeError as error:
                self.refuse(error)
        return typed

    def refuse(self, error: RecipeError) -> None:
        """Show at its field why a setting is refused."""
        wanted = _(error.wanted) or str(error)
        self.add_error(error.key or None, f"{wanted[0].upper()}{wanted[1:]}.")

    def changed(self) -> dict[str, Any]:
        """Return the settings that were changed in the form, and differ from the present ones."""
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


def choose(person: Person, changed: dict[str, Any]) -> Job:
    """Write chosen settings and log them; they take effect in every process of the site.

    A default is not written. If the file can't be written, nothing is logged either.

    Args:
        person: an admin, in their `turn_to_choose`.
        changed: from `Choices.changed`.

    Raises:
        RecipeError: they do not fit what another admin chose in the meantime.
        OutputError: the file can't be written.
    """
    renew_rules()
    rules = replace(settings.RULES, **changed)
    folder, declared = settings.SITE.folder, _declared()
    with writing():
        chosen = {**read_chosen(folder), **{name: _plain(getattr(rules, name)) for name in changed}}
        kept = {
            name: chosen[name]
            for name, key in declared.items()
            if name in chosen and chosen[name] != key["default"]
        }
        with write_aside(folder / COMING) as file:
            file.write(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
        job = note(person, SETTINGS, {name: _plain(value) for name, value in changed.items()})
        transaction.on_commit(_take)
    return job


def _take() -> None:
    (settings.SITE.folder / COMING).replace(settings.SITE.folder / CHOSEN)
    renew_rules()


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
