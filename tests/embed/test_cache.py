"""Cached arrays come back whole, or not at all."""

from pathlib import Path

import numpy as np
import pytest

from winosmith.embed import get_cache_folder
from winosmith.embed._encoder import load_cached_vectors, save_vectors

X = np.arange(600, dtype=np.float32).reshape(20, 30)


def test_the_users_cache_folder_is_that_of_xdg(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """XDG_CACHE_HOME decides where it lies, and ~/.cache when that is not set."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / "winosmith"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / ".cache" / "winosmith"


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    """An array comes back bit by bit; nothing else is left in the folder."""
    save_vectors(tmp_path / "new" / "x.npz", X)
    found = load_cached_vectors(tmp_path / "new" / "x.npz", 20)
    assert found is not None
    assert found.tobytes() == X.tobytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.npz"]


def test_every_damaged_file_is_ignored(tmp_path: Path) -> None:
    """Cut anywhere, or with any one of its bytes in the data changed, a file counts as absent."""
    path = tmp_path / "x.npz"
    save_vectors(path, X)
    whole = path.read_bytes()
    assert load_cached_vectors(tmp_path / "none.npz", 20) is None
    for end in range(0, len(whole), 97):
        path.write_bytes(whole[:end])
        assert load_cached_vectors(path, 20) is None, end
    for at in range(200, 2400, 211):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(bytes(damaged))
        assert load_cached_vectors(path, 20) is None, at


def test_an_array_that_does_not_fit_is_ignored(tmp_path: Path) -> None:
    """Another shape, another type or a value that is not finite counts as absent."""
    save_vectors(tmp_path / "x.npz", X)
    assert load_cached_vectors(tmp_path / "x.npz", 20) is not None
    assert load_cached_vectors(tmp_path / "x.npz", 21) is None
    save_vectors(tmp_path / "x.npz", X[:, :, None])
    assert load_cached_vectors(tmp_path / "x.npz", 20) is None
    save_vectors(tmp_path / "x.npz", X.astype(np.float64))
    assert load_cached_vectors(tmp_path / "x.npz", 20) is None
    save_vectors(tmp_path / "x.npz", np.full((20, 30), np.nan, np.float32))
    assert load_cached_vectors(tmp_path / "x.npz", 20) is None
