"""Filter any array with AFLite: it needs vectors and labels, and knows nothing of text.

python examples/aflite_on_arrays.py
"""

import numpy as np

from winosmith import debias

# 2,000 rows of noise. In 600 of them the first number gives the label away.
rng = np.random.default_rng(7)
X = rng.normal(size=(2_000, 20))
y = rng.integers(0, 2, size=2_000)
planted = np.arange(600)
X[planted, 0] += np.where(y[planted] == 1, 3.0, -3.0)

# The paper's settings are for 47,000 rows; these are the same shares of 2,000.
train_size, cutoff = debias.suggest_sizes(len(X))
found = debias.aflite(X, y, train_size=train_size, cutoff=cutoff, seed=0)

print(f"m = {train_size}, k = {cutoff}; stopped by the {found.stopped}")
for phase in found.phases[::5]:
    print(f"phase {phase.number:2}: {phase.size:5,} rows, ensemble right on {phase.accuracy:.1%}")

removed = np.setdiff1d(np.arange(len(X)), found.kept)
print(f"removed {len(removed)}, {np.isin(removed, planted).mean():.1%} of them planted")


def kept(rows):
    """Return what AFLite keeps of some rows when it sees no others."""
    train_size, cutoff = debias.suggest_sizes(len(rows))
    half = debias.aflite(X[rows], y[rows], train_size=train_size, cutoff=cutoff, ids=rows)
    return rows[half.kept]


# What it kept was selected by its labels; so halves are filtered apart, and one asks the other.
# Such vectors don't turn around with any options, so the model has an intercept.
alone = [(row,) for row in range(len(X))]
told = debias.verify(X, y, kept, blocks=alone, flips_sign=False)
for name, guesses in {"before": told.before, "after": told.after}.items():
    print(f"a linear model guesses {guesses['linear'].accuracy:.1%} {name}")
