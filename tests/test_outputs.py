"""Output files are written completely or not at all, and other people's files stay."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples
from winosmith.errors import DataError, OutputError
from winosmith.outputs import MANIFEST, OutputFolder, atomic_write, sha256

RECIPE = {"command": "build", "aflite": {"threshold": 0.75}}


def names(folder: Path) -> set[str]:
    """Return the names of everything in a folder."""
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["a.txt", "missing/too/a.txt"])
def test_file_appears_only_when_it_is_complete(tmp_path, name):
    """Missing folders are created."""
    path = tmp_path / name
    with atomic_write(path) as file:
        file.write("one\n")
        assert not path.exists()
    assert path.read_bytes() == b"one\n"
    assert names(path.parent) == {"a.txt"}


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, OSError])
def test_failure_keeps_the_old_file_and_leaves_no_other(tmp_path, failure):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_write(path) as file:
            file.write("new")
            raise failure

    with pytest.raises((failure, OutputError)):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == {"a.txt"}


@pytest.mark.parametrize("below", ["a.txt", "folder/a.txt"])
def test_file_in_place_of_a_folder_is_reported(tmp_path, below):
    (tmp_path / "file").touch()
    told = "a file has the same name as .* choose another folder"
    with pytest.raises(OutputError, match=told), atomic_write(tmp_path / "file" / below):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_disk_is_reported_and_leaves_no_file(tmp_path):
    def write() -> None:
        with atomic_write(tmp_path / "a.txt") as file:
            os.dup2(os.open("/dev/full", os.O_WRONLY), file.fileno())
            file.write("x" * 100_000)

    with pytest.raises(OutputError, match=r"a\.txt: the disk is full; free some space"):
        write()
    assert names(tmp_path) == set()


def test_error_of_another_file_is_raised_unchanged(tmp_path):
    with pytest.raises(FileNotFoundError) as told, atomic_write(tmp_path / "a.txt") as file:
        file.write((tmp_path / "missing").read_text())
    assert told.value.errno == errno.ENOENT
    assert str(told.value.filename).endswith("missing")
    assert names(tmp_path) == set()


def test_new_or_empty_folder_is_accepted(tmp_path):
    assert OutputFolder.open(tmp_path / "a" / "b", RECIPE).files == {}
    (tmp_path / "c").mkdir()
    assert OutputFolder.open(tmp_path / "c", RECIPE).files == {}
    assert names(tmp_path / "c") == {MANIFEST}


def test_bytes_are_written_unchanged_with_the_permissions_of_the_umask(tmp_path):
    (tmp_path / "usual").touch()
    with atomic_write(tmp_path / "b", "wb") as file:
        file.write(b"\r\n\x00")
    assert (tmp_path / "b").read_bytes() == b"\r\n\x00"
    assert (tmp_path / "b").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_same_recipe_resumes_with_the_finished_files(tmp_path):
    """A changed file is not finished."""
    folder = OutputFolder.open(tmp_path / "out", RECIPE)
    with folder.write("sub/kept.jsonl") as file:
        file.write("{}\n")
    again = OutputFolder.open(tmp_path / "out", json.loads(json.dumps(RECIPE)))
    assert again.is_finished("sub/kept.jsonl")
    assert not again.is_finished("other.jsonl")
    assert again.files["sub/kept.jsonl"] == sha256(tmp_path / "out" / "sub" / "kept.jsonl")
    (tmp_path / "out" / "sub" / "kept.jsonl").write_text("tampered with")
    assert not again.is_finished("sub/kept.jsonl")


def test_force_replaces_only_files_of_the_manifest(tmp_path):
    folder = OutputFolder.open(tmp_path / "out", RECIPE)
    with folder.write("ours.txt") as file:
        file.write("ours")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    taken = OutputFolder.open(tmp_path / "out", {"command": "other"}, force=True)
    assert taken.files == {}
    assert names(tmp_path / "out") == {MANIFEST, "notes.txt"}


def killed(code: str, folder: Path) -> None:
    """Run code in a process that ends inside its block, as if it were killed."""
    source = (
        f"import os; from winosmith.outputs import *; path = {str(folder)!r}\n{code} os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 9


def test_remains_of_a_killed_run_are_removed(tmp_path):
    out = tmp_path / "out"
    killed('with atomic_write(path + "/winosmith.json"):', out)
    assert len(names(out)) == 1
    OutputFolder.open(out, RECIPE)
    assert names(out) == {MANIFEST}
    killed(f'with OutputFolder.open(path, {RECIPE!r}).write("private/a.txt"):', out)
    assert len(names(out / "private")) == 1
    OutputFolder.open(out, RECIPE)
    assert names(out / "private") == set()


def test_unfinished_file_of_an_active_run_stays(tmp_path):
    with OutputFolder.open(tmp_path, RECIPE).write("a.txt") as file:
        file.write("a")
        OutputFolder.open(tmp_path, RECIPE)
    assert (tmp_path / "a.txt").read_text() == "a"


def test_results_of_another_recipe_or_version_are_refused_with_the_differences(
    tmp_path, monkeypatch
):
    with OutputFolder.open(tmp_path / "out", RECIPE).write("a.txt") as file:
        file.write("a")
    with pytest.raises(OutputError, match=r"aflite\.threshold is 0\.75 there, 0\.8.*force=True"):
        OutputFolder.open(tmp_path / "out", {"command": "build", "aflite": {"threshold": 0.8}})
    monkeypatch.setattr("winosmith.outputs.__version__", "9.0")
    with pytest.raises(OutputError, match=r"winosmith is '[\d.]+' there, '9\.0' here"):
        OutputFolder.open(tmp_path / "out", RECIPE)
    assert OutputFolder.open(tmp_path / "out", RECIPE, force=True).files == {}


@pytest.mark.parametrize("force", [False, True])
def test_folder_with_other_files_is_refused_even_with_force(tmp_path, force):
    """So is a file in place of the folder."""
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(OutputError, match="is not empty and was not written by winosmith"):
        OutputFolder.open(tmp_path, RECIPE, force=force)
    with pytest.raises(OutputError, match="is a file; give a folder"):
        OutputFolder.open(tmp_path / "thesis.tex", RECIPE, force=force)
    assert names(tmp_path) == {"thesis.tex"}


@pytest.mark.parametrize(
    "manifest",
    [
        "not JSON",
        "[]",
        '{"recipe": ' * 50_000,
        '{"recipe": {}}',
        '{"recipe": [], "files": {}}',
        '{"recipe": {}, "files": ["a.txt"]}',
        '{"recipe": {}, "files": {"../victim.txt": "0"}}',
        '{"recipe": {}, "files": {"/etc/passwd": "0"}}',
    ],
)
def test_invalid_manifest_is_refused_and_deletes_nothing(tmp_path, manifest):
    (tmp_path / "victim.txt").write_text("precious")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / MANIFEST).write_text(manifest)
    with pytest.raises(OutputError, match="is not a valid manifest"):
        OutputFolder.open(folder, RECIPE, force=True)
    assert (tmp_path / "victim.txt").read_text() == "precious"


def test_checksums_of_private_files_stay_private(tmp_path):
    """A private file is resumed without them in the public manifest."""
    folder = OutputFolder.open(tmp_path / "out", RECIPE)
    with folder.write("private/answers.lst") as file:
        file.write("1\n")
    assert "answers" not in (tmp_path / "out" / MANIFEST).read_text()
    assert OutputFolder.open(tmp_path / "out", RECIPE).is_finished("private/answers.lst")


def test_named_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as file:
        file.write("through")
    assert os.read(reader, 99) == b"through"
    assert pipe.is_fifo()
    os.close(reader)


def test_secret_is_part_of_the_recipe_but_not_published(tmp_path):
    OutputFolder.open(tmp_path / "out", RECIPE, secret={"answers": "a digest"})
    assert OutputFolder.open(tmp_path / "out", RECIPE, secret={"answers": "a digest"})
    assert "a digest" not in (tmp_path / "out" / MANIFEST).read_text()
    with pytest.raises(OutputError, match=r"other settings .different answers") as told:
        OutputFolder.open(tmp_path / "out", RECIPE, secret={"answers": "another"})
    assert "digest" not in str(told.value)


def test_bad_input_leaves_no_folder(tmp_path):
    """A folder with finished files stays."""
    new = OutputFolder.open(tmp_path / "new", RECIPE, secret={"answers": "a digest"})
    with pytest.raises(DataError), new.discard_on_error():
        raise DataError("one class")
    assert not (tmp_path / "new").exists()
    old = OutputFolder.open(tmp_path / "old", RECIPE)
    with old.write("finished.txt") as file:
        file.write("kept")
    with pytest.raises(DataError), old.discard_on_error():
        raise DataError("one class")
    assert (tmp_path / "old" / "finished.txt").read_text() == "kept"


def _interrupt_at(folder: OutputFolder, phase: str) -> None:
    with folder.scratch("phases.npz") as path:
        path.write_text(phase)
        raise KeyboardInterrupt


def test_scratch_file_stays_until_the_work_is_done_or_replaced(tmp_path):
    folder = OutputFolder.open(tmp_path / "out", RECIPE)
    with pytest.raises(KeyboardInterrupt):
        _interrupt_at(folder, "phase 3")
    assert (tmp_path / "out" / "phases.npz").read_text() == "phase 3"
    again = OutputFolder.open(tmp_path / "out", RECIPE)
    with again.scratch("phases.npz") as path:
        assert path.read_text() == "phase 3"
    assert not path.exists()
    with pytest.raises(KeyboardInterrupt):
        _interrupt_at(again, "phase 1")
    assert path.exists()
    OutputFolder.open(tmp_path / "out", {"other": 1}, force=True)
    assert not path.exists()


def test_recipe_with_an_infinite_number_is_refused_before_its_folder_is_made(tmp_path):
    """JSON has no such numbers, so the folder could not be opened again."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        OutputFolder.open(tmp_path / "out", {"a": float("inf")})
    assert not (tmp_path / "out").exists()


FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.none() | st.booleans() | st.integers() | FINITE | st.text()
NESTED = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc/."), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc/.", min_size=1), NESTED, max_size=4))
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_json_recipe_is_recognised_again(tmp_path, recipe):
    path = tmp_path / str(abs(hash(json.dumps(recipe, sort_keys=True))))
    OutputFolder.open(path, recipe)
    assert OutputFolder.open(path, recipe).recipe == recipe


@pytest.fixture(autouse=True)
def _restores_the_umask() -> Iterator[None]:
    """Check that reading the umask does not change it."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    after = os.umask(0o022)
    os.umask(after)
    assert after == before
