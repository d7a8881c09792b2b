"""Measure the planted and the sound problems that each filter removes.

A simulated crowd votes on practice corpora with increasing numbers of planted twins. AFLite filters
the light embedder's vectors; PMI filtering and random reduction then remove the same number of
problems. Prints a table, and with --svg writes the charts of the docs.

    python benchmarks/bench_strength.py --seeds 5 --svg docs/images
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from curves import draw_curves

from winosmith import build, embed, practice, validate

STRENGTHS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


def measure_filters(strength, seed, twins):
    """Map each filter to its result on one corpus."""
    corpus = practice.generate_corpus(twins, seed=seed, strength=strength)
    pool = validate.check(corpus.dataset, corpus.votes).all_stages.kept
    X = embed.LightEmbedder().embed(pool)
    run = build.run_filter(pool, X, build.FilterRecipe(), seed=seed)
    ids = pool.ids
    subsets = {name: rows for name, rows in run.subsets.items() if name != "all"}
    return {
        name: practice.measure_recall(corpus.planted, ids, {*ids} - {ids[row] for row in rows})
        for name, rows in subsets.items()
    }


def summarize_fractions(found, share):
    """Return mean, minimum and maximum of a fraction over the seeds; None if undefined."""
    values = [getattr(f, share).value for f in found if getattr(f, share).value is not None]
    return (np.mean(values), min(values), max(values)) if values else None


def format_percentage(share, digits=1):
    """Format a fraction as on the page."""
    return f"{100 * share:.{digits}f} %"


def format_summary(found):
    """Format mean, minimum and maximum as on the page."""
    if found is None:
        return "—"
    mean, least, most = found
    return f"{format_percentage(mean)} ({100 * least:.1f}–{100 * most:.1f})"


def main():
    """Measure the filters, print the table and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--twins", type=int, default=3_000)
    parser.add_argument("--svg", type=Path, help="folder of the figures")
    asked = parser.parse_args()
    results = {
        strength: [measure_filters(strength, seed, asked.twins) for seed in range(asked.seeds)]
        for strength in STRENGTHS
    }
    print(f"{asked.twins} twins, {asked.seeds} seeds: mean (least to greatest)\n")
    print("| planted twins | filter | planted removed | sound removed |")
    print("|---|---|---|---|")
    for strength, runs in results.items():
        rows = {
            name: " | ".join(
                format_summary(summarize_fractions([run[name] for run in runs], share))
                for share in ("recall", "false_removals")
            )
            for name in sorted(runs[0], key=("AFLite", "PMI", "random").index)
        }
        if len(set(rows.values())) == 1:
            rows = {", ".join(rows): next(iter(rows.values()))}
        for number, (names, cells) in enumerate(rows.items()):
            print(
                f"| {'' if number else f'{format_percentage(strength, 0)} '}| {names} | {cells} |"
            )
    kinds = list(results[STRENGTHS[-1]][0]["AFLite"].by_kind)
    print("\nFound by AFLite, by kind:\n")
    print("| planted twins | " + " | ".join(kinds) + " |")
    print("|---" * (len(kinds) + 1) + "|")
    for strength, runs in results.items():
        if strength:
            means = [np.mean([r["AFLite"].by_kind[kind].value for r in runs]) for kind in kinds]
            print(
                f"| {format_percentage(strength, 0)} | "
                + " | ".join(map(format_percentage, means))
                + " |"
            )
    if asked.svg:
        draw_figures(results, asked.svg)


def draw_figures(results, folder):
    """Write one figure for recall and one for false removals."""
    for share, title, name in (
        ("recall", "Planted problems that were removed", "strength-recall.svg"),
        ("false_removals", "Sound problems that were removed", "strength-false.svg"),
    ):
        lines = {}
        for filter_name in ("AFLite", "PMI", "random"):
            points = [
                summarize_fractions([r[filter_name] for r in runs], share)
                for runs in results.values()
            ]
            lines[filter_name] = [point or (np.nan,) * 3 for point in points]
        svg = draw_curves(
            list(results), lines, title=title, x="share of planted twins", y="removed"
        )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(svg.markup, "utf-8")


if __name__ == "__main__":
    main()
