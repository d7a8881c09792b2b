"""The forms of people: joining, logging in, passwords, invitations, leaving."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from winosmith.web.people.invitations import FIELDS


def _password(label: Any, kind: str, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        strip=False,
        max_length=1000,
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": kind}),
    )


class NewPasswordForm(forms.Form):
    """A password, typed twice, since nobody sees what they type."""

    password = _password(
        _("Password"),
        "new-password",
        _(
            "8 characters or more, and nothing that is easy to guess. Write it down: without an "
            "e-mail address nobody can send you a new one."
        ),
    )
    again = _password(_("Password, once more"), "new-password")

    def clean(self) -> dict[str, Any]:
        """Compare the two."""
        typed: dict[str, Any] = super().clean() or {}
        if "password" in typed and "again" in typed and typed["password"] != typed["again"]:
            self.add_error("again", ValidationError(_("These are two different passwords.")))
        return typed


class JoinForm(NewPasswordForm):
    """A new account."""

    name = forms.CharField(
        label=_("Name"),
        max_length=60,
        help_text=_("Only those who run this site see it. It need not be your real one."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    field_order = ("name", "password", "again")


class LoginForm(forms.Form):
    """A name and a password."""

    name = forms.CharField(
        label=_("Name"),
        max_length=60,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = _password(_("Password"), "current-password")


class PasswordForm(NewPasswordForm):
    """A new password, by somebody who knows the old one."""

    old = _password(_("The password so far"), "current-password")
    field_order = ("old", "password", "again")


class InviteForm(forms.Form):
    """A link for one person; or, with a name, a way back into an account."""

    role = forms.ChoiceField(
        label=_("What the link makes somebody"),
        choices=[
            ("contributor", _("contributor: writes")),
            ("judge", _("judge: writes and judges")),
            ("moderator", _("moderator: decides what becomes of problems, too")),
            ("admin", _("admin: runs the site")),
        ],
    )
    days = forms.IntegerField(
        label=_("For how many days it works"), min_value=1, max_value=90, initial=7
    )
    name = forms.CharField(
        label=_("Name of an account whose password is lost"),
        max_length=60,
        required=False,
        help_text=_("Leave it empty for a new account. Otherwise the link sets a new password."),
    )

    def __init__(self, roles: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [
            choice for choice in self.fields["role"].choices if choice[0] in roles
        ]
        if "admin" not in roles:
            del self.fields["name"]

    @staticmethod
    def every_role() -> list[str]:
        """Return the words for roles."""
        return list(FIELDS)


class EraseForm(forms.Form):
    """That somebody means it."""

    texts = forms.BooleanField(
        label=_("Erase the sentences that are not released yet, too"), required=False
    )
    sure = forms.BooleanField(label=_("I know that this can’t be taken back"))
    password = _password(_("Your password"), "current-password")

    def __init__(self, *args: Any, with_password: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not with_password:
            del self.fields["password"]
