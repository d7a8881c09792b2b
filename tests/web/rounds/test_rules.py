"""Who may do what with a round, once, and one at a time."""

from typing import Any, get_args, get_type_hints

import pytest

from tests.web.making import fresh
from tests.web.rounds.making import SMALL, fill
from tests.web.together import at_once
from winosmith.build import FilterRecipe
from winosmith.errors import InputError, RecipeError
from winosmith.web.rounds import running as rules
from winosmith.web.rounds.models import Place, Round, get_stage_label
from winosmith.web.rounds.running import BusyError, create_round


def _start(name: str = "one", **table: Any) -> Any:
    return create_round(name, {**SMALL, **table})


def test_a_round_is_started_with_what_the_site_takes_for_granted(db: Any) -> None:
    """It asks the site's models and one that is taught, lets votes drop nothing, and waits."""
    fill(10)
    made = _start()
    assert (made.state, made.busy, made.last) == ("waiting", True, None)
    assert [own["name"] for own in made.recipe["solvers"]] == [
        "association", "hunting", "taught-words",
    ]  # fmt: skip
    assert made.recipe["votes"]["undecided"] == "keep"
    assert made.recipe["votes"]["correct"] == "off"
    assert made.recipe["name"] == "one"


def test_each_filter_of_a_recipe_has_words_on_the_site(db: Any) -> None:
    """Authors read why theirs was left out, and the funnel what did it, by every filter."""
    for method in {*get_args(get_type_hints(FilterRecipe)["method"])} - {"none"}:
        assert get_stage_label(method) != method
        assert Place(stage=method, reason="as it stands").explanation != "as it stands"


def test_files_that_a_recipe_names_for_its_pool_are_not_read(db: Any) -> None:
    """The pool and the votes of a round are the site's, whatever its recipe says."""
    fill(10)
    made = _start(data="/etc/passwd", votes_file="/etc/passwd", format="csv")
    assert not {"data", "votes_file", "format"} & made.recipe.keys()


def test_admins_alone_publish(db: Any, person: Any, eva: Any) -> None:
    """A moderator, and an admin who was paused, are refused."""
    fill(10)
    made = _start()
    for who in (
        eva,
        person("gone", is_superuser=True, is_active=False),
    ):
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
def test_what_can_not_be_used_is_refused_at_once(
    db: Any, name: str, table: dict[str, Any], why: str
) -> None:
    """A bad name or recipe is told before anything is written."""
    fill(10)
    with pytest.raises((InputError, RecipeError), match=why):
        _start(name, **table)
    assert not Round.objects.exists()


def test_a_pool_that_is_too_small_is_refused(db: Any) -> None:
    """With 18 public problems there is no round, and the numbers are told."""
    fill(9)
    with pytest.raises(InputError, match="20 public problems; there are 18"):
        _start()


def test_there_is_one_round_at_a_time(db: Any) -> None:
    """A second one is refused while the first waits, and starts once that is cancelled."""
    fill(10)
    first = _start()
    with pytest.raises(rules.BusyError, match="one is not finished"):
        _start(name="two")
    rules.cancel_round(first)
    _start(name="two")
    with pytest.raises(rules.BusyError, match="two is not finished"):
        rules.resume_round(first)


def test_of_many_at_once_one_starts(database: Any) -> None:
    """Of eight that start rounds in the same moment one succeeds, the others are told of it."""
    fill(10, votes=False)
    came = at_once(lambda number: _start(name=f"round-{number}"), range(8), but=BusyError)
    (made,) = [one for one in came if not isinstance(one, BusyError)]
    assert list(Round.objects.all()) == [made]


def test_a_round_is_cancelled_once_by_two_pages(database: Any, adam: Any) -> None:
    """Its own page and the page of jobs lock the same two rows; each time, one of eight succeeds.

    Whoever locks them in another order gets a deadlock on PostgreSQL.
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


def test_a_round_ends_once(db: Any) -> None:
    """What is over can't be cancelled; what is not done can't be published, nor twice."""
    fill(10)
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


def test_a_round_is_compared_with_the_one_that_was_published_last(db: Any, stored: Any) -> None:
    """Not with one that is done alone."""
    published = stored("one")
    stored("two", published=False)
    assert _start(name="three").last == published
