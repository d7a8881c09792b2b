"""What several embedders agree to drop, and the floor under what people agree on."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winosmith import debias
from winosmith.answers import Response
from winosmith.errors import DataError, InputError
from winosmith.testing import made_twins

SMALL = {"train_size": 90, "cutoff": 12, "ensemble_size": 16, "threshold": 0.9}


def _planted(count=360, embedders=3, seed=0):
    """Return embedders that each see 60 rows give themselves away, 30 of them in common."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(count) % 2
    Xs = {}
    for number in range(embedders):
        X = rng.normal(size=(count, 5))
        own = [*range(30), *range(30 * (number + 1), 30 * (number + 2))]
        X[own, 0] += np.where(y[own], 4, -4)
        Xs[f"e{number}"] = X
    return Xs, y


@pytest.fixture(scope="module")
def three():
    """Return the arrays of three embedders, the labels, and their consensus with a floor of 0."""
    Xs, y = _planted()
    people = np.random.default_rng(1).choice([1.0, 2 / 3, np.nan], size=len(y))
    return Xs, y, debias.consensus(Xs, y, agreement=people, **SMALL)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99), remove=st.sampled_from(["rows", "groups"]))
def test_one_embedder_alone_is_aflite(seed, remove):
    """The consensus of one embedder keeps the rows that AFLite keeps, phase by phase."""
    Xs, y = _planted(180, 1, seed)
    groups = np.arange(180) // 2
    more = {"groups": groups, "remove": remove, "seed": seed, **SMALL}
    found = debias.consensus(Xs, y, **more)
    alone = debias.aflite(Xs["e0"], y, **more)
    assert found.kept.tolist() == alone.kept.tolist()
    assert found.runs["e0"].record() == alone.record()


@given(least=st.integers(1, 3), floor=st.floats(0, 1))
def test_kept_and_removed_are_the_input(three, least, floor):
    """Whatever must agree, each row is kept or removed, once, and what is spared is kept."""
    _, y, found = three
    other = found.decided_by(least, floor)
    assert sorted([*other.kept, *other.removed]) == list(range(len(y)))
    assert set(other.spared) <= set(other.kept)
    assert (other.found[other.removed] >= least).all()
    spared = set(other.spared)
    assert all(other.found[row] < least or row in spared for row in other.kept)


@given(floor=st.floats(0, 1))
def test_the_more_must_agree_the_more_is_kept(three, floor):
    """What fewer embedders let stay stays when more must agree, with the same floor."""
    *_, found = three
    kept = [set(found.decided_by(least, floor).kept) for least in (1, 2, 3)]
    assert kept[0] <= kept[1] <= kept[2]


@given(least=st.integers(1, 3), floors=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_floor_never_takes(three, least, floors):
    """A higher floor keeps all that a lower one keeps, and gives back agreed rows alone."""
    *_, found = three
    low, high = (found.decided_by(least, floor) for floor in sorted(floors))
    assert set(low.kept) <= set(high.kept)
    assert found.agreed[np.setdiff1d(high.kept, found.decided_by(least, 0.0).kept)].all()


@given(least=st.integers(1, 3), floor=st.floats(0, 1))
def test_the_floor_holds_and_gives_back_no_more_than_it_must(three, least, floor):
    """Of the agreed rows at least the share is kept, and just that where the vote took more."""
    *_, found = three
    other = found.decided_by(least, floor)
    agreed = int(found.agreed.sum())
    kept = int(found.agreed[other.kept].sum())
    assert kept >= math.ceil(agreed * floor - 1e-9)
    if len(other.spared):
        assert kept <= math.ceil(agreed * floor + 1e-9)


def test_what_all_see_goes_and_what_one_sees_stays(three):
    """Of 30 rows that every embedder sees through most go; of those that one sees, most stay."""
    *_, found = three
    assert np.isin(range(30), found.removed).mean() > 0.8
    assert np.isin(range(30, 120), found.removed).mean() < 0.1
    assert np.isin(range(30, 120), found.decided_by(1).removed).mean() > 0.7


def test_those_with_the_weakest_case_are_given_back(three):
    """What the floor gives back was found by no more embedders than any agreed row that went."""
    *_, found = three
    half = found.decided_by(1, 0.85)
    gone = half.removed[found.agreed[half.removed]]
    assert len(half.spared)
    assert len(gone)
    assert found.found[half.spared].max() <= found.found[gone].min()


def test_the_order_of_rows_and_the_workers_change_nothing():
    """Permuted rows with their ids, and other workers, give the same kept ids."""
    Xs, y = _planted()
    ids = [f"p{row:03}" for row in range(len(y))]
    people = np.where(np.arange(len(y)) % 3, 1.0, 0.5)
    more = {"least": 1, "floor": 0.8, **SMALL}
    found = debias.consensus(Xs, y, ids=ids, agreement=people, **more)
    order = np.random.default_rng(3).permutation(len(y))
    with ThreadPoolExecutor(3) as executor:
        other = debias.consensus(
            {name: X[order] for name, X in Xs.items()},
            y[order],
            ids=[ids[row] for row in order],
            agreement=people[order],
            executor=executor,
            **more,
        )
    assert {ids[row] for row in found.kept} == {ids[order[row]] for row in other.kept}
    assert len(found.spared)


def test_an_interrupted_consensus_is_taken_up(tmp_path):
    """Stopped in the second embedder's run, it ends as if not, and never asks the first again."""
    Xs, y = _planted()
    whole = debias.consensus(Xs, y, **SMALL)
    phases = []

    def stop(name, phase):
        phases.append(name)
        if name == "e1" and phase.number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        debias.consensus(Xs, y, checkpoint=tmp_path / "c.npz", on_phase=stop, **SMALL)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.2.npz", "c.npz"]
    again = []
    found = debias.consensus(
        Xs, y, checkpoint=tmp_path / "c.npz", on_phase=lambda n, _: again.append(n), **SMALL
    )
    assert found.record() == whole.record()
    assert "e0" not in again
    assert len(phases) + len(again) == sum(len(run.phases) for run in whole.runs.values())


def test_whole_groups_go_or_stay():
    """With whole groups none is parted, and a group is agreed on when each of its rows is."""
    Xs, y = _planted()
    groups = np.arange(len(y)) // 2
    people = np.ones(len(y))
    people[1::4] = 0.5
    found = debias.consensus(
        Xs, y, least=1, floor=0.9, agreement=people, groups=groups, remove="groups", **SMALL
    )
    assert np.isin(found.removed ^ 1, found.removed).all()
    assert found.agreed.tolist() == np.repeat(np.arange(len(y) // 2) % 2 == 1, 2).tolist()


@pytest.mark.parametrize(
    ("asked", "error", "told"),
    [
        ({"least": 0}, InputError, "least is 1 to 3, the number of embedders; not 0"),
        ({"least": 4}, InputError, "not 4"),
        ({"floor": 1.5}, InputError, "floor is a share from 0 to 1"),
        ({"agreed": 0}, InputError, "agreed is a share above 0"),
        ({"floor": 0.5}, InputError, "nothing is known of what people agree on"),
        ({"floor": 0.5, "agreement": [1.0]}, DataError, "agreement has 1 entries for 360 rows"),
        ({"agreement": np.full(360, 3.0)}, DataError, "a share of people from 0 to 1"),
    ],
)
def test_what_cannot_be_voted_on_is_refused(asked, error, told):
    """A vote of more embedders than there are, and a floor without people, are refused."""
    Xs, y = _planted()
    with pytest.raises(error, match=told):
        debias.consensus(Xs, y, **{**SMALL, **asked})


def test_an_embedder_with_a_gap_is_named():
    """What is wrong with one embedder's numbers is told with its name."""
    Xs, y = _planted()
    Xs["e1"][7, 2] = np.nan
    with pytest.raises(DataError, match="e1: row 7 of X holds nan in column 2"):
        debias.consensus(Xs, y, **SMALL)
    with pytest.raises(InputError, match="one embedder or more"):
        debias.consensus({}, y, **SMALL)


def test_the_share_of_judges_who_chose_the_answer():
    """Votes that validate count, those of a test do not, and who chose nothing did not agree."""
    pool = made_twins(2)
    said = [
        Response(pool.ids[0], "x", "validate", pool[0].answer),
        Response(pool.ids[0], "y", "validate", None),
        Response(pool.ids[1], "x", "test", pool[1].answer),
        Response("elsewhere", "x", "validate", 0),
    ]
    shares = debias.human_agreement(pool, said)
    assert shares[0] == 0.5
    assert np.isnan(shares[1:]).all()
