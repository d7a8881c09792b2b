"""What the published sets hold, known by digests alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from winosmith import Dataset, formats, study
from winosmith.errors import InputError
from winosmith.evolve import draw_roots
from winosmith.lineage import perturbed
from winosmith.metrics import overlap


@pytest.mark.data
@pytest.mark.parametrize("name", study.FILES)
def test_the_digests_that_ship_are_those_of_the_files(name: str, data_dir: Path) -> None:
    """Reading the published files again gives the digests that winosmith knows the set by."""
    assert study.contents(name, data_dir) == study.known_contents(name)


def test_a_set_that_nobody_knows_is_refused() -> None:
    """The error lists the sets whose contents are known, and how to name another corpus."""
    with pytest.raises(InputError, match=r"'xyzzy'.*winogrande, wsc, .*other:xyzzy"):
        study.known_contents("xyzzy")


@pytest.mark.data
@pytest.mark.parametrize("with_roots", [True, False])
def test_evolved_problems_are_known_as_those_of_their_roots_set(
    data_dir: Path, with_roots: bool
) -> None:
    """What was perturbed from WinoGrande's dev set was seen by who trained on WinoGrande."""
    dev = formats.read(data_dir / "winogrande" / "dev.jsonl")
    roots = draw_roots([dev], [5]).dataset
    assert {root.origin.source for root in roots if root.origin} == {"dev"}
    children = [
        perturbed(root, f"Well, {root.sentence}", root.options, root.answer, source="person")
        for root in roots
    ]
    test = Dataset([*roots, *children] if with_roots else children)
    seen = overlap(test, public=[study.known_contents("winogrande")])
    assert len(seen.rows) == len(test)
    other = overlap(test, public=[study.known_contents("winogender")])
    assert other.withheld is not with_roots  # without its root nothing of it can be compared


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "name", "seen"),
    [
        ("winogrande/dev.jsonl", "winogrande", 1267),
        ("wsc/WSCollection.xml", "wsc", 285),
        ("wsc/WSCollection.xml", "winogrande", 0),
        ("dpr/test.c.txt", "winogrande", 0),
        ("wsc/WSCollection.xml", "dpr", 4),
        ("winogender/all_sentences.tsv", "winogrande", 0),
    ],
)
def test_sets_that_share_problems_are_told(file: str, name: str, seen: int, data_dir: Path) -> None:
    """A published set has seen its own problems; DPR's hold four of the Winograd schemas."""
    found = overlap(formats.read(data_dir / file), public=[study.known_contents(name)])
    assert len(found.rows) == seen
