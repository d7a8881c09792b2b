"""What a release holds, what it leaves out, and what it refuses."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.release.conftest import about, found, sets, write_sets
from winosmith import Dataset, Extra, Origin, Response, formats, practice, validate
from winosmith.build import build, recipe_of
from winosmith.errors import DataError, InputError, OutputError, RecipeError
from winosmith.humans import CANARY
from winosmith.lineage import perturbed
from winosmith.release import Released, Splitting, read_about, release
from winosmith.release._ids import sight

STONES = "tombstones.jsonl"


def everything(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_folder_is_named_by_what_it_holds(small: Released, tmp_path: Path) -> None:
    """The same source gives the same name and bytes elsewhere; one letter more gives another."""
    source = write_sets(tmp_path / "source", sets())
    again = release(source, about(), tmp_path / "out", new_ids=True)
    assert again.folder.name == small.folder.name
    assert everything(again.folder) == everything(small.folder)
    assert not release(source, about(), tmp_path / "out", new_ids=True).anew
    other = release(source, about(title="Small."), tmp_path / "other", new_ids=True)
    assert other.folder.name != small.folder.name


def test_sha256sum_reads_the_checksums(small: Released) -> None:
    """`sha256sum --check` passes over the whole folder, and names every file but its own."""
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "checksums.txt"],
        cwd=small.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stdout.splitlines()) == len(everything(small.folder)) - 1


def test_no_answer_of_test_is_anywhere(small: Released) -> None:
    """Test has no answers and no extra but ours; its key lies beside, for the owner alone."""
    blind = formats.read(small.folder / "data/test.jsonl")
    assert set(blind.answers) == {None}
    assert {key for p in blind for key in p.extra} == {CANARY}
    assert not (small.folder / "data/test-labels.lst").exists()
    assert small.key is not None
    assert small.key.stat().st_mode & 0o077 == 0
    solved = formats.read(small.key / "test.jsonl")
    assert solved.ids == blind.ids
    by_sight = {sight(p): p.answer for p in sets()["test"]}
    assert [by_sight[sight(p)] for p in blind] == list(solved.answers)
    labels = (small.key / "test-labels.lst").read_text("utf-8").split()
    assert labels == [str((answer or 0) + 1) for answer in solved.answers]


def test_every_file_that_takes_one_carries_the_canary(small: Released) -> None:
    """The canary is in every problem, and in every file but those of bare numbers and checksums."""
    mark = small.content.canary.encode()
    bare = re.compile(
        r".*\.lst|CONTRIBUTORS\.csv|checksums\.txt|tombstones\.jsonl|.*/winosmith\.json"
    )
    without = {n for n, raw in everything(small.folder).items() if mark not in raw}
    assert {name for name in without if not bare.fullmatch(name)} == set()
    for path in (small.folder / "data").glob("*.jsonl"):
        lines = path.read_bytes().splitlines()
        assert all(mark in line for line in lines)


def test_the_card_has_the_hubs_sections_and_settings(small: Released) -> None:
    """README.md begins with YAML that names each configuration's files, and has every section."""
    text = (small.folder / "README.md").read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    told = yaml.safe_load(front)
    assert told["license"] == "apache-2.0"
    assert [c["config_name"] for c in told["configs"]] == ["xl", "xs"]
    assert told["configs"][0]["default"] is True
    for config in told["configs"]:
        assert [f["split"] for f in config["data_files"]] == ["train", "validation", "test"]
        assert all((small.folder / f["path"]).is_file() for f in config["data_files"])
    wanted = ["Dataset Details", "Uses", "Dataset Structure", "Dataset Creation",
              "Bias, Risks, and Limitations", "Citation", "More Information",
              "Dataset Card Authors", "Dataset Card Contact"]  # fmt: skip
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == wanted
    assert "| train_xl | 41 | 20 | 1 | 1 | 3 |" in body
    assert "Generated, and not found valid by judges: 1 of train_xl." in body


def test_the_datasheet_says_not_stated(small: Released, tmp_path: Path) -> None:
    """The datasheet has the seven sections, fills in what is known, and invents nothing."""
    text = (small.folder / "DATASHEET.md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Motivation", "Composition", "Collection process", "Preprocessing, cleaning, labelling",
        "Uses", "Distribution", "Maintenance"]  # fmt: skip
    assert "**Who paid for it?**\n\nnot stated\n" in text
    source = write_sets(tmp_path / "source", sets())
    told = about(datasheet={"funding": "Nobody did."})
    other = release(source, told, tmp_path / "out")
    assert "**Who paid for it?**\n\nNobody did.\n" in (other.folder / "DATASHEET.md").read_text(
        "utf-8"
    )


def test_contributors_get_credit_by_pseudonym(tmp_path: Path) -> None:
    """Each contributor's problems are counted once, and no name runs as a formula."""
    parts = sets()
    dev = _by(parts["dev"], author="=HYPERLINK()")
    source = write_sets(tmp_path / "source", {**parts, "dev": dev})
    done = release(source, about(), tmp_path / "out")
    with (done.folder / "CONTRIBUTORS.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts = {row["contributor"]: int(row["problems"]) for row in rows}
    assert counts["'=HYPERLINK()"] == 16
    assert sum(counts.values()) == done.content.counts["all"]["problems"] == 81
    assert {row["train"] for row in rows if row["contributor"].startswith("e")} == {"0"}


def test_embargo_is_respected(tmp_path: Path) -> None:
    """Problems under embargo are left out of every file, and counted."""
    parts = sets()
    hidden = parts["dev"][3]
    dev = Dataset((replace(p, embargo=p is hidden) for p in parts["dev"]), "dev")
    source = write_sets(tmp_path / "source", {**parts, "dev": dev})
    done = release(source, about(), tmp_path / "out")
    assert done.content.left_out == {"under embargo": 1}
    for raw in everything(done.folder).values():
        assert hidden.id.encode() not in raw
        assert hidden.sentence.encode() not in raw


def test_a_problem_tells_how_it_came_about(tmp_path: Path) -> None:
    """Judges, contributor, anchor and lineage are with each problem, and never the hour."""
    parts = sets()
    dated = [
        replace(p, origin=replace(p.origin or Origin(), created="2026-10-02T13:05:00+01:00"))
        for p in parts["dev"]
    ]
    source = write_sets(tmp_path / "source", {**parts, "dev": Dataset(dated, "dev")})
    votes = [Response(p.id, f"judge{n}", "validate", 0) for p in dated[:4] for n in range(3)]
    votes.append(Response(dated[0].id, "subject", "test", 0))
    validate.write_votes(votes, tmp_path / "votes.csv")
    done = release(source, about(), tmp_path / "out", votes=tmp_path / "votes.csv")
    first = done.content.parts["dev"][0]
    assert first.extra["release.judges"] == 3
    assert "release.judged_by" not in first.extra
    assert first.origin is not None
    assert (first.origin.created, first.origin.anchor) == ("2026-10-02", dated[0].origin.anchor)  # type: ignore[union-attr]
    assert done.content.parts["train_xl"][-1].lineage is not None
    named = release(source, about(judges="pseudonyms"), tmp_path / "named",
                    votes=tmp_path / "votes.csv")  # fmt: skip
    assert named.content.parts["dev"][0].extra["release.judged_by"] == "judge0 judge1 judge2"
    assert "4 of 81 problems were judged, each by 3 people" in (
        named.folder / "README.md"
    ).read_text("utf-8")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished build by AFLite."""
    folder = tmp_path_factory.mktemp("pool")
    formats.write(practice.corpus(120, seed=2).dataset.problems, folder / "twins.jsonl")
    table: dict[str, Any] = {
        "name": "pool",
        "data": "twins.jsonl",
        "embed": {"dimensions": 8},
        "split": {"dev": 0.2, "test": 0.3},
        "filter": {"ensemble_size": 16, "train_size": 60, "cutoff": 5},
    }
    build(recipe_of(table, folder=folder), folder / "out")
    return folder / "out"


def test_a_build_is_released_with_what_its_filter_did(built: Path, tmp_path: Path) -> None:
    """Removed problems carry the phase, ids are new, and the funnel stands in the card."""
    done = release(built, about(), tmp_path / "out")
    assert found(done.folder, private=built / "private") == []
    assert found(done.folder, private=done.key) == []
    removed = [p for p in done.content.parts["train_xl"] if "release.removed_by" in p.extra]
    assert removed
    assert all(int(str(p.extra["release.phase"])) >= 1 for p in removed)
    kept = {p.id for p in done.content.parts["train_debiased"]}
    assert not kept & {p.id for p in removed}
    old = {p.id for path in built.glob("*.jsonl") if path.stem != "dropped"
           for p in formats.read(path)}  # fmt: skip
    assert not old & set(done.content.dataset.ids)
    card = (done.folder / "README.md").read_text("utf-8")
    assert re.search(r"^\| collected \| 240 \|", card, re.MULTILINE)
    assert re.search(r"^\| aflite \| \d+ \| guessed", card, re.MULTILINE)
    told = {p["id"]: p["answer"] for p in map(json.loads, _lines(built / "private/test.jsonl"))}
    by_old = {sight(p): told[p.id] for p in formats.read(built / "test.jsonl")}
    assert done.key is not None
    assert [by_old[sight(p)] for p in formats.read(done.key / "test.jsonl")] == list(
        formats.read(done.key / "test.jsonl").answers
    )


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_nothing_private_is_published(built: Path, tmp_path: Path) -> None:
    """No withheld sentence, no old id and no digest of a private file is in the release."""
    done = release(built, about(), tmp_path / "out")
    text = b"\n".join(everything(done.folder).values())
    for record in map(json.loads, _lines(built / "private/withheld.jsonl")):
        assert json.dumps(record["sentence"], ensure_ascii=False).encode() not in text
    for record in map(json.loads, _lines(built / "private/ids.jsonl")):
        assert record["old_id"].encode() not in text
    for path in (built / "private").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest().encode() not in text


def test_a_build_that_was_changed_is_refused(built: Path, tmp_path: Path) -> None:
    """A build without its last file, or with a file that changed, is not released."""
    copy = Path(shutil.copytree(built, tmp_path / "copy"))
    (copy / "dev.jsonl").write_text((copy / "dev.jsonl").read_text("utf-8") + "\n", "utf-8")
    with pytest.raises(InputError, match=r"dev\.jsonl is not as the build wrote it"):
        release(copy, about(), tmp_path / "out")
    (copy / "checksums.sha256").unlink()
    with pytest.raises(InputError, match="is not finished; run winosmith build again"):
        release(copy, about(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_build_that_publishes_what_is_withheld_is_refused(built: Path, tmp_path: Path) -> None:
    """A problem that the private folder withholds is found before anything is written."""
    copy = Path(shutil.copytree(built, tmp_path / "copy"))
    leak = formats.read(copy / "dev.jsonl")[0]
    line = json.dumps({**json.loads(_lines(copy / "dev.jsonl")[0]), "stage": "x", "reason": "y"})
    with (copy / "private/withheld.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=r"^dev: .* is withheld"):
        release(copy, about(), tmp_path / "out")
    assert leak.answer is not None


def test_the_next_release_says_what_changed(small: Released, tmp_path: Path) -> None:
    """Added, withdrawn, changed and moved are told by id; a tombstone has no text."""
    parts = sets()
    train, dev = list(parts["train_xl"]), list(parts["dev"])
    moved, gone = dev[:2], dev[2:4]
    turned = replace(train[30], answer=1 - (train[30].answer or 0))
    kept = [*train[:30], turned, *train[31:], *moved]
    fresh = list(practice.corpus(3, seed=77).dataset)
    new = {
        **parts,
        "train_xl": Dataset([*kept, *fresh], "train_xl"),
        "dev": Dataset(dev[4:], "dev"),
    }
    source = write_sets(tmp_path / "source", new)
    id_of = {sight(p): p.id for p in small.content.problems}
    gone_ids = sorted(id_of[sight(p)] for p in gone)
    told = about(version="1.1.0", date="2026-12-01", withdrawn={gone_ids[0]: "asked for"})
    done = release(source, told, tmp_path / "out", previous=small.folder, new_ids=True)
    assert done.content.changes == {
        "added": 6, "withdrawn": 2, "edited": 0, "changed": 1, "moved": 2}  # fmt: skip
    assert done.content.canary == small.content.canary
    text = (done.folder / "CHANGELOG.md").read_text("utf-8")
    assert f"- `{gone_ids[0]}`: asked for" in text
    assert f"- `{id_of[sight(turned)]}`: answer" in text
    assert f"- `{id_of[sight(moved[0])]}`: dev → train" in text
    assert "## 1.0.0 (2026-11-21)\n\nThe first release." in text
    stones = [json.loads(line) for line in _lines(done.folder / "tombstones.jsonl")]
    assert stones == [
        {"id": gone_ids[0], "last": "1.0.0", "withdrawn": "1.1.0", "reason": "asked for"},
        {"id": gone_ids[1], "last": "1.0.0", "withdrawn": "1.1.0"},
    ]
    assert found(done.folder) == []
    _comes_back(done, tmp_path, parts)


def _comes_back(done: Released, tmp_path: Path, parts: dict[str, Dataset]) -> None:
    """Check that what was withdrawn does not come back unasked."""
    source = write_sets(tmp_path / "again", parts)
    later = about(version="1.2.0", date="2026-12-02")
    with pytest.raises(DataError, match="2 problems were withdrawn"):
        release(source, later, tmp_path / "out", previous=done.folder, new_ids=True)
    left = release(source, later, tmp_path / "out", previous=done.folder, new_ids=True,
                   leave_out=True)  # fmt: skip
    assert left.content.left_out == {"withdrawn before": 2}
    assert len(left.content.tombstones) == 2 + 6
    ids = [stone["id"] for stone in done.content.tombstones]
    back = about(version="1.3.0", date="2026-12-03", restored=ids)
    restored = release(source, back, tmp_path / "out", previous=done.folder, new_ids=True)
    assert set(ids) <= set(restored.content.dataset.ids)


def test_what_became_of_a_problem_is_told(small: Released, tmp_path: Path) -> None:
    """One new problem in the place of one that is gone is an edit, by its source id or lineage."""
    parts = sets()
    train, dev = parts["train_xl"], parts["dev"]
    typo, bent, half = train[30], dev[2], train[21]
    mended = replace(typo, sentence=typo.sentence.replace(" the ", " that ", 1))
    child = perturbed(bent, f"Then {bent.sentence}", bent.options, bent.answer, source="person")
    swap = {typo.id: mended, bent.id: replace(child, origin=bent.origin)}
    new = {
        part: Dataset((swap.get(p.id, p) for p in data if p.id != half.id), part)
        for part, data in parts.items()
    }
    source = write_sets(tmp_path / "source", new)
    told = about(version="1.1.0")
    done = release(source, told, tmp_path / "out", previous=small.folder, new_ids=True)
    assert done.content.changes == {
        "added": 0, "withdrawn": 1, "edited": 2, "changed": 0, "moved": 0}  # fmt: skip
    id_of = {sight(p): p.id for p in (*small.content.problems, *done.content.problems)}
    text = (done.folder / "CHANGELOG.md").read_text("utf-8")
    stones = {stone["id"]: stone for stone in map(json.loads, _lines(done.folder / STONES))}
    for old, now in ((typo, mended), (bent, child)):
        assert f"- `{id_of[sight(old)]}`: now `{id_of[sight(now)]}`" in text
        assert stones[id_of[sight(old)]]["became"] == id_of[sight(now)]
    assert "became" not in stones[id_of[sight(half)]]
    grown = next(p for p in done.content.problems if p.id == id_of[sight(child)])
    assert grown.lineage is not None
    assert grown.lineage.parent == id_of[sight(bent)]
    assert found(done.folder) == []


def test_an_answer_that_was_published_is_no_test(small: Released, tmp_path: Path) -> None:
    """A problem of train that moves to test is refused, or left out."""
    parts = sets()
    new = {
        **parts,
        "train_xs": parts["train_xs"],
        "train_xl": parts["train_xl"][:38],
        "test": Dataset([*parts["test"], *parts["train_xl"][38:40]], "test"),
    }
    source = write_sets(tmp_path / "source", new)
    told = about(version="2.0.0")
    with pytest.raises(DataError, match=r"2 test problems \(.*\) measure nothing"):
        release(source, told, tmp_path / "out", previous=small.folder, new_ids=True)
    done = release(source, told, tmp_path / "out", previous=small.folder, new_ids=True,
                   leave_out=True)  # fmt: skip
    assert len(done.content.parts["test"]) == 24
    assert done.content.changes["withdrawn"] == 3


@pytest.mark.parametrize("kind", ["contributor", "source"])
def test_one_file_is_split_on_request(kind: str, tmp_path: Path) -> None:
    """Sides of a split file share no twin, and no contributor or source when asked."""
    data = practice.corpus(60, seed=4).dataset
    spread = [
        replace(p, origin=replace(p.origin or Origin(), source=f"s{hash_of(p.twin_id) % 9}"))
        for p in data
    ]
    formats.write(spread, tmp_path / "twins.jsonl")
    told = about(source=[{"name": "*", "licence": "Apache-2.0"}])
    done = release(tmp_path / "twins.jsonl", told, tmp_path / "out",
                   splitting=Splitting((kind,), asked=True))  # fmt: skip
    field = {"contributor": "author", "source": "source"}[kind]
    sides = [{getattr(p.origin, field) for p in d} for d in done.content.parts.values()]
    assert len(sides) == 3
    assert not sides[0] & sides[1]
    assert not (sides[0] | sides[1]) & sides[2]
    assert done.content.disjoint == ("twin", kind)
    assert done.content.counts["all"]["problems"] == 120
    assert found(done.folder) == []


@pytest.mark.parametrize("kind", ["twin", "contributor"])
def test_a_file_that_has_grown_is_split_as_before(kind: str, tmp_path: Path) -> None:
    """What a release had on a side stays, and nothing comes to test, though contributors join."""
    data = practice.corpus(90, seed=4).dataset
    told = {"source": [{"name": "*", "licence": "Apache-2.0"}]}
    splitting = Splitting((kind,), asked=True, dev=0.2, test=0.2)
    formats.write(data[:120], tmp_path / "twins.jsonl")
    first = release(tmp_path / "twins.jsonl", about(**told), tmp_path / "out", splitting=splitting)
    formats.write(data, tmp_path / "twins.jsonl")
    second = release(tmp_path / "twins.jsonl", about(version="2.0.0", **told), tmp_path / "out",
                     splitting=splitting, previous=first.folder)  # fmt: skip
    assert "→ test" not in (second.folder / "CHANGELOG.md").read_text("utf-8")
    assert (second.content.changes["moved"] > 0) is (kind == "contributor")
    assert second.content.changes["added"] == 60
    assert second.content.left_out == {}


def hash_of(text: str | None) -> int:
    """Return a number that is the same in every run."""
    return int(hashlib.sha256(str(text).encode()).hexdigest()[:8], 16)


def test_what_is_not_known_is_not_promised(tmp_path: Path) -> None:
    """Contributor-disjoint sides are refused where a problem has no contributor."""
    parts = sets()
    source = write_sets(tmp_path / "source", {**parts, "dev": _by(parts["dev"], author=None)})
    with pytest.raises(DataError, match="16 of 81 problems do not say their contributor"):
        release(source, about(), tmp_path / "out", splitting=Splitting(("contributor",)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda p: {**p, "dev": Dataset([*p["dev"], p["train_xl"][14]], "dev")},
         "on both sides of a split"),
        (lambda p: {**p, "dev": p["dev"].blind()}, "16 of 16 problems of dev have no answer"),
        (lambda p: {**p, "dev": _by(p["dev"], author="ann@example.org")}, "looks like an address"),
        (lambda p: {**p, "dev": _by(p["dev"], source="elsewhere")},
         "16 problems .*no licence is stated for the source 'elsewhere'; add"),
        (lambda p: {**p, "dev": _by(p["dev"], licence="MIT")},
         "their licence is MIT, release.toml says Apache-2.0"),
        (lambda p: {**p, "train_xs": Dataset([replace(p["train_xs"][0], answer=None)], "train_xs")},
         "is another problem in train_x"),
    ],
)  # fmt: skip
def test_what_must_not_be_released_is_refused(change: Any, told: str, no_leftovers: Path) -> None:
    """Copies across sides, missing answers, addresses and licences are refused with what to do."""
    source = write_sets(no_leftovers.parent / "source", change(sets()))
    with pytest.raises(InputError, match=told):
        release(source, about(), no_leftovers)
    assert not no_leftovers.exists()


def _by(data: Dataset, **changes: str | None) -> Dataset:
    """Return the problems with another origin."""
    changed = (replace(p, origin=replace(p.origin or Origin(), **changes)) for p in data)
    return Dataset(changed, data.name)


def test_ids_that_tell_the_answer_are_refused(tmp_path: Path) -> None:
    """A test file whose ids end in the answer is refused; with new ids it is released."""
    made = practice.corpus(80, seed=9).dataset
    told = [replace(p, id=f"{p.twin_id}-{(p.answer or 0) + 1}") for p in made]
    formats.write(told, tmp_path / "test.jsonl")
    with pytest.raises(DataError, match=r"gives the answer away.*--ids digest"):
        release(tmp_path / "test.jsonl", about(), tmp_path / "out")
    done = release(tmp_path / "test.jsonl", about(), tmp_path / "out", new_ids=True)
    assert found(done.folder, private=done.key) == []


def test_a_version_is_released_once(small: Released, tmp_path: Path) -> None:
    """Another release of the same version is refused, and so is one that was changed since."""
    out = tmp_path / "out"
    source = write_sets(tmp_path / "source", sets())
    first = release(source, about(), out)
    with pytest.raises(OutputError, match="is another release of this version"):
        release(source, about(title="Other"), out)
    (first.folder / "CANARY").write_text("gone", "utf-8")
    with pytest.raises(OutputError, match="was changed after it was released"):
        release(source, about(), out)
    assert sorted(path.name for path in out.iterdir()) == [
        "private", first.folder.name]  # fmt: skip


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C while files are written ends with 130, and no folder is left, whole or hidden."""
    formats.write(practice.corpus(1500, seed=1).dataset.problems, tmp_path / "problems.jsonl")
    release_toml = tmp_path / "release.toml"
    release_toml.write_text(
        'name="a"\nversion="1.0"\ndate="2026-01-01"\ntitle="A"\ndescription="A."\n'
        'licence="Apache-2.0"\nlanguage="en"\nauthors="we"\n'
        '[[source]]\nname="practice"\nlicence="Apache-2.0"\n',
        "utf-8",
    )
    out = tmp_path / "out"
    run = subprocess.Popen(
        [sys.executable, "-m", "winosmith", "release", str(tmp_path / "problems.jsonl"),
         "--about", str(release_toml), "--out", str(out)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for _ in range(6000):
        if list(out.glob(".a-1.0.*")) or run.poll() is not None:
            break
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130, said
    assert list(out.iterdir()) == []


def test_release_toml_reads_as_it_is_shown(tmp_path: Path) -> None:
    """The template is a release.toml that can be used as it is."""
    from winosmith.release import TEMPLATE

    (tmp_path / "release.toml").write_text(TEMPLATE, "utf-8")
    told = read_about(tmp_path / "release.toml", version="3.0.0")
    assert (told.name, told.version, told.source[0].name) == ("my-benchmark", "3.0.0", "*")
    uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", TEMPLATE)
    uncommented = re.sub(r"(?m)^# (\[(?:withdrawn|datasheet)\]|\"my-bench.*)$", r"\1", uncommented)
    uncommented = uncommented.replace("# @misc", "@misc").replace('# """', '"""')
    (tmp_path / "all.toml").write_text(uncommented, "utf-8")
    assert read_about(tmp_path / "all.toml").judges == "pseudonyms"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "a b"}, "name is 'a b'"),
        ({"version": "one"}, "version is 'one'"),
        ({"date": "21.11.2026"}, "date is '21.11.2026'"),
        ({"title": ""}, "title is missing"),
        ({"licence": "Ours"}, "licence is 'Ours', which is not known; use an SPDX identifier"),
        ({"licence": "LicenseRef-x", "terms": ["money"]}, "terms has 'money'"),
        ({"colour": "red"}, "colour is unknown; the keys are"),
        ({"language": ["English"]}, "language has 'English'"),
        ({"judges": "all"}, "judges is 'all'"),
        ({"datasheet": {"weather": "fine"}}, "datasheet.weather is unknown"),
        ({"source": [{"name": "x"}]}, "a source has no licence"),
        ({"source": [{"name": "x", "licence": "MIT"}] * 2}, "'x' stands there twice"),
        ({"authors": 3}, "authors must be a list of texts"),
    ],
)
def test_what_is_wrong_in_release_toml_is_told(change: dict[str, Any], told: str) -> None:
    """An unknown key, a missing one or a value that does not fit is named."""
    with pytest.raises(RecipeError, match=re.escape(told)):
        about(**change)


@pytest.mark.parametrize(
    ("inner", "outer", "told"),
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
def test_licences_that_do_not_fit_are_refused(
    inner: str, outer: str, told: str | None, tmp_path: Path
) -> None:
    """A freer whole can't hold ShareAlike, NonCommercial or NoDerivatives, but by permission."""
    parts = {
        k: _by(v, licence=inner, source="x") for k, v in sets().items() if k in ("dev", "test")
    }
    source = write_sets(tmp_path / "source", parts)
    table = {"name": "x", "licence": inner}
    if told is None:
        assert release(source, about(licence=outer, source=[table]), tmp_path / "out").anew
        return
    with pytest.raises(DataError, match=told):
        release(source, about(licence=outer, source=[table]), tmp_path / "out")
    allowed = about(licence=outer, source=[{**table, "permission": "by letter, 2026-10-01"}])
    done = release(source, allowed, tmp_path / "out")
    assert "- permission: by letter, 2026-10-01" in (done.folder / "LICENCES.md").read_text("utf-8")


def test_a_perturbed_problem_needs_a_licence_to_adapt(tmp_path: Path) -> None:
    """Perturbed problems of a NoDerivatives source are refused even in a release as strict."""
    parts = sets()
    parts = {k: _by(v, licence="CC-BY-ND-4.0", source="x") for k, v in parts.items()}
    source = write_sets(tmp_path / "source", parts)
    told = about(licence="CC-BY-ND-4.0", source=[{"name": "x", "licence": "CC-BY-ND-4.0"}])
    with pytest.raises(DataError, match=r"they are perturbed, and CC-BY-ND-4.0 of 'x' allows no"):
        release(source, told, tmp_path / "out")


def test_fields_of_the_sources_format_stay_where_answers_are_public(tmp_path: Path) -> None:
    """What only the source's format knew is kept in train, and left out of test."""
    parts = {
        part: Dataset(
            (replace(p, extra=Extra({"wsc.source": f"page {n}"})) for n, p in enumerate(held)), part
        )
        for part, held in sets().items()
        if part in ("dev", "test")
    }
    done = release(write_sets(tmp_path / "source", parts), about(), tmp_path / "out")
    assert done.content.parts["dev"][0].extra["wsc.source"] == "page 0"
    assert not any("wsc.source" in p.extra for p in done.content.parts["test"])
