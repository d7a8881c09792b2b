"""The test suite itself: time limits, Ctrl-C, files left open, and skips."""

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


def _run_tests(text: str, folder: Path, *options: str, afresh: bool = False) -> str:
    """Run tests with this project's settings in a separate process, and return its output."""
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
def test_hanging_child_prints_where_it_waits(tmp_path):
    printed = _run_tests(FORKED, tmp_path, afresh=True)
    assert "1 failed" in printed
    assert "in waits_in_a_child" in printed


def test_time_limit_is_longer_than_that_of_forked_processes():
    """A forked process therefore prints where it waits while its test still runs."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    limit = settings["tool"]["pytest"]["ini_options"]["timeout"]
    assert 0 < forking.PATIENCE < limit


def test_ci_runs_all_tests_and_make_test_omits_long_ones():
    made = (ROOT / "Makefile").read_text("utf-8")
    assert "make test-all\n" in (ROOT / ".ci" / "run").read_text("utf-8")
    recipes = dict(re.findall(r"^([\w-]+):[^=\n]*\n\t(.*)$", made, re.MULTILINE))
    assert recipes["test-all"] == "$(PYTEST)"
    assert recipes["demo"].startswith("$(BIN)/winosmith demo ")  # as in README, which is tested
    assert recipes["test"] == '$(PYTEST) -m "not long" --hypothesis-profile hurried'
    assert not re.search(r"^PYTEST = .* -[mk] ", made.replace("-m pytest", ""), re.MULTILINE)


def test_each_browser_area_has_a_test_that_is_not_long():
    """`make test` takes one path through each area; `make test-all` checks every page."""
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
    assert lacking == {"tests/web/languages/test_browser.py"}  # this file tests every page


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
def test_failed_test_does_not_fail_the_next_one(tmp_path):
    """A file that it left open causes no warning in the next test."""
    assert "1 failed, 1 passed" in _run_tests(LEAKING, tmp_path)


SOUND = LEAKING.replace("assert not circle", "assert circle")


@pytest.mark.long
def test_file_left_open_by_a_passing_test_is_a_failure(tmp_path):
    assert "1 failed, 1 passed" in _run_tests(SOUND, tmp_path)


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
def test_ctrl_c_reaches_processes_of_tests_in_the_background(tmp_path):
    """A shell's background jobs ignore SIGINT; processes that tests start have Python's handler."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in a shell's background job
    try:
        printed = _run_tests(IGNORING, tmp_path, afresh=True)
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
def test_missing_module_is_a_skip_but_a_failure_in_ci(ci, told, tmp_path, monkeypatch):
    monkeypatch.setenv("CI", ci)
    assert told in _run_tests(LACKING, tmp_path)


def test_no_test_uses_importorskip():
    """It would also skip in CI; tests use `needed` instead."""
    asks = re.compile(r"^[^#\"'`]*\bimportorskip\(", re.MULTILINE)
    files = (ROOT / "tests").rglob("*.py")
    assert [str(file) for file in files if asks.search(file.read_text("utf-8"))] == []


def _names_below(tree: ast.Module) -> dict[str, set[str]]:
    """Map each function to the names in it and in the helpers and fixtures of its file it uses."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    automatic = {name for name, node in functions.items() if "autouse=True" in ast.unparse(node)}
    below = {}
    for name in functions:
        names, waiting = set[str](), {name, *automatic}
        while waiting:
            names |= waiting
            nodes = [node for of in waiting & functions.keys() for node in ast.walk(functions[of])]
            found = {node.id for node in nodes if isinstance(node, ast.Name)}
            found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            waiting = found.union(node.arg for node in nodes if isinstance(node, ast.arg)) - names
        below[name] = names
    return below


def test_every_test_of_wordnet_skips_without_it():
    lacking = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        if "WordNet" in (text := file.read_text("utf-8"))
        for name, names in _names_below(ast.parse(text)).items()
        if name.startswith("test_")
        if names & {"WordNet", "WordNetPerturber"} and "need_wordnet" not in names
    }
    # this test opens an empty folder
    assert lacking == {"test_missing_files_are_reported_with_ways_to_get_them"}


def test_every_folder_of_tests_is_collected():
    """By default, pytest skips folders with certain names, such as "build"."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    passed_over = settings["tool"]["pytest"]["ini_options"]["norecursedirs"]
    files = ROOT.glob("tests/**/test_*.py")
    folders = {name for file in files for name in file.relative_to(ROOT).parts[:-1]}
    assert [name for name in folders if any(fnmatch(name, of) for of in passed_over)] == []


@pytest.mark.long
def test_platform_modules_of_other_tests_need_no_django_setup():
    """Tests import them at the top, before a site is open.

    The platform's own tests are exempt: their conftest.py opens a site before it imports them.
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
