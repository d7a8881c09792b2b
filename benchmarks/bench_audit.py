"""Measure the audit's false alarms on clean sets, its detection of planted cues, and its time.

- *null*: sets with random keys, of several sizes and numbers of options, and mixed. Prints how many
sets have a flagged cue (it should be one in twenty), a borderline result, and any p of at most
0.05. With --uneven, options are sorted by length and more keys are first; prints how many sets
  have a flagged content cue. With --copies, each item occurs five times.
- *planted*: the longest option, unique in each item, is the key 5 points more often than by chance
  (or --share). Prints how often it is flagged, and how often any cue is.
- *seeds*: the same sets, each audited with two seeds: how often both flag the same cues.
- *band*: the band of a planted cue (46.9 % of 1,600 items) for each number of draws.

  The first three print 95 % Wilson intervals. --draws is the initial number of draws, --max-draws
  the maximum. The sets of a cell are split among 20 texts.
- *time*: seconds and memory until each step, for 10,000 items with 4 options (or --items), with
  --draws and --probe-draws. Seconds are processor seconds, which increase on a busy machine.
- *input*: writes these items as a JSON Lines file, for `winosmith audit --no-probes`. In both, the
  longest option is the key --share more often than by chance.
- *shared*: the table of the shared sets, with the time of each.
- *encoded*: the accuracy of an encoder's vectors (--embed: light, or a model) on the shared sets,
  next to words; in brackets the expected value, the range of 95 of 100 draws, and p; the
  encoder's seconds.
- *repair*: the effect of a repair on the shared sets, and the results that it shows.
- *wrong-keys*: sets with a planted cue, 2 % wrong keys, and eight models' answers: the fraction
  kept and the rate of wrong keys, without and with answers; then the shared sets with answers, if
  their folder is given. --sets is the number of sets for each strength of the cue.
- *proof*: sets with a planted rule are repaired together with many held-out items. Prints in how
  many sets all bounds hold on these items; 95 of 100 are expected.

*null*, *planted*, *seeds* and *proof* save their progress in --kept; the same command, or one with
more sets, continues from there. --workers is the number of processes, which changes no result.

Each option consists of 1 to 12 words drawn by Zipf's law; the shared sets need their files.

    python benchmarks/bench_audit.py null --sets 10000 --draws 199 --kept null.jsonl
    python benchmarks/bench_audit.py null --sets 10000 --draws 19 --max-draws 19 --cells 4x200
    python benchmarks/bench_audit.py seeds --sets 1000 --share 0.05
    python benchmarks/bench_audit.py band
    python benchmarks/bench_audit.py planted --sets 200 --draws 199 --kept planted.jsonl
    python benchmarks/bench_audit.py time
    python benchmarks/bench_audit.py input items.jsonl --items 1000000
    python benchmarks/bench_audit.py shared "$WINOSMITH_DATA"
    python benchmarks/bench_audit.py encoded "$WINOSMITH_DATA" --embed light --probe-draws 200
    python benchmarks/bench_audit.py repair "$WINOSMITH_DATA"
    python benchmarks/bench_audit.py wrong-keys "$WINOSMITH_DATA" --sets 10 --draws 199
    python benchmarks/bench_audit.py proof --sets 100 --draws 199 --kept proof.jsonl
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from winosmith import Dataset, Problem, audit, embed, formats, metrics
from winosmith.answers import Answers, from_choices, read as read_answers
from winosmith.audit._thinning import Thinning
from winosmith.parallel import ordered_map

SHARED = (
    "openbookqa/train",
    "openbookqa/test",
    "mmlu_redux/items",
    "arc/challenge-test",
    "piqa/dev",
    "social_iqa/dev",
)

CELLS = {
    "null": "2x200 2x2000 3x200 4x200 4x1000 10x200 0x400",
    "planted": "2x2300 3x2000 4x2000 10x2000",
    "seeds": "4x200",
    "proof": "2x600 4x600 4x1500",
}
"""Numbers of options and items; 0 options means 2 to 5, mixed."""

TEXTS = 20
"""Number of texts among which the sets of a cell are split."""

AT_ONCE = {"null": 100, "planted": 10, "seeds": 25, "proof": 5}
"""Number of sets that are saved together."""


def parse_cells(cells: str) -> list[tuple[int, int]]:
    return [(int(options), int(n)) for options, n in (cell.split("x") for cell in cells.split())]


def rate(named: int, sets: int) -> str:
    low, high = metrics.wilson_interval(named, sets)
    return f"{100 * named / sets:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def make_items(
    options: int,
    n: int,
    seed: int,
    copies: int = 1,
    by_length: bool = False,
    untied: bool = False,
) -> Dataset:
    """Make items of meaningless words; the key is always the first option.

    With `untied`, no two of an item's options have the same length, so only one is the longest.
    """
    rng = np.random.default_rng(seed)
    up_to = np.cumsum(1 / np.arange(1, 3001))

    def make_text(count: int) -> str:
        words = up_to.searchsorted(rng.random(count) * up_to[-1], side="right")
        return " ".join(f"w{word:x}" for word in words.tolist())

    problems = []
    for item in range(n):
        count = options or int(rng.integers(2, 6))
        texts: list[str] = []
        while len(texts) < count:
            text = make_text(int(rng.integers(1, 13)))
            if text not in texts and not (untied and len(text) in map(len, texts)):
                texts.append(text)
        if by_length:
            texts.sort(key=len)
        asked = make_text(8)
        problems += [
            Problem(f"{item}-{copy}", f"{asked} {item}?", tuple(texts), 0, blank=None)
            for copy in range(copies)
        ]
    return Dataset(problems)


@dataclass(frozen=True)
class Job:
    """A job that measures several sets made from one text.

    Attributes:
        what: "null", "planted", "seeds" or "proof".
        options, n: numbers of the cell's options and items.
        text: number of the text.
        sets: number of the first set, and of the one after the last.
        draws, max_draws, copies, uneven, share: as on the command line.
    """

    what: str
    options: int
    n: int
    text: int
    sets: tuple[int, int]
    draws: int
    max_draws: int
    copies: int
    uneven: bool
    share: float

    def items(self, more: int = 0) -> audit.Items:
        """Return the text's items, with `more` additional items."""
        seed = {"null": 1, "planted": 2, "seeds": 2, "proof": 4}[self.what] + 10 * self.text
        untied = self.what in ("planted", "seeds")
        return make_text(self.options, self.n + more, seed, self.copies, self.uneven, untied)

    def rngs(self) -> Iterator[tuple[int, np.random.Generator]]:
        """Yield the number of each set, and its random generator."""
        for at in range(*self.sets):
            yield at, np.random.default_rng([self.options, self.n, self.text, at])


@lru_cache(TEXTS)
def make_text(*of: int) -> audit.Items:
    return audit.Items.from_dataset(make_items(*of))


def count_findings(job: Job) -> dict[str, float]:
    """Return the counts of a job's findings by name, and the processor seconds."""
    began = time.process_time()
    found: Counter[str] = Counter()
    for counts in COUNTED[job.what](job):
        found.update(counts)
    return {**found, "seconds": time.process_time() - began}


def iter_cells(asked: argparse.Namespace, what: str) -> Iterator[tuple[int, int, Counter[str]]]:
    """Yield each cell with the counts of all its sets; saved sets are not repeated."""
    saved: dict[str, dict[str, float]] = {}
    if asked.kept and asked.kept.is_file():
        saved = dict(map(json.loads, asked.kept.read_text("utf-8").splitlines()))
    for options, n in parse_cells(asked.cells or CELLS[what]):
        jobs = {}
        for at, first in enumerate(range(0, asked.sets, AT_ONCE[what])):
            part, text = divmod(at, TEXTS)
            sets = (
                part * AT_ONCE[what],
                part * AT_ONCE[what] + min(AT_ONCE[what], asked.sets - first),
            )
            job = Job(what, options, n, text, sets, asked.draws, asked.max_draws, asked.copies,
                      asked.uneven, asked.share)  # fmt: skip
            jobs[json.dumps(asdict(job))] = job
        left = {name: job for name, job in jobs.items() if name not in saved}
        with ProcessPoolExecutor(asked.workers) as pool:
            done = ordered_map(count_findings, left.values(), pool, max_pending=2 * asked.workers)
            for name, found in zip(left, done, strict=True):
                saved[name] = found
                if asked.kept:
                    with asked.kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps([name, found]) + "\n")
        total: Counter[str] = Counter()
        for name in jobs:
            total.update(saved[name])  # type: ignore[arg-type] - seconds are not whole
        yield options, n, total


def iter_null_findings(job: Job) -> Iterator[list[str]]:
    items = job.items()
    for at, rng in job.rngs():
        keys = (rng.random(len(items.unit_starts)) * items.unit_counts).astype(int)
        if job.uneven:
            keys[rng.random(len(keys)) < 0.2] = 0
        found = audit.score_cues(
            items.with_keys(keys), draws=job.draws, max_draws=job.max_draws, seed=at
        )
        content = any(one.about == "content" for one in found.flagged)
        flagged = content if job.uneven else bool(found.flagged)
        yield (
            ["flagged"] * flagged
            + ["borderline"] * (bool(found.borderline) and not found.flagged)
            + ["significant"] * any(one.p <= 0.05 for one in found.scores)
        )


def print_null(asked: argparse.Namespace) -> None:
    print("| options | items | sets | a cue flagged | borderline | a p ≤ 0.05 | seconds |\n"
          "|---|---|---|---|---|---|---|")  # fmt: skip
    for options, n, of in iter_cells(asked, "null"):
        counted = (rate(of[what], asked.sets) for what in ("flagged", "borderline", "significant"))
        print(f"| {options or '2–5'} | {n} | {asked.sets} | {' | '.join(counted)} | "
              f"{of['seconds']:.0f} |", flush=True)  # fmt: skip


def plant_longest(
    items: audit.Items, longest: np.ndarray, share: float, rng: np.random.Generator
) -> audit.Items:
    """Return the items with random keys, except for a fraction whose key is the longest option."""
    keys = (rng.random(len(items.unit_starts)) * items.unit_counts).astype(int)
    return items.with_keys(np.where(rng.random(len(keys)) < share, longest, keys))


def find_longest_options(items: audit.Items) -> np.ndarray:
    units = [items.problems[lead].options for lead in items.unit_starts]
    return np.array([int(np.argmax(list(map(len, options)))) for options in units])


def iter_planted_findings(job: Job) -> Iterator[list[str]]:
    items = job.items()
    longest = find_longest_options(items)
    for at, rng in job.rngs():
        planted = plant_longest(items, longest, job.share / (1 - 1 / job.options), rng)
        found = audit.score_cues(planted, draws=job.draws, max_draws=job.max_draws, seed=at).flagged
        it = any(one.cue == "the longest, in characters" for one in found)
        yield ["it"] * it + ["some"] * bool(found)


def print_planted(asked: argparse.Namespace) -> None:
    print("| options | items | sets | it is flagged | a cue is flagged | seconds |\n"
          "|---|---|---|---|---|---|")  # fmt: skip
    for options, n, of in iter_cells(asked, "planted"):
        print(f"| {options} | {n} | {asked.sets} | {rate(of['it'], asked.sets)} | "
              f"{rate(of['some'], asked.sets)} | {of['seconds']:.0f} |", flush=True)  # fmt: skip


def iter_seed_findings(job: Job) -> Iterator[list[str]]:
    items = job.items()
    longest = find_longest_options(items)
    for at, rng in job.rngs():
        planted = plant_longest(items, longest, job.share / (1 - 1 / job.options), rng)
        one, two = (
            audit.score_cues(planted, draws=job.draws, max_draws=job.max_draws, seed=2 * at + seed)
            for seed in (0, 1)
        )
        same = [found.cue for found in one.flagged] == [found.cue for found in two.flagged]
        yield ["same"] * same + ["flagged"] * bool(one.flagged)


def print_seeds(asked: argparse.Namespace) -> None:
    print("| options | items | sets | flagged by a seed | the same by both | seconds |\n"
          "|---|---|---|---|---|---|")  # fmt: skip
    for options, n, of in iter_cells(asked, "seeds"):
        print(f"| {options} | {n} | {asked.sets} | {rate(of['flagged'], asked.sets)} | "
              f"{rate(of['same'], asked.sets)} | {of['seconds']:.0f} |", flush=True)  # fmt: skip


def print_band() -> None:
    """Print the accuracy of the longest option in one set, and its band by number of draws."""
    items = make_text(4, 1600, 2, 1, False, True)
    longest, rng = find_longest_options(items), np.random.default_rng(0)
    keys = (longest + rng.integers(1, 4, len(longest))) % 4
    right = rng.permutation(len(keys))[: round(0.469 * len(keys))]
    keys[right] = longest[right]
    print("| draws | right | expected ± spread | at most | p |\n|---|---|---|---|---|")
    for draws in (19, 199, 1000, 20_000):
        found = audit.score_cues(items.with_keys(keys), draws=draws, max_draws=draws).scores
        it = next(one for one in found if one.cue == "the longest, in characters")
        print(f"| {draws:,} | {100 * it.right:.1f} % | {100 * it.expected:.1f} ± "
              f"{100 * it.spread:.2f} | {100 * it.high:.1f} % | {it.p:.5f} |")  # fmt: skip


def make_planted_items(n: int, share: float) -> Dataset:
    """Return items whose longest option is the key more often than by chance, by `share`."""
    rng = np.random.default_rng(3)
    data = make_items(4, n, 3)
    longest = np.array([int(np.argmax([*map(len, problem.options)])) for problem in data])
    keys = np.where(rng.random(n) < share / (1 - 1 / 4), longest, rng.integers(0, 4, n))
    pairs = zip(data, keys.tolist(), strict=True)
    return Dataset(replace(problem, answer=key) for problem, key in pairs)


def write_input(path: Path, n: int, share: float) -> None:
    with path.open("w", encoding="utf-8") as file:
        for problem in make_planted_items(n, share):
            record = {"id": problem.id, "question": problem.sentence, "choices": problem.options}
            file.write(json.dumps({**record, "answer": "ABCD"[problem.answer or 0]}) + "\n")


def print_times(n: int, draws: int, probe_draws: int, share: float) -> None:
    """Print the processor seconds and the peak memory before each step."""
    data = make_planted_items(n, share)
    began = time.process_time()

    def tell(step: str) -> None:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{n:,} items: {time.process_time() - began:.0f} s, {most:.2f} GiB: {step}", flush=True
        )

    audit.audit(data, draws=draws, probe_draws=probe_draws, step=tell)
    tell("done")


def read_items(folder: Path, name: str) -> Dataset:
    contents = formats.scan(folder / f"{name}.jsonl")
    return Dataset((item for item in contents.items if isinstance(item, Problem)), name)


def print_repairs(folder: Path, draws: int) -> None:
    print("| set | items | kept | best cue before, after | words, unseen | bounds of 3 points | "
          "seconds |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for name in SHARED:
        data = read_items(folder, name)
        began = time.process_time()
        found = audit.repair(data, draws=draws, probe_draws=draws // 4)
        took = time.process_time() - began
        best, proof = found.cue_changes[0], found.proof
        words = next((b for b in proof.bounds if b.rule == audit.WORDS), None)
        excess = f"{100 * words.excess:+.1f} ({100 * words.low:+.1f} to {100 * words.high:+.1f})"
        print(
            f"| {name} | {len(data):,} | {len(found.dataset):,} | {best.rule} "
            f"{100 * best.before:.1f} %, {100 * best.after:.1f} % | {excess if words else ''} | "
            f"{len(proof.bounds) - len(proof.wide_bounds)} of {len(proof.bounds)} | {took:.0f} |",
            flush=True,
        )


MARKED = (0.2, 0.4, 0.6, 0.75)
"""Fractions of items whose correct option is marked; in the others, a random option is."""


def make_miskeyed_items(share: float, seed: int) -> tuple[Dataset, dict[str, Answers], set[str]]:
    """Make 600 items with 12 wrong keys, the answers of eight models, and the ids of wrong keys."""
    rng = np.random.default_rng([seed, int(100 * share)])
    n, models = 600, 8
    truth, off = rng.integers(4, size=n), rng.integers(1, 4, size=(models + 1, n))
    marked = np.where(rng.random(n) < share, truth, rng.integers(4, size=n))
    wrong = rng.permutation(n) < 12
    keys = np.where(wrong, (truth + off[0]) % 4, truth)
    problems = []
    for at in range(n):
        texts = [f"w{word} {at}" for word in rng.permutation(900)[:4] + 100]
        texts[marked[at]] += " and so on"
        problems.append(
            Problem(f"q{at}", f"Which is {at}?", tuple(texts), int(keys[at]), blank=None)
        )
    data = Dataset(problems)
    sees = rng.random((models, n)) < rng.uniform(0.6, 0.9, models)[:, None]
    chosen = np.where(sees, truth, (truth + off[1:]) % 4)
    answers = {
        f"m{at}": dict(zip(data.ids, map(int, own), strict=True)) for at, own in enumerate(chosen)
    }
    return data, from_choices(answers), {data.ids[at] for at in np.flatnonzero(wrong)}


def compute_wrong_key_rate(data: Dataset, wrong: set[str]) -> float:
    return sum(name in wrong for name in data.ids) / len(data)


def print_wrong_key_table(folder: Path | None, sets: int, draws: int) -> None:
    print("| set | before | kept | after | factor | set aside | with a wrong key | after, with "
          "answers |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for share in MARKED:
        rows = [
            measure_wrong_keys(*make_miskeyed_items(share, seed), draws) for seed in range(sets)
        ]
        print_wrong_keys(f"{share:.0%} marked", np.mean(rows, axis=0))
    for name, field, is_wrong in (
        ("mmlu_redux", "error_type", "wrong_groundtruth"),
        ("mmlu_pro_answers", "corrected", None),
    ):
        if folder is None:
            continue
        data = read_items(folder / name, "items")
        records = (folder / name / "items.jsonl").read_text("utf-8").split("\n")[:-1]
        marks = {record["id"]: record[field] for record in map(json.loads, records)}
        wrong = {at for at, mark in marks.items() if (mark == is_wrong if is_wrong else mark)}
        answers = read_answers(folder / name / "answers.csv", data)
        print_wrong_keys(name, np.array(measure_wrong_keys(data, answers, wrong, draws)))


def measure_wrong_keys(
    data: Dataset, answers: dict[str, Answers], wrong: set[str], draws: int
) -> tuple[float, ...]:
    found = audit.repair(data, draws=draws, probe_draws=draws // 4, least_kept=0)
    with_them = audit.repair(
        data, answers=answers, draws=draws, probe_draws=draws // 4, least_kept=0
    )
    aside = with_them.doubts.set_aside if with_them.doubts else ()
    return (
        compute_wrong_key_rate(data, wrong),
        len(found.dataset) / len(data),
        compute_wrong_key_rate(found.dataset, wrong),
        found.concentration.factor if found.concentration else 1.0,
        len(aside),
        sum(one.id in wrong for one in aside),
        compute_wrong_key_rate(with_them.dataset, wrong),
    )


def print_wrong_keys(name: str, of: np.ndarray) -> None:
    before, kept, after, factor, aside, rightly, with_them = of.tolist()
    print(
        f"| {name} | {100 * before:.2f} % | {100 * kept:.0f} % | {100 * after:.2f} % | "
        f"{factor:.2f} | {aside:.1f} | {rightly:.1f} | {100 * with_them:.2f} % |",
        flush=True,
    )


def iter_proof_findings(job: Job) -> Iterator[list[str]]:
    items = job.items(UNSEEN)
    longest = find_longest_options(items)
    for at, rng in job.rngs():
        seen = np.isin(items.unit, rng.permutation(len(items.unit_starts))[: job.n])
        held = check_bounds(
            plant_longest(items, longest, PLANTED_SHARE, rng), seen, longest, job.draws, at
        )
        off = [f"missed {rule}" for rule, is_in in held.items() if not is_in]
        yield ["every"] * (not off) + ["bound"] * len(held) + off


def print_proofs(asked: argparse.Namespace) -> None:
    """Print the number of sets in which all bounds hold, and the rules that fail otherwise."""
    print("| options | items | sets | all bounds hold | each bound holds | seconds |\n"
          "|---|---|---|---|---|---|")  # fmt: skip
    missed: Counter[str] = Counter()
    for options, n, of in iter_cells(asked, "proof"):
        own = Counter({name: times for name, times in of.items() if name.startswith("missed")})
        print(f"| {options} | {n} | {asked.sets} | {rate(of['every'], asked.sets)} | "
              f"{100 - 100 * own.total() / of['bound']:.2f} % | {of['seconds']:.0f} |",
              flush=True)  # fmt: skip
        missed += own
    for rule, times in missed.most_common(12):
        print(f"{rule}: {times}")


UNSEEN = 2000
PLANTED_SHARE = 0.2


def check_bounds(
    items: audit.Items, seen: np.ndarray, longest: np.ndarray, draws: int, seed: int
) -> dict[str, bool]:
    """Map each cue to whether its bound holds on unseen items thinned by the halves' rules.

    The result is the mean over all positions of an unseen item's key, weighted by probability, so
    that the random draws of the keys add no noise.
    """
    fixed = np.zeros(len(items), np.bool_)
    settings = audit.RepairSettings(draws=draws, probe_draws=50, seed=seed)
    thinning = Thinning(items, fixed, audit.CUES, settings)
    shares = items.compute_unit_scores(items.count_ties(audit.CUES))
    new = ~seen[items.unit_starts]
    chance = np.arange(shares.shape[1]) < items.unit_counts[:, None]
    chance = chance / items.unit_counts[:, None]
    key = (1 - PLANTED_SHARE) * chance
    key[np.arange(len(key)), longest] += PLANTED_SHARE
    left = []

    def thin(learnt: np.ndarray) -> np.ndarray:
        half = np.zeros(len(items), np.bool_)
        half[np.flatnonzero(seen)[learnt]] = True
        found = thinning.learn(half)
        weight = (key * found.stays_at)[new]
        excess = shares[new] - chance[new].max(axis=1)[:, None, None]
        left.append(np.einsum("uk,ukc->c", weight, excess) / weight.sum())
        part = items.subset(seen)
        return found.stays[items.unit][seen][part.unit_starts]

    bounds = {b.rule: b for b in audit.bound_accuracies(items.subset(seen), thin, seed=seed).bounds}
    truth = dict(zip([cue.name for cue in audit.CUES], np.mean(left, axis=0), strict=True))
    return {
        name: bounds[name].low <= is_ <= bounds[name].high
        for name, is_ in truth.items()
        if name in bounds
    }


def print_shared_sets(folder: Path) -> None:
    print("| set | n | chance | best cue | options alone | seconds |\n|---|---|---|---|---|---|")
    for name in SHARED:
        data = read_items(folder, name)
        began = time.process_time()
        part = audit.audit(data).parts[0]
        took = time.process_time() - began
        best, blind = part.best_cue, part.probes[0]
        cue = f"{best.cue} {100 * best.right:.1f} % (p {best.p:.3f})" if best else "none"
        probed = f"{100 * blind.right:.1f} % (chance limit {100 * blind.high:.1f})"
        print(
            f"| {name} | {len(part.items):,} | {100 * part.items.chance:.0f} % | {cue} | "
            f"{probed} | {took:.0f} |",
            flush=True,
        )


def print_encoder_probes(folder: Path, encoder: str, draws: int) -> None:
    """Print the accuracy of an encoder's vectors next to that of words, and the expected value."""
    embedder = embed.OptionsEmbedder() if encoder == "light" else embed.EncoderEmbedder(encoder)
    print("| set | n | words, options | vectors, options | and the question | question alone | "
          "seconds |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for name in SHARED:
        items = audit.Items.from_dataset(read_items(folder, name))
        words = audit.fit_probes(items, draws=draws)[0]
        began = time.process_time()
        found = {one.sees: one for one in audit.fit_probes(items, embedder, draws=draws)}
        took = time.process_time() - began
        rates = (
            f"{100 * one.right:.1f} % ({100 * one.expected:.1f}; "
            f"limit {100 * one.high:.1f}; p {one.p:.3f})"
            for one in (words, *(found[sees] for sees in ("options", "both", "question")))
        )
        print(f"| {name} | {len(items):,} | {' | '.join(rates)} | {took:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    every = [*COUNTED, "band", "time", "input", "shared", "encoded", "repair", "wrong-keys"]
    parser.add_argument("what", nargs="?", default="time", choices=every)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--embed", default="light", help="light, or an encoder's id or folder")
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--max-draws", type=int, default=audit.MAX_DRAWS)
    parser.add_argument("--share", type=float, default=0.05, help="planted excess over chance")
    parser.add_argument("--probe-draws", type=int, default=200)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--uneven", action="store_true")
    parser.add_argument("--cells", help="options x items, such as '10x200 0x400'")
    parser.add_argument("--kept", type=Path, help="file of finished sets")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "time":
        print_times(asked.items, asked.draws, asked.probe_draws, asked.share)
    elif asked.what == "input":
        write_input(asked.folder, asked.items, asked.share)
    elif asked.what == "band":
        print_band()
    elif asked.what == "repair":
        print_repairs(asked.folder, asked.draws)
    elif asked.what == "wrong-keys":
        print_wrong_key_table(asked.folder, asked.sets, asked.draws)
    elif asked.what == "shared":
        print_shared_sets(asked.folder)
    elif asked.what == "encoded":
        print_encoder_probes(asked.folder, asked.embed, asked.probe_draws)
    else:
        {"null": print_null, "planted": print_planted, "seeds": print_seeds, "proof": print_proofs}[
            asked.what
        ](asked)


COUNTED: dict[str, Callable[[Job], Iterator[list[str]]]] = {
    "null": iter_null_findings,
    "planted": iter_planted_findings,
    "seeds": iter_seed_findings,
    "proof": iter_proof_findings,
}

if __name__ == "__main__":
    main()
