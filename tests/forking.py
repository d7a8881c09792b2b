"""Run `winosmith …` in a process forked from one that has already imported most modules.

Importing takes a second or two per process, and the tests start hundreds of processes. Tests of
the command itself start `python -m winosmith`.
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
"""Seconds after which a process prints the stack of each thread:

a minute before the time limit of a test (`timeout` in pyproject.toml), whose message covers only
the test's process.
"""

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preloaded"])


class Forked:
    """A process in its own session, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, target: Callable[..., None], *arguments: Any):
        """Start the process, which calls `target` with the arguments."""
        self._process = _CONTEXT.Process(target=_apart, args=(target, arguments))
        self._process.start()
        self.pid = int(self._process.pid or 0)
        atexit.register(self.kill)  # otherwise the tests would wait for it at the end

    def poll(self) -> int | None:
        """Return the exit code, -9 after kill -9, or None if the process is running."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code.

        Raises:
            subprocess.TimeoutExpired: the process is still running.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return int(self._process.exitcode)

    def send_signal(self, sign: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, sign)

    def kill(self) -> None:
        """Send SIGKILL to the process and to its children."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)


def winosmith(
    words: tuple[str, ...], environment: Mapping[str, str], out: Path, errors: Path | None = None
) -> Forked:
    """Start `winosmith WORDS` in the current folder, in its own session.

    Its output is appended to the file `out`, and its errors to `errors`, if given.
    """
    return Forked(_winosmith, words, dict(environment), str(out), str(errors or out))


def run(
    words: tuple[str, ...], environment: Mapping[str, str], timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run `winosmith WORDS`, and return the exit code and the output."""
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder) / "out", Path(folder) / "errors"
        code = winosmith(words, environment, out, errors).wait(timeout)
        return subprocess.CompletedProcess(words, code, out.read_text(), errors.read_text())


def script(
    code: str | Path, *arguments: str, cwd: Path | None = None, strict: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `python -c CODE ARGUMENTS` or `python FILE ARGUMENTS`, and return the completed process.

    Args:
        code: Python code, or the path of a Python file.
        arguments: the arguments.
        cwd: the working folder; by default, that of the tests.
        strict: whether warnings are errors, as with `-W error`.
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
    """Start a process that calls `talk` with one end of a connection, and return the other end."""
    here, there = _CONTEXT.Pipe()
    Forked(_talk, talk, dict(environment), there)
    there.close()
    return here


def tell_when_late(seconds: float = PATIENCE, *, end: bool = False) -> None:
    """Let this process print the stacks of all threads to stderr if it runs for too long.

    Args:
        seconds: the time after which the stacks are printed.
        end: whether to then exit with code 1.
    """
    # Later, stderr may lead to a file that nobody reads.
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
    """Replace Python's streams after their file descriptors were replaced."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115


def _called(words: Sequence[str]) -> int:
    """Run `winosmith WORDS` with the replaced streams."""
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
    """Write a `winosmith` command for PATH into a folder, and start the process that it forks."""
    address, client = folder / "asked", folder / "winosmith"
    client.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
    client.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(address))
        door.listen()
        return Forked(_obey_each, door)


def _obey_each(door: socket.socket) -> None:
    """Fork for each command that arrives on the socket."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    faulthandler.cancel_dump_traceback_later()  # it runs during many tests
    while True:
        asked, _ = door.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            tell_when_late()
            door.close()
            _obey(asked)
        asked.close()


def _obey(asked: socket.socket) -> None:
    """Run a command with the caller's streams, folder and environment."""
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
    except BrokenPipeError:  # the reader has closed the pipe
        pass
    except BaseException:  # noqa: BLE001 - a process of its own would print it, too
        traceback.print_exc()
    asked.send(str(code).encode())
    os._exit(0)
