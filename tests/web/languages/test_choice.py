"""The language of a page: the browser's preference, or the person's choice."""

import re
from typing import Any

import pytest

from tests.web.translated import made_up

pytestmark = pytest.mark.usefixtures("db")

HEAD = {"en": "Guidelines", "ar": made_up("Guidelines")}


def _find_heading(answer: Any) -> str:
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
def test_accept_language_selects_the_page_language(arabic, visit, wish, language):
    answer = visit().get("/guidelines/", headers={"accept-language": wish})
    side = "rtl" if language == "ar" else "ltr"
    assert f'<html lang="{language}" dir="{side}">' in answer.content.decode()
    assert _find_heading(answer) == HEAD[language]
    assert answer["Content-Language"] == language
    assert "Accept-Language" in answer["Vary"]
    assert answer["Cache-Control"] == "private, no-store"


def test_a_choice_beats_the_browsers_wish(arabic, visit):
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
    assert _find_heading(client.get("/guidelines/", headers=wish)) == HEAD["ar"]


def test_only_a_choice_sets_the_language_cookie(arabic, visit):
    """The cookie contains only the language and lasts a year."""
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
def test_foreign_or_invalid_next_leads_to_the_first_page(visit, back):
    led = visit().post("/language/set/", {"language": "en", "next": back})
    assert (led.status_code, led["Location"]) == (302, "/")


def test_unknown_language_is_refused_without_a_cookie(visit):
    for form in ({"language": "xx"}, {"language": "en\r\n"}, {}):
        client = visit()
        assert client.post("/language/set/", form).status_code == 302
        assert "language" not in client.cookies


def test_invalid_language_cookie_falls_back_to_english(visit):
    for value in ("xx", "ar/../../x", "<script>", "d" * 5000):
        client = visit()
        client.cookies["language"] = value
        assert '<html lang="en"' in client.get("/guidelines/").content.decode()


def test_language_link_of_error_pages_has_no_next(arabic, visit):
    """A refused form's address may not allow GET, and a missing page's address leads nowhere."""
    refused = visit().post("/people/login/", {"name": "x", "password": "y"})
    missing = visit().get("/problems/nothing/")
    assert [refused.status_code, missing.status_code] == [422, 404]
    for answer in (refused, missing):
        assert 'href="/language/"' in answer.content.decode()


def test_site_with_one_language_offers_no_choice(visit):
    assert "/language/" not in visit().get("/guidelines/").content.decode()
