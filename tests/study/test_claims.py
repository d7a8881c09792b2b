"""Claims are judged by any solver, and labels are not looked at."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from winosmith import Claim, Problem, formats
from winosmith.recast import to_claims
from winosmith.study import Target, count_lone_claims, judge, solve_target
from winosmith.testing import make_twins


class Longest:
    """Prefers the longest option; remembers how many options it was asked about."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        """Return the lengths of the options."""
        self.asked += [len(problem.options) for problem in problems]
        return [tuple(float(len(option)) for option in p.options) for p in problems]


def test_the_best_candidate_of_a_blank_holds() -> None:
    """Of the claims on one blank the one with the best candidate holds, and no other."""
    claims = [Claim("1", "the _ fell.", c) for c in ("cup", "kettle", "jug")]
    assert judge(Longest(), claims) == (False, True, False)
    assert judge(Longest(), claims[::-1]) == (False, True, False)


def test_blanks_are_told_by_id_and_sentence() -> None:
    """Neither one id with two sentences nor one sentence with two ids is one blank."""
    claims = [Claim("1", "a _ b.", "xx"), Claim("1", "c _ d.", "x"), Claim("2", "a _ b.", "x")]
    assert judge(Longest(), claims) == (False, False, False)
    assert count_lone_claims(claims) == 3


def test_a_repeated_claim_is_judged_as_the_first() -> None:
    """The same claim twice has the same answer, and is compared once."""
    claims = [Claim("1", "a _ b.", c) for c in ("xx", "y", "xx")]
    solver = Longest()
    assert judge(solver, claims) == (True, False, True)
    assert solver.asked == [2]


def test_all_candidates_of_a_blank_are_compared_at_once() -> None:
    """Of seven candidates the best holds alone, in one problem about all."""
    names = ["a", "bb", "ccccccc", "dddd", "eee", "ffffff", "ggggg"]
    solver = Longest()
    held = judge(solver, [Claim("1", "the _ fell.", name) for name in names])
    assert [name for name, holds in zip(names, held, strict=True) if holds] == ["ccccccc"]
    assert solver.asked == [7]


def test_labels_make_no_difference() -> None:
    """With labels, without, and with wrong ones the claims are judged alike."""
    claims = to_claims(make_twins(10, singles=2))
    told = judge(Longest(), claims)
    assert judge(Longest(), [replace(claim, holds=None) for claim in claims]) == told
    assert judge(Longest(), [replace(claim, holds=not claim.holds) for claim in claims]) == told


def test_recast_problems_are_judged_as_they_are_solved() -> None:
    """Of a problem's claims the one on its best option holds; of a tie none, in either order."""
    problems = make_twins(6)
    scores = Longest().score(problems)
    held = judge(Longest(), to_claims(problems))
    pairs = list(zip(held[::2], held[1::2], strict=True))
    assert pairs == [(own[0] > own[1], own[0] < own[1]) for own in scores]
    assert (False, False) in pairs
    backwards = judge(Longest(), to_claims(problems)[::-1])[::-1]
    assert backwards == held


def test_superglue_can_be_judged(data_dir: Path) -> None:
    """All 146 claims of the test part are judged, six candidates on one blank included."""
    claims = formats.read_claims(data_dir / "superglue_wsc" / "test.jsonl")
    held = judge(Longest(), claims)
    assert len(held) == 146
    blanks = len({(claim.problem_id, claim.sentence) for claim in claims})
    assert sum(held) == blanks - 2  # two have candidates of one length, and no longer one


def test_the_usual_answer_is_named_for_what_it_is() -> None:
    """Where most claims hold, it is always saying true that gives their share."""
    claims = tuple(
        Claim(f"{i}", f"a{i} _ b.", "x", holds=holds) for i, holds in enumerate((True, True, False))
    )
    notes = solve_target(Target("superglue-wsc", claims, "val.jsonl"), Longest(), ".").notes
    assert notes[0] == "always answering true gives 66.7 %"
