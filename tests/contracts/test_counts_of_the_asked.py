"""In every "k of n", n counts only the people, problems or options that k could count."""

import re
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Prediction, Problem, Response, humans, metrics, report
from winosmith.cli._stability import make_stability_sections, measure_stabilities
from winosmith.cli.score import ExtraResults, make_accuracy_table
from winosmith.humans import TakenSheet
from winosmith.lineage import make_child

ITEMS = Dataset(
    Problem(f"p{at}", f"The cup hit the jug in room {at} and _ broke.", ("cup", "jug"), 0)
    for at in range(8)
)


@given(
    asked=st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=3, max_size=7),
    seed=st.integers(0, 99),
    weakest=st.integers(1, 3),
)
@examples(40)
def test_people_without_the_weakest_are_counted_per_asked_item(asked, seed, weakest):
    rng = np.random.default_rng(seed)
    said: list[Response] = []
    subjects: list[humans.Subject] = []
    for who, items in enumerate(asked):
        ids = tuple(ITEMS.ids[at] for at in sorted(items))
        subjects.append(humans.Subject(f"S{who}", None, taken=(TakenSheet(f"a-{who}", "a", ids),)))
        choices: list[Any] = rng.choice([0, 0, 1, None], len(ids)).tolist()
        said += [
            Response(id_, f"S{who}", "test", choice, ambiguous=choice is None)
            for id_, choice in zip(ids, choices, strict=True)
        ]
    (test,) = humans.compute_results(ITEMS, said, subjects, weakest=weakest).tests
    if test.without_weakest is None:
        assert weakest > len(asked) - 2
        return
    left = [row for row in test.people if row.subject not in test.without_weakest.omitted]
    ids = {row.subject: asked[int(row.subject[1:])] for row in left}
    sizes = [sum(at in items for items in ids.values()) for at in range(len(ITEMS))]
    found = test.without_weakest.histogram
    assert sorted(of for (_, of), n in found.items() for _ in range(n)) == sorted(
        filter(None, sizes)
    )
    assert sum(right * n for (right, _), n in found.items()) == sum(row.right for row in left)
    assert all(right <= of for right, of in found)


def _make_families() -> Dataset:
    """Return 3 problems, each with a chain of 4 versions that each add a word."""
    problems: list[Problem] = []
    for at in range(3):
        problem = ITEMS[at]
        problems.append(problem)
        for word in ("old", "blue", "big", "new"):
            sentence = problem.sentence.replace("room", f"{word} room")
            problem = make_child(problem, sentence, problem.options, 0, source="made")
            problems.append(problem)
    return Dataset(problems, "families")


FAMILIES = _make_families()


@given(st.lists(st.sets(st.integers(0, 14), min_size=1), min_size=2, max_size=3))
@examples(20)
def test_counts_of_a_solver_include_only_its_answered_problems(answered):
    solvers = {}
    for number, rows in enumerate(answered):
        families = [row for row in range(15) if row % 5 in (0, 1, 2) or row in rows]
        data = FAMILIES.select(families)
        made = [Prediction(id_, 0, (1.0, 0.5)) for id_ in data.ids]
        solvers[f"s{number}"] = metrics.grade(data, made)
    found = measure_stabilities(FAMILIES, solvers)
    tables = [
        block
        for section in make_stability_sections(found)
        for block in section.blocks
        if isinstance(block, report.Table)
    ]
    depths = next(table for table in tables if table.caption.startswith("Error depth"))
    for name, one in found.solvers.items():
        told = f"{one.n:,} perturbed problems, {len(one.families):,} families"
        assert told in depths.caption
        assert depths.caption.count("perturbed") == 1 or f"{told} ({name})" in depths.caption
    by_depth = next(table for table in tables if table.caption.startswith("Accuracy by"))
    for depth, count, *cells in by_depth.rows:
        for cell, one in zip(cells, found.solvers.values(), strict=True):
            of = one.roots if depth == "root" else (one.by_depth or {}).get(int(str(depth)))
            if of is not None:
                own = re.search(r" of (\d+)$", str(cell))
                assert of.n == (int(own[1]) if own else count)


def test_chance_accuracy_is_of_the_problems_a_solver_answered():
    """Solvers that answered problems with 2 and with 3 options have different chance levels."""
    three = Problem("q", "The cup, jug and vase met and _ broke.", ("cup", "jug", "vase"), 0)
    scores, counts = {}, {}
    for name, data in (("two", ITEMS), ("three", Dataset([three] * 1))):
        graded = metrics.grade(data, [Prediction(id_, 0) for id_ in data.ids])
        scores[name], counts[name] = metrics.score(graded), len(data)
    table = make_accuracy_table("d", counts, scores, ExtraResults())
    assert "Guessing gives 50.0 % (two), 33.3 % (three). p(guess): the prob" in table.note
