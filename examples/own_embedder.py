"""Filter with your own vectors, from any object with `embed(problems)` or any array.

pip install scikit-learn
python examples/own_embedder.py
"""

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from winosmith import debias, embed, practice


class PairEmbedder:
    """Counts the pairs of an option and a word in its sentence, reduced to 60 numbers."""

    def embed(self, problems):
        """Return a vector per problem, shape (n, 60): option 1's minus option 2's."""
        count = TfidfVectorizer(analyzer=str.split, sublinear_tf=True)
        first, second = ([self.pairs(p, option) for p in problems] for option in (0, 1))
        count.fit(first + second)
        contrast = count.transform(first) - count.transform(second)
        return TruncatedSVD(60, random_state=0).fit_transform(contrast)

    def pairs(self, problem, option):
        """Return "cup+broke cup+because …", one word per pair."""
        return " ".join(f"{problem.options[option]}+{word}" for word in problem.sentence.split())


made = practice.generate_corpus(400, strength=0.75, artifacts=["association"])
pool = made.dataset
X = PairEmbedder().embed(pool)

# The file contains the ids, so that rows are matched to problems in any order.
embed.save_array("pairs.npz", X.astype(np.float32), pool.ids)
X = embed.load_array("pairs.npz").embed(pool)

y = debias.get_problem_labels(pool)
train_size, cutoff = debias.suggest_sizes(len(pool))
found = debias.aflite(X, y, train_size=train_size, cutoff=cutoff, ids=pool.ids)
removed = {*pool.ids} - {pool.ids[row] for row in found.kept}
measured = practice.measure_recall(made.planted, pool.ids, removed)
print(f"pairs.npz: {X.shape[0]:,} rows of {X.shape[1]} numbers")
print(f"kept {len(found.kept):,} of {len(pool):,} problems")
fractions = f"{measured.recall.value:.1%} of the planted, lost {measured.false_removals.value:.1%}"
print(f"found {fractions} of the sound")
