"""A data set and a perturber: roots in; children, repeats, barren problems and split sets out."""

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
                yield make_child(
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
        [make_child(p, f"{word} {p.sentence}", p.options, 0, source="x") for word in words]
        for p in parents
    ]
    found = merge_children(parents, made)
    distinct = {word.lower() for word in words}
    assert len(found.children) == 2 * len(distinct)
    assert len(found.children) + len(found.repeated) == 2 * len(words)
    assert [d.reason for d in found.repeated] == [
        reason for d in found.repeated for reason in [d.reason] if "it repeats" in reason
    ]
    assert found.barren == (() if words else parents.ids)


def test_a_child_that_is_another_problem_is_no_child() -> None:
    """What a perturber makes of one half may not be the other half."""
    root = DATA[1]
    other = make_child(root, f"Now {root.sentence}", root.options, 1, source="x")
    held = Problem("held", f"now {root.sentence}", root.options[::-1], 0)
    found = merge_children(Dataset([root, held]), [[other], []])
    assert [d.reason for d in found.repeated] == ["it repeats 'held'"]


def test_an_interrupt_costs_a_chunk_at_most(tmp_path: Path) -> None:
    """What was made is read again, and the end is the same as without the interrupt."""
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
def test_every_cut_of_the_work_is_gone_on_from(size: int) -> None:
    """Wherever a crash cut the file, in the middle of a character even, nothing is made wrong."""
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


def _source(problem: Problem) -> str | None:
    return problem.origin and problem.origin.source


@given(
    st.tuples(st.integers(0, 7), st.integers(0, 7)),
    st.sets(st.sampled_from(ONE.ids), max_size=30),
    st.integers(0, 99),
)
def test_roots_are_right_one_of_a_twin_and_everything_is_accounted_for(
    wanted: tuple[int, int], wrong: set[str], seed: int
) -> None:
    """As many as wanted from each; none that a solver gets wrong; the others have a reason."""
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


def test_each_root_says_where_it_comes_from() -> None:
    """The name of its data set stays with it, so that nobody measures there unwarned."""
    roots = draw_roots([ONE, TWO], [2, 3])
    assert [_source(p) for p in roots.dataset] == ["one"] * 2 + ["two"] * 3


def test_the_seed_decides_and_the_order_does_not() -> None:
    """The same seed draws the same roots, however the file is ordered; another draws others."""
    turned = Dataset(ONE.problems[::-1], "one")
    first = draw_roots([ONE], [5], seed=4)
    assert set(first.dataset.ids) == set(draw_roots([turned], [5], seed=4).dataset.ids)
    assert set(first.dataset.ids) != set(draw_roots([ONE], [5], seed=5).dataset.ids)


def test_ids_that_clash_are_told_apart() -> None:
    """An id that two data sets hold gets the name of its own in front."""
    again = Dataset((replace(p, sentence=f"Then {p.sentence}") for p in ONE), "again")
    roots = draw_roots([ONE, again], [3, 3])
    assert len(set(roots.dataset.ids)) == 6
    for name, ids in roots.sources.items():
        own = [p.id for p in roots.dataset if _source(p) == name]
        assert own == [f"{name}:{problem_id}" for problem_id in ids]


def test_what_can_be_no_root_is_not_drawn() -> None:
    """Neither under embargo, nor without an answer, with options too many, or itself perturbed."""
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


def test_a_root_may_have_more_options() -> None:
    """With no number of options told, problems with three are drawn like others."""
    three = Dataset((replace(p, options=(*p.options, "the third thing")) for p in TWO), "three")
    assert len(draw_roots([three], [12]).dataset) == 12
    with pytest.raises(DataError, match="every solver gives, 2 options, no embargo"):
        draw_roots([three], [12], options=2)


def test_too_many_roots_and_equal_names_are_refused() -> None:
    """How many are fit is told, and which data set lacks them."""
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


HALVES = practice.read_handwritten()
ROOTS = Dataset([replace(HALVES[pair[0]], twin_id=None) for pair in HALVES.twins[:14]], "roots")


def _children(problems: Sequence[Problem], count: int, word: str) -> Iterator[Problem]:
    """Yield children that say something in front, each what no other does."""
    for problem in problems:
        for number in range(count):
            sentence = f"{word}{number}, {problem.sentence}"
            answer = (problem.answer or 0) ^ number % 2
            yield make_child(problem, sentence, problem.options, answer, source=word.lower())


def _sets(people: int = 12, chat: int = 100, words: int = 2, **options: bool) -> Sets:
    """Return the sets of 14 roots."""
    small = Dataset([*ROOTS, *_children(ROOTS, people, "Person")])
    medium = Dataset([*ROOTS, *_children(ROOTS, chat, "Chat")])
    parts = split_roots(ROOTS)
    large = Dataset([*medium, *_children(medium, words, "Word")])
    return assemble(small, medium, large, parts, **options)


def _sizes(parts: dict[str, Dataset]) -> list[int]:
    return [len(parts[name]) for name in PARTS]


def test_the_papers_sizes_come_out() -> None:
    """EvoGrad's table 1: S 182; M 1010/202/202 of 14 × 101; the test of L is that of M."""
    sets = _sets()
    assert len(sets.small) == 182
    assert _sizes(dict(sets.medium)) == [1010, 202, 202]
    # the paper's 2963/526 of 1010/202: fewer than two synonyms each came about
    assert _sizes(dict(sets.large)) == [3030, 606, 202]
    assert sets.large["test"] == sets.medium["test"]
    assert sets.dropped == ()


def test_synonyms_of_train_and_dev_alone_give_the_papers_large_set() -> None:
    """2963/526/202: the 1,212 of train and dev grow to 3,489, and the 202 of the test stay."""
    parts = split_roots(ROOTS)
    medium = Dataset([*ROOTS, *_children(ROOTS, 100, "Chat")])
    words: list[Problem] = []
    for name, found in (("train", 2963 - 1010), ("dev", 526 - 202), ("test", 400)):
        of_part = [p for p in medium if parts[p.lineage.root if p.lineage else p.id] == name]
        words += list(_children(of_part, 2, "Word"))[:found]
    large = Dataset([*medium, *words])
    assert _sizes(dict(assemble(ROOTS, medium, large, parts).large)) == [2963, 526, 202]
    grown = assemble(ROOTS, medium, large, parts, extend_test=True)
    assert _sizes(dict(grown.large)) == [2963, 526, 602]


def test_the_other_reading_grows_the_test_too() -> None:
    """Augmenting all 1,414 is a setting; the paper's sizes show that it was not done."""
    assert _sizes(dict(_sets(extend_test=True).large)) == [3030, 606, 606]


@examples(20)
@given(st.integers(3, 14), st.tuples(*[st.integers(1, 12)] * 3), st.integers(0, 9))
def test_no_family_straddles_a_split(count: int, shares: tuple[int, int, int], seed: int) -> None:
    """Every part has a root, every root one part, and every block of problems, too."""
    roots = ROOTS[:count]
    parts = split_roots(roots, shares, seed)
    assert set(parts) == set(roots.ids)
    assert set(parts.values()) == set(PARTS)
    data = Dataset([*roots, *_children(roots, 3, "Chat")])
    sets = assemble(roots, data, data, parts)
    where = {p.id: name for name in PARTS for p in sets.medium[name]}
    assert len(where) + len(sets.dropped) == len(data)
    for block in find_blocks(data):
        assert len({where[data[row].id] for row in block if data[row].id in where}) == 1
    ids = [p.id for name in PARTS for p in sets.large[name]]
    assert len(ids) == len(set(ids))


def test_shares_are_kept_for_other_counts() -> None:
    """Of 70 roots, 50 train, 10 are dev and 10 test; of three, one each."""
    many = Dataset(HALVES[row] for pair in HALVES.twins[:70] for row in pair[:1])
    assert Counter(split_roots(many).values()) == {"train": 50, "dev": 10, "test": 10}
    assert Counter(split_roots(ROOTS[:3]).values()) == {"train": 1, "dev": 1, "test": 1}
    assert split_roots(ROOTS, seed=1) != split_roots(ROOTS, seed=2)


def test_children_that_look_like_another_part_leave_the_earlier_one() -> None:
    """A child of a training root that says what the test says is dropped, with the reason."""
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


def test_too_few_roots_and_shares_that_are_none_are_refused() -> None:
    """Three parts need three roots and three shares."""
    with pytest.raises(DataError, match="2 roots can't be split"):
        split_roots(ROOTS[:2])
    for shares in ((10, 2), (10, 2, 0)):
        with pytest.raises(InputError, match="three positive whole numbers"):
            split_roots(ROOTS, shares)


def test_a_part_is_described_by_counting() -> None:
    """Size, families, balance, sources, depths and what nobody judged add up to the part."""
    sets = _sets(people=1, chat=4, words=1)
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
