"""`ChatPerturber`: children from a server, resuming, transcripts and failing servers."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import installed
from winosmith import Problem
from winosmith.chat import Budget, ChatError, Client, Message, Messages, Reply
from winosmith.errors import OutputError
from winosmith.evolve import ChatPerturber
from winosmith.testing import chat_server

ROOT = Problem("r1", "The cup hit the jug and the _ broke at once.", ("cup", "jug"), 0)
WORDS = "bowl vase dish pot lamp plate glass mug tray pan box can tin toy pen".split()


def author(messages: Sequence[Message]) -> str:
    """Write the requested number of good rows, each with another pair of things."""
    count, first = map(int, re.findall(r"write (\d+) rows?, numbered from (\d+)",
                                       messages[-1].content)[0])  # fmt: skip
    rows = []
    for number in range(first, first + count):
        one, two = WORDS[number % 15], WORDS[(number + 1 + number // 15) % 15]
        rows.append(f'{number},"The {one} hit the {two} and the _ broke at once.",{one},{two},'
                    f"{1 + number % 2},2")  # fmt: skip
    return "\n".join(rows)


def reply_as_author(messages: Messages) -> Reply:
    return Reply(author(messages))


@dataclass
class Server:
    """An HTTP server that replies like the author and sometimes fails.

    Attributes:
        trouble: Statuses or functions used in place of an answer, by number of the request from 0.
        asked: The conversations.
    """

    trouble: dict[int, Any] = field(default_factory=dict)
    asked: list[Messages] = field(default_factory=list)

    def __call__(self, messages: list[Message]) -> Any:
        """Return the next answer."""
        self.asked.append(messages)
        answer = self.trouble.get(len(self.asked) - 1, author)
        return answer(messages) if callable(answer) else answer


@pytest.fixture(autouse=True)
def chat_packages() -> None:
    """Skip without the packages of the extra `chat`; with CI=true, fail instead."""
    installed("openai", "tenacity")


def _client(url: str, **settings: Any) -> Client:
    return Client("m", url, **{"max_tokens": 500, "patience": 20.0, **settings})


def _perturb(model: Any, **settings: Any) -> list[Problem]:
    return list(ChatPerturber(model, **{"wanted": 25, **settings}).perturb(ROOT, 0))


def test_server_writes_25_children_in_three_turns(tmp_path):
    """The turns have 10, 10 and 5 rows."""
    server, told = Server(), []
    with chat_server(server) as url:
        children = _perturb(
            _client(url), folder=tmp_path, on_progress=lambda *state: told.append(state)
        )
    assert len({child.id for child in children}) == 25
    assert [len(messages) for messages in server.asked] == [1, 3, 5]
    assert told == [
        (0, 25, ""),
        (10, 25, "turn 1: 10 of 10 rows accepted"),
        (20, 25, "turn 2: 10 of 10 rows accepted"),
        (25, 25, "turn 3: 5 of 5 rows accepted"),
        (25, 25, "25 of 25 children were accepted"),
    ]
    (folder,) = tmp_path.iterdir()
    readable = (folder / "transcript.md").read_text("utf-8")
    assert readable.count("## Turn") == 3
    assert "10 rows requested, 10 read, 10 accepted." in readable


def test_finished_dialogue_sends_no_requests(tmp_path):
    """If more children are wanted, it continues."""
    server = Server()
    with chat_server(server) as url:
        first = _perturb(_client(url), folder=tmp_path)
        assert _perturb(_client(url), folder=tmp_path) == first
        assert len(server.asked) == 3
        more = _perturb(_client(url), folder=tmp_path, wanted=30)
    assert more[:25] == first
    assert len(more) == 30
    assert len(server.asked) == 4
    assert len(list(tmp_path.iterdir())) == 1


def test_seeds_models_and_problems_have_their_own_folders(tmp_path):
    twin = Problem("r1", "The cup hit the jug and the _ held.", ("cup", "jug"), 1)
    with chat_server(Server()) as url:
        for name, seed, problem in (("a", 0, ROOT), ("a", 1, ROOT), ("b", 0, ROOT), ("a", 0, twin)):
            perturber = ChatPerturber(Client(name, url), wanted=1, folder=tmp_path)
            list(perturber.perturb(problem, seed))
    assert len(list(tmp_path.iterdir())) == 4


def test_cached_replies_are_used_only_for_the_same_seed(tmp_path):
    server = Server()
    with chat_server(server) as url:
        perturber = ChatPerturber(_client(url, cache=tmp_path), wanted=5)
        for seed, asked in ((0, 1), (1, 2), (0, 2)):
            assert len(list(perturber.perturb(ROOT, seed))) == 5
            assert len(server.asked) == asked


@pytest.mark.parametrize(("status", "words"), [(500, "after 1 attempt"), (401, "requires a key")])
def test_failing_server_loses_no_children(tmp_path, status, words):
    server = Server(dict.fromkeys(range(2, 9), status))
    with chat_server(server) as url:
        perturber = ChatPerturber(_client(url, patience=0.0), wanted=25, folder=tmp_path)
        with pytest.raises(ChatError, match=words) as told:
            list(perturber.perturb(ROOT, 0))
        assert "20 of 25 children of 'r1' are saved in " in str(told.value)
        server.trouble.clear()
        children = list(perturber.perturb(ROOT, 0))
        undisturbed = _perturb(_client(url))
    assert children == undisturbed


def test_children_are_yielded_before_an_error():
    """Even without a folder."""
    with chat_server(Server({1: 403})) as url:
        perturbing = ChatPerturber(_client(url), wanted=25).perturb(ROOT, 0)
        assert len(list(itertools.islice(perturbing, 10))) == 10
        with pytest.raises(ChatError, match="10 of 25 children of 'r1' had been accepted"):
            next(perturbing)


def test_complete_rows_of_a_truncated_reply_are_kept():
    """The next turn requests fewer rows."""

    def cut(messages: list[Message]) -> Reply:
        return Reply(author(messages)[:-30], finish="length")

    server = Server({0: cut})
    with chat_server(server) as url:
        assert len(_perturb(_client(url))) == 25
    assert "Please write 9 rows" in server.asked[1][-1].content


def test_exhausted_budget_keeps_children_with_a_warning(tmp_path):
    with chat_server(Server()) as url:
        client = _client(url, budget=Budget(tokens=5000))
        with pytest.warns(
            UserWarning,
            match=r"r1: 10 of 25 children were accepted; the budget does not .* spent\); raise",
        ):
            children = _perturb(client, folder=tmp_path)
        assert len(children) == 10
        assert _perturb(_client(url), folder=tmp_path)[:10] == children


def test_model_without_any_row_ends_with_a_warning(tmp_path):
    with pytest.warns(
        UserWarning, match="the last 3 turns had no acceptable row .*transcript"
    ) as told:
        assert _perturb(lambda _: Reply("I like cups."), folder=tmp_path) == []
    assert str(tmp_path) in str(told[0].message)
    with pytest.warns(UserWarning, match="the last 3 turns had no acceptable row"):
        assert _perturb(lambda _: pytest.fail("asked again"), folder=tmp_path) == []


KILLED = """
import os, signal, sys
from winosmith.chat import Reply
from winosmith.evolve import ChatPerturber
from test_chat import ROOT, author
turns = []
def model(messages):
    turns.append(messages)
    if len(turns) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return Reply(author(messages))
list(ChatPerturber(model, wanted=25, folder=sys.argv[1]).perturb(ROOT, 0))
"""


def test_killed_run_resumes_with_the_unfinished_turn(tmp_path):
    """Here the third turn is killed. The power may also fail at any byte of the transcript."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    turns: list[Messages] = []

    def model(messages: Messages) -> Reply:
        turns.append(messages)
        return Reply(author(messages))

    whole = _perturb(reply_as_author)
    assert _perturb(model, folder=tmp_path) == whole
    assert len(turns) == 1
    (folder,) = tmp_path.iterdir()
    record = (folder / "transcript.jsonl").read_bytes()
    for length in range(0, len(record), 97):
        (folder / "transcript.jsonl").write_bytes(record[:length])
        assert _perturb(reply_as_author, folder=tmp_path) == whole
        assert (folder / "transcript.jsonl").read_bytes() == record


def test_damaged_transcripts_are_reported(tmp_path):
    _perturb(reply_as_author, folder=tmp_path)
    (folder,) = tmp_path.iterdir()
    path = folder / "transcript.jsonl"
    lines = path.read_text("utf-8").split("\n")
    for broken in ("{", '{"said": 1}', "[]", '{"said": "a", "reply": {"words": "b"}}'):
        path.write_text("\n".join([lines[0], broken, *lines[2:]]), "utf-8")
        with pytest.raises(OutputError, match=r"transcript.jsonl:2: this line is not a turn"):
            _perturb(reply_as_author, folder=tmp_path)
    path.write_text('{"problem": 1}\n', "utf-8")
    with pytest.raises(OutputError, match="belongs to another dialogue"):
        _perturb(reply_as_author, folder=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="the dialogue can't be saved"):
        _perturb(reply_as_author, folder=tmp_path / "file")


def test_transcript_keeps_replies_unchanged(tmp_path):
    """The readable copy escapes control characters and HTML."""
    row = author([Message("user", "write 1 rows, numbered from 1")])
    strange = f'Sure\u2028<script>\x1b[2J "é" \x85\n{row}'
    assert len(_perturb(lambda _: Reply(strange, 9, 7, "stop"), wanted=1, folder=tmp_path)) == 1
    (folder,) = tmp_path.iterdir()
    _, turn, _ = (folder / "transcript.jsonl").read_text("utf-8").split("\n")
    assert json.loads(turn)["reply"] == {
        "text": strange, "tokens_in": 9, "tokens_out": 7, "finish": "stop",
    }  # fmt: skip
    readable = (folder / "transcript.md").read_text("utf-8")
    assert "\x1b" not in readable
    assert "\n    <script>\\x1b[2J" in readable
    assert len(_perturb(lambda _: pytest.fail("asked"), wanted=1, folder=tmp_path)) == 1


def test_row_equal_to_a_taken_problem_is_refused():
    """Here it is the other half of the twin."""
    row = '1,"The cup hit the jug and the _ held at once.",cup,jug,2,1'
    other = Problem("r2", "The cup hit the jug and the _ held at once.", ("cup", "jug"), 1)
    model: Callable[[Messages], Reply] = lambda _: Reply(row)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(_perturb(model)) == 1
        assert _perturb(model, taken=[ROOT, other]) == []
