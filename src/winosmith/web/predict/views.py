"""Pages for models: the list, and a model with its revisions and failures."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from winosmith.web.people.gates import moderators_only, process_form
from winosmith.web.predict import asking
from winosmith.web.predict.models import Model


@require_safe
def show_models(request: HttpRequest) -> HttpResponse:
    models = asking.list_model_statuses(asking.get_current_models())
    return render(request, "predict/models.html", {"models": models})


@require_safe
def show_model(request: HttpRequest, name: str) -> HttpResponse:
    found = get_object_or_404(Model, name=name, current=True)
    can_moderate = request.user.is_authenticated and request.user.can_moderate
    context = {
        "stand": asking.list_model_statuses([found])[0],
        "about": [(key, value) for key, value in found.about.items() if key != "solver"],
        "revisions": asking.list_previous_revisions(found),
        "failures": asking.list_failed_predictions(found) if can_moderate else (),
        "can_moderate": can_moderate,
    }
    return render(request, "predict/model.html", context)


@require_POST
@moderators_only
def retry_predictions(request: HttpRequest, name: str) -> HttpResponse:
    found = get_object_or_404(Model, name=name, current=True)
    result = process_form(
        request, request.user, lambda: {"count": asking.retry_failed_predictions(found)}
    )
    message = ngettext(
        "%(count)d prediction will be retried.",
        "%(count)d predictions will be retried.",
        result["count"],
    )
    messages.success(request, message % result)
    return redirect("predict:model", name=name)
