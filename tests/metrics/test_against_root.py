"""Perturbed problems compared with their roots: lost, won, and unchanged answers."""

from dataclasses import replace

import pytest

from tests.metrics.answering import choosing, right_but
from winosmith import Dataset, Lineage, formats
from winosmith.errors import DataError, SameInputError
from winosmith.metrics import compare_with_roots, grade
from winosmith.problem import Extra
from winosmith.testing import make_twins

ROOTS = make_twins(0, singles=20)
KINDS = ("tense", "voice")
DATA = Dataset(
    [
        *ROOTS,
        *(
            replace(p, id=f"{kind}-{p.id}", sentence=f"{kind} {p.sentence}",
                    lineage=Lineage(p.id, p.id), extra=Extra({"made.kind": kind}))
            for kind in KINDS for p in ROOTS
        ),
    ]
)  # fmt: skip


def test_each_kind_is_compared_with_the_same_roots():
    """Of 20 roots 2 are wrong; "tense" loses 6 more and wins both, "voice" changes nothing."""
    ids = [p.id for p in ROOTS]
    wrong = {*ids[:2], *(f"voice-{i}" for i in ids[:2]), *(f"tense-{i}" for i in ids[2:8])}
    tense, voice = compare_with_roots(right_but(DATA, wrong), "made.kind")
    assert (tense.value, tense.accuracy.right, tense.roots.right) == ("tense", 14, 18)
    assert (tense.lost, tense.won, tense.difference) == (6, 2, pytest.approx(-0.2))
    assert tense.mcnemar == pytest.approx(0.2890625)  # 2 of 8, twice the tail of a fair coin
    assert tense.p_value == pytest.approx(tense.mcnemar)  # each family has one pair of this kind
    assert tense.adjusted == pytest.approx(2 * tense.p_value)
    assert (tense.consistent.right, tense.kept and tense.kept.right) == (12, 12)
    assert (voice.difference, voice.lost, voice.won, voice.p_value) == (0.0, 0, 0, 1.0)
    assert voice.consistent.value == 1.0
    assert voice.interval[0] < 0 < voice.interval[1]


def test_row_order_does_not_change_the_comparison():
    wrong = {"tense-0", "voice-1", "2"}
    backwards = DATA.select(range(len(DATA))[::-1])
    found, other = (
        {(one.value, one.roots.n, one.lost, one.won) for one in compare_with_roots(of, "made.kind")}
        for of in (right_but(DATA, wrong), right_but(backwards, wrong))
    )
    assert found == other


def test_ties_among_kept_answers_are_counted():
    sound = right_but(DATA).predictions
    tied = [replace(p, choice=0, tied=(0, 1)) if p.problem_id == DATA.ids[20] else p for p in sound]
    tense, voice = compare_with_roots(grade(DATA, tied), "made.kind")
    assert (tense.kept.right, tense.kept.ties, voice.kept.ties) == (19.5, 1, 0)


def test_kept_is_none_if_no_root_is_correct():
    found = compare_with_roots(right_but(DATA, {p.id for p in DATA}), "made.kind")
    assert [one.kept for one in found] == [None, None]
    assert found[0].record()["kept"] is None


def test_unknown_field_and_missing_roots_are_refused():
    with pytest.raises(DataError, match="'nothing' is not a field"):
        compare_with_roots(right_but(DATA), "nothing")
    orphans = Dataset(DATA[20:])
    with pytest.raises(DataError, match="no perturbed problem has its root"):
        compare_with_roots(right_but(orphans), "made.kind")


def test_versions_with_the_roots_input_are_counted_or_refused():
    """A solver that sees the blank can't notice another pronoun.

    A kind is refused if all its versions have the root's input.
    """
    her, tense = (
        [
            replace(p, id=f"{kind}-{p.id}", pronoun=pronoun, sentence=f"{start}{p.sentence}",
                    lineage=Lineage(p.id, p.id), extra=Extra({"made.kind": kind}))
            for p in ROOTS
        ]
        for kind, pronoun, start in (("gender", "her", ""), ("tense", "him", "Then "))
    )  # fmt: skip
    roots = [replace(p, pronoun="him") for p in ROOTS]
    for sees, local, expected in (
        ("blank", None, {"gender": 20, "tense": 0}),
        ("pronoun", None, {"gender": 0, "tense": 0}),
        (None, None, {"gender": 0, "tense": 0}),
        ("pronoun", 2, {"gender": 0, "tense": 20}),
    ):
        data = Dataset([*roots, *her, *tense])
        graded = choosing(data, [0] * len(data), sees=sees, local_context=local)
        found = compare_with_roots(graded, "made.kind")
        assert {one.value: one.unchanged for one in found} == expected
    alone = Dataset([*roots, *her])
    graded = choosing(alone, [0] * len(alone), sees="blank")
    with pytest.raises(SameInputError, match="all 20 inputs equal those of their roots"):
        compare_with_roots(graded, "made.kind")


@pytest.mark.data
def test_perturbed_wsc_versions_all_have_their_root(data_dir):
    data = formats.read(data_dir / "perturbed_wsc/dataset/enhanced_wsc.tsv")
    first = choosing(data, [0] * len(data))
    found = {one.value: one for one in compare_with_roots(first, "perturbed_wsc.kind")}
    counts = {kind: one.accuracy.n for kind, one in found.items()}
    published = {"tense": 281, "number": 253, "gender": 155, "voice": 220, "relative": 283,
                 "synonym": 283, "adverb": 283}  # fmt: skip
    assert published.items() <= counts.items()
    assert sum(counts.values()) == len(data) - 285
    assert all(one.consistent.value == 1 for one in found.values())  # the answer stays in its place
