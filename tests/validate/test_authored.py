"""WinoGrande's rules apply to twins by authors, in scripts that the rules can be checked in."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from winosmith import Dataset, Lineage, Origin, Problem, Response, formats, validate
from winosmith.testing import make_families, make_twins
from winosmith.validate import StructureRules

JAPANESE = [
    Problem(f"{n}", sentence, ("茶碗", "急須"), n, "t")
    for n, sentence in enumerate(
        [
            "棚から落ちた茶碗が急須に当たって、薄い_が粉々に割れてしまった。",
            "棚から落ちた茶碗が急須に当たって、厚い_が粉々に割れてしまった。",
        ]
    )
]
RUSSIAN = [
    Problem(f"{n}", f"Чашка стукнула чайник, и {which} _ разбилась.", ("Чашка", "чайник"), n, "t")
    for n, which in enumerate(["тонкая", "толстая"])
]


def agreed(data: Dataset) -> list[Response]:
    """Return three correct votes on each problem, each by a judge who saw no other half."""
    return [Response(p.id, f"{who}-{p.id}", "validate", p.answer) for p in data for who in "xyz"]


def checked_on(problems: Sequence[Problem], **rules: object) -> dict[str, int]:
    """Return the number of problems that each rule was checked on."""
    found = validate.examine_structure(Dataset(problems), StructureRules(**rules))
    assert found.findings == ()
    return dict(found.checked)


def test_perturbed_problems_and_roots_are_exempt_from_the_rules():
    """If judges find them valid, all are kept, even short ones."""
    data = make_families([1, 3, 5], [2, 2])
    assert len(validate.filter_by_structure(data, StructureRules("winogrande")).kept) < len(data)
    checked = validate.check(data, agreed(data))
    assert checked.kept.ids == data.ids
    assert str(checked.applied_rules) == (
        "WinoGrande's rules for authors were not applied to 7 (perturbed or their roots)"
    )


def test_rules_apply_only_to_twins_in_a_mixed_pool():
    twins = make_twins(3)
    child = Problem("child", "A _ .", ("x", "y"), 0, lineage=Lineage(twins[0].id, twins[0].id))
    data = Dataset([*twins, child])
    found = validate.examine_structure(data)
    assert found.checked["length"] == 4
    assert sorted(found.applied_rules.exempt) == [0, 1, 6]
    assert str(found.applied_rules) == (
        "WinoGrande's rules for authors were applied to 4 of 7 problems; not to 3 (perturbed or "
        "their roots)"
    )
    assert validate.filter_by_structure(data).input() == data


@pytest.mark.parametrize("rules", ["winogrande", "none"])
def test_rules_can_be_set_explicitly(rules):
    """With "winogrande" all problems are checked; with "none" only lineages are."""
    data = make_families([1])
    found = validate.examine_structure(data, StructureRules(rules))
    assert set(found.checked) >= {"lineage"}
    assert ("length" in found.checked) == (rules == "winogrande")
    assert bool(found.findings) == (rules == "winogrande")
    assert str(found.applied_rules).endswith("as configured")
    assert f"|rules:{rules}|" in str(validate.check(data, None, StructureRules(rules)).signature)


def test_complete_twins_can_be_required_without_rules():
    """WinoGrande has no such rule."""
    single = make_twins(1).select([0])
    rules = StructureRules("none", complete=True)
    assert validate.filter_by_structure(single, rules).dropped[0].reason.startswith("other half")


def test_rules_on_words_are_not_checked_in_japanese():
    """Without spaces there is no length, overlap, edit or anchor; only options and answers."""
    anchored = [replace(half, origin=Origin(anchor="棚")) for half in JAPANESE]
    counts = checked_on(anchored)
    checked_rules = {rule for rule, count in counts.items() if count}
    assert checked_rules == {"options", "same options", "flipped answers"}
    checked = validate.check(Dataset(anchored), agreed(Dataset(anchored)))
    assert len(checked.kept) == 2
    assert checked.applied_rules.lines[1].startswith("2 in a script without spaces between words")


def test_equal_sentences_in_japanese_are_not_a_twin():
    twice = [JAPANESE[0], replace(JAPANESE[1], sentence=JAPANESE[0].sentence)]
    found = validate.examine_structure(Dataset(twice))
    assert [f.rule for f in found.findings] == ["edit distance"]


def test_russian_anchors_and_function_words_are_not_checked():
    anchored = [replace(half, origin=Origin(anchor="и чашки")) for half in RUSSIAN]
    found = validate.examine_structure(Dataset(anchored))
    assert [f.detail for f in found.findings] == ["7 words; 15 to 30 are required"] * 2
    assert (found.checked["overlap"], found.checked["edit distance"]) == (2, 2)
    assert (found.checked["anchor"], found.checked["function word"]) == (0, 0)
    assert found.applied_rules.lines[1].startswith("2 in a script other than Latin")


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "number", "name"),
    [
        ("wsc/WSCollection.xml", 285, "WSC"),
        ("wsc/wsc-273.jsonl", 273, "WSC"),
        ("wsc/wsc273.json", 273, "WSC"),
        ("pdp/PDPChallenge2016.xml", 60, "PDP"),
        ("dpr/test.c.txt", 564, "DPR"),
        ("dpr/test.tsv", 564, "DPR"),
        ("knowref/knowref_test.json", 1267, "KnowRef"),
        ("copa/copa-all.xml", 1000, "COPA"),
        ("superglue_copa/val.jsonl", 100, "COPA"),
        ("winogender/all_sentences.tsv", 720, "Winogender"),
    ],
)
def test_published_sets_are_exempt(data_dir, path, number, name):
    data = formats.read(data_dir / path, skip_bad="/dev/null")
    checked = validate.check(data, agreed(data))
    assert len(checked.kept) == len(data) == number
    assert set(checked.applied_rules.exempt.values()) == {f"of {name}, published"}
    plain = Dataset(Problem(f"{n}", p.sentence, p.options) for n, p in enumerate(data))
    assert len(validate.filter_by_structure(plain).kept) == number


@pytest.mark.data
def test_winogrande_itself_is_checked(data_dir):
    """The rules were made for WinoGrande, and none of its problems is exempt."""
    for name in ("train_debiased", "dev", "test"):
        data = formats.read(data_dir / f"winogrande/{name}.jsonl")
        assert validate.find_applied_rules(data, "auto").exempt == {}
