"""Build a benchmark from Python: from twins to published files and a report.

python examples/build_from_python.py
"""

import json
from pathlib import Path

from winosmith import build, formats, practice, validate

# 300 practice twins, and the votes of a simulated crowd. Use your own files instead.
made = practice.generate_corpus(300, strength=0.6)
formats.write(made.dataset.problems, "twins.jsonl")
validate.write_votes(made.votes, "votes.csv")
Path("planted.json").write_text(json.dumps(made.planted))

recipe = build.parse_recipe(
    {
        "name": "small",
        "data": "twins.jsonl",
        "votes_file": "votes.csv",
        "planted": "planted.json",
        "embed": {"dimensions": 128},
        "split": {"dev": 0.1, "test": 0.2},
    }
)
built = build.build(recipe, "small")

for step in built.funnel.steps:
    print(f"{step.stage:10} kept {step.kept.problems:4} problems")
for figure in build.make_figures(built.run, built.measures):
    print(f"{figure.label}: {figure.value} ({figure.note})")
print(", ".join(f"{name} {count}" for name, count in built.counts.items()))
print(f"the report is {built.report}")
