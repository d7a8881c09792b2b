"""Time a release of 50,000 problems and its verification, next to the libraries.

    python benchmarks/bench_release.py [--problems 50000]

Each number is the processor time of a separate process on one core, with its peak memory. The
rivals do part of the work: `datasets` writes the same splits as Parquet and JSON Lines, and
mlcroissant validates the metadata and reads every record once, which checking the counts requires.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPLITS = {"train": 0.76, "dev": 0.1, "test": 0.14}


def write_problems(folder: Path, problems: int) -> None:
    """Write the problems: twins of invented words, so that no two are similar."""
    import numpy as np

    from winosmith import Origin, Problem, formats

    rng = np.random.default_rng(0)
    letters = np.array(list("bdfgklmnprstvz"))
    vowels = np.array(list("aeiou"))

    def word() -> str:
        pairs = zip(rng.choice(letters, 3), rng.choice(vowels, 3), strict=True)
        return "".join(a + b for a, b in pairs)

    halves = []
    for number in range(problems // 2):
        cup, jug, verb, *rest = (word() for _ in range(10))
        origin = Origin("crowd", f"p{number % 700}", "2026-11-21", "physical", cup, "CC-BY-4.0")
        for half, says in enumerate(("larger", "smaller")):
            sentence = (
                f"The {cup} did not {verb} the {jug} near the {rest[0]} and the {rest[1]} when "
                f"{' '.join(rest[2:])} came, because the _ was {says}."
            )
            name = f"{number:06d}{'ab'[half]}"
            halves.append(
                Problem(name, sentence, (cup, jug), half, f"t{number:06d}", origin=origin)
            )
    formats.write(halves, folder / "twins.jsonl")


def release_problems(folder: Path) -> None:
    """Release the file, with each twin in one split."""
    from winosmith.release import Splitting, parse_about, release

    about = parse_about(
        {
            "name": "bench",
            "version": "1.0.0",
            "date": "2026-11-21",
            "title": "Bench",
            "description": "Made-up twins.",
            "licence": "CC-BY-4.0",
            "language": ["en"],
            "authors": ["we"],
            "source": [{"name": "crowd", "licence": "CC-BY-4.0"}],
        }
    )
    apart = Splitting(("twin",))
    release(folder / "twins.jsonl", about, folder / "out", splitting=apart, new_ids=True)


def verify_release(folder: Path) -> None:
    """Verify the release."""
    from winosmith.release import verify

    faults = verify(_find_release(folder)).faults
    assert not faults, faults[:3]


def _find_release(folder: Path) -> Path:
    return next(p for p in (folder / "out").iterdir() if p.name != "private")


def write_by_datasets(folder: Path) -> None:
    """Let `datasets` write the same splits as Parquet and JSON Lines."""
    import datasets

    datasets.disable_progress_bars()
    data = _find_release(folder) / "data"
    records = {
        part: [json.loads(line) for line in (data / f"{part}.jsonl").read_text().splitlines()]
        for part in SPLITS
    }
    for part, rows in records.items():
        whole = datasets.Dataset.from_list(rows)
        whole.to_parquet(str(folder / f"{part}.parquet"))
        whole.to_json(str(folder / f"{part}.json"))


def check_by_mlcroissant(folder: Path) -> None:
    """Let mlcroissant validate the metadata and read every record."""
    import mlcroissant

    data = mlcroissant.Dataset(jsonld=str(_find_release(folder) / "croissant.json"))
    for records in data.metadata.record_sets:
        assert sum(1 for _ in data.records(records.id))


JOBS = {
    "winosmith release": release_problems,
    "winosmith verify": verify_release,
    "datasets: Parquet and JSON Lines alone": write_by_datasets,
    "mlcroissant: validate, and read every record": check_by_mlcroissant,
}


def main() -> None:
    """Print the table, or do one of its jobs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=50_000)
    parser.add_argument("--job", choices=[*JOBS, "make"])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.job:
        job = JOBS.get(given.job) or (lambda folder: write_problems(folder, given.problems))
        job(given.folder)
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(f"RESULT {used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
        return
    with tempfile.TemporaryDirectory() as place:
        run_job("make", Path(place), given.problems)
        print(f"{given.problems:,} problems; processor time on one core\n")
        print(f"{'':48}{'CPU s':>8}{'wall s':>9}{'peak MB':>10}")
        for name in JOBS:
            started = time.perf_counter()
            seconds, memory = run_job(name, Path(place), given.problems)
            wall = time.perf_counter() - started
            print(f"{name:48}{seconds:8.1f}{wall:9.1f}{memory:10.0f}", flush=True)


def run_job(job: str, folder: Path, problems: int) -> tuple[float, float]:
    """Do one job in a separate process; return its processor time and peak memory."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "ARROW_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--job", job, "--folder", str(folder),
         "--problems", str(problems)],
        env={**os.environ, **one, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seconds, memory = done.stdout.split("RESULT", 1)[1].split()
    return float(seconds), float(memory)


if __name__ == "__main__":
    main()
