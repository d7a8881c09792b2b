"""The practice corpus, the handwritten twins and the crowd: rules, balance and votes."""

from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Filtered, Origin, Problem, validate
from winosmith.errors import DataError, InputError, RecipeError
from winosmith.practice import (
    ARTIFACTS,
    PracticeCorpus,
    _corpus,
    generate_corpus,
    read_handwritten,
    simulate_votes,
)
from winosmith.practice._artifacts import read_fillers, read_frames
from winosmith.text import split_words

ALL_RULES = validate.StructureRules(complete=True)


@pytest.fixture(scope="module")
def large() -> PracticeCorpus:
    """Return a corpus of 5,000 twins."""
    return generate_corpus(5_000, seed=3)


def test_5000_twins_pass_all_structural_rules(large):
    examined = validate.examine_structure(large.dataset, ALL_RULES)
    assert examined.findings == ()
    social = sum(p.origin is not None and p.origin.domain == "social" for p in large.dataset)
    wanted = dict.fromkeys(examined.checked, 10_000) | {"same gender": social}
    assert examined.checked == wanted
    assert len({problem.sentence for problem in large.dataset}) == 10_000
    assert Counter(large.planted.values()) == dict.fromkeys(ARTIFACTS, 1_250)
    assert repr(large) == "PracticeCorpus(dataset=<Dataset 'practice': 10000 problems, 5000 twins>)"


@examples(25)
@given(
    twins=st.integers(0, 60),
    seed=st.integers(0, 2**32),
    strength=st.floats(0, 1),
    artifacts=st.lists(st.sampled_from(ARTIFACTS), min_size=1, unique=True),
    social=st.floats(0, 1),
    habits=st.integers(1, 8),
)
def test_any_arguments_give_whole_twins_that_pass_the_rules(
    twins, seed, strength, artifacts, social, habits
):
    made = generate_corpus(
        twins, seed=seed, strength=strength, artifacts=artifacts, social=social, habits=habits
    )
    assert len(made.dataset.twins) == twins
    assert validate.examine_structure(made.dataset, ALL_RULES).findings == ()
    assert len(made.planted) == 2 * round(twins * strength)
    assert set(made.planted.values()) <= set(artifacts)
    for first, second in made.dataset.twins:
        kinds = {made.planted.get(made.dataset.ids[row]) for row in (first, second)}
        assert len(kinds) == 1
        assert second == first + 1


def test_seed_determines_the_corpus():
    """It is the same as in earlier versions."""
    first, again, other = (generate_corpus(200, seed=seed) for seed in (6, 6, 5))
    assert first == again
    assert first.dataset.digest.startswith("0a3285d975ef07f3")
    assert first.dataset.digest != other.dataset.digest
    assert set(first.dataset.ids).isdisjoint(other.dataset.ids)


@examples(25)
@given(twins=st.integers(0, 60), seed=st.integers(0, 2**32), strength=st.floats(0, 1))
def test_symmetric_flips_only_answers_of_sound_twins(twins, seed, strength):
    """Both answers of some sound twins are flipped."""
    plain = generate_corpus(twins, seed=seed, strength=strength)
    made = generate_corpus(twins, seed=seed, strength=strength, symmetric=True)
    assert made.planted == plain.planted
    for rows in plain.dataset.twins:
        turned = {plain.dataset[row].answer != made.dataset[row].answer for row in rows}
        assert len(turned) == 1
        assert turned == {False} or plain.dataset.ids[rows[0]] not in plain.planted
        for row in rows:
            was = plain.dataset[row]
            assert replace(made.dataset[row], answer=was.answer) == was


def test_symmetric_flips_half_of_the_sound_twins():
    plain, made = (
        generate_corpus(4_000, strength=0),
        generate_corpus(4_000, strength=0, symmetric=True),
    )
    turned = sum(a != b for a, b in zip(plain.dataset.answers, made.dataset.answers, strict=True))
    assert turned / 8_000 == pytest.approx(0.5, abs=0.03)


def test_social_sets_the_fraction_of_social_twins():
    for social in (0.0, 0.3, 1.0):
        origins = [problem.origin for problem in generate_corpus(1_000, social=social).dataset]
        share = sum(o is not None and o.domain == "social" for o in origins) / len(origins)
        assert share == pytest.approx(social, abs=0.05)


def test_answers_and_the_order_of_halves_are_balanced(large):
    assert Counter(large.dataset.answers) == {0: 5_000, 1: 5_000}
    first_halves = [large.dataset[first].answer for first, _ in large.dataset.twins]
    assert first_halves.count(0) / 5_000 == pytest.approx(0.5, abs=0.03)


def test_anchor_is_not_an_option(large):
    for problem in large.dataset:
        assert problem.origin is not None
        assert problem.origin.anchor not in problem.options


def test_social_options_are_two_people_of_one_gender(large):
    women, men = map(set, read_fillers().pools["names"])
    for problem in large.dataset:
        if problem.origin is not None and problem.origin.domain == "social":
            assert set(problem.options) <= women or set(problem.options) <= men


def test_objects_follow_an_article_and_names_do_not(large):
    """At their mention and at the blank."""
    for problem in large.dataset:
        parts = [word.strip(".,").lower() for word in split_words(problem.sentence)]
        domain = problem.origin.domain if problem.origin else None
        for option in ("_", *problem.options):
            before = parts[parts.index(option.lower()) - 1] if option.lower() != parts[0] else ""
            assert (before == "the") == (domain == "physical")


def test_problems_do_not_reveal_their_artifact():
    made = generate_corpus(300)
    for problem in made.dataset:
        assert not problem.extra
        assert problem.lineage is None
        origin = replace(problem.origin, author=None, anchor=None, domain=None)
        assert origin == Origin(source="practice", licence="Apache-2.0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"twins": -1}, "twins is -1; it must be a whole number, 0 or more"),
        ({"strength": 1.5}, "strength is 1.5; it must be a number from 0 to 1"),
        ({"social": -0.1}, "social is -0.1; it must be a number from 0 to 1"),
        ({"habits": 0}, "habits is 0; it must be a whole number, 1 or more"),
        (
            {"artifacts": ["colour"]},
            "artifacts is .*colour.*; it must be a list of .association., ",
        ),
        ({"artifacts": []}, "a strength above 0 needs an artifact"),
    ],
)
def test_invalid_arguments_are_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        generate_corpus(**{"twins": 10, **arguments})


def test_too_few_frames_are_reported(monkeypatch):
    monkeypatch.setattr(_corpus, "read_frames", lambda: read_frames()[-1:])
    with pytest.raises(DataError, match="use fewer twins or more kinds of artifacts"):
        generate_corpus(5_000, strength=1, artifacts=["association"], social=0)


TWINS = [(read_handwritten()[a], read_handwritten()[b]) for a, b in read_handwritten().twins]


def test_handwritten_twins_pass_structural_validation():
    """Only social problems are checked for gender."""
    assert len(TWINS) == 72
    assert read_handwritten().singles == ()
    domains = Counter(first.origin.domain for first, _ in TWINS if first.origin)
    assert domains == {"social": 36, "physical": 36}
    rules = validate.StructureRules(complete=True, edit=0.3)
    examined = validate.examine_structure(read_handwritten(), rules)
    assert examined.findings == ()
    assert examined.checked == dict.fromkeys(examined.checked, 144) | {"same gender": 72}


def test_handwritten_halves_share_origin_and_options():
    """Each option is mentioned once, and the anchor is not an option."""
    for first, second in TWINS:
        assert (first.origin, first.options) == (second.origin, second.options), first.id
        for half in (first, second):
            assert half.origin.anchor not in half.options, half.id
            assert all(half.sentence.count(option) == 1 for option in half.options), half.id
            assert (half.origin.source, half.origin.licence) == ("winosmith", "Apache-2.0")


def test_handwritten_sentences_and_options_are_distinct():
    """An anchor occurs at most twice."""
    sentences = [half.sentence for twin in TWINS for half in twin]
    assert len(set(sentences)) == 144
    assert max(Counter(first.origin.anchor for first, _ in TWINS if first.origin).values()) <= 2
    assert len({frozenset(first.options) for first, _ in TWINS}) == 72


def test_order_of_halves_and_ids_does_not_reveal_answers():
    assert sum(first.answer == 0 for first, _ in TWINS) == 36
    lower = [min(twin, key=lambda half: half.id).answer for twin in TWINS]
    assert 24 <= lower.count(0) <= 48


def test_order_of_mention_does_not_reveal_answers():
    """The option mentioned first is listed first in about half of the twins."""
    listed = [
        first.sentence.index(first.options[0]) < first.sentence.index(first.options[1])
        for first, _ in TWINS
    ]
    assert 24 <= sum(listed) <= 48


SENTENCE = "The cup stood beside the jug until the _ fell."


@pytest.fixture(scope="module")
def made() -> PracticeCorpus:
    """Return a corpus with votes."""
    return generate_corpus(2_000, seed=12)


@pytest.fixture(scope="module")
def judged(made: PracticeCorpus) -> Filtered:
    """Return the result of the default rules for votes."""
    return validate.filter_by_votes(made.dataset, made.votes)


def test_crowd_answers_by_its_error_rate():
    """With any number of options."""
    options = ("cup", "jug", "vase")
    three = [Problem("a", SENTENCE, options, 2), Problem("b", SENTENCE, options, 0)]
    for data, error in ((read_handwritten(), 0), (Dataset(three), 1)):
        votes = simulate_votes(data, error_rate=error, ambiguous_rate=0, associative_rate=0)
        answers = dict(zip(data.ids, data.answers, strict=True))
        wrong = {v.choice != answers[v.problem_id] for v in votes if v.purpose == "validate"}
        assert wrong == {bool(error)}


@pytest.mark.parametrize("purpose", ["local", "validate"])
def test_three_distinct_eligible_judges_see_each_problem(made, purpose):
    """No judge wrote the twin or saw its other half before."""
    judges = defaultdict(list)
    for vote in made.votes:
        if vote.purpose == purpose:
            judges[vote.problem_id].append(vote.participant)
    assert set(judges) == set(made.dataset.ids)
    assert all(len(own) == len(set(own)) == 3 for own in judges.values())
    _, aside = validate.select_eligible(made.dataset, made.votes)
    assert aside == ()


def test_about_68_percent_are_valid(made, judged):
    """As in the paper, within 3 points; votes reject for all reasons of its three rules."""
    assert len(judged.kept) / len(made.dataset) == pytest.approx(0.68, abs=0.03)
    reasons = {entry.reason.split(":")[0] for entry in judged.dropped}
    assert reasons == {"majority", "ambiguity", "word association", "local context"}


def test_planted_problems_are_valid_as_often_as_sound_ones(made, judged):
    kept = set(judged.kept.ids)
    planted = set(made.planted)
    sound = set(made.dataset.ids) - planted
    shares = [len(kept & part) / len(part) for part in (planted, sound)]
    assert shares[0] == pytest.approx(shares[1], abs=0.05)


def test_judges_differ_in_reliability(made):
    answers = dict(zip(made.dataset.ids, made.dataset.answers, strict=True))
    wrong = defaultdict(list)
    for vote in made.votes:
        if vote.purpose == "validate":
            wrong[vote.participant].append(vote.choice != answers[vote.problem_id])
    rates = sorted(sum(own) / len(own) for own in wrong.values())
    assert rates[0] < rates[-1] / 2


def test_seed_determines_the_votes():
    twins = read_handwritten()
    assert simulate_votes(twins, seed=1) == simulate_votes(twins, seed=1)
    assert simulate_votes(twins, seed=1) != simulate_votes(twins, seed=2)


def test_ambiguous_and_associative_problems_are_rejected():
    twins = read_handwritten()
    votes = simulate_votes(twins, ambiguous_rate=1, associative_rate=1)
    assert len(validate.filter_by_votes(twins, votes).kept) < 0.1 * len(twins)


def test_pool_needs_twice_the_judges_and_the_author():
    """One person fewer is refused."""
    origin = Origin(author="p02")
    half = Problem("a", SENTENCE, ("cup", "jug"), 0, "t", origin=origin)
    other = Problem("b", SENTENCE.replace("fell", "stayed"), ("cup", "jug"), 1, "t", origin=origin)
    twin = Dataset([half, other])
    assert len(simulate_votes(twin, judges=2, pool=5)) == 2 * 2 * 2
    with pytest.raises(DataError, match=r"needs 4 judges who are not its author.* 4 has only 3"):
        simulate_votes(twin, judges=2, pool=4)


@pytest.mark.parametrize("arguments", [{"judges": 0}, {"error_rate": 1.1}, {"ambiguous_rate": -1}])
def test_numbers_out_of_range_are_refused(arguments):
    with pytest.raises(RecipeError, match=r"must be a (whole number, 1 or|number from 0)"):
        simulate_votes(read_handwritten(), **arguments)


def test_withheld_answers_are_refused():
    blind = read_handwritten().blind()
    with pytest.raises(DataError, match=f"the answer of '{blind.ids[0]}' is withheld"):
        simulate_votes(blind)
