"""The settings that an admin changes in the browser: their form, and how changes take effect.

The form is generated from the declaration of the settings (`_rules.SiteRules`). Settings in
`site.toml` are shown read-only.
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
from winosmith.outputs import atomic_write
from winosmith.web._lock import writing
from winosmith.web._rules import CHOSEN, GROUPS, get_editable, get_settings, read_saved, split_label
from winosmith.web.jobs import SETTINGS, Job, create_job
from winosmith.web.pages import reload_rules
from winosmith.web.people.models import Person

PENDING = "chosen.new"
"""File in the site's folder that contains the new settings until their log entry is committed."""


def get_setting_label(name: str) -> str:
    return _(split_label(get_editable()[name])[0])


def get_value_label(name: str, value: str) -> str:
    choices: Mapping[str, str] = get_editable()[name]["choices"] or {}
    return _(choices[value]) if value in choices else value


def _build_field(name: str, schema: Mapping[str, Any]) -> forms.Field:
    # The form also contains the initial values, so that saving it does not revert a setting that
    # another admin has changed in the meantime.
    hint = split_label(schema)[1]
    words: dict[str, Any] = {"label": get_setting_label(name), "show_hidden_initial": True}
    words["help_text"] = hint and _(hint)
    if "enum" in schema:
        choices = [(one, get_value_label(name, one)) for one in schema["enum"]]
        return forms.ChoiceField(choices=choices, **words)
    if schema["type"] == "boolean":
        return forms.BooleanField(required=False, **words)
    if schema["type"] == "integer":
        least, most = schema["minimum"], schema["maximum"]
        return forms.IntegerField(min_value=least, max_value=most, **words)
    if schema["type"] == "array":
        words["help_text"] = words["help_text"] or _("One per line.")
        return LinesField(required=False, widget=forms.Textarea(attrs={"rows": 4}), **words)
    required = bool(schema.get("minLength"))
    return forms.CharField(max_length=schema["maxLength"], required=required, **words)


class LinesField(forms.CharField):
    """A form field for a list of distinct texts, one per line."""

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, tuple) else value

    def to_python(self, value: Any) -> tuple[str, ...]:
        lines = self.prepare_value(value or "").splitlines()
        return tuple(dict.fromkeys(text for line in lines if (text := " ".join(line.split()))))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(initial) != self.to_python(data)


class SettingsForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        rules, declared = settings.RULES, get_editable()
        super().__init__(*args, initial={name: getattr(rules, name) for name in declared}, **kwargs)
        for name, key in declared.items():
            field = self.fields[name] = _build_field(name, key)
            if name in settings.SITE.fixed:
                field.disabled = True
                field.help_text = _("Set in site.toml on the server.")

    def list_sections(self) -> list[dict[str, Any]]:
        """Return the groups of the form; `more` contains the fields behind "More".

        A group is opened if a setting behind "More" is invalid, or differs from its default.
        """
        found = []
        for group in GROUPS:
            keys = get_settings(group)
            more = [self[name] for name, key in keys.items() if key["more"]]
            found.append(
                {
                    "name": group.name,
                    "title": _(group.title),
                    "lead": _(group.lead),
                    "fields": [self[name] for name, key in keys.items() if not key["more"]],
                    "more": more,
                    "opened": any(
                        field.errors or _to_json(field.initial) != keys[field.name]["default"]
                        for field in more
                    ),
                }
            )
        return found

    def clean(self) -> dict[str, Any]:
        """Reject values that contradict each other, using the site's start-up checks."""
        typed: dict[str, Any] = super().clean()
        while True:
            try:
                replace(settings.RULES, **typed)
            except RecipeError as fault:
                if fault.key in typed or not self.errors:
                    self.add_setting_error(fault)  # this also removes the value from `typed`
                    continue
            return typed

    def add_setting_error(self, error: RecipeError) -> None:
        wanted = _(error.wanted) or str(error)
        self.add_error(error.key or None, f"{wanted[0].upper()}{wanted[1:]}.")

    def get_changes(self) -> dict[str, Any]:
        rules = settings.RULES
        return {
            name: self.cleaned_data[name]
            for name in self.changed_data
            if self.cleaned_data[name] != getattr(rules, name)
        }


@contextmanager
def lock_settings() -> Iterator[None]:
    with (settings.SITE.folder / "choose.lock").open("wb") as file:
        wait_for_lock(file.fileno())
        yield


def change_settings(person: Person, changed: dict[str, Any]) -> Job:
    """Write and log changed settings, which take effect in every process of the site.

    Settings equal to their default are omitted from the file. If the file can't be written, nothing
    is logged. The caller must hold `lock_settings`.
    """
    reload_rules()
    rules = replace(settings.RULES, **changed)
    folder = settings.SITE.folder
    with writing():
        chosen = read_saved(folder) | {key: _to_json(getattr(rules, key)) for key in changed}
        kept = {
            name: chosen[name]
            for name, key in get_editable().items()
            if name in chosen and chosen[name] != key["default"]
        }
        with atomic_write(folder / PENDING) as file:
            file.write(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
        job = create_job(person, SETTINGS, {key: _to_json(value) for key, value in changed.items()})
        transaction.on_commit(_apply_pending_settings)
    return job


def _apply_pending_settings() -> None:
    (settings.SITE.folder / PENDING).replace(settings.SITE.folder / CHOSEN)
    reload_rules()


def _to_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
