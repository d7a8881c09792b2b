"""Two pools of a practice crowd, the second a superset, and the recipes of two rounds."""

from pathlib import Path

import pytest

from winosmith import formats, practice, validate
from winosmith.lineage import make_child
from winosmith.response import Response

SOLVERS = """
[[solvers]]
name = "words"
solver = "association"
learn = true
[[solvers]]
name = "chance"
solver = "random"
[[solvers]]
name = "hunting"
solver = "hunting"
collection = "texts"
"""


def _children(problems):
    """Return perturbed problems: a word is added, and the options and the answer are swapped."""
    return [
        make_child(
            problem,
            f"{problem.sentence} Really.",
            problem.options[::-1],
            1 - problem.answer,
            source="person",
        )
        for problem in problems
    ]


@pytest.fixture(scope="session")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with pool-1, pool-2, their votes, round-1.toml and round-2.toml."""
    folder = tmp_path_factory.mktemp("pools")
    (folder / "texts").mkdir()
    text = "The cup hit the jug. The jug broke because it was old.\n"
    (folder / "texts" / "a.txt").write_text(text, "utf-8")
    made = practice.generate_corpus(240, seed=5, strength=0.5)
    twins = [[made.dataset[row] for row in rows] for rows in made.dataset.groups]
    for number, count in ((1, 140), (2, 240)):
        problems = [problem for twin in twins[:count] for problem in twin]
        ids = {problem.id for problem in problems}
        votes = [vote for vote in made.votes if vote.problem_id in ids]
        if number == 2:
            children = _children(problems[:60])
            problems += children
            votes += [
                Response(child.id, f"p{judge}", purpose, child.answer if full else judge % 2)
                for child in children
                for purpose, full in (("local", False), ("validate", True))
                for judge in range(3)
            ]
        formats.write(problems, folder / f"pool-{number}.jsonl")
        validate.write_votes(votes, folder / f"votes-{number}.csv")
        (folder / f"round-{number}.toml").write_text(
            f'name = "made-{number}"\ndata = "pool-{number}.jsonl"\n'
            f'votes_file = "votes-{number}.csv"\nroots = 6\n'
            "[embed]\ndimensions = 32\n[split]\ndev = 0.2\ntest = 0.2\n"
            "[filter]\nagain = false\nensemble_size = 16\n[measure]\nsplits = 1\n" + SOLVERS,
            "utf-8",
        )
    return folder
