"""The live checklist, the anchor and the preview."""

from typing import Any

import pytest

from tests.web.write.conftest import FORM
from winosmith import Dataset, Origin, Problem
from winosmith.validate import examine_structure
from winosmith.web.problems.checks import normalize_text
from winosmith.web.write.page import make_readings
from winosmith.web.write.rules import TwinInput, _find_faults, check_twin, find_shared_anchors

ANCHORS = ("water", "garden", "hose")


def _run_checks(anchors: Any = ANCHORS, **changes: str) -> dict[tuple[str, Any], Any]:
    return {
        (check.rule, check.half): check
        for check in check_twin(TwinInput.from_form({**FORM, **changes}), anchors)
    }


def test_complete_twin_passes_every_check(site):
    checks = _run_checks()
    assert {check.verdict for check in checks.values()} == {"pass"}
    assert checks["length", 0].figure == "22"
    assert checks["overlap", None].figure == "86 %"
    assert checks["edit distance", None].figure == "3 edits"


def test_checklist_contains_every_structural_rule(site):
    options, origin = ("kettle", "bucket"), Origin(anchor="water")
    halves = [
        Problem(name, FORM[f"sentence_{n}"], options, n - 1, "t", origin=origin)
        for n, name in ((1, "a"), (2, "b"))
    ]
    checked = examine_structure(Dataset(halves)).checked
    rules = {rule for rule, number in checked.items() if number}
    assert rules <= {rule for rule, _half in _run_checks()}
    assert len(rules) == 8


def test_empty_form_has_only_open_checks(site):
    found = check_twin(TwinInput(), ANCHORS)
    assert {check.verdict for check in found} == {"todo"}
    assert not any("missing" in check.advice for check in found)  # there is no option to name


@pytest.mark.parametrize(
    ("changes", "rule", "half", "figure", "advice"),
    [
        ({"sentence_1": "The _ is small."}, "length", 0, "4", "Write 11 more words."),
        ({"sentence_2": "word " * 31 + "_"}, "length", 1, "32", "Delete 2 words."),
        ({"sentence_1": FORM["sentence_1"].replace("_", "it")}, "blank", 0, "", "underscore"),
        ({"sentence_1": FORM["sentence_1"] + " _"}, "blank", 0, "", "there are 2"),
        ({"option_1": "pot"}, "options", 0, "", "missing: “pot”"),
        ({"option_2": "Kettle"}, "options differ", None, "", "must differ"),
        ({"option_2": "ket_tle"}, "options differ", None, "", "can’t contain a blank"),
        ({"option_2": ""}, "options differ", None, "", "Enter each option"),
        ({"answer_2": "0"}, "flipped answers", None, "", "choose the other option"),
        ({"answer_2": ""}, "flipped answers", None, "", "Choose the correct option for each half."),
        ({"sentence_2": FORM["sentence_1"]}, "edit distance", None, "0 edits", "the same"),
        ({"domain": "other"}, "domain", None, "", "people or about things"),
        ({"option_1": "k" * 101}, "options differ", None, "", "100 characters"),
        ({"sentence_1": FORM["sentence_1"] + "e" * 1000}, "length", 0, "", "1000 characters"),
    ],
)
def test_each_broken_rule_has_advice(site, changes, rule, half, figure, advice):
    check = _run_checks(**changes)[rule, half]
    assert check.verdict in ("fail", "todo")
    assert check.figure == figure
    assert advice in check.advice


def test_halves_with_too_little_overlap_fail(site):
    """The number of edits has no limit."""
    other = (
        "Whoever fills a kettle or a bucket in summer knows that water is heavy and that the _ "
        "never suffices."
    )
    checks = _run_checks(sentence_2=other)
    assert checks["overlap", None].verdict == "fail"
    assert checks["edit distance", None].verdict == "pass"
    assert checks["overlap", None].field == "sentence_2"


def test_different_anchor_words_in_the_halves_fail(site):
    checks = _run_checks(
        sentence_1=FORM["sentence_1"].replace("garden", "flowers"),
        sentence_2=FORM["sentence_2"].replace("water", "soup"),
    )
    assert "fail" in {checks["anchor", 0].verdict, checks["anchor", 1].verdict}


def test_anchor_is_the_drawn_words_in_both_halves(site):
    """If there are none, it is the most frequent drawn word."""
    both = [FORM["sentence_1"], FORM["sentence_2"]]
    assert find_shared_anchors(both, ANCHORS) == "water garden"
    assert find_shared_anchors(["A hose.", "Nothing."], ANCHORS) == "hose"
    assert find_shared_anchors(both, ()) == ""


def test_anchor_is_no_function_word_and_may_be_missing(site):
    """WinoGrande refused such anchors, too. The revision of a twin without anchor needs none."""
    assert _run_checks(("because",))["function word", None].verdict == "fail"
    assert not {rule for rule, _half in _run_checks(())} & {"anchor", "function word"}


def test_preview_marks_differing_words_and_the_answer(site):
    typed = TwinInput.from_form(FORM)
    for half, (sentence, readings) in enumerate(
        zip(typed.sentences, make_readings(typed), strict=True)
    ):
        assert [reading["right"] for reading in readings] == [half == 0, half == 1]
        for reading in readings:
            whole = "".join(text for text, _kind in reading["pieces"])
            assert whole == sentence.replace("_", reading["option"])
    marked = [
        [text for text, kind in readings[0]["pieces"] if kind == "differs"]
        for readings in make_readings(typed)
    ]
    assert marked == [["much too small"], ["just large enough"]]


def test_input_is_normalized(site):
    assert normalize_text(" a\r\n b\x00  ____ c\u202e ") == "a b _ c"
    assert normalize_text("e\u0301 \ud800") == "é ?"
    typed = TwinInput.from_form(FORM)
    assert TwinInput.from_form(typed.as_form()) == typed
    assert TwinInput.from_form({"answer_1": "7", "domain": "<b>"}).answers == (None, 1)


JAPANESE = {
    "sentence_1": "棚から落ちた茶碗が急須に当たって、薄い_が粉々に割れてしまった。",
    "sentence_2": "棚から落ちた茶碗が急須に当たって、厚い_が粉々に割れてしまった。",
    "option_1": "茶碗",
    "option_2": "急須",
}


def test_twin_without_spaces_can_be_submitted(site):
    """In Japanese, rules that count or know words are not checked."""
    checks = _run_checks(("茶碗",), **JAPANESE)
    unchecked = {key for key, check in checks.items() if check.verdict == "unchecked"}
    assert unchecked == {
        *(("length", half) for half in (0, 1)),
        *(("anchor", half) for half in (0, 1)),
        *((rule, None) for rule in ("overlap", "edit distance", "function word")),
    }
    rest = {check.verdict for key, check in checks.items() if key not in unchecked}
    assert rest == {"pass"}
    assert {checks[key].figure for key in unchecked if key[0] != "anchor"} == {""}

    assert _find_faults(TwinInput.from_form({**FORM, **JAPANESE}), ("茶碗",)) == {}


def test_each_half_is_checked_in_its_own_script(site):
    """Rules that compare the halves are not checked."""
    checks = _run_checks(sentence_2=JAPANESE["sentence_2"])
    assert (checks["length", 0].verdict, checks["length", 1].verdict) == ("pass", "unchecked")
    assert checks["overlap", None].verdict == "unchecked"
    assert checks["anchor", 1].verdict == "unchecked"


def test_blank_next_to_a_word_is_separated_and_reported(site):
    glued = FORM["sentence_2"].replace("_ was", "_was")
    assert TwinInput.from_form({**FORM, "sentence_2": glued}).sentences[1] == FORM["sentence_2"]
    checks = _run_checks(sentence_2=glued)
    assert {check.verdict for check in checks.values()} == {"pass"}
    assert checks["blank", 1].figure == "separated from the words next to it"
    assert checks["blank", 0].figure == ""
