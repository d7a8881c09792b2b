"""How long does reading and counting a large file take?

The same file is read in the same run, each way in a process of its own:

- json: `json.loads` of each line, the least that any reader of JSON lines does;
- winosmith: `formats.read`, which checks every field of every problem;
- datasets: `load_dataset("json")` of Hugging Face's library, without its cache (when installed);
- stats: `winosmith stats`, which reads, counts and searches for what gives answers away.

Without a file, 40,000 made problems are written as JSON lines.

    python benchmarks/bench_read.py --data train_xl.jsonl
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS = {
    "json": "import json; rows = [json.loads(line) for line in open(path, encoding='utf-8')]",
    "winosmith": "from winosmith import formats; rows = formats.read(path)",
    "datasets": (
        "import tempfile, datasets; datasets.disable_progress_bars(); "
        "cache = tempfile.TemporaryDirectory(); rows = datasets.load_dataset("
        "'json', data_files=path, split='train', cache_dir=cache.name)"
    ),
    "stats": "from winosmith.cli import main; main(['stats', '--json', path]); rows = ()",
}

TIMED = """
import contextlib, io, json, resource, sys, time
path, way = sys.argv[1:]
for _ in range(2):  # the first time loads the libraries
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(way)
    took = time.perf_counter() - start
print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def measured(path: Path, way: str) -> tuple[float, float]:
    """Return the seconds of one way of reading, libraries loaded, and the peak memory in MB."""
    command = [sys.executable, "-c", TIMED, str(path), way]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    took, peak = json.loads(done.stdout.splitlines()[-1])
    return took, peak


def made(folder: Path) -> Path:
    """Write 40,000 problems."""
    from winosmith import formats
    from winosmith.testing import made_twins

    path = folder / "made.jsonl"
    formats.write(made_twins(20_000).problems, path)
    return path


def main() -> None:
    """Read the file in each way and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="JSON lines")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.data or made(Path(folder))
        lines = sum(1 for _ in path.open("rb"))
        print(f"{path.name}: {lines:,} lines, {path.stat().st_size / 1e6:.1f} MB\n")
        print(f"{'way':<10} {'seconds':>8} {'lines/s':>9} {'x json':>7} {'peak MB':>8}")
        least = None
        for name, way in WAYS.items():
            if name == "datasets" and not importlib.util.find_spec("datasets"):
                continue
            took, peak = measured(path, way)
            least = least or took
            rate, ratio = lines / took, took / least
            print(f"{name:<10} {took:>8.2f} {rate:>9,.0f} {ratio:>7.1f} {peak:>8.0f}")


if __name__ == "__main__":
    main()
