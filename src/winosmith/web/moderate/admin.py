"""Read-only pages in Django's admin for the tables of `SHOWN_APPS`.

The site's own pages change states, roles, votes and the log, and enforce the rules; the admin pages
only show them. Admins can add new versions of consent texts here, but change nothing else.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from winosmith.web._lock import writing
from winosmith.web.people.models import Document, Session
from winosmith.web.people.privacy import publish_document

SHOWN_APPS = ("people", "problems", "write", "judge", "moderate", "perturb", "predict")

SECRET_COLUMNS = frozenset({"password", "salt", "entry", "digest", "key", "who", "origin", "email"})
"""Columns that nobody sees, not even admins."""

LONG_TYPES = ("TextField", "JSONField")
"""Types of fields that lists omit because of their length."""

TITLES = {
    "done": _("submitted forms"),
    "gold": _("gold questions"),
    "hits": _("action counts for rate limits"),
    "remembered": _("indexed sentences"),
    "seen": _("problems seen"),
}
"""Titles of tables for which the model's name with an "s" would be wrong, by the model's name."""

UNSHOWN_MODELS = (Group, Session)
"""Models without pages: groups are not used, and the URL of a session would contain its key."""


class ReadOnlyAdmin(admin.ModelAdmin):
    actions = None
    list_per_page = 50
    show_full_result_count = False

    def get_list_display(self, request: HttpRequest) -> list[str]:
        shown = [field for field in _list_visible_fields(self.model) if not field.is_relation]
        short = [field.name for field in shown if field.get_internal_type() not in LONG_TYPES]
        return ["__str__", *[name for name in short if name != "id"][:7]]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [field.name for field in _list_visible_fields(self.model)]

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Reject lookups in the URL, because their results could reveal a secret."""
        return False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


class NewVersionForm(ModelForm):
    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean()
        newest = Document.objects.filter(kind=values.get("kind")).order_by("-version").first()
        text = values.get("text", "").replace("\r\n", "\n").strip()
        if newest and newest.text.strip() == text:
            raise ValidationError(
                _("This text is already the current version; change it to make a new one.")
            )
        return values


class DocumentAdmin(ReadOnlyAdmin):
    """Admin for consent texts, of which each version is a new row; rows never change."""

    form = NewVersionForm

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Return the kind and the text; the site sets the version and the time."""
        return super().get_fields(request, obj) if obj else ["kind", "text"]

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Write the version and its log entry in one transaction."""
        if request.method != "POST":
            return super().changeform_view(request, *args, **kwargs)
        with writing():
            return super().changeform_view(request, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            raise PermissionDenied
        newest = Document.objects.filter(kind=obj.kind).order_by("-version").first()
        made = publish_document(obj.kind, obj.text, licence=newest.licence if newest else "")
        obj.pk, obj.version, obj.created = made.pk, made.version, made.created


def _list_visible_fields(model: Any) -> list[Any]:
    return [field for field in model._meta.fields if field.name not in SECRET_COLUMNS]


@never_cache
def _redirect_to_login(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """Redirect to the site's log-in page, which limits failed attempts; reject non-admin users."""
    if request.user.is_authenticated and not admin.site.has_permission(request):
        raise PermissionDenied
    to = request.GET.get("next") or reverse("admin:index")
    return redirect(f"{reverse('people:login')}?{urlencode({'next': to})}")


admin.site.login = _redirect_to_login
admin.site.enable_nav_sidebar = False
admin.site.index_title = _("Tables")
if admin.site.is_registered(Group):
    admin.site.unregister(Group)
for app in SHOWN_APPS:
    for model in apps.get_app_config(app).get_models():
        # Django's admin has no pages for models with composite keys.
        hidden = len(model._meta.pk_fields) > 1 or model in UNSHOWN_MODELS
        if model._meta.model_name in TITLES:
            model._meta.verbose_name_plural = TITLES[model._meta.model_name]
        if not hidden and not admin.site.is_registered(model):
            admin.site.register(model, DocumentAdmin if model is Document else ReadOnlyAdmin)
