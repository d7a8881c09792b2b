"""Any solver can judge claims, without using their labels."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from winosmith import Claim, Problem, formats
from winosmith.recast import to_claims
from winosmith.study import Target, count_lone_claims, judge, solve_target
from winosmith.testing import make_twins


class Longest:
    """Prefers the longest option; records the number of options of each problem it scores."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        """Return the lengths of the options."""
        self.asked += [len(problem.options) for problem in problems]
        return [tuple(float(len(option)) for option in p.options) for p in problems]


def test_only_the_best_candidate_of_a_blank_is_true() -> None:
    claims = [Claim("1", "the _ fell.", c) for c in ("cup", "kettle", "jug")]
    assert judge(Longest(), claims) == (False, True, False)
    assert judge(Longest(), claims[::-1]) == (False, True, False)


def test_blank_is_identified_by_id_and_sentence() -> None:
    claims = [Claim("1", "a _ b.", "xx"), Claim("1", "c _ d.", "x"), Claim("2", "a _ b.", "x")]
    assert judge(Longest(), claims) == (False, False, False)
    assert count_lone_claims(claims) == 3


def test_repeated_claims_are_judged_alike() -> None:
    claims = [Claim("1", "a _ b.", c) for c in ("xx", "y", "xx")]
    solver = Longest()
    assert judge(solver, claims) == (True, False, True)
    assert solver.asked == [2]


def test_all_candidates_of_a_blank_are_compared_in_one_problem() -> None:
    names = ["a", "bb", "ccccccc", "dddd", "eee", "ffffff", "ggggg"]
    solver = Longest()
    held = judge(solver, [Claim("1", "the _ fell.", name) for name in names])
    assert [name for name, holds in zip(names, held, strict=True) if holds] == ["ccccccc"]
    assert solver.asked == [7]


def test_labels_make_no_difference() -> None:
    claims = to_claims(make_twins(10, singles=2))
    told = judge(Longest(), claims)
    assert judge(Longest(), [replace(claim, holds=None) for claim in claims]) == told
    assert judge(Longest(), [replace(claim, holds=not claim.holds) for claim in claims]) == told


def test_claims_of_recast_problems_match_the_solver() -> None:
    """The claim on the best option is true; with a tie, no claim is, in either order."""
    problems = make_twins(6)
    scores = Longest().score(problems)
    held = judge(Longest(), to_claims(problems))
    pairs = list(zip(held[::2], held[1::2], strict=True))
    assert pairs == [(own[0] > own[1], own[0] < own[1]) for own in scores]
    assert (False, False) in pairs
    backwards = judge(Longest(), to_claims(problems)[::-1])[::-1]
    assert backwards == held


def test_superglue_claims_can_be_judged(data_dir: Path) -> None:
    claims = formats.read_claims(data_dir / "superglue_wsc" / "test.jsonl")
    held = judge(Longest(), claims)
    assert len(held) == 146
    blanks = len({(claim.problem_id, claim.sentence) for claim in claims})
    assert sum(held) == blanks - 2  # two blanks have a tie for the longest candidate


def test_accuracy_of_always_answering_true_is_reported() -> None:
    claims = tuple(
        Claim(f"{i}", f"a{i} _ b.", "x", holds=holds) for i, holds in enumerate((True, True, False))
    )
    notes = solve_target(Target("superglue-wsc", claims, "val.jsonl"), Longest(), ".").notes
    assert notes[0] == "always answering true gives 66.7 %"
