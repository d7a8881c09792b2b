"""The examples run in seconds, without a download, and show what they should."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forking
from tests.conftest import need_wordnet, needed
from winosmith.results import CITATION

FOLDER = Path(__file__).resolve().parents[1] / "examples"

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs an example in a new folder and returns its output."""

    def run_it(name: str, *arguments: str) -> str:
        done = forking.script(FOLDER / name, *arguments, cwd=tmp_path, strict=True)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    return run_it


def test_notebook_runs_and_is_stored_without_output(tmp_path):
    nbformat = needed("nbformat")
    stored = nbformat.read(FOLDER / "audit_and_compare.ipynb", 4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in stored.cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own libraries
        client = needed("nbclient").NotebookClient(stored, timeout=300)
        client.resources = {"metadata": {"path": str(tmp_path)}}
        done = client.execute()
    shown = [out for cell in done.cells for out in cell.get("outputs", ())]
    data = [out.data for out in shown if out.output_type in ("execute_result", "display_data")]
    printed = "".join(out.text for out in shown if out.output_type == "stream")
    printed = printed.replace("\u00a0", " ")
    assert sum("<table" in one.get("text/html", "") for one in data) == 4
    assert all(len(one["text/plain"]) < 1000 for one in data)
    assert "choosing “the longest, in characters” is correct for 100.0 % of 24 items" in printed
    assert printed.count(CITATION) == 3
    assert (tmp_path / "cues.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "models.png").read_bytes().startswith(b"\x89PNG")


def _percent(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"([\d.]+) ?%", text)]


def test_every_example_is_short_and_tested():
    """Each has under 60 lines and states how to run it."""
    tested = Path(__file__).read_text("utf-8")
    for example in FOLDER.glob("*.py"):
        text = example.read_text("utf-8")
        assert len(text.splitlines()) < 60, example.name
        assert re.search(rf"^ *python examples/{example.name}", text, re.MULTILINE)
        assert f'"{example.name}"' in tested


def test_aflite_on_arrays(run):
    """AFLite removes mostly planted rows, until the accuracy of a model is close to chance."""
    printed = run("aflite_on_arrays.py")
    planted, before, after = _percent(printed)[-3:]
    assert planted > 70
    assert before > 60
    assert 49 < after < 53


@pytest.mark.long
def test_own_embedder(run, tmp_path):
    """The user's own vectors are stored in a file; more planted than sound problems are removed."""
    printed = run("own_embedder.py")
    assert (tmp_path / "pairs.npz").exists()
    found, lost = _percent(printed)
    assert found > lost


@pytest.mark.long
def test_mirror_margins(run, tmp_path):
    """The margins are drawn, more agree than disagree, and the sound fraction is printed."""
    printed = run("mirror_margins.py")
    assert (tmp_path / "mirror-margins.svg").read_text("utf-8").startswith("<svg")
    counts = re.search(r"(\d+) agree, (\d+) disagree", printed)
    assert counts is not None
    assert int(counts[1]) > 2 * int(counts[2])
    assert re.search(r"about (\d\d\.\d)% of them sound", printed)


@pytest.mark.long
def test_check_twins(run):
    """The dropped problems are printed with their reasons, of three kinds."""
    printed = run("check_twins.py")
    assert "votes      1 problems, 0 twins, 1 singles" in printed
    assert re.findall(r"^(\w+): ([\w ]+):", printed, re.MULTILINE) == [
        ("t1b", "majority"),
        ("t2a", "enough votes"),
        ("t2b", "enough votes"),
        ("t3a", "flipped answers"),
        ("t3b", "flipped answers"),
    ]


@pytest.mark.long
def test_convert_and_count(run):
    """The ids reveal the answers; CSV loses nothing, and WinoGrande's format loses the origin."""
    printed = run("convert_and_count.py")
    assert "144 problems in 72 twins" in printed
    assert "LEAK: the id's last character gives the answer away in 100 %" in printed
    assert "as CSV and back: the same" in printed
    assert "as WinoGrande's JSON Lines and back: lost: origin" in printed


def test_build_from_python(run, tmp_path):
    """The fraction removed is larger for planted than for sound problems."""
    printed = run("build_from_python.py")
    assert (tmp_path / "small" / "report.html").exists()
    found = re.search(r"(\d+) of (\d+); ([\d.]+)\s% of sound", printed)
    assert found is not None
    count, total, lost = found.groups()
    assert int(count) / int(total) > float(lost) / 100


@pytest.mark.long
def test_evolve_from_python(run):
    """Families grow and are split by root; the test split of the large set does not grow."""
    need_wordnet()
    printed = run("evolve_from_python.py")
    assert printed.startswith("14 roots, 28 problems with 'Yesterday'")
    parts = re.findall(r"^(\w+) +(\d+) problems of +(\d+) families$", printed, re.MULTILINE)
    assert [(name, families) for name, _, families in parts] == [
        ("train", "10"),
        ("dev", "2"),
        ("test", "2"),
    ]
    assert int(parts[0][1]) > 20
    assert int(parts[2][1]) == 4
    assert "mean error depth of guesses" in printed


def _shown(name: str) -> str:
    """Return an example's output in the docs; tests/test_docs.py checks that it is current."""
    page = (FOLDER.parent / "docs" / "how-to" / "choose-settings.md").read_text("utf-8")
    return page.partition(f"$ python examples/{name}\n")[2].partition("```")[0]


def test_choose_threshold():
    """A higher threshold counts fewer problems as guessed, but always more than by chance."""
    rows = re.findall(r"^ +([\d.]+) +(\d+) +(\d+) +\d+$", _shown("choose_threshold.py"), re.M)
    guessed = [int(real) for _, real, _ in rows]
    assert len(rows) == 5
    assert guessed == sorted(guessed, reverse=True)
    assert all(int(real) > int(chance) for _, real, chance in rows)


def test_sweep_settings():
    """The results support what the docs state about each setting.

    A lower τ finds and loses more problems, for example.
    """
    shown = _shown("sweep_settings.py")
    rows = {
        (name, value): (float(found), float(lost))
        for name, value, found, lost in re.findall(
            r"^(\w+) +([\d.]+) +\d+ +([\d.]+)% +([\d.]+)%$", shown, re.MULTILINE
        )
    }
    thresholds = [rows["threshold", str(value)] for value in (0.65, 0.75, 0.85, 0.95)]
    for figures in zip(*thresholds, strict=True):
        assert list(figures) == sorted(figures, reverse=True)
    assert rows["ensemble_size", "8"][1] > 2 * rows["ensemble_size", "64"][1]
    assert rows["train_size", "20"][0] < rows["train_size", "64"][0] < rows["train_size", "140"][0]
    assert rows["cutoff", "48"][1] > 2 * rows["cutoff", "3"][1]
