"""Anchor words, and topics: built-in, from folders, JSON Lines files and https addresses."""

import json
import time
from collections import Counter
from functools import partial

import pytest

from tests.fetch.conftest import Site, certificate, site  # noqa: F401
from tests.waiting import LONGEST
from winosmith.errors import FormatError, InputError
from winosmith.text import FUNCTION_WORDS, tokenize
from winosmith.topics import (
    Fetch,
    HttpTopics,
    Topic,
    fetch_https,
    list_folder,
    load_built_in_topics,
    open_topics,
    read_jsonl,
)

TEA = Topic("Tea", "Ann boils water for her tea. The water of Ben is hot, and it's 1,000 mm deep.")


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        (TEA.text, "boils deep hot tea water"),
        ("Water is wet. Drink water. Ann drinks.", "drinks water wet"),
        ("It is he, Ann. They are Ben's.", ""),
    ],
)
def test_anchor_candidates_are_content_words_without_names(text, candidates):
    """Numbers, units and punctuation are not candidates either.

    A first word is a candidate only if it also occurs in lower case, as a capital may mean a name.
    """
    assert Topic("x", text).candidates == tuple(candidates.split())
    if not candidates:
        with pytest.raises(InputError, match="no word that can be an anchor"):
            Topic("x", text).draw_anchors(0)


def test_seed_determines_the_anchor_words():
    """Over many seeds, each word is drawn about equally often; too many words are all words."""
    drawn = Counter(word for seed in range(4000) for word in TEA.draw_anchors(seed, 1))
    assert TEA.draw_anchors(3, 2) == TEA.draw_anchors(3, 2)
    assert set(drawn) == set(TEA.candidates)
    assert max(drawn.values()) - min(drawn.values()) < 150  # 800 each; 4.2 standard deviations
    assert sorted(TEA.draw_anchors(1, 99)) == list(TEA.candidates)
    for seed, count, reason in ((-1, 1, "the seed is -1"), (1, 0, "anchor words is 0")):
        with pytest.raises(InputError, match=reason):
            TEA.draw_anchors(seed, count)


def test_built_in_topics_are_complete_and_balanced():
    """They are drawn about equally often."""
    built_in = load_built_in_topics()
    shipped = built_in.items
    assert len(shipped) >= 40
    assert len({topic.title for topic in shipped}) == len({t.text for t in shipped}) == len(shipped)
    domains = Counter(topic.domain for topic in shipped)
    assert domains["social"] == domains["physical"] == len(shipped) / 2
    for topic in shipped:
        assert 80 <= len(topic.text.split()) <= 150, topic.title
        assert len(topic.candidates) >= 40, topic.title
    drawn = Counter(built_in.draw(seed).title for seed in range(60 * len(shipped)))
    assert len(drawn) == len(shipped)
    assert max(drawn.values()) < 120


def test_drawn_anchors_are_distinct_content_words_of_the_text():
    for seed in range(300):
        topic = load_built_in_topics().draw(seed)
        assert len(set(topic.anchors)) == 3
        assert set(topic.anchors) <= set(tokenize(topic.text)) - FUNCTION_WORDS


TEXT = "Warm the milk slowly and stir the honey into it."


def test_texts_of_a_folder_and_its_subfolders_are_topics(tmp_path):
    """The title is the text's heading, or else the file's name."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "warm_milk.txt").write_text(TEXT)
    (tmp_path / "bread.md").write_text(f"# How to bake\n\n{TEXT}\n\nServe the bread.")
    (tmp_path / "plain.txt").write_text(f"How to serve\n\n{TEXT}")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    topics = list_folder(tmp_path)
    drawn = {(topic := topics.draw(seed)).title: topic for seed in range(60)}
    assert set(drawn) == {"Warm milk", "How to bake", "How to serve"}
    assert drawn["How to bake"].text == f"{TEXT}\n\nServe the bread."
    assert drawn["Warm milk"].source == "warm_milk.txt"
    assert topics.draw(5) == list_folder(tmp_path).draw(5)


def test_unusable_files_in_a_folder_are_ignored(tmp_path):
    """A folder without a usable one is refused."""
    with pytest.raises(InputError, match="is not a folder"):
        list_folder(tmp_path / "none")
    with pytest.raises(InputError, match=r"contains no \.txt or \.md"):
        list_folder(tmp_path)
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe caf\xe9")
    (tmp_path / "c.txt").write_text("It is he.")
    (tmp_path / "d.txt").write_text(TEXT)
    topics = list_folder(tmp_path)
    assert {topics.draw(seed).title for seed in range(30)} == {"D"}
    (tmp_path / "d.txt").unlink()
    with pytest.raises(InputError, match="has no usable topic"):
        topics.draw(1)


def test_lines_of_a_jsonl_file_are_topics(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [{"title": "A", "text": TEXT, "url": 1}, {"title": "B", "text": TEXT, "domain": "x"}]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    topics = read_jsonl(path)
    assert [topic.domain for topic in topics.items] == [None, "x"]
    assert {topics.draw(seed).title for seed in range(30)} == {"A", "B"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"title": "A"}', "'text' must be text"),
        ('{"title": " ", "text": "b"}', "has no title"),
        ('{"title": "A", "text": "b", "domain": 3}', "'domain' must be text"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_invalid_line_is_reported_when_the_file_is_opened(tmp_path, line, reason):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"title": "A", "text": TEXT}) + "\n" + line)
    with pytest.raises(FormatError, match=reason) as refused:
        read_jsonl(path)
    assert (refused.value.path, refused.value.line) == (str(path), 2)


def test_control_characters_and_excessive_length_are_removed(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        json.dumps({"title": "How\nto\x00" + " go" * 200, "text": "\x1b[1m" + "word " * 9000})
    )
    topic = read_jsonl(path).items[0]
    assert topic.title.startswith("How to go")
    assert len(topic.title) <= 200
    assert topic.text.startswith("[1mword")
    assert topic.text.endswith("word…")
    assert len(topic.text) <= 20_000


def test_open_topics_recognises_folders_files_and_no_source(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(TEXT)
    (tmp_path / "t.jsonl").write_text(json.dumps({"title": "A", "text": TEXT}))
    assert open_topics("texts", tmp_path).draw(0).source == "a.txt"
    assert open_topics(str(tmp_path / "t.jsonl")).draw(0).source == "t.jsonl"
    assert open_topics(None) is load_built_in_topics()
    with pytest.raises(InputError, match=r"neither a folder of texts, a \.jsonl file nor an https"):
        open_topics("elsewhere", tmp_path)


def _json(thing: object) -> tuple[str, bytes]:
    return "application/json; charset=utf-8", json.dumps(thing).encode()


@pytest.fixture
def endpoint(site: Site) -> Site:  # noqa: F811
    """Return a server without any files yet."""
    site.piece = 1000
    return site


@pytest.fixture
def ask(endpoint: Site) -> Fetch:
    """Return a function that requests pages from the server as `HttpTopics` does."""
    return partial(fetch_https, timeout=LONGEST)


def test_topics_are_drawn_from_a_json_list(endpoint, ask):
    """The address is requested once for many draws in a row."""
    endpoint.files["/"] = _json([{"title": name, "text": TEXT} for name in "ABC"])
    topics = HttpTopics(endpoint.url + "/", pause=60, fetch=ask)
    assert {topics.draw(seed).title for seed in range(60)} == set("ABC")
    assert topics.draw(4) == topics.draw(4)
    assert topics.draw(4).source == "localhost"
    assert endpoint.paths == ["/"]


def test_single_topics_of_several_answers_are_collected(endpoint, ask):
    topics = HttpTopics(endpoint.url + "/", pause=0, fetch=ask)
    for name in "ABC":
        endpoint.files["/"] = _json({"title": name, "text": TEXT})
        topics.draw(0)
    assert {topics.draw(seed).title for seed in range(60)} == set("ABC")


def test_plain_text_is_a_topic_titled_by_its_first_line(endpoint, ask):
    endpoint.files["/"] = ("text/plain", f"How to warm milk\n\n{TEXT}".encode())
    topic = HttpTopics(endpoint.url + "/", fetch=ask).draw(1)
    assert (topic.title, topic.text) == ("How to warm milk", TEXT)


def test_received_topics_are_used_if_the_server_fails(endpoint, ask):
    """The failing server is requested less often."""
    endpoint.files["/"] = _json({"title": "A", "text": TEXT})
    topics = HttpTopics(endpoint.url + "/", pause=1.0, fetch=ask)
    topics.draw(0)
    endpoint.files.clear()
    time.sleep(1.01)  # so that the address is requested again
    assert [topics.draw(seed).title for seed in range(5)] == ["A"] * 5
    assert len(endpoint.paths) == 2


def test_redirect_on_the_same_host_is_followed(endpoint, ask):
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
def test_redirect_to_another_host_port_or_scheme_is_refused(endpoint, ask, elsewhere):
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
def test_answer_without_topics_is_refused_with_the_reason(endpoint, ask, answer, reason):
    if answer:
        endpoint.files["/"] = answer
    with pytest.raises(InputError, match=reason) as refused:
        HttpTopics(endpoint.url + "/", fetch=ask).draw(0)
    assert endpoint.url in str(refused.value)


def test_answer_above_the_size_limit_is_refused(endpoint):
    endpoint.files["/"] = ("text/plain", b"word " * 10_000)
    with pytest.raises(InputError, match="larger than 20,000 bytes"):
        fetch_https(endpoint.url + "/", max_bytes=20_000)


def test_slow_answer_times_out(endpoint):
    """The server sends a few bytes now and then, which keeps the connection open."""
    endpoint.files["/"], endpoint.pace = ("text/plain", b"word " * 10_000), 0.1
    with pytest.raises(InputError, match="took too long"):
        fetch_https(endpoint.url + "/", timeout=0.4)


def test_unknown_certificate_is_refused(endpoint, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    endpoint.files["/"] = _json({"title": "A", "text": TEXT})
    with pytest.raises(InputError, match="certificate verify failed"):
        HttpTopics(endpoint.url + "/").draw(0)


@pytest.mark.parametrize(
    "url", ["http://example.org/", "file:///etc/passwd", "https://", "https://ann:x@example.org/"]
)
def test_addresses_other_than_https_are_refused(url):
    """Addresses without a host, or with a password, are refused, too."""
    with pytest.raises(InputError, match="must have an https"):
        open_topics(url)
