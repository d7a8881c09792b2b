"""A data set and a perturber in; children, repeats and barren problems out, whoever works."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Dataset, Problem
from winosmith.evolve import evolve, resumed_children, without_repeats
from winosmith.lineage import check_lineages, perturbed
from winosmith.testing import made_twins

DATA = made_twins(90, singles=3)


@dataclass(frozen=True)
class Adding:
    """A user's own perturber: adds a word in front, as many ways as it is told."""

    words: tuple[str, ...] = ("Then", "Now", "Once")
    broken_at: str = ""

    def perturb(self, problem: Problem, seed: int) -> Iterator[Problem]:
        """Yield a child a word; the seed turns the words around. One problem in nine has none."""
        if problem.id == self.broken_at:
            raise KeyboardInterrupt
        if DATA.row(problem.id) % 9:
            for number in range(len(self.words)):
                word = self.words[(number + seed) % len(self.words)]
                yield perturbed(
                    problem, f"{word} {problem.sentence}", problem.options, problem.answer,
                    source="person",
                )  # fmt: skip


def test_every_problem_is_perturbed_once() -> None:
    """Children follow the problems, in their order, with lineages that hold."""
    told: list[int] = []
    made = evolve(DATA, Adding(), on_progress=told.append)
    assert made.dataset.problems == (*DATA.problems, *made.children.problems)
    assert set(made.barren) == {p.id for row, p in enumerate(DATA) if row % 9 == 0}
    assert len(made.children) == 3 * (len(DATA) - len(made.barren))
    assert check_lineages(made.dataset) == {}
    assert told == sorted(told)
    assert told[-1] == len(DATA)


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_workers_make_no_difference(
    executor: type[ThreadPoolExecutor | ProcessPoolExecutor],
) -> None:
    """Threads and processes give what one gives alone; another seed does not."""
    with executor(2) as workers:
        assert evolve(DATA, Adding(), seed=1, executor=workers) == evolve(DATA, Adding(), seed=1)
    assert evolve(DATA, Adding(), seed=1) != evolve(DATA, Adding(), seed=2)


@given(st.lists(st.sampled_from(["then", "Then", "now", "Now"]), max_size=6))
def test_whoever_says_the_same_again_is_set_aside(words: list[str]) -> None:
    """Kept and repeated children are all there were; a repeat names whom it repeats."""
    parents = Dataset(DATA.problems[1:3])
    made = [
        [perturbed(p, f"{word} {p.sentence}", p.options, 0, source="x") for word in words]
        for p in parents
    ]
    found = without_repeats(parents, made)
    distinct = {word.lower() for word in words}
    assert len(found.children) == 2 * len(distinct)
    assert len(found.children) + len(found.repeated) == 2 * len(words)
    assert [d.reason for d in found.repeated] == [
        reason for d in found.repeated for reason in [d.reason] if "says the same as" in reason
    ]
    assert found.barren == (() if words else parents.ids)


def test_a_child_that_is_another_problem_is_no_child() -> None:
    """What a perturber makes of one half may not be the other half."""
    root = DATA[1]
    other = perturbed(root, f"Now {root.sentence}", root.options, 1, source="x")
    held = Problem("held", f"now {root.sentence}", root.options[::-1], 0)
    found = without_repeats(Dataset([root, held]), [[other], []])
    assert [d.reason for d in found.repeated] == ["it says the same as 'held'"]


def test_an_interrupt_costs_a_chunk_at_most(tmp_path: Path) -> None:
    """What was made is read again, and the end is the same as without the interrupt."""
    path = tmp_path / "work.jsonl"
    with pytest.raises(KeyboardInterrupt):
        resumed_children(DATA.problems, Adding(broken_at=DATA[150].id), 0, path)
    held = path.read_text("utf-8").count("\n")
    assert held == 128
    told: list[tuple[int, int]] = []
    again = resumed_children(
        DATA.problems, Adding(), 0, path, on_progress=lambda *state: told.append(state)
    )
    assert told[0][0] == held
    assert again == [list(Adding().perturb(p, 0)) for p in DATA]


@given(st.integers(0, 4000))
def test_every_cut_of_the_work_is_gone_on_from(size: int) -> None:
    """Wherever a crash cut the file, in the middle of a character even, nothing is made wrong."""
    import tempfile

    odd = Adding(words=("Früher", "Later\u2028on"))
    problems = DATA.problems[:12]
    expected = [list(odd.perturb(p, 0)) for p in problems]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work.jsonl"
        assert resumed_children(problems, odd, 0, path) == expected
        whole = path.read_bytes()
        path.write_bytes(whole[:size])
        assert resumed_children(problems, odd, 0, path) == expected
        assert path.read_bytes() == whole
