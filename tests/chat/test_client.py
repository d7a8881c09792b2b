"""The chat client: replies, the cache and its secrets, budgets, interrupts, and solving."""

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

import pytest

from tests.waiting import LONGEST
from winosmith.chat import Budget, BudgetError, ChatError, Client, Message, Reply
from winosmith.chat._client import Cache
from winosmith.errors import InputError
from winosmith.solve._chat import ChatSolver
from winosmith.testing import make_twins


def user(text: str) -> list[Message]:
    """Return a conversation of one question."""
    return [Message("user", text)]


def test_reply_has_text_tokens_and_finish_reason(server, client):
    """A reply may lack them, and its text may be in parts."""
    server.always(server.completion("one", tokens=(7, 2), finish_reason="length"))
    assert client()(user("hi")) == Reply("one", 7, 2, "length")
    server.always({"choices": [{"message": {"role": "assistant", "content": None}}]})
    assert client()(user("hi")) == Reply("")
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    server.always({"choices": [{"message": {"content": parts}}]})
    assert client()(user("hi")).text == "ab"


def test_request_has_only_the_given_parameters(server, client):
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
def test_replies_are_in_the_order_of_the_questions(server, client, questions, concurrency):
    server.slowly(lambda asked: 0.002 * (hash(str(asked.body)) % 10))
    replies = client(concurrency=concurrency).ask(questions)
    assert [reply.text for reply in replies] == [q[0].content[::-1] for q in questions]
    assert server.most_at_once <= concurrency


def test_requests_are_concurrent_up_to_the_limit(server, client, questions):
    echoed, eight = server.answer, threading.Barrier(8)

    def answer(asked: Any) -> Any:
        eight.wait(LONGEST)  # until eight have arrived
        return echoed(asked)

    server.answer = answer
    client(concurrency=8, timeout=LONGEST).ask(questions)
    assert server.most_at_once == 8


def test_equal_conversations_are_asked_once(server, client):
    replies = client().ask([user("a"), user("b"), user("a")])
    assert [reply.text for reply in replies] == ["a", "b", "a"]
    assert len(server.asked) == 2


def test_cached_questions_send_no_requests(server, client, tmp_path, questions):
    first = client(cache=tmp_path / "c").ask(questions)
    assert client(cache=tmp_path / "c", concurrency=1).ask(questions) == first
    assert len(server.asked) == 40


def test_cache_key_covers_all_that_affects_a_reply(server, client, tmp_path):
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


def test_failed_run_keeps_its_replies(server, client, tmp_path, questions):
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


def test_interrupt_keeps_received_replies(server, client, tmp_path, questions):
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
    # The shell ignores Ctrl-C in background jobs.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            client(cache=tmp_path / "c", concurrency=3, on_progress=press).ask(questions)
    finally:
        signal.signal(signal.SIGINT, before)
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


def test_only_the_user_can_read_the_cache(server, client, tmp_path):
    client(cache=tmp_path / "a" / "c")(user("hi"))
    assert (tmp_path / "a" / "c").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "c" / "replies.sqlite").stat().st_mode & 0o777 == 0o600


def test_prompts_and_api_keys_are_not_stored(server, client, tmp_path, monkeypatch):
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


def test_invalid_cache_is_reported(client, tmp_path):
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


def test_processes_share_a_cache(tmp_path):
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


def test_threads_share_a_new_cache(tmp_path):
    """Eight threads create its files at once."""
    for number in range(25):
        cache = Cache(tmp_path / str(number))
        with ThreadPoolExecutor(8) as executor:
            list(executor.map(cache.store, map(str, range(40)), repeat(Reply(""))))
        assert _count(cache) == 40


def test_progress_starts_with_cached_replies(server, client, tmp_path):
    seen: list[tuple[int, int, str]] = []
    asking = client(cache=tmp_path, on_progress=lambda *told: seen.append(told), concurrency=1)
    asking.ask([user("a"), user("b")])
    asking.ask([user("a"), user("b"), user("c")])
    assert seen == [(0, 2, ""), (1, 2, ""), (2, 2, ""), (2, 3, ""), (3, 3, "")]


BAD_SETTINGS = [
    ({"concurrency": 0}, "concurrency is 0; it must be a whole number, 1 or more"),
    ({"timeout": 0}, "timeout is 0; it must be a number"),
    ({"patience": float("inf")}, "patience is inf; it must be a number"),
    ({"extra": {"model": "x"}}, "extra can't contain 'model'"),
    ({"extra": {"api_key": "x"}}, "extra can't contain 'api_key'"),
    ({"max_tokens": None, "budget": Budget(tokens=5)}, "a budget requires max_tokens"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Client("m", "https://host/v1", **settings)


def test_environment_provides_model_and_server(monkeypatch):
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


MOST = len("question 00") + 16 + 64 + 10
"""Most tokens that one question can use, with replies of ten tokens."""


def test_budget_accepts_the_other_name_of_max_tokens():
    other = {"max_completion_tokens": 5}
    Client("m", "https://host/v1", max_tokens=None, extra=other, budget=Budget(tokens=5))


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("limit", [0, 150, 600, 1000])
def test_token_budget_is_not_exceeded(server, client, questions, tmp_path, concurrency, limit):
    """Requests stop only if the rest of the budget may not be enough for one more."""
    server.always(server.completion("1", tokens=(20, 3)))
    budget = Budget(tokens=limit)
    asking = client(budget=budget, max_tokens=10, concurrency=concurrency, cache=tmp_path / "c")
    if limit == 1000:
        asking.ask(questions)
        assert budget.spent.tokens_in + budget.spent.tokens_out == 40 * 23
        return
    with pytest.raises(BudgetError, match=f"budget of {limit} tokens does not allow") as told:
        asking.ask(questions)
    spent = budget.spent.tokens_in + budget.spent.tokens_out
    assert limit - MOST <= spent <= limit
    assert spent == 23 * len(server.asked)
    assert f"{20 * len(server.asked):,} tokens in" in str(told.value)
    assert f"{len(server.asked)} of 40 replies are saved" in str(told.value)


def test_money_budget_is_not_exceeded(server, client, questions):
    server.always(server.completion("1", tokens=(20, 3)))
    budget = Budget(money=0.5, price_in=1000.0, price_out=2000.0)
    with pytest.raises(BudgetError, match=r"budget of 0.5 in money .*\(0\.\d+ in money\)"):
        client(budget=budget, max_tokens=10).ask(questions)
    assert 0.5 - MOST * 0.002 <= budget.spent_money <= 0.5
    assert budget.spent_money == pytest.approx(0.026 * len(server.asked))


def test_cached_replies_cost_nothing(server, client, questions, tmp_path):
    """So repeated runs on small budgets finish."""
    server.always(server.completion("1", tokens=(20, 3)))
    for _ in range(5):
        try:
            client(budget=Budget(tokens=300), max_tokens=10, cache=tmp_path).ask(questions)
        except BudgetError:
            continue
    nothing = Budget(tokens=0)
    assert len(client(budget=nothing, max_tokens=10, cache=tmp_path).ask(questions)) == 40
    assert len(server.asked) == 40


def test_requests_without_token_counts_are_charged_in_full(server, client):
    """So are timed-out requests, because the server may charge for its late reply; a 503 isn't."""
    server.then(server.completion("1", tokens=None))
    server.then(server.completion("late"), wait=60.0)
    server.then("", 503)
    budget = Budget(tokens=1000)
    asking = client(budget=budget, max_tokens=10, timeout=3.0)
    asking(user("question 00"))
    assert budget.spent.tokens_in + budget.spent.tokens_out == MOST
    asking(user("question 00"))
    assert budget.spent.tokens_in + budget.spent.tokens_out == 2 * MOST + 23


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tokens": -1}, "tokens is -1; it must be a whole number"),
        ({"money": float("nan"), "price_in": 1.0}, "money is nan; it must be a number"),
        ({"money": 1.0}, "requires the prices"),
    ],
)
def test_invalid_budgets_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Budget(**wrong)


DATA = make_twins(3)


def _logprobs(*told: tuple[str, float]) -> Any:
    top = [{"token": token, "logprob": logprob} for token, logprob in told]
    return {"content": [{"token": "1", "logprob": -0.1, "top_logprobs": top}]}


def test_log_probabilities_become_scores(server, client, tmp_path):
    """They are cached, and swapped options are put back into the problem's order."""
    told = _logprobs(("2", -2.0), ("1", -1.0), ("x", -5.0))
    server.always(server.completion("1", logprobs=told))
    solver = ChatSolver(client(cache=tmp_path), scoring="logprobs")
    first = solver.score(DATA)
    assert first[0] == pytest.approx((0.7311, 0.2689), abs=1e-4)
    assert (server.asked[0].body["logprobs"], server.asked[0].body["top_logprobs"]) == (True, 20)
    assert solver.score(DATA) == first
    assert len(server.asked) == len(DATA)
    both = ChatSolver(client(cache=tmp_path), scoring="logprobs", swap=True)
    assert all(scores == pytest.approx((0.5, 0.5)) for scores in both.score(DATA))
    assert both.ask(DATA).position_bias == 1.0


def test_missing_log_probabilities_are_reported(server, client):
    server.always(server.completion("1"))
    with pytest.raises(ChatError, match=r"reports no log-probabilities; score by the reply"):
        ChatSolver(client(), scoring="logprobs").score(DATA)


def test_concurrent_replies_go_to_their_own_problems(server, client):
    rights = {problem.sentence: problem.answer for problem in make_twins(20)}

    def answer(asked: Any) -> Any:
        sentence = asked.body["messages"][-1]["content"].partition("Sentence: ")[2].split("\n")[0]
        return server.said(server.completion(f"Option {rights[sentence] + 1}."))

    server.answer = answer
    scores = ChatSolver(client()).score(make_twins(20).blind())
    assert [own.index(1.0) for own in scores] == list(rights.values())
