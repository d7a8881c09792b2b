"""Start `winosmith …` as a process that is forked from one which has loaded most of what it needs.

Loading takes a second or two of each process, and the tests start hundreds. Tests of the command
itself start `python -m winosmith`.
"""

import atexit
import contextlib
import faulthandler
import json
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.waiting import LONGEST

PATIENCE = 540
"""Seconds after which a process tells where each of its threads is: a minute before the time limit
of a test (`timeout` in pyproject.toml), which tells it of the test alone."""

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preloaded"])


class Forked:
    """A process of its own session, with the part of subprocess.Popen's methods that tests use."""

    def __init__(self, target: Callable[..., None], *arguments: Any):
        """Begin; `target` is called with the arguments."""
        self._process = _CONTEXT.Process(target=_apart, args=(target, arguments))
        self._process.start()
        self.pid = int(self._process.pid or 0)
        atexit.register(self.kill)  # else the end of the tests would wait for it

    def poll(self) -> int | None:
        """Return the exit code, -9 after kill -9; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code.

        Raises:
            subprocess.TimeoutExpired: it runs still.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return int(self._process.exitcode)

    def send_signal(self, sign: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sign)

    def kill(self) -> None:
        """Send SIGKILL to it and to what it started."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


def winosmith(
    words: tuple[str, ...], environment: Mapping[str, str], out: Path, errors: Path | None = None
) -> Forked:
    """Start `winosmith WORDS` where the tests were started, in a session of its own.

    What it prints is added to the file `out`; errors to `errors`, if that is given.
    """
    return Forked(_winosmith, words, dict(environment), str(out), str(errors or out))


def run(
    words: tuple[str, ...], environment: Mapping[str, str], timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run `winosmith WORDS`; return its exit code and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder) / "out", Path(folder) / "errors"
        code = winosmith(words, environment, out, errors).wait(timeout)
        return subprocess.CompletedProcess(words, code, out.read_text(), errors.read_text())


def script(
    code: str | Path, *arguments: str, cwd: Path | None = None, strict: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `python -c CODE ARGUMENTS`, or `python FILE ARGUMENTS`; return what `subprocess` would.

    Args:
        code: Python, or the path of a file of it.
        arguments: what follows it.
        cwd: the folder to run in; where the tests were started, unless it is given.
        strict: warnings are errors, as with `-W error`.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder) / "out", Path(folder) / "errors"
        where = str(cwd or Path.cwd())
        told = (code, arguments, where, strict, dict(os.environ), str(out), str(errors))
        exit_code = Forked(_script, *told).wait(LONGEST)
        return subprocess.CompletedProcess(
            [code, *arguments], exit_code, out.read_text(), errors.read_text()
        )


def talking(talk: Callable[[Connection], None], environment: Mapping[str, str]) -> Connection:
    """Start a process that calls `talk` with its end of a connection; return the other end."""
    here, there = _CONTEXT.Pipe()
    Forked(_talk, talk, dict(environment), there)
    there.close()
    return here


def tell_when_late(seconds: float = PATIENCE, *, end: bool = False) -> None:
    """Let this process print all its stacks on the standard error when it runs for so long.

    Args:
        seconds: how long.
        end: end it then, with code 1.
    """
    # Where the standard error leads later, nobody may look.
    faulthandler.dump_traceback_later(seconds, file=os.dup(2), exit=end)


def _apart(target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    tell_when_late()
    target(*arguments)


def _talk(
    talk: Callable[[Connection], None], environment: dict[str, str], there: Connection
) -> None:
    _take_on(environment)
    talk(there)


def _winosmith(words: tuple[str, ...], environment: dict[str, str], out: str, errors: str) -> None:
    _take_on(environment)
    _print_into(out, errors)
    sys.exit(_called(words))


def _script(
    code: str | Path, arguments: tuple[str, ...], folder: str, strict: bool,
    environment: dict[str, str], out: str, errors: str,
) -> None:  # fmt: skip
    _take_on(environment)
    _print_into(out, errors)
    _reopen()
    os.chdir(folder)
    if strict:
        warnings.simplefilter("error")
    sys.argv = [str(code) if isinstance(code, Path) else "-c", *arguments]
    if isinstance(code, Path):
        sys.path.insert(0, str(code.parent))
        runpy.run_path(str(code), run_name="__main__")
    else:
        exec(compile(code, "<script>", "exec"), {"__name__": "__main__"})  # noqa: S102


def _print_into(out: str, errors: str) -> None:
    for stream, path in ((1, out), (2, errors)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, stream)
        os.close(opened)


def _reopen() -> None:
    """Let Python use the streams that have taken the place of those at the start."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115


def _called(words: Sequence[str]) -> int:
    """Run `winosmith WORDS` on the streams that have taken the place of those at the start."""
    _reopen()
    sys.argv = ["winosmith", *words]
    from winosmith.cli import main

    return main()


def _take_on(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


_CLIENT = """#!{python} -IS
import json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({address!r})
socket.send_fds(asked, [b"3"], [0, 1, 2])
asked.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
asked.shutdown(socket.SHUT_WR)
sys.exit(int(asked.recv(16) or 1))
"""


def make_command(folder: Path) -> Forked:
    """Write a `winosmith` into a folder, to be put on PATH, and start what it is forked from."""
    address, client = folder / "asked", folder / "winosmith"
    client.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
    client.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(address))
        door.listen()
        return Forked(_obey_each, door)


def _obey_each(door: socket.socket) -> None:
    """Fork for each command that comes through the door."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    faulthandler.cancel_dump_traceback_later()  # it lives for many tests
    while True:
        asked, _ = door.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            tell_when_late()
            door.close()
            _obey(asked)
        asked.close()


def _obey(asked: socket.socket) -> None:
    """Run a command with the streams, the folder and the environment of who asks for it."""
    _, streams, *_ = socket.recv_fds(asked, 1, 3)
    with asked.makefile("rb") as rest:
        words, folder, environment = json.load(rest)
    _take_on(environment)
    os.chdir(folder)
    for own, stream in zip(streams, (0, 1, 2), strict=True):
        os.dup2(own, stream)
    code = 1
    try:
        code = _called(words)
        sys.stdout.flush()
    except BrokenPipeError:  # who read it has read enough
        pass
    except BaseException:  # noqa: BLE001 - a process of its own would print it, too
        traceback.print_exc()
    asked.send(str(code).encode())
    os._exit(0)
