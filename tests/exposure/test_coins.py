"""Coins of a keyed release, and the two presentations of a block between which they choose."""

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy.stats import binomtest

from winosmith import Dataset, Lineage, Origin, Problem, formats, practice
from winosmith.errors import InputError
from winosmith.exposure import (
    COINS,
    PRESENTATIONS,
    KeyedRelease,
    Pair,
    PresentedBlock,
    compute_coins,
    compute_commitment,
    compute_data_digest,
    draw_key,
    format_coins,
    format_presentations,
    iter_presentations,
    present_blocks,
    read_keyed_release,
)
from winosmith.exposure._coins import reverse_options, swap_names
from winosmith.lineage import make_child
from winosmith.validate import StructureRules, filter_by_structure

NAME = "small 1.0.0"


def pairs_of(data: Dataset) -> tuple[Pair, ...]:
    """Return the pairs of a data set, by block and id."""
    found = [
        Pair(min(p.id for p in one.a), a, b)
        for one in present_blocks(data, ["dev"] * len(data))
        for a, b in zip(one.a, one.b, strict=True)
    ]
    return tuple(sorted(found, key=lambda pair: (pair.block, pair.a.id)))


PAIRS = pairs_of(practice.generate_corpus(30, seed=1).dataset)


def write_release(folder: Path, key: bytes, pairs: tuple[Pair, ...] = PAIRS) -> Path:
    """Write a release with the private files that `read_keyed_release` reads; return its folder."""
    coins = compute_coins(key, NAME, pairs)
    keyed = KeyedRelease(pairs, coins, "", 0)
    dev = Dataset(map(keyed.get_published, pairs), "dev")
    digest, lines = compute_data_digest(NAME, {"dev": dev}), format_presentations(pairs)
    public, private = folder / "small-1.0.0-0", folder / "private/small-1.0.0-0"
    formats.write(dev.problems, public / "data/dev.jsonl")
    private.mkdir(parents=True)
    record = {
        "about": {"name": "small", "version": "1.0.0"},
        "digests": {"dev": dev.digest},
        "keyed": {"commitment": compute_commitment(key, digest, lines), "without": 2},
    }
    (public / "release.json").write_text(json.dumps(record), "utf-8")
    (private / PRESENTATIONS).write_text(lines, "utf-8")
    text = format_coins(key, KeyedRelease(pairs, coins, digest, 2))
    (private / COINS).write_text(text, "utf-8")
    return public


def test_keyed_release_round_trips(tmp_path):
    """Each published problem is the presentation that its coin selects."""
    key = draw_key()
    folder = write_release(tmp_path, key)
    found = read_keyed_release(folder)
    assert found.pairs == PAIRS
    assert found.coins == compute_coins(key, NAME, PAIRS)
    assert found.blocks_without_coin == 2
    published = {p.id: p for p in formats.read(folder / "data/dev.jsonl")}
    assert all(published[pair.a.id] == found.get_published(pair) for pair in found.pairs)


def test_commitment_is_the_documented_digest():
    """So anyone can recompute it."""
    key, lines = bytes(range(32)), format_presentations(PAIRS)
    other = hashlib.sha256(lines.encode()).hexdigest()
    text = b"winosmith coins 1\n" + key + b"d\n" + other.encode() + b"\n"
    assert compute_commitment(key, "d", lines) == hashlib.sha256(text).hexdigest()


@given(st.binary(min_size=32, max_size=32), st.integers(0, 255))
def test_commitment_changes_with_any_bit_of_its_inputs(key, bit):
    flipped = (int.from_bytes(key, "big") ^ (1 << bit)).to_bytes(32, "big")
    inputs = [(key, "d", "p"), (flipped, "d", "p"), (key, "e", "p"), (key, "d", "q")]
    assert len({compute_commitment(*of) for of in inputs}) == 4


def test_coins_are_fair_and_independent():
    """In total, per block, between neighbouring blocks, and for blocks with long sentences."""
    tosses = np.array([[*compute_coins(draw_key(), NAME, PAIRS).values()] for _ in range(400)])
    lengths = np.array([len(pair.a.sentence) for pair in PAIRS if pair.a.id == pair.block])
    parts = {"all": tosses, "neighbours": tosses[:, 1:] == tosses[:, :-1],
             "long sentences": tosses[:, lengths > np.median(lengths)],
             **{f"block {at}": coins for at, coins in enumerate(tosses.T)}}  # fmt: skip
    for name, coins in parts.items():
        assert binomtest(coins.sum(), coins.size).pvalue > 1e-6, name


def test_coins_depend_only_on_bytes_version_and_block_ids():
    key = draw_key()
    assert compute_coins(key, NAME, PAIRS) == compute_coins(key, NAME, PAIRS[::-1])
    assert compute_coins(key, NAME, PAIRS) != compute_coins(key, "small 1.0.1", PAIRS)
    blank = [Pair(pair.block, Problem("x", "_", ("a", "b")), pair.b) for pair in PAIRS]
    assert compute_coins(key, NAME, blank) == compute_coins(key, NAME, PAIRS)


def _changed(folder: Path, name: str, old: str, new: str) -> None:
    path = folder.parent / "private" / folder.name / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        (COINS, "true", "false", "its coins don't match its bytes"),
        (COINS, '"bytes": "', '"bytes": "00', "the key must be 32 bytes as hexadecimal digits"),
        (COINS, '"version": 1', '"version": 2', "not a valid coins file"),
        (COINS, "{", "[", "it is not JSON"),
        (COINS, '"digest": "', '"digest": "0', "belong to another release, or the data has"),
        (PRESENTATIONS, '"a":{', '"a":{"embargo":true,', "don't match the commitment"),
        (PRESENTATIONS, '"block"', '"b"', "occurs twice in one object"),
        (PRESENTATIONS, '"answer":0', '"answer":7', "invalid pair of presentations"),
        (PRESENTATIONS, '"id"', '"no"', "the two presentations have different ids"),
    ],
)
def test_changed_private_files_are_refused(name, old, new, fault, tmp_path):
    folder = write_release(tmp_path, draw_key())
    _changed(folder, name, old, new)
    with pytest.raises(InputError, match=rf"(?s){name.replace('.', '[.]')}.*{fault}"):
        read_keyed_release(folder)


def test_private_files_of_other_releases_are_refused(tmp_path):
    """Missing ones are refused too."""
    folder = write_release(tmp_path / "one", draw_key())
    other = write_release(tmp_path / "two", draw_key())
    private = tmp_path / "two/private" / other.name
    with pytest.raises(InputError, match="coins belong to another release"):
        read_keyed_release(folder, private)
    key = json.loads((private / COINS).read_text("utf-8"))["bytes"]
    old = json.loads((tmp_path / f"one/private/{folder.name}/{COINS}").read_text("utf-8"))["bytes"]
    _changed(folder, COINS, old, key)
    with pytest.raises(InputError, match=r"lines of presentations\.jsonl, don't match"):
        read_keyed_release(folder)
    for name in (PRESENTATIONS, COINS):
        (private / name).unlink()
        with pytest.raises(InputError, match=f"{name}: No such file.*can't be drawn again"):
            read_keyed_release(other)
    (folder / "release.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="is not a keyed release; make one with"):
        read_keyed_release(folder)


def test_data_in_the_other_presentation_are_refused(tmp_path):
    folder = write_release(tmp_path, draw_key())
    keyed = read_keyed_release(folder)
    first, *rest = keyed.pairs
    other = first.b if keyed.coins[first.block] else first.a
    formats.write([other, *map(keyed.get_published, rest)], folder / "data/dev.jsonl")
    with pytest.raises(InputError, match="or the data has changed"):
        read_keyed_release(folder)


ANN = "Ann lent Maria a coat because _ was cold."


def people(sentence: str = ANN, *options: str) -> Problem:
    """Return a problem about two people; the second is the answer."""
    return Problem("p", sentence, options or ("Ann", "Maria"), 1)


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        (ANN, "Maria lent Ann a coat because _ was cold."),
        ("Maria's dog bit Ann’s, so _ left.", "Ann's dog bit Maria’s, so _ left."),
        ("Ann sang. She, Ann, heard Maria; _ left.", "Maria sang. She, Maria, heard Ann; _ left."),
        ("_ left (Ann), not Maria.", "_ left (Maria), not Ann."),
    ],
)  # fmt: skip
def test_names_are_swapped_at_each_mention(sentence, other):
    found = swap_names(people(sentence))
    assert (found.sentence, found.options, found.answer) == (other, ("Ann", "Maria"), 0)


@pytest.mark.parametrize(
    ("sentence", "options"),
    [
        ("Ann lent Robert a coat because _ was cold.", ("Ann", "Robert")),  # two genders
        ("Kit lent Alex a coat because _ was cold.", ("Kit", "Alex")),  # names of both genders
        ("The cup hit the jug and _ broke.", ("cup", "jug")),
        ("The Queen saw the Princess and _ left.", ("Queen", "Princess")),  # nouns for people
        ("James lent Carl the coats, and James' were warm, so _ left.", ("James", "Carl")),
        ("Ann-Marie saw Maria, and Ann said that _ left.", ("Ann", "Maria")),
        ("Ann Smith saw Maria, and _ left.", ("Ann", "Maria")),
        ("We saw Aunt Ann and Maria, and _ left.", ("Ann", "Maria")),
        ("Robert saw Carl, but Rob knew that _ left.", ("Robert", "Carl")),  # a short form
        ("Will saw Carl, and Carl knew that _ left.", ("Will", "Carl")),
        ("Mark saw Carl mark the sheet, and _ left.", ("Mark", "Carl")),  # a verb
        ("There is an Ann here and Maria, and _ left.", ("Ann", "Maria")),
        ("Ann's name comes before Maria's, so _ is first.", ("Ann", "Maria")),
        ("Ann left, and so did _.", ("Ann", "Maria")),  # only one is mentioned
        ("Ann, Maria and Zoe left before _.", ("Ann", "Maria", "Zoe")),
    ],
)
def test_names_stay_if_the_meaning_may_change(sentence, options):
    """Gender, form or meaning could show which name is meant."""
    assert swap_names(people(sentence, *options)) is None


def test_names_in_anchors_and_edits_are_not_swapped():
    told = people()
    assert swap_names(replace(told, origin=Origin(anchor="coat"))) is not None
    assert swap_names(replace(told, origin=Origin(anchor="Ann"))) is None
    child = make_child(told, told.sentence.replace("coat", "scarf"), told.options, 1, source="x")
    assert swap_names(child) is None
    assert present_blocks([child], ["train"])[0].kind == "options"


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which float?", ("cork", "wood", "all of the above")),
        ("Which float?", ("cork", "wood", "both A and B")),
        ("Which float?", ("cork", "wood", "(a) and (b)")),
        ("Was schwimmt?", ("Kork", "Holz", "alle oben genannten")),
        ("什么会漂浮?", ("软木", "木头", "A和B")),
        ("什么会漂浮?", ("软木", "木头", "以上都是")),
        ("Qu'est-ce qui flotte ?", ("le liège", "le bois", "toutes ces réponses")),
        ("Which is option B?", ("cork", "wood")),
        ("Which float? A) cork B) wood", ("cork", "wood")),
        ("Which type?", ("A", "B")),
        ("Which is it?", ("x", "y", "x")),  # the reverse is the same
    ],
)
def test_options_with_a_meaningful_order_stay(question, options):
    """The problem has only one presentation, and so no coin."""
    problem = Problem("q", question, options, None, blank=None)
    assert reverse_options(problem) is None
    assert present_blocks([problem], ["train"]) == [PresentedBlock((0,), None, (problem,), ())]


NAMES = ("Ann", "Maria", "Zoe", "James", "Robert", "cup", "jug", "mug")

problems = st.builds(
    lambda at, names, verb, place, answer: Problem(
        f"q{at}", f"{names[0]}'s friend {verb} {names[1]}, so {place} _ left.", names, answer
    ),
    st.integers(0, 10**9),
    st.permutations(NAMES).map(lambda order: tuple(order[:2])),
    st.sampled_from(("met", "named", "hit")),
    st.sampled_from(("then", "at noon", "Mr Will")),
    st.integers(0, 1),
)
quizzes = st.builds(
    lambda at, options, answer: Problem(f"q{at}", f"Why {at}?", options, answer, blank=None),
    st.integers(0, 10**9),
    st.permutations(("1", "two", "three", "all of these", "B", "six")).map(
        lambda order: tuple(order[:4])
    ),
    st.integers(0, 3),
)


def _places(problem: Problem, name: str) -> list[int]:
    words = re.findall(r"\w+", problem.sentence)
    return [at for at, word in enumerate(words) if word == name]


@given(st.one_of(problems, quizzes))
def test_changes_are_their_own_inverse_and_keep_the_answer(problem):
    """If names are swapped, the new answer is mentioned where the old one was."""
    for change in (swap_names, reverse_options):
        other = change(problem)
        if other is None:
            continue
        assert change(other) == problem
        key, new = problem.options[problem.answer or 0], other.options[other.answer or 0]
        assert _places(other, new) == _places(problem, key)
        assert (new == key) == (change is reverse_options)
        assert replace(other, sentence="_", options=("a", "b"), answer=0) == replace(
            problem, sentence="_", options=("a", "b"), answer=0
        )


@example(
    [
        Problem("a", "Maria's friend named Zoe, so then _ left.", ("Maria", "Zoe"), 1),
        Problem("b", "Ann's friend met Maria, so then _ left.", ("Ann", "Maria"), 0),
    ]
)
@given(st.lists(st.one_of(problems, quizzes), min_size=1, max_size=8, unique_by=lambda p: p.id))
def test_presentations_do_not_depend_on_the_one_given(data):
    """Nor on the order of rows."""
    found = present_blocks(data, ["train"] * len(data))
    assert sorted(row for one in found for row in one.rows) == [*range(len(data))]
    pairs = {(a.id, a, b) for one in found for a, b in zip(one.a, one.b, strict=False)}
    switched = [problem for one in found for problem in (one.b or one.a)]
    again = present_blocks(switched[::-1], ["train"] * len(data))
    assert {(a.id, a, b) for one in again for a, b in zip(one.a, one.b, strict=False)} == pairs
    assert all(b in iter_presentations(a) and a != b for _, a, b in pairs)


def test_both_presentations_of_practice_twins_pass_the_rules():
    data = practice.generate_corpus(120, seed=1).dataset
    found = present_blocks(data, ["train"] * len(data))
    kinds = Counter((one.kind, data[one.rows[0]].origin.domain) for one in found)
    assert set(kinds) == {("names", "social"), ("options", "physical")}
    rules = StructureRules(rules="winogrande", complete=True)
    for forms in ([one.a for one in found], [one.b for one in found]):
        assert not filter_by_structure(Dataset(p for form in forms for p in form), rules).dropped


def test_twin_that_swapping_would_not_change_gets_reversed_options():
    """Swapping names turns each half into the other, so both presentations would be equal."""
    halves = [
        Problem("a", "After Ann beat Maria, _ smiled.", ("Ann", "Maria"), 0, "t"),
        Problem("b", "After Maria beat Ann, _ smiled.", ("Ann", "Maria"), 1, "t"),
    ]
    (one,) = present_blocks(halves, ["train"] * 2)
    assert (one.kind, one.rows) == ("options", (0, 1))


def test_swapping_makes_no_lookalikes_across_splits():
    """If it would, the options are reversed instead."""
    data = [
        replace(people("Ann, tired, met Maria; _ bowed."), twin_id="t"),
        replace(people("Maria, tired, met Ann; _ sang."), id="q", twin_id="u"),
    ]
    assert [found.rows for found in present_blocks(data, ["train", "train"])] == [(0, 1)]
    apart = present_blocks(data, ["train", "dev"])
    assert [(found.rows, found.kind) for found in apart] == [((0,), "options"), ((1,), "options")]


def test_family_is_one_block_with_one_kind_of_change():
    root = people()
    child = Problem("c", "Ann gave Maria a hat as _ froze.", ("Ann", "Maria"), 1,
                    lineage=Lineage("p", "p"))  # fmt: skip
    (one,) = present_blocks([root, child], ["train", "train"])
    assert one.kind == "names"
    assert {p.sentence.split()[0] for p in one.a} == {"Ann"}


def test_every_block_of_winogrande_has_two_presentations(data_dir):
    """About half of the twins have their names swapped."""
    dev = formats.read(data_dir / "winogrande/dev.jsonl")
    found = present_blocks(dev, ["dev"] * len(dev))
    assert None not in {one.kind for one in found}
    assert 0.4 < sum(one.kind == "names" for one in found) / len(found) < 0.6
