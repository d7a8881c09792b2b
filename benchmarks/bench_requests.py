"""What does each kind of request of writing and judging take of the processor?

One process answers requests as the crowd of `trials/platform_load.py` sends them, one by one: twins
with live checks, and votes. Told is the processor's time, which other work on the machine disturbs
less than it does the clock; beside it what the database server takes.

    python benchmarks/bench_requests.py --twins 100
"""

from __future__ import annotations

import argparse
import email.message
import io
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "trials"))

from crowd import acts, inside
from crowd.browser import Browser
from crowd.processor import TICKS
from crowd.scenario import databases, opened, place
from crowd.server import Server

HOST = "127.0.0.1:8000"

SPENT = defaultdict(list)
"""Milliseconds of this process for each request, by its kind."""


class Answer:
    """An answer as `Browser` reads it."""

    will_close = False

    def __init__(self, status, headers):
        self.status = int(status.split()[0])
        self.headers = email.message.Message()
        for name, value in headers:
            self.headers[name] = value


class InProcess(Browser):
    """A browser whose server is this process."""

    def _exchange(self, method, path, body, headers):
        from winosmith.web.wsgi import application

        path, _, query = path.partition("?")
        data, started = (body or "").encode(), []
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, "SCRIPT_NAME": "",
            "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000", "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": HOST, "REMOTE_ADDR": "127.0.0.1", "CONTENT_LENGTH": str(len(data)),
            "wsgi.input": io.BytesIO(data), "wsgi.errors": sys.stderr, "wsgi.url_scheme": "http",
        }  # fmt: skip
        for name, value in headers.items():
            key = name.upper().replace("-", "_")
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        start = time.process_time()
        found = application(environ, lambda status, told, _=None: started.extend((status, told)))
        text = b"".join(found)
        if hasattr(found, "close"):
            found.close()
        SPENT[kind(method, path)].append(1000 * (time.process_time() - start))
        return Answer(*started), text


def kind(method, path):
    """Return what requests are counted together."""
    return f"{method} {re.sub(r'/write/(?!mine)[0-9a-f]+/', '/write/DRAFT/', path)}"


def database_ms(server):
    """Return what a database server has taken of the processor; 0 where there is none."""
    total = 0
    for about in Path("/proc").glob("[0-9]*/stat"):
        pid, rest = int(about.parent.name), about.read_text().rpartition(") ")[2].split()
        if server is not None and server.process.pid in (pid, int(rest[1])):
            total += sum(map(int, rest[11:15]))
    return 1000 * total / TICKS


def rounds(writer, judges, count):
    """Write a twin, and give two votes, so many times."""
    for number in range(count):
        acts.write_twin(writer, checks=3)
        for judge in judges[number % 2 :: 2]:
            if not acts.judge_once(judge):
                raise SystemExit("nothing is left to judge; let --problems be more")


def visitor(someone):
    browser = InProcess(f"http://{HOST}")
    browser.cookies = dict(someone.cookies)
    return acts.Visitor(someone.key, browser)


def measure(where, args):
    Server(where.folder, where.postgres)  # writes the site's settings
    opened(where.folder, where.database)
    inside.make_problems(args.problems)
    writer = visitor(inside.make_people("writer", 1)[0])
    judges = [visitor(one) for one in inside.make_people("judge", 4, is_judge=True)]
    rounds(writer, judges, 15)
    SPENT.clear()
    before = database_ms(where.postgres)
    rounds(writer, judges, args.twins)
    base = database_ms(where.postgres) - before
    writes = sum(len(spent) for name, spent in SPENT.items() if writing(name))
    print(f"  {'request':30}{'times':>7}{'median':>9}{'mean':>9}  (ms of the processor)")
    for name, spent in sorted(SPENT.items()):
        middle, mean = statistics.median(spent), statistics.mean(spent)
        print(f"  {name:30}{len(spent):7}{middle:9.2f}{mean:9.2f}")
    total, asked = sum(map(sum, SPENT.values())), sum(map(len, SPENT.values()))
    print(f"  of a write: {asked / writes:.2f} requests, {total / writes:.1f} ms,", end="")
    print(f" the database's {base / writes:.1f} ms")


def writing(name):
    return name.startswith("POST") and not name.endswith("/check/")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--twins", type=int, default=60)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--on", choices=("sqlite", "postgresql"))
    args = parser.parse_args()
    for name in databases(args.on or ""):
        if args.on is None:  # a process serves one site
            again = [sys.executable, __file__, "--on", name, f"--twins={args.twins}"]
            subprocess.run([*again, f"--problems={args.problems}"], check=True)
            continue
        print(name, flush=True)
        with place(name) as where:
            measure(where, args)
            from django.db import connections

            connections.close_all()


if __name__ == "__main__":
    main()
