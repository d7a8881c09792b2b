"""Made-up twins and families, for tests."""

from __future__ import annotations

import random
from collections.abc import Sequence

from winosmith.dataset import Dataset
from winosmith.problem import Lineage, Problem

_WORDS = tuple(
    "amber basket candle drawer engine feather garden hammer island jacket kettle ladder marble "
    "needle orchard pencil quarry ribbon saddle tunnel umbrella velvet window yarn zipper".split()
)


def made_twins(count: int, *, singles: int = 0, seed: int = 0) -> Dataset:
    """Return `count` twins and then `singles` problems whose half is gone, all distinct.

    The sentences have 18 words and obey the rules of structure, but mean nothing. Which half
    comes first, and which option is right there, is random.

    >>> data = made_twins(3, singles=1)
    >>> len(data), len(data.twins), len(data.singles)
    (7, 3, 1)
    """
    rng = random.Random(seed)  # noqa: S311 - makes test data, not secrets
    problems: list[Problem] = []
    for number in range(count + singles):
        first, second, place, left, right = rng.sample(_WORDS, 5)
        first, second = f"{first}{number}", f"{second}{number}"  # no other twin has these options
        answer = rng.randrange(2)
        start = f"They all say that the {first} stood beside the {second} near the {place}"
        for half, word in enumerate((left, right)[: 2 if number < count else 1]):
            problems.append(
                Problem(
                    id=f"{number}-{half}",
                    sentence=f"{start} because the _ was {word}.",
                    options=(first, second),
                    answer=answer ^ half,
                    twin_id=f"t{number}",
                )
            )
    return Dataset(problems, "made")


def made_families(*depths: Sequence[int], roots: bool = True) -> Dataset:
    """Return a family for each row of depths, all of them children of its root.

    Children declare their depths, and as many words of their sentence differ from the root's.

    Args:
        depths: of the perturbed problems of each family.
        roots: False leaves the roots out.

    >>> data = made_families([1, 3], [2])
    >>> data.ids
    ('r0', 'r0-0', 'r0-1', 'r1', 'r1-0')
    >>> from winosmith.lineage import depths
    >>> depths(data)[2]
    Depths(declared=3, lineage=3, edit=3)
    """
    found = []
    for number, row in enumerate(depths):
        root, options = f"r{number}", (f"cup{number}", f"jug{number}")
        words = [f"of{number}"] * max(row, default=0)
        if roots:
            found.append(Problem(root, " ".join(["_", *words]), options, 0))
        for at, depth in enumerate(row):
            changed = [f"w{number}x{at}x{place}" for place in range(depth)]
            sentence = " ".join(["_", *changed, *words[depth:]])
            lineage = Lineage(root, root, declared=int(depth))
            found.append(Problem(f"{root}-{at}", sentence, options, at % 2, lineage=lineage))
    return Dataset(found)
