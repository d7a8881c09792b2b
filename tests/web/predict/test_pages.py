"""The pages of models, and who may retry failed predictions."""

from typing import Any

from tests.web.predict.making import asked, row
from winosmith.web.urls import AREAS


def _failed(number: int) -> Any:
    """Return a problem on which `zeta` failed."""
    problem = asked(number)
    problem.predictions.filter(model__name="zeta").update(
        stand="failed", error="The model failed on this sentence.", tries=3, seconds=1.5
    )
    return problem


def test_list_shows_the_progress_of_each_model(models, visit):
    """Models are in the order of site.toml."""
    problem, _other = asked(1), row(2)
    problem.predictions.filter(model__name="alpha").update(stand="done", seconds=0.25)
    page = visit().get("/models/").text
    assert page.index("zeta") < page.index("alpha")
    assert "0 of 2" in page
    assert "1 of 2" in page
    assert "0.250" in page
    assert "will restart in a moment" in page


def test_only_moderators_see_failed_problems_of_a_model(models, visit, person):
    problem = _failed(1)
    seen = visit().get("/models/zeta/").text
    assert "1 failed" in seen
    assert problem.ref not in seen
    assert "<form" not in seen.split("<main")[1]
    moderator = person("mo", is_moderator=True, is_judge=True)
    seen = visit(moderator).get("/models/zeta/").text
    assert problem.ref in seen
    assert "failed on this sentence" in seen
    assert visit().get("/models/nobody/").status_code == 404


def test_moderator_can_retry_failed_predictions(models, visit, person):
    """The same form, sent again, does nothing."""
    problem = _failed(1)
    browser = visit(person("mo", is_moderator=True, is_judge=True))
    key = "0" * 32
    answer = browser.post("/models/zeta/again/", {"key": key}, follow=True)
    assert "1 prediction will be retried" in answer.text
    zeta = problem.predictions.get(model__name="zeta")
    assert (zeta.stand, zeta.tries, zeta.error) == ("waiting", 0, "")
    problem.predictions.filter(pk=zeta.pk).update(stand="failed")
    browser.post("/models/zeta/again/", {"key": key})
    assert problem.predictions.get(pk=zeta.pk).stand == "failed"


def test_no_address_accepts_a_prediction(models, visit):
    """The pages of models accept only the form for a retry."""
    problem = asked(1)
    for path in ("/models/", "/models/zeta/"):
        assert visit().post(path, {"choice": "1", "right": "true"}).status_code == 405
    assert [str(one.pattern) for one in AREAS["predict"]] == [
        "",
        "<slug:name>/",
        "<slug:name>/again/",
    ]
    assert set(problem.predictions.values_list("stand", flat=True)) == {"waiting"}
