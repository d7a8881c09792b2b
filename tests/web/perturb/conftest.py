"""Contributors who agreed to the texts, public originals, and models that don't answer."""

import re
from typing import Any

import pytest

from tests.web.making import single
from tests.web.write.conftest import ann, bob, text

__all__ = ["ann", "bob", "text"]

ROOT = "The trophy did not fit into the suitcase because _ was too large."
OPTIONS = ("the trophy", "the suitcase")

CHILD = "The trophy did not fit into the suitcase because _ was too small."
GRANDCHILD = "The trophy did not fit into the old suitcase because _ was too small."


def typed(sentence: str = CHILD, answer: int | None = 1, **fields: Any) -> Any:
    """Return the input of a form; by default a valid perturbation of ROOT."""
    from winosmith.web.perturb.rules import SentenceInput

    return SentenceInput(sentence, **{"options": OPTIONS, "answer": answer, **fields})


def form(sentence: str = CHILD, answer: str = "1", **fields: str) -> dict[str, str]:
    """Return the form's fields as a browser sends them."""
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


def send(person: Any, parent: Any, what: Any = None, key: str = "", **arguments: Any) -> Any:
    """Create a version of `parent` as a person does, with a new form key unless `key` is given."""
    from winosmith.web.people.gates import new_key
    from winosmith.web.perturb.rules import Position, create_version
    from winosmith.web.problems.models import Problem

    place = Position.for_new_version(person, parent)
    ref = create_version(place, what or typed(), key or new_key(), **arguments)
    return Problem.objects.select_related("twin").get(ref=ref)


def original(ref: str = "root", sentence: str = ROOT, **columns: Any) -> Any:
    """Create an original problem; it is public by default."""
    from winosmith.web.problems.models import Twin

    twin = columns.pop("twin", None) or Twin.objects.create(
        ref=f"twin-{ref}", contributor=columns.pop("contributor", None), domain="physical"
    )
    return single(ref, sentence, twin=twin, **{"options": list(OPTIONS), **columns})


@pytest.fixture
def root() -> Any:
    """Return a public original."""
    return original()


def answer_as(model: Any, problem: Any, scores: list[float]) -> Any:
    """Store a model's prediction for a problem, as its process does."""
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
def client(db: Any, ann: Any, root: Any, visit: Any) -> Any:
    """Return Ann's browser, on a site with a public original."""
    return visit(ann)


def plain(page: str) -> str:
    """Return the text of a page, without tags and with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())
