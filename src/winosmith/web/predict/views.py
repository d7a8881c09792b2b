"""The pages of models: all of them, and one with its revisions and troubles."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.people.gates import form_once, moderators_only
from winosmith.web.predict import asking
from winosmith.web.predict.models import Model


@require_safe
def models(request: HttpRequest) -> HttpResponse:
    """List the models that perturbations are sent to, and how far each has come."""
    return render(request, "predict/models.html", {"models": asking.all_figures()})


@require_safe
def model(request: HttpRequest, name: str) -> HttpResponse:
    """Show what determines a model's predictions, its revisions, and to moderators its troubles."""
    found = get_object_or_404(Model, name=name, current=True)
    moderates = request.user.is_authenticated and request.user.moderates
    return render(
        request,
        "predict/model.html",
        {
            "stand": asking.figures(found),
            "about": [(key, value) for key, value in found.about.items() if key != "solver"],
            "revisions": asking.revisions(found),
            "failures": asking.failures(found) if moderates else (),
            "moderates": moderates,
        },
    )


@require_POST
@moderators_only
def try_again(request: HttpRequest, name: str) -> HttpResponse:
    """Let the model try again what it was late with or failed over, once a form."""
    found = get_object_or_404(Model, name=name, current=True)
    try:
        result = form_once(
            request, request.user, lambda: {"count": asking.retry_by(request.user, found)}
        )
    except InputError as refused:
        messages.error(request, str(refused))
        return redirect("predict:model", name=name)
    said = ngettext(
        "%(count)d prediction is retried.",
        "%(count)d predictions are retried.",
        result["count"],
    )
    messages.success(request, said % result)
    return redirect("predict:model", name=name)
