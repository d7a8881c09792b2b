"""Time the live checks of the writing form on a site with a million sentences.

The sentences combine beginnings and ends of real sentences ("… because the _ was …"), so that many
share word sequences, like people's sentences. They come from WinoGrande's training set if
WINOSMITH_DATA is set, otherwise from the practice corpus. The queries are its twins with one to
three words changed. Timed, on SQLite and on PostgreSQL:

- lookalikes: the near-duplicates of one half;
- hints: all hints for both halves, including near-duplicates;
- live: hints and the structure rules, which a page requests at each pause in typing.

It also prints the fraction of changed sentences whose original is found, and the size of the index
in bytes.

    python benchmarks/bench_live_checks.py --sentences 1000000 --questions 400
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from winosmith import Dataset, Origin, Problem, formats, practice, validate
from winosmith.web import Site

sys.path.append(str(Path(__file__).parents[1] / "trials"))

from crowd.postgres import find_postgres, postgres_server


def read_originals():
    folder = os.environ.get("WINOSMITH_DATA")
    if folder:
        return formats.read(Path(folder) / "winogrande/train_xl.jsonl")
    return practice.generate_corpus(10_000).dataset


def mix_problems(data, count):
    """Yield the originals, then recombined beginnings and ends, up to `count` problems."""
    rng = random.Random(0)  # noqa: S311
    yield from data[:count]
    cut = [(*problem.sentence.split(" _ ", 1), problem) for problem in data]
    cut = [(parts[0].split(), parts[1].split(), parts[2]) for parts in cut if len(parts) == 3]
    for number in range(count - len(data)):
        (first, _, problem), (_, last, _), (middle, _, _) = rng.choices(cut, k=3)
        keep = max(4, len(first) * 2 // 3)
        words = [*first[:keep], *middle[-4:], "_", *last]
        yield Problem(f"mixed-{number}", " ".join(words), problem.options)


def change_words(problem, words, rng):
    """Return the problem's sentence with one to three words replaced."""
    sentence = problem.sentence.split()
    places = [at for at, word in enumerate(sentence) if "_" not in word]
    for at in rng.sample(places, rng.choice((1, 2, 3))):
        sentence[at] = rng.choice(words)
    return " ".join(sentence)


def make_questions(data, count):
    """Return pairs of halves as typed, with the twin that each pair comes from."""
    from winosmith.web.problems.lookalikes import Half

    rng = random.Random(1)  # noqa: S311
    words = [word for p in data for word in p.sentence.split() if word.isalpha()]
    for first, second in rng.sample(data.twins, count):
        halves = (data[first], data[second])
        yield (
            tuple(Half(change_words(h, words, rng), h.options, h.answer) for h in halves),
            {half.id for half in halves},
        )


def check_structure(halves):
    origin = Origin(anchor=halves[0].sentence.split()[0])
    named = [
        Problem(f"h{number}", half.sentence, half.options, half.answer, "t", origin=origin)
        for number, half in enumerate(halves)
    ]
    validate.examine_structure(Dataset(named))


def time_checks(act, asked):
    spent = []
    for halves in asked:
        start = time.perf_counter()
        act(halves)
        spent.append(1e3 * (time.perf_counter() - start))
    spent.sort()
    return statistics.median(spent), spent[int(0.95 * len(spent))], spent[-1]


def fill_site(args):
    from django.core.management import call_command

    from winosmith.web.problems.lookalikes import index_published_dataset

    call_command("migrate", verbosity=0)
    data, start = read_originals(), time.perf_counter()
    done = 0
    sentences = mix_problems(data, args.sentences)
    while chunk := [p for _, p in zip(range(50_000), sentences, strict=False)]:
        done += index_published_dataset(Dataset(chunk), "published")
    print(f"  {done:,} sentences remembered in {time.perf_counter() - start:.0f} s")


def count_bytes():
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return cursor.fetchone()[0]


def measure(args):
    from winosmith.web.problems.checks import find_contributor_hints
    from winosmith.web.problems.lookalikes import find_lookalikes

    data = read_originals()
    asked = list(make_questions(data, args.questions))
    found = sum(
        bool({near.ref for near in find_lookalikes([half])} & ids)
        for halves, ids in asked
        for half in halves
    )
    print(
        f"  {found} of {2 * len(asked)} changed sentences lead back to theirs; "
        f"{count_bytes():,} bytes"
    )

    def live(halves):
        check_structure(halves)
        find_contributor_hints(halves)

    ways = {
        "lookalikes": lambda halves: find_lookalikes(halves[:1]),
        "hints": find_contributor_hints,
        "live": live,
    }
    print(f"  {'ms':12}{'median':>8}{'p95':>8}{'most':>8}")
    for name, act in ways.items():
        figures = time_checks(act, [halves for halves, _ in asked])
        print(f"  {name:12}" + "".join(f"{figure:8.1f}" for figure in figures), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--on", choices=("sqlite", "postgresql"))
    args = parser.parse_args()
    for name in ("sqlite", "postgresql") if args.on is None else (args.on,):
        if name == "postgresql" and find_postgres() is None:
            print("PostgreSQL is not installed")
            continue
        if args.on is None:  # a process serves one site
            again = [sys.executable, __file__, "--on", name]
            again += [f"--sentences={args.sentences}", f"--questions={args.questions}"]
            subprocess.run(again, check=True)
            continue
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            if name == "sqlite":
                run(Site.open(folder), args)
            else:
                with postgres_server() as server:
                    run(Site.open(folder, database=server.create("bench")), args)


def run(site, args):
    site.activate()
    fill_site(args)
    measure(args)
    from django.db import connections

    connections.close_all()


if __name__ == "__main__":
    main()
