"""Lists of labels without ids: their first line, headers, missing labels and texts."""

from pathlib import Path

import pytest

from tests.answers.items import DATA, KEYS, LETTERS, write_text
from winosmith import Dataset, Problem, answers
from winosmith.errors import FormatError


@pytest.mark.parametrize("first", ["NA", "nan", "<NA>", "#N/A", "?", "[invalid]", '"NA"'])
def test_a_list_may_begin_with_any_label(first: str, tmp_path: Path) -> None:
    """A missing label is missing and another one invalid, also in the first line."""
    path = write_text(tmp_path / "m.lst", "\n".join([first, *(LETTERS[key] for key in KEYS[1:])]))
    found = answers.read(path, DATA)["m"].by_id
    assert [found[name].choice for name in DATA.ids[1:]] == KEYS[1:]
    assert ("q0" in found) == (first in ("?", "[invalid]"))


def test_a_list_may_have_a_header_or_texts(tmp_path: Path) -> None:
    """The name of the column is no label, and an option's text is one."""
    plain = Dataset(DATA.problems[::2])
    for first in ("prediction\n", "llama-3.1 (8B)\n", ""):
        texts = "\n".join(p.options[p.answer or 0] for p in plain)
        found = answers.read(write_text(tmp_path / "m.lst", first + texts), plain)["m"]
        assert [one.choice for one in found.predictions] == KEYS[::2]
    path = write_text(tmp_path / "m.lst", f"{plain[0].options[0]}\n{texts}")
    with pytest.raises(FormatError, match="the list has 7 labels, but there are 6"):
        answers.read(path, plain)


def test_a_list_keeps_the_quotes_of_texts(tmp_path: Path) -> None:
    """Quotes are removed only around a whole line."""
    options = ('It said "no"', 'It said "yes"', "red, blue")
    items = Dataset(Problem(f"q{at}", f"Why {at}?", options, 0, blank=None) for at in range(3))
    path = write_text(tmp_path / "m.lst", f'{options[0]}\n{options[1]}\n"{options[2]}"\n')
    assert [one.choice for one in answers.read(path, items)["m"].predictions] == [0, 1, 2]


def test_zero_among_letters_is_invalid(tmp_path: Path) -> None:
    """A code for no answer is no option; with other numbers, the count may start at 0."""
    letters = [LETTERS[key] for key in KEYS]
    path = write_text(tmp_path / "m.lst", "\n".join(["0", *letters[1:]]))
    assert [one.choice for one in answers.read(path, DATA)["m"].predictions] == [None, *KEYS[1:]]
    path = write_text(path, "\n".join(["0", "1", *letters[2:]]))
    with pytest.raises(FormatError, match="0 is not a label: options are numbered from 1"):
        answers.read(path, DATA)


def test_a_list_without_a_readable_label_is_refused(tmp_path: Path) -> None:
    """Numerals that mark no option are not counted as twelve incorrect answers."""
    path = write_text(tmp_path / "m.lst", "\n".join("一二三四"[key] for key in KEYS))
    with pytest.raises(FormatError, match="no answer is an option letter"):
        answers.read(path, DATA)
