"""Topics from an https address: what is taken, what is refused, what serves on."""

import json
import time

import pytest

from tests.fetch.conftest import Site
from winosmith.errors import InputError
from winosmith.topics import Fetch, HttpTopics, fetch_https, open_topics

TEXT = "Warm the milk slowly and stir the honey into it."


def _json(thing: object) -> tuple[str, bytes]:
    return "application/json; charset=utf-8", json.dumps(thing).encode()


def test_a_list_of_topics_is_drawn_from(endpoint: Site, ask: Fetch) -> None:
    """A JSON list is a set of topics; the address is asked once for many draws in a row."""
    endpoint.files["/"] = _json([{"title": name, "text": TEXT} for name in "ABC"])
    topics = HttpTopics(endpoint.url + "/", pause=60, fetch=ask)
    assert {topics.draw(seed).title for seed in range(60)} == set("ABC")
    assert topics.draw(4) == topics.draw(4)
    assert topics.draw(4).source == "localhost"
    assert endpoint.paths == ["/"]


def test_single_topics_gather(endpoint: Site, ask: Fetch) -> None:
    """An address with another topic each time fills what is drawn from."""
    topics = HttpTopics(endpoint.url + "/", pause=0, fetch=ask)
    for name in "ABC":
        endpoint.files["/"] = _json({"title": name, "text": TEXT})
        topics.draw(0)
    assert {topics.draw(seed).title for seed in range(60)} == set("ABC")


def test_a_plain_text_is_a_topic(endpoint: Site, ask: Fetch) -> None:
    """A plain text is a topic whose first line is the title."""
    endpoint.files["/"] = ("text/plain", f"How to warm milk\n\n{TEXT}".encode())
    topic = HttpTopics(endpoint.url + "/", fetch=ask).draw(1)
    assert (topic.title, topic.text) == ("How to warm milk", TEXT)


def test_what_came_serves_on_when_the_server_is_gone(endpoint: Site, ask: Fetch) -> None:
    """After an answer, a server that fails keeps nobody from writing, and is asked less often."""
    endpoint.files["/"] = _json({"title": "A", "text": TEXT})
    topics = HttpTopics(endpoint.url + "/", pause=1.0, fetch=ask)
    topics.draw(0)
    endpoint.files.clear()
    time.sleep(1.01)  # so that it is asked again
    assert [topics.draw(seed).title for seed in range(5)] == ["A"] * 5
    assert len(endpoint.paths) == 2


def test_a_redirect_on_the_same_host_is_followed(endpoint: Site, ask: Fetch) -> None:
    """A page that leads to a random article of its own site works."""
    endpoint.redirects["/random"] = "/article"
    endpoint.files["/article"] = _json({"title": "A", "text": TEXT})
    assert HttpTopics(endpoint.url + "/random", fetch=ask).draw(0).title == "A"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://example.org/",
        "https://localhost:1/",
        "https://localhost.example.org/",
        "//example.org/x",
        "http://localhost/",
        "file:///etc/passwd",
    ],
)
def test_a_redirect_to_elsewhere_is_refused(endpoint: Site, ask: Fetch, elsewhere: str) -> None:
    """A redirect to another host, port or scheme is not followed."""
    endpoint.redirects["/"] = elsewhere
    with pytest.raises(InputError, match=r"redirects to another site"):
        HttpTopics(endpoint.url + "/", fetch=ask).draw(0)
    assert endpoint.paths == ["/"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (("text/html", b"<p>hello"), "'text/html'; it must be application/json"),
        (("application/json", b"{"), "can't be read"),
        (("application/json", b"\xff"), "can't be read"),
        (("application/json", b"[" * 200_000), "can't be read"),
        (_json([]), "has no topics"),
        (_json({"title": 3}), "'title' must be text"),
        (None, "404"),
    ],
)
def test_an_answer_without_topics_says_why(
    endpoint: Site, ask: Fetch, answer: tuple[str, bytes] | None, reason: str
) -> None:
    """What is no topic is refused with the address and the reason."""
    if answer:
        endpoint.files["/"] = answer
    with pytest.raises(InputError, match=reason) as refused:
        HttpTopics(endpoint.url + "/", fetch=ask).draw(0)
    assert endpoint.url in str(refused.value)


def test_an_endless_answer_is_cut_off(endpoint: Site) -> None:
    """More bytes than the limit are refused."""
    endpoint.files["/"] = ("text/plain", b"word " * 10_000)
    with pytest.raises(InputError, match="larger than 20,000 bytes"):
        fetch_https(endpoint.url + "/", max_bytes=20_000)


def test_a_slow_answer_is_cut_off(endpoint: Site) -> None:
    """A server that keeps the connection alive with a few bytes now and then is left in time."""
    endpoint.files["/"], endpoint.pace = ("text/plain", b"word " * 10_000), 0.1
    with pytest.raises(InputError, match="took too long"):
        fetch_https(endpoint.url + "/", timeout=0.4)


def test_a_certificate_that_nobody_vouches_for_is_refused(
    endpoint: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server with an unknown certificate is not read."""
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    endpoint.files["/"] = _json({"title": "A", "text": TEXT})
    with pytest.raises(InputError, match="certificate verify failed"):
        HttpTopics(endpoint.url + "/").draw(0)


@pytest.mark.parametrize(
    "url", ["http://example.org/", "file:///etc/passwd", "https://", "https://ann:x@example.org/"]
)
def test_only_https_is_a_source(url: str) -> None:
    """Other schemes, no host, and addresses with a password are refused when opened."""
    with pytest.raises(InputError, match="must have an https"):
        open_topics(url)
