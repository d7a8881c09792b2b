"""Servers that are down, slow, busy, faulty or hostile; safe addresses; who gets an API key."""

import itertools
import threading
import time
from email.utils import formatdate
from typing import Any

import pytest

from tests.waiting import LONGEST
from winosmith.chat import ChatError, Client, Message
from winosmith.chat._server import MAX_BYTES, find_api_key, is_transient, parse_retry_after

HI = [Message("user", "hi")]
TOO_LONG = r"the prompt is too long for 'm' \(HTTP 400.*fewer shots"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_transient_errors_are_retried(server, client, status):
    server.then({"error": {"message": "busy"}}, status)
    notes: list[str] = []
    asking = client(on_progress=lambda done, of, note: notes.append(note))
    assert asking(HI).text == "ih"
    assert len(server.asked) == 2
    assert any(f"HTTP {status}, busy" in note for note in notes)


@pytest.mark.parametrize(
    ("status", "words", "passing"),
    [
        *((status, "", True) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
        *((status, "", False) for status in (301, 400, 401, 403, 404, 413, 422, 501)),
        (429, "insufficient_quota", False),
    ],
)
def test_transient_statuses(status, words, passing):
    assert is_transient(status, words) is passing


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("-3", None),
        ("soon", None),
        ("1e9", None),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("Thu, 99 Jan 1970 00:00:10 GMT", None),
    ],
)
def test_retry_after_is_parsed(header, seconds):
    """The time is 40 seconds past 1970. Past dates give 0, invalid headers None."""
    assert parse_retry_after(header, 40.0) == seconds


def test_waits_double_from_a_quarter_second(server, client):
    server.then("", 503, times=3)
    client()(HI)
    times = [asked.at for asked in server.asked]
    first, second, third = (later - at for at, later in itertools.pairwise(times))
    assert first >= 0.25
    assert second >= 0.5
    assert third >= 1.0


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_respected(server, client, form):
    named = int(time.time()) + 3  # a date has no fractions of a second
    header = "2" if form == "seconds" else formatdate(named, usegmt=True)
    server.then("", 429, headers={"Retry-After": header})
    client(concurrency=1)(HI)
    first, second = (asked.at for asked in server.asked)
    assert second >= (first + 1.9 if form == "seconds" else named - 0.1)


def test_retry_after_applies_to_all_requests(server, client):
    server.then("", 429, headers={"Retry-After": "2"})
    noted = threading.Event()  # set when the first request knows that it must wait
    echoed = server.answer

    def answer(asked: Any) -> Any:
        noted.wait(LONGEST)
        return echoed(asked)

    server.answer = answer
    client(concurrency=2, on_progress=lambda *told: told[2] and noted.set()).ask(
        [[Message("user", str(n))] for n in range(6)]
    )
    told = server.asked[0].at
    early = [asked for asked in server.asked[1:] if asked.at < told + 1.9]
    assert len(early) <= 1  # it was already under way


def test_long_retry_after_ends_the_run_at_once(server, client):
    server.always({"error": {"message": "Slow down"}}, 429, headers={"Retry-After": "3600"})
    with pytest.raises(
        ChatError, match=r"HTTP 429, Slow down; the server requests a wait of 3,600 s, .* 300 s"
    ):
        client()(HI)
    assert len(server.asked) == 1


def test_busy_server_is_given_up_after_the_patience(server, client):
    server.always("", 503)
    with pytest.raises(ChatError, match=r"after \d attempts, HTTP 503"):
        client(patience=1.0)(HI)


def test_refused_connection_is_reported_early(client, server):
    began = time.monotonic()
    with pytest.raises(ChatError, match=r"m at http://127.0.0.1:9/v1: .*no server answers"):
        client(base_url="http://127.0.0.1:9/v1")(HI)
    assert time.monotonic() - began < LONGEST / 2


def test_broken_connection_is_retried(server, client):
    server.then(server.completion("cut"), cut=30)
    assert client()(HI).text == "ih"


@pytest.mark.parametrize(
    ("settings", "how", "told"),
    [
        ({"timeout": 0.2, "patience": 1.0}, {"wait": 1.0}, "no reply within 0.2 s"),
        ({"timeout": 0.5, "patience": 0.0}, {"drip": 5.0}, "no reply within 0.5 s"),
    ],
    ids=["slow reply", "single bytes"],
)
def test_timeout_applies_to_the_whole_reply(server, client, settings, how, told):
    """Single bytes don't extend it."""
    server.always(server.completion("late"), **how)
    began = time.monotonic()
    with pytest.raises(ChatError, match=told):
        client(**settings)(HI)
    assert time.monotonic() - began < LONGEST


@pytest.mark.parametrize("nonsense", [b"<html>Bad gateway</html>", b"", b"\xff{"])
def test_invalid_json_is_reported_after_three_attempts(server, client, nonsense):
    server.always(nonsense)
    with pytest.raises(ChatError, match="after 3 attempts, its reply is not JSON: "):
        client()(HI)
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (429, {"error": {"message": "You exceeded your current quota",
                         "code": "insufficient_quota"}}, "the account has no credit left"),
        (200, {"error": {"message": "model is loading"}},
         "the server answers with an error: model is loading"),
        (404, b"<html>404</html>", r"no chat model at this address .*most base URLs end in /v1"),
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens.",
                         "code": "context_length_exceeded"}}, TOO_LONG),
        (400, {"object": "error", "message": "The prompt is too long: 9000 tokens"}, TOO_LONG),
        (400, {"error": {"code": 400, "message": "the request exceeds the available context size"}},
         TOO_LONG),
        (400, {"error": {"message": "Unsupported parameter: 'max_tokens'. "
                         "Use 'max_completion_tokens' instead."}},
         r"does not support a parameter .*'max_tokens': None"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]},
         r"the server refuses the request \(HTTP 422, field required\)"),
        (401, {"error": {"message": "Unauthorized"}},
         "requires a key .* name the environment variable that contains it"),
    ],
)  # fmt: skip
def test_permanent_errors_are_reported_at_once(server, client, status, body, told):
    """The messages are those of several servers."""
    server.always(body, status)
    with pytest.raises(ChatError, match=told):
        client()(HI)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    [{}, [], 3, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": {"content": 3}}]}],
)
def test_other_json_is_reported(server, client, body):
    server.always(body)
    with pytest.raises(ChatError, match="its reply is not a chat completion: "):
        client(patience=0.0)(HI)


def test_redirects_are_not_followed(server, client):
    server.always("", 307, headers={"Location": server.url + "/elsewhere"})
    with pytest.raises(ChatError, match="the server redirects"):
        client()(HI)
    assert len(server.asked) == 1


ADDRESSES = {
    "": """https://api.example.com/v1 http://localhost:11434/v1 http://127.0.0.1:8000/v1/
        http://[::1]:8000/v1 http://vllm.localhost/v1""",
    "is not encrypted": """http://api.example.com/v1 http://10.0.0.7:8000/v1
        http://localhost.example.com/v1""",
    "it should look like https://host/v1": """localhost:8000/v1 ftp://host/v1 https:// /v1
        https://host:99999/v1 file:///x""",
    "a key belongs in an environment variable": """https://me:hush@host/v1
        https://host/v1?api-key=hush https://host/v1#hush""",
}


@pytest.mark.parametrize(
    ("url", "told"),
    [("", "it should look like https://host/v1")]
    + [(url, told) for told, urls in ADDRESSES.items() for url in urls.split()],
)
def test_unsafe_and_invalid_addresses_are_refused(url, told):
    """Remote plain HTTP needs `insecure`. A secret in the address is not repeated."""
    if told:
        with pytest.raises(ChatError, match=told) as raised:
            Client("m", url)
        assert "hush" not in str(raised.value)
    if told in ("", "is not encrypted"):
        assert Client("m", url, insecure=bool(told)).base_url == url


def test_huge_replies_are_refused(server, client):
    for status in (200, 400):
        server.always(b" " * (MAX_BYTES + 1), status)
        with pytest.raises(ChatError, match="larger than 4,194,304 bytes"):
            client()(HI)


def test_unknown_model_is_reported_with_similar_ones(server, client):
    server.always({"error": {"message": "The model `llama3` does not exist."}}, 404)
    server.models = [f"a{n}" for n in range(20)] + ["llama-3-8b"]
    message = r"there is no model 'llama3' \(.*\); it has llama-3-8b, a.* and 13 more"
    with pytest.raises(ChatError, match=message):
        client(model="llama3")(HI)


def test_api_key_is_removed_from_errors(server, client, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret-123")
    server.always({"error": {"message": "Incorrect API key: sk-secret-123"}}, 401)
    with pytest.raises(ChatError, match=r"rejects the key in MY_KEY .*\[the key\]") as told:
        client(key_variable="MY_KEY")(HI)
    assert "sk-secret" not in str(told.getrepr(style="native"))


def test_control_characters_are_removed_from_errors(server, client):
    """They could control the terminal."""
    server.always({"error": {"message": "bad\x1b[2J\r\n" + "x" * 5000}}, 400)
    with pytest.raises(ChatError, match=r"HTTP 400, bad \[2J x") as told:
        client()(HI)
    assert str(told.value).isprintable()
    assert len(str(told.value)) < 500


@pytest.mark.parametrize(
    ("url", "variable", "key"),
    [
        ("https://api.example.com/v1", None, "general"),
        ("http://localhost:8000/v1", None, None),
        ("https://localhost:8000/v1", None, None),
        ("http://10.0.0.7/v1", None, None),
        ("http://localhost:8000/v1", "MINE", "own"),
        ("https://api.example.com/v1", "MINE", "own"),
    ],
)
def test_openai_key_is_sent_only_to_remote_https_servers(monkeypatch, url, variable, key):
    """A key from a named variable is sent to any server."""
    monkeypatch.setenv("OPENAI_API_KEY", "general")
    monkeypatch.setenv("MINE", " own\n")
    assert find_api_key(url, variable) == key


def test_missing_and_invalid_keys_are_reported(monkeypatch):
    """Without a named variable, there may be no key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("MINE", raising=False)
    assert find_api_key("https://host/v1", None) is None
    with pytest.raises(ChatError, match="MINE is empty"):
        find_api_key("https://host/v1", "MINE")
    monkeypatch.setenv("MINE", "hush\nhush")
    with pytest.raises(ChatError, match="MINE contains characters that are not allowed") as told:
        find_api_key("https://host/v1", "MINE")
    assert "hush" not in str(told.value)
