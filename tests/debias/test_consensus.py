"""What several embedders agree to drop."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import examples
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
    """Return the arrays of three embedders, the labels, and their consensus."""
    Xs, y = _planted()
    return Xs, y, debias.consensus(Xs, y, **SMALL)


@examples(10)
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


@pytest.mark.parametrize("least", [1, 2, 3])
def test_kept_and_removed_are_the_input(three, least):
    """Whatever must agree, each row is kept or removed, once, by how many found it."""
    _, y, found = three
    other = found.decided_by(least)
    assert sorted([*other.kept, *other.removed]) == list(range(len(y)))
    assert (other.found[other.removed] >= least).all()
    assert (other.found[other.kept] < least).all()
    assert (other.least, other.parameters["least"]) == (least, least)


def test_what_all_see_goes_and_what_one_sees_stays(three):
    """Of 30 rows that every embedder sees through most go; of those that one sees, most stay."""
    *_, found = three
    assert np.isin(range(30), found.removed).mean() > 0.8
    assert np.isin(range(30, 120), found.removed).mean() < 0.1
    assert np.isin(range(30, 120), found.decided_by(1).removed).mean() > 0.7


def test_the_order_of_rows_and_the_workers_change_nothing():
    """Permuted rows with their ids, and other workers, give the same kept ids."""
    Xs, y = _planted()
    ids = [f"p{row:03}" for row in range(len(y))]
    more = {"least": 1, **SMALL}
    found = debias.consensus(Xs, y, ids=ids, **more)
    order = np.random.default_rng(3).permutation(len(y))
    with ThreadPoolExecutor(3) as executor:
        other = debias.consensus(
            {name: X[order] for name, X in Xs.items()},
            y[order],
            ids=[ids[row] for row in order],
            executor=executor,
            **more,
        )
    assert {ids[row] for row in found.kept} == {ids[order[row]] for row in other.kept}
    assert len(found.removed)


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
    """With whole groups none is parted."""
    Xs, y = _planted()
    groups = np.arange(len(y)) // 2
    found = debias.consensus(Xs, y, least=1, groups=groups, remove="groups", **SMALL)
    assert len(found.removed)
    assert np.isin(found.removed ^ 1, found.removed).all()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"least": 0}, "least is 1 to 3, the number of embedders; not 0"),
        ({"least": 4}, "not 4"),
        ({"floor": 0.5}, "floor is gone: debias.mirror takes less of what is sound"),
        ({"agreement": [1.0]}, "agreement is gone: .* so does a target_size"),
        ({"agreed": 0.8}, "agreed is gone"),
    ],
)
def test_what_cannot_be_voted_on_is_refused(asked, told):
    """A vote of more embedders than there are is refused, and what there once was beside it."""
    Xs, y = _planted()
    with pytest.raises(InputError, match=told):
        debias.consensus(Xs, y, **{**SMALL, **asked})
    with pytest.raises(InputError, match="least is 1 to 1, not 2"):
        debias.consensus({"e0": Xs["e0"]}, y, **SMALL).decided_by(2)


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
