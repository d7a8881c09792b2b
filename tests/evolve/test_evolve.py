"""Evolving a data set: children, repeats, resuming, roots and splits."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Lineage, Problem, practice
from winosmith.blocks import find_blocks
from winosmith.errors import DataError, InputError
from winosmith.evolve import (
    PARTS,
    Sets,
    assemble,
    describe_part,
    draw_roots,
    evolve,
    merge_children,
    resume_children,
    split_roots,
)
from winosmith.lineage import check_lineages, make_child
from winosmith.testing import make_twins

DATA = make_twins(90, singles=3)


@dataclass(frozen=True)
class Adding:
    """A user's perturber that puts one of its words first."""

    words: tuple[str, ...] = ("Then", "Now", "Once")
    broken_at: str = ""

    def perturb(self, problem: Problem, seed: int) -> Iterator[Problem]:
        """Yield a child per word, in an order set by the seed. One problem in nine has none."""
        if problem.id == self.broken_at:
            raise KeyboardInterrupt
        if DATA.row(problem.id) % 9:
            for number in range(len(self.words)):
                word = self.words[(number + seed) % len(self.words)]
                yield make_child(
                    problem, f"{word} {problem.sentence}", problem.options, problem.answer,
                    source="person",
                )  # fmt: skip


def test_every_problem_is_perturbed_once():
    told: list[int] = []
    made = evolve(DATA, Adding(), on_progress=told.append)
    assert made.dataset.problems == (*DATA.problems, *made.children.problems)
    assert set(made.barren) == {p.id for row, p in enumerate(DATA) if row % 9 == 0}
    assert len(made.children) == 3 * (len(DATA) - len(made.barren))
    assert check_lineages(made.dataset) == {}
    assert told == sorted(told)
    assert told[-1] == len(DATA)


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_workers_do_not_change_the_children(executor):
    with executor(2) as workers:
        assert evolve(DATA, Adding(), seed=1, executor=workers) == evolve(DATA, Adding(), seed=1)
    assert evolve(DATA, Adding(), seed=1) != evolve(DATA, Adding(), seed=2)


@given(st.lists(st.sampled_from(["then", "Then", "now", "Now"]), max_size=6))
def test_repeated_children_are_set_aside_with_a_reason(words):
    parents = Dataset(DATA.problems[1:3])
    made = [
        [make_child(p, f"{word} {p.sentence}", p.options, 0, source="x") for word in words]
        for p in parents
    ]
    found = merge_children(parents, made)
    assert len(found.children) == 2 * len({word.lower() for word in words})
    assert len(found.children) + len(found.repeated) == 2 * len(words)
    assert all("it repeats" in dropped.reason for dropped in found.repeated)
    assert found.barren == (() if words else parents.ids)


def test_child_that_equals_another_problem_is_a_repeat():
    root = DATA[1]
    other = make_child(root, f"Now {root.sentence}", root.options, 1, source="x")
    held = Problem("held", f"now {root.sentence}", root.options[::-1], 0)
    found = merge_children(Dataset([root, held]), [[other], []])
    assert [d.reason for d in found.repeated] == ["it repeats 'held'"]


def test_interrupt_loses_at_most_one_chunk(tmp_path):
    path = tmp_path / "work.jsonl"
    with pytest.raises(KeyboardInterrupt):
        resume_children(DATA.problems, Adding(broken_at=DATA[150].id), 0, path)
    held = path.read_text("utf-8").count("\n")
    assert held == 128
    told: list[tuple[int, int]] = []
    again = resume_children(
        DATA.problems, Adding(), 0, path, on_progress=lambda *state: told.append(state)
    )
    assert told[0][0] == held
    assert again == [list(Adding().perturb(p, 0)) for p in DATA]


@given(st.integers(0, 4000))
def test_truncated_work_files_are_resumed(size):
    """Even if the cut is within a character."""
    import tempfile

    odd = Adding(words=("Früher", "Later\u2028on"))
    problems = DATA.problems[:12]
    expected = [list(odd.perturb(p, 0)) for p in problems]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work.jsonl"
        assert resume_children(problems, odd, 0, path) == expected
        whole = path.read_bytes()
        path.write_bytes(whole[:size])
        assert resume_children(problems, odd, 0, path) == expected
        assert path.read_bytes() == whole


ONE = Dataset(practice.read_handwritten().problems[:60], "one")
TWO = Dataset(make_twins(20).problems, "two")


def _get_source(problem: Problem) -> str | None:
    return problem.origin and problem.origin.source


@given(
    st.tuples(st.integers(0, 7), st.integers(0, 7)),
    st.sets(st.sampled_from(ONE.ids), max_size=30),
    st.integers(0, 99),
)
def test_roots_are_solved_and_at_most_one_per_twin(wanted, wrong, seed):
    """All other problems have a reason."""
    roots = draw_roots([ONE, TWO], wanted, [frozenset(wrong), frozenset()], seed)
    assert [len(ids) for ids in roots.sources.values()] == list(wanted)
    assert not wrong & set(roots.dataset.ids)
    assert all(problem.twin_id is None for problem in roots.dataset)
    for dataset, left in zip((ONE, TWO), roots.omitted, strict=True):
        assert left.input() == dataset
        drawn = roots.sources[dataset.name]
        assert left.kept.ids == drawn
        halves = Counter(dataset[dataset.row(problem_id)].twin_id for problem_id in drawn)
        assert max(halves.values(), default=1) == 1
    reasons = {left.problem.id: left.reason for left in roots.omitted[0].dropped}
    assert all(
        reasons[problem_id] == "not every solver answers it correctly" for problem_id in wrong
    )


def test_invalid_counts_names_and_shares_are_refused():
    with pytest.raises(
        DataError, match=r"only 20 roots, not 30, can be drawn from the 40 problems of 'two'"
    ):
        draw_roots([TWO], [30])
    with pytest.raises(DataError, match="the same name"):
        draw_roots([TWO, TWO], [1, 1])
    with pytest.raises(InputError, match="2 data sets and 1 root counts"):
        draw_roots([ONE, TWO], [1])
    with pytest.raises(InputError, match="0 or more"):
        draw_roots([ONE], [-1])
    with pytest.raises(DataError, match="2 roots can't be split"):
        split_roots(ROOTS[:2])
    for shares in ((10, 2), (10, 2, 0)):
        with pytest.raises(InputError, match="three positive whole numbers"):
            split_roots(ROOTS, shares)


def test_roots_state_their_data_set():
    """So nobody measures on that data set unwarned. Equal ids get its name, too."""
    roots = draw_roots([ONE, TWO], [2, 3])
    assert [_get_source(p) for p in roots.dataset] == ["one"] * 2 + ["two"] * 3
    again = Dataset((replace(p, sentence=f"Then {p.sentence}") for p in ONE), "again")
    roots = draw_roots([ONE, again], [3, 3])
    assert len(set(roots.dataset.ids)) == 6
    for name, ids in roots.sources.items():
        own = [p.id for p in roots.dataset if _get_source(p) == name]
        assert own == [f"{name}:{problem_id}" for problem_id in ids]


def test_roots_depend_on_the_seed_and_not_on_the_order():
    turned = Dataset(ONE.problems[::-1], "one")
    first = draw_roots([ONE], [5], seed=4)
    assert set(first.dataset.ids) == set(draw_roots([turned], [5], seed=4).dataset.ids)
    assert set(first.dataset.ids) != set(draw_roots([ONE], [5], seed=5).dataset.ids)


def test_unfit_problems_are_not_drawn_as_roots():
    """They are under embargo, unanswered, perturbed or have too many options."""
    first, second, third, fourth, *_ = (p for p in TWO if p.id.endswith(TWO.ids[0][-1]))
    unfit = {
        first.id: replace(first, embargo=True),
        second.id: replace(second, answer=None),
        third.id: replace(third, options=(*third.options, "the third thing")),
        fourth.id: replace(fourth, lineage=Lineage("r", "r")),
    }
    mixed = Dataset((unfit.get(p.id, p) for p in TWO), "mixed")
    for seed in range(5):
        roots = draw_roots([mixed], [12], seed=seed, options=2)
        assert not set(unfit) & set(roots.dataset.ids)
    reasons = {d.problem.id: d.reason for d in roots.omitted[0].dropped}
    assert [reasons[problem_id] for problem_id in unfit] == [
        "it is under embargo",
        "its answer is withheld",
        "it has 3 options",
        "it is a perturbation",
    ]


def test_roots_may_have_any_number_of_options():
    three = Dataset((replace(p, options=(*p.options, "the third thing")) for p in TWO), "three")
    assert len(draw_roots([three], [12]).dataset) == 12
    with pytest.raises(DataError, match="every solver gives, 2 options, no embargo"):
        draw_roots([three], [12], options=2)


HALVES = practice.read_handwritten()
ROOTS = Dataset([replace(HALVES[pair[0]], twin_id=None) for pair in HALVES.twins[:14]], "roots")


def _make_children(problems: Sequence[Problem], count: int, word: str) -> Iterator[Problem]:
    """Yield children with distinct words in front."""
    for problem in problems:
        for number in range(count):
            sentence = f"{word}{number}, {problem.sentence}"
            answer = (problem.answer or 0) ^ number % 2
            yield make_child(problem, sentence, problem.options, answer, source=word.lower())


def _make_sets(people: int = 12, chat: int = 100, words: int = 2, **options: bool) -> Sets:
    """Return the sets of 14 roots."""
    small = Dataset([*ROOTS, *_make_children(ROOTS, people, "Person")])
    medium = Dataset([*ROOTS, *_make_children(ROOTS, chat, "Chat")])
    parts = split_roots(ROOTS)
    large = Dataset([*medium, *_make_children(medium, words, "Word")])
    return assemble(small, medium, large, parts, **options)


def _sizes(parts: dict[str, Dataset]) -> list[int]:
    return [len(parts[name]) for name in PARTS]


def test_sets_have_the_papers_sizes():
    """EvoGrad's table 1: S 182; M 1010/202/202 of 14 × 101; the test of L is that of M.

    Its sizes show that it did not augment all 1,414; `extend_test` does.
    """
    sets = _make_sets()
    assert len(sets.small) == 182
    assert _sizes(dict(sets.medium)) == [1010, 202, 202]
    # the paper has 2963/526 of 1010/202: fewer than two synonyms per problem
    assert _sizes(dict(sets.large)) == [3030, 606, 202]
    assert sets.large["test"] == sets.medium["test"]
    assert sets.dropped == ()
    assert _sizes(dict(_make_sets(extend_test=True).large)) == [3030, 606, 606]


def test_synonyms_of_train_and_dev_give_the_papers_large_set():
    """2963/526/202: the 1,212 of train and dev grow to 3,489; the 202 of the test set stay."""
    parts = split_roots(ROOTS)
    medium = Dataset([*ROOTS, *_make_children(ROOTS, 100, "Chat")])
    words: list[Problem] = []
    for name, found in (("train", 2963 - 1010), ("dev", 526 - 202), ("test", 400)):
        of_part = [p for p in medium if parts[p.lineage.root if p.lineage else p.id] == name]
        words += list(_make_children(of_part, 2, "Word"))[:found]
    large = Dataset([*medium, *words])
    assert _sizes(dict(assemble(ROOTS, medium, large, parts).large)) == [2963, 526, 202]
    grown = assemble(ROOTS, medium, large, parts, extend_test=True)
    assert _sizes(dict(grown.large)) == [2963, 526, 602]


@examples(20)
@given(st.integers(3, 14), st.tuples(*[st.integers(1, 12)] * 3), st.integers(0, 9))
def test_families_and_blocks_stay_in_one_split(count, shares, seed):
    """Every split has a root."""
    roots = ROOTS[:count]
    parts = split_roots(roots, shares, seed)
    assert set(parts) == set(roots.ids)
    assert set(parts.values()) == set(PARTS)
    data = Dataset([*roots, *_make_children(roots, 3, "Chat")])
    sets = assemble(roots, data, data, parts)
    where = {p.id: name for name in PARTS for p in sets.medium[name]}
    assert len(where) + len(sets.dropped) == len(data)
    for block in find_blocks(data):
        assert len({where[data[row].id] for row in block if data[row].id in where}) == 1
    ids = [p.id for name in PARTS for p in sets.large[name]]
    assert len(ids) == len(set(ids))


def test_split_shares_apply_to_other_numbers_of_roots():
    many = Dataset(HALVES[row] for pair in HALVES.twins[:70] for row in pair[:1])
    assert Counter(split_roots(many).values()) == {"train": 50, "dev": 10, "test": 10}
    assert Counter(split_roots(ROOTS[:3]).values()) == {"train": 1, "dev": 1, "test": 1}
    assert split_roots(ROOTS, seed=1) != split_roots(ROOTS, seed=2)


def test_training_children_that_resemble_the_test_are_dropped():
    parts = split_roots(ROOTS)
    train = next(p for p in ROOTS if parts[p.id] == "train")
    test = next(p for p in ROOTS if parts[p.id] == "test")
    stray = make_child(train, test.sentence, test.options, 0, source="chat")
    data = Dataset([*ROOTS, stray])
    sets = assemble(ROOTS, data, data, parts)
    assert stray.id not in {p.id for part in sets.medium.values() for p in part}
    assert {left.problem.id for left in sets.dropped} == {train.id, stray.id}
    assert {left.reason for left in sets.dropped} == {"it is related to problems of test"}
    assert test in sets.medium["test"]


def test_counts_of_a_part_add_up():
    sets = _make_sets(people=1, chat=4, words=1)
    families = Dataset({p.id: p for data in sets.large.values() for p in data}.values())
    told = describe_part(sets.large["train"], families)
    assert told["problems"] == len(sets.large["train"]) == 100
    assert told["families"] == 10
    assert told["sources"] == {"chat": 40, "root": 10, "word": 50}
    for key in ("answers", "sources", "edit_depth"):
        assert sum(told[key].values()) == 100
    assert told["edit_depth"] == {"0": 10, "2": 50, "4": 40}
    assert told["mean_edit_depth"] == pytest.approx((50 * 2 + 40 * 4) / 100)
    assert told["unvalidated"] == 90
