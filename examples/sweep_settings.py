"""See what each of AFLite's settings does, on twins with known planted artifacts.

python examples/sweep_settings.py
"""

from winosmith import debias, embed, practice

made = practice.generate_corpus(150)
pool = made.dataset
X = embed.LightEmbedder().embed(pool)
y = debias.get_problem_labels(pool)

PAPER = {"threshold": 0.75, "ensemble_size": 64}
PAPER["train_size"], PAPER["cutoff"] = debias.suggest_sizes(len(pool))

print(f"{len(pool)} problems, {len(made.planted)} of them planted; the paper's settings are")
print(", ".join(f"{name} {value}" for name, value in PAPER.items()))
print(f"\n{'':20} kept   found    lost")
for name, values in {
    "threshold": (0.65, 0.75, 0.85, 0.95),
    "train_size": (20, 64, 140),
    "cutoff": (3, 12, 48),
    "ensemble_size": (8, 64),
}.items():
    for value in values:
        result = debias.aflite(X, y, ids=pool.ids, **{**PAPER, name: value})
        kept = result.kept.tolist()
        part = pool.select(kept)
        found = practice.measure_recall(made.planted, pool.ids, {*pool.ids} - {*part.ids})
        print(
            f"{name:14} {value:5} {len(kept):4} "
            f"{found.recall.value:7.1%} {found.false_removals.value:7.1%}"
        )
