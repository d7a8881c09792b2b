"""Pages for log-in, sign-up, personal data, consent texts, and invitations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout as log_out
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.pages import mark_as_download
from winosmith.web.people import accounts, gates, news as mails, privacy
from winosmith.web.people.models import (
    Agreement,
    Document,
    Invitation,
    Person,
    digest_token,
    get_pseudonym,
)
from winosmith.web.people.news import NEWS_SPAN, get_last_visit, list_news, mark_read, work_sources

MAX_CONSENTS = 240
"""Maximum number of new people without an account per hour from one network."""


def _make_password_field(label: Any, kind: str, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        strip=False,
        max_length=1000,
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": kind}),
    )


def _make_name_field(help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Name"),
        max_length=60,
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )


class NewPasswordForm(forms.Form):
    password = _make_password_field(
        gettext_lazy("Password"),
        "new-password",
        gettext_lazy(
            "At least 8 characters, and not easy to guess. If you lose it, ask the people who "
            "run this site for a link to set a new one."
        ),
    )
    again = _make_password_field(gettext_lazy("Repeat the password"), "new-password")

    def clean_again(self) -> str:
        again: str = self.cleaned_data["again"]
        if self.cleaned_data.get("password", again) != again:
            raise ValidationError(gettext_lazy("The two passwords differ."))
        return again


class JoinForm(NewPasswordForm):
    name = _make_name_field(
        gettext_lazy(
            "Letters, digits and @ . + - _, without spaces. Only the people who run this site see "
            "this name. It need not be your real name."
        )
    )
    field_order = ("name", "password", "again")


class LoginForm(forms.Form):
    name = _make_name_field()
    password = _make_password_field(gettext_lazy("Password"), "current-password")


class ConfirmedForm(forms.Form):
    """A form that requires the sender's password."""

    confirmed_by = "password"

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean(self) -> dict[str, Any]:
        typed: dict[str, Any] = super().clean() or {}
        if self.confirmed_by in self.fields and not self.errors:
            name = self.request.user.name
            if accounts.check_login(self.request, name, typed[self.confirmed_by]) is None:
                self.add_error(self.confirmed_by, _("This password is not correct."))
        return typed


class PasswordForm(ConfirmedForm, NewPasswordForm):
    confirmed_by = "old"
    old = _make_password_field(gettext_lazy("Current password"), "current-password")
    field_order = ("old", "password", "again")


class InviteForm(forms.Form):
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=[
            ("contributor", gettext_lazy("contributor: writes, and judges if everyone may judge")),
            ("judge", gettext_lazy("judge: writes and judges")),
            ("moderator", gettext_lazy("moderator: also decides on problems")),
            ("admin", gettext_lazy("admin: runs the site")),
        ],
    )
    label = forms.CharField(
        label=gettext_lazy("Note"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("To identify the link in the list below."),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Valid for (days)"), min_value=1, max_value=90, initial=7
    )
    name = forms.CharField(
        label=gettext_lazy("Name of an account whose password is lost"),
        max_length=60,
        required=False,
        help_text=gettext_lazy(
            "For a new account, leave this empty. Otherwise, the link is for setting a new "
            "password."
        ),
    )

    def __init__(self, roles: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = self.fields["role"].choices
        self.fields["role"].choices = [choice for choice in offered if choice[0] in roles]
        if "admin" not in roles:
            del self.fields["name"]


class EraseForm(ConfirmedForm):
    texts = forms.BooleanField(
        label=gettext_lazy("Also erase the sentences that have not been released yet"),
        required=False,
    )
    sure = forms.BooleanField(label=gettext_lazy("I know that this can’t be undone"))
    password = _make_password_field(gettext_lazy("Your password"), "current-password")

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, request.POST or None)
        if not (request.user.is_authenticated and request.user.has_usable_password()):
            del self.fields["password"]


def _render_form(request: HttpRequest, template: str, form: Form, **context: Any) -> HttpResponse:
    status = 422 if form.errors else 200
    return render(request, f"people/{template}.html", {"form": form, **context}, status=status)


@contextmanager
def _add_errors_to_form(form: Form, field: str | None = None) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        form.add_error("password", error)
    except InputError as error:
        form.add_error(field, str(error))


@sensitive_post_parameters()
def join(request: HttpRequest, token: str = "") -> HttpResponseBase:
    invitation = accounts.find_invitation(token) if token else None
    if token and invitation is None:
        past = Invitation.objects.filter(digest=digest_token(token)).first()
        admins = Person.objects.filter(is_superuser=True, is_active=True)
        page = {"invitation": past, "has_admin": admins.exists()}
        return render(request, "people/link_over.html", page, status=410 if past else 404)
    if request.user.is_authenticated:
        return render(request, "people/here_already.html", {"invitation": invitation})
    if invitation is not None and invitation.person is not None:
        reset = NewPasswordForm(request.POST or None)
        return _set_new_password(request, "new_password", reset, invitation.person, invitation)
    if invitation is None and settings.RULES.signup == "invited":
        return render(request, "people/by_invitation.html")
    form = JoinForm(request.POST or None)
    if invitation is not None and invitation.is_superuser:
        form.fields["password"].help_text = (
            _(
                "At least 8 characters, and not easy to guess. If you lose it, run on the server: "
                "winosmith admin invite %s --for NAME"
            )
            % settings.SITE.folder
        )
    if request.method == "POST" and form.is_valid():
        person = _create_account(request, form, invitation)
        if person is not None:
            _start_session(request, person)
            return redirect("run:start" if person.is_superuser else gates.get_safe_next(request))
    return _render_form(
        request, "join", form, invitation=invitation, next=gates.get_safe_next(request)
    )


def _create_account(
    request: HttpRequest, form: JoinForm, invitation: Invitation | None
) -> Person | None:
    """Return a new or existing account with this name and password; None if the form has errors."""
    typed = form.cleaned_data
    try:
        if invitation is None:
            gates.rate_limit(request, "join", accounts.MAX_SIGN_UPS)
        person = accounts.sign_up(
            typed["name"],
            typed["password"],
            anonymous=gates.get_current_writer(request),
            invitation=invitation,
        )
        messages.success(request, _("Welcome. Your account is ready."))
        return person
    except ValidationError as error:
        form.add_error("password", error)
    except InputError as error:
        # Perhaps a double click sent the form twice: the account exists with this password.
        found = accounts.check_login(request, typed["name"], typed["password"])
        if found is not None:
            messages.success(request, _("You already have an account; you are now logged in."))
            return found
        form.add_error("name", str(error))
    return None


def _set_new_password(
    request: HttpRequest,
    template: str,
    form: Form,
    person: Person,
    invitation: Invitation | None = None,
) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        with _add_errors_to_form(form):
            accounts.set_new_password(person, form.cleaned_data["password"], invitation)
            _start_session(request, person)
            messages.success(request, _("The password was changed."))
            return redirect("people:me")
    return _render_form(request, template, form, person=person)


def _require_mail(view: Any) -> Any:
    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not mails.sends_mail():
            raise Http404
        return cast(HttpResponseBase, view(request, *args, **kwargs))

    return wrapper


@_require_mail
def request_reset(request: HttpRequest) -> HttpResponse:
    """Send a link for a new password; the response does not reveal whether an address is known."""
    form = mails.ResetForm(request.POST or None)
    sent = request.method == "POST" and form.is_valid()
    if sent:
        form.save(request=request)
    return _render_form(request, "reset", form, sent=sent)


class EmailForm(ConfirmedForm):
    email = forms.EmailField(
        label=gettext_lazy("Email address"),
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password = _make_password_field(gettext_lazy("Your password"), "current-password")


@_require_mail
@gates.accounts_only
@sensitive_post_parameters()
def edit_mail_address(request: HttpRequest) -> HttpResponseBase:
    person = request.user
    if person.hired:
        raise Http404
    form = EmailForm(request, request.POST or None, initial={"email": person.email})
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        if not email:
            mails.delete_address(person)
            message = _("Your address has been deleted.")
        else:
            mails.send_address_link(person, email, request)
            message = _("A link was sent to this address; open it within a day.")
        messages.success(request, message)
        return redirect("people:me")
    return _render_form(request, "mail", form)


@_require_mail
@require_safe
@gates.accounts_only
def confirm_mail_address(request: HttpRequest, token: str) -> HttpResponseBase:
    try:
        mails.confirm_address(request.user, token)
        messages.success(request, _("Your address has been confirmed."))
    except InputError as error:
        messages.error(request, str(error))
    return redirect("people:me")


@sensitive_post_parameters()
def login(request: HttpRequest) -> HttpResponseBase:
    to = gates.get_safe_next(request)
    if request.user.is_authenticated and request.method != "POST":
        return redirect(to)
    form = LoginForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        begin = partial(_start_session, request)
        if accounts.check_login(request, typed["name"], typed["password"], on_success=begin):
            return redirect(to)
        form.add_error(None, _("The name or the password is not correct."))
    paid = Person.objects.filter(hired=True, is_active=True).exists()
    return _render_form(request, "login", form, next=to, paid=paid)


def _start_session(request: HttpRequest, person: Person) -> None:
    before = gates.get_current_writer(request)
    with writing():
        if before is not None and before.anonymous and before.pk != person.pk:
            accounts.merge_visitor(person, before)
        gates.begin_session(request, person)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    if request.POST.get("everywhere") and request.user.is_authenticated:
        accounts.end_access(request.user)
    log_out(request)
    messages.success(request, _("You are logged out."))
    return redirect("read:home")


@gates.accounts_only
@sensitive_post_parameters()
def change_password(request: HttpRequest) -> HttpResponseBase:
    form = PasswordForm(request, request.POST or None)
    return _set_new_password(request, "password", form, request.user)


def _pass_current_person(view: Callable[[HttpRequest, Person], HttpResponse]) -> Any:
    """Decorate a view to receive the current person; visitors not known to the site must log in."""

    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponse:
        person = gates.get_current_writer(request)
        return view(request, person) if person else gates.redirect_to(request, "people:login")

    return wrapper


@require_safe
@_pass_current_person
def show_profile(request: HttpRequest, person: Person) -> HttpResponse:
    context = {
        "person": person,
        "pseudonym": get_pseudonym(person),
        "agreements": person.agreements.select_related("document").order_by("-at"),
        "missing": privacy.get_pending_documents(person, judging=True),
        "may_judge": gates.may_judge(person),
        "logins": person.sessions.filter(expire_date__gt=timezone.now()).count(),
    }
    return render(request, "people/me.html", context)


@require_safe
@_pass_current_person
def show_news(request: HttpRequest, person: Person) -> HttpResponse:
    before = get_last_visit(person)
    items = list_news(person, min(before, timezone.now() - NEWS_SPAN))
    context = {
        "items": [(item, item.at > before) for item in items],
        "works": [work for area in work_sources for work in area(person)],
        "may_judge": gates.may_judge(person),
        "unheard": 0,
    }
    page = render(request, "people/news.html", context)
    if request.method == "GET":
        mark_read(person)
    return page


@require_safe
@_pass_current_person
def download_data(request: HttpRequest, person: Person) -> HttpResponse:
    response = JsonResponse(privacy.export_personal_data(person), json_dumps_params={"indent": 2})
    return mark_as_download(response, "about-me.json")


@require_POST
@_pass_current_person
def withdraw_texts(request: HttpRequest, person: Person) -> HttpResponse:
    done = gates.process_form(request, person, lambda: {"twins": privacy.withdraw_texts(person)})
    count = done["twins"]
    message = ngettext("%d text is now hidden.", "%d texts are now hidden.", count) % count
    messages.success(request, message)
    return redirect("people:me")


@sensitive_post_parameters()
@_pass_current_person
def erase(request: HttpRequest, person: Person) -> HttpResponse:
    form = EraseForm(request)
    if request.method == "POST" and form.is_valid():
        with _add_errors_to_form(form):
            privacy.erase(person, form.cleaned_data["texts"])
            log_out(request)
            return render(request, "people/erased.html")
    return _render_form(request, "erase", form, person=person, own=True)


@gates.admins_only
@sensitive_post_parameters()
def erase_other_person(request: HttpRequest, number: int) -> HttpResponseBase:
    """Erase a person at that person's request; the admin confirms this with their own password."""
    person = get_object_or_404(Person, pk=number, erased=None)
    form = EraseForm(request)
    if request.method == "POST" and form.is_valid():
        with _add_errors_to_form(form):
            if person == request.user:
                raise InputError(_("To erase your own account, go to your account page."))
            privacy.erase(person, form.cleaned_data["texts"])
            messages.success(request, _("The person’s data have been erased."))
            return redirect("people:invitations")
    return _render_form(request, "erase", form, person=person, own=False)


def ask_consent(request: HttpRequest) -> HttpResponseBase:
    person = gates.get_current_writer(request)
    to = gates.get_safe_next(request)
    if person is None and not settings.RULES.anonymous:
        return gates.redirect_to(request, "people:login")
    judging = not gates.is_writing_page(to)
    needed = privacy.get_pending_documents(person, judging=judging)
    if not needed:
        return redirect(to)
    error = ""
    if request.method == "POST":
        try:
            if not request.POST.get("agree"):
                raise InputError(_("Tick the box to agree; if you don’t agree, you can only read."))
            if person is None:
                gates.rate_limit(request, "consent", MAX_CONSENTS)
            shown = gates.read_shown_documents(request)
            privacy.save_agreement(gates.get_or_create_writer(request), shown, judging=judging)
        except InputError as problem:
            error = str(problem)
        else:
            messages.success(request, _("Thank you. You can start."))
            return redirect(to)
    context = {
        "documents": needed,
        "paid": any(document.kind == Document.Kind.STUDY for document in needed),
        "next": to,
        "error": error,
        "again": Agreement.objects.filter(
            person=person, document__kind__in=[document.kind for document in needed]
        ).exists(),
    }
    return render(request, "people/consent.html", context, status=422 if error else 200)


@require_safe
def show_texts(request: HttpRequest) -> HttpResponse:
    current = privacy.get_current_documents()
    older = Document.objects.exclude(pk__in=[row.pk for row in current]).defer("text")
    context = {"documents": current, "older": older.order_by("kind", "-version")}
    return render(request, "people/texts.html", context)


@require_safe
def show_text(request: HttpRequest, kind: str, version: int) -> HttpResponse:
    document = get_object_or_404(Document, kind=kind, version=version)
    return render(request, "people/text.html", {"document": document})


@gates.moderators_only
def manage_invitations(request: HttpRequest) -> HttpResponseBase:
    creator = request.user
    roles = [role for role in accounts.ROLES if accounts.may_invite(creator, role)]
    form, link = InviteForm(roles, request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        with _add_errors_to_form(form, "name" if form.cleaned_data.get("name") else None):
            link = request.build_absolute_uri(_create_link(creator, form))
            form = InviteForm(roles)
    rows = accounts.get_active_links()
    if not creator.is_superuser:
        rows = rows.filter(made_by=creator)
    rows = rows.select_related("made_by", "person").order_by("-created")[:200]
    return _render_form(request, "invitations", form, link=link, rows=rows)


def _create_link(creator: Person, form: InviteForm) -> str:
    typed, minutes = form.cleaned_data, form.cleaned_data["days"] * 24 * 60
    if name := typed.get("name"):
        try:
            person = Person.objects.get_by_natural_key(name)
        except Person.DoesNotExist:
            raise InputError(_("There is no account with this name.")) from None
        return accounts.create_reset_link(person, minutes, creator=creator)
    return accounts.invite(typed["role"], minutes, creator=creator, label=typed["label"])


@gates.moderators_only
@require_POST
def revoke_invitation(request: HttpRequest, number: int) -> HttpResponse:
    by = request.user
    rows = Invitation.objects.all() if by.is_superuser else Invitation.objects.filter(made_by=by)
    link = get_object_or_404(rows, pk=number)
    accounts.revoke_invitation(link)
    text = _("The link “%s” is revoked.") % link.label if link.label else _("The link is revoked.")
    messages.success(request, text)
    return redirect("people:invitations")
