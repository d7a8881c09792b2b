"""Where the processor's seconds of the tests go: `python -m pytest -p tests.times`.

The table at the end has a row a folder; a second one has the dearest tests. The seconds are those
of the processor, of a test's process and of all that it has started, for the clock on the wall
tells more of what else runs. What workers load and collect before their first test is a row of its
own.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PHASES = ("setup", "call", "teardown")

DEAREST = 60
"""Tests that are named at the end."""

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Return what this process and all that it has started have used until now.

    The larger of two readings: what ends while one is taken is missing from it, and all that it had
    started; the next test would seem to have used that.
    """
    if not Path("/proc/self/stat").exists():
        return sum(os.times()[:4])
    return max(_read(os.getpid()) for _ in range(2))


def _read(pid: int) -> float:
    own, children = Path("/proc") / str(pid), ""
    try:
        # After the name in brackets, the 12th to the 15th field (proc_pid_stat(5)): its own time
        # and that of the children it has waited for.
        fields = (own / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        threads = [*(own / "task").iterdir()]
    except OSError:  # it has ended; whoever waited for it has its time
        return 0.0
    for thread in threads:
        with contextlib.suppress(OSError):  # a thread that has ended leaves its children to others
            children += (thread / "children").read_text()
    return sum(map(int, fields[11:15])) / _TICKS + sum(map(_read, map(int, children.split())))


class Times:
    """What the tests of a run have used, by the folder of their file.

    Attributes:
        seconds: by folder and phase.
        tests: by folder.
        dearest: the seconds of a test, without its cases in brackets.
        loading: of all processes that ran tests, until they had collected them.
    """

    def __init__(self) -> None:
        self.seconds: Counter[tuple[str, str]] = Counter()
        self.tests: Counter[str] = Counter()
        self.dearest: Counter[str] = Counter()
        self.loading = 0.0
        self._began = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Begin to count."""
        self._began = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self) -> Iterator[Any]:
        """Write into the report, which goes to the process that prints, what the phase used."""
        report = yield
        now = processor_seconds()
        report.processor, self._began = max(0.0, now - self._began), now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        folder = report.nodeid.partition("::")[0].rpartition("/")[0]
        spent = getattr(report, "processor", 0.0)
        self.seconds[folder, report.when] += spent
        self.dearest[report.nodeid.partition("[")[0]] += spent
        self.tests[folder] += report.when == "setup"

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what this process has used until now; a worker tells it at its end."""
        self.loading = processor_seconds()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["processor"] = self.loading

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker used before its first test."""
        self.loading += getattr(node, "workeroutput", {}).get("processor", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table, the longest folder first."""
        terminalreporter.section("seconds of the processor")
        terminalreporter.write_line("\n".join(self.rows()))

    def rows(self) -> list[str]:
        """Return both tables in Markdown."""
        of = {name: [self.seconds[name, phase] for phase in PHASES] for name in self.tests}
        tests = sum(self.tests.values())
        spent = sum(map(sum, of.values()))
        return [
            "| folder | tests | seconds | setup | call | teardown |",
            "|:--|--:|--:|--:|--:|--:|",
            *(
                _row(name, self.tests[name], sum(of[name]), *of[name])
                for name in sorted(of, key=lambda name: -sum(of[name]))
            ),
            _row("loading and collecting", "", self.loading),
            _row("all", tests, spent + self.loading),
            "",
            "| test, with all its cases | seconds |",
            "|:--|--:|",
            *(f"| `{name}` | {own:.1f} |" for name, own in self.dearest.most_common(DEAREST)),
        ]


def _row(name: str, tests: int | str, *seconds: float) -> str:
    cells = [f"{number:.0f}" for number in seconds] + [""] * (4 - len(seconds))
    return "| " + " | ".join([name, str(tests), *cells]) + " |"


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the run."""
    config.pluginmanager.register(Times(), "winosmith-times")
