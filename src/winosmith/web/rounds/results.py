"""The results of a round: page, report and files, and the erasure of texts.

The report and the files contain only problems that are public at the time of the request. Problems
that were withdrawn or put under embargo since the round are omitted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import starmap
from pathlib import Path
from typing import Any, get_args

from django import template
from django.db import transaction
from django.utils.translation import gettext as _

from winosmith import Dataset, formats
from winosmith.finished import BuildFiles
from winosmith.options import Method
from winosmith.outputs import atomic_write
from winosmith.records import dump_json, parse_json
from winosmith.report import format_value
from winosmith.rounds import Change, NextRound, make_round_page
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.pages import round_percent
from winosmith.web.people.gates import get_current_writer
from winosmith.web.people.models import Person
from winosmith.web.problems.models import ERASED_SENTENCE, Problem
from winosmith.web.problems.records import as_public, iter_public_rows, load_keys
from winosmith.web.problems.states import REMOVED_STATES, get_public_problems
from winosmith.web.rounds.models import Place, Round, get_stage_label


def make_results_context(round_: Round) -> dict[str, Any]:
    record: Mapping[str, Any] = round_.record or {}
    build, people = record["build"], record["people"]
    removed = Counter[bool]()
    for step in build["funnel"]["steps"]:
        removed[step["stage"] in get_args(Method)] += sum(step["dropped"].values())
    percents = {
        f"{key}_percent": format_value(people[key], ".1%") if people[key] is not None else ""
        for key in ("agree", "unanimous", "accuracy")
        if people
    }
    solvers = [
        {
            "name": name,
            "kind": own["solver"],
            "learnt": own["learnt"],
            "seen": own.get("seen", {}),
            "chance": format_value(own["accuracy"]["chance"], ".0%") if own["accuracy"] else None,
            **{key: _format_interval(own[key]) for key in ("accuracy", "twins", "last")},
        }
        for name, own in record["solvers"].items()
    ]
    return {
        "work": {
            "collected": build["funnel"]["collected"]["problems"],
            "by_checks": removed[False],
            "by_filter": removed[True],
            "verdict": record["artifacts"].get("verdict", ""),
        },
        "cards": _make_summary_cards(record),
        "funnel": list_funnel_stages(build["funnel"]),
        "counts": build["counts"],
        "solvers": solvers,
        "people": people and {**people, **percents},
        "changes": compare_rounds(round_),
        "fooling": len(record["fooling"]),
        "signature": build["signature"],
        "digest": record["digest"],
    }


def count_problems(round_: Round) -> dict[str, int | None]:
    if round_.record is None:
        return {"collected": None, "kept": None}
    build = round_.record["build"]
    return {"collected": build["funnel"]["collected"]["problems"], "kept": build["kept"]}


def list_funnel_stages(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the stages of the funnel, starting with the collected problems.

    `left` is the number of problems after a stage, and `percent` their percentage of the collected
    problems. `dropped` contains the number of dropped problems for each reason.
    """
    whole = record["collected"]["problems"]
    steps = [{"stage": "collected", "kept": record["collected"], "dropped": {}}, *record["steps"]]
    return [
        {
            "name": get_stage_label(step["stage"]),
            "left": step["kept"]["problems"],
            "percent": round_percent(step["kept"]["problems"] / whole) if whole else 0,
            "dropped": list(step["dropped"].items()),
            "gone": sum(step["dropped"].values()),
        }
        for step in steps
    ]


def compare_rounds(round_: Round) -> list[tuple[str, str, str, str]]:
    """Return each change since the last round: name, earlier value, new value, and difference."""
    found = []
    for change in starmap(Change, round_.changes):
        old, new = (
            "" if value is None else format_value(value, change.format_spec)
            for value in (change.old, change.new)
        )
        found.append((change.name, old, new, change.difference_text or ""))
    return found


def _make_summary_cards(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    build, people, artifacts = record["build"], record["people"], record["artifacts"]
    collected = f"{build['funnel']['collected']['problems']:,}"
    cards = [(f"{build['kept']:,}", _("problems kept of %s") % collected)]
    if artifacts["after"] is not None:
        label = _(
            "of the kept problems are predicted by a linear model across halves that were "
            "filtered separately (before the filter: %s)"
        )
        label %= format_value(artifacts["before"], ".1%")
        cards.append((format_value(artifacts["after"], ".1%"), label))
    if people and people["agree"] is not None:
        label = _("of the judges’ votes agree with the answer")
        cards.append((format_value(people["agree"], ".1%"), label))
    right = [own["accuracy"]["value"] for own in record["solvers"].values() if own["accuracy"]]
    if right:
        cards.append((format_value(max(right), ".1%"), _("is the accuracy of the best solver")))
    return cards


def _format_interval(estimate: Mapping[str, Any] | None) -> tuple[str, str] | None:
    if estimate is None:
        return None
    value, low, high = (
        format_value(each, ".1%") for each in (estimate["value"], *estimate["interval"])
    )
    return value, f"{low} – {high}"


def get_public_roots(round_: Round) -> list[Problem]:
    rows = get_public_problems().filter(places__round=round_, places__root__isnull=False)
    return list(rows.order_by("places__root"))


IS_KEPT_FILE = {"kept.jsonl": True, "dropped.jsonl": False}
"""Whether each file contains the kept problems; otherwise, it contains the omitted ones."""

REPORT_CSP = "; ".join(
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
"""Content-Security-Policy of a report: inline styles, but no scripts and no access to the site."""


def render_report(round_: Round) -> str:
    """Render the report of `winosmith round`, limited to problems that are still public."""
    record = round_.record or {}
    fooled = get_public_problems().filter(places__round=round_).exclude(places__fools=[])
    found = dict(
        Place.objects.filter(round=round_).exclude(fools=[]).values_list("problem__ref", "fools")
    )
    fooling = sorted(as_public(list(fooled)), key=lambda one: (-len(found[one.id]), one.id))
    following = NextRound(
        Dataset(as_public(get_public_roots(round_)), "roots"),
        record["roots"]["asked"],
        Dataset(fooling, "fooling"),
        {one.id: tuple(found[one.id]) for one in fooling},
    )
    return make_round_page(record, list(starmap(Change, round_.changes)), following, subtitle="")


def iter_problems(round_: Round, *, kept: bool) -> Iterator[bytes]:
    """Yield, as JSON Lines, the problems of a finished round that are still public.

    If not `kept`, these are the omitted problems, with `stage`, `reason` and, if AFLite predicted
    them, `score`, `guessed`, `asked` and `phase`.
    """
    found = Place.objects.filter(round=round_)
    found = found.filter(stage="") if kept else found.exclude(stage="")
    query = get_public_problems().filter(pk__in=found.values("problem")).order_by("pk")
    for chunk in iter_public_rows(load_keys(query)):
        places = {place.problem_id: place for place in found.filter(problem__in=chunk)}
        written = formats.to_lines(as_public(chunk), marked=True)
        for row, line in zip(chunk, written, strict=True):
            if not kept:
                place = places[row.pk]
                why = {"stage": place.stage, "reason": place.reason}
                if place.score is not None:
                    numbers = ("score", "guessed", "asked", "phase")
                    why |= {name: getattr(place, name) for name in numbers}
                line = dump_json(parse_json(line) | why) + "\n"
            yield line.encode("utf-8", "surrogatepass")


register = template.Library()
"""Template tags for pages of other areas: roots to perturb."""

MAX_ROOTS_SHOWN = 6
"""Number of roots shown on the *Perturb* page. The round's page shows all of them."""


@register.simple_tag(takes_context=True)
def get_round_and_roots(context: Any) -> dict[str, Any]:
    round_ = Round.get_last_published()
    if round_ is None:
        return {"round": None, "roots": ()}
    roots = get_public_roots(round_)
    mark_unpublished_seen(get_current_writer(context["request"]), roots[:MAX_ROOTS_SHOWN])
    return {"round": round_, "roots": roots[:MAX_ROOTS_SHOWN], "more": len(roots) > MAX_ROOTS_SHOWN}


def erase_texts(person: Person, texts: bool) -> None:
    """Delete an erased person's unreleased texts from rounds; numbers are kept.

    Reasons that may quote the texts are deleted now. Lines of files are deleted after the commit.
    """
    if not texts:
        return
    places = Place.objects.filter(
        problem__twin__contributor=person, problem__released=False
    ).exclude(reason="")
    places.update(reason="")
    transaction.on_commit(erase_remaining_texts)


def erase_remaining_texts() -> int:
    """Remove erased texts from the files of all rounds, and return the number of changed files.

    Reports, which may quote the texts, are deleted; the site's own pages do not need them. This
    function runs after each erasure. It also runs regularly, because an erasure may have been
    interrupted, or a round may have been running. A round also stores the splits of earlier
    problems, and a failed round has no `Place`, so all rounds are checked for all erased texts.
    """
    erased = Problem.objects.filter(state__in=REMOVED_STATES, sentence=ERASED_SENTENCE)
    gone = set(erased.values_list("ref", flat=True))
    if not gone:
        return 0
    ended = Round.objects.exclude(state__in=[Round.State.WAITING, Round.State.RUNNING])
    count = 0
    for round_ in ended:
        folder = round_.folder
        old_ids = BuildFiles(folder / "results" / "build").read_pool_ids()
        known = {new for new, old in old_ids.items() if old in gone} | gone
        files = [path for path in sorted(folder.rglob("*.jsonl")) if _remove_problems(path, known)]
        if files:
            for page in folder.rglob("report.html"):
                page.unlink()
        count += len(files)
    return count


def _remove_problems(path: Path, erased_ids: set[str]) -> bool:
    """Remove the records of erased problems; return whether the file changed."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    left = []
    for line in lines:
        # Other records, such as answers, may be truncated.
        record = parse_json(line) if '"sentence"' in line else {}
        if "sentence" not in record or record.get("id") not in erased_ids:
            left.append(line)
    if len(left) == len(lines):
        return False
    with atomic_write(path) as file:
        file.writelines(left)
    return True
