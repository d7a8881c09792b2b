"""A kept set beside its pool and beside random subsets made up like it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from tests.conftest import examples
from winosmith import Dataset, debias, metrics, practice
from winosmith.answers import Response
from winosmith.errors import DataError, FormatError, InputError
from winosmith.testing import made_twins
from winosmith.text import content_words


@pytest.fixture(scope="module")
def corpus():
    """Return 120 practice twins with their votes."""
    return practice.corpus(120, seed=2)


def _by_name(found, name="kept"):
    return {figure.name: figure for figure in found.sets[name].figures}


@examples(30)
@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=15),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_random_subsets_are_made_up_like_the_kept_set(sizes, seed, data):
    """They keep as many rows of as many groups of each size as what they stand beside."""
    edges = np.cumsum([0, *sizes])
    groups = tuple(tuple(range(a, a + n)) for a, n in zip(edges, sizes, strict=False))
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes))))

    def made_up(mask):
        return Counter((len(rows), int(mask[list(rows)].sum())) for rows in groups)

    for subset in debias.alike(groups, kept, 3, seed):
        assert made_up(subset) == made_up(kept)


def test_every_row_is_drawn_as_often_as_others_of_its_kind():
    """Over many draws no half and no single is favoured."""
    groups = ((0, 1), (2, 3), (4, 5), (6,), (7,))
    kept = np.array([1, 1, 1, 0, 0, 0, 1, 0], bool)
    counts = np.sum(list(debias.alike(groups, kept, 4000, 0)), axis=0) / 4000
    assert np.abs(counts - 0.5).max() < 0.04


@examples(40)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    size=st.integers(0, 6),
)
def test_rarefied_counts_are_the_mean_over_all_draws(counts, size):
    """The formula gives the mean number of kinds over every way of drawing so many things."""
    things = np.repeat(np.arange(len(counts)), counts)
    size = min(size, len(things), 4)
    drawn = [len(set(some)) for some in combinations(things.tolist(), size)]
    assert debias.rarefied(np.array(counts), size) == pytest.approx(np.mean(drawn))


def test_a_filter_against_agreement_is_seen(corpus):
    """Keeping what judges disagree on is off the random subsets, and blind choice is not."""
    pool = corpus.dataset
    agreement = debias.human_agreement(pool, corpus.votes)
    worst = np.argsort(agreement, kind="stable")[:120]
    blind = debias.subsample(len(pool), 120, seed=5)
    found = debias.fairness(pool, {"kept": worst, "blind": blind}, votes=corpus.votes, draws=399)
    figure = _by_name(found)["votes for the answer"]
    assert figure.kept < figure.low
    assert figure.p == 2 / 400
    assert figure.shift < -5
    assert figure.kept == pytest.approx(agreement[worst].mean())
    assert figure.pool == pytest.approx(agreement.mean())
    assert _by_name(found)["all judges chose the answer"].pool == (agreement == 1).mean() > 0
    assert all(figure.adjusted > 0.05 for figure in _by_name(found, "blind").values())


def test_the_alpha_is_that_of_the_metrics(corpus):
    """Krippendorff's alpha, of all and of those kept, is what `metrics.krippendorff_alpha` gives.

    Some problems have two votes alone.
    """
    pool, votes = corpus.dataset, [vote for at, vote in enumerate(corpus.votes) if at % 7]
    found = debias.fairness(pool, {"kept": range(120)}, votes=votes, draws=20)
    said = [[v.choice for v in votes if v.purpose == "validate" and v.problem_id == name]
            for name in pool.ids]  # fmt: skip
    figure = _by_name(found)["Krippendorff's alpha of the judges"]
    for alpha, table in ((figure.pool, said), (figure.kept, said[:120])):
        known = metrics.krippendorff_alpha(metrics.answer_table(table)).value
        assert alpha == pytest.approx(known)


def test_a_kept_set_of_everything_is_off_nothing(corpus):
    """What keeps all problems has the figures of all of them, and every p is 1."""
    pool = corpus.dataset
    found = debias.fairness(pool, {"kept": range(len(pool))}, votes=corpus.votes, draws=20)
    for figure in _by_name(found).values():
        assert figure.kept == figure.pool
        assert (figure.p, figure.adjusted, figure.shift or 0) == (1, 1, 0)


def test_the_same_draws_give_the_same_record(corpus):
    """The record is the same for the same seed, is JSON, and names what it depends on."""
    more = {"votes": corpus.votes, "draws": 20, "marks": {"odd": np.arange(240) % 2}}
    first, again = (debias.fairness(corpus.dataset, {"k": range(90)}, **more) for _ in range(2))
    other = debias.fairness(corpus.dataset, {"k": range(90)}, **more, seed=1)
    assert json.dumps(first.record()) == json.dumps(again.record())
    assert first.record()["sets"] != other.record()["sets"]
    assert "|votes:" in str(first.signature)
    assert str(first.signature) != str(debias.fairness(
        corpus.dataset, {"k": range(91)}, **more).signature)  # fmt: skip


def test_topics_and_words_of_one_half_are_narrower(corpus):
    """Keeping the social problems alone moves topics away from those of all."""
    pool = corpus.dataset
    rows = [row for row, p in enumerate(pool) if p.origin.domain == "social"]
    figures = _by_name(debias.fairness(pool, {"kept": rows}, draws=99))
    moved = figures["topics moved from those of all"]
    assert moved.pool == 0
    assert moved.kept > moved.high
    assert figures["topics in effect"].kept < figures["topics in effect"].low
    shares = {name: figures[name].kept for name in ("social", "physical") if name in figures}
    assert shares in ({"social": 1}, {"physical": 0})  # of two, one says all


def test_the_distance_of_sentences_is_the_mean_over_pairs():
    """Of those kept it is one minus the mean cosine of the TF-IDF of two of them."""
    pool = made_twins(6)
    figures = _by_name(debias.fairness(pool, {"kept": [0, 3, 6, 9]}, draws=20))
    words = [" ".join(content_words(p.put(" "))) for p in pool]
    unit = TfidfVectorizer(token_pattern=r"\S+").fit_transform(words)[[0, 3, 6, 9]]
    cosines = (unit @ unit.T).toarray()[np.triu_indices(4, 1)]
    assert figures["distance of two sentences"].kept == pytest.approx(1 - cosines.mean())


def test_one_topic_of_many_moves_by_the_share_of_all_others():
    """Of sixteen sentences, each its own topic, one alone is 15/16 away from all."""
    figures = _by_name(debias.fairness(made_twins(8), {"kept": [3]}, draws=20))
    assert figures["topics in effect"].kept == 1
    assert figures["topics moved from those of all"].kept == pytest.approx(15 / 16)


def test_names_stand_for_people_where_no_domain_is_known():
    """Without domains, problems whose options are names are told from those about objects."""
    pool = made_twins(8)
    people = Dataset(replace(p, origin=None) for p in pool)
    figures = _by_name(debias.fairness(people, {"kept": range(8)}, draws=20))
    named = sum(all(o[0].isupper() for o in p.options) for p in people) / len(people)
    about = [f for name, f in figures.items() if name in ("people (options are names)", "objects")]
    assert [round(f.pool, 6) for f in about] in ([round(named, 6)], [round(1 - named, 6)])


def test_people_who_had_not_judged_are_measured_and_must_be_fresh():
    """The majority of a human test is a figure; a subject who had judged the problem is refused."""
    pool = made_twins(4)
    said = [Response(p.id, who, "test", p.answer if n < 6 else 1 - p.answer)
            for n, p in enumerate(pool) for who in "xyz"]  # fmt: skip
    figures = _by_name(debias.fairness(pool, {"kept": range(4)}, votes=said, draws=20))
    assert figures["right by the majority of a human test"].pool == 0.75
    stale = [*said, Response(pool.ids[0], "x", "validate", 0)]
    with pytest.raises(DataError, match="can't be a subject"):
        debias.fairness(pool, {"kept": range(4)}, votes=stale, draws=20)


def _map(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def test_a_data_map_is_read_by_id_or_by_row(tmp_path):
    """Guids that are texts are ids, numbers are rows from the first; the regions are thirds."""
    pool = made_twins(3)
    rows = [{"guid": 10 + n, "confidence": n / 10, "variability": 0.5 - n / 10, "correctness": n}
            for n in range(6)]  # fmt: skip
    by_row = debias.read_dynamics(_map(tmp_path / "a.jsonl", rows), pool, first=10)
    named = [{**row, "guid": pool.ids[n]} for n, row in enumerate(rows)]
    by_id = debias.read_dynamics(_map(tmp_path / "b.jsonl", [*named, {"guid": "no"}]), pool)
    assert by_row.confidence.tolist() == by_id.confidence.tolist() == [n / 10 for n in range(6)]
    regions = by_row.regions()
    assert regions["hard to learn"].tolist() == [1, 1, 0, 0, 0, 0]
    assert regions["easy to learn"].tolist() == [0, 0, 0, 0, 1, 1]
    assert regions["ambiguous"].tolist() == [1, 1, 0, 0, 0, 0]
    figures = _by_name(debias.fairness(pool, {"kept": range(3)}, dynamics=by_row, draws=20))
    assert figures["never learnt"].pool == pytest.approx(1 / 6)
    assert figures["label thought less likely than not"].kept == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            '{"guid": 9, "confidence": 0.5, "variability": 0}',
            "the rows of the pool are 0 to 3;",
        ),
        ('{"guid": 0, "confidence": 2, "variability": 0}', "confidence is a probability"),
        ('{"guid": 0, "confidence": 0.5}', "variability must be a number, not None"),
        ('{"guid": 1, "confidence": 0.5, "variability": 0}', "the guid 1 was there before"),
        ('{"guid": null}', "guid must be an id or the number of a row"),
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
    ],
)
def test_a_data_map_that_does_not_fit_is_refused_with_its_line(tmp_path, line, told):
    """What can't be read of a data map is told with file and line."""
    path = tmp_path / "map.jsonl"
    path.write_text('{"guid": 1, "confidence": 0.5, "variability": 0}\n' + line, "utf-8")
    with pytest.raises(FormatError, match=rf"map\.jsonl:2: .*{told}"):
        debias.read_dynamics(path, made_twins(2))


def test_a_data_map_of_other_problems_is_refused(tmp_path):
    """A map whose ids are none of the pool's is another data set's."""
    path = _map(tmp_path / "m.jsonl", [{"guid": "no", "confidence": 1, "variability": 0}])
    with pytest.raises(DataError, match="none of its lines is about a problem"):
        debias.read_dynamics(path, made_twins(2))
    with pytest.raises(FormatError, match="No such file"):
        debias.read_dynamics(tmp_path / "none.jsonl", made_twins(2))


FIRST = made_twins(4).ids[0]


@pytest.mark.parametrize(
    ("kept", "more", "error", "told"),
    [
        ({}, {}, DataError, "no kept set"),
        ({"k": []}, {}, DataError, "k holds no problem"),
        ({"k": [0, 0]}, {}, DataError, "rows from 0 to 7, each once"),
        ({"k": [8]}, {}, DataError, "rows from 0 to 7"),
        ({"k": [0]}, {"draws": 5}, InputError, "20 draws or more"),
        ({"k": [0]}, {"marks": {"bad": np.ones(3)}}, DataError, "bad has 3 entries"),
        ({"k": [0]}, {"right": {"a": np.ones(8, bool)}}, InputError, "two models or more"),
        (
            {"k": [0]},
            {"votes": [Response(FIRST, "ann", "validate", 2)]},
            DataError,
            f"'ann' chose option 3 of '{FIRST}', which has 2",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(kept, more, error, told):
    """Sets of nothing, rows that are not there, and columns of another length are refused."""
    with pytest.raises(error, match=told):
        debias.fairness(made_twins(4), kept, **{"draws": 20, **more})


def test_the_released_set_of_winogrande_keeps_doubtful_labels(data_dir):
    """Of the 457 labels of train_xl that its data map doubts, WinoGrande's authors kept 384."""
    from winosmith import formats

    pool = formats.read(data_dir / "winogrande/train_xl.jsonl")
    known = formats.read(data_dir / "winogrande/train_debiased.jsonl")
    kept = {(p.sentence, p.options) for p in known}
    rows = [row for row, p in enumerate(pool) if (p.sentence, p.options) in kept]
    name = "winogrande_cartography/winogrande_roberta_0_6_data_map_coordinates.jsonl"
    dynamics = debias.read_dynamics(data_dir / name, pool, first=10_000)
    doubted = dynamics.doubted()
    assert (len(rows), doubted[rows].sum(), doubted.sum()) == (9_158, 384, 457)
    assert dynamics.regions()["hard to learn"][rows].mean() > 0.7
