"""Change one operator, number or branch of a folder at a time: do its tests notice?

    python -m tests.mutants debias metrics --count 300
    python -m tests.mutants debias --again tests/build  # survivors once more, with more tests
    python -m tests.mutants debias --again --alone tests/debias/test_probe.py  # with new tests only

The mutants are Cosmic Ray's (`pip install cosmic-ray coverage`), drawn by seed over all modules of
a folder, or of one module, below `src/winosmith`. None is drawn that changes only annotations,
docstrings or what type checkers read; modules that numba compiles are left out.

Once for each file of tests it is learnt which test reaches which lines, and how long it takes. A
mutant is tried on the tests that reach its line, as many as took `--seconds` when that was learnt:
those that have most words in common with the line, then the quickest, and, where these share what
they make, the others of their files. It survives if none fails. Those that killed the nearest
mutants begin. It is killed as well when its process
dies, takes five times as long as its tests, and ten seconds, or waits for what never comes. Seconds
are the processor's: how busy the machine is changes nothing. What fails without the mutant, too,
kills nothing. A test that is named by itself (`FILE::TEST`) is tried on all that is executed while
a module is loaded: no line tells that it looks at, say, a table's columns. The tests are those of
`make test` without PostgreSQL and browsers: those that mirror the folder, those in
`tests/contracts` that name it, the examples in its docstrings, and those that are named. What
hypothesis draws is the same each time, so that a mutant that was killed is killed again. A program
that a test starts anew has no mutant in it.

What was found is added to a file in `--out`, one mutant a line, so that a run that was interrupted
goes on; a mutant that was killed is not tried again, though the tests may have changed. Each
survivor is printed with what it changes, to be read: is a test missing, or is it harmless? What was
found harmless is in `harmless.toml`, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import log
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.mutants.bench import SURVIVES, Bench, ending, file_of
from tests.mutants.changes import Spot, changed, difference, places, spot

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/winosmith"

HARMLESS = tomllib.loads(Path(__file__).with_name("harmless.toml").read_text("utf-8"))["harmless"]

SLOW = 0.5
"""Seconds of a test that waits for all that are quicker."""

LIKELY = 4
"""Tests that killed the nearest mutants, and as many that speak of the same, come first."""

WORD = re.compile(r"[a-z]{3,}")


class Folder:
    """A folder or a module whose code is changed.

    Attributes:
        name: below `src/winosmith`, without ".py".
        paths: of its modules, by their dotted names.
        texts: the same.
        tests: files below the root, or what pytest calls a test.
        named: those that were named one by one.
    """

    def __init__(self, name: str, more: Sequence[str] = (), *, alone: bool = False):
        self.name = name
        whole = SOURCE / name
        found = sorted(whole.rglob("*.py")) if whole.is_dir() else [whole.with_suffix(".py")]
        self.texts, self.paths = dict[str, str](), dict[str, Path]()
        for path in found:
            text = path.read_text("utf-8")
            if "migrations" not in path.parts and "njit" not in text:
                self.texts[_dotted(path)], self.paths[_dotted(path)] = text, path
        self.tests = sorted(more)
        self.named = {of for of in more if "::" in of}
        if alone:
            return
        mirrored = ROOT / "tests" / name
        same = mirrored.with_name(f"test_{whole.name.lstrip('_')}.py")
        if "/" in name and not mirrored.is_dir():  # a module may have no file of its own
            mirrored = mirrored.parent
        tests = {same} if same.exists() and not whole.is_dir() else {*mirrored.rglob("test_*.py")}
        named = re.compile(rf"\b{name.replace('/', '[./]')}\b")
        contracts = (ROOT / "tests/contracts").glob("test_*.py")
        tests |= {path for path in contracts if named.search(path.read_text("utf-8"))}
        for path in (ROOT / of for of in more):
            tests |= {*path.rglob("test_*.py")} if path.is_dir() else {path}
        self.tests = sorted(path.relative_to(ROOT).as_posix() for path in tests)
        if "/" not in name:  # what stands alone is of the package itself
            own = name if whole.is_dir() else "winosmith"
            self.tests.append(f"tests/test_doctests.py::test_the_examples_of_a_folder_run[{own}]")

    def drawn(self, seed: int) -> Iterator[tuple[str, str, int]]:
        """Yield modules, operators and numbers of places in an order that is drawn."""
        every = [(name, *of) for name, text in sorted(self.texts.items()) for of in places(text)]
        random.Random(seed).shuffle(every)  # noqa: S311 - no secret
        yield from every


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


class Kept:
    """Records in a file of JSON lines, by key; the last of each counts."""

    def __init__(self, path: Path):
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.records = {record["key"]: record for record in map(json.loads, lines)}

    def add(self, record: dict[str, Any]) -> None:
        """Add a record."""
        self.records[record["key"]] = record
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def spread(
    benches: Sequence[Connection], questions: Iterable[tuple[Any, tuple[Any, ...]]]
) -> Iterator[tuple[Any, Any]]:
    """Ask each question with what is to be known of it; yield that with the answer, as they come.

    A bench has one question at a time, and the next is thought of meanwhile.
    """
    asked: dict[Connection, Any] = {}
    for known, question in questions:
        while len(asked) == len(benches):
            yield from _answers(asked)
        free = next(bench for bench in benches if bench not in asked)
        with contextlib.suppress(BrokenPipeError):  # its end is told where its answer is awaited
            free.send(question)
        asked[free] = known
    while asked:
        yield from _answers(asked)


def _answers(asked: dict[Connection, Any]) -> Iterator[tuple[Any, Any]]:
    for bench in wait(list(asked)):
        try:
            answer = bench.recv()  # type: ignore[union-attr]
        except (EOFError, ConnectionResetError):
            sys.exit("a process that runs the tests ended; mutants.log says why")
        yield asked.pop(bench), answer  # type: ignore[call-overload]


def learnt(folder: Folder, benches: Sequence[Connection], kept: Kept) -> dict[str, Any]:
    """Return each test with its seconds and lines, from the file where nothing has changed."""
    state = _digest(*folder.texts.values())
    files = [*dict.fromkeys(map(file_of, folder.tests))]
    parts = {of: [test for test in folder.tests if test.startswith(f"{of}::")] for of in files}
    keys = {of: _digest(state, of, (ROOT / of).read_text("utf-8"), *parts[of]) for of in files}
    new = [file for file in files if keys[file] not in kept.records]
    for file, answer in spread(benches, ((file, ("learn", file)) for file in new)):
        if answer is None:
            sys.exit(f"{file}: the process that ran its tests died")
        for name, why in answer["failed"]:
            print(f"{name} fails without a mutant, and is left out: {why}", flush=True)
        kept.add({"key": keys[file], "file": file, **answer})
    found: dict[str, Any] = {}
    for file in files:
        found |= kept.records[keys[file]]["tests"]
    return found


def chosen(folder: Folder, module: str, at: Spot, tests: dict[str, Any]) -> tuple[int, list[str]]:
    """Return how many tests reach a place, and those in the order in which they are tried."""
    direct = _reaching(tests, {module: at.lines})
    if at.names and not direct:
        used = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(at.names)))})\b")
        direct = _reaching(
            tests,
            {
                name: frozenset(n for n, of in enumerate(text.splitlines(), 1) if used.search(of))
                for name, text in folder.texts.items()
            },
        )
    if at.loading and not direct:
        direct = {name for name, of in tests.items() if module in of["lines"]}
    if at.loading:
        direct |= {name for name in tests if folder.named & {name, name.partition("[")[0]}}
    files = {file_of(name) for name in direct if _shares(file_of(name))}
    beside = {name for name in tests if file_of(name) in files} - direct
    lines = folder.texts[module].splitlines()
    first = _of_the_same(" ".join(lines[n - 1] for n in at.lines or {at.line}), direct)
    rest = [*_quickest(direct - {*first}, tests), *_quickest(beside, tests)]
    return len(direct), [*first, *rest]


def _of_the_same(text: str, names: Iterable[str]) -> list[str]:
    """Return the tests that share most of their words with a text; rare words tell more."""
    held = {name: _words(file_of(name)).get(_function(name), frozenset()) for name in names}
    common = Counter(word for words in held.values() for word in words)
    wanted = frozenset(WORD.findall(text.lower())) & common.keys()

    def weight(name: str) -> tuple[float, str]:
        return -sum(log(len(held) / common[word]) for word in sorted(wanted & held[name])), name

    return sorted(held, key=weight)[:LIKELY]


@cache
def _words(file: str) -> dict[str, frozenset[str]]:
    """Return the words of each test function of a file."""
    text = (ROOT / file).read_text("utf-8")
    return {
        node.name: frozenset(WORD.findall((ast.get_source_segment(text, node) or "").lower()))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }


def _function(name: str) -> str:
    """Return the function of a test."""
    return name.partition("[")[0].rpartition("::")[2]


@cache
def _shares(file: str) -> bool:
    """Return whether a test may use what was made while another ran, or in another process."""
    return bool(
        re.search(r"\bcache\b|scope=|fork|rocess|workers", (ROOT / file).read_text("utf-8"))
    )


def _reaching(tests: dict[str, Any], wanted: dict[str, frozenset[int]]) -> set[str]:
    return {
        name
        for name, of in tests.items()
        if any(not wanted[m].isdisjoint(lines) for m, lines in of["lines"].items() if m in wanted)
    }


def _quickest(names: Iterable[str], tests: dict[str, Any]) -> list[str]:
    """Return tests, the quick ones first, and file by file, for the sake of what these share."""
    total: Counter[tuple[bool, str]] = Counter()
    for name in names:
        total[tests[name]["seconds"] > SLOW, file_of(name)] += tests[name]["seconds"]

    def order(name: str) -> tuple[bool, float, str, float]:
        seconds, file = tests[name]["seconds"], file_of(name)
        return seconds > SLOW, total[seconds > SLOW, file], file, seconds

    return sorted(names, key=order)


def harmless(record: dict[str, Any]) -> str:
    """Return why a mutant that survives does no harm; "" where nobody has said so."""
    lines = [line[1:].strip() for line in record["diff"] if line.startswith("+")]
    for known in HARMLESS:
        module = "winosmith." + known.get("module", "").replace("/", ".")
        if record["module"].startswith(module) and any(re.search(known["line"], s) for s in lines):
            return str(known["why"])
    return ""


class Run:
    """The mutants of one folder: drawn, tried and counted."""

    def __init__(self, folder: Folder, given: argparse.Namespace, results: Kept):
        self.folder, self._given, self._results = folder, given, results
        self._keys: list[str] = []

    def try_all(self, benches: Sequence[Connection], tests: dict[str, Any]) -> None:
        """Try what was not tried before; print each."""
        for record, answer in spread(benches, self._questions(tests)):
            self._note(record, answer)

    def _note(self, record: dict[str, Any], answer: Any) -> None:
        """Keep and print what became of a mutant."""
        record["outcome"] = answer if answer in (SURVIVES, "unreached") else "killed"
        if record["outcome"] == "killed":
            record["by"], record["why"] = answer if isinstance(answer, tuple) else ("", answer)
        self._results.add(record)
        print(record["outcome"], record["module"], record["operator"], sep="  ", flush=True)
        if record["outcome"] != "killed":
            print(*record["diff"], sep="\n", flush=True)

    def _questions(self, tests: dict[str, Any]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Yield records, and what a bench is asked; note what needs none."""
        for module, operator, number in self.folder.drawn(self._given.seed):
            if len(self._keys) >= self._given.count:
                return
            text = self.folder.texts[module]
            key = _digest(module, text, operator, str(number))
            known = self._results.records.get(key, {}).get("outcome")
            tried = known == "killed" or (
                known in (SURVIVES, "unreached")
                and (not self._given.again or harmless(self._results.records[key]))
            )
            if known == "means the same":
                continue
            if not tried and (made := changed(text, operator, number)) is None:
                self._results.add({"key": key, "outcome": "means the same"})
                continue
            self._keys.append(key)
            if tried:
                continue
            at = spot(text, made)
            reached, names = chosen(self.folder, module, at, tests)
            record = {
                "key": key, "folder": self.folder.name, "module": module, "operator": operator,
                "number": number, "line": at.line, "loading": at.loading, "reached": reached,
                "diff": difference(text, made),
            }  # fmt: skip
            if reached:
                names, seconds = _bounded(names, tests, self._given.seconds)
                names = self._likely(module, at.line, names)
                record["tried"], limit = len(names), 5 * seconds + 10
                yield record, ("attempt", module, text, made, names, limit, at.loading)
            elif not self._given.alone:
                self._note(record, "unreached")

    def _likely(self, module: str, line: int, names: list[str]) -> list[str]:
        """Return tests, those that killed the nearest mutants first."""
        near = sorted(
            (abs(record["line"] - line), record["by"])
            for key in self._keys
            if (record := self._results.records.get(key, {})).get("by")
            and record["module"] == module
        )
        first = [*dict.fromkeys(by for _, by in near if by in names)][:LIKELY]
        return [*first, *(name for name in names if name not in first)]

    def row(self) -> str:
        """Return a row of the table."""
        from winosmith.metrics import wilson_interval

        known = self._results.records
        records = [known[key] for key in self._keys if key in known]
        found = Counter(record["outcome"] for record in records)
        count, killed = found.total(), found["killed"]
        named = sum(bool(harmless(one)) for one in records if one["outcome"] != "killed")
        low, high = wilson_interval(killed, max(count, 1))
        return (
            f"| `{self.folder.name}` | {len(self.folder.texts)} | {count} "
            f"| {count - found['unreached']} | {killed} "
            f"| {killed / max(count, 1):.0%} | {low:.0%} to {high:.0%} | {named} |"
        )


def _bounded(names: list[str], tests: dict[str, Any], seconds: float) -> tuple[list[str], float]:
    """Return the tests that fit into the seconds, the first in any case, and theirs."""
    total, found = 0.0, list[str]()
    for name in names:
        if not found or total + tests[name]["seconds"] <= seconds:
            found.append(name)
            total += tests[name]["seconds"]
    return found, total


def _begun(folder: Folder, base: Path, out: Path, stack: contextlib.ExitStack) -> Connection:
    """Start a bench that prints into `out`; return the connection to it."""
    base.mkdir()
    here, there = Pipe()
    pid = os.fork()
    if not pid:
        with ending():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.setsid()
            here.close()
            log = os.open(out / "mutants.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            Bench(folder.tests, folder.paths, base).serve(there)
    there.close()
    stack.callback(os.waitpid, pid, 0)
    stack.callback(os.killpg, pid, signal.SIGKILL)
    return here


def main() -> int:
    """Draw, try, print the survivors and the share that is killed."""
    asked = argparse.ArgumentParser(prog="python -m tests.mutants")
    asked.add_argument("names", nargs="+", help="folders below src/winosmith, and more tests")
    asked.add_argument("--count", type=int, default=300, help="of mutants of a folder")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--seconds", type=float, default=60, help="of tests for one mutant")
    asked.add_argument("--jobs", type=int, default=1)
    asked.add_argument("--again", action="store_true", help="try survivors once more")
    asked.add_argument("--alone", action="store_true", help="on no tests but those named")
    asked.add_argument("--out", type=Path, default=ROOT / "out")
    given = asked.parse_intermixed_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started ends with it
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    os.environ.pop("CI", None)  # what is missing is skipped
    os.environ.update(
        PYTHONPATH=str(ROOT / "src"), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1"
    )
    given.out.mkdir(exist_ok=True)
    more = [name for name in given.names if name.startswith("tests")]
    results = Kept(given.out / "mutants.jsonl")
    folders = [Folder(name, more, alone=given.alone) for name in given.names if name not in more]
    runs = [Run(folder, given, results) for folder in folders]
    try:
        for run in runs:
            kept = Kept(given.out / f"learnt-{run.folder.name.replace('/', '-')}.jsonl")
            made = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a test may yet write
            with made as base, contextlib.ExitStack() as stack:
                bases = [Path(base) / str(n) for n in range(given.jobs)]
                benches = [_begun(run.folder, own, given.out, stack) for own in bases]
                run.try_all(benches, learnt(run.folder, benches, kept))
    finally:
        print("| folder | modules | mutants | reached | killed | share | 95 % | harmless |")
        print("|:--|--:|--:|--:|--:|--:|:--|--:|")
        print(*(run.row() for run in runs), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
