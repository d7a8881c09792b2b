"""Rules for rounds: permissions, valid recipes, and one round at a time."""

from typing import Any, get_args, get_type_hints

import pytest

from tests.web.making import fresh
from tests.web.rounds.making import SMALL, fill
from tests.web.together import at_once
from winosmith.build import FilterRecipe
from winosmith.errors import InputError, RecipeError
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.rounds import running as rules
from winosmith.web.rounds.models import Round, get_stage_label
from winosmith.web.rounds.running import create_round


@pytest.fixture
def pool(db: Any) -> None:
    """Create the smallest pool of a round: 20 public problems."""
    fill(10)


def _start(name: str = "one", **table: Any) -> Any:
    return create_round(name, {**SMALL, **table})


def test_round_starts_with_the_defaults_of_the_site(pool):
    """It runs the site's models and a trained one, and votes drop no problem."""
    made = _start()
    assert (made.state, made.busy, made.last) == ("waiting", True, None)
    assert [own["name"] for own in made.recipe["solvers"]] == [
        "association", "hunting", "taught-words",
    ]  # fmt: skip
    assert made.recipe["votes"]["undecided"] == "keep"
    assert made.recipe["votes"]["correct"] == "off"
    assert made.recipe["name"] == "one"


def test_each_filter_has_a_label():
    for method in {*get_args(get_type_hints(FilterRecipe)["method"])} - {"none"}:
        assert get_stage_label(method) != method


def test_recipe_cannot_name_files_for_its_pool(pool):
    """The pool and the votes are always the site's."""
    made = _start(data="/etc/passwd", votes_file="/etc/passwd", format="csv")
    assert not {"data", "votes_file", "format"} & made.recipe.keys()


def test_only_active_admins_can_publish(pool, person, eva):
    made = _start()
    for who in (eva, person("gone", is_superuser=True, is_active=False)):
        with pytest.raises(InputError, match="admins"):
            rules.publish_round(who, made)


@pytest.mark.parametrize(
    ("name", "table", "why"),
    [
        ("A round", {}, "lower-case letters"),
        ("../up", {}, "lower-case letters"),
        ("one", {"filter": {"threshold": 2}}, "threshold"),
        ("one", {"solvers": []}, "solvers"),
        ("one", {"solver": []}, "solver"),
    ],
)
def test_invalid_name_or_recipe_is_refused(pool, name, table, why):
    with pytest.raises((InputError, RecipeError), match=why):
        _start(name, **table)
    assert not Round.objects.exists()


def test_too_small_pool_is_refused(pool):
    Problem.objects.filter(twin=Twin.objects.latest("pk")).update(embargo=True)
    with pytest.raises(InputError, match="20 public problems; there are 18"):
        _start()


def test_second_unfinished_round_is_refused(pool):
    first = _start()
    with pytest.raises(InputError, match="one is not finished"):
        _start(name="two")
    rules.cancel_round(first)
    _start(name="two")
    with pytest.raises(InputError, match="two is not finished"):
        rules.resume_round(first)


def test_only_one_of_many_simultaneous_rounds_starts(database):
    fill(10, votes=False)
    came = at_once(lambda number: _start(name=f"round-{number}"), range(8), but=InputError)
    (made,) = [one for one in came if not isinstance(one, InputError)]
    assert list(Round.objects.all()) == [made]


def test_round_is_cancelled_once_from_two_pages(database, adam):
    """The round's page and the page of jobs must lock the same two rows in the same order.

    Otherwise there is a deadlock on PostgreSQL.
    """
    fill(10, votes=False)
    made = _start()
    for _ in range(10):
        job = rules.queue_round(made)
        stops: Any = [lambda: rules.cancel_round(made), lambda job=job: job.stop(adam)]
        came = at_once(lambda stop: stop(), stops * 4, but=InputError)
        assert sum(not isinstance(one, InputError) for one in came) == 1
        assert (fresh(made).state, fresh(job).state) == ("cancelled", "stopped")
        rules.resume_round(made)


def test_round_is_cancelled_or_published_only_once(pool):
    made = _start()
    with pytest.raises(InputError, match="not finished"):
        rules.publish_round(None, made)
    rules.cancel_round(made)
    with pytest.raises(InputError, match="already ended"):
        rules.cancel_round(made)
    assert (fresh(made).state, made.busy) == ("cancelled", False)
    made.state = "done"
    made.save()
    rules.publish_round(None, made)
    with pytest.raises(InputError, match="already been published"):
        rules.publish_round(None, made)


def test_round_is_compared_with_the_last_published_round(db, stored):
    published = stored("one")
    stored("two", published=False)
    assert _start(name="three").last == published
