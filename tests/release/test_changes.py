"""Releases after a previous release: changes, withdrawn problems and splits."""

import json
from dataclasses import replace

import pytest

from tests.release.conftest import about, found, lines, sets, write_sets
from winosmith import Dataset, Lineage, formats, practice
from winosmith.errors import DataError
from winosmith.lineage import make_child
from winosmith.release import Splitting, release
from winosmith.release._content import digest_text
from winosmith.release._source import assign_ids, read_previous

STONES = "tombstones.jsonl"


def test_next_release_lists_changes_by_id(small, tmp_path):
    parts = sets()
    train, dev = list(parts["train_xl"]), list(parts["dev"])
    moved, gone = dev[:2], dev[2:4]
    turned = replace(train[30], answer=1 - (train[30].answer or 0))
    kept = [*train[:30], turned, *train[31:], *moved]
    fresh = list(practice.generate_corpus(3, seed=77).dataset)
    changed = {"train_xl": Dataset([*kept, *fresh], "train_xl"), "dev": Dataset(dev[4:], "dev")}
    source = write_sets(tmp_path / "source", parts | changed)
    make_id = {digest_text(p): p.id for p in small.content.problems}
    gone_ids = sorted(make_id[digest_text(p)] for p in gone)
    told = about(version="1.1.0", date="2026-12-01", withdrawn={gone_ids[0]: "asked for"})
    done = release(source, told, tmp_path / "out", previous=small.folder, new_ids=True)
    counts = {kind: len(ids) for kind, ids in done.content.changes.items()}
    assert counts == {"added": 6, "withdrawn": 2, "edited": 0, "changed": 1, "moved": 2}
    assert done.content.canary == small.content.canary
    text = (done.folder / "CHANGELOG.md").read_text("utf-8")
    assert f"- `{gone_ids[0]}`: asked for" in text
    assert f"- `{make_id[digest_text(turned)]}`: answer" in text
    assert f"- `{make_id[digest_text(moved[0])]}`: dev → train" in text
    assert "## 1.0.0 (2026-11-21)\n\nThe first release." in text
    stones = [json.loads(line) for line in lines(done.folder / "tombstones.jsonl")]
    versions = {"last": "1.0.0", "withdrawn": "1.1.0"}
    assert stones == [
        {"id": gone_ids[0], **versions, "reason": "asked for", "answered": True},
        {"id": gone_ids[1], **versions, "answered": True},
    ]
    assert found(done.folder) == []
    # withdrawn problems return only on request, and never to test
    source = write_sets(tmp_path / "again", parts)
    later = about(version="1.2.0", date="2026-12-02")
    with pytest.raises(DataError, match="2 problems were withdrawn"):
        release(source, later, tmp_path / "out", previous=done.folder, new_ids=True)
    left = release(source, later, tmp_path / "out", previous=done.folder, new_ids=True,
                   leave_out=True)  # fmt: skip
    assert left.content.omitted_counts == {"withdrawn before": 2}
    assert len(left.content.tombstones) == 2 + 6
    ids = [stone.id for stone in done.content.tombstones]
    back = about(version="1.3.0", date="2026-12-03", restored=ids)
    restored = release(source, back, tmp_path / "out", previous=done.folder, new_ids=True)
    assert set(ids) <= set(restored.content.dataset.ids)
    dev = parts["dev"]
    test = Dataset([*parts["test"], *dev[2:4]], "test")
    parts |= {"dev": dev.select([0, 1, *range(4, len(dev))]), "test": test}
    source = write_sets(tmp_path / "moved", parts)
    with pytest.raises(DataError, match=r"2 test problems .* measure nothing"):
        release(source, back, tmp_path / "other", previous=done.folder, new_ids=True)


def test_replaced_problems_are_listed_as_edits(small, tmp_path):
    """A new problem replaces an old one if it has its source id or descends from it."""
    parts = sets()
    train, dev = parts["train_xl"], parts["dev"]
    typo, bent, half = train[30], dev[2], train[21]
    mended = replace(typo, sentence=typo.sentence.replace(" the ", " that ", 1))
    child = make_child(bent, f"Then {bent.sentence}", bent.options, bent.answer, source="person")
    swap = {typo.id: mended, bent.id: replace(child, origin=bent.origin)}
    new = {
        part: Dataset((swap.get(p.id, p) for p in data if p.id != half.id), part)
        for part, data in parts.items()
    }
    source = write_sets(tmp_path / "source", new)
    told = about(version="1.1.0")
    done = release(source, told, tmp_path / "out", previous=small.folder, new_ids=True)
    counts = {kind: len(ids) for kind, ids in done.content.changes.items()}
    assert counts == {"added": 0, "withdrawn": 1, "edited": 2, "changed": 0, "moved": 0}
    make_id = {digest_text(p): p.id for p in (*small.content.problems, *done.content.problems)}
    text = (done.folder / "CHANGELOG.md").read_text("utf-8")
    stones = {stone["id"]: stone for stone in map(json.loads, lines(done.folder / STONES))}
    for old, now in ((typo, mended), (bent, child)):
        assert f"- `{make_id[digest_text(old)]}`: now `{make_id[digest_text(now)]}`" in text
        assert stones[make_id[digest_text(old)]]["became"] == make_id[digest_text(now)]
    assert "became" not in stones[make_id[digest_text(half)]]
    grown = next(p for p in done.content.problems if p.id == make_id[digest_text(child)])
    assert grown.lineage.parent == make_id[digest_text(bent)]
    assert found(done.folder) == []


def test_published_problem_is_refused_in_test_or_left_out(small, tmp_path):
    parts = sets()
    train = parts["train_xl"]
    test = Dataset([*parts["test"], *train[38:40]], "test")
    source = write_sets(tmp_path / "source", parts | {"train_xl": train[:38], "test": test})
    told = about(version="2.0.0")
    with pytest.raises(DataError, match=r"2 test problems \(.*\) measure nothing"):
        release(source, told, tmp_path / "out", previous=small.folder, new_ids=True)
    done = release(source, told, tmp_path / "out", previous=small.folder, new_ids=True,
                   leave_out=True)  # fmt: skip
    assert len(done.content.parts["test"]) == 24
    assert len(done.content.changes["withdrawn"]) == 3


@pytest.mark.parametrize("kind", ["twin", "contributor"])
def test_larger_file_keeps_the_splits(kind, tmp_path):
    """No problem moves to test, even if new problems join contributors of different splits."""
    data = practice.generate_corpus(90, seed=4).dataset
    told = {"source": [{"name": "*", "licence": "Apache-2.0"}]}
    splitting = Splitting((kind,), dev=0.2, test=0.2)
    formats.write(data[:120], tmp_path / "twins.jsonl")
    first = release(tmp_path / "twins.jsonl", about(**told), tmp_path / "out", splitting=splitting)
    formats.write(data, tmp_path / "twins.jsonl")
    second = release(tmp_path / "twins.jsonl", about(version="2.0.0", **told), tmp_path / "out",
                     splitting=splitting, previous=first.folder)  # fmt: skip
    assert "→ test" not in (second.folder / "CHANGELOG.md").read_text("utf-8")
    assert bool(second.content.changes["moved"]) is (kind == "contributor")
    assert len(second.content.changes["added"]) == 60
    assert second.content.omitted_counts == {}


def test_root_and_parent_outside_a_release_have_two_ids(small):
    """Also if the previous release gave both the same id."""
    data = Dataset([replace(sets()["dev"][0], lineage=Lineage("r", "p"))])
    before = read_previous(small.folder)
    one = assign_ids({"dev": data}, "small")["dev"][0]
    joined = replace(one, lineage=Lineage(one.root, one.root))
    content = replace(before.content, parts={"dev": Dataset([joined])})
    after = assign_ids({"dev": data}, "small", replace(before, content=content))["dev"][0]
    for problem in (one, after):
        assert problem.lineage.root == one.root
        assert problem.lineage.parent != problem.root
