"""Each structural rule is applied if its input is known, and not otherwise."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Edit, Lineage, Origin, Problem, formats, practice, validate
from winosmith.errors import RecipeError
from winosmith.testing import make_twins
from winosmith.validate import StructureRules

TEXT = "The trophy does not fit into the brown suitcase because the _ is far too {} indeed."
FIRST = Problem("a", TEXT.format("large"), ("trophy", "suitcase"), 0, "t")
SECOND = Problem("b", TEXT.format("small"), ("trophy", "suitcase"), 1, "t")


def find_broken_rules(*problems: Problem, **rules: Any) -> dict[str, tuple[int, ...]]:
    """Return the rows that break each rule."""
    found = validate.examine_structure(Dataset(problems), StructureRules(**rules))
    return {
        rule: found.find_failed_rows(rule) for rule in found.checked if found.find_failed_rows(rule)
    }


def with_anchor(problem: Problem, anchor: str) -> Problem:
    return replace(problem, origin=Origin(anchor=anchor))


def test_contradictory_lineage_is_refused():
    """Examples are wrong edits and impossible depths. A missing parent is not checked."""
    edits = (Edit("substitute", 1, "prize", "cup"),)
    liar = replace(SECOND, id="c", twin_id=None, lineage=Lineage("a", "a", edits))
    zero = replace(SECOND, id="d", twin_id=None, lineage=Lineage("a", "a", declared=0))
    sound = replace(SECOND, id="e", twin_id=None, lineage=Lineage("a", "a", declared=9))
    orphan = replace(SECOND, id="f", twin_id=None, lineage=Lineage("z", "z", edits))
    found = validate.examine_structure(Dataset([FIRST, liar, zero, sound, orphan]))
    assert (found.find_failed_rows("lineage"), found.checked["lineage"]) == ((1, 2), 3)
    assert "lineage" not in validate.examine_structure(Dataset([FIRST])).checked


def test_valid_twin_breaks_no_rule():
    assert find_broken_rules(FIRST, SECOND, complete=True) == {}


@pytest.mark.parametrize(("words", "kept"), [(14, False), (15, True), (30, True), (31, False)])
def test_half_must_have_15_to_30_words(words, kept):
    sentence = "trophy suitcase _ " + "word " * (words - 3)
    assert (find_broken_rules(replace(FIRST, sentence=sentence)) == {}) == kept


def test_only_the_short_half_is_dropped():
    short = replace(FIRST, sentence="The trophy leaves the suitcase: the _ is large.")
    result = validate.filter_by_structure(
        Dataset([short, SECOND]), StructureRules(overlap=None, edit=None)
    )
    assert (result.kept.ids, result.kept.singles) == (("b",), (0,))
    assert result.dropped[0].reason == "length: 9 words; 15 to 30 are required"


def test_halves_must_share_70_percent_of_their_words():
    start = "trophy suitcase _ d e f "
    first = replace(FIRST, sentence=start + "g h i j")
    for end, expected in (("g x y z", {}), ("w x y z", {"overlap": (0, 1)})):
        second = replace(SECOND, sentence=start + end)
        assert find_broken_rules(first, second, length=(1, 30), edit=None) == expected


def test_edits_can_be_limited_and_must_not_be_empty():
    """The limit is 3 of 10 tokens here; equal sentences are never a twin."""
    start = "trophy suitcase _ d e f "
    first = replace(FIRST, sentence=start + "g h i j")
    for end, limited, by_default in (
        ("g x y z", {}, {}),
        ("w x y z", {"edit distance": (0, 1)}, {}),
        ("g h i j", {"edit distance": (0, 1)}, {"edit distance": (0, 1)}),
    ):
        second = replace(SECOND, sentence=start + end)
        assert find_broken_rules(first, second, length=(1, 30), overlap=None, edit=0.3) == limited
        assert find_broken_rules(first, second, length=(1, 30), overlap=None) == by_default


def test_moved_words_count_as_edits_but_not_for_the_overlap():
    first = replace(FIRST, sentence="trophy suitcase _ a b c d e f g")
    second = replace(SECOND, sentence="trophy suitcase _ g f e d c b a")
    assert find_broken_rules(first, second, length=(1, 30), edit=0.3) == {"edit distance": (0, 1)}


def test_overlap_of_exactly_70_percent_is_kept():
    """The paper's measure counts words: three of ten differ, though they are six tokens."""
    start = "trophy suitcase _ d e f g "
    first = replace(FIRST, sentence=start + "he'd I've we'll")
    second = replace(SECOND, sentence=start + "she's you're they'd")
    assert find_broken_rules(first, second, length=(1, 30)) == {}
    assert find_broken_rules(first, second, length=(1, 30), edit=0.3) == {"edit distance": (0, 1)}


def with_domain(domain: str | None, *problems: Problem) -> list[Problem]:
    return [replace(problem, origin=Origin(domain=domain)) for problem in problems]


@pytest.mark.parametrize(
    ("domain", "fault"),
    [
        ("social", False),
        ("Physical", False),
        ("", None),
        (None, None),
        ("politics", True),
        ("other", True),
    ],
)
def test_domain_must_be_social_or_physical(domain, fault):
    """These are the paper's two. A problem without a domain is not checked."""
    found = validate.examine_structure(Dataset(with_domain(domain, FIRST, SECOND)))
    assert found.checked["domain"] == (0 if fault is None else 2)
    assert found.find_failed_rows("domain") == ((0, 1) if fault else ())
    if fault:
        assert found.findings[0].detail == f"{domain!r}; social or physical is required"


PEOPLE = "{} lent {} the heavy umbrella at the station on Monday because _ was far too {} for it."


def people(
    options: tuple[str, str], pronouns: tuple[str | None, str | None] = (None, None)
) -> list[Problem]:
    """Return a twin about two people, with the pronouns that the blanks represent."""
    halves = [
        Problem(f"{answer}", PEOPLE.format(*options, word), options, answer, "t", pronoun=pronoun)
        for answer, (word, pronoun) in enumerate(zip(("kind", "wet"), pronouns, strict=True))
    ]
    return with_domain("social", *halves)


@pytest.mark.parametrize(
    ("options", "pronouns", "fault"),
    [
        # by their names
        (("Anna", "Rebecca"), (None, None), False),
        (("Robert", "Samuel"), (None, None), False),
        (("Anna", "Robert"), (None, None), True),
        (("Robert", "Anna"), ("he", "he"), None),  # name and pronoun contradict each other
        # by words for people; the owner's pronoun does not count
        (("the actress", "the queen"), (None, None), False),
        (("her brother", "his uncle"), (None, None), False),
        (("the waiter", "the nun"), (None, None), True),
        (("Mr. Alex", "Robert"), (None, None), False),
        # names used for both genders, and people of unknown gender
        (("Alex", "Robert"), (None, None), None),
        (("Jordan", "Sam"), (None, None), None),
        (("the nurse", "the doctor"), (None, None), None),
        # by the pronouns, each the answer's of its half
        (("the nurse", "the doctor"), ("she", "she"), False),
        (("the nurse", "the doctor"), ("she", "he"), True),
        (("the nurse", "the doctor"), ("she", None), None),
        (("Alex", "Robert"), ("him", None), False),
        (("Alex", "Robert"), ("her", None), True),
        (("the nurse", "the doctor"), ("they", "they"), None),
    ],
)
def test_two_people_must_have_the_same_gender(options, pronouns, fault):
    """If names, words or pronouns don't show both genders, the rule is not checked."""
    found = validate.examine_structure(Dataset(people(options, pronouns)))
    assert found.checked["same gender"] == (0 if fault is None else 2)
    assert found.find_failed_rows("same gender") == ((0, 1) if fault else ())


def test_gender_is_checked_only_in_the_social_domain():
    for domain in ("physical", None):
        problems = with_domain(domain, *people(("Anna", "Robert")))
        found = validate.examine_structure(Dataset(problems))
        assert found.checked["same gender"] == 0


def test_people_in_practice_twins_have_the_same_gender():
    """All their names are in the rule's lists."""
    data = practice.generate_corpus(200, seed=2).dataset
    found = validate.examine_structure(data)
    social = [p.origin is not None and p.origin.domain == "social" for p in data]
    assert found.checked["same gender"] == sum(social) > 100
    assert found.findings == ()


@pytest.mark.data
def test_no_pair_of_names_in_winogrande_breaks_the_gender_rule(data_dir):
    """WinoGrande's authors followed the rule. There are 11,795 pairs of names."""
    data = formats.read(data_dir / "winogrande/train_xl.jsonl")
    named = [p for p in data if all(o[:1].isupper() and " " not in o for o in p.options)]
    found = validate.examine_structure(Dataset(with_domain("social", *named)))
    assert found.find_failed_rows("same gender") == ()
    assert found.checked["same gender"] > 0.8 * len(named)


def test_halves_must_have_different_answers():
    assert find_broken_rules(FIRST, replace(SECOND, answer=0)) == {"flipped answers": (0, 1)}
    turned = replace(SECOND, options=("suitcase", "trophy"))
    assert find_broken_rules(FIRST, replace(turned, answer=0)) == {}
    assert find_broken_rules(FIRST, replace(turned, answer=1)) == {"flipped answers": (0, 1)}


def test_halves_must_have_the_same_options():
    assert find_broken_rules(FIRST, replace(SECOND, options=("Suitcase", "trophy"), answer=0)) == {}
    broken = find_broken_rules(FIRST, replace(SECOND, options=("trophy", "brown")))
    assert broken == {"same options": (0, 1)}


def test_options_must_occur_in_the_sentence():
    missing = replace(FIRST, options=("trophy", "bag"))
    assert find_broken_rules(missing, same_options=False) == {"options": (0,)}
    assert find_broken_rules(replace(FIRST, options=("TROPHY", "Suitcase "))) == {}
    assert find_broken_rules(missing, options_in_sentence=False) == {}


def test_both_halves_must_contain_the_anchor():
    assert find_broken_rules(with_anchor(FIRST, "Brown suitcase"), SECOND) == {}
    assert find_broken_rules(with_anchor(FIRST, "the large"), SECOND) == {"anchor": (1,)}
    assert find_broken_rules(FIRST, with_anchor(SECOND, "hiking, boots")) == {"anchor": (0, 1)}


@pytest.mark.parametrize("anchor", ["the", "It", "he", "of", "of the", "!"])
def test_anchor_must_have_a_content_word(anchor):
    """WinoGrande, section 2, excludes function words such as "the, it, he, of"."""
    assert find_broken_rules(with_anchor(FIRST, anchor), SECOND) == {"function word": (0,)}


def test_missing_half_is_a_fault_only_if_twins_must_be_complete():
    assert find_broken_rules(FIRST) == {}
    assert find_broken_rules(FIRST, complete=True) == {"other half": (0,)}


@pytest.mark.parametrize("complete", [False, True])
def test_three_problems_with_one_twin_id_are_a_fault(complete):
    """Which two are the twin is unknown, so that none of the three counts as a single."""
    third = replace(SECOND, id="c")
    assert find_broken_rules(FIRST, SECOND, third, complete=complete) == {"twin id": (0, 1, 2)}
    other = replace(FIRST, id="d", twin_id="u")
    found = validate.examine_structure(Dataset([FIRST, SECOND, third, other]))
    assert (found.checked["twin id"], found.find_failed_rows("twin id")) == (4, (0, 1, 2))
    assert [f.detail for f in found.findings if f.rule == "twin id"] == [
        f"3 problems share the twin id {FIRST.twin_id!r}; 2 make a twin"
    ]


def test_rule_without_its_input_is_not_checked():
    """Singles have no overlap, and withheld answers can't be compared."""
    blind = [replace(FIRST, answer=None), replace(SECOND, answer=None)]
    single = replace(FIRST, id="c", twin_id=None)
    found = validate.examine_structure(Dataset([*blind, single]))
    assert found.findings == ()
    without = ("anchor", "function word", "domain", "same gender", "flipped answers")
    of_twin = ("same options", "overlap", "edit distance")
    assert found.checked == {
        "length": 3, "options": 3, **dict.fromkeys(of_twin, 2), **dict.fromkeys(without, 0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("off", "rule"),
    [
        ({"length": None}, "length"),
        ({"overlap": None}, "overlap"),
        ({"edit": None}, "edit distance"),
        ({"anchor": False}, "anchor"),
        ({"content_anchor": False}, "function word"),
        ({"options_in_sentence": False}, "options"),
        ({"same_options": False}, "same options"),
        ({"flipped": False}, "flipped answers"),
        ({"domain": False}, "domain"),
        ({"same_gender": False}, "same gender"),
    ],
)
def test_disabled_rule_is_not_checked(off, rule):
    data = make_twins(3)
    names, others = (
        {*validate.examine_structure(data, StructureRules(**how)).checked} for how in ({}, off)
    )
    assert (others | {rule}, rule in others) == (names, False)


def test_limit_of_0_does_not_disable_a_rule():
    found = validate.examine_structure(make_twins(2), StructureRules(edit=0, overlap=0))
    assert found.find_failed_rows("edit distance") == (0, 1, 2, 3)
    assert found.checked["overlap"] == 4


@pytest.mark.parametrize(
    "rules",
    [
        {"length": (0, 30)},
        {"length": (30, 15)},
        {"length": (15,)},
        {"overlap": 1.1},
        {"overlap": float("nan")},
        {"edit": -0.1},
    ],
)
def test_limit_out_of_range_is_refused(rules):
    with pytest.raises(RecipeError):
        StructureRules(**rules)


def test_reason_lists_all_faults_in_the_order_of_the_rules():
    second = replace(SECOND, sentence="The suitcase is small, and the _ is not.", answer=0)
    dropped = validate.filter_by_structure(Dataset([FIRST, second])).dropped
    rules = [[part.partition(":")[0] for part in entry.reason.split(" | ")] for entry in dropped]
    assert rules == [
        ["flipped answers", "overlap"],
        ["length", "options", "flipped answers", "overlap"],
    ]


words = st.sampled_from("trophy suitcase brown large small the is".split())
halves = st.builds(
    lambda number, before, after, answer, twin_id: Problem(
        str(number), " ".join([*before, "_", *after]), ("trophy", "suitcase"), answer, twin_id
    ),
    st.integers(0, 10_000),
    st.lists(words, max_size=20),
    st.lists(words, max_size=20),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, "t", "u"]),
)


@given(st.lists(halves, max_size=6, unique_by=lambda problem: problem.id))
def test_kept_and_dropped_are_the_input(problems):
    data = Dataset(problems)
    kept = validate.filter_by_structure(data).kept
    assert validate.filter_by_structure(data).input() == data
    assert validate.filter_by_structure(kept, StructureRules(complete=True)).input() == kept


@given(st.permutations(range(12)))
def test_order_of_the_problems_does_not_matter(order):
    data = make_twins(6)
    data = Dataset(
        replace(p, answer=0) if row in (1, 5) else p for row, p in enumerate(data) if row != 3
    )
    order = [row for row in order if row < len(data)]
    rules = StructureRules(complete=True)
    straight, permuted = (
        validate.filter_by_structure(of, rules) for of in (data, data.select(order))
    )
    assert {*permuted.kept.ids} == {*straight.kept.ids}
    one, other = ({(d.problem.id, d.reason) for d in of.dropped} for of in (straight, permuted))
    assert one == other


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "broken_rules", "kept"),
    [
        ("dev", {"length": 2}, 1265),
        ("train_debiased", {"length": 28, "overlap": 2}, 9218),
        ("train_l", {"length": 38, "overlap": 4}, 10192),
        ("test", {"length": 3}, 1764),
    ],
)
def test_winogrande_breaks_its_rules_in_few_places(data_dir, name, broken_rules, kept):
    data = formats.read(data_dir / f"winogrande/{name}.jsonl")
    found = validate.examine_structure(data)
    counts = {rule: len(found.find_failed_rows(rule)) for rule in found.checked}
    assert Counter({rule: n for rule, n in counts.items() if n}) == broken_rules
    assert len(found.drop_failed().kept) == kept
