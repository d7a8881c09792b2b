"""Families: paths, depths, marked changes and hashes of versions."""

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples
from tests.web.making import fresh
from tests.web.perturb.conftest import CHILD, GRANDCHILD, OPTIONS, ROOT, original, send, typed
from winosmith import Dataset
from winosmith.lineage import apply_edits, check_lineages, depths
from winosmith.problem import BLANK
from winosmith.text import diff_text, tokenize
from winosmith.web.people.privacy import erase
from winosmith.web.problems.family import add_to_family, get_path, hash_version
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_problem

WORDS = st.sampled_from("cup jug fell quickly not because the so old . , doesn't".split())


@st.composite
def sentences(draw: st.DrawFn) -> str:
    """Return a sentence of a few words with one blank."""
    words = draw(st.lists(WORDS, min_size=4, max_size=9))
    words.insert(draw(st.integers(0, len(words))), BLANK)
    return " ".join(words)


TREES = st.lists(st.tuples(sentences(), st.integers(0, 20)), min_size=1, max_size=8)
"""Sentences, each with the number of its parent among the sentences before it."""


@examples(25, suppress_health_check=list(HealthCheck))
@given(root=sentences(), tree=TREES)
def test_stored_depths_equal_those_of_the_whole_family(db, root, tree):
    """The site adds version by version; `winosmith.lineage` measures the family at once."""
    with transaction.atomic():
        rows = [original("root", root)]
        for at, (sentence, above) in enumerate(tree):
            parent = rows[above % len(rows)]
            rows.append(original(f"v{at}", sentence))
            record = {"lineage": {"root": "root", "parent": parent.ref}}
            Problem.objects.filter(pk=rows[-1].pk).update(record=record)
            rows[-1].record = record
            add_to_family(rows[-1], parent)
        family = list(Problem.objects.filter(version__root=rows[0]).order_by("pk"))
        assert [row.ref for row in family] == [row.ref for row in rows]
        stored = [(r.version.declared, r.version.lineage, r.version.edit) for r in family]
        assert stored == [tuple(found) for found in depths(Dataset(map(as_problem, family)))]
        assert stored[0] == (0, 0, 0)
        transaction.set_rollback(True)


def test_stored_edits_turn_the_parent_into_the_child(db, ann, root):
    child = send(ann, root, typed(declared="3"))
    grandchild = send(ann, child, typed(GRANDCHILD))
    rows = get_path(grandchild)
    assert rows == [root, child, grandchild]
    dataset = Dataset(map(as_problem, rows))
    assert check_lineages(dataset) == {}
    for above, below in ((root, child), (child, grandchild)):
        lineage = dataset[dataset.row(below.ref)].lineage
        assert (lineage.root, lineage.parent) == ("root", above.ref)
        assert list(apply_edits(tokenize(above.sentence), lineage.edits)) == tokenize(
            below.sentence
        )
    found = depths(dataset)
    assert [tuple(of) for of in found] == [(0, 0, 0), (3, 1, 1), (None, 2, 2)]
    assert grandchild.version.step == 2


def test_path_takes_two_queries_in_a_large_family(db, ann, root):
    for at in range(100):
        add_to_family(original(f"side-{at}", f"{ROOT[:-1]} {at}."), root)
    child = send(ann, root)
    grandchild = send(ann, child, typed(GRANDCHILD))
    with CaptureQueriesContext(connection) as asked:
        path = get_path(grandchild)
    assert len(asked) <= 2
    assert [row.ref for row in path] == ["root", child.ref, grandchild.ref]
    alone = original("alone")
    with CaptureQueriesContext(connection) as asked:
        assert get_path(alone) == [alone]
    assert len(asked) <= 1


def test_lineage_depth_is_unknown_below_an_erased_version(db, ann, bob, root):
    """The lineage depth needs every step; the edit depth needs only the root."""
    child = send(bob, root)
    Problem.objects.filter(pk=child.pk).update(state="valid")
    grandchild = send(ann, fresh(child), typed(GRANDCHILD))
    erase(bob, texts=True)
    last = send(ann, grandchild, typed(GRANDCHILD.replace("was", "seemed"), declared="3"))
    found = last.version
    assert (found.declared, found.lineage, found.edit) == (3, None, 3)


@given(before=sentences(), after=sentences())
def test_diff_contains_both_sentences(before, after):
    """Without deletions it is the new sentence, without insertions the old one, spaces aside."""
    found = diff_text(before, after)

    def joined(*without: str) -> str:
        return "".join(piece.text for piece in found if piece.kind not in without)

    assert "".join(joined("del").split()) == "".join(after.split())
    assert "".join(joined("ins").split()) == "".join(before.split())
    if before == after:
        assert [piece.kind for piece in found] == [""]


def test_version_hash_ignores_the_order_of_options():
    assert hash_version(CHILD, OPTIONS) == hash_version(CHILD, OPTIONS[::-1])
    assert hash_version(CHILD, OPTIONS) != hash_version(CHILD, ("the cup", "the suitcase"))
    assert hash_version(CHILD, OPTIONS) != hash_version(ROOT, OPTIONS)
