"""Which language a page comes in: the browser's wish, the person's choice, and nobody else's."""

import re
from typing import Any

import pytest

from tests.web.translated import made_up

pytestmark = pytest.mark.usefixtures("db")

HEAD = {"en": "Guidelines", "ar": made_up("Guidelines")}


def _heading(answer: Any) -> str:
    found = re.search(r"<h1>(.*?)</h1>", answer.content.decode())
    return found[1]


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("", "en"),
        ("ar", "ar"),
        ("ar-EG,ar;q=0.9,en;q=0.5", "ar"),
        ("fr,ar;q=0.8,en;q=0.9", "en"),
        ("xx,*;q=0.1", "en"),
        ("../../etc/passwd," + "ar," * 400, "en"),
    ],
)
def test_a_page_comes_in_the_language_that_the_browser_asks_for(
    arabic: None, visit: Any, wish: str, language: str
) -> None:
    """The best of the offered languages that Accept-Language names is taken; else English."""
    answer = visit().get("/guidelines/", headers={"accept-language": wish})
    side = "rtl" if language == "ar" else "ltr"
    assert f'<html lang="{language}" dir="{side}">' in answer.content.decode()
    assert _heading(answer) == HEAD[language]
    assert answer["Content-Language"] == language
    assert "Accept-Language" in answer["Vary"]
    assert answer["Cache-Control"] == "private, no-store"


def test_a_choice_beats_the_browsers_wish(arabic: None, visit: Any) -> None:
    """A choice counts whatever the browser asks for, and leads back to the page before."""
    client, wish = visit(), {"accept-language": "en"}
    page = client.get("/guidelines/?a=1&b=%C3%A4", headers=wish).content.decode()
    link = re.search(r'href="(/language/\?next=[^"]+)"', page)
    offer = client.get(link[1].replace("&amp;", "&"), headers=wish).content.decode()
    back = re.search(r'name="next" value="([^"]*)"', offer)
    form = {"language": "ar", "next": back[1].replace("&amp;", "&")}
    led = client.post("/language/set/", form, headers=wish)
    assert led.status_code == 302
    assert led["Location"] == "/guidelines/?a=1&b=%C3%A4"
    assert _heading(client.get("/guidelines/", headers=wish)) == HEAD["ar"]


def test_the_cookie_lasts_and_tells_nothing_but_the_language(arabic: None, visit: Any) -> None:
    """It is out of reach of scripts and of other sites, and holds a year; readers get none."""
    client = visit()
    client.get("/guidelines/")
    assert not client.cookies
    client.post("/language/set/", {"language": "ar"})
    cookie = client.cookies["language"]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("ar", True, "Lax")
    assert cookie["max-age"] == 365 * 24 * 3600


@pytest.mark.parametrize(
    "back",
    [
        "https://elsewhere.example/",
        "//elsewhere.example/",
        "/\\elsewhere.example/",
        "http:///elsewhere.example",
        "javascript:alert(1)",
    ],
)
def test_nobody_is_led_off_the_site(visit: Any, back: str) -> None:
    """A way back that leads elsewhere leads to the first page."""
    led = visit().post("/language/set/", {"language": "en", "next": back})
    assert (led.status_code, led["Location"]) == (302, "/")


def test_an_unknown_language_changes_nothing(visit: Any) -> None:
    """It sets no cookie; neither does no language at all."""
    for form in ({"language": "xx"}, {"language": "en\r\n"}, {}):
        client = visit()
        assert client.post("/language/set/", form).status_code == 302
        assert "language" not in client.cookies


def test_a_false_cookie_does_no_harm(visit: Any) -> None:
    """Whatever stands in the cookie, the page comes, in a language that is offered."""
    for value in ("xx", "ar/../../x", "<script>", "d" * 5000):
        client = visit()
        client.cookies["language"] = value
        assert '<html lang="en"' in client.get("/guidelines/").content.decode()


def test_pages_that_answer_forms_or_are_not_there_name_no_way_back(
    arabic: None, visit: Any
) -> None:
    """The link leads to the bare offer: such an address may not be opened, or is nobody's."""
    refused = visit().post("/people/login/", {"name": "x", "password": "y"})
    missing = visit().get("/problems/nothing/")
    assert [refused.status_code, missing.status_code] == [422, 404]
    for answer in (refused, missing):
        assert 'href="/language/"' in answer.content.decode()


def test_a_site_in_one_language_offers_no_choice(visit: Any) -> None:
    """Without a second language no page links to the choice."""
    assert "/language/" not in visit().get("/guidelines/").content.decode()
