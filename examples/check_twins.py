"""Check the structure of twins and the votes of judges, and see why problems are dropped.

python examples/check_twins.py
"""

from winosmith import Dataset, Problem, Response, validate

SUITCASE = "Dana could not fit the trophy into the old brown suitcase, because the _ was too "
KEYS = "Ella gave Petra the keys to the new apartment on Monday, because _ was "


def twin(twin_id, sentence, options, triggers, answers=(0, 1)):
    """Return the two halves of a twin, which differ in their last words."""
    return [
        Problem(f"{twin_id}{half}", f"{sentence}{trigger}.", options, answer, twin_id)
        for half, trigger, answer in zip("ab", triggers, answers, strict=True)
    ]


data = Dataset(
    [
        *twin("t1", SUITCASE, ("trophy", "suitcase"), ("large to go in", "small to hold it")),
        *twin("t2", KEYS, ("Ella", "Petra"), ("leaving the city", "entering the city")),
        *twin("t3", SUITCASE, ("trophy", "suitcase"), ("large to go in", "wide to go in"), (0, 0)),
    ]
)

# Three judges have seen each half of the first twin; nobody has seen the other twins yet.
votes = [
    Response(problem, judge, "validate", choice)
    for problem, judge, choice in [
        ("t1a", "ann", 0),
        ("t1a", "bob", 0),
        ("t1a", "cem", 1),
        ("t1b", "dee", 1),
        ("t1b", "eva", 0),
        ("t1b", "fay", 0),
    ]
]

checked = validate.check(data, votes)
for stage, count in [("collected", checked.funnel.collected)] + [
    (step.stage, step.kept) for step in checked.funnel.steps
]:
    print(f"{stage:10} {count.problems} problems, {count.twins} twins, {count.singles} singles")
for entry in checked.all_stages.dropped:
    print(f"{entry.problem.id}: {entry.reason}")
