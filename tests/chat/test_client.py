"""The chat client: replies, concurrency, the cache and its secrets, and interrupts."""

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONGEST
from winosmith.chat import ChatError, Client, Message, Reply
from winosmith.chat._client import Cache
from winosmith.errors import InputError

Make = Callable[..., Client]
Conversations = list[list[Message]]


def user(text: str) -> list[Message]:
    """Return a conversation of one question."""
    return [Message("user", text)]


def test_reply_has_text_tokens_and_finish_reason(server: Any, client: Make) -> None:
    server.always(server.completion("one", tokens=(7, 2), finish_reason="length"))
    assert client()(user("hi")) == Reply("one", 7, 2, "length")


def test_reply_without_text_and_token_counts_is_empty(server: Any, client: Make) -> None:
    server.always({"choices": [{"message": {"role": "assistant", "content": None}}]})
    assert client()(user("hi")) == Reply("")


def test_parts_of_a_reply_are_joined(server: Any, client: Make) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    server.always({"choices": [{"message": {"content": parts}}]})
    assert client()(user("hi")).text == "ab"


def test_request_has_only_the_given_parameters(server: Any, client: Make) -> None:
    """A parameter that is None is omitted."""
    asking = client(extra={"max_tokens": None, "max_completion_tokens": 5, "top_p": 0.5})
    asking([Message("user", "hi"), Message("assistant", "1"), Message("user", "ho")])
    assert server.asked[0].path == "/v1/chat/completions"
    assert server.asked[0].body == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": "ho"},
        ],
        "temperature": 0.0,
        "max_completion_tokens": 5,
        "top_p": 0.5,
    }


@pytest.mark.parametrize("concurrency", [1, 6])
def test_replies_are_in_the_order_of_the_questions(
    server: Any, client: Make, questions: Conversations, concurrency: int
) -> None:
    server.slowly(lambda asked: 0.002 * (hash(str(asked.body)) % 10))
    replies = client(concurrency=concurrency).ask(questions)
    assert [reply.text for reply in replies] == [q[0].content[::-1] for q in questions]
    assert server.most_at_once <= concurrency


def test_requests_are_concurrent_up_to_the_limit(
    server: Any, client: Make, questions: Conversations
) -> None:
    echoed, eight = server.answer, threading.Barrier(8)

    def answer(asked: Any) -> Any:
        eight.wait(LONGEST)  # until eight have arrived
        return echoed(asked)

    server.answer = answer
    client(concurrency=8, timeout=LONGEST).ask(questions)
    assert server.most_at_once == 8


def test_equal_conversations_are_asked_once(server: Any, client: Make) -> None:
    replies = client().ask([user("a"), user("b"), user("a")])
    assert [reply.text for reply in replies] == ["a", "b", "a"]
    assert len(server.asked) == 2


def test_cached_questions_send_no_requests(
    server: Any, client: Make, tmp_path: Path, questions: Conversations
) -> None:
    first = client(cache=tmp_path / "c").ask(questions)
    assert client(cache=tmp_path / "c", concurrency=1).ask(questions) == first
    assert len(server.asked) == 40


def test_cache_key_covers_all_that_affects_a_reply(
    server: Any, client: Make, tmp_path: Path
) -> None:
    """Model, server, parameters, messages, roles and draw."""
    cache = tmp_path / "c"
    base = client(cache=cache)
    others: list[Callable[[], Any]] = [
        lambda: base(user("a")),
        lambda: base(user("b")),
        lambda: base([Message("system", "a")]),
        lambda: base([Message("user", "a"), Message("user", "a")]),
        lambda: base.ask([user("a")], draw=1),
        lambda: client(cache=cache, model="other")(user("a")),
        lambda: client(cache=cache, temperature=0.5)(user("a")),
        lambda: client(cache=cache, max_tokens=5)(user("a")),
        lambda: client(cache=cache, extra={"top_p": 0.5})(user("a")),
        lambda: client(cache=cache, base_url=server.url.replace("127.0.0.1", "localhost"))(
            user("a")
        ),
    ]
    for number, ask in enumerate(others, 1):
        for _ in range(2):
            ask()
        assert len(server.asked) == number


def test_failed_run_keeps_its_replies(
    server: Any, client: Make, tmp_path: Path, questions: Conversations
) -> None:
    echoed = server.answer
    server.answer = lambda asked: (
        server.said({"error": {"message": "no thanks"}}, 400)
        if asked.body["messages"][0]["content"] == "question 25"
        else echoed(asked)
    )
    asking = client(cache=tmp_path / "c", concurrency=2)
    with pytest.raises(ChatError, match=r"no thanks.* of 40 replies are saved in .*sqlite") as told:
        asking.ask(questions)
    kept = server.finished
    assert 20 < kept < 40
    assert f" {kept} of 40 replies" in str(told.value)
    server.answer = echoed
    del server.asked[:]
    assert [reply.text for reply in asking.ask(questions)] == [
        q[0].content[::-1] for q in questions
    ]
    assert len(server.asked) == 40 - kept


def test_interrupt_keeps_received_replies(
    server: Any, client: Make, tmp_path: Path, questions: Conversations
) -> None:
    """Replies under way at Ctrl-C are kept too."""
    main = threading.main_thread().ident
    assert main is not None

    def press(done: int, of: int, note: str) -> None:
        if done == 10:
            signal.pthread_kill(main, signal.SIGINT)

    echoed, over = server.answer, threading.Event()

    def answer(asked: Any) -> Any:
        if len(server.asked) > 12:  # three are under way until the run has ended
            over.wait(LONGEST)
        return echoed(asked)

    server.answer = answer
    with pytest.raises(KeyboardInterrupt):
        client(cache=tmp_path / "c", concurrency=3, on_progress=press).ask(questions)
    over.set()
    # Wait for threads whose request has not reached the server yet.
    for thread in threading.enumerate():
        if thread.name.startswith("chat_"):
            thread.join()
    assert _count(Cache(tmp_path / "c")) == server.finished
    got = server.finished
    assert 10 <= got <= 15
    assert len(client(cache=tmp_path / "c").ask(questions)) == 40
    assert server.finished == 40


def _count(cache: Cache) -> int:
    with sqlite3.connect(cache.path) as db:
        count = int(db.execute("SELECT count(*) FROM replies").fetchone()[0])
    db.close()
    return count


def test_only_the_user_can_read_the_cache(server: Any, client: Make, tmp_path: Path) -> None:
    client(cache=tmp_path / "a" / "c")(user("hi"))
    assert (tmp_path / "a" / "c").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "c" / "replies.sqlite").stat().st_mode & 0o777 == 0o600


def test_prompts_and_api_keys_are_not_stored(
    server: Any, client: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-123")
    server.always(server.completion("the reply"))
    asking = client(cache=tmp_path, key_variable="MY_KEY")
    asking(user("a private sentence"))
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"the reply" in stored
    assert b"private" not in stored
    assert b"sk-secret" not in stored
    assert server.asked[0].headers["authorization"] == "Bearer sk-secret-123"
    assert "sk-secret" not in repr(asking) + str(asking.parameters)


def test_invalid_cache_is_reported(client: Make, tmp_path: Path) -> None:
    (tmp_path / "replies.sqlite").write_text("not a database, but long enough to be looked at")
    with pytest.raises(ChatError, match=r"replies.sqlite: the reply cache can't be used"):
        client(cache=tmp_path)(user("hi"))
    (tmp_path / "file").write_text("")
    with pytest.raises(ChatError, match="choose another folder"):
        client(cache=tmp_path / "file")(user("hi"))


KEEP = """
import sys
from pathlib import Path
from winosmith.chat._client import Cache
from winosmith.chat import Reply
cache = Cache(Path(sys.argv[1]))
for number in range(60):
    print(cache.store(str(number), Reply(sys.argv[2], 0, number)).text)
"""


def test_processes_share_a_cache(tmp_path: Path) -> None:
    """Three processes store replies under the same keys at once; all get the same replies."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", KEEP, str(tmp_path / "c"), name],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abc"
    ]
    outputs = [process.communicate(timeout=LONGEST)[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(outputs[0]) == 60
    found = Cache(tmp_path / "c").get_many(map(str, range(60)))
    assert found["59"] == Reply(outputs[0][59], 0, 59)


def test_threads_share_a_new_cache(tmp_path: Path) -> None:
    """Eight threads create its files at once."""
    for number in range(25):
        cache = Cache(tmp_path / str(number))
        with ThreadPoolExecutor(8) as executor:
            list(executor.map(cache.store, map(str, range(40)), repeat(Reply(""))))
        assert _count(cache) == 40


def test_progress_starts_with_cached_replies(server: Any, client: Make, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    asking = client(cache=tmp_path, on_progress=lambda *told: seen.append(told), concurrency=1)
    asking.ask([user("a"), user("b")])
    asking.ask([user("a"), user("b"), user("c")])
    assert seen == [(0, 2, ""), (1, 2, ""), (2, 2, ""), (2, 3, ""), (3, 3, "")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"concurrency": 0}, "concurrency is 0; it must be a whole number, 1 or more"),
        ({"timeout": 0}, "timeout is 0; it must be a number"),
        ({"patience": float("inf")}, "patience is inf; it must be a number"),
        ({"extra": {"model": "x"}}, "extra can't contain 'model'"),
        ({"extra": {"api_key": "x"}}, "extra can't contain 'api_key'"),
    ],
)
def test_invalid_settings_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Client("m", "https://host/v1", **settings)


def test_environment_provides_model_and_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no default server."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    with pytest.raises(InputError, match="the chat server is missing"):
        Client.from_environment("m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    with pytest.raises(InputError, match="the chat model is missing"):
        Client.from_environment()
    monkeypatch.setenv("OPENAI_MODEL", "m")
    assert Client.from_environment() == Client("m", "http://localhost:1/v1")
    assert Client.from_environment("n", max_tokens=3).parameters == {
        "model": "n",
        "temperature": 0.0,
        "max_tokens": 3,
    }
