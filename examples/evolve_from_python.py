"""Grow families from roots with WordNet and your own perturber, split them, and measure.

python examples/evolve_from_python.py

It needs WordNet and the extra `language`.
"""

from winosmith import Dataset, evolve, metrics, practice, solve
from winosmith.lineage import depths, make_child


class Yesterday:
    """Adds "Yesterday" to a sentence; any object with this method is a perturber."""

    def perturb(self, problem, seed):
        """Yield a problem's only child, with the same answer."""
        sentence = f"Yesterday, {problem.sentence}"
        yield make_child(problem, sentence, problem.options, problem.answer, source="own")


# Fourteen roots, at most one half of each twin, among the problems that a solver gets right.
data = practice.read_handwritten()
chosen = solve.predict(solve.Random(), data)
right = metrics.grade(data, chosen).credit
wrong = frozenset(problem.id for problem, good in zip(data, right, strict=True) if good < 1)
roots = evolve.draw_roots([data], [14], [wrong]).dataset

medium = evolve.evolve(roots, Yesterday()).dataset
large = evolve.evolve(medium, evolve.WordNetPerturber(count=3))
print(f"{len(roots)} roots, {len(medium)} problems with 'Yesterday', {len(large.dataset)} in all")

sets = evolve.assemble(roots, medium, large.dataset, evolve.split_roots(roots))
for name, part in sets.large.items():
    print(f"{name:5} {len(part):3} problems of {len(part.families):2} families")

# How far from the roots are a solver's errors? None if it makes no errors.
families = Dataset({p.id: p for part in sets.large.values() for p in part}.values())
again = metrics.grade(families, solve.predict(solve.Random(seed=1), families)).credit
edits = [depth.edit for depth in depths(families)]
depth = metrics.error_depth(edits, 1 - again)
print(f"mean error depth of guesses: {depth:.2f} edits")

child = next(problem for problem in large.children if problem.lineage)
print(*(f"{edit.op} {edit.old!r} by {edit.new!r}" for edit in child.lineage.edits))
