"""The pages at the door: joining, logging in and out, passwords."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login as log_in
from django.contrib.auth import logout as log_out
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.accounts import (
    JOINS,
    Doors,
    close_doors,
    enter,
    new_password,
    open_doors,
    sign_up,
)
from winosmith.web.people.adoption import adopt
from winosmith.web.people.current import existing_writer
from winosmith.web.people.forms import JoinForm, LoginForm, NewPasswordForm, PasswordForm
from winosmith.web.people.gates import accounts_only, safe_next
from winosmith.web.people.invitations import find, over
from winosmith.web.people.limits import spend
from winosmith.web.people.models import Invitation, Person

BACKEND = settings.AUTHENTICATION_BACKENDS[0]


@sensitive_post_parameters()
def join(request: HttpRequest, token: str = "") -> HttpResponseBase:
    """Make an account; with an invitation's token, one with the roles that it gives."""
    invitation = find(token) if token else None
    if token and invitation is None:
        gone = over(token)
        page = {"invitation": gone, "now": timezone.now()}
        return render(request, "people/link_over.html", page, status=410 if gone else 404)
    if request.user.is_authenticated:
        return render(request, "people/here_already.html", {"invitation": invitation})
    if invitation is not None and invitation.person is not None:
        return _way_back(request, invitation, invitation.person)
    if invitation is None and settings.RULES.signup == "invited":
        return render(request, "people/by_invitation.html")
    form = JoinForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        person = _joined(request, form, invitation)
        if person is not None:
            _begin(request, person)
            messages.success(request, _("Welcome. Your account is there."))
            return redirect(safe_next(request))
    context = {"form": form, "invitation": invitation, "next": safe_next(request)}
    return render(request, "people/join.html", context, status=422 if form.errors else 200)


def _joined(request: HttpRequest, form: JoinForm, invitation: Invitation | None) -> Person | None:
    """Return the new account; None where the form tells what is wrong with it."""
    typed = form.cleaned_data
    try:
        if invitation is None:
            spend(request, "join", JOINS)
        return sign_up(
            typed["name"],
            typed["password"],
            anonymous=existing_writer(request),
            invitation=invitation,
        )
    except ValidationError as error:
        form.add_error("password", error)
    except InputError as error:
        # Sent twice by a double click: the account is there, with this very password.
        found = enter(request, typed["name"], typed["password"])
        if found is not None:
            return found
        form.add_error("name", str(error))
    return None


def _way_back(request: HttpRequest, invitation: Invitation, person: Person) -> HttpResponse:
    """Let somebody whose password is lost set a new one."""
    form = NewPasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        ended = _set(form, person, invitation)
        if ended is not None:
            _begin(request, person)
            messages.success(request, _told(_("Your new password holds from now on."), ended))
            return redirect("people:me")
    context = {"form": form, "person": person, "doors": _beside(open_doors(person), links=1)}
    return render(request, "people/new_password.html", context, status=422 if form.errors else 200)


def _set(form: Form, person: Person, invitation: Invitation | None = None) -> Doors | None:
    """Set the new password, and return what it ended; None where the form tells what is wrong."""
    try:
        return new_password(person, form.cleaned_data["password"], invitation)
    except ValidationError as error:
        form.add_error("password", error)
    except InputError as error:
        form.add_error(None, str(error))
    return None


def _beside(doors: Doors, *, browsers: int = 0, links: int = 0) -> Doors:
    """Return what is open beside what somebody comes by."""
    return Doors(max(0, doors.browsers - browsers), doors.tokens, max(0, doors.links - links))


def _told(done: str, ended: Doors) -> str:
    more = _("Ended: %s.") % ended
    return f"{done} {more}" if ended else done


@sensitive_post_parameters()
def login(request: HttpRequest) -> HttpResponseBase:
    """Log in, and go where somebody was headed."""
    to = safe_next(request)
    if request.user.is_authenticated and request.method != "POST":
        return redirect(to)
    form = LoginForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        person = enter(request, **form.cleaned_data)
        if person is not None:
            _begin(request, person)
            return redirect(to)
        form.add_error(None, _("This name and this password don’t belong together."))
    context = {"form": form, "next": to}
    return render(request, "people/login.html", context, status=422 if form.errors else 200)


def _begin(request: HttpRequest, person: Person) -> None:
    """Begin a log-in session; what was written here without an account joins it."""
    before = existing_writer(request)
    with writing():
        if before is not None and before.anonymous and before.pk != person.pk:
            adopt(person, before)
        request.session.flush()
        log_in(request, person, backend=BACKEND)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """Log out here; where the form says so, end all that opens the account."""
    said = _("You are logged out.")
    if request.POST.get("everywhere") and request.user.is_authenticated:
        said = _told(said, close_doors(cast(Person, request.user)))
    log_out(request)
    messages.success(request, said)
    return redirect("read:home")


@accounts_only
@sensitive_post_parameters()
def password(request: HttpRequest) -> HttpResponseBase:
    """Change the password; all else that opens the account ends."""
    person = cast(Person, request.user)
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if enter(request, person.name, form.cleaned_data["old"]) is None:
            form.add_error("old", _("This is not your password."))
        elif (ended := _set(form, person)) is not None:
            _begin(request, person)
            said = _told(_("Your new password holds from now on."), _beside(ended, browsers=1))
            messages.success(request, said)
            return redirect("people:me")
    context = {"form": form, "person": person, "doors": _beside(open_doors(person), browsers=1)}
    return render(request, "people/password.html", context, status=422 if form.errors else 200)
