"""The twins written by hand keep every rule."""

from collections import Counter

from winosmith import validate
from winosmith.practice import handwritten
from winosmith.records import problem_of, problem_record
from winosmith.text import edit_distance, overlap, tokens, words

TWINS = [(handwritten()[a], handwritten()[b]) for a, b in handwritten().twins]


def test_there_are_72_whole_twins():
    """There are 72 twins and no singles, half of them in each domain."""
    assert len(TWINS) == 72
    assert handwritten().singles == ()
    domains = Counter(first.origin.domain for first, _ in TWINS if first.origin)
    assert domains == {"social": 36, "physical": 36}


def test_they_pass_structural_validation():
    """No rule finds a fault, and each is checked on each problem, gender on the social half."""
    examined = validate.examine_structure(handwritten(), validate.StructureRules(complete=True))
    assert examined.findings == ()
    assert examined.checked == dict.fromkeys(examined.checked, 144) | {"same gender": 72}


def test_a_twin_keeps_the_rules():
    """Its halves have 15–30 words, share 70 %, differ in a few tokens, and flip the answer."""
    for first, second in TWINS:
        anchor = first.origin.anchor
        mine, theirs = words(first.sentence), words(second.sentence)
        assert 15 <= min(len(mine), len(theirs)) <= max(len(mine), len(theirs)) <= 30, anchor
        assert overlap(mine, theirs) >= 0.7, anchor
        longest = max(len(tokens(half.sentence)) for half in (first, second))
        edits = edit_distance(tokens(first.sentence), tokens(second.sentence))
        assert 0 < edits <= 0.3 * longest, anchor
        assert first.options == second.options, anchor
        assert {first.answer, second.answer} == {0, 1}, anchor
        assert first.origin == second.origin, anchor
        for half in (first, second):
            assert anchor.lower() in map(str.lower, tokens(half.sentence)), anchor
            assert anchor not in half.options, anchor
            assert all(half.sentence.count(option) == 1 for option in half.options), anchor


def test_sentences_anchors_and_options_vary():
    """No sentence occurs twice, no anchor more than twice, and no pair of options twice."""
    sentences = [half.sentence for twin in TWINS for half in twin]
    assert len(set(sentences)) == 144
    assert max(Counter(first.origin.anchor for first, _ in TWINS if first.origin).values()) <= 2
    assert len({frozenset(first.options) for first, _ in TWINS}) == 72


def test_the_order_of_halves_and_ids_give_no_answer_away():
    """Half of the first halves have each answer, and so has about half of the lower ids."""
    assert sum(first.answer == 0 for first, _ in TWINS) == 36
    lower = [min(twin, key=lambda half: half.id).answer for twin in TWINS]
    assert 24 <= lower.count(0) <= 48


def test_the_place_of_mention_gives_no_answer_away():
    """The option mentioned first is listed first in about half of the twins."""
    listed = [
        first.sentence.index(first.options[0]) < first.sentence.index(first.options[1])
        for first, _ in TWINS
    ]
    assert 24 <= sum(listed) <= 48


def test_they_round_trip_as_records():
    """Each problem is equal to the one read from its own record."""
    assert all(problem_of(problem_record(problem)) == problem for problem in handwritten())


def test_they_name_their_source_and_licence():
    """Every problem says that it is ours and free to use."""
    origins = {(p.origin.source, p.origin.licence) for p in handwritten() if p.origin}
    assert origins == {("winosmith", "Apache-2.0")}
