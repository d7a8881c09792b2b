"""Each rule of structure is applied where it can be, and nowhere else."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
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


def broken(*problems: Problem, **rules: Any) -> dict[str, tuple[int, ...]]:
    """Return the rows that break each rule."""
    found = validate.examine_structure(Dataset(problems), StructureRules(**rules))
    return {
        rule: found.find_failed_rows(rule) for rule in found.checked if found.find_failed_rows(rule)
    }


def anchored(problem: Problem, anchor: str) -> Problem:
    """Return the problem with an anchor."""
    return replace(problem, origin=Origin(anchor=anchor))


def test_a_lineage_that_can_not_be_true_is_refused() -> None:
    """Edits that don't fit and impossible depths are faults; a lost parent is not checked."""
    edits = (Edit("substitute", 1, "prize", "cup"),)
    liar = replace(SECOND, id="c", twin_id=None, lineage=Lineage("a", "a", edits))
    zero = replace(SECOND, id="d", twin_id=None, lineage=Lineage("a", "a", declared=0))
    sound = replace(SECOND, id="e", twin_id=None, lineage=Lineage("a", "a", declared=9))
    orphan = replace(SECOND, id="f", twin_id=None, lineage=Lineage("z", "z", edits))
    found = validate.examine_structure(Dataset([FIRST, liar, zero, sound, orphan]))
    assert (found.find_failed_rows("lineage"), found.checked["lineage"]) == ((1, 2), 3)
    assert "lineage" not in validate.examine_structure(Dataset([FIRST])).checked


def test_a_sound_twin_breaks_no_rule() -> None:
    """A twin written as WinoGrande asks for is kept whole."""
    assert broken(FIRST, SECOND, complete=True) == {}


@pytest.mark.parametrize(("words", "kept"), [(14, False), (15, True), (30, True), (31, False)])
def test_a_half_has_15_to_30_words(words: int, kept: bool) -> None:
    """15 and 30 words between white space are enough, 14 and 31 are not."""
    sentence = "trophy suitcase _ " + "word " * (words - 3)
    assert (broken(replace(FIRST, sentence=sentence)) == {}) == kept


def test_only_the_half_that_is_too_short_is_dropped() -> None:
    """A rule for halves drops the half that breaks it, and leaves the other a single."""
    short = replace(FIRST, sentence="The trophy leaves the suitcase: the _ is large.")
    result = validate.filter_by_structure(
        Dataset([short, SECOND]), StructureRules(overlap=None, edit=None)
    )
    assert (result.kept.ids, result.kept.singles) == (("b",), (0,))
    assert result.dropped[0].reason == "length: 9 words; 15 to 30 are required"


def test_the_halves_share_70_percent_of_their_words() -> None:
    """Of ten words, three may differ and not four; breaking it drops both halves."""
    start = "trophy suitcase _ d e f "
    first = replace(FIRST, sentence=start + "g h i j")
    for end, expected in (("g x y z", {}), ("w x y z", {"overlap": (0, 1)})):
        second = replace(SECOND, sentence=start + end)
        assert broken(first, second, length=(1, 30), edit=None) == expected


def test_the_edit_is_small_if_asked_and_never_nothing() -> None:
    """With a limit, of ten tokens three may be edited, not four; equal sentences are no twin."""
    start = "trophy suitcase _ d e f "
    first = replace(FIRST, sentence=start + "g h i j")
    for end, limited, by_default in (
        ("g x y z", {}, {}),
        ("w x y z", {"edit distance": (0, 1)}, {}),
        ("g h i j", {"edit distance": (0, 1)}, {"edit distance": (0, 1)}),
    ):
        second = replace(SECOND, sentence=start + end)
        assert broken(first, second, length=(1, 30), overlap=None, edit=0.3) == limited
        assert broken(first, second, length=(1, 30), overlap=None) == by_default


def test_a_limit_of_edits_sees_words_that_moved_and_the_overlap_does_not() -> None:
    """Halves with the same words in another order share all, yet differ in many tokens."""
    first = replace(FIRST, sentence="trophy suitcase _ a b c d e f g")
    second = replace(SECOND, sentence="trophy suitcase _ g f e d c b a")
    assert broken(first, second, length=(1, 30), edit=0.3) == {"edit distance": (0, 1)}


def test_a_twin_that_shares_exactly_70_percent_of_its_words_is_kept() -> None:
    """The paper's measure decides: three of ten words differ, though they are six tokens."""
    start = "trophy suitcase _ d e f g "
    first = replace(FIRST, sentence=start + "he'd I've we'll")
    second = replace(SECOND, sentence=start + "she's you're they'd")
    assert broken(first, second, length=(1, 30)) == {}
    assert broken(first, second, length=(1, 30), edit=0.3) == {"edit distance": (0, 1)}


def of_domain(domain: str | None, *problems: Problem) -> list[Problem]:
    """Return the problems in a domain."""
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
def test_a_domain_is_one_of_the_papers_two(domain: str | None, fault: bool | None) -> None:
    """Another domain is a finding that names it; a problem without one is not checked."""
    found = validate.examine_structure(Dataset(of_domain(domain, FIRST, SECOND)))
    assert found.checked["domain"] == (0 if fault is None else 2)
    assert found.find_failed_rows("domain") == ((0, 1) if fault else ())
    if fault:
        assert found.findings[0].detail == f"{domain!r}; social or physical is required"


PEOPLE = "{} lent {} the heavy umbrella at the station on Monday because _ was far too {} for it."


def people(
    options: tuple[str, str], pronouns: tuple[str | None, str | None] = (None, None)
) -> list[Problem]:
    """Return a twin about two people, with the pronouns that the blanks stand for."""
    halves = [
        Problem(f"{answer}", PEOPLE.format(*options, word), options, answer, "t", pronoun=pronoun)
        for answer, (word, pronoun) in enumerate(zip(("kind", "wet"), pronouns, strict=True))
    ]
    return of_domain("social", *halves)


@pytest.mark.parametrize(
    ("options", "pronouns", "fault"),
    [
        # by their names
        (("Anna", "Rebecca"), (None, None), False),
        (("Robert", "Samuel"), (None, None), False),
        (("Anna", "Robert"), (None, None), True),
        (("Robert", "Anna"), ("he", "he"), None),  # a name and a pronoun that say two things
        # by words for people; the owner's pronoun says nothing
        (("the actress", "the queen"), (None, None), False),
        (("her brother", "his uncle"), (None, None), False),
        (("the waiter", "the nun"), (None, None), True),
        (("Mr. Alex", "Robert"), (None, None), False),
        # names of both genders, and people of none
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
def test_two_people_have_one_gender(
    options: tuple[str, str], pronouns: tuple[str | None, str | None], fault: bool | None
) -> None:
    """Names, words or pronouns show both genders, or the rule is not checked."""
    found = validate.examine_structure(Dataset(people(options, pronouns)))
    assert found.checked["same gender"] == (0 if fault is None else 2)
    assert found.find_failed_rows("same gender") == ((0, 1) if fault else ())


def test_things_and_problems_without_a_domain_have_no_gender_to_check() -> None:
    """The rule is about social twins: others with people of two genders are not checked."""
    for domain in ("physical", None):
        found = validate.examine_structure(Dataset(of_domain(domain, *people(("Anna", "Robert")))))
        assert found.checked["same gender"] == 0


def test_names_of_practice_twins_have_the_gender_of_their_list() -> None:
    """The names of practice twins are in the rule's lists, and their people are of one gender."""
    data = practice.generate_corpus(200, seed=2).dataset
    found = validate.examine_structure(data)
    social = [p.origin is not None and p.origin.domain == "social" for p in data]
    assert found.checked["same gender"] == sum(social) > 100
    assert found.findings == ()


@pytest.mark.data
def test_no_pair_of_names_of_winogrande_is_called_unlike(data_dir: Path) -> None:
    """Its authors kept to one gender: of 11,795 pairs of names, none is said to differ."""
    data = formats.read(data_dir / "winogrande/train_xl.jsonl")
    named = [p for p in data if all(o[:1].isupper() and " " not in o for o in p.options)]
    found = validate.examine_structure(Dataset(of_domain("social", *named)))
    assert found.find_failed_rows("same gender") == ()
    assert found.checked["same gender"] > 0.8 * len(named)


def test_the_halves_have_different_answers() -> None:
    """Both halves saying the same option is a fault, wherever that option stands."""
    assert broken(FIRST, replace(SECOND, answer=0)) == {"flipped answers": (0, 1)}
    turned = replace(SECOND, options=("suitcase", "trophy"))
    assert broken(FIRST, replace(turned, answer=0)) == {}
    assert broken(FIRST, replace(turned, answer=1)) == {"flipped answers": (0, 1)}


def test_the_halves_have_the_same_options() -> None:
    """The options are the same in any order and case, and not others."""
    assert broken(FIRST, replace(SECOND, options=("Suitcase", "trophy"), answer=0)) == {}
    assert broken(FIRST, replace(SECOND, options=("trophy", "brown"))) == {"same options": (0, 1)}


def test_the_options_are_in_the_sentence() -> None:
    """An option that the sentence does not hold is a fault of that half, in any case of letters."""
    missing = replace(FIRST, options=("trophy", "bag"))
    assert broken(missing, same_options=False) == {"options": (0,)}
    assert broken(replace(FIRST, options=("TROPHY", "Suitcase "))) == {}
    assert broken(missing, options_in_sentence=False) == {}


def test_both_halves_hold_the_anchor() -> None:
    """The words of an anchor that either half names are in both halves, in any case."""
    assert broken(anchored(FIRST, "Brown suitcase"), SECOND) == {}
    assert broken(anchored(FIRST, "the large"), SECOND) == {"anchor": (1,)}
    assert broken(FIRST, anchored(SECOND, "hiking, boots")) == {"anchor": (0, 1)}


@pytest.mark.parametrize("anchor", ["the", "It", "he", "of", "of the", "!"])
def test_an_anchor_is_not_a_function_word(anchor: str) -> None:
    """An anchor without a content word is a fault (WinoGrande, section 2: "the, it, he, of")."""
    assert broken(anchored(FIRST, anchor), SECOND) == {"function word": (0,)}


def test_a_missing_half_is_a_fault_only_when_asked() -> None:
    """A single is kept, unless twins must be complete."""
    assert broken(FIRST) == {}
    assert broken(FIRST, complete=True) == {"other half": (0,)}


@pytest.mark.parametrize("complete", [False, True])
def test_three_problems_of_one_twin_id_are_a_fault(complete: bool) -> None:
    """Nothing says which two of three are the twin, so none of them passes for a single."""
    third = replace(SECOND, id="c")
    assert broken(FIRST, SECOND, third, complete=complete) == {"twin id": (0, 1, 2)}
    other = replace(FIRST, id="d", twin_id="u")
    found = validate.examine_structure(Dataset([FIRST, SECOND, third, other]))
    assert (found.checked["twin id"], found.find_failed_rows("twin id")) == (4, (0, 1, 2))
    assert [f.detail for f in found.findings if f.rule == "twin id"] == [
        f"3 problems share the twin id {FIRST.twin_id!r}; 2 make a twin"
    ]


def test_a_rule_without_its_input_is_not_checked_and_never_failed() -> None:
    """Singles have no overlap, withheld answers no flip, and no anchor can't be missing."""
    blind = [replace(FIRST, answer=None), replace(SECOND, answer=None)]
    single = replace(FIRST, id="c", twin_id=None)
    found = validate.examine_structure(Dataset([*blind, single]))
    assert found.findings == ()
    assert found.checked == {
        "length": 3,
        "options": 3,
        "anchor": 0,
        "function word": 0,
        "domain": 0,
        "same gender": 0,
        "same options": 2,
        "flipped answers": 0,
        "overlap": 2,
        "edit distance": 2,
    }


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
def test_a_rule_that_is_off_is_neither_checked_nor_named(off: dict[str, Any], rule: str) -> None:
    """Switching a rule off takes it, and it alone, out of the examination."""
    data = make_twins(3)
    names = validate.examine_structure(data).checked
    assert {*validate.examine_structure(data, StructureRules(**off)).checked, rule} == {*names}
    assert rule not in validate.examine_structure(data, StructureRules(**off)).checked


def test_a_limit_of_nothing_is_not_off() -> None:
    """An edit limit of 0 refuses every twin, and an overlap of 0 is checked and kept."""
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
def test_a_limit_out_of_range_is_refused(rules: dict[str, Any]) -> None:
    """A length that is no range, or a share outside 0 to 1, is refused."""
    with pytest.raises(RecipeError):
        StructureRules(**rules)


def test_every_broken_rule_is_named_the_first_one_first() -> None:
    """The reason of a dropped problem lists its faults in the order of the rules."""
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
def test_kept_and_dropped_are_the_input(problems: list[Problem]) -> None:
    """Nothing gets lost: kept and dropped are together what went in, for any data."""
    data = Dataset(problems)
    result = validate.filter_by_structure(data)
    assert result.input() == data
    assert (
        validate.filter_by_structure(result.kept, StructureRules(complete=True)).input()
        == result.kept
    )


@given(st.permutations(range(12)))
def test_the_order_of_the_problems_does_not_matter(order: list[int]) -> None:
    """Permuting the problems changes neither which are kept nor why the others went."""
    data = make_twins(6)
    data = Dataset(
        replace(p, answer=0) if row in (1, 5) else p for row, p in enumerate(data) if row != 3
    )
    order = [row for row in order if row < len(data)]
    rules = StructureRules(complete=True)
    straight = validate.filter_by_structure(data, rules)
    permuted = validate.filter_by_structure(data.select(order), rules)
    assert {*permuted.kept.ids} == {*straight.kept.ids}
    assert {(d.problem.id, d.reason) for d in permuted.dropped} == {
        (d.problem.id, d.reason) for d in straight.dropped
    }


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
def test_released_problems_keep_the_rules(
    data_dir: Path, name: str, broken_rules: dict[str, int], kept: int
) -> None:
    """The released WinoGrande breaks the rules in the few places counted here."""
    data = formats.read(data_dir / f"winogrande/{name}.jsonl")
    found = validate.examine_structure(data)
    counts = {rule: len(found.find_failed_rows(rule)) for rule in found.checked}
    assert Counter({rule: n for rule, n in counts.items() if n}) == broken_rules
    assert len(found.drop_failed().kept) == kept
