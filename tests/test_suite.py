"""What the tests promise wherever they run: time limits, Ctrl-C, and skips that are counted."""

import ast
import re
import signal
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests import forking
from tests.conftest import needed

ROOT = Path(__file__).resolve().parents[1]


def _tests_of(text: str, folder: Path, *options: str, afresh: bool = False) -> str:
    """Run tests under this project's settings, in a process of their own; return what it prints."""
    file = folder / "test_made.py"
    file.write_text(text, "utf-8")
    words = ["-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:cacheprovider",
             "--rootdir", str(folder), *options, str(file)]  # fmt: skip
    if not afresh:
        done = forking.script("import sys, pytest; sys.exit(pytest.main())", *words, cwd=ROOT)
        return done.stdout + done.stderr
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    ).stdout


FORKED = """
from tests import forking

WAITS = '''
import threading
from tests import forking
forking.tell_when_late(1, end=True)
def waits_in_a_child():
    threading.Event().wait()
waits_in_a_child()
'''

def test_it():
    assert forking.Forked(exec, WAITS).wait() == 0
"""


@pytest.mark.long
def test_a_child_that_hangs_tells_where_it_waits(tmp_path: Path) -> None:
    """What a forked process waits for is printed with the test that waits for it."""
    printed = _tests_of(FORKED, tmp_path, afresh=True)
    assert "1 failed" in printed
    assert "in waits_in_a_child" in printed


def test_every_test_has_a_time_limit_after_that_of_its_children() -> None:
    """What a forked process tells of itself comes while its test still runs."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    limit = settings["tool"]["pytest"]["ini_options"]["timeout"]
    assert 0 < forking.PATIENCE < limit


def test_every_test_runs_for_a_submission_and_only_long_ones_wait_for_it() -> None:
    """`.ci/run` makes `test-all`, which leaves nothing out; `test` leaves out what is marked."""
    made = (ROOT / "Makefile").read_text("utf-8")
    assert "make test-all\n" in (ROOT / ".ci" / "run").read_text("utf-8")
    recipes = dict(re.findall(r"^([\w-]+):[^=\n]*\n\t(.*)$", made, re.MULTILINE))
    assert recipes["test-all"] == "$(PYTEST)"
    assert recipes["demo"].startswith("$(BIN)/winosmith demo ")  # as README has it, which is run
    assert recipes["test"] == '$(PYTEST) -m "not long" --hypothesis-profile hurried'
    assert not re.search(r"^PYTEST = .* -[mk] ", made.replace("-m pytest", ""), re.MULTILINE)


def test_each_area_in_the_browser_has_a_test_that_is_not_long() -> None:
    """`make test` goes one way through each of them; every page is for `make test-all`."""
    areas = {*ROOT.glob("tests/web/browser/test_*.py"), *ROOT.glob("tests/**/test_*browser.py")}
    lacking = {
        area.relative_to(ROOT).as_posix()
        for area in areas
        if re.search(
            r"^pytestmark = .*pytest\.mark\.long", text := area.read_text("utf-8"), re.MULTILINE
        )
        or len(re.findall(r"^@pytest\.mark\.long$", text, re.MULTILINE))
        >= len(re.findall(r"^def test_", text, re.MULTILINE))
    }
    assert lacking == {"tests/web/languages/test_browser.py"}  # it is every page


LEAKING = """
import gc

class Circle:
    def __init__(self, path):
        self.file = open(path)
        self.own = self

def test_it_fails(tmp_path):
    (tmp_path / "file").touch()
    circle = Circle(tmp_path / "file")
    assert not circle

def test_it_is_sound():
    gc.collect()
"""


@pytest.mark.long
def test_a_test_that_fails_is_the_only_one(tmp_path: Path) -> None:
    """What a failed test has left open is no warning, and so no failure, of the next one."""
    assert "1 failed, 1 passed" in _tests_of(LEAKING, tmp_path)


SOUND = LEAKING.replace("assert not circle", "assert circle")


@pytest.mark.long
def test_what_a_sound_test_leaves_open_is_told(tmp_path: Path) -> None:
    """A file that nobody closes is a failure, where no failure explains it."""
    assert "1 failed, 1 passed" in _tests_of(SOUND, tmp_path)


IGNORING = """
import signal
import subprocess
import sys

from tests import forking

TOLD = "import signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"

def test_this_process_goes_on():
    signal.raise_signal(signal.SIGINT)

def test_a_new_process():
    subprocess.run([sys.executable, "-c", TOLD], check=True)

def test_a_forked_process():
    assert forking.Forked(exec, TOLD).wait() == 0
"""


@pytest.mark.long
def test_ctrl_c_reaches_what_tests_start_in_the_background_of_a_shell(tmp_path: Path) -> None:
    """Where SIGINT is ignored, the tests do that too, and what they start has Python's handler."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does in its background
    try:
        printed = _tests_of(IGNORING, tmp_path, afresh=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "3 passed" in printed, printed


LACKING = """
from tests.conftest import needed

def test_it():
    needed("no_such_module")
"""


@pytest.mark.long
@pytest.mark.parametrize(("ci", "told"), [("true", "1 failed"), ("", "1 skipped")])
def test_what_is_missing_is_a_skip_here_and_a_failure_in_ci(
    ci: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that needs a module which is not installed fails where CI is true, and skips else."""
    monkeypatch.setenv("CI", ci)
    assert told in _tests_of(LACKING, tmp_path)


def test_no_test_skips_by_itself_for_what_is_missing() -> None:
    """`pytest.importorskip` would skip in CI, too: `needed` stands for it."""
    asks = re.compile(r"^[^#\"'`]*\bimportorskip\(", re.MULTILINE)
    files = (ROOT / "tests").rglob("*.py")
    assert [str(file) for file in files if asks.search(file.read_text("utf-8"))] == []


def test_every_test_of_wordnet_skips_without_it() -> None:
    """A file of tests that asks for WordNet says where it is skipped when there is none."""
    asks = re.compile(r"\bWordNet(Perturber)?\(")
    lacking = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("test_*.py")
        if asks.search(text := file.read_text("utf-8")) and "need_wordnet()" not in text
    }
    assert lacking == set()


def test_every_folder_of_tests_is_collected() -> None:
    """No folder has a name that pytest passes over, as it does "build" unless told otherwise."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    passed_over = settings["tool"]["pytest"]["ini_options"]["norecursedirs"]
    files = ROOT.glob("tests/**/test_*.py")
    folders = {name for file in files for name in file.relative_to(ROOT).parts[:-1]}
    assert [name for name in folders if any(fnmatch(name, of) for of in passed_over)] == []


@pytest.mark.long
def test_no_test_needs_django_set_up_before_it_is_collected() -> None:
    """What is imported of the platform at a top can be imported before any site is open.

    The platform's own tests are exempt: their conftest.py opens one before it imports them.
    """
    found = {
        node.module
        for file in (ROOT / "tests").rglob("*.py")
        if not file.match("tests/web/**/test_*.py") and not file.match("tests/web/test_*.py")
        for node in ast.parse(file.read_bytes()).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("winosmith.web")
    }
    assert "winosmith.web" in found
    needed("django")
    told = "".join(f"import {module}\n" for module in sorted(found))
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
