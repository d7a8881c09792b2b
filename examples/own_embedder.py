"""Filter with vectors of your own: any object with `embed(problems)`, or any array.

pip install scikit-learn
python examples/own_embedder.py
"""

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from winosmith import debias, embed, practice


class PairEmbedder:
    """Which words stand with which option: each pair counts, reduced to 60 numbers."""

    def embed(self, problems):
        """Return one vector a problem, (n, 60): that of option 1 less that of option 2."""
        count = TfidfVectorizer(analyzer=str.split, sublinear_tf=True)
        first, second = ([self.pairs(p, option) for p in problems] for option in (0, 1))
        count.fit(first + second)
        contrast = count.transform(first) - count.transform(second)
        return TruncatedSVD(60, random_state=0).fit_transform(contrast)

    def pairs(self, problem, option):
        """Return "cup+broke cup+because …", a word for each pair."""
        return " ".join(f"{problem.options[option]}+{word}" for word in problem.sentence.split())


made = practice.generate_corpus(400, strength=0.75, artifacts=["association"])
pool = made.dataset
X = PairEmbedder().embed(pool)

# The ids go into the file, so that the rows find their problems whatever the order.
embed.save_array("pairs.npz", X.astype(np.float32), pool.ids)
X = embed.load_array("pairs.npz").embed(pool)

y = debias.get_problem_labels(pool)
train_size, cutoff = debias.suggest_sizes(len(pool))
found = debias.aflite(X, y, train_size=train_size, cutoff=cutoff, ids=pool.ids)
removed = {*pool.ids} - {pool.ids[row] for row in found.kept}
told = practice.measure_recall(made.planted, pool.ids, removed)
print(f"pairs.npz: {X.shape[0]:,} rows of {X.shape[1]} numbers")
print(f"kept {len(found.kept):,} of {len(pool):,} problems")
shares = f"{told.recall.value:.1%} of the planted, lost {told.false_removals.value:.1%}"
print(f"found {shares} of the sound")
