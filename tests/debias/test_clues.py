"""Words that reveal an answer: found if they are planted, and rarely in unrelated text."""

import json
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Problem, practice
from winosmith.debias._clues import (
    Associations,
    find_associations,
    group_words_by_role,
    make_clue_table,
    make_passages,
)
from winosmith.errors import DataError

MONKEY = "The monkey loved to play with the balls but ignored the blocks because he found _ {}."
BOYS = "{0} could only climb beginner walls while {1} climbed advanced ones because _ was very {2}."
NAMES = "Ann Bob Cid Dan Eve Fay Gus Hal Ida Jon Kim Leo Mia Ned Oda Pia".split()


def polarity(twins: int = 15, *, meant: float = 1.0, seed: int = 0) -> Dataset:
    """Return twins about a loved and an ignored toy, in either order.

    In a fraction `meant` of them, the answer is the one that the words' polarity suggests.
    """
    rng = np.random.default_rng(seed)
    problems = []
    for number in range(twins):
        first, second = (f"toy{number}", f"cube{number}")
        verbs = ("loved", "ignored") if number % 2 else ("ignored", "loved")
        turned = rng.random() >= meant
        for half, word in enumerate(("exciting", "dull")):
            loved = verbs.index("loved")
            answer = loved if (word == "exciting") != turned else 1 - loved
            sentence = (
                f"The monkey {verbs[0]} the {first} but {verbs[1]} the {second} "
                f"because he found the _ {word}."
            )
            problems.append(
                Problem(f"{number}-{half}", sentence, (first, second), answer, str(number))
            )
    return Dataset(problems)


def test_published_example_is_grouped_as_in_the_paper():
    """In WinoGrande's table 2, "loved" is near the balls and "ignored" near the blocks."""
    monkey = Problem("m", MONKEY.format("exciting"), ("balls", "blocks"), 0, "m")
    reading = group_words_by_role(monkey, MONKEY.format("dull"))
    assert reading.cues == ("exciting", "found")
    assert reading.heads == ("balls", "blocks")
    assert reading.near == (("monkey", "loved", "play"), ("ignored",))


def test_words_of_a_shared_clause_follow_their_option():
    """In "Ann helped Bob paint", "helped" belongs to Ann and "paint" to Bob."""
    sentence = "Yesterday Ann helped Bob paint, so _ was grateful."
    reading = group_words_by_role(Problem("a", sentence, ("Ann", "Bob"), 1))
    assert reading.near == (("helped",), ("paint",))
    assert reading.cues == ("paint", "grateful")


def test_negation_is_a_cue_only_if_the_halves_differ_in_it():
    """The same is true of all function words."""
    half = Problem("a", "Ann called Bob because _ was not busy.", ("Ann", "Bob"), 0)
    assert group_words_by_role(half).cues == ("busy",)
    assert group_words_by_role(half, "Ann called Bob because _ was busy.").cues == ("not", "busy")
    twins = [
        Problem(f"{n}{word}", f"Toy{n} hit cup{n} as the _ was {word}red.", (f"toy{n}", f"cup{n}"),
                answer, str(n))
        for n, (word, answer) in product(range(12), (("not ", 0), ("", 1)))
    ]  # fmt: skip
    assert find_associations(Dataset(twins)).clues[0][0].words == ("not",)


def test_polarity_pattern_is_found():
    """Neither options nor order reveal the answer, but "loved" with "exciting" does."""
    found = find_associations(polarity())
    assert found.count_clue_directions(range(30)).toward == 30
    clue = found.clues[0][0]
    assert clue.kind == "beside"
    assert set(clue.words) <= {"loved", "ignored", "exciting"}
    assert (clue.right, clue.wrong, clue.toward) == (14, 0, True)
    assert clue.z == pytest.approx(np.sqrt(14))


def test_misleading_pattern_points_away_from_the_answer():
    problems = list(polarity())
    problems[:2] = [replace(p, answer=1 - (p.answer or 0)) for p in problems[:2]]
    found = find_associations(Dataset(problems))
    assert found.count_clue_directions([0, 1]).away == 2
    assert found.count_clue_directions(range(2, 30)).toward == 28
    assert found.count_clue_directions(range(30)).away == 2
    assert not found.clues[0][0].toward


def test_words_of_a_single_twin_are_not_clues():
    assert find_associations(polarity(1), z=0.01).clues == ((), ())


def test_triggers_with_option_words_or_order_are_clues():
    boys = [
        Problem(f"{n}-{word}", BOYS.format(NAMES[n], NAMES[-1 - n], word),
                (NAMES[n], NAMES[-1 - n]), answer, str(n))
        for n, (word, answer) in product(range(8), (("weak", 0), ("strong", 1)))
    ]  # fmt: skip
    stones = [
        Problem(f"s{n}-{word}", f"In {n} the {one} met the {two} and the _ was {word}.",
                ("stone", "leaf"), answer, f"s{n}")
        for n, (word, answer) in product(range(12), (("heavy", 0), ("light", 1)))
        for one, two in [(("stone", "leaf"), ("leaf", "stone"))[n % 2]]
    ]  # fmt: skip
    found = find_associations(Dataset([*boys, *stones]), z=2.5).clues
    assert ("order", ("weak",)) in {(clue.kind, clue.words) for clue in found[0]}
    leading = found[16][0]
    assert (leading.kind, leading.words, leading.right) == ("option", ("stone", "heavy"), 11)


def test_clues_of_unrelated_labels_are_few_and_do_not_help():
    leads = [
        find_associations(polarity(60, meant=0.5, seed=seed)).count_clue_directions(range(120))
        for seed in range(12)
    ]
    assert sum(lead.toward for lead in leads) <= sum(lead.away for lead in leads) + 30
    assert sum(lead.toward for lead in leads) < 0.1 * 12 * 120


def test_planted_artifacts_are_found_in_a_corpus():
    """Few sound problems have clues.

    Length is not a matter of words: it shows only through the words that make it.
    """
    made = practice.generate_corpus(2000, seed=3)
    found = find_associations(made.dataset)
    rows: dict[str, list[int]] = {}
    for row, problem in enumerate(made.dataset):
        rows.setdefault(made.planted.get(problem.id, "sound"), []).append(row)
    leads = {kind: found.count_clue_directions(chosen) for kind, chosen in rows.items()}
    least = {"association": 0.95, "position": 0.9, "polarity": 0.7, "length": 0.3}
    for kind, share in least.items():
        assert leads[kind].toward > share * leads[kind].problems
        assert leads[kind].away < 0.05 * leads[kind].problems
    assert leads["sound"].toward < 0.1 * leads["sound"].problems


@given(st.permutations(range(30)))
def test_result_does_not_depend_on_the_order_of_problems(order):
    """Each problem has the same clues, in the same order, wherever it is."""
    data = polarity(meant=0.8)
    there, moved = (find_associations(one, z=2).clues for one in (data, data.select(order)))
    assert moved == tuple(there[row] for row in order)


def test_copies_are_no_further_evidence():
    data = polarity(meant=0.8)
    copies = [replace(p, id=f"{p.id}/{n}", twin_id=f"{p.twin_id}/{n}") for n in "ab" for p in data]
    there, more = (find_associations(of, z=2).clues for of in (data, Dataset([*data, *copies])))
    assert more[: len(data)] == there


def test_clue_of_strength_z_needs_z_squared_other_problems():
    for clues in find_associations(polarity(meant=0.7), z=2).clues:
        assert all(clue.right + clue.wrong >= 4 and clue.z >= 2 for clue in clues)


def test_marks_are_the_whole_words_of_the_clues():
    data = Dataset([
        replace(p, sentence=p.sentence.replace("loved", "LOVED").replace("monkey", "beloved ape"))
        for p in polarity()
    ])  # fmt: skip
    marked = find_associations(data).mark_words(0)
    words = [marked.sentence[mark.start : mark.end] for mark in marked.marks]
    assert words == ["ignored", "LOVED", "exciting"]
    assert all(mark.toward for mark in marked.marks)
    assert json.loads(json.dumps(asdict(marked)))["marks"][0]["start"] == 16


def test_strongest_three_clues_are_shown():
    """Two triggers with two verbs make four clues for one problem."""
    found = find_associations(Dataset(
        replace(p, sentence=p.sentence.replace("exciting", "exciting bright")) for p in polarity()
    ))  # fmt: skip
    assert len(found.clues[0]) == 4
    assert found.mark_words(0).clues == found.clues[0][:3]


def test_examples_are_whole_twins_without_embargo():
    problems = list(polarity())
    problems[4] = replace(problems[4], embargo=True)
    found = find_associations(Dataset(problems))
    rows = [0, 1, 2, 4, 5, 6, 7]
    for groups in (found.select_strongest(rows, 9), found.draw_sample(rows, 9)):
        shown = {problem.row for group in groups for problem in group}
        assert shown <= {0, 1, 6, 7}
        assert shown
    assert [len(group) for group in found.draw_sample(rows, 9)] == [2, 2]
    assert found.draw_sample(range(30), 3, seed=1) == found.draw_sample(range(30), 3, seed=1)
    assert found.draw_sample(range(30), 3, seed=1) != found.draw_sample(range(30), 3, seed=2)


def test_strongest_twins_have_different_clue_words():
    found = find_associations(polarity())
    assert len(found.select_strongest(range(30), 9)) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"options": ("a", "b", "c")}, "'0-0' has 3 options"),
        ({"answer": None}, "the answer None; clues need two options and an answer"),
    ],
)
def test_problems_unsuitable_for_clues_are_refused(change, told):
    problems = list(polarity(2))
    problems[0] = replace(problems[0], **change)
    with pytest.raises(DataError, match=told):
        find_associations(Dataset(problems))


@pytest.mark.data
def test_problems_winogrande_removed_have_more_clues(data_dir):
    """In train_l, clues point to the answer 3.6 times as often as away in removed problems.

    In the kept problems it is 1.3 times as often: AFLite removed most of the difference, not
    all.
    """
    from winosmith import formats

    data = formats.read(data_dir / "winogrande/train_l.jsonl")
    debiased = formats.read(data_dir / "winogrande/train_debiased.jsonl")
    known = {(problem.sentence, problem.options) for problem in debiased}
    kept = [row for row, p in enumerate(data) if (p.sentence, p.options) in known]
    found = find_associations(data)
    there, gone = (
        found.count_clue_directions(kept),
        found.count_clue_directions(sorted(set(range(len(data))) - set(kept))),
    )
    assert (there.problems, there.toward, there.away) == (4899, 384, 291)
    assert (gone.problems, gone.toward, gone.away) == (5335, 621, 172)


@pytest.fixture(scope="module")
def found() -> Associations:
    """Return the clues of twelve twins whose answers one word reveals."""
    halves = [
        Problem(f"{n}{t}", f"Topic {n} & more: the _ was {t}.", options, options.index(o), str(n))
        for n in range(12)
        for options in [("stone", "leaf") if n % 2 else ("leaf", "stone")]
        for t, o in (("heavy", "stone"), ("light", "leaf"))
    ]
    return find_associations(Dataset(halves))


def test_marked_passages_join_to_the_sentence(found):
    (group,) = make_passages(
        found.select_strongest(range(24), 1), {0: ("removed in phase 2", False)}
    )
    assert len(group) == 2
    assert "".join(part.text for part in group[0].parts) == found.dataset[0].sentence
    assert [(part.text, part.mark) for part in group[0].parts if part.mark] == [("heavy", "toward")]
    assert (group[0].status, group[0].kept) == ("removed in phase 2", False)
    assert (group[1].status, group[1].kept) == ("", None)
    assert group[0].clues[0] == "“stone” + “heavy” → stone: correct in 11 of 11 other problems"


def test_clue_table_counts_directions_by_subset(found):
    """Counts and fractions: clues that point to the answer, and clues that point away from it."""
    table = make_clue_table(found, {"all": range(24), "none": []})
    assert [list(row) for row in table.rows] == [
        ["all", 24, 24, 1.0, 0, 0.0],
        ["none", 0, 0, 0.0, 0, 0.0],
    ]
