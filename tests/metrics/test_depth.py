"""Families and their depths, error depths as in EvoGrad's table 3, and kinds of edits."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.metrics.answering import right_but
from winosmith import Dataset, Lineage, Problem
from winosmith.errors import DataError
from winosmith.lineage import make_child
from winosmith.metrics import EditKinds, compute_lineage_statistics, count_edit_kinds, error_depth
from winosmith.metrics._depth import _compute_excess_interval
from winosmith.testing import make_families, make_twins
from winosmith.text import compute_edit_distance, tokenize

TABLE_3 = ([1, 2, 5, 6, 5], [False, False, True, True, True])
"""EvoGrad, table 3: the printed depths, and whether each prediction was incorrect."""

CASES = st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=30)


def test_error_depths_match_table_3():
    """The paper's mean is (5 + 6 + 5) / 3 = 5.33."""
    assert round(error_depth(*TABLE_3) or 0, 2) == 5.33
    assert error_depth(*TABLE_3, kind="first") == 5


@given(CASES)
def test_error_depths_are_none_without_errors(cases):
    """Otherwise they are the mean and the minimum of the errors' depths."""
    depths, wrong = [depth for depth, _ in cases], [error for _, error in cases]
    errors = [depth for depth, error in cases if error]
    mean, first = error_depth(depths, wrong), error_depth(depths, wrong, "first")
    if errors:
        assert (mean, first) == (pytest.approx(sum(errors) / len(errors)), min(errors))
    else:
        assert mean is first is None


@pytest.mark.parametrize(
    ("depths", "wrong", "kind", "complaint"),
    [
        ([1, 2], [True], "mean", r"the shapes \(2,\) and \(1,\)"),
        ([1, -2], [True, False], "mean", "missing or negative"),
        ([1, None], [True, False], "mean", "missing or negative"),
        ([1], [True], "median", "unknown kind 'median'; use 'mean' or 'first'"),
    ],
)
def test_invalid_error_depth_arguments_are_refused(depths, wrong, kind, complaint):
    with pytest.raises(DataError, match=complaint):
        error_depth(depths, wrong, kind)


def test_families_and_depths_are_counted():
    data = make_families([1, 2, 6], [3, 3])
    odd = replace(data[1], lineage=replace(data[1].lineage, declared=3))
    found = compute_lineage_statistics(Dataset([data[0], odd, *data[2:]]))
    assert (found.families, found.perturbed, found.unvalidated, found.largest) == (2, 5, 0, 4)
    declared = found.depths["declared"]
    assert (declared.known, declared.mean, declared.greatest, declared.equal) == (5, 3.4, 6, 4)
    assert found.depths["edit"].mean == 3.0
    assert found.example == odd.id
    assert found.example_depths == {"declared": 3, "lineage": 1, "edit": 1}
    assert json.loads(json.dumps(found.record())) == found.record()


def test_generated_problem_counts_as_unvalidated():
    root = make_twins(1)[0]
    child = make_child(root, f"Then {root.sentence}", root.options, 0, source="wordnet")
    found = compute_lineage_statistics(Dataset([root, child]))
    assert (found.unvalidated, found.depths["declared"].mean, found.example) == (1, None, None)


@pytest.mark.parametrize("data", [make_twins(3), Dataset()])
def test_data_without_lineage_have_no_such_statistics(data):
    assert compute_lineage_statistics(data) is None


ROOT = Problem("r", "The big cup hit the jug and the _ broke.", ("cup", "jug"), 1)
TAGS = {
    "The": "DT", "the": "DT", "big": "JJ", "old": "JJ", "cup": "NN", "jug": "NN", "jar": "NN",
    "table": "NN", "hit": "VBD", "on": "IN", "and": "CC", "_": "PRP", "broke": "VBD", ".": ".",
}  # fmt: skip
CHILDREN = {
    "out": "The cup hit the jug and the _ broke.",  # -JJ
    "in": "The big old cup hit the jug and the _ broke.",  # +JJ
    "swap": "The big jar hit the jug and the _ broke.",  # -NN +NN
    "more": "The big jar hit the table on the jar and the _ broke.",  # three nouns for two
    "same": "The big cup hit the jug and the _ broke.",  # nothing
}


def family(children: dict[str, str], root: Problem = ROOT) -> Dataset:
    """Return a root and the problems perturbed from it."""
    lineage = Lineage(root.id, root.id)
    return Dataset(
        [root, *(replace(root, id=key, sentence=s, lineage=lineage) for key, s in children.items())]
    )


def tag_sentences(data: Dataset) -> dict[str, tuple[str, ...]]:
    """Return the tags of every sentence, word by word."""
    return {p.id: tuple(TAGS[token] for token in tokenize(p.sentence)) for p in data}


def count_by_kind(found: EditKinds) -> dict[str, tuple[int, int, int, int]]:
    """Return each kind's edits, edits in errors, problems, and errors."""
    return {
        kind.kind: (kind.edits, kind.wrong_edits, kind.errors.n, kind.errors.right)
        for kind in found.kinds
    }


def test_substitution_is_a_deletion_and_an_insertion():
    data = family({key: CHILDREN[key] for key in ("out", "in", "swap")})
    found = count_edit_kinds(right_but(data, {"swap"}), tag_sentences(data))
    assert count_by_kind(found) == {
        "+NN": (1, 1, 1, 1), "-NN": (1, 1, 1, 1), "+JJ": (1, 0, 1, 0), "-JJ": (1, 0, 1, 0),
    }  # fmt: skip
    assert [kind.kind for kind in found.most_frequent] == ["+NN", "-NN"]


def test_edits_and_errors_are_counted_separately():
    """A sentence with three new nouns has three edits of the kind, and is one error."""
    data = family(CHILDREN)
    found = count_edit_kinds(right_but(data, {"more", "out"}), tag_sentences(data))
    edits, wrong_edits, problems, wrong = count_by_kind(found)["+NN"]
    assert (edits, wrong_edits) == (4, 3)
    assert (problems, wrong) == (2, 1)
    record = found.record()
    for errors in (record["errors"], *(kind["errors"] for kind in record["kinds"])):
        assert "correct" not in errors
        assert errors["incorrect"] == errors["value"] * errors["n"]


def test_base_rate_is_that_of_changed_problems():
    data = family(CHILDREN)
    found = count_edit_kinds(right_but(data, {"r", "same", "more"}), tag_sentences(data))
    assert (found.errors.right, found.errors.n) == (1, 4)
    excess = {kind.kind: kind.excess for kind in found.kinds}
    assert excess["+NN"] == pytest.approx(1 / 2 - 1 / 4)
    assert excess["-JJ"] == pytest.approx(-1 / 4)


def test_blank_has_its_own_kind():
    moved = "The big cup hit _ and the jug broke."
    data = family({"moved": moved})
    assert {"+_", "-_"} & set(count_by_kind(count_edit_kinds(right_but(data), tag_sentences(data))))


@given(st.lists(st.lists(st.sampled_from([*TAGS][:9]), max_size=8), min_size=1, max_size=5))
def test_edit_counts_agree_with_edit_distances(sentences):
    texts = {f"c{n}": " ".join([*words, "_ broke ."]) for n, words in enumerate(sentences)}
    data = family(texts)
    found = count_edit_kinds(right_but(data, set(texts)), tag_sentences(data))
    put_in = sum(kind.wrong_edits for kind in found.kinds if kind.kind[0] == "+")
    taken = sum(kind.wrong_edits for kind in found.kinds if kind.kind[0] == "-")
    root = tokenize(ROOT.sentence)
    cut = [tokenize(text) for text in texts.values()]
    assert put_in - taken == sum(len(tokens_) - len(root) for tokens_ in cut)
    distances = sum(compute_edit_distance(root, tokens_) for tokens_ in cut)
    assert max(put_in, taken) <= distances <= put_in + taken


def test_interval_needs_five_families():
    rng = np.random.default_rng(0)
    problems: list[Problem] = []
    for number in range(40):
        root = replace(ROOT, id=f"r{number}", options=(f"cup {number}", "jug"))
        for key, text in (("out", "The cup"), ("in", "The old big cup")):
            sentence = f"{'big ' * number}{ROOT.sentence}".replace("The big cup", text)
            lineage = Lineage(root.id, root.id)
            problems.append(replace(root, id=f"{key}{number}", sentence=sentence, lineage=lineage))
        problems.append(replace(root, sentence=f"{'big ' * number}{ROOT.sentence}"))
    data = Dataset(problems)
    wrong = {p.id for p in data if rng.random() < (0.7 if p.id.startswith("out") else 0.2)}
    found = {k.kind: k for k in count_edit_kinds(right_but(data, wrong), tag_sentences(data)).kinds}
    interval = found["-JJ"].interval
    assert 0 < interval[0] < found["-JJ"].excess < interval[1] < 0.5
    for families, has in ((4, False), (5, True)):
        few = Dataset([p for p in data if int(p.id.strip("ruotin")) < families])
        kinds = count_edit_kinds(right_but(few, wrong & set(few.ids)), tag_sentences(few)).kinds
        assert all((kind.interval is not None) == has for kind in kinds)


@pytest.mark.parametrize(("families", "least"), [(5, 0.9), (14, 0.93)])
def test_interval_of_few_families_has_its_coverage(families, least):
    """For 5 and for 14 families, 90 % of 200 intervals contain the true value.

    The percentiles of the draws reach only 84 %.
    """
    rng, held = np.random.default_rng(1), 0
    clusters = np.repeat(np.arange(families), 40)
    for seed in range(200):
        share = 1 / (1 + np.exp(0.5 - rng.normal(0, 0.8, families)))
        wrong = (rng.random(len(clusters)) < share[clusters]).astype(float)
        interval = _compute_excess_interval(rng.random(len(clusters)) < 0.3, wrong, clusters, seed)
        held += interval[0] <= 0 <= interval[1]
    assert held >= least * 200


@pytest.mark.parametrize(
    ("families", "having", "rate", "others"), [(15, 0.05, 0.1, 0.1), (6, 0.5, 0.95, 0.5)]
)
def test_interval_of_an_extreme_kind_has_its_coverage(families, having, rate, others):
    """Often, no problem with a rare edit is incorrect; or nearly all with a frequent one are."""
    rng, clusters, held = np.random.default_rng(2), np.repeat(np.arange(families), 10), []
    for seed in range(100):
        edited = rng.random(len(clusters)) < having
        wrong = (rng.random(len(clusters)) < np.where(edited, rate, others)).astype(float)
        if interval := _compute_excess_interval(edited, wrong, clusters, seed):
            held.append(interval[0] <= (1 - having) * (rate - others) <= interval[1])
    assert len(held) > 60
    assert np.mean(held) > 0.91


def test_kind_of_all_problems_has_no_excess():
    wrong = np.array([1.0, 0, 0, 1, 0, 1, 0, 0])
    every, some = (
        _compute_excess_interval(having, wrong, np.arange(8), 0)
        for having in (np.ones(8, bool), np.arange(8) < 5)
    )
    assert every == (0, 0)
    assert some[0] < some[1]


def test_problem_without_its_root_is_omitted_and_counted():
    child = replace(ROOT, id="c", lineage=Lineage("elsewhere", "elsewhere"))
    data = Dataset([ROOT, child])
    found = count_edit_kinds(right_but(data, {"c"}), {})
    assert (found.kinds, found.errors, found.left_out) == ((), None, 1)
    assert found.record() == {"errors": None, "left_out": 1, "kinds": []}
    both = Dataset([*family({"out": CHILDREN["out"]}), child])
    found = count_edit_kinds(right_but(both), tag_sentences(both))
    assert ([kind.kind for kind in found.kinds], found.left_out) == (["-JJ"], 1)


def test_sentences_without_a_tag_per_token_are_refused():
    data = family({"out": CHILDREN["out"]})
    tagged = tag_sentences(data)
    with pytest.raises(DataError, match="'out' has 9 tags for its 10 tokens"):
        count_edit_kinds(right_but(data), {**tagged, "out": tagged["out"][1:]})
    with pytest.raises(DataError, match="'out' has 11 tags for its 10 tokens"):
        count_edit_kinds(right_but(data), {**tagged, "out": [*tagged["out"], "."]})
    with pytest.raises(DataError, match="'r' has no tags for its 11 tokens"):
        count_edit_kinds(right_but(data), {"out": tagged["out"]})
