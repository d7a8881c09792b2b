"""Blocks, copies and look-alikes, and the shuffled order."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import example, given, strategies as st

from winosmith import Dataset, Lineage, Problem, formats
from winosmith.blocks import (
    _make_sort_key,
    draw_blocks,
    find_blocks,
    find_contradictions,
    find_copies,
    find_lookalikes,
    shuffle,
    shuffle_blocks,
)
from winosmith.errors import DataError
from winosmith.testing import make_twins
from winosmith.text import split_pieces


@given(st.integers(0, 50), st.randoms(use_true_random=False))
def test_shuffled_order_ignores_ids_answers_and_input_order(seed, rng):
    data = make_twins(12, singles=3)
    disguised = [
        replace(
            problem,
            id=f"{index}{rng.random()}",
            twin_id=f"x{problem.twin_id}",
            answer=1 - problem.answer,
        )
        for index, problem in enumerate(data)
    ]
    rng.shuffle(disguised)
    other = Dataset(disguised)
    published = [data[row].sentence for block in shuffle_blocks(data, seed) for row in block]
    assert published == [
        other[row].sentence for block in shuffle_blocks(other, seed) for row in block
    ]


@given(st.integers(0, 50), st.integers(0, 12), st.integers(0, 5))
def test_shuffled_data_set_consists_of_its_shuffled_blocks(seed, twins, singles):
    """Blocks keep their sizes, and no row is lost."""
    data = make_twins(twins, singles=singles)
    order = shuffle_blocks(data, seed)
    firsts = [_make_sort_key(data[block[0]], seed) for block in order]
    assert firsts == sorted(firsts)
    moved, now = shuffle(data, seed)
    assert moved.ids == tuple(data.ids[row] for block in order for row in block)
    assert [row for block in now for row in block] == list(range(len(data)))
    assert [len(block) for block in now] == [len(block) for block in order]


WORDS = st.lists(st.sampled_from("abcde"), max_size=9)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["xy", "uv"]), WORDS), max_size=12))
def test_lookalikes_are_those_found_by_comparing_all_pairs(drawn):
    """Look-alikes have the same options and share 70 % of the words (as a multiset)."""
    made = [
        (new, Problem(f"p{at}", " ".join(["_", *words]), tuple(options)))
        for at, (new, options, words) in enumerate(drawn)
    ]
    here, there = ([problem for new, problem in made if new is side] for side in (True, False))

    def alike(one, other):
        cut = [Counter(problem.sentence.split()) for problem in (one, other)]
        shared = (cut[0] & cut[1]).total() >= 0.7 * max(held.total() for held in cut)
        return one.options == other.options and shared

    found = {row for row, one in enumerate(here) if any(alike(one, other) for other in there)}
    assert find_lookalikes(here, there) == found


def test_order_of_halves_does_not_reveal_the_answer():
    """In sorted data, too, the answer of the first half is option 1 about half of the time."""
    data = make_twins(400)
    answers_first = Dataset(sorted(data, key=lambda p: (p.twin_id, p.answer)))
    firsts = [answers_first[block[0]].answer for block in shuffle_blocks(answers_first, 0)]
    assert 160 < sum(firsts) < 240


def test_635_of_dprs_661_twins_share_a_block_without_their_ids(data_dir):
    data = formats.read(data_dir / "dpr/train.c.txt")
    found = find_blocks(Dataset(replace(problem, twin_id=None) for problem in data))
    block = {row: number for number, rows in enumerate(found) for row in rows}
    assert sum(block[one] == block[other] for one, other in data.twins) == 635


def test_twins_with_one_changed_option_share_a_block():
    """The texts must share 70 % of their words. If both options differ, no block is shared."""
    text = "Do you see the shark near the minnow? I hope the _ is not {}."
    one = Problem("a", text.format("eaten"), ("shark", "minnow"), 1)
    other = Problem("b", text.format("hungry"), ("minnow", "the big shark"), 1)
    third = Problem("c", text.format("tired"), ("Ann", "Bob"), 1)
    assert [sorted(block) for block in find_blocks(Dataset([one, other, third]))] == [[0, 1], [2]]


def test_families_with_a_pair_of_lookalikes_form_one_block():
    near = "The _ fell off the old table in the hall."
    far = "Nobody ever saw how quickly my _ broke."
    family = {"a": "One _ here.", "b": near, "c": "Two _ there.", "d": f"{near} Again.", "e": far}
    roots = {"a": "a", "b": "a", "c": "c", "d": "c", "e": "e"}
    data = Dataset(
        Problem(key, text, ("cup", "jug"), 0, lineage=Lineage(roots[key], roots[key]))
        for key, text in family.items()
    )
    assert [sorted(block) for block in find_blocks(data)] == [[0, 1, 2, 3], [4]]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=8), max_size=8))
@example([[*"abcdefxx"], [*"cdefghyy"], [*"abcdefgh"]])  # the third is like both
@example([[*"abcd"], [*"abxy"]])
def test_blocks_are_chains_of_texts_that_share_70_percent(sentences):
    """The fraction is that of the longer text's words.

    If only two texts have these options, 40 % are enough.
    """
    data = Dataset(
        Problem(f"p{row}", f"{' '.join(words)} _.", ("cup", "jug"), 0)
        for row, words in enumerate(sentences)
    )
    counted = [Counter(split_pieces(problem.sentence)) for problem in data]
    forest = [{row} for row in range(len(data))]
    least = 4 if len({frozenset(held.items()) for held in counted}) == 2 else 7
    for one, other in combinations(range(len(data)), 2):
        pair = counted[one], counted[other]
        if 10 * (pair[0] & pair[1]).total() >= least * max(each.total() for each in pair):
            together = forest[one] | forest[other]
            for row in together:
                forest[row] = together
    assert {frozenset(block) for block in find_blocks(data)} == {frozenset(tree) for tree in forest}


def test_block_of_20000_family_members_needs_no_pairwise_comparison():
    family = Dataset(
        Problem(str(number), f"The _ fell off table {number}.", ("cup", "jug"), 0, lineage=lineage)
        for number, lineage in enumerate([None, *[Lineage("0", "0")] * 19_999])
    )
    assert [len(block) for block in find_blocks(family)] == [20_000]


def test_drawn_sets_are_disjoint_and_consist_of_whole_blocks():
    """Drawing all problems is refused."""
    data = make_twins(50)
    order = shuffle_blocks(data, 0)
    one, two = draw_blocks(order, range(100), [15, 10])
    assert (len(one), len(two)) == (16, 10)
    assert set(one).isdisjoint(two)
    assert all(row ^ 1 in {*one} for row in one)
    with pytest.raises(DataError, match="no problems would remain"):
        draw_blocks(order, range(100), [60, 40])


CUP = Problem("a", "The cup hit the jug in a café and _ broke.", ("cup", "jug"), 0, pronoun="it")


@pytest.mark.parametrize(
    ("change", "is_copy"),
    [
        ({"answer": 1}, True),
        ({"answer": None}, True),
        ({"twin_id": "t"}, True),
        ({"options": ("jug", "cup")}, True),
        ({"options": ("Cup", "JUG ")}, True),
        ({"sentence": "the Cup hit  the jug in a cafe\u0301 and _ broke ."}, True),
        ({"pronoun": "It"}, True),
        ({"pronoun": None}, True),
        ({"pronoun": "that"}, False),
        ({"options": ("cup", "the jug")}, False),
        ({"options": ("cup", "jug", "floor")}, False),
        ({"sentence": "The cup hit the jug in a café and _ broke"}, False),
        ({"sentence": "_ hit the jug in a café and it broke."}, False),
    ],
)
def test_copies_have_the_same_text(change, is_copy):
    """The texts are the pronoun, the options, the sentence and the position of the blank.

    Answers, twins, the order of options, case, spaces and a missing pronoun make no difference,
    nor does the composition of letters.
    """
    both = Dataset([CUP, replace(CUP, id="b", **change)])
    assert find_copies(both) == ([[0, 1]] if is_copy else [])
    assert len(find_blocks(both)) == 1 or not is_copy


def test_copies_have_the_same_blank():
    """A text may contain two `_`.

    Problems with another of them as the blank, or with none, are not copies.
    """
    one = Problem("a", "_ said that _ left.", ("Ann", "Eva"), blank=0)
    others = [replace(one, id="b", blank=12), replace(one, id="c", blank=None)]
    assert find_copies(Dataset([one, *others])) == []
    assert find_copies(Dataset([one, *others, replace(one, id="d")])) == [[0, 3]]


def test_case_counts_if_it_distinguishes_the_options():
    polish = Problem("a", "It was _ that she needed.", ("Polish", "polish"), 0)
    both = Dataset([polish, replace(polish, id="b", answer=1)])
    assert find_contradictions(both) == [[0, 1]]
    assert (
        find_copies(Dataset([polish, replace(polish, id="b", options=("polish", "POLISH"))])) == []
    )


def test_problems_without_pronoun_copy_only_each_other_if_there_are_two_pronouns():
    """All form one block, because a solver that sees only the blank can't distinguish them."""
    he, she, they = (replace(CUP, id=p, pronoun=p) for p in ("he", "she", "they"))
    bare, again = replace(CUP, id="bare", pronoun=None), replace(CUP, id="again", pronoun=None)
    assert find_copies(Dataset([he, she, they])) == []
    assert find_copies(Dataset([he, bare, she, again])) == [[1, 3]]
    assert find_copies(Dataset([he, bare, again])) == [[0, 1, 2]]
    assert len(find_blocks(Dataset([he, bare, she, again, they]))) == 1


def test_copies_contradict_each_other_if_their_correct_options_differ():
    """The text of the option counts, not its position. Withheld answers contradict nothing."""
    turned = replace(CUP, id="b", options=("jug", "cup"), answer=1)
    assert find_contradictions(Dataset([CUP, turned])) == []
    assert find_contradictions(Dataset([CUP, replace(turned, answer=None)])) == []
    assert find_contradictions(Dataset([CUP, replace(turned, answer=0)])) == [[0, 1]]


@given(st.data(), st.randoms(use_true_random=False))
def test_copies_do_not_depend_on_the_order_of_rows_or_options(draw_, rng):
    twins = make_twins(4, singles=2)
    rows = draw_.draw(st.lists(st.sampled_from(range(len(twins))), max_size=15))
    made = [
        replace(
            twins[row],
            id=str(number),
            pronoun=draw_.draw(st.sampled_from(["it", "she", None])),
            answer=draw_.draw(st.sampled_from([0, 1, None])),
        )
        for number, row in enumerate(rows)
    ]
    turned = [_turned(problem) if rng.random() < 0.5 else problem for problem in made]
    rng.shuffle(turned)
    one, other = Dataset(made), Dataset(turned)
    assert _by_id(one, find_copies(one)) == _by_id(other, find_copies(other))
    assert _by_id(one, find_contradictions(one)) == _by_id(other, find_contradictions(other))
    assert {frozenset(g) for g in find_contradictions(one)} <= {
        frozenset(g) for g in find_copies(one)
    }
    block = {row: number for number, rows in enumerate(find_blocks(one)) for row in rows}
    assert all(len({block[row] for row in group}) == 1 for group in find_copies(one))


def _turned(problem: Problem) -> Problem:
    answer = None if problem.answer is None else 1 - problem.answer
    return replace(problem, options=problem.options[::-1], answer=answer)


def _by_id(dataset: Dataset, groups: Sequence[Sequence[int]]) -> set[frozenset[str]]:
    return {frozenset(dataset[row].id for row in group) for group in groups}


def test_twins_of_copies_share_a_block():
    other = Problem("b", "The cup hit the jug in a café and _ broke it.", ("cup", "jug"), 1, "t")
    copy = replace(CUP, id="c", twin_id="u", options=("jug", "cup"), answer=1)
    apart = Problem("d", "Nothing at all like this, for _ is new.", ("cup", "jug"), 1, "u")
    data = Dataset([replace(CUP, twin_id="t"), other, copy, apart])
    assert find_blocks(data) == [[0, 1, 2, 3]]


def test_versions_of_a_template_with_two_pronouns_share_a_block():
    """WinoBias has each sentence for him and for her: 1,518 blocks without copies.

    Without the pronouns, they are 1,518 groups of copies.
    """
    data = Dataset(
        Problem(f"{first}-{verb}-{second}-{pronoun}",
                f"{first} {verb} {second} because _ was late.", (first, second),
                int(verb == "hired"), pronoun=pronoun)
        for first, second in permutations([f"worker{number}" for number in range(23)], 2)
        for verb in ("called", "hired", "thanked")
        for pronoun in ("he", "she")
    )  # fmt: skip
    lost = Dataset(replace(problem, pronoun=None) for problem in data)
    assert find_copies(data) == []
    assert (len(find_copies(lost)), find_contradictions(lost)) == (1518, [])
    together = {row: number for number, rows in enumerate(find_blocks(data)) for row in rows}
    assert all(together[row] == together[row + 1] for row in range(0, len(data), 2))


@pytest.mark.data
def test_winogender_versions_are_a_block_but_not_copies(data_dir):
    data = formats.read(data_dir / "winogender/all_sentences.tsv")
    assert find_copies(data) == []
    block = {data[row].id: number for number, rows in enumerate(find_blocks(data)) for row in rows}
    versions = {id_.removesuffix(".male.txt") for id_ in block if id_.endswith(".male.txt")}
    assert len(versions) == 240
    for of in versions:
        genders = ("male", "female", "neutral")
        assert len({block[f"{of}.{gender}.txt"] for gender in genders}) == 1


_PUBLISHED = {
    "winogrande/train_xl.jsonl": (4, 8, 2),
    "winogrande/train_xs.jsonl": (0, 0, 0),
    "winogrande/train_s.jsonl": (2, 4, 0),
    "winogrande/train_m.jsonl": (2, 4, 0),
    "winogrande/train_l.jsonl": (2, 4, 0),
    "winogrande/train_debiased.jsonl": (2, 4, 0),
    "winogrande/dev.jsonl": (0, 0, 0),
    "winogrande/test.jsonl": (0, 0, 0),
    "knowref/knowref_test.json": (23, 46, 1),
    "wsc/WSCollection.xml": (0, 0, 0),
    "pdp/PDPChallenge2016.xml": (0, 0, 0),
    "dpr/train.c.txt": (0, 0, 0),
    "dpr/test.c.txt": (0, 0, 0),
    "copa/copa-all.xml": (0, 0, 0),
    "winogender/all_sentences.tsv": (0, 0, 0),
    "perturbed_wsc/dataset/enhanced_wsc.tsv": (45, 90, 5),
}
"""Our own counts for published files:

groups of copies, problems in them, and groups that contradict themselves. Those of KnowRef,
train_xl and the perturbed schemas were read by eye. 37 of the latter are scrambled versions without
a change. KnowRef's 628 and 629 have the same sentence with both answers, because "his" became "the
cabin he is being held in".
"""


@pytest.mark.data
@pytest.mark.parametrize("name", _PUBLISHED)
def test_numbers_of_copies_in_published_files(data_dir, name):
    data = formats.read(data_dir / name, skip_bad="/dev/null")
    groups = find_copies(data)
    counted = len(groups), sum(map(len, groups)), len(find_contradictions(data, groups))
    assert counted == _PUBLISHED[name]


def test_texts_without_spaces_are_compared_by_letters():
    """A Japanese twin without an id is a block; other problems with its options are not in it."""
    sentences = [
        "棚から落ちた茶碗が急須に当たって、薄い_が粉々に割れてしまった。",
        "棚から落ちた茶碗が急須に当たって、厚い_が粉々に割れてしまった。",
        "母は急須を洗ってから茶碗を洗ったので、_がまだ濡れていた。",
        "杯子从架子上掉下来砸到水壶上，薄薄的_摔得粉碎。",
    ]
    data = Dataset(
        Problem(str(n), sentence, ("茶碗", "急須"), 0) for n, sentence in enumerate(sentences)
    )
    assert [sorted(block) for block in find_blocks(data)] == [[0, 1], [2], [3]]


@given(st.lists(st.text("aA.'n t!_", min_size=1, max_size=8), min_size=2, max_size=12))
def test_problems_with_the_same_letters_share_a_block(parts):
    data = Dataset(
        Problem(str(row), f"{part} _.", (f"x{row}", f"y{row}"))
        for row, part in enumerate(part.replace("_", "") for part in parts)
    )
    letters = [re.sub("[^an t]| ", "", problem.sentence.lower()) for problem in data]
    alike = {frozenset(r for r, own in enumerate(letters) if own == one) for one in letters}
    assert {frozenset(block) for block in find_blocks(data)} == alike


@pytest.mark.parametrize(
    "change",
    [str.upper, lambda text: text.replace(",", "").rstrip("."), lambda text: text.replace(",", ";"),
     lambda text: f"“{text}”", lambda text: text.replace(" ", "\u00a0 "),
     lambda text: "".join(chr(ord(s) + 0xFEE0) if s.isalpha() else s for s in text),
     lambda text: text.replace("e", "e\u200b").replace(" ", "  "),
     lambda text: text.translate(str.maketrans("aeocpS", "\u0430\u0435\u043e\u0441\u0440\u0405")),
     lambda text: text.replace("e", "e\u034f").replace("h", "h\ufe0f").replace("s", "s\u3164"),
     lambda text: f"<p>**{text}**</p>",
     lambda text: text.replace("e", "é").replace("o", "o\u0308")],
)  # fmt: skip
def test_blocks_ignore_case_punctuation_spaces_and_articles(change):
    text = "Since it was heavy, the cup, not the jug, broke the shelf, and so the _ was sold."
    one = Problem("a", text, ("cup", "jug"), 0)
    again = Problem("b", change(text), ("it", "that"), 1)
    other = replace(one, id="c", sentence=text.replace("heavy", "light"))
    half = replace(other, options=("The cup", "the jug."), twin_id="t")
    third = replace(one, id="d", sentence="Nobody saw why _ fell on that day.")
    assert find_blocks(Dataset([one, again])) == [[0, 1]]
    assert find_blocks(Dataset([replace(one, twin_id="s"), third, half])) == [[0, 2], [1]]
    more = replace(other, options=("cup", "jug", "bowl"))
    assert find_blocks(Dataset([replace(one, twin_id="s"), more])) == [[0, 1]]


def test_signs_between_digits_distinguish_texts():
    asked = ("What is 3 - 4?", "What is 3 / 4?", "What is 34?", "What is 3.4?", "what is 3-4")
    data = Dataset(Problem(t, t, (f"x{t}", f"y{t}"), blank=None) for t in asked)
    assert sorted(map(sorted, find_blocks(data))) == [[0, 4], [1], [2], [3]]


def test_template_filled_hundreds_of_times_is_one_block():
    data = Dataset(
        Problem(f"{words} {at}", f"{' '.join(words)} w{at} _.", ("cup", "jug"))
        for words in ("abcdefghi", "qrstuvwxy")
        for at in range(400)
    )
    assert [sorted(block) for block in find_blocks(data)] == [[*range(400)], [*range(400, 800)]]
