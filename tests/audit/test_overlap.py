"""Items that occur in a collection of texts, and the declared licence and canary of a data set."""

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from winosmith import Dataset, Origin, Problem, audit
from winosmith.errors import FormatError

WORDS = [f"{a}{b}{c}" for a in "bdgk" for b in "aeiou" for c in "lmnr"]


def _make_quiz(n: int = 200, seed: int = 0) -> Dataset:
    """Make questions of random words that share only their beginning."""
    rng = np.random.default_rng(seed)

    def some(count: int) -> str:
        return " ".join(rng.choice(WORDS, count))

    return Dataset(
        (Problem(f"q{at}", f"Which of these, in one word, is the {some(10)}?",
                 tuple(f"{some(1)} {at}{letter}" for letter in "xyz"), int(rng.integers(3)),
                 blank=None)
         for at in range(n)), "quiz",
    )  # fmt: skip


def _write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_question_is_found_by_eight_of_its_own_words(tmp_path):
    """Case is ignored, and so are words with which all questions begin."""
    data = _make_quiz(40)
    own = data[7].sentence.split(" is the ")[1].rstrip("?")
    texts = _write(tmp_path / "web.txt", [
        "Which of these, in one word, is the one?", "",
        f"He said: {own.upper()},", "that was all.", "",
        " ".join(data[8].sentence.rstrip("?").split()[-7:]),
    ])  # fmt: skip
    found = audit.find_overlap({"quiz": data}, texts)["quiz"]
    assert list(found.found_questions) == ["q7"]
    assert found.found_questions["q7"] in own
    assert (found.pieces, found.checked_count) == (3, 40)


def test_items_without_spaces_are_reported_as_not_searched_for(tmp_path):
    other = Problem("z", "什么动物会在夜里捕鱼呢？", ("猫头鹰", "大熊猫"), 0, blank=None)
    data = Dataset([*_make_quiz(39), other], "quiz")
    texts = _write(tmp_path / "web.txt", [" ".join(p.options[p.answer or 0] for p in data)])
    found = audit.find_overlap({"quiz": data}, texts)
    assert found["quiz"].count_found_options(data) == ((39, 39), (0, 78))
    assert found["quiz"].record()["items_unread"] == 1
    told = audit.render_page(audit.audit({"quiz": data}, texts=found, draws=19, probe_draws=0))
    assert "items not searched for" in told
    assert "keys found in the texts, of 39" in told


def test_copies_of_a_question_in_another_split_are_found(tmp_path):
    data = _make_quiz(5)
    again = Problem("again", data[2].sentence, data[2].options, 0, blank=None)
    texts = _write(tmp_path / "web.txt", [data[2].sentence])
    found = audit.find_overlap({"one": data, "two": Dataset([again])}, texts)
    assert ([*found["one"].found_questions], [*found["two"].found_questions]) == (["q2"], ["again"])


@pytest.mark.parametrize("kind", ["web.txt", "web.jsonl", "web.jsonl.gz", "nested.jsonl"])
def test_formats_of_texts_give_equal_results(kind, tmp_path):
    data = _make_quiz(6)
    said = [f"{p.sentence} {p.options[1]}." for p in data.problems[:3]]
    key = "text" if kind.startswith("web") else "other"
    lines = [json.dumps({"meta": 1, key: text}) for text in said]
    raw = "\n\n".join(said if kind == "web.txt" else lines).encode()
    (tmp_path / kind).write_bytes(gzip.compress(raw) if kind.endswith(".gz") else raw)
    found = audit.find_overlap({"quiz": data}, tmp_path / kind)["quiz"]
    assert sorted(found.found_questions) == ["q0", "q1", "q2"]
    assert [found.option_counts[f"q{at}"] for at in range(4)] == [(0, 1, 0)] * 3 + [(0, 0, 0)]
    assert found.joint_option_counts == found.option_counts


def test_keys_next_to_their_questions_are_flagged(tmp_path):
    data = _make_quiz()
    leaked = [
        f"{p.sentence} {p.options[p.answer or 0]}" if at % 3 == 0 else " ".join(p.options)
        for at, p in enumerate(data)
    ]
    clean = [f"{p.sentence} {' '.join(p.options)}" for p in data]
    named = {}
    for name, lines in (("leaked", leaked), ("clean", clean)):
        texts = audit.find_overlap({"quiz": data}, _write(tmp_path / name, ["\n\n".join(lines)]))
        found = audit.audit({"quiz": data}, texts=texts, draws=99, probe_draws=0)
        named[name] = [one.cue for one in found.parts[0].battery.flagged]
        assert len(texts["quiz"].found_questions) == (67 if name == "leaked" else 200)
        assert "questions found in the texts, of 200 searched for" in audit.render_page(found)
    (one,) = named["leaked"]
    assert one in ("the most often in the texts", "the most often in a text with its question")
    assert named["clean"] == []
    (broken,) = found.failures("texts")
    assert broken.startswith("quiz: the question of q0 was found in the texts: “")
    assert broken.endswith("” (and 199 more of this kind)")


def test_invalid_json_lines_and_gzip_files_are_refused(tmp_path):
    path = _write(tmp_path / "web.jsonl", ['{"text": "a"}', "{no"])
    with pytest.raises(FormatError, match=r"web\.jsonl:2: the line is not JSON"):
        audit.find_overlap({"quiz": _make_quiz(3)}, path)
    whole = gzip.compress(b"words and words")
    for raw in (b"plain", whole[:-9], whole[:10] + b"\xff" * 9):
        (tmp_path / "web.txt.gz").write_bytes(raw)
        with pytest.raises(FormatError, match="can't be read"):
            audit.find_overlap({"quiz": _make_quiz(3)}, tmp_path / "web.txt.gz")


GUID = "26b5c67b-86ad-4a3e-8f4d-9a3f1d1a0f3c"


@pytest.mark.parametrize(
    ("card", "text", "says"),
    [
        ("README.md", "---\nlicense: cc-by-4.0\n---\n# Quiz", "cc-by-4.0"),
        ("readme.txt", "# Quiz\n\n## Licence\n\nFor research alone.", "For research alone."),
        ("DATASHEET.md", "- **License:** MIT", "MIT"),
        ("LICENSE", "\nApache License\nVersion 2.0", "Apache License"),
        ("croissant.json", '{"name": "x",\n "license": "mit"}', "mit"),
        ("notes.md", "license: none of my business", None),
    ],
)
def test_licence_is_read_from_cards_next_to_the_file(card, text, says, tmp_path):
    path = _write(tmp_path / "quiz.jsonl", ["{}"])
    _write(tmp_path / card, [text])
    assert audit.find_declarations(path).licence == (says and (says, card))


def test_licence_of_items_has_priority_and_canary_needs_a_guid(tmp_path):
    """A canary is the word with a GUID, in the file or a card."""
    (tmp_path / "data").mkdir()
    path = _write(tmp_path / "data" / "quiz.jsonl", ['{"question": "Is a canary a bird?"}'])
    item = Problem("a", "It is _", ("x", "y"), 0, origin=Origin(licence="CC0-1.0"))
    data = Dataset([item], "quiz")
    known = audit.find_declarations(path, data)
    assert known == audit.Declarations(("CC0-1.0", "its items"), None)
    found = audit.audit(data, draws=19, probe_draws=0, declared={"quiz": known})
    assert found.failures("licence,canary") == ["quiz: no canary is declared"]
    assert "No canary is declared for quiz" in audit.render_page(found)
    _write(tmp_path / "CANARY", [f"BENCHMARK DATA. canary GUID {GUID}"])
    assert audit.find_declarations(path).canary == (GUID, "CANARY")


def test_canary_is_found_in_any_file_of_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "quiz.zip", "w") as archive:
        archive.writestr("one.jsonl", "{}")
        archive.writestr("two.jsonl", f"canary GUID {GUID}")
    assert audit.find_declarations(tmp_path / "quiz.zip").canary == (GUID, "quiz.zip")
