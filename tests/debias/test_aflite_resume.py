"""AFLite's checkpoints and its record: what a run that was stopped goes on from."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from tests.debias.rows import SMALL, made, same  # type: ignore[import-not-found]
from winosmith import debias
from winosmith.errors import OutputError


class StoppedError(Exception):
    """Stands for whatever ends a run in the middle."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoppedError])
def test_a_run_is_taken_up_after_every_phase(tmp_path, error):
    """A run that is stopped after any phase, and taken up, ends in the same bytes."""
    X, y, ids = made(columns=20)
    whole = debias.aflite(X, y, ids=ids, **SMALL)
    assert len(whole.phases) > 5
    path = tmp_path / "run.npz"

    def stop(phase: debias.Phase) -> None:
        raise error

    for done in range(1, len(whole.phases) + 1):
        with pytest.raises(error):
            debias.aflite(X, y, ids=ids, checkpoint=path, on_phase=stop, **SMALL)
        assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
        with np.load(path, allow_pickle=False) as file:
            assert file["removed_in"].max() == done - 1
    seen: list[debias.Phase] = []
    again = debias.aflite(X, y, ids=ids, checkpoint=path, on_phase=seen.append, **SMALL)
    assert same(again, whole)
    assert seen == []


def test_a_checkpoint_is_of_rows_not_of_their_order(tmp_path):
    """A run can be taken up with the rows in another order."""
    X, y, ids = made()
    path = tmp_path / "run.npz"
    whole = debias.aflite(X, y, ids=ids, checkpoint=path, **SMALL)
    turned = debias.aflite(X[::-1], y[::-1], ids=ids[::-1], checkpoint=path, **SMALL)
    assert turned.scores.tobytes() == whole.scores[::-1].tobytes()


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    """Other data, other parameters or another file are refused, and the difference is named."""
    X, y, ids = made()
    path = tmp_path / "run.npz"
    debias.aflite(X, y, ids=ids, checkpoint=path, **SMALL)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="seed 5, not 6"):
        debias.aflite(X, y, ids=ids, checkpoint=path, **{**SMALL, "seed": 6})
    with pytest.raises(OutputError, match=r"another run \(data"):
        debias.aflite(X + 1, y, ids=ids, checkpoint=path, **SMALL)
    with pytest.raises(OutputError, match="groups False, not True"):
        debias.aflite(X, y, ids=ids, groups=ids, checkpoint=path, **SMALL)
    assert path.read_bytes() == before
    other = tmp_path / "notes.npz"
    for content in (b"not an archive", b"", b"PK\x03\x04 cut off"):
        other.write_bytes(content)
        with pytest.raises(OutputError, match="not a checkpoint"):
            debias.aflite(X, y, ids=ids, checkpoint=other, **SMALL)
    np.savez(other, scores=X)
    with pytest.raises(OutputError, match="not a checkpoint"):
        debias.aflite(X, y, ids=ids, checkpoint=other, **SMALL)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OutputError, match="file"):
        debias.aflite(X, y, ids=ids, checkpoint=tmp_path / "file" / "run.npz", **SMALL)


def test_the_record_is_json_and_holds_no_seconds():
    """What a report takes from a result is JSON, the same for the same run, and tells no times."""
    X, y, ids = made()
    result = debias.aflite(X, y, ids=ids, **SMALL)
    text = json.dumps(result.record(), allow_nan=False)
    assert "seconds" not in text
    assert json.loads(text)["parameters"]["train_size"] == SMALL["train_size"]
    assert result.seconds > 0
    assert all(0 <= phase.accuracy <= 1 for phase in result.phases)
    with pytest.raises(ValueError, match="read-only"):
        result.kept[0] = 1
    assert same(pickle.loads(pickle.dumps(result)), result)  # noqa: S301 - it was made here
