"""SuperGLUE-WSC: claims, some of whose spans don't match the text."""

import json
from pathlib import Path

import pytest

from winosmith import Claim, formats
from winosmith.errors import FormatError
from winosmith.recast import to_problems

SPLITS = ("train", "val", "test")


def read(data_dir: Path, name: str) -> tuple[Claim, ...]:
    return formats.read_claims(data_dir / f"superglue_wsc/{name}.jsonl")


def test_numbers_of_true_and_false_claims_are_as_published(data_dir):
    labels = {name: [claim.holds for claim in read(data_dir, name)] for name in SPLITS}
    assert [labels["train"].count(value) for value in (True, False)] == [259, 295]
    assert [labels["val"].count(value) for value in (True, False)] == [38, 66]
    assert set(labels["test"]) == {None}


def test_pronoun_is_found_despite_an_incorrect_index(data_dir):
    """The index of this claim names "use", but the text contains only one "it"."""
    said = "line 43: 'span2_index' is 30, .* has 'use'; the only occurrence of 'it' is used"
    with pytest.warns(formats.ReadingNote, match=said):
        claim = read(data_dir, "val")[42]
    assert "to use _ , but really" in claim.sentence
    assert (claim.pronoun, claim.extra["superglue_wsc.span2_index"]) == ("it", 30)


def test_newline_in_a_candidate_becomes_a_space(data_dir):
    """`extra` keeps the newline."""
    claim = next(c for c in read(data_dir, "train") if c.extra["superglue_wsc.idx"] == 234)
    assert claim.candidate == "willow-towered Canopy Huntertropic wrestles"
    assert claim.extra["superglue_wsc.span1_text"] == "willow-towered Canopy\nHuntertropic wrestles"


def test_claims_are_grouped_by_text_and_pronoun(data_dir):
    groups = [len({claim.problem_id for claim in read(data_dir, name)}) for name in SPLITS]
    assert groups == [307, 53, 51]


@pytest.mark.parametrize(("name", "problems", "left"), [("train", 227, 83), ("val", 36, 22)])
def test_claims_are_recast_as_problems_or_listed_with_a_reason(data_dir, name, problems, left):
    recast = to_problems(read(data_dir, name))
    assert (len(recast.problems), len(recast.leftovers)) == (problems, left)
    assert {left.reason for left in recast.leftovers} <= {
        "it is the only claim of its problem",
        "it repeats an earlier claim",
        "no claims of its problem are true, not 1",
    }


def test_claims_without_labels_are_recast_as_problems(data_dir):
    recast = to_problems(read(data_dir, "test"))
    assert (len(recast.problems), len(recast.leftovers)) == (51, 0)
    assert sum(len(problem.options) == 6 for problem in recast.problems) == 2


def test_written_claims_get_the_positions_of_their_spans(tmp_path):
    """If the text contains only the candidate's last word, its position is used."""
    text = "The trophy doesn't fit into the brown suitcase because _ is too small."
    claims = [
        Claim("p", text, candidate, None, "it") for candidate in ("The trophy", "the suitcase")
    ]
    formats.write(claims, tmp_path / "made.jsonl", "superglue-wsc")
    records = [json.loads(line) for line in (tmp_path / "made.jsonl").read_text().splitlines()]
    assert [record["target"]["span1_index"] for record in records] == [0, 7]
    assert {record["target"]["span2_index"] for record in records} == {9}


@pytest.mark.parametrize("name", [*SPLITS, "wsc_test_glue", "fewglue_train", "fewglue_unlabeled"])
def test_records_round_trip_even_if_their_spans_do_not_match(data_dir, tmp_path, name):
    formats.write(read(data_dir, name), tmp_path / "again", "superglue-wsc")
    records = [
        [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in (tmp_path / "again", data_dir / f"superglue_wsc/{name}.jsonl")
    ]
    assert records[0] == records[1]


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (Claim("p", "A _ b.", "x", True, "it"), "the text does not contain the candidate 'x'"),
        (Claim("p", "x _ b.", "x", True), "the format needs the pronoun"),
        (Claim("p", "x a_ b.", "x", True, "it"), "the pronoun 'it' is not a separate word"),
    ],
)
def test_claim_without_its_spans_in_the_text_is_not_written(tmp_path, claim, reason):
    with pytest.raises(FormatError, match=f"'p' can't be written: {reason}"):
        formats.write([claim], tmp_path / "out", "superglue-wsc")


def row(text: str, pronoun: str, index: object, label: object, key: str = "target") -> str:
    """Return the JSON line of a claim about the first letter or word of the text."""
    first = text.split()[0] if text.isascii() else text[0]
    spans = {"span1_text": first, "span1_index": 0, "span2_text": pronoun, "span2_index": index}
    return json.dumps({"text": text, **({key: spans} if key else spans), "label": label}) + "\n"


def test_indexes_may_count_characters(tmp_path):
    """CLUEWSC has such indexes, and labels that are texts. All spans of the file must fit."""
    path = tmp_path / "in.json"
    chinese = row("他说它没有看见它。", "它", 7, "false")
    path.write_text(chinese + row("It hit it, and it fell.", "it", 15, "true"))
    claims = [(claim.sentence, claim.holds) for claim in formats.read_claims(path)]
    assert claims == [("他说它没有看见_。", False), ("It hit it, and _ fell.", True)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            row("Tom hit it because it ran.", "it", 3, True),
            "'span2_index' is 3, where the text has 'because'; the pronoun 'it' occurs 2 times",
        ),
        (row("Tom hit it.", "she", 2, True), "the pronoun 'she' is not in the text"),
        (row("Tom says he ran.", "he", 2, 1), "the label must be true or false, not 1"),
    ],
)
def test_claim_with_an_invalid_index_pronoun_or_label_is_refused(tmp_path, line, reason):
    (tmp_path / "in.jsonl").write_text(row("Tom saw that it ran.", "it", 3, True) + line)
    with pytest.raises(FormatError, match=rf"in\.jsonl:2: {reason}"):
        formats.read_claims(tmp_path / "in.jsonl")


def test_index_in_a_text_without_spaces_counts_characters(tmp_path):
    (tmp_path / "in.jsonl").write_text(row("小明说他说他来。", "他", 1, "true"))
    with pytest.raises(FormatError, match="'span2_index' is 1, where the text has '明'"):
        formats.read_claims(tmp_path / "in.jsonl")


def test_index_that_fits_as_word_and_as_character_is_refused(tmp_path):
    (tmp_path / "in.jsonl").write_text(row("- I I", "I", 2, True))
    with pytest.raises(FormatError, match=r":1: .* fits 'I' both as a word index and as a char"):
        formats.read_claims(tmp_path / "in.jsonl")


@pytest.mark.parametrize(("label", "holds"), [(1, True), (0, False), (-1, None), ("True", True)])
def test_spans_can_be_columns_of_the_row_without_target(tmp_path, label, holds):
    """Hugging Face's copy has this layout, with numbers as labels."""
    (tmp_path / "in.jsonl").write_text(row("Tom says he ran.", "he", "2", label, ""))
    claim = formats.read_claims(tmp_path / "in.jsonl")[0]
    assert (claim.sentence, claim.holds) == ("Tom says _ ran.", holds)
