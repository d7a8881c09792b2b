"""Words that give an answer away: found where they are planted, and not where nothing is."""

import json
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Problem, practice
from winosmith.debias._clues import find_associations, group_words_by_role
from winosmith.errors import DataError

MONKEY = "The monkey loved to play with the balls but ignored the blocks because he found _ {}."
BOYS = "{0} could only climb beginner walls while {1} climbed advanced ones because _ was very {2}."
NAMES = "Ann Bob Cid Dan Eve Fay Gus Hal Ida Jon Kim Leo Mia Ned Oda Pia".split()


def polarity(twins: int = 15, *, meant: float = 1.0, seed: int = 0) -> Dataset:
    """Return twins about a loved and an ignored toy, in either order.

    The share `meant` of them have the answer that the polarity of the words suggests.
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


def test_the_published_example_is_read_as_its_authors_read_it() -> None:
    """In WinoGrande's table 2, "loved" stands beside the balls and "ignored" beside the blocks."""
    monkey = Problem("m", MONKEY.format("exciting"), ("balls", "blocks"), 0, "m")
    reading = group_words_by_role(monkey, MONKEY.format("dull"))
    assert reading.cues == ("exciting", "found")
    assert reading.heads == ("balls", "blocks")
    assert reading.near == (("monkey", "loved", "play"), ("ignored",))


def test_where_one_clause_mentions_both_options_words_follow_their_mention() -> None:
    """In "Ann helped Bob paint", helping is Ann's and painting is Bob's."""
    sentence = "Yesterday Ann helped Bob paint, so _ was grateful."
    reading = group_words_by_role(Problem("a", sentence, ("Ann", "Bob"), 1))
    assert reading.near == (("helped",), ("paint",))
    assert reading.cues == ("paint", "grateful")


def test_a_negation_is_a_cue_only_as_the_trigger() -> None:
    """Function words count where the halves differ in them, and only there."""
    half = Problem("a", "Ann called Bob because _ was not busy.", ("Ann", "Bob"), 0)
    assert group_words_by_role(half).cues == ("busy",)
    assert group_words_by_role(half, "Ann called Bob because _ was busy.").cues == ("not", "busy")
    twins = [
        Problem(f"{n}{word}", f"Toy{n} hit cup{n} as the _ was {word}red.", (f"toy{n}", f"cup{n}"),
                answer, str(n))
        for n, (word, answer) in product(range(12), (("not ", 0), ("", 1)))
    ]  # fmt: skip
    assert find_associations(Dataset(twins)).clues[0][0].words == ("not",)


def test_a_polarity_pattern_is_found_whatever_the_options_are() -> None:
    """No option and no order helps, but "loved" with "exciting" gives each answer away."""
    found = find_associations(polarity())
    assert found.count_clue_directions(range(30)).toward == 30
    clue = found.clues[0][0]
    assert clue.kind == "beside"
    assert set(clue.words) <= {"loved", "ignored", "exciting"}
    assert (clue.right, clue.wrong, clue.toward) == (14, 0, True)
    assert clue.z == pytest.approx(np.sqrt(14))


def test_a_pattern_that_misleads_points_away() -> None:
    """The odd twin out, whose answers break the pattern, is led away from them."""
    problems = list(polarity())
    problems[:2] = [replace(p, answer=1 - (p.answer or 0)) for p in problems[:2]]
    found = find_associations(Dataset(problems))
    assert found.count_clue_directions([0, 1]).away == 2
    assert found.count_clue_directions(range(2, 30)).toward == 28
    assert found.count_clue_directions(range(30)).away == 2
    assert not found.clues[0][0].toward


def test_no_twin_explains_itself() -> None:
    """What occurs in one twin alone is no clue, at any strength above 0."""
    assert find_associations(polarity(1), z=0.01).clues == ((), ())


def test_options_and_order_are_clues_too() -> None:
    """A trigger that goes with one option's word, or with the first mention, is found as such."""
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


def test_on_labels_that_mean_nothing_no_more_lead_to_the_answer_than_away() -> None:
    """Where the pattern holds for half of the twins, clues are few and do not help."""
    leads = [
        find_associations(polarity(60, meant=0.5, seed=seed)).count_clue_directions(range(120))
        for seed in range(12)
    ]
    assert sum(lead.toward for lead in leads) <= sum(lead.away for lead in leads) + 30
    assert sum(lead.toward for lead in leads) < 0.1 * 12 * 120


def test_planted_artifacts_are_found_and_little_else() -> None:
    """Words lead to the answer in most of what was planted, of every kind, and in few sound ones.

    Length, which is not a matter of words, shows only through the words that make it.
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
def test_the_order_of_the_problems_changes_nothing(order: list[int]) -> None:
    """Each problem has the same clues, in the same order, wherever it stands."""
    data = polarity(meant=0.8)
    there, moved = (find_associations(one, z=2).clues for one in (data, data.select(order)))
    assert moved == tuple(there[row] for row in order)


def test_a_strength_needs_enough_other_problems() -> None:
    """A clue of strength z rests on z² other problems or more."""
    for clues in find_associations(polarity(meant=0.7), z=2).clues:
        assert all(clue.right + clue.wrong >= 4 and clue.z >= 2 for clue in clues)


def test_marks_are_the_words_of_the_clues_as_they_stand_in_the_sentence() -> None:
    """Marked spans are whole words, in order, without overlap, whatever their case."""
    data = Dataset([
        replace(p, sentence=p.sentence.replace("loved", "LOVED").replace("monkey", "beloved ape"))
        for p in polarity()
    ])  # fmt: skip
    marked = find_associations(data).mark_words(0)
    words = [marked.sentence[mark.start : mark.end] for mark in marked.marks]
    assert words == ["ignored", "LOVED", "exciting"]
    assert all(mark.toward for mark in marked.marks)
    assert json.loads(json.dumps(asdict(marked)))["marks"][0]["start"] == 16


def test_of_more_clues_the_strongest_three_are_shown() -> None:
    """Two triggers with two verbs make four clues of a problem; weaker ones only blur."""
    found = find_associations(Dataset(
        replace(p, sentence=p.sentence.replace("exciting", "exciting bright")) for p in polarity()
    ))  # fmt: skip
    assert len(found.clues[0]) == 4
    assert found.mark_words(0).clues == found.clues[0][:3]


def test_examples_are_whole_twins_and_nothing_under_embargo() -> None:
    """Twins with a half elsewhere, and what is under embargo, are never shown."""
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


def test_the_strongest_twins_do_not_rest_on_the_same_words() -> None:
    """A second twin is shown only for other words."""
    found = find_associations(polarity())
    assert len(found.select_strongest(range(30), 9)) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"options": ("a", "b", "c")}, "'0-0' has 3 options"),
        ({"answer": None}, "the answer None; clues need two options and an answer"),
    ],
)
def test_what_has_no_clues_is_refused(change: dict[str, Any], told: str) -> None:
    """More than two options, or a withheld answer, are named."""
    problems = list(polarity(2))
    problems[0] = replace(problems[0], **change)
    with pytest.raises(DataError, match=told):
        find_associations(Dataset(problems))


@pytest.mark.data
def test_what_winogrande_removed_is_given_away_by_its_words_more_than_what_it_kept(
    data_dir: Path,
) -> None:
    """In train_l, words lead to the answer 3.6 times as often as away in what was removed.

    In what the debiased set kept it is 1.3 times as often: AFLite took most, not all.
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
