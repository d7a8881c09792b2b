"""A real round, run once per session, whose results tests store on their site."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.web.rounds.making import SMALL, fill
from winosmith import rounds

TWINS = 70
"""Number of twins: enough for a filter with phases, dev, test and roots."""

WORDS = {"name": "words", "solver": "association", "learn": True}

CHANCE = {"name": "chance", "solver": "random"}


@dataclass(frozen=True)
class Carried:
    """A finished round of the practice pool.

    Attributes:
        found: Result of `winosmith.rounds`.
        recipe: Its recipe as a table.
    """

    found: rounds.Round
    recipe: dict[str, Any]


@pytest.fixture(scope="session")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    """Run a round without votes on the pool that `fill` puts on a site."""
    from winosmith import formats, practice

    folder = tmp_path_factory.mktemp("carried")
    made = practice.generate_corpus(TWINS, seed=3, strength=0.6)
    formats.write(made.dataset.problems, folder / "problems.jsonl")
    recipe = {"name": "one", **SMALL, "solvers": [WORDS]}
    read = rounds.parse_round({**recipe, "data": "problems.jsonl"}, folder=folder)
    return Carried(rounds.run_round(read, folder / "results"), recipe)


@pytest.fixture
def stored(carried: Carried) -> Callable[..., Any]:
    """Return a function that stores a finished round of the site's pool: `stored("one")`."""
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.running import store_results

    def make(name: str = "one", *, published: bool = True, **fields: Any) -> Any:
        from django.utils import timezone

        if not Round.objects.exists():
            fill(TWINS, votes=False)
        row = Round.objects.create(name=name, state="running", recipe=carried.recipe, **fields)
        assert store_results(row, carried.found, lambda done: None)
        row.refresh_from_db()
        row.carried_in = carried.found.folder
        if published:
            row.published = timezone.now()
            row.save()
        return row

    return make


@pytest.fixture
def wren() -> Any:
    """Return a function that returns the contributor of the pool."""
    from winosmith.web.people.models import Person

    return lambda: Person.objects.get(name="wren")
