"""Keyed releases: coins that choose presentations are drawn after all checks, kept and verified."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_release import ABOUT as RELEASE_TOML
from tests.conftest import everything, installed
from tests.release.conftest import (
    about,
    build_pool,
    found,
    lines,
    rewritten,
    seal,
    sets,
    with_parts,
    write_sets,
)
from winosmith import Dataset, Extra, Problem, formats, practice
from winosmith.cli import main
from winosmith.errors import DataError, InputError, OutputError
from winosmith.exposure import COINS, PRESENTATIONS, KeyedRelease, read_keyed_release
from winosmith.release import Content, ReleaseResult, release
from winosmith.release._write import get_or_draw_key, get_pending_path

FIXED = Problem("fixed", "Which _ float?", ("cork", "wood", "all of the above"), 2)


def _source(folder: Path) -> Path:
    parts = sets()
    fixed = replace(FIXED, origin=parts["dev"][0].origin, extra=Extra({"csv.note": "cork"}))
    return write_sets(folder, {**parts, "dev": Dataset([*parts["dev"], fixed], "dev")})


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> ReleaseResult:
    """Return a keyed release of the small sets and a problem with only one presentation."""
    installed("pyarrow")
    folder = tmp_path_factory.mktemp("keyed")
    return release(_source(folder / "source"), about(), folder / "out", new_ids=True, keyed=True)


@pytest.fixture
def copied(keyed: ReleaseResult, tmp_path: Path) -> Path:
    """Return a copy of the keyed release, next to a copy of its private folder."""
    shutil.copytree(keyed.folder.parent, tmp_path / "copy")
    return tmp_path / "copy" / keyed.folder.name


def _private(folder: Path) -> Path:
    return folder.parent / "private" / folder.name


def _check_published(content: Content, found: KeyedRelease) -> None:
    shown = {problem.id: problem for problem in content.problems}
    for pair in found.pairs:
        form = found.get_published(pair)
        assert shown[pair.a.id] in (form, replace(form, answer=None))


def test_keyed_release_publishes_presentations_by_coins(keyed):
    assert found(keyed.folder) == found(keyed.folder, private=keyed.private_folder) == []
    coins = read_keyed_release(keyed.folder)
    _check_published(keyed.content, coins)
    statement = keyed.content.keyed
    assert (len(coins.coins), coins.blocks_without_coin) == (statement.block_count, 1)
    assert min(statement.names, statement.options) > 5
    assert {*keyed.content.dataset.ids} - {pair.a.id for pair in coins.pairs} == {
        problem.id for problem in keyed.content.problems if problem.options == FIXED.options
    }
    answers = {p.id: p.answer for p in formats.read(_private(keyed.folder) / "test.jsonl")}
    assert answers.items() <= {p.a.id: coins.get_published(p).answer for p in coins.pairs}.items()
    assert all(not key.startswith("csv.") for p in keyed.content.problems for key in p.extra)


def test_card_has_commitment_and_power_but_no_secret(keyed):
    statement = keyed.content.keyed
    secret = json.loads((_private(keyed.folder) / COINS).read_text("utf-8"))["bytes"]
    for name, raw in everything(keyed.folder).items():
        has = statement.commitment.encode() in raw
        assert has == (name in ("README.md", "croissant.json", "release.json", "checksums.txt")
                       and name != "checksums.txt"), name  # fmt: skip
        assert secret.encode() not in raw
    card = (keyed.folder / "README.md").read_text("utf-8")
    assert f"{statement.detectable_shifts[1]:.3f} standard deviations" in card
    assert f"{statement.names} have two people whose names can be swapped" in card


def test_releases_of_equal_data_differ_only_by_coins(keyed, tmp_path):
    again = release(_source(tmp_path / "s"), about(), tmp_path / "out", new_ids=True, keyed=True)
    one, other = read_keyed_release(keyed.folder), read_keyed_release(again.folder)
    assert one.pairs == other.pairs
    assert one.coins != other.coins
    assert sorted(again.content.dataset.ids) == sorted(keyed.content.dataset.ids)
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTORS.csv", "LICENCES.md"):
        old, new = ((done.folder / name).read_text("utf-8") for done in (keyed, again))
        assert name == "README.md" or old == new
    wrong = found(keyed.folder, private=again.private_folder)
    assert any(one.startswith("private/coins.json: its coins belong to another") for one in wrong)


def test_secret_bytes_survive_repeats_and_interrupts(tmp_path):
    source, out = _source(tmp_path / "source"), tmp_path / "out"
    key = get_or_draw_key(out, about())  # like a run that was killed before it wrote the release
    assert get_pending_path(out, about()).stat().st_mode & 0o077 == 0
    done = release(source, about(), out, new_ids=True, keyed=True)
    kept = json.loads((_private(done.folder) / COINS).read_text("utf-8"))["bytes"]
    assert kept == key.hex()
    assert not get_pending_path(out, about()).exists()
    assert not release(source, about(), out, new_ids=True, keyed=True).is_new
    shutil.rmtree(out / "private")
    with pytest.raises(InputError, match=r"coins\.json is missing, so the coins of this finished"):
        release(source, about(), out, new_ids=True, keyed=True)


def test_refused_releases_draw_no_coins(tmp_path):
    out = tmp_path / "out"
    source = write_sets(tmp_path / "source", {"dev": sets()["dev"]})
    release(source, about(), out)
    with pytest.raises(OutputError, match="is another release of this version"):
        release(source, about(), out, keyed=True)
    formats.write([FIXED], tmp_path / "dev.jsonl")
    with pytest.raises(DataError, match="no block has two equivalent presentations"):
        release(tmp_path / "dev.jsonl", about(version="1.1.0"), out, keyed=True)
    assert not list(out.rglob("*.json*coins*"))
    assert not list(out.rglob(f"*{COINS}"))


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert re.search(old, text)
    path.write_text(re.sub(old, new, text, count=1), "utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        (COINS, "true", "false", "private/coins.json: its coins don't match its bytes"),
        (COINS, '"bytes": "..', '"bytes": "00', "private/coins.json: its bytes, or the lines of"),
        (COINS, "(?s).*", "[]", "private/coins.json: "),
        (PRESENTATIONS, '"answer":0', '"answer":1', "private/coins.json: its bytes, or the lines"),
    ],
)
def test_changed_private_files_are_found(name, old, new, fault, copied):
    _edit(_private(copied) / name, old, new)
    (wrong,) = found(copied, private=_private(copied))
    assert wrong.startswith(fault)
    assert "coins can't be drawn again" in wrong


def test_missing_coins_are_found(copied):
    (_private(copied) / COINS).unlink()
    (wrong,) = found(copied, private=_private(copied))
    assert re.match(r"private/coins\.json: .*No such file", wrong)


def test_changed_presentation_or_counts_are_found(keyed, tmp_path):
    coins = read_keyed_release(keyed.folder)
    pair = next(pair for pair in coins.pairs if pair.a.id in keyed.content.parts["dev"].ids)
    other = pair.b if coins.get_published(pair) == pair.a else pair.a
    dev = (other if p.id == other.id else p for p in keyed.content.parts["dev"])
    wrong = rewritten(with_parts(keyed.content, dev=dev), tmp_path / "dev/x")
    assert found(wrong) == []  # equally valid; only the coins reveal the change
    (fault,) = found(wrong, private=keyed.private_folder)
    assert fault.startswith("private/coins.json: its coins belong to another release, or the")
    copy = Path(shutil.copytree(keyed.folder, tmp_path / "card" / keyed.folder.name))
    record = json.loads((copy / "release.json").read_text("utf-8"))["keyed"]
    faults = found(seal(copy, keyed={**record, "names": 0}), private=keyed.private_folder)
    assert any(re.search("release.json: it states .* by a coin flip, not", f) for f in faults)


def test_next_version_has_new_coins_and_the_same_ids(keyed, small, tmp_path):
    """New coins aren't listed as changes. The previous release may be keyed or not."""
    source = _source(tmp_path / "source")
    how: dict[str, Any] = {"new_ids": True, "keyed": True}
    done = release(
        source, about(version="1.1.0"), keyed.folder.parent, previous=keyed.folder, **how
    )
    assert {kind: len(of) for kind, of in done.content.changes.items() if of} == {}
    assert read_keyed_release(done.folder).coins != read_keyed_release(keyed.folder).coins
    with pytest.raises(InputError, match=r"1\.0\.0 is keyed, so this release must also be keyed"):
        release(source, about(version="1.2.0"), tmp_path, previous=keyed.folder, new_ids=True)
    after = release(source, about(version="1.1.0"), tmp_path / "out", previous=small.folder, **how)
    assert {kind: len(of) for kind, of in after.content.changes.items() if of} == {"added": 1}
    assert found(after.folder, private=after.private_folder) == []


def test_private_answers_of_a_keyed_build_match_its_coins(tmp_path):
    built = build_pool(tmp_path, practice.generate_corpus(60, seed=2).dataset)
    done = release(built, about(), tmp_path / "out", keyed=True)
    assert found(done.folder, private=built / "private") == []
    assert found(done.folder, private=done.private_folder) == []
    coins = read_keyed_release(done.folder)
    _check_published(done.content, coins)
    told = {p["id"]: p for p in map(json.loads, lines(built / "private/test.jsonl"))}
    old_of = {p["id"]: p["old_id"] for p in map(json.loads, lines(built / "private/ids.jsonl"))}
    answer = {old_of[id_]: p["options"][p["answer"]] for id_, p in told.items()}
    sentence = {old_of[id_]: p["sentence"] for id_, p in told.items()}
    of_release = {r["id"]: r["old_id"] for r in map(json.loads, lines(done.folder.parent
                  / "private" / done.folder.name / "ids.jsonl"))}  # fmt: skip
    in_test = [pair for pair in coins.pairs if of_release[pair.a.id] in answer]
    assert len(in_test) == len(told)
    for pair in in_test:
        for form in (pair.a, pair.b):
            old = of_release[form.id]
            right = form.options[form.answer if form.answer is not None else -1]
            assert (right == answer[old]) == (form.sentence == sentence[old])


def test_release_keyed_prints_blocks_and_commitment(tmp_path, monkeypatch, capsys):
    installed("pyarrow")
    monkeypatch.chdir(tmp_path)
    write_sets(tmp_path / "source", {"dev": sets()["dev"]})
    Path("release.toml").write_text(RELEASE_TOML, "utf-8")
    command = "release source --about release.toml --out out --keyed"
    assert main(command.split()) == 0
    said = capsys.readouterr().err
    assert re.search(r"of 8 blocks: with names exchanged \(\d\) or options reversed \(\d\)", said)
    assert main([*command.split(), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["keyed"]["commitment"] in said
    assert record["keyed"]["blocks"] == 8
    assert not record["written"]
    (folder,) = Path("out").glob("trial-*")
    assert main(["verify", str(folder), "--private", f"out/private/{folder.name}"]) == 0
