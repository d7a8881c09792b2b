"""Change one operator, number or branch of a module at a time: do its tests notice?

    python -m tests.mutants blocks.py --count 60 tests/test_blocks.py

The mutants are Cosmic Ray's (`pip install cosmic-ray`), drawn by seed. Each is written into a copy
of the package, and the tests that are named run on it until one fails, with the examples of `make
test`.
A mutant that no test kills is printed with what it changes, to be read: is it harmless, or is there
a test too few? Those of annotations and of docstrings are not drawn. Compiled code is left out by
naming other modules.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = "-m pytest -x -q -p no:cacheprovider --hypothesis-profile hurried".split()


def places(text: str) -> list[tuple[str, int]]:
    """Return every operator with each of its places in a text."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    nodes = list(ast_nodes(get_ast(text)))
    known = {name: get_operator(name) for name in operator_names()}
    return [
        (name, number)
        for name, operator in known.items()
        if not operator.arguments()
        for number in range(sum(len(list(operator().mutation_positions(n))) for n in nodes))
    ]


def mutants(text: str, seed: int) -> Iterator[tuple[str, str]]:
    """Yield operators and texts in an order that is drawn; none that means what the text means."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    drawn, meant = places(text), _meant(text)
    random.Random(seed).shuffle(drawn)  # noqa: S311 - no secret
    for name, number in drawn:
        changed = mutate_code(text, get_operator(name)(), number)
        if changed and _meant(changed) != meant:
            yield name, changed


def _meant(text: str) -> str:
    """Return what is executed of a module: no annotation and no docstring."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg | ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
    return ast.dump(tree)


def survives(module: str, text: str, tests: list[str], seconds: float) -> bool:
    """Tell whether the tests pass on a copy of the package with another text of a module."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "winosmith"
        shutil.copytree(ROOT / "src/winosmith", copy)
        (copy / module).write_text(text, "utf-8")
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, *PYTEST, *tests],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:  # it never ends, which nobody overlooks
            return False
        return done.returncode == 0


def main() -> int:
    """Draw, try, print the survivors and the share that is killed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("module", help="below src/winosmith")
    asked.add_argument("tests", nargs="+")
    asked.add_argument("--count", type=int, default=300)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--seconds", type=float, default=600, help="for the tests of one mutant")
    given = asked.parse_args()
    text = (ROOT / "src/winosmith" / given.module).read_text("utf-8")
    if not survives(given.module, text, given.tests, given.seconds):
        sys.exit("the tests fail, or take too long, without a mutant")
    left = number = 0
    drawn = islice(mutants(text, given.seed), given.count)
    for number, (name, changed) in enumerate(drawn, 1):
        alive = survives(given.module, changed, given.tests, given.seconds)
        left += alive
        print(f"{number}: {name}: {'SURVIVES' if alive else 'killed'}", flush=True)
        if alive:
            lines = (text.splitlines(), changed.splitlines())
            print(*list(difflib.unified_diff(*lines, n=0, lineterm=""))[2:], sep="\n", flush=True)
    print(f"{number - left} of {number} killed, drawn from {len(places(text))} of {given.module}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
