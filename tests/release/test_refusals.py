"""Releases that are refused, with advice."""

from dataclasses import replace

import pytest

from tests.release.conftest import about, by, found, sets, write_sets
from winosmith import Dataset, formats, practice
from winosmith.errors import DataError, InputError
from winosmith.release import Splitting, release


def _halves(parts: dict[str, Dataset]) -> dict[str, Dataset]:
    """Add one half of a twin to train and the other to test; they share few words."""
    texts = ("The cup hit the jug, and _ fell.", "Whatever anyone says of it, buy a _ today.")
    return parts | {
        part: Dataset(
            [*parts[part], replace(parts[part][0], id=f"q7{'ab'[at]}", sentence=texts[at],
             options=("cup", "jug"), answer=at, twin_id=None, lineage=None,
             blank=texts[at].index("_"))], part
        )
        for at, part in enumerate(("train_xl", "test"))
    }  # fmt: skip


def test_splits_by_contributor_need_all_contributors(tmp_path):
    parts = sets()
    source = write_sets(tmp_path / "source", {**parts, "dev": by(parts["dev"], author=None)})
    with pytest.raises(DataError, match="16 of 81 problems have no contributor"):
        release(source, about(), tmp_path / "out", splitting=Splitting(("contributor",)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: {**p, "dev": Dataset([*p["dev"], p["train_xl"][14]], "dev")},
         "are on two sides of a split"),
        (_halves, "'q7a' and 'q7b' .* on two sides of a split: they are halves of the twin 'q7'"),
        (lambda p: {**p, "dev": p["dev"].blind()}, "has no answer, .*\nand 13 more; add its"),
        (lambda p: {**p, "dev": by(p["dev"], author="ann@example.org")}, "an email address"),
        (lambda p: {**p, "dev": by(p["dev"], source="elsewhere")},
         "16 problems .*no licence is stated for the source 'elsewhere'; add"),
        (lambda p: {**p, "dev": by(p["dev"], licence="MIT")},
         "their licence is MIT, but release.toml states Apache-2.0"),
        (lambda p: {**p, "train_xs": Dataset([replace(p["train_xs"][0], answer=None)], "train_xs")},
         "belongs to another problem in train_x"),
    ],
)  # fmt: skip
def test_unreleasable_problems_are_refused(change, reason, no_leftovers):
    source = write_sets(no_leftovers.parent / "source", change(sets()))
    with pytest.raises(InputError, match=reason):
        release(source, about(), no_leftovers)
    assert not no_leftovers.exists()


def test_files_may_number_their_own_twins(tmp_path):
    """The same number in two files marks different twins."""
    parts = {
        part: Dataset([replace(p, twin_id=f"t{row // 2}") for row, p in enumerate(of)], part)
        for part, of in sets().items()
        if part in ("train_xl", "dev")
    }
    done = release(write_sets(tmp_path / "source", parts), about(), tmp_path / "out")
    assert done.content.counts["all"]["twins"] == 28


@pytest.mark.parametrize("withheld", [0, 1])
def test_ids_that_reveal_answers_are_refused(tmp_path, withheld):
    made = practice.generate_corpus(80, seed=9).dataset
    told = [replace(p, id=f"{p.twin_id}-{(p.answer or 0) + 1}") for p in made]
    told[:withheld] = [replace(p, answer=None) for p in told[:withheld]]
    formats.write(told, tmp_path / "test.jsonl")
    with pytest.raises(DataError, match=r"gives the answer away.*`new_ids=True`"):
        release(tmp_path / "test.jsonl", about(), tmp_path / "out")
    done = release(tmp_path / "test.jsonl", about(), tmp_path / "out", new_ids=True)
    assert found(done.folder, private=done.private_folder) == []


@pytest.mark.parametrize("mark", [" ", "\u200b", "  e\u0301"])
def test_invisible_characters_that_reveal_answers_are_refused(tmp_path, mark):
    """Here: spacing and Unicode variants, which aren't part of the text that solvers read."""
    made = practice.generate_corpus(80, seed=9).dataset
    formats.write(
        [replace(p, sentence=p.sentence + mark * (p.answer or 0)) for p in made],
        tmp_path / "test.jsonl",
    )
    with pytest.raises(DataError, match=r"sentence spacing's irregularity gives the answer away"):
        release(tmp_path / "test.jsonl", about(), tmp_path / "out", new_ids=True)


@pytest.mark.parametrize(
    ("inner", "outer", "reason"),
    [
        ("CC-BY-SA-4.0", "CC-BY-4.0", "share-alike"),
        ("CC-BY-NC-4.0", "CC-BY-4.0", "forbids commercial use"),
        ("CC-BY-ND-4.0", "CC-BY-4.0", "allows no adaptation"),
        ("CC-BY-NC-SA-4.0", "CC-BY-SA-4.0", "share-alike"),
        ("CC-BY-4.0", "CC0-1.0", "asks for attribution"),
        ("GPL-3.0-only", "Apache-2.0", "share-alike"),
        ("CC-BY-SA-3.0", "CC-BY-SA-4.0", None),
        ("CC-BY-SA-4.0", "CC-BY-SA-3.0", "share-alike"),
        ("CC-BY-SA-4.0", "GPL-3.0-only", None),
        ("CC-BY-4.0", "CC-BY-NC-4.0", None),
        ("CC0-1.0", "CC-BY-ND-4.0", None),
        ("Apache-2.0", "CC-BY-4.0", None),
        ("CC-BY-ND-4.0", "CC-BY-ND-4.0", None),
    ],
)
def test_incompatible_licences_are_refused(inner, outer, reason, tmp_path):
    """A stated permission allows any licence."""
    parts = {k: by(v, licence=inner, source="x") for k, v in sets().items() if k in ("dev", "test")}
    source = write_sets(tmp_path / "source", parts)
    table = {"name": "x", "licence": inner}
    if reason is None:
        assert release(source, about(licence=outer, source=[table]), tmp_path / "out").is_new
        return
    with pytest.raises(DataError, match=reason):
        release(source, about(licence=outer, source=[table]), tmp_path / "out")
    allowed = about(licence=outer, source=[{**table, "permission": "by letter, 2026-10-01"}])
    done = release(source, allowed, tmp_path / "out")
    assert "- permission: by letter, 2026-10-01" in (done.folder / "LICENCES.md").read_text("utf-8")


def test_perturbed_problems_of_noderivatives_are_refused(tmp_path):
    """Also if the release itself has that licence."""
    parts = sets()
    parts = {k: by(v, licence="CC-BY-ND-4.0", source="x") for k, v in parts.items()}
    source = write_sets(tmp_path / "source", parts)
    told = about(licence="CC-BY-ND-4.0", source=[{"name": "x", "licence": "CC-BY-ND-4.0"}])
    refused = r"they are perturbed, but the licence of 'x', CC-BY-ND-4.0, allows"
    with pytest.raises(DataError, match=refused):
        release(source, told, tmp_path / "out")
