"""Cues: which options they select, what they ignore, and cues of labelled texts."""

import json
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from winosmith import Dataset, Extra, Problem, audit, formats
from winosmith.audit import CUES, Cue, _battery, _items
from winosmith.audit._cues import get_advice
from winosmith.errors import DataError
from winosmith.recast import reorder_options
from winosmith.testing import make_twins

WORDS = "red cold river mouse never some 12 3.5 stone about (a) B and a or an Apple only".split()


@st.composite
def problems(draw: st.DrawFn, most: int = 12) -> Dataset:
    """Draw a few items with two to five different options."""
    option = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
    found = []
    for at in range(draw(st.integers(1, most))):
        options = draw(st.lists(option, min_size=2, max_size=5, unique_by=str.lower))
        asked = " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=5)))
        answer = draw(st.integers(0, len(options) - 1))
        found.append(Problem(f"p{at}", f"{asked} number {at} is _", tuple(options), answer))
    return Dataset(found)


def _score_cues(data: Dataset, cues: Sequence[Cue] = CUES, draws: int = 19) -> audit.Battery:
    return audit.score_cues(audit.Items.from_dataset(data), cues, draws=draws)


def _score_content(dataset: Dataset) -> dict[str, float]:
    found = _score_cues(dataset).scores
    return {one.cue: round(one.right, 9) for one in found if one.about == "content"}


@settings(deadline=None, max_examples=25)
@given(problems(), st.randoms(use_true_random=False))
def test_content_scores_do_not_depend_on_option_order(dataset, random):
    dealt = []
    for problem in dataset:
        order = list(range(len(problem.options)))
        random.shuffle(order)
        dealt.append(reorder_options(problem, order))
    assert _score_content(Dataset(dealt)) == _score_content(dataset)


@settings(deadline=None, max_examples=15)
@given(problems(), st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_item_order(dataset, random):
    rows = list(range(len(dataset)))
    random.shuffle(rows)
    one = _score_cues(dataset, draws=39)
    assert _score_cues(dataset.select(rows), draws=39) == one


@settings(deadline=None, max_examples=15)
@given(problems())
def test_duplicating_every_item_changes_no_p_value(dataset):
    """Copies share a draw."""
    again = [replace(problem, id=f"{problem.id} again") for problem in dataset]
    one, two = (_score_cues(of, draws=39) for of in (dataset, Dataset([*dataset, *again])))
    assert {f.cue: (f.p, f.rank) for f in two.scores} == {f.cue: (f.p, f.rank) for f in one.scores}
    assert two.positions_p == one.positions_p


def test_copies_with_reversed_options_share_a_draw():
    """The standard score of each content cue is unchanged."""
    data = _make_items(60, 0.7)
    again = [
        replace(p, id=f"{p.id}x", options=p.options[::-1], answer=1 - (p.answer or 0)) for p in data
    ]
    one, two = (
        {f.cue: round(f.z, 6) for f in _score_cues(of, draws=39).scores if f.about == "content"}
        for of in (data, Dataset([*data, *again]))
    )
    assert one == two


def _pick(name: str, question: str, options: tuple[str, ...]) -> set[int]:
    """Return the indices of the options that a cue selects."""
    cue = next(cue for cue in CUES if cue.name == name)
    view = audit.View(question, options, audit.Corpus.from_options([options]))
    scores = np.asarray(cue.score(view))
    return set(np.flatnonzero(scores == scores.max()).tolist())


@pytest.mark.parametrize(
    ("name", "question", "options", "picked"),
    [
        ("the longest, in characters", "", ("a b c", "abcdefgh", "x"), {1}),
        ("the longest, in words", "", ("a b c", "abcdefgh", "x"), {0}),
        ("nearest the mean length", "", ("a", "bbb", "ccccc"), {1}),
        (
            "fewest content words of the question",
            "a cold river",
            ("cold river", "cold", "red"),
            {2},
        ),
        ("a number in the middle", "", ("1", "20", "3,000"), {1}),
        ("the largest number", "", ("1", "20", "3,000"), {2}),
        ("the largest number", "", ("1", "two", "3,000"), {0, 1, 2}),
        ("a negation", "", ("it isn't", "it is", "it was"), {0}),
        ("all of the above", "", ("x", "y", "All of these"), {2}),
        ("all of the above", "", ("x", "y", "all people"), {0, 1, 2}),
        ("several of the others (both A and B)", "", ("x", "y", "A and B"), {2}),
        ("fits the question's final a or an", "She ate an", ("pear", "apple"), {1}),
        ("the last", "", ("x", "y", "z"), {2}),
    ],
)
def test_cues_select_the_options_of_their_names(name, question, options, picked):
    assert _pick(name, question, options) == picked


def test_content_cues_have_specific_advice():
    general = get_advice("mine")
    assert general not in {get_advice(cue.name) for cue in audit.CUES if cue.about == "content"}
    assert get_advice("the longest, in words").startswith("Lengthen the other options")
    assert get_advice("the shortest, in words").startswith("Shorten the other options")
    assert get_advice("the rarest word").startswith("Use equally common words")
    assert get_advice("the largest number") != get_advice("a number")


def _make_items(n: int, share: float, seed: int = 0) -> Dataset:
    """Make items with two options; the longest is the key in a fraction of them."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(n):
        options = (f"stone {at}", f"a cold river {at}")
        longest = rng.random() < share
        if rng.random() < 0.5:
            options = options[::-1]
        answer = options.index(max(options, key=len) if longest else min(options, key=len))
        found.append(Problem(str(at), f"What is number {at}? _", options, answer))
    return Dataset(found)


def test_planted_cue_is_flagged_once_and_explains_similar_ones():
    tried = _score_cues(_make_items(200, 0.8), draws=199)
    assert [found.cue for found in tried.flagged] == ["the longest, in characters"]
    assert tried.flagged[0].p == 0.005
    assert all(found.p >= 0.005 for found in tried.scores)


def test_keys_in_first_position_flag_only_the_position():
    """The options are sorted by length, so the shortest is also often the key."""
    rng = np.random.default_rng(3)
    found = []
    for at in range(300):
        options = ("stone", "a cold river", f"the mouse of {at} rivers")
        answer = 0 if rng.random() < 0.5 else int(rng.integers(3))
        found.append(Problem(str(at), f"What is number {at}? _", options, answer))
    named = _score_cues(Dataset(found), draws=199).flagged
    assert [one.cue for one in named] == ["the first"]


def test_positions_after_the_fourth_are_cues():
    rng = np.random.default_rng(0)
    data = Dataset(
        Problem(str(at), f"What is {at}? _", tuple(f"o{at}x{o}" for o in range(9)),
                int(rng.choice(9, p=[0.11, 0.11, 0.11, 0.11, 0.3, 0, 0, 0.15, 0.11])))
        for at in range(200)
    )  # fmt: skip
    found = audit.audit(data, cues=CUES[:4], draws=199, probe_draws=0)
    best = found.parts[0].best_cue
    assert best.cue == "the fifth"
    assert "“the fifth” is correct for about" in audit.render_page(found)


@settings(deadline=None, max_examples=15)
@given(problems(most=3))
def test_expected_accuracy_and_limit_are_between_0_and_1(dataset):
    found = _score_cues(dataset).scores
    assert all(0 <= end <= 1 for one in found for end in (one.expected, one.high))


def test_random_keys_seldom_flag_a_cue():
    """At the 5 % level, one of 20 data sets is expected; at most 4 are accepted."""
    named = [_score_cues(_make_items(60, 0.5, seed), draws=99).flagged for seed in range(20)]
    assert sum(map(bool, named)) <= 4


def test_twins_keep_their_relation_under_the_null():
    """In each draw, halves have opposite keys, so the accuracy of cues of options never varies."""
    halves = []
    for at in range(40):
        options = (f"stone {at}", f"a cold river {at}")
        halves += [
            Problem(f"{at}a", f"It was big, so the _ {at} fell.", options, 0, f"t{at}"),
            Problem(f"{at}b", f"It was small, so the _ {at} fell.", options, 1, f"t{at}"),
        ]
    tried = _score_cues(Dataset(halves), draws=39)
    longest = next(found for found in tried.scores if found.cue == "the longest, in characters")
    assert (longest.right, longest.expected, longest.high, longest.p) == (0.5, 0.5, 0.5, 1.0)


def test_cues_that_no_draw_changes_are_sorted_last():
    data = Dataset(Problem(str(at), f"w{at} x{at}? _", ("no", "yes"), at % 2) for at in range(60))
    found = _score_cues(data, CUES[:6], 39).scores
    fixed = [one.spread == 0 for one in found]
    assert fixed == sorted(fixed)
    assert fixed[-1]
    assert not fixed[0]


def test_own_cue_is_scored_with_the_others():
    data = Dataset(
        Problem(str(at), f"Number {at} is _", (f"x{at}", f"y{at}")[:: 1 if at % 2 else -1],
                int(at % 3 == 0))
        for at in range(90)
    )  # fmt: skip
    told = {p.options[p.answer or 0] for p in data}
    mine = Cue("mine", lambda view: [float(option in told) for option in view.options])
    found = audit.audit(data, cues=[*CUES, mine], draws=99, probe_draws=0).parts[0].best_cue
    assert (found.cue, found.right) == ("mine", 1.0)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda view: [1.0], "returned 1 scores for the 2 options"),
        (lambda view: [float("nan")] * 2, "not a finite number"),
    ],
)
def test_cue_with_invalid_scores_is_refused_by_name(score, message):
    cue = Cue("mine", score)
    with pytest.raises(DataError, match=f"'mine' .*{message}"):
        _score_cues(_make_items(10, 0.5), [cue])


def test_word_cues_are_skipped_in_scripts_without_spaces():
    data = Dataset(
        Problem(str(at), f"茶碗{at}が急須に当たって_が割れた。", ("茶碗", "大きい急須"), at % 2)
        for at in range(40)
    )
    tried = _score_cues(data)
    assert "the longest, in words" in tried.unreadable_cues
    assert "the longest, in characters" in {found.cue for found in tried.scores}


def test_data_set_without_keys_is_refused():
    with pytest.raises(DataError, match="mine: no item has a key"):
        audit.audit(Dataset([Problem("a", "It is _", ("x", "y"))], "mine"))


def test_cue_scores_each_item_once():
    """Scores are cached for subsets, other keys and other cues; the views of items are freed."""
    seen: list[weakref.ref[audit.View]] = []

    def score(view: audit.View) -> list[float]:
        seen.append(weakref.ref(view))
        return view.characters

    items = audit.Items.from_dataset(make_twins(40))
    own = Cue("mine", score)
    half = items.block % 2 == 0
    audit.score_cues(items, [own, *CUES], draws=19)
    for these in (items.subset(half), items.with_keys(1 - items.unit_key)):
        audit.score_cues(these, [own, *CUES], draws=19)
    assert len(seen) == len(items)
    assert all(view() is None for view in seen)
    of_half = items.subset(half).count_ties([own])
    assert (of_half == items.count_ties([own])[np.repeat(half, 2)]).all()


def test_scores_do_not_depend_on_batch_sizes(monkeypatch):
    data = Dataset([*make_twins(30), *(replace(p, id=f"{p.id}x") for p in make_twins(10, seed=2))])
    whole = _score_cues(data, draws=99)
    for name, few in (("_UNITS", 7), ("_KEYS", 100), ("_TABLE", 11)):
        monkeypatch.setattr(_battery, name, few)
    monkeypatch.setattr(_items, "_BATCH_SIZE", 3)
    assert _score_cues(data, draws=99) == whole


def test_cues_that_can_read_no_text_are_reported():
    asked = [
        Problem(f"{n}", f"問{n}は何か", (f"赤{n}", f"青{n}、黒"), n % 2, blank=None)
        for n in range(9)
    ]
    listed = [cue for cue in CUES if cue.needs == "latin"]
    found = _score_cues(Dataset(asked), listed)
    assert (found.scores, found.unreadable_cues) == ((), tuple(cue.name for cue in listed))


LABELS = ("contradiction", "entailment", "neutral")


def _write_pairs(folder: Path, share: float, n: int = 400) -> Dataset:
    """Write pairs; a fraction of the contradictions and 20 % of the others have a negation."""
    rng = np.random.default_rng(0)
    rows = []
    for at in range(n):
        label = LABELS[at % 3]
        said = "is not" if rng.random() < (share if label == LABELS[0] else 0.2) else "is"
        place, other = rng.choice(["river", "tree", "car", "bench"], 2)
        rows.append({"premise": f"A man {at} stands near the {place}.", "label": label,
                     "hypothesis": f"The man {at} {said} near the {other}."})  # fmt: skip
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return formats.read(path)


def test_negation_that_reveals_the_label_is_flagged(tmp_path):
    told = audit.audit(_write_pairs(tmp_path, 0.7), draws=99, probe_draws=0)
    found = told.parts[0].best_cue
    assert found.cue == "contradiction, if the hypothesis has a negation"
    assert found.about == "class"
    assert "Write such texts for the other labels as well." in audit.render_page(told)
    even = audit.audit(_write_pairs(tmp_path, 0.2), draws=99, probe_draws=0)
    assert even.parts[0].battery.flagged == ()


def test_cue_of_classes_does_not_flag_positions_of_even_labels(tmp_path):
    """Contradictions are rare among the other texts, but this is explained by the cue."""
    data = [p for at, p in enumerate(_write_pairs(tmp_path, 0.9)) if at % 3 or at > 30]
    found = audit.audit(Dataset(data), draws=99, probe_draws=0).parts[0].battery
    assert [one.about for one in found.flagged] == ["class"]
    assert found.positions_p > 0.2


def test_sign_is_flagged_in_addition_to_a_frequent_answer():
    rng = np.random.default_rng(0)
    signs = [(rng.random() < 0.3, int(rng.integers(10**6))) for _ in range(300)]
    data = Dataset(
        Problem(f"{at}", f"Is {number} {'not ' * sign}prime, or {at}?", ("no", "yes"),
                int(rng.random() < (0.35 if sign else 0.85)), blank=None)
        for at, (sign, number) in enumerate(signs)
    )  # fmt: skip
    named = audit.audit(data, draws=99, probe_draws=0).parts[0].battery.flagged
    assert [one.cue for one in named] == ["the second", "no, if the text has a negation"]


def test_signs_are_of_the_hypothesis_only(tmp_path):
    data = _write_pairs(tmp_path, 0.5, 60)
    premise, said = "It is not so.", "So it is."
    extra = Extra({"questions.premise": premise, "questions.hypothesis": said})
    pair = replace(data[0], sentence=f"{premise} {said}", extra=extra)
    cues = audit.make_class_cues(Dataset([pair, *data[1:]]))
    assert len(cues) == 3 * 7
    view = audit.View(pair.sentence, pair.options, audit.Corpus.from_options([pair.options]))
    assert [cue.name for cue in cues if any(cue.score(view))] == [
        f"{label}, if the hypothesis {sign}"
        for sign in ("has fewer words than most", "has all its words in the premise")
        for label in LABELS
    ]


def test_varying_options_are_not_classes():
    quiz = [
        Problem(f"q{at}", f"Who? {at}", (f"a{at}", f"b{at}"), 0, blank=None) for at in range(60)
    ]
    assert audit.make_class_cues(Dataset(quiz)) == ()
    both = (("no", "yes"), ("yes", "no"), ("No", "yes"))
    mixed = [Problem(f"m{at}", f"Is it {at}?", both[at % 3], 0, blank=None) for at in range(60)]
    assert audit.make_class_cues(Dataset(mixed)) == ()
    assert audit.make_class_cues(Dataset(replace(p, options=both[0]) for p in mixed)) != ()
