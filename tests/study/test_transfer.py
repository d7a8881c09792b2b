"""Solvers judge claims without their labels; joined, sampled and nested data keep their blocks."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from winosmith import Claim, Dataset, Problem, formats
from winosmith.errors import DataError
from winosmith.problem import Lineage
from winosmith.recast import to_claims
from winosmith.study import (
    Target,
    count_lone_claims,
    draw_nested_parts,
    find_shared_sentences,
    hold_out,
    join_data,
    judge,
    solve_target,
    split_as_in_paper,
)
from winosmith.testing import make_twins


class Longest:
    """Prefers the longest option; records the number of options of each problem it scores."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        """Return the lengths of the options."""
        self.asked += [len(problem.options) for problem in problems]
        return [tuple(float(len(option)) for option in p.options) for p in problems]


def test_only_the_best_candidate_of_a_blank_is_true():
    claims = [Claim("1", "the _ fell.", c) for c in ("cup", "kettle", "jug")]
    assert judge(Longest(), claims) == (False, True, False)
    assert judge(Longest(), claims[::-1]) == (False, True, False)


def test_blank_is_identified_by_id_and_sentence():
    claims = [Claim("1", "a _ b.", "xx"), Claim("1", "c _ d.", "x"), Claim("2", "a _ b.", "x")]
    assert judge(Longest(), claims) == (False, False, False)
    assert count_lone_claims(claims) == 3


def test_repeated_claims_are_judged_alike():
    claims = [Claim("1", "a _ b.", c) for c in ("xx", "y", "xx")]
    solver = Longest()
    assert judge(solver, claims) == (True, False, True)
    assert solver.asked == [2]


def test_all_candidates_of_a_blank_are_compared_in_one_problem():
    names = ["a", "bb", "ccccccc", "dddd", "eee", "ffffff", "ggggg"]
    solver = Longest()
    held = judge(solver, [Claim("1", "the _ fell.", name) for name in names])
    assert [name for name, holds in zip(names, held, strict=True) if holds] == ["ccccccc"]
    assert solver.asked == [7]


def test_labels_make_no_difference():
    claims = to_claims(make_twins(10, singles=2))
    told = judge(Longest(), claims)
    assert judge(Longest(), [replace(claim, holds=None) for claim in claims]) == told
    assert judge(Longest(), [replace(claim, holds=not claim.holds) for claim in claims]) == told


def test_claims_of_recast_problems_match_the_solver():
    """The claim on the best option is true; with a tie, no claim is, in either order."""
    problems = make_twins(6)
    scores = Longest().score(problems)
    held = judge(Longest(), to_claims(problems))
    pairs = list(zip(held[::2], held[1::2], strict=True))
    assert pairs == [(own[0] > own[1], own[0] < own[1]) for own in scores]
    assert (False, False) in pairs
    backwards = judge(Longest(), to_claims(problems)[::-1])[::-1]
    assert backwards == held


def test_superglue_claims_can_be_judged(data_dir):
    claims = formats.read_claims(data_dir / "superglue_wsc" / "test.jsonl")
    held = judge(Longest(), claims)
    assert len(held) == 146
    blanks = len({(claim.problem_id, claim.sentence) for claim in claims})
    assert sum(held) == blanks - 2  # two blanks have a tie for the longest candidate


def test_accuracy_of_always_answering_true_is_reported():
    claims = tuple(
        Claim(f"{i}", f"a{i} _ b.", "x", holds=holds) for i, holds in enumerate((True, True, False))
    )
    notes = solve_target(Target("superglue-wsc", claims, "val.jsonl"), Longest(), ".").notes
    assert notes[0] == "always answering true gives 66.7 %"


@given(st.integers(5, 40), st.integers(0, 10), st.integers(0, 3), st.data())
def test_held_out_part_and_rest_are_the_whole(twins, singles, seed, draw):
    data = make_twins(twins, singles=singles)
    size = draw.draw(st.integers(1, len(data) - 3))
    rest, part = hold_out(data, size, seed)
    assert {*rest.ids, *part.ids} == set(data.ids)
    assert len(rest) + len(part) == len(data)
    assert size <= len(part) <= size + 1
    assert len(part.twins) + len(rest.twins) == twins


def test_claims_on_one_text_stay_together():
    claims = to_claims(make_twins(12))
    rest, part = hold_out(claims, 6)
    assert len(rest) + len(part) == len(claims)
    assert not {claim.sentence for claim in rest} & {claim.sentence for claim in part}
    with pytest.raises(DataError, match="none would remain"):
        hold_out(claims, len(claims))


def test_joined_ids_are_distinct():
    """If ids collide, the part's number is their prefix; otherwise they are unchanged."""
    first, second = make_twins(3), make_twins(2, seed=1)
    both = join_data([first, second])
    assert len(both) == 10
    assert len(both.twins) == 5
    assert both.ids[0] == "1/0-0"
    named = [replace(p, id=f"q{at // 2}-{at % 2}", twin_id=None) for at, p in enumerate(first)]
    apart = join_data([Dataset(named[::2]), Dataset(named[1::2])])
    assert len(apart.twins) == 3
    child = Problem("c", "A _ b.", ("x", "y"), lineage=Lineage("0-0", "0-0"))
    family = join_data([Dataset([*first, child]), second])
    assert family.families["1/0-0"] == (0, 6)
    assert join_data([first]) == first
    with pytest.raises(DataError, match="problems and claims"):
        join_data([first, to_claims(second)])


def test_joined_claims_with_equal_ids_have_separate_blanks():
    one = (Claim("1", "a _ b.", "x", True),)
    assert [claim.problem_id for claim in join_data([one, one])] == ["1/1", "2/1"]


def test_parts_are_nested_and_have_whole_twins():
    parts = draw_nested_parts(make_twins(2000))
    assert [len(part) for part in parts] == [160, 640, 2560, 4000]
    for smaller, larger in pairwise(parts):
        assert set(smaller.ids) < set(larger.ids)
        assert not smaller.singles


def test_splits_have_the_sizes_of_the_paper(data_dir):
    """DPR is 1,200 and 122 in whole twins; COPA is 400 and 100, SuperGLUE's val."""
    dpr = formats.read(data_dir / "dpr" / "train.c.txt")
    train, dev = split_as_in_paper("dpr", dpr)
    assert (len(train), len(dev)) == (1200, 122)
    assert not {p.twin_id for p in train} & {p.twin_id for p in dev}
    train, dev = split_as_in_paper("copa", formats.read(data_dir / "copa" / "copa-dev.xml"))
    superglue = formats.read(data_dir / "superglue_copa" / "val.jsonl")
    assert [_normalize(p) for p in dev] == [_normalize(p) for p in superglue]
    assert len(train) == 400


def _normalize(problem: Problem) -> tuple[str, tuple[str, ...]]:
    """Return a sentence without its punctuation, which differs, and the options."""
    return "".join(filter(str.isalnum, problem.sentence.lower())), problem.options


def test_shared_sentences_are_found(data_dir):
    """SuperGLUE-WSC contains Winograd schemas; DPR's train hardly contains any of its test."""
    wsc = formats.read(data_dir / "wsc" / "WSCollection.xml")
    claims = formats.read_claims(data_dir / "superglue_wsc" / "train.jsonl")
    assert len(find_shared_sentences(claims, wsc)) > 100
    train, test = (formats.read(data_dir / "dpr" / f"{part}.c.txt") for part in ("train", "test"))
    assert len(find_shared_sentences(train, test)) < 5
    assert find_shared_sentences(train, train[:7]) == [p.sentence for p in train[:7]]
