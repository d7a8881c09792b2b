"""Processes in which tests are collected, and forked to learn what they reach or to try a mutant.

A bench is a process that has loaded the libraries alone, and nothing of the package. One process
that is forked from it collects all tests. A mutant in a function is tried in a fork of that one, in
which the function's code is replaced; what is executed while a module is loaded (constants,
defaults, classes), in a fork of the bench itself, which loads the module as it was changed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutants.changes import Finder, replaced

LEFT_OUT = "not long and not postgres and not browser"

LIBRARIES = """numpy scipy.stats scipy.special scipy.optimize sklearn.linear_model
sklearn.decomposition statsmodels.stats.proportion pandas numba matplotlib.figure
matplotlib.backends.backend_svg jinja2 lifelines coverage django.contrib.admin
django.core.handlers.wsgi django.core.management django.core.paginator django.core.serializers.json
django.db.models django.forms django.http django.template.loader django.test django.urls
django.views.generic whitenoise.middleware ninja""".split()
"""What is loaded before the package is: nothing that comes with a plugin of pytest, which wants to
load that itself."""

MEMORY = 6 << 30
"""Bytes that tests may ask for beyond what their process has, with a mutant and without.

A file that is mapped to be read is none of them, however large."""

ENDLESS, UNLOADED, SURVIVES = "it takes too long, or dies", "it can't be loaded", "survives"

ANEW = "load the module anew"


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """End this process after the block, whatever happens in it."""
    try:
        yield
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        os._exit(0)


SILENCE = 60.0
"""Seconds in which a process neither computes nor wants to: then it waits for what never comes."""


def in_fork(work: Callable[[], Any], seconds: float | None = None) -> Any:
    """Return what a child process returns; None when it dies, or does not end.

    It has so many seconds of the processor, and no limit on the clock on the wall as long as it, or
    what it has started, computes or would if the machine let it.
    """
    here, there = Pipe(duplex=False)
    pid = os.fork()
    if not pid:
        with ending():
            os.setsid()
            here.close()
            size = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_DATA, (size + MEMORY,) * 2)
            if seconds is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1,) * 2)
            there.send(work())
    there.close()
    busy, used = time.monotonic(), -1
    try:
        while not here.poll(SILENCE / 12):
            found = _started_by(pid)
            ticks = sum(ticks for _, ticks in found.values())
            if ticks != used or any(state in "RD" for state, _ in found.values()):
                busy, used = time.monotonic(), ticks
            elif time.monotonic() > busy + SILENCE:
                return None
        return here.recv()
    except EOFError:
        return None
    finally:
        here.close()
        for one in _started_by(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        os.waitpid(pid, 0)


def _started_by(pid: int) -> dict[int, tuple[str, int]]:
    """Return a process and all that it, or one of those, has started: the state, and the ticks."""
    known: dict[int, tuple[str, int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, parent, *rest = path.read_text().rpartition(")")[2].split()
            known[int(path.parent.name)] = (state, sum(map(int, rest[9:13])), int(parent))
    found = {pid}
    while more := {one for one, (_, _, of) in known.items() if of in found} - found:
        found |= more
    return {one: known[one][:2] for one in found if one in known}


class Tests:
    """A plugin of pytest that collects, and gives all further to `work`.

    Attributes:
        items: by id.
        failed: the id and the reason of each test that failed in the last run.
    """

    def __init__(self, work: Callable[[Tests], None]):
        self.items: dict[str, pytest.Item] = {}
        self.failed: list[tuple[str, str]] = []
        self._session: Any = None
        self._work = work

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Let examples be the same each time, and the first that fails be the last."""
        from hypothesis import Phase, settings

        hurried, phases = settings.get_profile("hurried"), (Phase.explicit, Phase.generate)
        settings.register_profile("hurried", hurried, phases=phases, derandomize=True)
        settings.load_profile("hurried")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own."""
        self._session = session
        if not session.testsfailed:
            self.items = {item.nodeid: item for item in session.items}
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed:
            self.failed.append((report.nodeid, report.longreprtext[-200:]))

    def running(self, names: Iterable[str], *, every: bool = False) -> Iterator[str]:
        """Run tests until one fails, or each; yield the id of each before it runs."""
        self.failed.clear()
        chosen = [self.items[name] for name in names if name in self.items]
        for item, following in itertools.pairwise([*chosen, self._session]):
            yield item.nodeid
            near = file_of(following.nodeid) == file_of(item.nodeid)
            # Whatever is no session's is torn down between files, which come in any order.
            after = following if near else self._session
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed and not every:
                return

    def outcome(self, names: Iterable[str]) -> Any:
        """Run tests until one fails; return its id and why, or SURVIVES."""
        for _ in self.running(names):
            pass
        return self.failed[0] if self.failed else SURVIVES


def file_of(name: str) -> str:
    """Return the file of a test."""
    return name.partition("::")[0]


def with_tests(files: Iterable[str], work: Callable[[Tests], None]) -> None:
    """Collect the tests of files in this process, and call `work`."""
    options = (
        "-q -p no:cacheprovider --capture=sys --tb=line --hypothesis-profile hurried -m".split()
    )
    pytest.main([*options, LEFT_OUT, *files], plugins=[Tests(work)])


class Bench:
    """What a bench is asked to do.

    Args:
        tests: files, or what pytest calls a test.
        modules: those that are changed, by dotted name, with their paths.
        folder: for what tests write; before each mutant it is as it was.
    """

    def __init__(self, tests: list[str], modules: dict[str, Path], folder: Path):
        self._tests, self._modules = tests, modules
        self._written, self._kept = folder / "tmp", folder / "kept"
        self._written.mkdir()
        tempfile.tempdir = str(self._written)
        os.environ.update(
            TMPDIR=str(self._written),
            HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"),
            PYTEST_XDIST_WORKER="gw0",  # one site is prepared for all, as for a run's workers
        )
        for library in LIBRARIES:
            with contextlib.suppress(Exception):
                importlib.import_module(library)
        self._collected = self._collect()
        self._loading = 10 + 5 * self._collected.recv()
        self._sound = set[str]()

    def serve(self, asked: Connection) -> None:
        """Answer until nobody asks any more."""
        with contextlib.suppress(EOFError):
            while True:
                kind, *more = asked.recv()
                asked.send(getattr(self, kind)(*more))

    def learn(self, file: str) -> Any:
        """Return the seconds and the lines of each test of a file, and which fail."""
        return self._ask("learn", file)

    def attempt(
        self, module: str, text: str, made: str, names: list[str], seconds: float, loading: bool
    ) -> Any:
        """Try tests on a changed module; return which fails and why, or what became of it else.

        What fails is tried without the change, too, with what ran before it of its file: a test
        that fails there, for its limits or its order, is left out. One that passed is trusted from
        then on.
        """
        answer = ANEW if loading else self._ask("attempt", module, text, made, names, seconds)
        if answer == ANEW:
            answer = in_fork(lambda: _loaded_anew(module, made, names), seconds + self._loading)
            self._restore()
        by = answer[0] if isinstance(answer, tuple) else ""
        if answer in (SURVIVES, UNLOADED) or by in self._sound:
            return answer
        before = names[: names.index(by) + 1] if by else names
        before = [name for name in before if not by or file_of(name) == file_of(by)]
        alone = self._ask("attempt", module, text, text, before, seconds)
        if alone == SURVIVES:
            self._sound |= {by} - {""}
            return ENDLESS if answer is None else answer
        if alone is None:
            print(f"without a mutant it takes too long, too: {before}", flush=True)
            return SURVIVES
        print(f"{alone[0]} fails without a mutant, and is left out: {alone[1]}", flush=True)
        rest = [name for name in names if name != alone[0]]
        return self.attempt(module, text, made, rest, seconds, loading) if rest else SURVIVES

    def _ask(self, *question: Any) -> Any:
        self._collected.send(question)
        return self._collected.recv()

    def _collect(self) -> Connection:
        """Start the process that collects the tests; return the connection to it."""
        here, there = Pipe()
        if not os.fork():
            with ending():
                here.close()
                with_tests(self._tests, lambda tests: self._obey(tests, there))
        there.close()
        return here

    def _obey(self, tests: Tests, asked: Connection) -> None:
        """Fork for each question, in the process that has collected the tests."""
        if not tests.items:
            raise RuntimeError("no test was collected")
        self._warm(tests)
        asked.send(time.process_time())
        gc.unfreeze()  # else the functions are not told
        functions: dict[CodeType, list[FunctionType]] = {}
        while True:
            kind, *more = asked.recv()
            if kind == "learn":
                answer = in_fork(lambda: _learnt(tests, more[0], self._modules))  # noqa: B023
            else:
                if not functions:
                    functions = _functions(self._modules)
                    gc.freeze()  # no child has to go through all again
                answer = in_fork(lambda: _tried(tests, functions, *more), more[-1])  # noqa: B023
            self._restore()
            asked.send(answer)

    def _warm(self, tests: Tests) -> None:
        """Make a site once, if any test wants one, and keep what was written for all."""
        with_site = (name for name, item in tests.items.items() if "db" in item.fixturenames)
        if first := next(with_site, None):
            in_fork(lambda: tests.outcome([first]))  # what it starts ends with it
            if (answer := tests.outcome([first])) != SURVIVES:
                raise RuntimeError(f"{first} fails without a mutant: {answer}")
            sys.modules["django.db"].connections.close_all()
            ended = shutil.ignore_patterns("pymp-*")  # the sockets of what it started
            shutil.copytree(self._written, self._kept, symlinks=True, ignore=ended)

    def _restore(self) -> None:
        """Bring back what was written before, and nothing else."""
        shutil.rmtree(self._written, ignore_errors=True)
        if self._kept.exists():
            shutil.copytree(self._kept, self._written, symlinks=True, dirs_exist_ok=True)
        self._written.mkdir(exist_ok=True)


def _functions(modules: dict[str, Path]) -> dict[CodeType, list[FunctionType]]:
    """Return the functions of the modules by their code."""
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    paths = set(map(str, modules.values()))
    found: dict[CodeType, list[FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename in paths:
            found[one.__code__].append(one)
    return dict(found)


def _tried(
    tests: Tests,
    functions: dict[CodeType, list[FunctionType]],
    module: str,
    text: str,
    made: str,
    names: list[str],
    seconds: float,
) -> Any:
    """Change a module in this process and run tests; return `Tests.outcome`, or ANEW."""
    if text == made:
        return tests.outcome(names)
    loaded = sys.modules.get(module)
    if loaded is None:
        sys.meta_path.insert(0, Finder(module, made))
        return tests.outcome(names)
    path = str(loaded.__file__)
    codes = (compile(of, path, "exec", dont_inherit=True) for of in (text, made))
    pairs = replaced(*codes)
    if not pairs or pairs[0][0] not in functions:
        return ANEW
    for one, other in pairs:
        for function in functions.get(one, ()):
            if one.co_freevars != other.co_freevars:
                return ANEW
            function.__code__ = other
    for value in vars(loaded).values():
        if callable(forget := getattr(value, "cache_clear", None)):
            forget()
    return tests.outcome(names)


def _loaded_anew(module: str, made: str, names: list[str]) -> Any:
    """Load a module as it was changed, and all others; return `Tests.outcome`, or UNLOADED."""
    sys.meta_path.insert(0, Finder(module, made))
    found: list[Any] = []

    def work(tests: Tests) -> None:
        if tests.items:
            found.append(tests.outcome(names))

    with_tests(sorted(set(map(file_of, names))), work)
    return found[0] if found else UNLOADED


def _spent() -> float:
    """Return the seconds of the processor of this process, and of those that it has waited for."""
    return sum(os.times()[:4])


def _learnt(tests: Tests, file: str, modules: dict[str, Path]) -> dict[str, Any]:
    """Return, by test that passes, its seconds and the lines of each module that it reaches."""
    import coverage

    paths = {str(path): name for name, path in modules.items()}
    traced = coverage.Coverage(data_file=None, include=[*paths], config_file=False, messages=False)
    names = [name for name in tests.items if file_of(name) == file]
    if not names:  # all of them are left out
        return {"tests": {}, "failed": []}
    began: dict[str, float] = {}
    traced.start()
    for name in tests.running(names, every=True):
        traced.switch_context(name)
        began[name] = _spent()
    ends = [*list(began.values())[1:], _spent()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a file may reach nothing
        traced.stop()
        data = traced.get_data()
    found: dict[str, Any] = {
        name: {"seconds": round(end - start, 4), "lines": defaultdict(list)}
        for (name, start), end in zip(began.items(), ends, strict=True)
    }
    for path in data.measured_files():
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in found.keys() & contexts:
                found[context]["lines"][paths[path]].append(line)
    for name, _ in tests.failed:
        found.pop(name, None)
    return {"tests": found, "failed": list(tests.failed)}
