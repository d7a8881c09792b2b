"""WordNet's files: finding, reading, and error messages."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import need_wordnet
from winosmith.errors import InputError
from winosmith.language import WordNet


@pytest.fixture(scope="module")
def folder() -> Path:
    """Return the folder of WordNet's files."""
    return need_wordnet()


def test_senses_have_antonyms_and_synonyms_sorted_by_use(folder):
    """The railway car is another sense."""
    first, second = WordNet(folder).find_senses("car", "n")[:2]
    assert first.key == "car.n.01"
    assert {synonym.lemma for synonym in first.synonyms[:2]} == {"auto", "automobile"}
    counts = [synonym.count for synonym in first.synonyms]
    assert counts == sorted(counts, reverse=True)
    assert "railcar" in [synonym.lemma for synonym in second.synonyms]
    assert "little" in WordNet(folder).find_senses("big", "a")[0].antonyms


def test_compounds_are_found_in_their_part_of_speech(folder):
    wordnet = WordNet(folder)
    assert wordnet.has_sense("ice cream", "n")
    assert not wordnet.has_sense("ice cream", "v")
    assert not wordnet.has_sense("cream ice ice", "n")
    assert wordnet.find_senses("xyzzy", "n") == ()


def test_slang_and_insults_are_omitted(folder):
    """WordNet marks them as slang or disparaging."""
    wordnet = WordNet(folder)
    for lemma in ("policeman", "fool", "woman"):
        found = {s.lemma for sense in wordnet.find_senses(lemma, "n") for s in sense.synonyms}
        assert found.isdisjoint({"fuzz", "pig", "bull", "dame", "doll", "skirt", "broad"})


def test_zip_of_nltk_gives_the_same_senses(folder, tmp_path):
    if folder.suffix == ".zip":
        pytest.skip("WordNet is a zip on this machine: the other tests read it")
    packed = tmp_path / "corpora" / "wordnet.zip"
    packed.parent.mkdir()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(folder.iterdir()):
            if file.is_file():
                archive.write(file, f"wordnet/{file.name}")
    assert WordNet(packed).find_senses("lend", "v") == WordNet(folder).find_senses("lend", "v")


def test_missing_files_are_reported_with_ways_to_get_them(tmp_path):
    with pytest.raises(InputError) as caught:
        WordNet(tmp_path).find_senses("car", "n")
    for part in (str(tmp_path), "apt install wordnet-base", "nltk.downloader wordnet"):
        assert part in str(caught.value)


def test_incomplete_folder_is_refused(folder, tmp_path):
    if folder.suffix == ".zip":
        pytest.skip("WordNet is a zip on this machine")
    shutil.copy(folder / "index.noun", tmp_path)
    with pytest.raises(InputError, match="does not contain"):
        WordNet(tmp_path).has_sense("car", "n")


def test_importing_loads_neither_nltk_nor_a_model():
    """The libraries are loaded at the first use."""
    code = (
        "import sys, winosmith.language, winosmith.evolve; winosmith.language.WordNet(); "
        "print([m for m in ('nltk', 'HanTa', 'lemminflect') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
