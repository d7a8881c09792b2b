"""What tells the tests of a mutant, and puts its code in place."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import bench
from tests.mutants.__main__ import HARMLESS, ROOT, SOURCE, Folder, chosen
from tests.mutants.changes import Spot, meant, parts, replaced, spot

TEXT = """
import functools

LIMIT = 3


@functools.cache
def made(count=2):
    if (
        count > LIMIT
    ):
        return [n for n in range(count)]
    return []


class Kept:
    size = 1

    def held(self):
        return self.size


TABLE = made()
"""


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("LIMIT = 3", "LIMIT = 4", Spot(4, True, frozenset(), frozenset({"LIMIT"}))),
        ("count=2", "count=3", Spot(8, True, frozenset({9, 10, 11, 12, 13}), frozenset({"made"}))),
        ("count > LIMIT", "count < LIMIT", Spot(10, True, frozenset({9, 10, 11}))),
        ("size = 1", "size = 2", Spot(17, True, frozenset(), frozenset({"size"}))),
        ("self.size", "not self.size", Spot(20, False, frozenset({20}))),
    ],
)
def test_a_change_is_sought_where_it_is_executed(one: str, other: str, found: Spot) -> None:
    """In a function those are its statement's lines, and else those of what it defines.

    What a module calls while it is loaded is executed then.
    """
    assert spot(TEXT, TEXT.replace(one, other)) == found


def test_a_module_is_the_sum_of_its_parts() -> None:
    """Each part can be changed alone: it is a statement with its decorators, or what is before."""
    found = parts(TEXT)
    assert "".join(found) == TEXT
    assert [part.split()[0] for part in found[1:]] == [
        "import",
        "LIMIT",
        "@functools.cache",
        "class",
        "TABLE",
    ]
    assert all(meant(part) for part in found)


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("def of(n: int | None) -> int: return n", "def of(n: int & None) -> str: return n", True),
        (
            "class A:\n    def __repr__(self): return 1",
            "class A:\n    def __repr__(self): pass",
            True,
        ),
        (
            "class A:\n    def __str__(self): return 1",
            "class A:\n    def __str__(self): pass",
            False,
        ),
        ("def of(n=1): return n", "def of(n=2): return n", False),
    ],
)
def test_what_is_for_types_or_debugging_alone_is_not_changed(
    text: str, other: str, same: bool
) -> None:
    """Annotations and `__repr__` mean nothing; defaults and other methods do."""
    assert (meant(text) == meant(other)) == same


def _counts() -> str:
    end = time.process_time() + 1
    while time.process_time() < end:
        pass
    return "done"


@pytest.mark.parametrize(("work", "answer"), [(_counts, "done"), (lambda: time.sleep(60), None)])
def test_a_process_is_given_up_when_it_waits_not_when_it_is_slow(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any], answer: str | None
) -> None:
    """One that computes has its seconds of the processor; one that waits long enough is ended."""
    monkeypatch.setattr(bench, "SILENCE", 0.5)
    assert bench.in_fork(work, 30) == answer


def _maps(path: Path) -> str:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        return "mapped"


def test_a_process_maps_what_it_likes_and_has_so_much_memory(tmp_path: Path) -> None:
    """A file of 2 TB is read as it is without a mutant; memory beyond the limit is refused."""
    path = tmp_path / "large"
    path.touch()
    try:
        os.truncate(path, 2 << 40)  # holds nothing, and takes no room
    except OSError:
        pytest.skip("the file system knows no files of that size")
    assert bench.in_fork(lambda: _maps(path)) == "mapped"
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    for size, found in ((bench.MEMORY // 2, "had"), (2 * bench.MEMORY, None)):
        assert bench.in_fork(lambda n=size: mmap.mmap(-1, n, flags=private) and "had") == found


def test_a_test_that_is_named_is_tried_on_what_is_executed_on_loading() -> None:
    """It reaches no line of a class's columns; on a function's own lines it is not tried."""
    name = "tests/web/test_setup.py::test_no_migration_is_missing"
    folder, module = Folder("web/judge", [name], alone=True), "winosmith.web.judge.models"
    tests: dict[str, Any] = {name: {"seconds": 1.0, "lines": {}}}
    for loading, tried in ((True, [name]), (False, [])):
        assert chosen(folder, module, Spot(1, loading, frozenset({1})), tests)[1] == tried


NESTED = """
def outer():
    def inner(n):
        return n + 1
    return inner
"""


def test_a_function_gets_the_code_that_was_changed_within_it() -> None:
    """So does one that was made before; what is executed on loading is loaded anew."""
    codes = [compile(of, "made.py", "exec") for of in (NESTED, NESTED.replace("+", "-"))]
    names: dict[str, Any] = {}
    exec(codes[0], names)  # noqa: S102 - this file's own text
    outer, inner = names["outer"], names["outer"]()
    pairs = replaced(*codes)
    assert pairs is not None
    assert [one for one, _ in pairs] == [outer.__code__, inner.__code__]
    for function in (outer, inner):
        function.__code__ = dict(pairs)[function.__code__]
    assert (inner(3), outer()(3)) == (2, 2)
    codes = [compile(of, "made.py", "exec") for of in (TEXT, TEXT.replace("= 3", "= 4"))]
    assert replaced(*codes) is None


@pytest.mark.parametrize(
    ("name", "file"),
    [("humans", "tests/humans/test_form.py"), ("humans/_handout", "tests/humans/test_form.py"),
     ("blocks", "tests/test_blocks.py")],
)  # fmt: skip
def test_a_module_is_tried_on_the_tests_that_mirror_it_or_its_folder(name: str, file: str) -> None:
    """A folder has those of its name; a module those of its own, or else of its folder."""
    found = Folder(name)
    assert file in found.tests
    assert all((ROOT / of.partition("::")[0]).is_file() for of in found.tests)


def test_what_does_no_harm_is_of_modules_that_are_there() -> None:
    """What is told of a module is told of one that has not gone."""
    named = {known["module"] for known in HARMLESS if "module" in known}
    assert {name for name in named if not [*SOURCE.glob(name), *SOURCE.glob(f"{name}.py")]} == set()
