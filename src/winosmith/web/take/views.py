"""The pages of human tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from winosmith import humans
from winosmith.errors import InputError
from winosmith.web.people import gates
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import get_pending_documents, save_agreement
from winosmith.web.take import sheets
from winosmith.web.take.models import Remark, Round, Sitting
from winosmith.web.take.results import make_results_context
from winosmith.web.take.rounds import approve_sheet, count_sittings, find_results_job, list_sittings

MAX_STARTS = 60
"""Maximum number of tests that a person may start per hour, because each start shows a sheet."""


@require_safe
def show_tests(request: HttpRequest) -> HttpResponse:
    person = _get_eligible_person(request)
    sittings = Sitting.objects.filter(subject__person=person) if person else Sitting.objects.none()
    rounds = [
        {"round": round_, **_get_sheet_sizes(round_)}
        for round_ in Round.objects.filter(state=Round.State.OPEN).order_by("-created")
        if person is None
        or not sittings.filter(subject__round=round_).exists()
        or not _explain_unavailability(person, round_)
    ]
    page = {
        "rounds": rounds,
        "out": sheets.get_unfinished_sitting(person) if person else None,
        "taken": sittings.exclude(state=Sitting.State.GIVEN)
        .select_related("subject__round", "sheet")
        .order_by("-pk"),
    }
    return render(request, "take/start.html", page)


def show_test(request: HttpRequest, name: str) -> HttpResponseBase:
    round_ = get_object_or_404(Round, name=name)
    if request.method == "POST":
        return _start_test(request, round_)
    return _render_test(request, round_)


@gates.accounts_only
def _start_test(request: HttpRequest, round_: Round) -> HttpResponseBase:
    person = request.user

    def assign_sheet() -> dict[str, Any]:
        if not request.POST.get("agree"):
            raise InputError(_("Tick the box to agree; you can’t take the test unless you agree."))
        gates.rate_limit(person, "assign_all", MAX_STARTS)
        save_agreement(person, gates.read_shown_documents(request), answering=True)
        native = {"yes": True, "no": False}.get(request.POST.get("native", ""))
        return {"ref": sheets.assign_sheet(person, round_, native=native).ref}

    try:
        done = gates.process_form(request, person, assign_sheet)
    except InputError as error:
        return _render_test(request, round_, error=str(error))
    return redirect("take:sheet", ref=done["ref"])


def _render_test(request: HttpRequest, round_: Round, *, error: str = "") -> HttpResponse:
    person = _get_eligible_person(request)
    documents = get_pending_documents(person, answering=True) if person else []
    read = {document.pk for document in documents} <= gates.read_shown_documents(request)
    page = {
        "round": round_,
        **_get_sheet_sizes(round_),
        "person": person,
        "hindrance": _explain_unavailability(person, round_) if person else "",
        "out": sheets.get_unfinished_sitting(person) if person else None,
        "native": request.POST.get("native", ""),
        "documents": documents,
        # A newer document needs a new agreement.
        "agreed": read and bool(request.POST.get("agree")),
        "again": person is not None and round_.subjects.filter(person=person).exists(),
        "error": error,
    }
    return render(request, "take/about.html", page, status=422 if error else 200)


def _explain_unavailability(person: Person, round_: Round) -> str:
    try:
        if sheets.get_unfinished_sitting(person) is None:  # otherwise, the page links to it
            sheets.choose_sheet(person, round_)
    except InputError as error:
        return str(error)
    return ""


def _get_eligible_person(request: HttpRequest) -> Person | None:
    person: Person | None = request.user if request.user.is_authenticated else None
    return person if sheets.may_take_tests(person) else None


def _get_sheet_sizes(round_: Round) -> dict[str, int]:
    counts = [sheet.question_count for sheet in round_.sheets.all()]
    return {
        "fewest": min(counts),
        "most": max(counts),
        "shortest": sheets.estimate_minutes(min(counts)),
        "longest_minutes": sheets.estimate_minutes(max(counts)),
    }


MAX_FORMS = 4000
"""Maximum number of test forms per person and hour: one per second, and the same number for pages
that are hidden and shown again."""

NOTE_KINDS = {"source": "recognised", "word": "word"}
"""Kind of the notes in each note field on a question's page."""


@gates.accounts_only
def show_sheet(request: HttpRequest, ref: str) -> HttpResponseBase:
    sitting = _get_sitting(request, ref)
    asked = sheets.read_sheet(sitting.sheet)
    if sitting.state != Sitting.State.GIVEN:
        round_ = sitting.subject.round
        further = not _explain_unavailability(request.user, round_)
        page = {"sitting": sitting, "round": round_, "further": further}
        return render(request, "take/thanks.html", page)
    if sitting.at > len(asked):
        return redirect("take:end", ref=ref)
    if sitting.at > 1 or sitting.answers.exists():
        return redirect("take:question", ref=ref, number=sitting.at)
    page = {
        "sitting": sitting,
        "sheet": asked,
        "instructions": sheets.get_instructions(asked),
        "minutes": sheets.estimate_minutes(len(asked)),
    }
    return render(request, "take/instructions.html", page)


@gates.accounts_only
def show_question(request: HttpRequest, ref: str, number: int) -> HttpResponseBase:
    sitting = _get_sitting(request, ref)
    asked = sheets.read_sheet(sitting.sheet)
    if not 1 <= number <= len(asked):
        raise Http404
    if request.method != "POST":
        if sitting.state != Sitting.State.GIVEN:
            return redirect("take:sheet", ref=ref)
        return _render_question(request, sitting, asked, number)
    person, sent = request.user, request.POST
    to = {"next": number + 1, "back": number - 1}.get(sent.get("do", "next"))
    shown_next = max(1, to or number)
    next_url = (
        reverse("take:question", args=[ref, shown_next])
        if shown_next <= len(asked)
        else reverse("take:end", args=[ref])
    )

    def store_answer() -> None:
        gates.rate_limit(person, "test", MAX_FORMS)
        seconds = sheets.measure_time_shown(
            sent.get("shown", ""), sent.get("seconds", ""), sitting, number
        )
        for name, kind in NOTE_KINDS.items():
            if name in sent:
                sheets.store_question_note(person, ref, number, kind, sent[name])
        sheets.store_answer(person, ref, number, sent.get("letter", ""), seconds, to=to)

    render_again = partial(_render_question, request, sitting, asked, number)
    return _process_form(request, store_answer, next_url, render_again)


def _process_form(
    request: HttpRequest,
    action: Callable[[], object],
    next_url: str,
    render_again: Callable[[str], HttpResponse],
) -> HttpResponseBase:
    try:
        gates.process_form(request, request.user, action)
    except sheets.SheetClosedError as error:
        return render(request, "take/over.html", {"reason": str(error)}, status=409)
    except InputError as error:
        return render_again(str(error))
    if request.POST.get("do") == "stay":
        return HttpResponse(status=204)
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"to": next_url})
    return redirect(next_url)


def _render_question(
    request: HttpRequest, sitting: Sitting, sheet: humans.Sheet, number: int, error: str = ""
) -> HttpResponse:
    item, sent = sheet[number], request.POST
    stored = sitting.answers.filter(number=number).first()
    noted = dict(sitting.remarks.filter(number=number).values_list("kind", "text"))
    letter = sent.get("letter", "") if error else stored.letter if stored else ""
    page = {
        "sitting": sitting,
        "item": item,
        "of": len(sheet),
        "answered": sitting.answers.exclude(letter="").count(),
        "instructions": sheets.get_instructions(sheet),
        "choices": [
            {"letter": sign, "text": text, "chosen": sign == letter}
            for sign, text in zip(item.letters, item.options, strict=True)
        ],
        "ambiguous": humans.AMBIGUOUS,
        "is_ambiguous": letter == humans.AMBIGUOUS,
        "notes": {
            name: sent.get(name, "") if error else noted.get(kind, "")
            for name, kind in NOTE_KINDS.items()
        },
        "longest": sheets.MAX_NOTE_LENGTH,
        "shown": sheets.sign_time_shown(sitting, number),
        "error": error,
    }
    return render(request, "take/question.html", page, status=422 if error else 200)


@gates.accounts_only
def show_end(request: HttpRequest, ref: str) -> HttpResponseBase:
    sitting = _get_sitting(request, ref)
    if request.method != "POST":
        if sitting.state != Sitting.State.GIVEN:
            return redirect("take:sheet", ref=ref)
        return _render_end(request, sitting)
    person, sent = request.user, request.POST
    what, _, which = sent.get("do", "").partition(" ")

    def store_form() -> None:
        gates.rate_limit(person, "test", MAX_FORMS)
        if what == "note":
            sheets.add_note(person, ref, which, sent.get("number", ""), sent.get("text", ""))
        elif what == "take-back":
            sheets.remove_note(person, ref, which)
        elif what == "finish":
            sheets.submit_sheet(person, ref)

    to = reverse("take:sheet" if what == "finish" else "take:end", args=[ref])
    return _process_form(request, store_form, to, partial(_render_end, request, sitting))


def _render_end(request: HttpRequest, sitting: Sitting, error: str = "") -> HttpResponse:
    count = sitting.sheet.question_count
    full = set(sitting.answers.exclude(letter="").values_list("number", flat=True))
    wrong = request.POST.get("do", "").partition(" ")[2] if error else ""
    page = {
        "sitting": sitting,
        "of": count,
        "answered": len(full),
        "missing": [number for number in range(1, count + 1) if number not in full],
        "kinds": [
            {
                "kind": kind,
                "rows": sitting.remarks.filter(kind=kind).order_by("number", "pk"),
                "wrong": wrong == kind,
                "number": request.POST.get("number", "") if wrong == kind else "",
                "text": request.POST.get("text", "") if wrong == kind else "",
            }
            for kind in Remark.Kind.values
        ],
        "longest": sheets.MAX_NOTE_LENGTH,
        "error": error,
    }
    return render(request, "take/end.html", page, status=422 if error else 200)


@gates.accounts_only
def give_up_test(request: HttpRequest, ref: str) -> HttpResponseBase:
    sitting = _get_sitting(request, ref)

    def render_confirmation(error: str = "") -> HttpResponse:
        page = {"sitting": sitting, "error": error}
        return render(request, "take/give_up.html", page, status=422 if error else 200)

    if request.method == "POST":
        to = reverse("take:sheet", args=[ref])
        give_up = partial(sheets.give_up_sheet, request.user, ref)
        return _process_form(request, give_up, to, render_confirmation)
    if sitting.state != Sitting.State.GIVEN:
        return redirect("take:sheet", ref=ref)
    return render_confirmation()


def _get_sitting(request: HttpRequest, ref: str) -> Sitting:
    rows = Sitting.objects.select_related("sheet", "subject__round")
    return get_object_or_404(rows, ref=ref, subject__person=request.user)


@require_safe
@gates.moderators_only
def show_rounds(request: HttpRequest) -> HttpResponse:
    rows = [count_sittings(round_) for round_ in Round.objects.order_by("-created")]
    return render(request, "take/progress.html", {"rows": rows})


@require_safe
@gates.moderators_only
def show_round(request: HttpRequest, name: str) -> HttpResponse:
    round_ = get_object_or_404(Round, name=name)
    sittings = list_sittings(round_)
    page: dict[str, Any] = {
        "standing": count_sittings(round_),
        "round": round_,
        "held": [sitting for sitting in sittings if sitting.held],
    }
    if round_.state == Round.State.CLOSED:
        page |= {"results": make_results_context(round_), "job": find_results_job(round_)}
    else:
        page["subjects"] = sittings
    return render(request, "take/round.html", page)


@require_POST
@gates.moderators_only
def approve_held_sheet(request: HttpRequest, name: str) -> HttpResponse:
    round_ = get_object_or_404(Round, name=name)
    approve_sheet(round_, request.POST.get("sheet", ""), request.user)
    return redirect("take:round", name=name)
