"""The pages of tests: what one can take, one question at a time, and the progress of rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from winosmith import humans
from winosmith.errors import InputError
from winosmith.web.people import gates
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import agree, missing
from winosmith.web.take import sheets
from winosmith.web.take.models import Remark, Round, Sitting
from winosmith.web.take.results import shown_results
from winosmith.web.take.rounds import approve_sheet, round_progress, subjects_of

ENROLMENTS = 60
"""How often a person may start a test within an hour; each start shows them a sheet."""


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Show the tests that can be taken, and those that this person took."""
    person = _person(request)
    sittings = Sitting.objects.filter(subject__person=person) if person else Sitting.objects.none()
    page = {
        "rounds": [
            {"round": round_, **_size(round_)}
            for round_ in Round.objects.filter(state=Round.State.OPEN).order_by("-created")
        ],
        "out": sheets.unfinished(person) if person else None,
        "taken": sittings.exclude(state=Sitting.State.GIVEN)
        .select_related("subject__round", "sheet")
        .order_by("-pk"),
    }
    return render(request, "take/start.html", page)


def about(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show a test and what people agree to by taking it; start it."""
    round_ = get_object_or_404(Round, name=name)
    if request.method == "POST":
        return _begin(request, round_)
    return _about(request, round_)


@gates.accounts_only
def _begin(request: HttpRequest, round_: Round) -> HttpResponseBase:
    person = cast(Person, request.user)

    def act() -> dict[str, Any]:
        if not request.POST.get("agree"):
            raise InputError(_("Tick the box if you agree; otherwise you can’t take the test."))
        gates.rate_limit(person, "enrol", ENROLMENTS)
        agree(person, gates.shown_documents(request))
        prefix = "declared-"
        declared = {k[len(prefix) :]: v for k, v in request.POST.items() if k.startswith(prefix)}
        return {"ref": sheets.enrol(person, round_, {k: str(v) for k, v in declared.items()}).ref}

    try:
        done = gates.form_once(request, person, act)
    except InputError as error:
        return _about(request, round_, error=str(error))
    return redirect("take:sheet", ref=done["ref"])


def _about(request: HttpRequest, round_: Round, *, error: str = "") -> HttpResponse:
    person = _person(request)
    documents = missing(person) if person else []
    read = {document.pk for document in documents} <= gates.shown_documents(request)
    page = {
        "round": round_,
        **_size(round_),
        "person": person,
        "hindrance": _hindrance(person, round_) if person else "",
        "out": sheets.unfinished(person) if person else None,
        "declared": [
            {**each, "value": request.POST.get(f"declared-{each['name']}", "")}
            for each in round_.declared
        ],
        "documents": documents,
        "agreed": read and bool(request.POST.get("agree")),  # nobody agreed to what came since
        "again": person is not None and round_.subjects.filter(person=person).exists(),
        "longest": sheets.LONGEST,
        "error": error,
    }
    return render(request, "take/about.html", page, status=422 if error else 200)


def _hindrance(person: Person, round_: Round) -> str:
    """Return why a person can't start a round's test now, or ""."""
    out = sheets.unfinished(person)
    if out is not None:
        return ""  # the page leads to it
    try:
        sheets.next_sheet(person, round_)
    except InputError as error:
        return str(error)
    return ""


def _person(request: HttpRequest) -> Person | None:
    person = request.user if request.user.is_authenticated else None
    return cast(Person, person) if sheets.may_take(person) else None


def _size(round_: Round) -> dict[str, int]:
    """Return how many questions the shortest and the longest sheet have, and their minutes."""
    counts = [len(sheet.record["items"]) for sheet in round_.sheets.all()]
    return {
        "fewest": min(counts),
        "most": max(counts),
        "shortest": sheets.minutes(min(counts)),
        "longest_minutes": sheets.minutes(max(counts)),
    }


# Who has begun agreed to what held then: nothing is asked again in the middle of a sheet.

SENDS = 4000
"""How many forms of tests a person may send within an hour: one a second, and as many when pages
are hidden and shown again."""

NOTES = {"source": "recognised", "word": "word"}
"""Fields of a question's page, and the kind of their notes."""


@gates.accounts_only
def sheet(request: HttpRequest, ref: str) -> HttpResponseBase:
    """Redirect to the current question; before the first one, show how the test works."""
    sitting = _sitting(request, ref)
    asked = sheets.sheet_of(sitting.sheet)
    if sitting.state != Sitting.State.GIVEN:
        return _thank(request, sitting)
    if sitting.at > len(asked):
        return redirect("take:end", ref=ref)
    if sitting.at > 1 or sitting.answers.exists():
        return redirect("take:question", ref=ref, number=sitting.at)
    page = {
        "sitting": sitting,
        "sheet": asked,
        "told": sheets.instructions_of(asked),
        "minutes": sheets.minutes(len(asked)),
    }
    return render(request, "take/instructions.html", page)


@gates.accounts_only
def question(request: HttpRequest, ref: str, number: int) -> HttpResponseBase:
    """Show a question; store the answer, and continue, go back, or stay."""
    sitting = _sitting(request, ref)
    asked = sheets.sheet_of(sitting.sheet)
    if not 1 <= number <= len(asked):
        raise Http404
    if request.method == "POST":
        return _answered(request, sitting, asked[number])
    if sitting.state != Sitting.State.GIVEN:
        return redirect("take:sheet", ref=ref)
    return _question(request, sitting, asked, number)


def _answered(request: HttpRequest, sitting: Sitting, item: humans.Item) -> HttpResponseBase:
    person, sent = cast(Person, request.user), request.POST
    to = {"next": item.number + 1, "back": item.number - 1}.get(sent.get("do", "next"))

    def act() -> dict[str, Any]:
        gates.rate_limit(person, "test", SENDS)
        seconds = sheets.seconds_seen(
            sent.get("shown", ""), sent.get("seconds", ""), sitting, item.number
        )
        for name, kind in NOTES.items():
            if name in sent:
                sheets.note(person, sitting.ref, item.number, kind, sent[name])
        letter = sent.get("letter", "")
        sheets.answer(person, sitting.ref, item.number, letter, seconds, to=to)
        return {}

    def again(error: str) -> HttpResponse:
        return _question(request, sitting, sheets.sheet_of(sitting.sheet), item.number, error=error)

    return _act(request, sitting, act, _place(sitting, to or item.number), again)


def _place(sitting: Sitting, number: int) -> str:
    """Return the address of a question, or of the end after the last one."""
    if number > len(sitting.sheet.record["items"]):
        return reverse("take:end", args=[sitting.ref])
    return reverse("take:question", args=[sitting.ref, max(1, number)])


def _act(
    request: HttpRequest,
    sitting: Sitting,
    act: Callable[[], dict[str, Any]],
    to: str,
    again: Callable[[str], HttpResponse],
) -> HttpResponseBase:
    """Carry out a form once, and lead on; a script gets the address, a browser a redirect."""
    try:
        gates.form_once(request, cast(Person, request.user), act)
    except sheets.SheetClosedError as error:
        return render(request, "take/over.html", {"reason": str(error)}, status=409)
    except InputError as error:
        return again(str(error))
    if request.POST.get("do") == "stay":
        return HttpResponse(status=204)
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"to": to})
    return redirect(to)


def _question(
    request: HttpRequest, sitting: Sitting, asked: humans.Sheet, number: int, *, error: str = ""
) -> HttpResponse:
    item, sent = asked[number], request.POST
    stored = sitting.answers.filter(number=number).first()
    noted = dict(sitting.remarks.filter(number=number).values_list("kind", "text"))
    letter = sent.get("letter", "") if error else stored.letter if stored else ""
    page = {
        "sitting": sitting,
        "item": item,
        "of": len(asked),
        "answered": sitting.answers.exclude(letter="").count(),
        "asks": sheets.instructions_of(asked)["question"],
        "choices": [
            {"letter": sign, "text": text, "chosen": sign == letter}
            for sign, text in zip(item.letters, item.options, strict=True)
        ],
        "ambiguous": humans.AMBIGUOUS,
        "is_ambiguous": letter == humans.AMBIGUOUS,
        "notes": {
            name: sent.get(name, "") if error else noted.get(kind, "")
            for name, kind in NOTES.items()
        },
        "longest": sheets.LONGEST,
        "shown": sheets.mark_shown(sitting, number),
        "error": error,
    }
    return render(request, "take/question.html", page, status=422 if error else 200)


@gates.accounts_only
def end(request: HttpRequest, ref: str) -> HttpResponseBase:
    """Show empty answers and notes; add a note, or submit the sheet."""
    sitting = _sitting(request, ref)
    if request.method != "POST":
        if sitting.state != Sitting.State.GIVEN:
            return redirect("take:sheet", ref=ref)
        return _end(request, sitting)
    person, sent = cast(Person, request.user), request.POST
    what, _, which = sent.get("do", "").partition(" ")

    def act() -> dict[str, Any]:
        gates.rate_limit(person, "test", SENDS)
        if what == "note":
            sheets.remark(person, ref, which, sent.get("number", ""), sent.get("text", ""))
        elif what == "take-back":
            sheets.take_back(person, ref, which)
        elif what == "finish":
            sheets.finish(person, ref)
        return {}

    to = reverse("take:sheet" if what == "finish" else "take:end", args=[ref])
    return _act(request, sitting, act, to, lambda error: _end(request, sitting, error=error))


def _end(request: HttpRequest, sitting: Sitting, *, error: str = "") -> HttpResponse:
    count = len(sitting.sheet.record["items"])
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
        "longest": sheets.LONGEST,
        "error": error,
    }
    return render(request, "take/end.html", page, status=422 if error else 200)


@gates.accounts_only
def leave(request: HttpRequest, ref: str) -> HttpResponseBase:
    """Ask whether a sheet should be given up, and give it up."""
    sitting = _sitting(request, ref)
    person = cast(Person, request.user)

    def ask(error: str = "") -> HttpResponse:
        page = {"sitting": sitting, "error": error}
        return render(request, "take/give_up.html", page, status=422 if error else 200)

    def act() -> dict[str, Any]:
        sheets.give_up(person, ref)
        return {}

    if request.method == "POST":
        return _act(request, sitting, act, reverse("take:sheet", args=[ref]), ask)
    if sitting.state != Sitting.State.GIVEN:
        return redirect("take:sheet", ref=ref)
    return ask()


def _thank(request: HttpRequest, sitting: Sitting) -> HttpResponse:
    """Thank the respondent, and show whether there is a further test for them."""
    round_ = sitting.subject.round
    further = not _hindrance(cast(Person, request.user), round_)
    page = {"sitting": sitting, "round": round_, "further": further}
    return render(request, "take/thanks.html", page)


def _sitting(request: HttpRequest, ref: str) -> Sitting:
    """Return a sheet of the person; other people's don't exist for them."""
    rows = Sitting.objects.select_related("sheet", "subject__round")
    return get_object_or_404(rows, ref=ref, subject__person=cast(Person, request.user))


@require_safe
@gates.moderators_only
def rounds(request: HttpRequest) -> HttpResponse:
    """Show the progress of all rounds."""
    rows = [round_progress(round_) for round_ in Round.objects.order_by("-created")]
    return render(request, "take/progress.html", {"rows": rows})


@require_safe
@gates.moderators_only
def one(request: HttpRequest, name: str) -> HttpResponse:
    """Show the progress of a round; once it is closed, its results by code and by item."""
    round_ = get_object_or_404(Round, name=name)
    return _round(request, round_)


@require_POST
@gates.moderators_only
def count(request: HttpRequest, name: str) -> HttpResponse:
    """Approve a sheet that is on hold for its pace."""
    round_ = get_object_or_404(Round, name=name)
    try:
        approve_sheet(round_, request.POST.get("sheet", ""), cast(Person, request.user))
    except InputError as error:
        return _round(request, round_, str(error))
    return redirect("take:round", name=name)


def _round(request: HttpRequest, round_: Round, error: str = "") -> HttpResponse:
    subjects = subjects_of(round_, cast(Person, request.user))
    page: dict[str, Any] = {
        "standing": round_progress(round_),
        "round": round_,
        "held": [one for one in subjects if one["held"]],
        "error": error,
    }
    if round_.state == Round.State.CLOSED:
        page["results"] = shown_results(round_)
    else:
        page["subjects"] = subjects
    return render(request, "take/round.html", page, status=422 if error else 200)
