"""Topics from an https address: accepted answers, refused answers, and failing servers."""

import json
import time

import pytest

from tests.fetch.conftest import Site
from winosmith.errors import InputError
from winosmith.topics import Fetch, HttpTopics, fetch_https, open_topics

TEXT = "Warm the milk slowly and stir the honey into it."


def _json(thing: object) -> tuple[str, bytes]:
    return "application/json; charset=utf-8", json.dumps(thing).encode()


def test_topics_are_drawn_from_a_json_list(endpoint: Site, ask: Fetch) -> None:
    """The address is requested once for many draws in a row."""
    endpoint.files["/"] = _json([{"title": name, "text": TEXT} for name in "ABC"])
    topics = HttpTopics(endpoint.url + "/", pause=60, fetch=ask)
    assert {topics.draw(seed).title for seed in range(60)} == set("ABC")
    assert topics.draw(4) == topics.draw(4)
    assert topics.draw(4).source == "localhost"
    assert endpoint.paths == ["/"]


def test_single_topics_of_several_answers_are_collected(endpoint: Site, ask: Fetch) -> None:
    topics = HttpTopics(endpoint.url + "/", pause=0, fetch=ask)
    for name in "ABC":
        endpoint.files["/"] = _json({"title": name, "text": TEXT})
        topics.draw(0)
    assert {topics.draw(seed).title for seed in range(60)} == set("ABC")


def test_plain_text_is_a_topic_titled_by_its_first_line(endpoint: Site, ask: Fetch) -> None:
    endpoint.files["/"] = ("text/plain", f"How to warm milk\n\n{TEXT}".encode())
    topic = HttpTopics(endpoint.url + "/", fetch=ask).draw(1)
    assert (topic.title, topic.text) == ("How to warm milk", TEXT)


def test_received_topics_are_used_if_the_server_fails(endpoint: Site, ask: Fetch) -> None:
    """The failing server is requested less often."""
    endpoint.files["/"] = _json({"title": "A", "text": TEXT})
    topics = HttpTopics(endpoint.url + "/", pause=1.0, fetch=ask)
    topics.draw(0)
    endpoint.files.clear()
    time.sleep(1.01)  # so that the address is requested again
    assert [topics.draw(seed).title for seed in range(5)] == ["A"] * 5
    assert len(endpoint.paths) == 2


def test_redirect_on_the_same_host_is_followed(endpoint: Site, ask: Fetch) -> None:
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
def test_redirect_to_another_host_port_or_scheme_is_refused(
    endpoint: Site, ask: Fetch, elsewhere: str
) -> None:
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
def test_answer_without_topics_is_refused_with_the_reason(
    endpoint: Site, ask: Fetch, answer: tuple[str, bytes] | None, reason: str
) -> None:
    if answer:
        endpoint.files["/"] = answer
    with pytest.raises(InputError, match=reason) as refused:
        HttpTopics(endpoint.url + "/", fetch=ask).draw(0)
    assert endpoint.url in str(refused.value)


def test_answer_above_the_size_limit_is_refused(endpoint: Site) -> None:
    endpoint.files["/"] = ("text/plain", b"word " * 10_000)
    with pytest.raises(InputError, match="larger than 20,000 bytes"):
        fetch_https(endpoint.url + "/", max_bytes=20_000)


def test_slow_answer_times_out(endpoint: Site) -> None:
    """The server sends a few bytes now and then, which keeps the connection open."""
    endpoint.files["/"], endpoint.pace = ("text/plain", b"word " * 10_000), 0.1
    with pytest.raises(InputError, match="took too long"):
        fetch_https(endpoint.url + "/", timeout=0.4)


def test_unknown_certificate_is_refused(endpoint: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    endpoint.files["/"] = _json({"title": "A", "text": TEXT})
    with pytest.raises(InputError, match="certificate verify failed"):
        HttpTopics(endpoint.url + "/").draw(0)


@pytest.mark.parametrize(
    "url", ["http://example.org/", "file:///etc/passwd", "https://", "https://ann:x@example.org/"]
)
def test_addresses_other_than_https_are_refused(url: str) -> None:
    """Addresses without a host, or with a password, are refused, too."""
    with pytest.raises(InputError, match="must have an https"):
        open_topics(url)
