"""Published sets are known by digests of what they hold, in any file that holds it."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from winosmith import Claim, Dataset, Problem, formats, practice, published
from winosmith.errors import InputError
from winosmith.evolve import draw_roots
from winosmith.lineage import make_child
from winosmith.metrics import find_overlap
from winosmith.published import compute_item_digests, get_published_digests

TROPHY = "The trophy doesn't fit into the brown suitcase because {} too large."

MADE: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[1] / "docs/make_published.py"))
"""The script that writes the digests."""


@pytest.mark.parametrize("written", ["_ is", "the _ is", "THE _ IS", "_  is"])
def test_a_sentence_is_known_however_it_is_written(written: str) -> None:
    """Case, spaces, punctuation and the article of the option tell nothing."""
    assert published.find_source_name(TROPHY.format(written)) == "WSC"
    assert published.find_source_name(TROPHY.format(written).replace("brown", "black")) is None


def test_a_schema_is_known_by_its_pronoun() -> None:
    """A problem whose blank has a pronoun is found in a set that has the pronoun in the text."""
    one = Problem("a", "The cup fell on the jug and _ broke.", ("cup", "jug"), 0, pronoun="it")
    shown = replace(one, sentence="The cup fell on the jug and it broke. _", pronoun=None)
    assert not compute_item_digests(one)[0].isdisjoint(compute_item_digests(shown)[0])
    claim = Claim("b", one.sentence, "cup", pronoun="it")
    assert compute_item_digests(claim) == (compute_item_digests(one)[0], frozenset())
    assert len(compute_item_digests(one)[0]) == 2


def test_a_side_of_the_blank_is_known_with_an_article_or_without() -> None:
    """An article stands before the blank or in the options: two encodings of one problem."""
    one = Problem("a", "As the cup fell on the jug, the _ broke.", ("cup", "jug"))
    other = Problem("b", "As the cup fell on the jug, _ was whole.", ("The jug", "The cup"))
    assert compute_item_digests(one)[1] & compute_item_digests(other)[1]
    assert (
        not compute_item_digests(one)[1]
        & compute_item_digests(replace(other, options=("The jug", "The mug")))[1]
    )


def test_a_set_is_known_when_nearly_all_of_it_is() -> None:
    """Nine problems of ten make a data set WSC, eight do not; the practice twins are of no set."""
    wsc = [Problem(f"{n}", TROPHY.format("_ is"), ("trophy", f"case {n}")) for n in range(9)]
    other = Problem("x", "The _ fell.", ("cup", "jug"))
    assert published.recognise_dataset(Dataset([*wsc, other])) == "WSC"
    assert published.recognise_dataset(Dataset([*wsc[:8], other, replace(other, id="y")])) is None
    assert published.recognise_dataset(practice.read_handwritten()) is None
    assert published.recognise_dataset(Dataset()) is None


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("winogrande/dev.jsonl", "WinoGrande"),
        ("winogrande/test.jsonl", "WinoGrande"),
        ("winogrande/train_s.jsonl", "WinoGrande"),
        ("copa/copa-dev.xml", "COPA"),
        ("dpr/train.tsv", "DPR"),
    ],
)
def test_the_published_files_are_known(data_dir: Path, path: str, name: str) -> None:
    """A part of a set is told for it, in each encoding."""
    assert published.recognise_dataset(formats.read(data_dir / path)) == name


@pytest.mark.data
@pytest.mark.parametrize("name", MADE["SETS"])
def test_the_digests_that_ship_are_those_of_the_files(name: str, data_dir: Path) -> None:
    """Reading the published files again gives the digests that winosmith knows the set by."""
    assert MADE["contents"](name, data_dir) == get_published_digests(name)


def test_a_set_that_nobody_knows_is_refused() -> None:
    """The error lists the sets whose contents are known, and how to name another corpus."""
    with pytest.raises(InputError, match=r"'xyzzy'.* wsc, pdp, .*winogrande\..*other:xyzzy"):
        get_published_digests("xyzzy")


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
        make_child(root, f"Well, {root.sentence}", root.options, root.answer, source="person")
        for root in roots
    ]
    test = Dataset([*roots, *children] if with_roots else children)
    seen = find_overlap(test, public=[get_published_digests("winogrande")])
    assert len(seen.rows) == len(test)
    other = find_overlap(test, public=[get_published_digests("winogender")])
    assert other.withheld is not with_roots  # without its root nothing of it can be compared


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "name", "seen"),
    [
        ("winogrande/dev.jsonl", "winogrande", 1267),
        ("wsc/WSCollection.xml", "wsc", 285),
        ("wsc/wsc273.json", "wsc", 273),
        ("wsc/WSCollection.xml", "winogrande", 0),
        ("dpr/test.c.txt", "winogrande", 0),
        ("wsc/WSCollection.xml", "dpr", 4),
        ("winogender/all_sentences.tsv", "winogrande", 0),
    ],
)
def test_sets_that_share_problems_are_told(file: str, name: str, seen: int, data_dir: Path) -> None:
    """A set has seen its own problems in each encoding; DPR's hold four of the Winograd schemas."""
    found = find_overlap(formats.read(data_dir / file), public=[get_published_digests(name)])
    assert len(found.rows) == seen
