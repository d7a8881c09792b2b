"""Pages for choosing and perturbing a sentence, and for the models' results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError
from winosmith.lineage import find_edits
from winosmith.problem import BLANK
from winosmith.text import diff_text, tokenize
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.pages import round_percent
from winosmith.web.people import gates
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import get_pending_documents
from winosmith.web.perturb import rules
from winosmith.web.perturb.rules import Position, SentenceInput
from winosmith.web.predict.asking import check_model, get_current_models, get_current_predictions
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems import checks
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.family import fold_steps, get_path, get_visible_steps, may_perturb
from winosmith.web.problems.lookalikes import Half
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.search import parse_terms
from winosmith.web.problems.states import get_public_problems, is_visible_to
from winosmith.web.read.public import Filters, count_rows, get_page

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


class SentenceFilters(Filters):
    """Filters for choosing a sentence to perturb; by default, only originals are shown."""

    kind = forms.ChoiceField(
        label=gettext_lazy("Show"),
        required=False,
        choices=[
            ("original", gettext_lazy("originals")),
            ("perturbed", gettext_lazy("perturbed sentences")),
            ("", gettext_lazy("both")),
        ],
    )

    def __init__(self, data: QueryDict):
        self.chosen = "kind" in data
        filled = data.copy()
        filled.setdefault("kind", "original")
        super().__init__(filled)

    @property
    def is_active(self) -> bool:
        return any(self.data.get(name) for name in self.fields if name != "kind" or self.chosen)

    @property
    def detail_fields(self) -> list[forms.BoundField]:
        """Return the fields shown in the collapsible section."""
        return [field for field in self if field.name not in ("q", "kind")]

    def select_perturbed(self) -> SentenceFilters:
        data = self.get_params()
        data["kind"] = "perturbed"
        return SentenceFilters(data)


def _list_problems_with_families(problems: list[Problem]) -> list[dict[str, Any]]:
    """Return each problem with information on its family, using two queries.

    `root` is the id of the root, or None if nobody has perturbed the problem; `step` is the number
    of steps from the root; `versions` is the number of public problems in the family, including the
    root.
    """
    rows = Version.objects.filter(problem__in=problems).select_related("root")
    versions: dict[Any, Version] = {version.problem_id: version for version in rows}
    public = get_public_problems().select_related(None)
    counts = public.filter(version__root__in={version.root_id for version in versions.values()})
    counted = dict(counts.order_by().values_list("version__root").annotate(n=Count("pk")))
    return [
        {
            "problem": problem,
            "root": at.root.ref if (at := versions.get(problem.pk)) else None,
            "step": at.step if at else 0,
            "versions": counted.get(at.root_id, 0) if at else 1,
        }
        for problem in problems
    ]


def _get_examples() -> dict[str, list[dict[str, Any]]]:
    """Return the translated examples for the start page.

    `good` contains the steps of a family, each perturbed from the previous sentence, and `bad`
    contains failed perturbations of the root.
    """
    family = (
        (
            "Nora thanked Judith because _ had carried the heavy boxes upstairs.",
            "Judith",
            _("The original. A model that knows who thanks whom answers it correctly."),
        ),
        (
            "Nora thanked Judith although _ had carried the heavy boxes upstairs.",
            "Nora",
            _("One word is replaced, and the answer flips: now the thanks are a surprise."),
        ),
        (
            "Nora thanked Judith although _ had not carried the heavy boxes upstairs.",
            "Judith",
            _(
                "One word is inserted, and the answer flips back. The model has to follow both "
                "changes."
            ),
        ),
        (
            "Nora thanked Judith although _ had not carried the heavy sofa upstairs.",
            "Judith",
            _(
                "One object is replaced by another, and the answer stays: a model should not be "
                "misled."
            ),
        ),
    )
    good = [
        {
            "pieces": diff_text(before[0], sentence),
            "options": [(name, name == answer) for name in ("Nora", "Judith")],
            "flipped": answer != before[1],
            "why": why,
        }
        for before, (sentence, answer, why) in zip((family[0], *family), family, strict=False)
    ]
    failing = (
        (
            "Nora thanked Judith because _ was in a good mood.",
            _("Both options fit. Ask yourself whether anybody could choose the other one."),
        ),
        (
            "Nora paid the porter because _ had carried the heavy boxes upstairs.",
            _("Judith is no longer in the sentence, but still an option: change the option, too."),
        ),
        (
            "Nora thank Judith because _ carried heavy the boxes upstairs.",
            _("This is not correct English, so a model’s error is not informative."),
        ),
        (
            "Nora ate the soup before the bread since _ was getting cold.",
            _("This is a new sentence, not a changed one: write a twin instead."),
        ),
    )
    bad = [{"pieces": diff_text(family[0][0], sentence), "why": why} for sentence, why in failing]
    return {"good": good, "bad": bad}


@require_safe
def show_start(request: HttpRequest) -> HttpResponse:
    filters = SentenceFilters(request.GET)
    shown = get_page(filters.apply(), request.GET)
    mark_unpublished_seen(gates.get_current_writer(request), shown.problems)
    count, more = count_rows(filters.apply())
    perturbed = None if filters.chosen or not filters.is_valid() else filters.select_perturbed()
    others, more_others = count_rows(perturbed.apply()) if perturbed else (0, False)
    context = {
        "filters": filters,
        "page": shown,
        "listed": _list_problems_with_families(shown.problems),
        "terms": parse_terms(filters.cleaned_data.get("q", "")),
        "count": count,
        "more": more,
        "others": others,
        "more_others": more_others,
        "perturbed": perturbed.get_params().urlencode() if perturbed else "",
        "examples": _get_examples(),
    }
    template = "perturb/results.html" if request.htmx.target == "results" else "perturb/start.html"
    return render(request, template, context, status=200 if filters.is_valid() else 422)


def _require_consent(view: View[P]) -> View[P]:
    """Ask for consent before showing a form.

    Submitted forms are passed to the view even without consent, so that their input is not lost.
    """
    asks = gates.consent_required(view)

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return (view if request.method == "POST" else asks)(request, *args, **kwargs)

    return wrapper


@require_http_methods(["GET", "HEAD", "POST"])
@_require_consent
def perturb_sentence(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    parent = _get_perturbable_problem(person, ref)
    position = Position.for_new_version(person, parent)
    mark_unpublished_seen(person, [row for row in position.path if is_visible_to(person, row)])
    if request.method != "POST":
        against = request.GET.get("against", "") or str(request.session.get(CHOSEN_MODEL_KEY, ""))
        # The parent's texts without its answer.
        first = SentenceInput(parent.sentence, tuple(parent.options), against=against)
        return _render_form(request, _make_form_context(position, first, gates.new_key()))
    return _process_form(request, position)


@require_POST
def check_sentence(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    parent = _get_perturbable_problem(person, ref)
    return _render_checks(request, Position.for_new_version(person, parent))


@require_http_methods(["GET", "HEAD", "POST"])
@_require_consent
def revise_version(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    old = _get_own_version(person, ref)
    if not rules.is_revisable(person, old):
        done = gates.get_stored_result(person, request.POST.get("key", "")).get("problem")
        if not done:
            text = _("This sentence was decided, replaced or withdrawn; it can’t be revised.")
            messages.warning(request, text)
        return redirect("perturb:made", done or ref)
    position = Position.for_revision(person, old)
    if request.method != "POST":
        version = Version.objects.select_related("against").get(problem=old)
        against = version.against.name if version.against else ""
        first = SentenceInput.from_version(old, against)
        return _render_form(request, _make_form_context(position, first, gates.new_key()))
    return _process_form(request, position)


@require_POST
def check_revision(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    old = _get_own_version(person, ref)
    return _render_checks(request, Position.for_revision(person, old))


def _get_perturbable_problem(person: Person | None, ref: str) -> Problem:
    found = get_object_or_404(Problem.objects.select_related("twin"), ref=ref)
    if not may_perturb(person, found):
        raise Http404
    return found


def _get_own_version(person: Person | None, ref: str) -> Problem:
    rows = Problem.objects.filter(gold=False, version__parent__isnull=False)
    rows = rows.exclude(twin__contributor=None).filter(twin__contributor=person)
    return get_object_or_404(rows.select_related("twin"), ref=ref)


def _process_form(request: HttpRequest, position: Position) -> HttpResponse:
    """Check or submit the input, and show it in the form again unless a version was created."""
    typed = SentenceInput.from_form(request.POST, len(position.parent.options))
    key = request.POST.get("key", "")
    make_context = partial(_make_form_context, position, typed)
    if request.POST.get("do") != "submit":
        _rate_limit_check(request)
        return _render_form(request, make_context(key or gates.new_key()))
    try:
        if (position.person or settings.RULES.anonymous) and get_pending_documents(position.person):
            consent = f"{reverse('people:consent')}?{urlencode({'next': request.path})}"
            return _render_form(request, {**make_context(key), "consent": consent}, 422)
        current = replace(position, person=gates.get_or_create_writer(request))
        limit = partial(gates.rate_limit, request, "perturb", settings.RULES.perturbs_per_hour)
        ref = rules.create_version(current, typed, key, precheck=limit)
    except RefusedError as refused:
        return _render_form(request, make_context(key, faults=refused.faults), 422)
    except gates.RateLimitError as many:
        again = _("You have reached the site’s limit per hour. Try again in %d minutes.")
        answer = _render_form(request, make_context(key, error=again % many.minutes), 429)
        answer.headers["Retry-After"] = str(many.seconds)
        return answer
    except InputError as refused:
        return _render_form(request, make_context(key or gates.new_key(), error=str(refused)), 422)
    if request.session.get(CHOSEN_MODEL_KEY) != typed.against:  # otherwise nothing is written
        request.session[CHOSEN_MODEL_KEY] = typed.against
    return redirect("perturb:made", ref)


CHOSEN_MODEL_KEY = "perturb.against"
"""Session key for the last chosen model."""


def _render_checks(request: HttpRequest, position: Position) -> HttpResponse:
    try:
        _rate_limit_check(request)
    except gates.RateLimitError as many:
        return gates.render_paused_part(request, many)
    typed = SentenceInput.from_form(request.POST, len(position.parent.options))
    return render(request, "perturb/checks.html", _make_checks_context(position, typed))


def _rate_limit_check(request: HttpRequest) -> None:
    gates.rate_limit_typing(request, "check", settings.RULES.perturbs_per_hour)


def _render_form(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    name = "perturb:revise" if context["revises"] else "perturb:build"
    where = reverse(name, args=[(context["revises"] or context["parent"]).ref])
    return render(request, "perturb/build.html", {**context, "where": where}, status=status)


def _explain_unavailability(model: Model) -> str:
    """Return a message for users on why a model can't answer now; "" if it can."""
    alive, why = check_model(model)
    return "" if alive else why


_SIGNS = {"substitute": "{old} → {new}", "insert": "+ {new}", "delete": "− {old}"}


def _make_form_context(
    position: Position,
    typed: SentenceInput,
    key: str,
    *,
    faults: dict[str, list[str]] | None = None,
    error: str = "",
) -> dict[str, Any]:
    faults = faults or {}
    steps = get_visible_steps(position.path, position.person)
    return {
        "parent": position.parent,
        "root": position.root,
        "revises": position.revises,
        **fold_steps(steps),
        "typed": typed,
        "key": key,
        **checks.make_form_context(typed.options, faults),
        "sentence_faults": faults.get("sentence", []),
        "answer_faults": faults.get("answer", []),
        "declared_faults": faults.get("declared", []),
        "error": error,
        "models": [(model, _explain_unavailability(model)) for model in get_current_models()],
        **_make_checks_context(position, typed, faults),
    }


def _make_checks_context(
    position: Position, typed: SentenceInput, faults: dict[str, list[str]] | None = None
) -> dict[str, Any]:
    """Return the template context for the checks that are updated while the user types."""
    results = checks.mark_rejected(rules.run_checks(typed, position), faults or {})
    parent, read = position.parent, typed.without_long_texts()
    edits = find_edits(tokenize(parent.sentence), tokenize(read.sentence)) if read.sentence else ()
    seen = is_visible_to(position.person, parent)
    changed = diff_text(parent.sentence, read.sentence) if read.sentence and seen else []
    before, _blank, after = read.sentence.partition(BLANK)
    readable = read.sentence.count(BLANK) == 1 and checks.has_usable_options(read.options)
    return {
        "parent": parent,
        "typed": typed,
        "changed": changed,
        "edits": [_SIGNS[edit.op].format(old=edit.old, new=edit.new) for edit in edits],
        "depths": rules.measure_input_depths(read, position),
        "before": position.parent.answer,
        "checks": results,
        **checks.summarize(results),
        "readings": [
            (before, option, after, number == read.answer)
            for number, option in enumerate(read.options)
            if readable
        ],
        "hints": _get_hints(position, read),
    }


def _get_hints(position: Position, typed: SentenceInput) -> list[str]:
    same = typed.sentence == position.parent.sentence
    if same or settings.RULES.review == "none":
        return []
    half = Half(typed.sentence, tuple(option for option in typed.options if option))
    without = position.revises.twin_id if position.revises else None
    found = checks.find_contributor_hints(
        [half], position.person, skip_twin=without, family=position.root
    )
    if settings.RULES.review == "all":
        return [_("this site’s moderators check everything first"), *found]
    if position.person is None or position.person.anonymous:
        return [_("you are writing without an account"), *found]
    return found


@require_safe
def show_version(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    version = _get_version(person, ref)
    problem = version.problem
    path = get_path(problem)
    mark_unpublished_seen(person, [row for row in path if is_visible_to(person, row)])
    parent = path[-2]
    steps = get_visible_steps(path, person)
    context = _make_predictions_context(person, version)
    own = context["own"]
    context |= {
        "stands": version,
        "parent": parent,
        "here": steps[-1],
        **fold_steps(steps),
        "anonymous": own and person is not None and person.anonymous,
        "hints": problem.hints if own and problem.state == State.HELD else [],
        "may_perturb": may_perturb(person, problem),
        "may_perturb_parent": may_perturb(person, parent),
        "revisable": rules.is_revisable(person, problem),
        "flipped": None
        if problem.answer is None or parent.answer is None
        else problem.answer != parent.answer,
    }
    return render(request, "perturb/made.html", context)


@require_safe
def show_predictions(request: HttpRequest, ref: str) -> HttpResponse:
    """Return the models' results to a polling page; status 204 means that nothing has changed."""
    person = gates.get_current_writer(request)
    version = _get_version(person, ref)
    context = _make_predictions_context(person, version)
    known = request.GET.get("done") == str(context["done"])
    if known and request.GET.get("pace") == str(context["pace"]):
        return HttpResponse(status=204)
    return render(request, "perturb/predictions.html", context)


def _get_version(person: Person | None, ref: str) -> Version:
    rows = Version.objects.select_related(
        "problem__twin__contributor", "root", "parent__twin", "against"
    )
    found = rows.filter(problem__ref=ref, parent__isnull=False).first()
    if found is None or not is_visible_to(person, found.problem):
        raise Http404
    return found


POLL_MS = ((timedelta(seconds=8), 500), (timedelta(minutes=1), 2000), (timedelta(minutes=10), 5000))
"""Pairs of a request's maximum age and its page's polling interval in milliseconds."""

MAX_POLL_MS = 30_000


VOID_STATES = (State.REJECTED, State.WITHDRAWN, State.REVISED)
"""States in which a version is not counted as fooling a model, whatever the model predicts."""


def _make_predictions_context(person: Person | None, version: Version) -> dict[str, Any]:
    """Return the template context for the models' predictions on a version.

    `pace` is the polling interval in milliseconds, or 0. Each shown prediction contains:

    - `target`: whether the contributor tried to fool the model
    - `waits`: whether the prediction is pending
    - `fooled`: whether the model's choice differs from the contributor's answer; None if unknown,
      and for a tie
    - `bars`: the options in order; empty until the prediction is done
    - `down`: why the model can't answer now
    - `parent`: whether the model was correct on the parent; None if unknown, or if the reader may
      not see the parent
    """
    problem, parent, before = version.problem, version.parent, dict[int, bool | None]()
    if parent and is_visible_to(person, parent):
        before = {row.model_id: row.right for row in get_current_predictions(parent)}
    shown: list[dict[str, Any]] = []
    for row in get_current_predictions(problem):
        done, waits = row.stand == Status.DONE, row.stand == Status.WAITING
        shown.append(
            {
                "prediction": row,
                "target": row.model_id == version.against_id,
                "waits": waits,
                "fooled": None if row.right is None or not done else not row.right,
                "bars": _make_option_bars(row, problem) if done else [],
                "down": _explain_unavailability(row.model) if waits else "",
                "parent": before.get(row.model_id),
            }
        )
    shown.sort(key=lambda context: not context["target"])
    waiting = [context for context in shown if context["waits"]]
    pace = 0
    if waiting:
        age = timezone.now() - max(context["prediction"].asked_at for context in waiting)
        pace = next((pace for until, pace in POLL_MS if age < until), MAX_POLL_MS)
    return {
        "problem": problem,
        "shown": shown,
        "done": len(shown) - len(waiting),
        "waiting": waiting,
        "judged": [context for context in shown if context["fooled"] is not None],
        "answered": [one for one in shown if one["fooled"] is not None or one["prediction"].tie],
        "fooled": [context for context in shown if context["fooled"]],
        "undecided": [context for context in shown if context["prediction"].tie],
        "own": person is not None and problem.twin.contributor_id == person.pk,
        "void": problem.state in VOID_STATES,
        "confirmed": problem.state == State.VALID and not problem.embargo,
        "pace": pace,
    }


def _softmax(scores: Sequence[float]) -> list[float]:
    """Convert scores, which are log-probabilities up to a constant, to probabilities."""
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _make_option_bars(row: Prediction, problem: Problem) -> list[dict[str, Any]]:
    known = len(row.scores) == len(problem.options)
    shares = [round_percent(share) for share in _softmax(row.scores)] if known else None
    chosen = None if row.tie else row.choice
    return [
        {
            "option": option,
            "percent": shares[n] if shares else None,
            "chosen": n == chosen,
            "answer": n == problem.answer,
        }
        for n, option in enumerate(problem.options)
    ]
