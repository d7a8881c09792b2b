"""Time the pages of a family of 10,000 versions, on SQLite and on PostgreSQL.

The family is a random tree of typical depth (some 20 steps), with the answers of three models; a
tenth of its versions is not public. The whole site is timed, without a network:

- page: the tree around its root next to one model's answers, with all statistics;
- three models: the same with all models side by side;
- far version: the tree around a version far from the root;
- branch: the content that is inserted when a folded branch is opened;
- list: the families;
- rival: the simplest solution: `winosmith.metrics.measure_stability` on the whole family as a data
set.

For each, it prints the first request, the median of the others, the total, and the CPU time of the
request's thread, without background work.

    python benchmarks/bench_families.py --versions 10000 --looks 15
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from winosmith.web import Site

sys.path.append(str(Path(__file__).parents[1] / "trials"))

from crowd.postgres import find_postgres, postgres_server

WORDS = [f"word{number}" for number in range(400)]
START = "The trophy did not fit into the brown suitcase in the hall because the _ was too large ."
MODELS = ("alpha", "beta", "gamma")


def iter_versions(count, rng):
    """Yield (parent, sentence, whether it is public), with one changed word each."""
    made = [START]
    yield None, START, True
    for number in range(1, count):
        parent = rng.randrange(max(0, number - 3_000), number)
        words = made[parent].split()
        place = rng.choice([at for at, word in enumerate(words) if word != "_"])
        words[place] = rng.choice(WORDS)
        made.append(" ".join(words))
        yield parent, made[-1], rng.random() < 0.9


def make_family(count):
    """Add one family to this process's site; return the ids of its problems."""
    from winosmith.lineage import find_edits
    from winosmith.text import compute_edit_distance, tokenize
    from winosmith.web._lock import writing
    from winosmith.web.people.models import Person
    from winosmith.web.predict.models import Model, Prediction
    from winosmith.web.problems.models import Problem, Twin, Version

    rng = random.Random(0)  # noqa: S311
    rows = list(iter_versions(count, rng))
    cut = [tokenize(sentence) for _, sentence, _ in rows]
    refs = [f"v{number:06}" for number in range(count)]
    with writing():
        people = [Person.objects.create_user(f"person-{number}") for number in range(20)]
        models = [
            Model.objects.create(name=name, solver="random", revision="1", digest=name)
            for name in MODELS
        ]
        twins = Twin.objects.bulk_create(
            [Twin(ref=f"t{ref}", contributor=rng.choice(people), source="person") for ref in refs],
            batch_size=500,
        )
        problems = Problem.objects.bulk_create(
            [
                Problem(
                    ref=refs[at], twin=twins[at], sentence=sentence,
                    options=["trophy", "suitcase"], answer=rng.randrange(2),
                    state="valid" if public else "judging",
                    record=_record(refs, cut, at, parent, find_edits),
                )
                for at, (parent, sentence, public) in enumerate(rows)
            ],
            batch_size=500,
        )  # fmt: skip
        steps = []
        for parent, _, _ in rows:
            steps.append(0 if parent is None else steps[parent] + 1)
        Version.objects.bulk_create(
            [
                Version(
                    problem=problem, root=problems[0],
                    parent=None if rows[at][0] is None else problems[rows[at][0]],
                    step=steps[at], lineage=steps[at], edit=compute_edit_distance(cut[0], cut[at]),
                    digest=refs[at],
                )
                for at, problem in enumerate(problems)
            ],
            batch_size=500,
        )  # fmt: skip
        Prediction.objects.bulk_create(
            [_answer(problem, model, rng) for model in models for problem in problems],
            batch_size=500,
        )
    return refs


def _record(refs, cut, at, parent, script):
    if parent is None:
        return {"single": True}
    edits = [
        {key: value for key, value in vars_of(edit).items() if value not in ("", None)}
        for edit in script(cut[parent], cut[at])
    ]
    lineage = {"root": refs[0], "parent": refs[parent], "edits": edits}
    return {"single": True, "lineage": lineage}


def vars_of(edit):
    return {"op": edit.op, "at": edit.at, "old": edit.old, "new": edit.new}


def _answer(problem, model, rng):
    from winosmith.web.predict.models import Prediction

    right = rng.random() < 0.6
    choice = problem.answer if right else 1 - problem.answer
    scores = [float(at == choice) for at in range(2)]
    return Prediction(
        problem=problem, model=model, stand="done", choice=choice, right=right, scores=scores
    )


def measure_stability(model):
    """Return the result of `metrics.measure_stability` for the family, read from the database."""
    from winosmith import Dataset, metrics
    from winosmith.web.families.figures import get_answered_problems, load_predictions
    from winosmith.web.problems.records import as_problem

    query = get_answered_problems(model)
    refs = dict(query.order_by("place").values_list("pk", "ref"))
    data = Dataset(map(as_problem, query.select_related("twin__contributor").order_by("pk")))
    return metrics.measure_stability(
        metrics.grade(data, load_predictions(model, refs)), depth="lineage"
    )


def time_calls(act, looks):
    """Return the first time, the median of the others, and the median CPU time, in ms."""
    taken, busy = [], []
    for _ in range(looks + 1):
        start, cpu = time.perf_counter(), time.thread_time()
        act()
        taken.append(1000 * (time.perf_counter() - start))
        busy.append(1000 * (time.thread_time() - cpu))
    return taken[0], statistics.median(taken[1:]), statistics.median(busy[1:])


def measure(folder, url, versions, looks):
    Site.open(folder, database=url or None).activate()
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    refs = make_family(versions)
    from winosmith.web.predict.models import Model
    from winosmith.web.problems.models import Problem

    _update_statistics()
    root = refs[0]
    far = Problem.objects.filter(state="valid").order_by("-version__step").first().ref
    big = Problem.objects.filter(state="valid", version__step=1).order_by("id").first().ref
    client = Client(headers={"host": "localhost"})

    def page(path, **headers):
        def look():
            answer = client.get(path, **headers)
            assert answer.status_code == 200, (path, answer.status_code)

        return look

    alpha = Model.objects.get(name="alpha")
    looked = {
        "page": page(f"/families/{root}/"),
        "three models": page(f"/families/{root}/?model=all"),
        "far version": page(f"/families/{root}/?version={far}"),
        "branch": page(f"/families/{root}/below/{big}/?model=alpha", HTTP_HX_REQUEST="true"),
        "list": page("/families/"),
    }
    print(f"{'':14}{'first':>9}{'then':>9}{'CPU':>9}  ms")
    for name, act in looked.items():
        first, median, busy = time_calls(act, looks)
        print(f"{name:14}{first:9.0f}{median:9.1f}{busy:9.1f}")
    first, median, busy = time_calls(lambda: measure_stability(alpha), 1)
    print(f"{'rival':14}{first:9.0f}{median:9.1f}{busy:9.1f}")


def _update_statistics():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--looks", type=int, default=15)
    parser.add_argument("--folder", help="site's folder, for internal use")
    parser.add_argument("--url", default="", help="database's URL, for internal use")
    asked = parser.parse_args()
    if asked.folder:
        measure(Path(asked.folder), asked.url, asked.versions, asked.looks)
        return

    def run(url):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, __file__, "--folder", folder, "--url", url,
                 "--versions", str(asked.versions), "--looks", str(asked.looks)],
                check=True,
            )  # fmt: skip

    print(f"SQLite, {asked.versions:,} versions", flush=True)
    run("")
    if find_postgres() is not None:
        with postgres_server() as server:
            print(f"PostgreSQL, {asked.versions:,} versions", flush=True)
            run(server.create("bench"))


if __name__ == "__main__":
    main()
