"""Who may do what with a round, once, and one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

from tests.web.rounds.making import SMALL, fill  # type: ignore[import-not-found]
from winosmith.errors import InputError, RecipeError


def _start(by: Any = None, name: str = "one", **table: Any) -> Any:
    from winosmith.web.rounds.rules import start

    return start(by, name, {**SMALL, **table})


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
    from winosmith.build import FilterRecipe
    from winosmith.web.problems.models import Problem
    from winosmith.web.rounds.flags import told
    from winosmith.web.rounds.models import Place
    from winosmith.web.rounds.results import stage

    for method in {*get_args(get_type_hints(FilterRecipe)["method"])} - {"none"}:
        assert stage(method) != method
        assert told(Place(stage=method, reason="as it stands"), Problem()).reason != "as it stands"


def test_files_that_a_recipe_names_for_its_pool_are_not_read(db: Any) -> None:
    """The pool and the votes of a round are the site's, whatever its recipe says."""
    fill(10)
    made = _start(data="/etc/passwd", votes_file="/etc/passwd", format="csv")
    assert not {"data", "votes_file", "format"} & made.recipe.keys()


def test_admins_alone_start_stop_and_publish(db: Any, person: Callable[..., Any]) -> None:
    """A moderator, and an admin who was paused, are refused everything."""
    from winosmith.web.rounds import rules

    fill(10)
    made = _start(person("adam", is_superuser=True))
    for who in (
        person("eva", is_moderator=True),
        person("gone", is_superuser=True, is_active=False),
    ):
        with pytest.raises(InputError, match="admins"):
            _start(who, "two")
        for act in (rules.cancel, rules.again, rules.publish):
            with pytest.raises(InputError, match="admins"):
                act(who, made)


@pytest.mark.parametrize(
    ("name", "table", "why"),
    [
        ("A round", {}, "small letters"),
        ("../up", {}, "small letters"),
        ("one", {"filter": {"threshold": 2}}, "threshold"),
        ("one", {"solvers": []}, "solvers"),
        ("one", {"solver": []}, "solver"),
    ],
)
def test_what_can_not_be_used_is_refused_at_once(
    db: Any, name: str, table: dict[str, Any], why: str
) -> None:
    """A bad name or recipe is told before anything is written."""
    from winosmith.web.rounds.models import Round

    fill(10)
    with pytest.raises((InputError, RecipeError), match=why):
        _start(None, name, **table)
    assert not Round.objects.exists()


def test_a_pool_that_is_too_small_is_refused(db: Any) -> None:
    """With 18 public problems there is no round, and the numbers are told."""
    fill(9)
    with pytest.raises(InputError, match="20 public problems; there are 18"):
        _start()


def test_there_is_one_round_at_a_time(db: Any) -> None:
    """A second one is refused while the first waits, and starts once that is cancelled."""
    from winosmith.web.rounds import rules

    fill(10)
    first = _start()
    with pytest.raises(rules.BusyError, match="one is not over"):
        _start(name="two")
    rules.cancel(None, first)
    _start(name="two")
    with pytest.raises(rules.BusyError, match="two is not over"):
        rules.again(None, first)


def test_of_many_at_once_one_starts(database: Any) -> None:
    """Of eight that start rounds in the same moment one succeeds, the others are told of it."""
    from django.db import connection

    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.rules import BusyError

    fill(10, votes=False)
    came: list[str] = []
    barrier = threading.Barrier(8)

    def try_one(number: int) -> None:
        barrier.wait()
        try:
            came.append(_start(name=f"round-{number}").name)
        except BusyError:
            came.append("")
        finally:
            connection.close()

    threads = [threading.Thread(target=try_one, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(bool, came)) == [False] * 7 + [True]
    assert [row.name for row in Round.objects.all()] == [name for name in came if name]


def test_a_round_ends_once(db: Any) -> None:
    """What is over can't be cancelled; what is not done can't be published, nor twice."""
    from winosmith.web.rounds import rules

    fill(10)
    made = _start()
    with pytest.raises(InputError, match="not done"):
        rules.publish(None, made)
    rules.cancel(None, made)
    with pytest.raises(InputError, match="ended already"):
        rules.cancel(None, made)
    made.refresh_from_db()
    assert (made.state, made.busy) == ("cancelled", False)
    made.state = "done"
    made.save()
    rules.publish(None, made)
    with pytest.raises(InputError, match="published already"):
        rules.publish(None, made)


def test_a_round_is_compared_with_the_one_that_was_published_last(
    db: Any, stored: Callable[..., Any]
) -> None:
    """Not with one that is done alone."""
    published = stored("one")
    stored("two", published=False)
    assert _start(name="three").last == published


def test_a_form_that_is_sent_twice_starts_one_round(
    db: Any, person: Callable[..., Any], visit: Callable[..., Any]
) -> None:
    """The same form leads both times to the round that it started; a new one is told of it."""
    from winosmith.web.rounds.models import Round

    fill(10)
    browser = visit(person("adam", is_superuser=True))
    form = {"key": "k" * 32, "name": "mine", "solvers": ["hunting"], "method": "aflite",
            "threshold": "0.8", "remove": "twins", "roots": "3"}  # fmt: skip
    for _ in range(2):
        answer = browser.post("/rounds/start/", form)
        assert (answer.status_code, answer["Location"]) == (302, "/rounds/round/mine/")
    again = browser.post("/rounds/start/", {**form, "key": "m" * 32, "name": "other"})
    assert again.status_code == 409
    assert 'value="other"' in again.content.decode()
    (made,) = Round.objects.all()
    assert made.recipe["filter"] == {"method": "aflite", "threshold": 0.8, "remove": "twins"}
    assert made.recipe["solvers"] == [{"name": "hunting", "solver": "hunting"}]
    assert (made.recipe["roots"], made.started_by.name) == (3, "adam")


def test_a_recipe_of_the_sites_folder_can_be_chosen(
    db: Any, person: Callable[..., Any], visit: Callable[..., Any]
) -> None:
    """A file in recipes/ is offered by its name, and nothing outside of that folder."""
    from winosmith.web.rounds.models import Round

    fill(10)
    folder = db.folder / "recipes"
    folder.mkdir(exist_ok=True)
    (folder / "strict.toml").write_text("roots = 2\n[filter]\nthreshold = 0.6\n", "utf-8")
    browser = visit(person("adam", is_superuser=True))
    assert '<option value="strict">' in browser.get("/rounds/start/").content.decode()
    form = {"key": "k" * 32, "name": "mine", "recipe": "../secret"}
    assert browser.post("/rounds/start/", form).status_code == 422
    answer = browser.post("/rounds/start/", {**form, "recipe": "strict"})
    (folder / "strict.toml").unlink()
    assert answer.status_code == 302
    made = Round.objects.get()
    assert (made.recipe["roots"], made.recipe["filter"]) == (2, {"threshold": 0.6})
    assert made.base == str(folder)
