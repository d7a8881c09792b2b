"""Filter any array with AFLite, which needs only vectors and labels, not text.

python examples/aflite_on_arrays.py
"""

import numpy as np

from winosmith import debias

# 2,000 rows of noise. In 600 of them, the first number reveals the label.
rng = np.random.default_rng(7)
X = rng.normal(size=(2_000, 20))
y = rng.integers(0, 2, size=2_000)
planted = np.arange(600)
X[planted, 0] += np.where(y[planted] == 1, 3.0, -3.0)

# The paper's settings are for 47,000 rows; these are the same fractions of 2,000.
train_size, cutoff = debias.suggest_sizes(len(X))
found = debias.aflite(X, y, train_size=train_size, cutoff=cutoff, seed=0)

print(f"m = {train_size}, k = {cutoff}; stopped by the {found.stop_reason}")
for phase in found.phases[::5]:
    print(f"phase {phase.number:2}: {phase.size:5,} rows, ensemble right on {phase.accuracy:.1%}")

removed = np.setdiff1d(np.arange(len(X)), found.kept)
print(f"removed {len(removed)}, {np.isin(removed, planted).mean():.1%} of them planted")


def kept(rows):
    """Return the rows that AFLite keeps if it sees only these rows."""
    train_size, cutoff = debias.suggest_sizes(len(rows))
    half = debias.aflite(X[rows], y[rows], train_size=train_size, cutoff=cutoff, ids=rows)
    return rows[half.kept]


# The kept rows were selected by their labels. Therefore, two halves are filtered separately, and
# a model trained on one is tested on the other. Swapping options doesn't change the sign of these
# vectors, so the model has an intercept.
alone = [(row,) for row in range(len(X))]
effect = debias.verify(X, y, kept, blocks=alone, flips_sign=False)
for name, guesses in {"before": effect.before, "after": effect.after}.items():
    print(f"a linear model predicts {guesses['linear'].accuracy:.1%} {name}")
