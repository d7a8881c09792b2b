"""What came of a round: its page, its report and files; flags; what erased people leave of it.

The report and the files are made of what is public at the moment somebody asks. What was withdrawn,
or put under embargo, since the round is in none of them.

A flag shows a contributor a problem that the filter removed, with its score and reason. It changes
nothing, is shown with a problem that its reader may see anyway, and tells of that problem alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from django import template
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _, gettext_lazy

from winosmith import Dataset, formats
from winosmith.finished import BuildFiles
from winosmith.options import Method
from winosmith.outputs import write_aside
from winosmith.records import canonical, parse_json
from winosmith.report import fixed, shown
from winosmith.rounds import Change, NextRound, make_round_page
from winosmith.web.judge.models import note_read
from winosmith.web.pages import whole_percent
from winosmith.web.people.gates import existing_writer
from winosmith.web.people.models import Person
from winosmith.web.problems.models import ERASED_SENTENCE, Problem, State
from winosmith.web.problems.records import as_public, lean, numbers, rows
from winosmith.web.problems.states import GONE, public_problems
from winosmith.web.rounds.models import Place, Round


def results(round_: Round) -> dict[str, Any]:
    """Return what the page of a round that is done shows."""
    record: Mapping[str, Any] = round_.record or {}
    return {
        "work": _work(record),
        "cards": _cards(record),
        "funnel": funnel(record["build"]["funnel"]),
        "counts": record["build"]["counts"],
        "solvers": [_solver(name, own) for name, own in record["solvers"].items()],
        "people": _people(record["people"]),
        "artifacts": record["artifacts"],
        "changes": changed(round_),
        "fooling": len(record["fooling"]),
        "signature": record["build"]["signature"],
        "digest": record["digest"],
        "filtered": round_.recipe.get("filter", {}),
    }


def sizes(round_: Round) -> dict[str, int | None]:
    """Return how many problems a round collected and kept; None before it is done."""
    if round_.record is None:
        return {"collected": None, "kept": None}
    build = round_.record["build"]
    return {"collected": build["funnel"]["collected"]["problems"], "kept": build["kept"]}


def funnel(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the funnel's stages, from what was collected on.

    Each with its name; how many problems are left after it, and of what was collected, in percent;
    how many were dropped for each reason, and in all.
    """
    whole = record["collected"]["problems"]
    steps = [{"stage": "collected", "kept": record["collected"], "dropped": {}}, *record["steps"]]
    return [
        {
            "name": stage(step["stage"]),
            "left": step["kept"]["problems"],
            "percent": whole_percent(step["kept"]["problems"] / whole) if whole else 0,
            "dropped": list(step["dropped"].items()),
            "gone": sum(step["dropped"].values()),
        }
        for step in steps
    ]


def changed(round_: Round) -> list[tuple[str, str, str, str]]:
    """Return each figure in words: what it is, in the last round, in this one, the change."""
    rows = [Change(*change) for change in round_.changes]
    return [(figure(c.what), _cell(c, c.before), _cell(c, c.now), c.in_words or "") for c in rows]


def _cell(change: Change, value: float | int | None) -> str:
    return "" if value is None else shown(value, change.form)


def _work(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many problems the checks and the filter removed, and whether that was enough."""
    build = record["build"]
    removed = Counter[bool]()
    for step in build["funnel"]["steps"]:
        removed[step["stage"] in get_args(Method)] += sum(step["dropped"].values())
    return {
        "collected": build["funnel"]["collected"]["problems"],
        "by_checks": removed[False],
        "by_filter": removed[True],
        "verdict": record["artifacts"].get("verdict", ""),
    }


def _cards(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    build, people, artifacts = record["build"], record["people"], record["artifacts"]
    cards = [
        (f"{build['kept']:,}", _("problems kept of %s") % _number(build["funnel"]["collected"])),
    ]
    if artifacts["after"] is not None:
        told = _(
            "of the kept problems are guessed by a linear model, across halves "
            "that were filtered separately; before the filter it was %s"
        )
        cards.append((shown(artifacts["after"], ".1%"), told % shown(artifacts["before"], ".1%")))
    if people and people["agree"] is not None:
        cards.append(
            (shown(people["agree"], ".1%"), _("of the judges’ votes agree with the answer"))
        )
    right = [own["accuracy"]["value"] for own in record["solvers"].values() if own["accuracy"]]
    if right:
        cards.append((shown(max(right), ".1%"), _("is the accuracy of the best solver")))
    return cards


def _number(count: Mapping[str, Any]) -> str:
    return f"{count['problems']:,}"


def _solver(name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "kind": own["solver"],
        "learnt": own["learnt"],
        "revision": own["revision"],
        "seen": own.get("seen", {}),
        "chance": shown(own["accuracy"]["chance"], ".0%") if own["accuracy"] else None,
        **{key: _interval(own[key]) for key in ("accuracy", "twins", "last")},
    }


def _people(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    shares = {
        f"{key}_percent": shown(found[key], ".1%") if found[key] is not None else ""
        for key in ("agree", "unanimous", "accuracy")
    }
    return {**found, **shares}


def _interval(found: Mapping[str, Any] | None) -> tuple[str, str] | None:
    if found is None:
        return None
    low, high = found["interval"]
    return shown(found["value"], ".1%"), f"{shown(low, '.1%')} – {shown(high, '.1%')}"


def roots_of(round_: Round) -> list[Problem]:
    """Return the roots that a round drew for the next one, those that are public still."""
    rows = public_problems().filter(places__round=round_, places__root__isnull=False)
    return list(rows.order_by("places__root"))


_STAGES = {
    "": gettext_lazy("kept"),
    "collected": gettext_lazy("collected"),
    "embargo": gettext_lazy("embargo"),
    "structure": gettext_lazy("structure"),
    "votes": gettext_lazy("votes"),
    "copies": gettext_lazy("contained more than once"),
    "embed split": gettext_lazy("used to train the encoder"),
    "aflite": gettext_lazy("filter (AFLite)"),
    "mirror": gettext_lazy("filter (mirror)"),
    "pmi": gettext_lazy("filter (word association)"),
    "random": gettext_lazy("filter (random)"),
    "none": gettext_lazy("filter (none)"),
}

_FIGURES = {
    "collected": gettext_lazy("public problems exported"),
    "valid share of what was collected": gettext_lazy("fraction that is well formed"),
    "kept": gettext_lazy("kept"),
    "train_xl": gettext_lazy("for training, unfiltered"),
    "dev": gettext_lazy("for development"),
    "test": gettext_lazy("for testing"),
    "a linear model on what was collected": gettext_lazy(
        "a linear model guesses before the filter the filter"
    ),
    "a linear model on what was kept": gettext_lazy(
        "a linear model guesses after the filter, across halves that were filtered separately"
    ),
    "KL along the first component, kept": gettext_lazy(
        "distance between the answers (KL, first component)"
    ),
    "judges agree with a kept answer": gettext_lazy(
        "judges’ votes for the answers of kept problems"
    ),
    "kept with all judges agreeing": gettext_lazy("kept problems on which all judges agree"),
    "people who had not judged are right": gettext_lazy(
        "correct answers of people who had not judged"
    ),
    "accuracy on this round's dev and test": gettext_lazy("accuracy"),
    "whole twins right": gettext_lazy("whole twins right"),
    "mean depth of its errors": gettext_lazy("mean depth of its errors"),
    "families without an error": gettext_lazy("families without an error"),
}


def stage(name: str) -> str:
    """Return the words for a stage of the funnel."""
    return str(_STAGES.get(name, name))


def figure(what: str) -> str:
    """Return the words for a figure; that of a solver begins with its name."""
    solver, colon, rest = what.rpartition(": ")
    if colon and rest in _FIGURES:
        return f"{solver}: {_FIGURES[rest]}"
    return str(_FIGURES.get(what, what))


FILES = {"kept.jsonl": True, "dropped.jsonl": False}
"""File name → whether it holds what the round kept; otherwise what it omitted, and why."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox allow-popups allow-top-navigation-by-user-activation",
    )
)
"""Of a report: it has styles of its own, and neither scripts nor this site's rights."""


def report(round_: Round) -> str:
    """Return the report of a round as `winosmith round` writes it, of what is public still."""
    record = round_.record or {}
    fooled = public_problems().filter(places__round=round_).exclude(places__fools=[])
    found = dict(
        Place.objects.filter(round=round_).exclude(fools=[]).values_list("problem__ref", "fools")
    )
    fooling = sorted(as_public(list(fooled)), key=lambda one: (-len(found[one.id]), one.id))
    following = NextRound(
        Dataset(as_public(roots_of(round_)), "roots"),
        record["roots"]["asked"],
        Dataset(fooling, "fooling"),
        {one.id: tuple(found[one.id]) for one in fooling},
    )
    changes = [Change(*change) for change in round_.changes]
    return make_round_page(record, changes, following, subtitle="")


def build_report(round_: Round) -> Path | None:
    """Return the file of the build's own report, for moderators; None if it is gone."""
    path = round_.folder / "results" / "build" / "report.html"
    return path if path.exists() else None


def lines(round_: Round, *, kept: bool) -> Iterator[bytes]:
    """Yield the problems of a round that are public still, a JSON record a line.

    Args:
        round_: one that is done.
        kept: those that it kept; otherwise those that it omitted, with `stage`, `reason` and, where
            AFLite guessed them, `score`, `guessed`, `asked` and `phase`.
    """
    for chunk in rows(numbers(_problems(round_, kept)), lean(public_problems())):
        places = {
            place.problem_id: place
            for place in Place.objects.filter(round=round_, problem__in=chunk)
        }
        written = formats.lines(as_public(chunk), marked=True)
        for row, line in zip(chunk, written, strict=True):
            told = line
            if not kept:
                told = canonical(parse_json(line) | _why(places[row.pk])) + "\n"
            yield told.encode("utf-8", "surrogatepass")


def _problems(round_: Round, kept: bool) -> QuerySet[Problem]:
    found = Place.objects.filter(round=round_)
    found = found.filter(stage="") if kept else found.exclude(stage="")
    return public_problems().filter(pk__in=found.values("problem")).order_by("pk")


def _why(place: Place) -> dict[str, object]:
    why: dict[str, object] = {"stage": place.stage, "reason": place.reason}
    if place.score is not None:
        for name in ("score", "guessed", "asked", "phase"):
            why[name] = getattr(place, name)
    return why


@dataclass(frozen=True, slots=True)
class Flag:
    """Why a round left a problem out.

    Attributes:
        place: as it was stored.
        problem: which.
        reason: in plain words.
        advice: what its contributor might change; "" if there is nothing to change.
    """

    place: Place
    problem: Problem
    reason: str
    advice: str

    @property
    def common(self) -> bool:
        """Whether the reason is the same for all that the stage omitted."""
        return bool(_WORDS.get(self.place.stage, ("", ""))[0])

    @property
    def stage(self) -> str:
        """The stage that left it out, in words."""
        return stage(self.place.stage)

    @property
    def score(self) -> str:
        """The score with two digits, as "0.87"; "" without one."""
        return "" if self.place.score is None else fixed(self.place.score, ".2f")

    @property
    def percent(self) -> int:
        """The score in per cent, for a bar."""
        return whole_percent(self.place.score or 0)


def newest() -> Round | None:
    """Return the round that was published last."""
    return Round.objects.exclude(published=None).order_by("-published").first()


def _flag(problem: Problem, round_: Round) -> Flag | None:
    if problem.state != State.VALID:  # it is out of the data, or was replaced since
        return None
    place = Place.objects.filter(round=round_, problem=problem).exclude(stage="").first()
    return None if place is None else told(place, problem)


def flagged(person: Person, round_: Round) -> QuerySet[Place]:
    """Return where a round omitted problems of somebody, by stage, what is guessed best first."""
    rows = Place.objects.filter(
        round=round_,
        problem__twin__contributor=person,
        problem__state=State.VALID,
        problem__gold=False,
    ).exclude(stage="")
    return rows.select_related("problem__twin").order_by("stage", "-score", "problem")


def told(place: Place, problem: Problem) -> Flag:
    """Return a flag in words."""
    reason, advice = _WORDS.get(place.stage, ("", ""))
    return Flag(place, problem, str(reason) or place.reason, str(advice))


_GUESSED = (
    gettext_lazy(
        "Simple linear models guessed its answer. They see only numbers that "
        "represent its words, and were not trained on this sentence, so "
        "something in the words gives the answer away."
    ),
    gettext_lazy(
        "Look for words that suggest one answer on their own: a word of praise "
        "or blame, or an option that is long, odd or usually correct. Except for "
        "the trigger, use the same words in both halves, and choose options that "
        "could both be the answer."
    ),
)

_WORDS = {
    "aflite": _GUESSED,
    "mirror": _GUESSED,
    "pmi": (
        gettext_lazy(
            "Over the whole pool, its words are associated with its "
            "answer more than chance predicts."
        ),
        gettext_lazy(
            "Look for words that suggest one answer on their own, and use the "
            "same words in both halves except for the trigger."
        ),
    ),
    "random": (
        gettext_lazy(
            "It was removed at random to make the set smaller. This is "
            "not a judgement of the problem."
        ),
        "",
    ),
    "copies": (
        gettext_lazy(
            "It or its other half is in the data more than once. A set contains "
            "one copy of each, in whole twins, and none if two copies have "
            "different answers."
        ),
        "",
    ),
    "embed split": (
        gettext_lazy(
            "It was chosen at random to train the model that turns sentences "
            "into numbers, so that model can’t filter it. This is not a "
            "judgement of the problem."
        ),
        "",
    ),
    "structure": (
        "",
        gettext_lazy(
            "The guidelines state how long a sentence may be, and how similar two halves must be."
        ),
    ),
    "votes": (
        "",
        gettext_lazy("The round required more agreement among judges than the site does."),
    ),
}
"""By the stage that left it out: the reason, where it is the same for all, and what its contributor
might change."""


register = template.Library()
"""Tags for pages of other areas: flags beside problems, and the roots that wait to be perturbed."""

WANTED = 6
"""Roots that the page of perturbing shows; the page of the round has all."""


@register.simple_tag(takes_context=True)
def flag_of(context: Any, problem: Problem) -> Flag | None:
    """Return the flag on one's own problem; None if there is none, or the reader is another."""
    request = context["request"]
    person, round_ = existing_writer(request), _published(request)
    if person is None or round_ is None or round_.published is None:
        return None
    if problem.twin.contributor_id != person.pk or problem.gold:
        return None
    return _flag(problem, round_)


@register.simple_tag(takes_context=True)
def flag_for_moderators(context: Any, problem: Problem) -> Flag | None:
    """Return the flag of the newest round that is done; None for people who don't moderate."""
    request = context["request"]
    if not (request.user.is_authenticated and request.user.moderates):
        return None
    if not hasattr(request, "round_done"):
        done = Round.objects.filter(state=Round.State.DONE)
        request.round_done = done.order_by("-ended").first()
    return _flag(problem, request.round_done) if request.round_done else None


@register.simple_tag(takes_context=True)
def flagged_count(context: Any) -> int:
    """Return how many of one's own problems the round that was published last omitted."""
    request = context["request"]
    person, round_ = existing_writer(request), _published(request)
    return flagged(person, round_).count() if person and round_ else 0


@register.simple_tag(takes_context=True)
def wanted_roots(context: Any) -> dict[str, Any]:
    """Return the round that was published last, and the first of its roots: what is wanted."""
    request = context["request"]
    round_ = _published(request)
    if round_ is None:
        return {"round": None, "roots": ()}
    roots = roots_of(round_)
    note_read(existing_writer(request), roots[:WANTED])
    return {"round": round_, "roots": roots[:WANTED], "more": len(roots) > WANTED}


def _published(request: Any) -> Round | None:
    """Return the round that was published last, looked for once for a page."""
    if not hasattr(request, "round_published"):
        request.round_published = newest()
    found: Round | None = request.round_published
    return found


def forget_texts(person: Person, texts: bool) -> None:
    """Let reasons that may quote what an erased person wrote go, and once that is sure, the files.

    Figures stay. Released texts stay, too.
    """
    if not texts:
        return
    places = Place.objects.filter(
        problem__twin__contributor=person, problem__released=False
    ).exclude(reason="")
    places.update(reason="")
    transaction.on_commit(forget_what_is_left)


def forget_what_is_left() -> int:
    """Take lines of erased texts out of all files of rounds; return how many files changed.

    Reports, which may quote them, go with them; the site makes its own again. It is done at once
    after an erasure, and by tidying again: for one that was cut off, and for rounds that were
    at work. A round also keeps on which sides the problems of earlier ones were, and one that
    failed has no places, so all rounds forget whatever was erased.
    """
    erased = Problem.objects.filter(state__in=GONE, sentence=ERASED_SENTENCE)
    gone = set(erased.values_list("ref", flat=True))
    if not gone:
        return 0
    ended = Round.objects.exclude(state__in=[Round.State.WAITING, Round.State.RUNNING])
    return sum(_forget(round_.folder, gone) for round_ in ended)


def _forget(folder: Path, gone: Collection[str]) -> int:
    """Drop the lines of some problems, by their ids on the site, from the files of a round."""
    old_ids = BuildFiles(folder / "results" / "build").old_ids()
    known = {new for new, old in old_ids.items() if old in gone} | {*gone}
    files = [path for path in sorted(folder.rglob("*.jsonl")) if _drop(path, known)]
    if files:
        for page in folder.rglob("report.html"):
            page.unlink()
    return len(files)


def _drop(path: Path, gone: Collection[str]) -> bool:
    """Rewrite a file without what holds a sentence of these problems; tell whether any did."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    left = [line for line in lines if not _holds(line, gone)]
    if len(left) == len(lines):
        return False
    with write_aside(path) as file:
        file.writelines(left)
    return True


def _holds(line: str, gone: Collection[str]) -> bool:
    if '"sentence"' not in line:  # answers, say, whose last line an interrupt may have cut
        return False
    record = parse_json(line)
    return "sentence" in record and record.get("id") in gone
