"""Published data sets are recognised by digests of their contents, in any file format."""

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
"""The names defined by the script that writes the digests."""


@pytest.mark.parametrize("written", ["_ is", "the _ is", "THE _ IS", "_  is"])
def test_sentence_is_recognised_despite_case_spaces_and_article(written):
    assert published.find_source_name(TROPHY.format(written)) == "WSC"
    assert published.find_source_name(TROPHY.format(written).replace("brown", "black")) is None


def test_pronoun_of_the_blank_matches_a_pronoun_in_the_text():
    one = Problem("a", "The cup fell on the jug and _ broke.", ("cup", "jug"), 0, pronoun="it")
    shown = replace(one, sentence="The cup fell on the jug and it broke. _", pronoun=None)
    assert not compute_item_digests(one)[0].isdisjoint(compute_item_digests(shown)[0])
    claim = Claim("b", one.sentence, "cup", pronoun="it")
    assert compute_item_digests(claim) == (compute_item_digests(one)[0], frozenset())
    assert len(compute_item_digests(one)[0]) == 2


def test_text_before_the_blank_matches_despite_articles():
    """Some encodings have the article before the blank, others have it in the options."""
    one = Problem("a", "As the cup fell on the jug, the _ broke.", ("cup", "jug"))
    other = Problem("b", "As the cup fell on the jug, _ was whole.", ("The jug", "The cup"))
    assert compute_item_digests(one)[1] & compute_item_digests(other)[1]
    assert (
        not compute_item_digests(one)[1]
        & compute_item_digests(replace(other, options=("The jug", "The mug")))[1]
    )


def test_data_set_is_recognised_by_nine_tenths_of_its_problems():
    """Eight of ten are not enough. The practice twins belong to no published data set."""
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
def test_published_files_are_recognised(data_dir, path, name):
    assert published.recognise_dataset(formats.read(data_dir / path)) == name


@pytest.mark.data
@pytest.mark.parametrize("name", MADE["SETS"])
def test_shipped_digests_match_the_published_files(name, data_dir):
    assert MADE["contents"](name, data_dir) == get_published_digests(name)


def test_unknown_data_set_is_refused():
    with pytest.raises(InputError, match=r"'xyzzy'.* wsc, pdp, .*winogrande\..*other:xyzzy"):
        get_published_digests("xyzzy")


@pytest.mark.data
@pytest.mark.parametrize("with_roots", [True, False])
def test_perturbed_problems_overlap_with_the_set_of_their_roots(data_dir, with_roots):
    """A model trained on WinoGrande has seen problems perturbed from its dev set."""
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
    assert other.withheld is not with_roots  # problems without their root can't be compared


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
def test_overlap_of_published_sets_is_found(file, name, seen, data_dir):
    """A data set overlaps with itself in each encoding; DPR has four of the Winograd schemas."""
    found = find_overlap(formats.read(data_dir / file), public=[get_published_digests(name)])
    assert len(found.rows) == seen
