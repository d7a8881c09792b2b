"""Anchor words, the topics that ship, and topics from folders and JSONL files."""

import json
from collections import Counter
from pathlib import Path

import pytest

from winosmith import topics
from winosmith.errors import FormatError, InputError
from winosmith.text import FUNCTION_WORDS, tokenize
from winosmith.topics import FolderTopics, JsonlTopics, Topic, load_built_in_topics, open_topics

TEA = Topic("Tea", "Ann boils water for her tea. The water of Ben is hot, and it's 1,000 mm deep.")


def test_anchors_are_content_words_and_no_names() -> None:
    """Function words, names, numbers, units and marks are no candidates."""
    assert TEA.candidates == ("boils", "deep", "hot", "tea", "water")


def test_a_word_that_begins_a_sentence_counts_where_it_stands_in_small_letters_too() -> None:
    """A capital at the beginning of a sentence makes no name of a word that occurs without it."""
    assert Topic("x", "Water is wet. Drink water. Ann drinks.").candidates == (
        "drinks",
        "water",
        "wet",
    )


def test_the_same_seed_draws_the_same_words_and_others_differ() -> None:
    """Anchor words hang on the seed alone, and over many seeds each is drawn about as often."""
    drawn = Counter(word for seed in range(4000) for word in TEA.draw_anchors(seed, 1))
    assert TEA.draw_anchors(3, 2) == TEA.draw_anchors(3, 2)
    assert set(drawn) == set(TEA.candidates)
    assert max(drawn.values()) - min(drawn.values()) < 150  # 800 each; 4.2 standard deviations


def test_words_are_drawn_without_repetition_as_far_as_they_go() -> None:
    """A draw of more words than the text has gives each of them once."""
    assert sorted(TEA.draw_anchors(1, 99)) == list(TEA.candidates)


@pytest.mark.parametrize(
    ("seed", "count", "reason"), [(-1, 1, "the seed is -1"), (1, 0, "anchor words is 0")]
)
def test_what_can_not_be_drawn_is_refused(seed: int, count: int, reason: str) -> None:
    """A negative seed and a count under 1 are refused."""
    with pytest.raises(InputError, match=reason):
        TEA.draw_anchors(seed, count)


def test_a_topic_without_content_words_is_refused() -> None:
    """A text of function words and names has no anchors to draw."""
    with pytest.raises(InputError, match="no word that can be an anchor"):
        Topic("x", "It is he, Ann. They are Ben's.").draw_anchors(0)


def test_topics_ship() -> None:
    """At least 40 articles ship, half social and half physical, of 80 to 150 words, each once."""
    shipped = [
        topics.load_built_in_topics()[number]
        for number in range(len(topics.load_built_in_topics()))
    ]
    assert len(shipped) >= 40
    assert len({topic.title for topic in shipped}) == len({t.text for t in shipped}) == len(shipped)
    domains = Counter(topic.domain for topic in shipped)
    assert domains["social"] == domains["physical"] == len(shipped) / 2
    for topic in shipped:
        assert 80 <= len(topic.text.split()) <= 150, topic.title
        assert len(topic.candidates) >= 40, topic.title


def test_a_drawn_anchor_stands_in_the_text_and_passes_the_rules() -> None:
    """Whatever is drawn is a token of its article and no function word, three distinct words."""
    for seed in range(300):
        topic = topics.load_built_in_topics().draw(seed)
        assert len(set(topic.anchors)) == 3
        assert set(topic.anchors) <= set(tokenize(topic.text)) - FUNCTION_WORDS


def test_every_topic_is_drawn_about_as_often() -> None:
    """Over many seeds each shipped topic comes up, none more than twice as often as expected."""
    count = len(topics.load_built_in_topics())
    drawn = Counter(topics.load_built_in_topics().draw(seed).title for seed in range(60 * count))
    assert len(drawn) == count
    assert max(drawn.values()) < 120


TEXT = "Warm the milk slowly and stir the honey into it."


def test_a_folder_gives_its_texts(tmp_path: Path) -> None:
    """Texts of folders in the folder are topics too; a heading or the file's name is the title."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "warm_milk.txt").write_text(TEXT)
    (tmp_path / "bread.md").write_text(f"# How to bake\n\n{TEXT}\n\nServe the bread.")
    (tmp_path / "plain.txt").write_text(f"How to serve\n\n{TEXT}")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    topics = FolderTopics.open(tmp_path)
    drawn = {(topic := topics.draw(seed)).title: topic for seed in range(60)}
    assert set(drawn) == {"Warm milk", "How to bake", "How to serve"}
    assert drawn["How to bake"].text == f"{TEXT}\n\nServe the bread."
    assert drawn["Warm milk"].source == "warm_milk.txt"
    assert topics.draw(5) == FolderTopics.open(tmp_path).draw(5)


def test_files_that_can_not_be_used_are_passed_over(tmp_path: Path) -> None:
    """Empty files, files that are not UTF-8 and texts without content words are never drawn."""
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe caf\xe9")
    (tmp_path / "c.txt").write_text("It is he.")
    (tmp_path / "d.txt").write_text(TEXT)
    topics = FolderTopics.open(tmp_path)
    assert {topics.draw(seed).title for seed in range(30)} == {"D"}
    (tmp_path / "d.txt").unlink()
    with pytest.raises(InputError, match="has no usable topic"):
        topics.draw(1)


def test_a_folder_without_texts_is_refused(tmp_path: Path) -> None:
    """A folder without texts, and a path that is none, are refused with the reason."""
    with pytest.raises(InputError, match=r"contains no \.txt or \.md"):
        FolderTopics.open(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        FolderTopics.open(tmp_path / "none")


def test_a_jsonl_file_gives_its_lines(tmp_path: Path) -> None:
    """Each line is a topic; other keys and empty lines do no harm; the domain may be missing."""
    path = tmp_path / "t.jsonl"
    lines = [{"title": "A", "text": TEXT, "url": 1}, {"title": "B", "text": TEXT, "domain": "x"}]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    topics = JsonlTopics.open(path)
    assert len(topics) == 2
    assert [topics[n].domain for n in (0, 1)] == [None, "x"]
    assert {topics.draw(seed).title for seed in range(30)} == {"A", "B"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "an object with a title and a text"),
        ('{"title": "A"}', "'text' must be text"),
        ('{"title": " ", "text": "b"}', "has no title"),
        ('{"title": "A", "text": "b", "domain": 3}', "'domain' must be text"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_is_no_topic_is_named(tmp_path: Path, line: str, reason: str) -> None:
    """A line that is no topic is refused when the file is opened, by file and line."""
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"title": "A", "text": TEXT}) + "\n" + line)
    with pytest.raises(FormatError, match=reason) as refused:
        JsonlTopics.open(path)
    assert (refused.value.path, refused.value.line) == (str(path), 2)


def test_what_a_page_and_a_database_can_not_hold_is_left_out(tmp_path: Path) -> None:
    """Control characters go, a title is one line of at most 200 characters, a long text is cut."""
    path = tmp_path / "t.jsonl"
    path.write_text(
        json.dumps({"title": "How\nto\x00" + " go" * 200, "text": "\x1b[1m" + "word " * 9000})
    )
    topic = JsonlTopics.open(path)[0]
    assert topic.title.startswith("How to go")
    assert len(topic.title) <= 200
    assert topic.text.startswith("[1mword")
    assert topic.text.endswith("word…")
    assert len(topic.text) <= 20_000


def test_a_source_is_opened_by_where_it_is(tmp_path: Path) -> None:
    """A folder, a file and nothing open as what they are; a relative path starts at the base."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(TEXT)
    (tmp_path / "t.jsonl").write_text(json.dumps({"title": "A", "text": TEXT}))
    assert isinstance(open_topics("texts", tmp_path), FolderTopics)
    assert isinstance(open_topics(str(tmp_path / "t.jsonl")), JsonlTopics)
    assert open_topics(None) is load_built_in_topics()
    with pytest.raises(InputError, match=r"neither a folder of texts, a \.jsonl file nor an https"):
        open_topics("elsewhere", tmp_path)
