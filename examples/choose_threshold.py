"""Choose AFLite's threshold by comparing the number of guessed problems with chance.

For each threshold, the script prints how many problems an ensemble guesses, and how many it guesses
if the answers of whole twins are flipped at random, so that there are no artifacts.

    python examples/choose_threshold.py [FILE]
"""

import sys

from winosmith import debias, embed, formats, practice
from winosmith.blocks import find_blocks

pool = formats.read(sys.argv[1]) if sys.argv[1:] else practice.generate_corpus(300).dataset
X = embed.LightEmbedder().embed(pool)
y = debias.get_problem_labels(pool)
train_size, _ = debias.suggest_sizes(len(pool))

print(f"{len(pool):,} problems, training sets of {train_size:,}\n")
print("threshold   guessed   by chance   chance limit")
for threshold in (0.6, 0.7, 0.75, 0.8, 0.9):
    null = debias.compute_threshold_null(
        X,
        y,
        find_blocks(pool),
        train_size=train_size,
        threshold=threshold,
        ids=pool.ids,
    )
    print(f"{threshold:9}   {null.value:7,.0f}   {null.mean:9,.0f}   {null.high:12,.0f}")
