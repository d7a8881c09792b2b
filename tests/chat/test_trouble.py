"""A server that is down, slow, busy, wrong or hostile: waited for, or told clearly."""

import itertools
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from tests.waiting import LONGEST
from winosmith.chat import ChatError, Client, Message
from winosmith.chat._server import MAX_BYTES, is_transient, parse_retry_after

Make = Callable[..., Client]

HI = [Message("user", "hi")]

TOO_LONG = r"the prompt is too long for 'm' \(HTTP 400.*fewer shots"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_trouble_is_waited_for(server: Any, client: Make, status: int) -> None:
    """Too many requests and trouble on the server's side are tried again."""
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
def test_what_passes_is_known(status: int, words: str, passing: bool) -> None:
    """Each status is one that may pass, or one that won't."""
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
def test_retry_after_is_read(header: str | None, seconds: float | None) -> None:
    """Seconds and dates are read at 40 seconds past 1970; a past date is now; the rest is none."""
    assert parse_retry_after(header, 40.0) == seconds


def test_waits_double(server: Any, client: Make) -> None:
    """Between attempts there is more time each time, from a quarter of a second on."""
    server.then("", 503, times=3)
    client()(HI)
    times = [asked.at for asked in server.asked]
    first, second, third = (later - at for at, later in itertools.pairwise(times))
    assert first >= 0.25
    assert second >= 0.5
    assert third >= 1.0


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured(server: Any, client: Make, form: str) -> None:
    """Nobody asks before the time that the server names, in seconds or as a date."""
    named = int(time.time()) + 3  # a date has no parts of a second
    header = "2" if form == "seconds" else formatdate(named, usegmt=True)
    server.then("", 429, headers={"Retry-After": header})
    client(concurrency=1)(HI)
    first, second = (asked.at for asked in server.asked)
    assert second >= (first + 1.9 if form == "seconds" else named - 0.1)


def test_retry_after_holds_for_all(server: Any, client: Make) -> None:
    """When one request is told to wait, those that have not gone out wait, too."""
    server.then("", 429, headers={"Retry-After": "2"})
    noted = threading.Event()  # what is under way is answered when the first knows of its wait
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
    assert len(early) <= 1  # what was already under way


def test_a_wait_beyond_the_patience_is_not_begun(server: Any, client: Make) -> None:
    """A server that asks to come back in an hour ends the run at once, and is quoted."""
    server.always({"error": {"message": "Slow down"}}, 429, headers={"Retry-After": "3600"})
    with pytest.raises(
        ChatError, match=r"HTTP 429, Slow down; the server requests a wait of 3,600 s, .* 300 s"
    ):
        client()(HI)
    assert len(server.asked) == 1


def test_patience_ends(server: Any, client: Make) -> None:
    """A server that stays busy is given up after the patience, with the number of attempts."""
    server.always("", 503)
    with pytest.raises(ChatError, match=r"after \d attempts, HTTP 503"):
        client(patience=1.0)(HI)


def test_a_server_that_is_not_there_is_told_soon(client: Make, server: Any) -> None:
    """A refused connection is told long before patience ends, and names the address."""
    began = time.monotonic()
    with pytest.raises(ChatError, match=r"m at http://127.0.0.1:9/v1: .*no server answers"):
        client(base_url="http://127.0.0.1:9/v1")(HI)
    assert time.monotonic() - began < LONGEST / 2


def test_a_connection_that_breaks_is_tried_again(server: Any, client: Make) -> None:
    """A reply cut off in the middle is asked for again."""
    server.then(server.completion("cut"), cut=30)
    assert client()(HI).text == "ih"


def test_a_slow_reply_is_given_up(server: Any, client: Make) -> None:
    """A reply that takes longer than the timeout is asked for again, then told."""
    server.always(server.completion("late"), wait=1.0)
    with pytest.raises(ChatError, match=r"no reply within 0.2 s"):
        client(timeout=0.2, patience=1.0)(HI)


def test_a_reply_that_drips_is_given_up(server: Any, client: Make) -> None:
    """The timeout is for the whole reply: a byte now and then doesn't prolong it."""
    server.always(server.completion("drip"), drip=5.0)
    began = time.monotonic()
    with pytest.raises(ChatError, match=r"no reply within 0.5 s"):
        client(timeout=0.5, patience=0.0)(HI)
    assert time.monotonic() - began < LONGEST


@pytest.mark.parametrize("nonsense", [b"<html>Bad gateway</html>", b"", b"\xff{"])
def test_nonsense_is_tried_again_then_told(server: Any, client: Make, nonsense: bytes) -> None:
    """A reply that is not JSON is asked for three times in all, and shown."""
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
def test_what_will_not_pass_is_told_at_once(
    server: Any, client: Make, status: int, body: Any, told: str
) -> None:
    """Each refusal, in each server's words, ends in what to do, and nothing is asked again."""
    server.always(body, status)
    with pytest.raises(ChatError, match=told):
        client()(HI)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    [{}, [], 3, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": {"content": 3}}]}],
)
def test_json_of_another_kind_is_told(server: Any, client: Make, body: Any) -> None:
    """JSON that is not a chat completion is reported."""
    server.always(body)
    with pytest.raises(ChatError, match="its reply is not a chat completion: "):
        client(patience=0.0)(HI)


def test_a_redirect_is_not_followed(server: Any, client: Make) -> None:
    """A server that redirects gets no second request, and neither does the other."""
    server.always("", 307, headers={"Location": server.url + "/elsewhere"})
    with pytest.raises(ChatError, match="the server redirects"):
        client()(HI)
    assert len(server.asked) == 1


def test_a_huge_reply_is_refused(server: Any, client: Make) -> None:
    """More than the most bytes are not read."""
    server.always(b" " * (MAX_BYTES + 1))
    with pytest.raises(ChatError, match="larger than 4,194,304 bytes"):
        client()(HI)
    server.always(b" " * (MAX_BYTES + 1), 400)
    with pytest.raises(ChatError, match="larger than 4,194,304 bytes"):
        client()(HI)


def test_a_wrong_model_shows_those_there_are(server: Any, client: Make) -> None:
    """A model that the server doesn't have is named beside those that it has, the like first."""
    server.always({"error": {"message": "The model `llama3` does not exist."}}, 404)
    server.models = [f"a{n}" for n in range(20)] + ["llama-3-8b"]
    message = r"there is no model 'llama3' \(.*\); it has llama-3-8b, a.* and 13 more"
    with pytest.raises(ChatError, match=message):
        client(model="llama3")(HI)


def test_a_key_is_never_repeated(
    server: Any, client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that quotes the key in its refusal is quoted without it, in the whole traceback."""
    monkeypatch.setenv("MY_KEY", "sk-secret-123")
    server.always({"error": {"message": "Incorrect API key: sk-secret-123"}}, 401)
    with pytest.raises(ChatError, match=r"rejects the key in MY_KEY .*\[the key\]") as told:
        client(key_variable="MY_KEY")(HI)
    assert "sk-secret" not in str(told.getrepr(style="native"))


def test_a_servers_words_cant_steer_a_terminal(server: Any, client: Make) -> None:
    """Control characters and line ends of a server's words are spaces in the message."""
    server.always({"error": {"message": "bad\x1b[2J\r\n" + "x" * 5000}}, 400)
    with pytest.raises(ChatError, match=r"HTTP 400, bad \[2J x") as told:
        client()(HI)
    assert str(told.value).isprintable()
    assert len(str(told.value)) < 500
