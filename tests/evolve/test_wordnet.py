"""WordNet's perturber: synonyms, grammar, untouched words, and the paper's variant."""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import need_wordnet
from winosmith import Dataset, Problem, formats
from winosmith.errors import InputError
from winosmith.evolve import WordNetPerturber, evolve
from winosmith.language import WordNet, is_name
from winosmith.lineage import apply_edits, check_lineages
from winosmith.parallel import ordered_map
from winosmith.text import tokenize

CAR = Problem(
    "car",
    "Rachel bought a car and a huge trailer for Elena, but the _ was too big for the garage.",
    ("car", "trailer"),
    1,
    twin_id="t",
)


@pytest.fixture(scope="module", autouse=True)
def wordnet() -> None:
    """Skip without WordNet on this machine."""
    need_wordnet()


@pytest.fixture(scope="module")
def roots(data_dir: Path) -> list[Problem]:
    """Return 250 problems of WinoGrande."""
    data = formats.read(data_dir / "winogrande/dev.jsonl")
    return [data[int(row)] for row in np.random.default_rng(8).choice(len(data), 250, False)]


def children(problem: Problem, count: int = 10) -> list[Problem]:
    """Return the children of a problem."""
    return list(WordNetPerturber(count).perturb(problem, 0))


def test_synonyms_are_inflected_and_options_change_too():
    made = {child.sentence: child for child in children(CAR)}
    sentence = (
        "Rachel bought an automobile and a huge trailer for Elena, but the _ was too big for the "
        "garage."
    )
    assert made[sentence].options == ("automobile", "trailer")
    assert any("Rachel purchased a car" in sentence for sentence in made)


def test_children_have_source_answer_and_edits():
    for child in children(CAR):
        assert child.answer == CAR.answer
        assert child.origin is not None
        assert child.origin.source == "wordnet"
        assert child.lineage is not None
        assert child.lineage.declared is None
        after = apply_edits(tokenize(CAR.sentence), child.lineage.edits)
        assert list(after) == tokenize(child.sentence)


def test_children_of_real_problems_are_distinct_and_valid(roots):
    """They keep all names."""
    made = [child for root in roots for child in children(root, 2)]
    assert len(made) > 40
    assert len({child.id for child in made}) == len(made)
    assert check_lineages(Dataset([*roots, *made])) == {}
    parents = {root.id: root for root in roots}
    for child in made:
        assert child.lineage is not None
        parent = parents[child.lineage.parent]
        assert child.sentence != parent.sentence
        cut, after = tokenize(parent.sentence), tokenize(child.sentence)
        names = [cut[at] for at in range(len(cut)) if is_name(cut, at)]
        assert [name for name in names if name not in after] == []


def test_new_words_do_not_occur_in_sentence_or_options(roots):
    for root in roots:
        old = {word.lower() for text in (root.sentence, *root.options) for word in tokenize(text)}
        for child in children(root):
            assert child.lineage is not None
            new = {edit.new.lower() for edit in child.lineage.edits if edit.new}
            assert (new & old) <= {"a", "an", "more", "most"}, child.sentence


def test_count_below_1_and_contradicting_settings_are_refused():
    with pytest.raises(InputError, match="count is 0; it must be a whole number, 1 or more"):
        WordNetPerturber(0)
    with pytest.raises(InputError, match="accepts every synonym"):
        WordNetPerturber(wide=True, as_published=True)


def test_antonyms_are_not_used(roots):
    """In any sense of the word."""
    from winosmith.language import lemmatize

    known = WordNet()
    edits = [e for root in roots for child in children(root) for e in child.lineage.edits if e.old]
    for edit in edits:
        for pos, tag in (("n", "NNS"), ("v", "VBD"), ("a", "JJ"), ("r", "RB")):
            for sense in known.find_senses(lemmatize(edit.old, tag), pos):
                assert edit.new not in sense.antonyms


@pytest.mark.parametrize(
    "sentence",
    [
        "Ann joined the United Kingdom after Bea because _ was late.",
        "Kind Ann met Bea Young in New York when _ went there.",
        "_ and he were there with her before it was his.",
    ],
)
def test_names_and_function_words_are_unchanged(sentence):
    """A public tool writes "joined Kingdom"."""
    for child in children(Problem("p", sentence, ("Ann", "Bea"), 0)):
        for name in ("Ann", "Bea", "United Kingdom", "Young", "New York", "he", "her", "his"):
            assert (name in sentence) == (name in child.sentence)


def test_passives_get_a_participle():
    """A public tool writes "It was lend"."""
    problem = Problem(
        "p", "The car was bought by Ann, not by Bea, since _ liked it.", ("Ann", "Bea")
    )
    made = [child.sentence for child in children(problem)]
    assert "The car was purchased by Ann, not by Bea, since _ liked it." in made


def test_children_depend_on_the_seed_and_not_on_workers(roots):
    work = partial(_lines, seed=3)
    here = list(ordered_map(work, roots[:60]))
    with ProcessPoolExecutor(2) as pool:
        assert list(ordered_map(work, roots[:60], pool)) == here
    assert list(map(work, roots[59::-1]))[::-1] == here
    assert list(map(partial(_lines, seed=4), roots)) != list(map(work, roots))


def _lines(problem: Problem, seed: int) -> str:
    """Return the children of a problem as text."""
    made = WordNetPerturber(1).perturb(problem, seed)
    return json.dumps([(child.id, child.sentence, child.options) for child in made])


def test_grandchildren_differ_from_the_root(roots):
    for root in roots:
        for child in children(root):
            assert root.sentence not in [grandchild.sentence for grandchild in children(child)]


def test_wide_gives_more_children(roots):
    sure, wide = WordNetPerturber(9), WordNetPerturber(9, wide=True)
    few, many = (
        sum(len(list(perturber.perturb(root, 0))) for root in roots) for perturber in (sure, wide)
    )
    assert 1.5 * few < many


@pytest.mark.long
def test_as_published_reaches_the_papers_sizes(data_dir):
    """M's 1,010 and 202 problems get the children that L's sizes need: 2,963 and 526 (table 1).

    Without `as_published`, the 202 problems get too few.
    """
    data = formats.read(data_dir / "winogrande/train_m.jsonl")
    rows = np.random.default_rng(0).choice(len(data), 1010 + 202, False)
    for wanted, chosen in ((2963, rows[:1010]), (526, rows[1010:])):
        part = data.select(sorted(chosen.tolist()))
        grown = evolve(part, WordNetPerturber(2, as_published=True))
        assert len(grown.dataset) >= wanted
        if len(part) == 202:
            assert len(evolve(part, WordNetPerturber(2)).dataset) < wanted


def test_as_published_sets_the_source_and_changes_options():
    """It uses any synonym of any sense."""
    made = list(WordNetPerturber(12, as_published=True).perturb(CAR, 0))
    assert len(made) == 12
    assert {child.origin and child.origin.source for child in made} == {"wordnet-paper"}
    changed = [child for child in made if child.options != CAR.options]
    assert changed
    for child in changed:
        assert all(option in child.sentence for option in child.options)
        assert "Rachel" in child.sentence


def test_as_published_keeps_the_number_of_a_mass_noun():
    """Otherwise, a child pours "the piddles" for "the water"."""
    sentence = "Ann poured the water into the jug until the _ was full."
    problem = Problem("water", sentence, ("water", "jug"), 1)
    made = list(WordNetPerturber(60, as_published=True).perturb(problem, 0))
    nouns = [child.options[0] for child in made if child.options[0] != "water"]
    assert len(nouns) > 2
    assert not [noun for noun in nouns if noun.endswith("s") and not noun.endswith("ss")]
