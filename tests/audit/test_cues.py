"""Cues: what they pick, and that they look at nothing that they should not."""

import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from winosmith import Dataset, Problem, audit
from winosmith.audit import CUES, Cue, _items, _null
from winosmith.audit._cues import get_advice
from winosmith.errors import DataError
from winosmith.testing import make_twins

WORDS = "red cold river mouse never some 12 3.5 stone about (a) B and a or an Apple only".split()


@st.composite
def problems(draw: st.DrawFn, most: int = 12) -> Dataset:
    """Draw a few items of two to five different options."""
    option = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
    found = []
    for at in range(draw(st.integers(1, most))):
        options = draw(st.lists(option, min_size=2, max_size=5, unique_by=str.lower))
        asked = " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=5)))
        answer = draw(st.integers(0, len(options) - 1))
        found.append(Problem(f"p{at}", f"{asked} number {at} is _", tuple(options), answer))
    return Dataset(found)


def _scores(dataset: Dataset) -> dict[str, float]:
    found = audit.score_cues(audit.Items.from_dataset(dataset), draws=19).scores
    return {one.cue: round(one.right, 9) for one in found if one.about == "content"}


@settings(deadline=None, max_examples=25)
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_options_changes_no_content_score(dataset: Dataset, random: object) -> None:
    """Options dealt anew with their keys leave what each cue of content gets right as it was."""
    dealt = []
    for problem in dataset:
        order = list(range(len(problem.options)))
        random.shuffle(order)
        options = tuple(problem.options[at] for at in order)
        dealt.append(replace(problem, options=options, answer=order.index(problem.answer or 0)))
    assert _scores(Dataset(dealt)) == _scores(dataset)


@settings(deadline=None, max_examples=15)
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_items_changes_nothing(dataset: Dataset, random: object) -> None:
    """Every figure of the battery is the same for the items in another order."""
    rows = list(range(len(dataset)))
    random.shuffle(rows)
    one = audit.score_cues(audit.Items.from_dataset(dataset), draws=39)
    assert audit.score_cues(audit.Items.from_dataset(dataset.select(rows)), draws=39) == one


@settings(deadline=None, max_examples=15)
@given(problems())
def test_a_second_copy_of_every_item_changes_no_p(dataset: Dataset) -> None:
    """Copies share a draw, so that p stays what it was when each item is there twice."""
    again = [replace(problem, id=f"{problem.id} again") for problem in dataset]
    one = audit.score_cues(audit.Items.from_dataset(dataset), draws=39)
    two = audit.score_cues(audit.Items.from_dataset(Dataset([*dataset, *again])), draws=39)
    assert {f.cue: (f.p, f.rank) for f in two.scores} == {f.cue: (f.p, f.rank) for f in one.scores}
    assert two.positions_p == one.positions_p


def test_a_copy_whose_options_are_reordered_shares_its_draw() -> None:
    """Copies with their options in reverse leave each content cue's place in its null as it was."""
    data = _lengths(60, 0.7)
    again = [
        replace(p, id=f"{p.id}x", options=p.options[::-1], answer=1 - (p.answer or 0)) for p in data
    ]
    one = audit.score_cues(audit.Items.from_dataset(data), draws=39).scores
    two = audit.score_cues(audit.Items.from_dataset(Dataset([*data, *again])), draws=39).scores
    told = [{f.cue: round(f.z, 6) for f in of if f.about == "content"} for of in (one, two)]
    assert told[0] == told[1]


def _picked(name: str, question: str, options: tuple[str, ...]) -> set[int]:
    """Return the options that a cue picks of an item."""
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
def test_cues_pick_what_their_names_say(
    name: str, question: str, options: tuple[str, ...], picked: set[int]
) -> None:
    """Each of these options is what the cue's name says of them."""
    assert _picked(name, question, options) == picked


def test_advice_fits_the_cue() -> None:
    """Each content cue has its own kind of advice; a new cue has a general one."""
    general = get_advice("mine")
    assert general not in {get_advice(cue.name) for cue in audit.CUES if cue.about == "content"}
    assert get_advice("the longest, in words").startswith("Lengthen the other options")
    assert get_advice("the shortest, in words").startswith("Shorten the other options")
    assert get_advice("the rarest word").startswith("Use equally common words")
    assert get_advice("the largest number") != get_advice("a number")


def _lengths(n: int, share: float, seed: int = 0) -> Dataset:
    """Make items of two options, of which the longest is the key in a share of them."""
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


def test_a_planted_cue_is_named_first_and_explains_its_likes() -> None:
    """If the longest option is the key, length is flagged, once, and no p is under 1/(1 + B)."""
    tried = audit.score_cues(audit.Items.from_dataset(_lengths(200, 0.8)), draws=199)
    assert [found.cue for found in tried.flagged] == ["the longest, in characters"]
    assert tried.flagged[0].p == 0.005
    assert all(found.p >= 0.005 for found in tried.scores)


def test_keys_of_one_position_name_a_position_and_no_content() -> None:
    """Keys that stand first in options sorted by length tell of position alone."""
    rng = np.random.default_rng(3)
    found = []
    for at in range(300):
        options = ("stone", "a cold river", f"the mouse of {at} rivers")
        answer = 0 if rng.random() < 0.5 else int(rng.integers(3))
        found.append(Problem(str(at), f"What is number {at}? _", options, answer))
    named = audit.score_cues(audit.Items.from_dataset(Dataset(found)), draws=199).flagged
    assert [one.cue for one in named] == ["the first"]


def test_a_position_after_the_fourth_is_a_cue_too() -> None:
    """If the fifth of nine options has too many keys, that position is flagged."""
    rng = np.random.default_rng(0)
    data = Dataset(
        Problem(str(at), f"What is {at}? _", tuple(f"o{at}x{o}" for o in range(9)),
                int(rng.choice(9, p=[0.11, 0.11, 0.11, 0.11, 0.3, 0, 0, 0.15, 0.11])))
        for at in range(200)
    )  # fmt: skip
    found = audit.audit(data, cues=CUES[:4], draws=199, probe_draws=0)
    best = found.parts[0].best_cue
    assert best is not None
    assert best.cue == "the fifth"
    assert "“the fifth” is the key of 29.0" in audit.render_page(found)


@settings(deadline=None, max_examples=15)
@given(problems(most=3))
def test_a_band_is_of_shares(dataset: Dataset) -> None:
    """However few items there are, chance gives a cue between none and all of them."""
    found = audit.score_cues(audit.Items.from_dataset(dataset), draws=19).scores
    assert all(0 <= end <= 1 for one in found for end in (one.expected, one.high))


def test_a_set_without_cues_has_none_named() -> None:
    """Keys drawn at random name no cue in most sets: here in 19 of 20 at least."""
    named = [
        audit.score_cues(audit.Items.from_dataset(_lengths(60, 0.5, seed)), draws=99).flagged
        for seed in range(20)
    ]
    assert sum(map(bool, named)) <= 4


def test_twins_keep_their_relation_under_the_null() -> None:
    """The halves of a twin have opposite keys in every draw, so that no rule of options varies."""
    halves = []
    for at in range(40):
        options = (f"stone {at}", f"a cold river {at}")
        halves += [
            Problem(f"{at}a", f"It was big, so the _ {at} fell.", options, 0, f"t{at}"),
            Problem(f"{at}b", f"It was small, so the _ {at} fell.", options, 1, f"t{at}"),
        ]
    tried = audit.score_cues(audit.Items.from_dataset(Dataset(halves)), draws=39)
    longest = next(found for found in tried.scores if found.cue == "the longest, in characters")
    assert (longest.right, longest.expected, longest.high, longest.p) == (0.5, 0.5, 0.5, 1.0)


def test_cues_that_no_draw_changes_come_last() -> None:
    """The strongest cue is one that chance could have made weaker, if there is any."""
    data = Dataset(Problem(str(at), f"w{at} x{at}? _", ("no", "yes"), at % 2) for at in range(60))
    found = audit.score_cues(audit.Items.from_dataset(data), CUES[:6], draws=39).scores
    fixed = [one.spread == 0 for one in found]
    assert fixed == sorted(fixed)
    assert fixed[-1]
    assert not fixed[0]


def test_a_cue_of_ones_own_is_one_line() -> None:
    """A cue that a user adds is tried beside the others, and named when it tells the key."""
    data = Dataset(
        Problem(str(at), f"Number {at} is _", (f"x{at}", f"y{at}")[:: 1 if at % 2 else -1],
                int(at % 3 == 0))
        for at in range(90)
    )  # fmt: skip
    told = {p.options[p.answer or 0] for p in data}
    mine = Cue("mine", lambda view: [float(option in told) for option in view.options])
    found = audit.audit(data, cues=[*CUES, mine], draws=99, probe_draws=0).parts[0].best_cue
    assert found is not None
    assert (found.cue, found.right) == ("mine", 1.0)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda view: [1.0], "returned 1 scores for the 2 options"),
        (lambda view: [float("nan")] * 2, "not a finite number"),
    ],
)
def test_a_cue_whose_scores_do_not_fit_is_named_in_the_error(score: object, message: str) -> None:
    """Too few scores, or none that are numbers, are refused by the cue's name."""
    cue = Cue("mine", score)
    with pytest.raises(DataError, match=f"'mine' .*{message}"):
        audit.score_cues(audit.Items.from_dataset(_lengths(10, 0.5)), [cue], draws=19)


def test_words_are_not_checked_where_none_stand_apart() -> None:
    """In a script without spaces word cues are told as not checked, and lengths are tried."""
    data = Dataset(
        Problem(str(at), f"茶碗{at}が急須に当たって_が割れた。", ("茶碗", "大きい急須"), at % 2)
        for at in range(40)
    )
    tried = audit.score_cues(audit.Items.from_dataset(data), draws=19)
    assert "the longest, in words" in tried.unreadable_cues
    assert "the longest, in characters" in {found.cue for found in tried.scores}


def test_a_set_without_keys_is_refused() -> None:
    """Without a single key there is nothing to give away."""
    with pytest.raises(DataError, match="mine: no item has a key"):
        audit.audit(Dataset([Problem("a", "It is _", ("x", "y"))], "mine"))


def test_a_cue_is_asked_once_about_each_item() -> None:
    """What a cue picks is kept for parts, other keys and another battery; what it saw is not."""
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
    assert (
        items.subset(half).count_ties([own]) == items.count_ties([own])[np.repeat(half, 2)]
    ).all()


def test_it_is_the_same_however_much_is_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few units, draws and items at a time give the figures of all at once."""
    data = Dataset([*make_twins(30), *(replace(p, id=f"{p.id}x") for p in make_twins(10, seed=2))])
    whole = audit.score_cues(audit.Items.from_dataset(data), draws=99)
    for of, name, few in ((_null, "_UNITS", 7), (_null, "_KEYS", 100), (_null, "_TABLE", 11),
                          (_items, "_BATCH_SIZE", 3)):  # fmt: skip
        monkeypatch.setattr(of, name, few)
    assert audit.score_cues(audit.Items.from_dataset(data), draws=99) == whole


def test_cues_that_can_read_nothing_are_told() -> None:
    """Of text without spaces between its words nothing is left of a battery of English words."""
    asked = [
        Problem(f"{n}", f"問{n}は何か", (f"赤{n}", f"青{n}、黒"), n % 2, blank=None)
        for n in range(9)
    ]
    listed = [cue for cue in CUES if cue.needs == "latin"]
    found = audit.score_cues(audit.Items.from_dataset(Dataset(asked)), listed, draws=19)
    assert (found.scores, found.unreadable_cues) == ((), tuple(cue.name for cue in listed))
