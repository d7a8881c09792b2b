"""The declared licence and canary of a data set."""

import zipfile
from pathlib import Path

import pytest

from winosmith import Dataset, Origin, Problem, audit


def _write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


GUID = "26b5c67b-86ad-4a3e-8f4d-9a3f1d1a0f3c"


@pytest.mark.parametrize(
    ("card", "text", "says"),
    [
        ("README.md", "---\nlicense: cc-by-4.0\n---\n# Quiz", "cc-by-4.0"),
        ("readme.txt", "# Quiz\n\n## Licence\n\nFor research alone.", "For research alone."),
        ("DATASHEET.md", "- **License:** MIT", "MIT"),
        ("LICENSE", "\nApache License\nVersion 2.0", "Apache License"),
        ("croissant.json", '{"name": "x",\n "license": "mit"}', "mit"),
        ("notes.md", "license: none of my business", None),
    ],
)
def test_licence_is_read_from_cards_next_to_the_file(card, text, says, tmp_path):
    path = _write(tmp_path / "quiz.jsonl", ["{}"])
    _write(tmp_path / card, [text])
    assert audit.find_declarations(path).licence == (says and (says, card))


def test_licence_of_items_has_priority_and_canary_needs_a_guid(tmp_path):
    """A canary is the word with a GUID, in the file or a card."""
    (tmp_path / "data").mkdir()
    path = _write(tmp_path / "data" / "quiz.jsonl", ['{"question": "Is a canary a bird?"}'])
    item = Problem("a", "It is _", ("x", "y"), 0, origin=Origin(licence="CC0-1.0"))
    data = Dataset([item], "quiz")
    known = audit.find_declarations(path, data)
    assert known == audit.Declarations(("CC0-1.0", "its items"), None)
    found = audit.audit(data, draws=19, probe_draws=0, declared={"quiz": known})
    assert found.failures("licence,canary") == ["quiz: no canary is declared"]
    assert "No canary is declared for quiz" in audit.render_page(found)
    _write(tmp_path / "CANARY", [f"BENCHMARK DATA. canary GUID {GUID}"])
    assert audit.find_declarations(path).canary == (GUID, "CANARY")


def test_canary_is_found_in_any_file_of_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "quiz.zip", "w") as archive:
        archive.writestr("one.jsonl", "{}")
        archive.writestr("two.jsonl", f"canary GUID {GUID}")
    assert audit.find_declarations(tmp_path / "quiz.zip").canary == (GUID, "quiz.zip")
