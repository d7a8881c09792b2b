"""Measure how reading time grows with rows, columns, options and nesting, compared with libraries.

For each, data of three sizes (1, 10 and 100 times) are written as JSON Lines (columns also as CSV)
and read, each in a separate process with all libraries loaded, by

- json: `json.loads` of each line, the minimum for any reader of JSON Lines;
- winosmith: `formats.read`, which checks every field of every problem;
- pandas: `pandas.read_json(lines=True)` or `pandas.read_csv`;
- datasets: `load_dataset("json")` or `"csv"` of Hugging Face's library, without its cache.

Times are processor times of all threads. The first run of a process loads the libraries and is
ignored; the minimum of the others is reported. The number of cells grows: 10 times the columns of
10 rows, or 10 times the questions in each of 100 texts. Ratios of up to 10 and 100 to the smallest
size are linear; they are lower if the smallest size mostly takes a fixed time. An item has at most
26 options, so the options grow from 2 to 20, and then the items.

    python benchmarks/bench_read.py                        # about 5 minutes
    python benchmarks/bench_read.py --data train_xl.jsonl  # your file, and `winosmith stats`
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_DATASETS = (
    "import tempfile, datasets; datasets.disable_progress_bars(); "
    "cache = tempfile.TemporaryDirectory(); rows = datasets.load_dataset("
    "{kind!r}, data_files=path, split='train', cache_dir=cache.name)"
)
JSON_LINES = {
    "json": "import json; rows = [json.loads(line) for line in open(path, encoding='utf-8')]",
    "winosmith": "from winosmith import formats; rows = formats.read(path)",
    "pandas": "import pandas; rows = pandas.read_json(path, lines=True)",
    "datasets": _DATASETS.format(kind="json"),
}
CSV = {
    "csv": "import csv; rows = list(csv.reader(open(path, encoding='utf-8', newline='')))",
    "winosmith": JSON_LINES["winosmith"],
    "pandas": "import pandas; rows = pandas.read_csv(path)",
    "datasets": _DATASETS.format(kind="csv"),
}
STATS = {"stats": "from winosmith.cli import main; main(['stats', '--json', path]); rows = ()"}

TIMED = """
import contextlib, io, json, resource, sys, time, warnings
path, way = sys.argv[1:]
rows = None
warnings.simplefilter("ignore")
times = []
while len(times) < 2 or (times[-1] < 0.1 and len(times) < 6):  # the first loads the libraries
    rows = None
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(way)
    times.append(time.process_time() - start)
print(json.dumps([min(times[1:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def measure_reading(path: Path, way: str) -> tuple[float, float] | None:
    """Return the processor seconds and the peak memory in MB of one reader.

    Return None if it fails or takes more than five minutes.
    """
    command = [sys.executable, "-c", TIMED, str(path), way]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    took, peak = json.loads(done.stdout.splitlines()[-1])
    return took, peak


def make_question(n: int, options: int = 4) -> dict[str, Any]:
    """Return a question with its choices and an answer."""
    return {
        "id": f"q{n}",
        "question": f"Which of these words is number {n} of the list that we were given?",
        "choices": [f"the word {n} {option}" for option in range(options)],
        "answer": "AB"[n % 2],
    }


def iter_more_rows(times: int) -> Iterator[Mapping[str, Any]]:
    """Yield 1,000 items, or 10 or 100 times as many."""
    yield from map(make_question, range(1_000 * times))


def iter_more_columns(times: int) -> Iterator[Mapping[str, Any]]:
    """Yield 10 items with 100 additional columns, or 10 or 100 times as many."""
    for n in range(10):
        one = make_question(n)
        options = dict(zip("ABCD", one.pop("choices"), strict=True))
        yield {**one, **options, **{f"column {c}": f"{n} {c}" for c in range(100 * times)}}


def iter_more_options(times: int) -> Iterator[Mapping[str, Any]]:
    """Yield 1,000 items with 2 options; with 20; and ten times as many with 20."""
    few = times == 1
    for n in range(1_000 if times < 100 else 10_000):
        yield make_question(n, 2 if few else 20)


def iter_nested(times: int) -> Iterator[Mapping[str, Any]]:
    """Yield 100 texts with 10 questions each; with 100; with 1,000."""
    for n in range(100):
        questions = [make_question(10 * times * n + q) for q in range(10 * times)]
        yield {"id": f"text {n}", "context": "A text.", "questions": questions}


GROWING = {
    "rows": iter_more_rows,
    "columns": iter_more_columns,
    "options": iter_more_options,
    "questions in a row": iter_nested,
}


def write_rows(found: Iterator[Mapping[str, Any]], path: Path) -> Path:
    """Write rows as JSON Lines or CSV, according to the file's suffix."""
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row) + "\n" for row in found)
            return path
        first = next(found)
        table = csv.DictWriter(file, first)
        table.writeheader()
        table.writerow(first)
        table.writerows(found)
    return path


def list_readers(path: Path) -> dict[str, str]:
    """Return the readers of the installed libraries for a file."""
    ways = JSON_LINES if path.suffix == ".jsonl" else CSV
    return {
        name: way for name, way in ways.items() if name == "csv" or importlib.util.find_spec(name)
    }


def print_growth(folder: Path, sizes: tuple[int, ...]) -> None:
    """Print how times grow with each kind of data."""
    print("| what grows | reader | seconds | 10 × | 100 × | peak MB |\n|---|---|--:|--:|--:|--:|")
    for what, make in GROWING.items():
        for suffix in (".jsonl", ".csv") if what == "columns" else (".jsonl",):
            paths = [write_rows(make(size), folder / f"{size}{suffix}") for size in sizes]
            for name, way in list_readers(paths[0]).items():
                found = [measure_reading(path, way) for path in paths]
                took = ", ".join(f"{one[0]:.2g}" if one else "—" for one in found)
                ratios = [
                    f"{one[0] / found[0][0]:.1f}" if one and found[0] else "—" for one in found[1:]
                ]
                peak = f"{found[-1][1]:,.0f}" if found[-1] else "—"
                cells = [f"{what}, {suffix[1:].upper()}", name, took, *ratios, peak]
                print("| " + " | ".join(cells) + " |", flush=True)


def print_comparison(path: Path) -> None:
    """Print how long each reader takes for one file."""
    lines = sum(1 for _ in path.open("rb"))
    print(f"{path.name}: {lines:,} lines, {path.stat().st_size / 1e6:.1f} MB\n")
    print("| reader | seconds | lines/s | peak MB |\n|---|--:|--:|--:|")
    for name, way in (list_readers(path) | STATS).items():
        if found := measure_reading(path, way):
            took, peak = found
            print(f"| {name} | {took:.2f} | {lines / took:,.0f} | {peak:,.0f} |", flush=True)


def main() -> None:
    """Read a file, or data of growing sizes, with each reader, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="JSON Lines or CSV file")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 10, 100])
    given = parser.parse_args()
    if given.data:
        print_comparison(given.data)
        return
    with tempfile.TemporaryDirectory() as folder:
        print_growth(Path(folder), tuple(given.sizes))


if __name__ == "__main__":
    main()
