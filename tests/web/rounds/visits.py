"""Visits and routes of rounds for the tests of every page, with a round in each state."""

from collections.abc import Callable
from typing import Any

from tests.web.forms import KEY, form, none

VISITS: tuple[tuple[str, str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("visitor", "rounds:index", (), {}),
    ("owner", "rounds:index", (), {}),
    ("admin", "rounds:index", (), {}),
    ("visitor", "rounds:one", ("published",), {}),
    ("admin", "rounds:one", ("published",), {}),
    ("admin", "rounds:one", ("done",), {}),
    ("moderator", "rounds:one", ("failed",), {}),
    ("admin", "rounds:one", ("failed",), {}),
    ("admin", "rounds:one", ("running",), {}),
    ("admin", "rounds:start", (), {}),
    ("admin", "rounds:start", (), {"form": {"key": KEY.format(914), "name": "A b"}, "status": 422}),
    ("admin", "rounds:stop", ("failed",), {"form": {"key": KEY.format(915)}, "status": 409}),
    ("admin", "rounds:resume", ("failed",), {"form": {"key": KEY.format(916)}, "status": 409}),
    ("admin", "rounds:publish", ("failed",),
     {"form": {"key": KEY.format(913)}, "status": 409}),
    ("owner", "write:twin", ("twin-public",), {}),
    ("moderator", "moderate:problem", ("public-a",), {}),
)  # fmt: skip
"""Role, route, arguments, and other fields of a `visits.Visit`."""

NO_PAGE = {
    "rounds:progress": "a part of rounds:one",
    "rounds:report": "a file with styles of its own",
    "rounds:build_report": "a file with styles of its own",
    "rounds:file": "a file",
}


ROUTES: list[tuple[str, str, tuple[Any, ...], Callable[[Any], dict[str, Any]], str]] = [
    ("rounds:index", "get", (), none, "ooooooo"),
    ("rounds:one", "get", ("published",), none, "ooooooo"),
    ("rounds:one", "get", ("done",), none, "nnnnnoo"),
    ("rounds:one", "get", ("failed",), none, "nnnnnoo"),
    ("rounds:one", "get", ("nothing",), none, "nnnnnnn"),
    ("rounds:progress", "get", ("running",), none, "nnnnnoo"),
    ("rounds:start", "get", (), none, "llffffo"),
    ("rounds:start", "post", (), form(name="new"), "llffffx"),
    ("rounds:stop", "get", ("running",), none, "mmmmmmm"),
    ("rounds:stop", "post", ("running",), form(), "llffffD"),
    ("rounds:resume", "get", ("failed",), none, "mmmmmmm"),
    ("rounds:resume", "post", ("failed",), form(), "llffffx"),
    ("rounds:publish", "get", ("done",), none, "mmmmmmm"),
    ("rounds:publish", "post", ("done",), form(), "llffffD"),
    ("rounds:report", "get", ("published",), none, "ooooooo"),
    ("rounds:report", "get", ("done",), none, "nnnnnoo"),
    ("rounds:build_report", "get", ("done",), none, "llfffnn"),
    ("rounds:file", "get", ("published", "kept.jsonl"), none, "ooooooo"),
    ("rounds:file", "get", ("published", "secret.jsonl"), none, "nnnnnnn"),
    ("rounds:file", "get", ("done", "dropped.jsonl"), none, "nnnnnoo"),
]
"""Rows of the authorisation table; see `test_authorisation`."""


def staged(people: dict[str, Any], problems: dict[str, Any]) -> None:
    """Create a round in each state; the published one removed the owner's public problem."""
    from django.utils import timezone

    from winosmith.web.problems.models import Problem
    from winosmith.web.rounds.models import Place, Round

    now = timezone.now()
    done = {"state": "done", "busy": False, "began": now, "ended": now, "record": RECORD,
            "changes": CHANGES, "recipe": RECIPE}  # fmt: skip
    first = Round.objects.create(
        name="published", published=now, started_by=people["admin"], **done
    )
    second = Round.objects.create(name="done", last=first, **done)
    Round.objects.create(name="failed", state="failed", busy=False, recipe=RECIPE, error="So.")
    Round.objects.create(name="running", state="running", began=now, recipe=RECIPE)
    other = Problem.objects.exclude(pk=problems["public"].pk).get(ref="public-b")
    for round_ in (first, second):
        Place.objects.create(
            round=round_, problem=problems["public"], stage="aflite", score=0.9, guessed=9,
            asked=10, phase=1, reason="guessed: predicted by 90 % of the ensemble in phase 1",
        )  # fmt: skip
        Place.objects.create(round=round_, problem=other, root=0)


RECIPE = {"name": "made", "solvers": [{"name": "words", "solver": "association"}]}


def _share(value: float) -> dict[str, Any]:
    return {"value": value, "interval": [value - 0.1, value + 0.1], "n": 40, "chance": 0.5}


def _count(problems: int) -> dict[str, int]:
    return {"problems": problems, "twins": problems // 2, "singles": 0}


RECORD: dict[str, Any] = {
    "winosmith": "round",
    "version": 1,
    "name": "made",
    "made_by": "0.1.0",
    "digest": "0" * 64,
    "build": {
        "signature": "made|n:40|seed:0",
        "funnel": {
            "collected": _count(40),
            "steps": [
                {"stage": "structure", "kept": _count(38), "dropped": {"length": 2}},
                {"stage": "aflite", "kept": _count(20), "dropped": {"guessed": 18}},
            ],
            "share": 0.5,
        },
        "counts": {"train_xl": 30, "train_debiased": 14, "dev": 3, "test": 3, "withheld": 2},
        "kept": 20,
    },
    "valid": 0.95,
    "artifacts": {"before": 0.7, "after": 0.55, "kl": 0.1},
    "people": {"judged": 6, "agree": 0.9, "unanimous": 0.8, "accuracy": None},
    "solvers": {
        "words": {
            "solver": "association",
            "learnt": False,
            "revision": "0.1.0",
            "digest": "0" * 64,
            "about": {},
            "accuracy": _share(0.6),
            "twins": _share(0.3),
            "last": None,
            "taught": 0,
            "stability": None,
        },
        "taught": {
            "solver": "association",
            "learnt": False,
            "revision": "0.1.0",
            "digest": "0" * 64,
            "about": {},
            "accuracy": None,
            "twins": None,
            "last": None,
            "taught": 0,
            "seen": {"withheld": True, "problems": 4, "n": 6, "reasons": {}, "unknown": ["web"]},
            "stability": None,
        },
    },
    "roots": {"asked": 4, "drawn": 1},
    "fooling": {},
}
"""Content of `round.json` of a small round."""

CHANGES = [
    ["kept", None, 20, ",d"],
    ["words: accuracy on this round's dev and test", 0.7, 0.6, ".1%"],
]
