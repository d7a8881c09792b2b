"""Contributors who have agreed, public originals, models that never answer by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.web.making import single

ROOT = "The trophy did not fit into the suitcase because _ was too large."
OPTIONS = ("the trophy", "the suitcase")

CHILD = "The trophy did not fit into the suitcase because _ was too small."
GRANDCHILD = "The trophy did not fit into the old suitcase because _ was too small."


def typed(sentence: str = CHILD, answer: int | None = 1, **fields: Any) -> Any:
    """Return what a form holds; by default a good perturbation of ROOT."""
    from winosmith.web.perturb.rules import SentenceInput

    return SentenceInput(sentence, **{"options": OPTIONS, "answer": answer, **fields})


def form(sentence: str = CHILD, answer: str = "1", **fields: str) -> dict[str, str]:
    """Return the form as a browser sends it."""
    return {
        "key": "k" * 32,
        "do": "submit",
        "sentence": sentence,
        "option_1": OPTIONS[0],
        "option_2": OPTIONS[1],
        "answer": answer,
        "declared": "",
        "against": "",
        **fields,
    }


def rules(**changes: Any) -> Any:
    """Return a context in which the site has other rules."""
    from django.conf import settings
    from django.test import override_settings

    return override_settings(RULES=replace(settings.RULES, **changes))


def send(person: Any, parent: Any, what: Any = None, key: str = "", **arguments: Any) -> Any:
    """Perturb as a person does, by a form of its own."""
    from winosmith.web.people.gates import new_key
    from winosmith.web.perturb.rules import Position, create_version

    place = Position.for_new_version(person, parent)
    return create_version(place, what or typed(), key or new_key(), **arguments)


def text(answer: Any) -> str:
    """Return the page of an answer."""
    return str(answer.content.decode())


@pytest.fixture
def original() -> Callable[..., Any]:
    """Return a maker of originals: public unless told otherwise."""
    from winosmith.web.problems.models import Twin

    def make(ref: str = "root", sentence: str = ROOT, **columns: Any) -> Any:
        twin = columns.pop("twin", None) or Twin.objects.create(
            ref=f"twin-{ref}", contributor=columns.pop("contributor", None), domain="physical"
        )
        return single(ref, sentence, twin=twin, **{"options": list(OPTIONS), **columns})

    return make


@pytest.fixture
def models() -> Callable[..., Any]:
    """Return a maker of models that are configured now."""
    from winosmith.web.predict.models import Model

    def make(*names: str) -> list[Any]:
        return [
            Model.objects.create(name=name, solver="random", revision="1", digest=f"{name} 1")
            for name in names
        ]

    return make


@pytest.fixture
def at_most() -> Callable[..., Any]:
    """Return a context in which no more than so many queries may be asked."""
    import contextlib

    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    @contextlib.contextmanager
    def limited(number: int) -> Any:
        with CaptureQueriesContext(connection) as asked:
            yield
        assert len(asked) <= number, [query["sql"] for query in asked]

    return limited


def answer_as(model: Any, problem: Any, scores: list[float]) -> Any:
    """Write down what a model makes of a problem, as its process does."""
    from winosmith.web.predict.models import Prediction

    choice, tie = scores.index(max(scores)), scores.count(max(scores)) > 1
    Prediction.objects.filter(model=model, problem=problem).update(
        stand="done",
        scores=scores,
        choice=choice,
        right=None if tie else choice == problem.answer,
        tie=tie,
        seconds=0.25,
    )
    return Prediction.objects.get(model=model, problem=problem)


@pytest.fixture
def desk(
    db: Any, contributor: Callable[..., Any], original: Callable[..., Any], visit: Any
) -> tuple[Any, Any, Any]:
    """Return Ann, her browser, and a public original."""
    ann = contributor()
    return ann, visit(ann), original()


def plain(page: str) -> str:
    """Return what stands on a page, without tags and with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())
