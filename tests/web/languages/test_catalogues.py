"""`docs/make_catalogues.py`: it finds every text, keeps translations, and reports faulty ones."""

from gettext import GNUTranslations
from typing import Any

import polib
import pytest

from tests.web import translated


@pytest.fixture(scope="module")
def catalogues(site: Any) -> Any:
    """Return the script as a module."""
    return translated.script()


def test_texts_are_found_in_code_and_templates(catalogues):
    code = (
        'x = _("a " "b"); y = ngettext("%d c", "%d cs", n) % n\nz = gettext_lazy(\n  "d"\n)\n_(e)'
    )
    assert list(catalogues.calls(code)) == [("a b", ""), ("%d c", "%d cs"), ("d", "")]
    one = {text.one: text for text in catalogues.texts()}
    assert one["%(n)s family"].many == "%(n)s families"
    assert one["Options"].places == sorted(one["Options"].places)
    assert len(one["Options"].places) > 3
    assert "There is no page at this address, or it is not public." in one
    assert one["At least %d %% of the words shared"].formatted
    assert not one["95 % interval"].formatted


def test_catalogue_is_created_and_updated(catalogues, tmp_path, monkeypatch, capsys):
    """A new language gets every text and its plural rule; an update keeps the translations."""
    monkeypatch.setattr(catalogues, "LOCALE", tmp_path)
    catalogues.main(["ar"])
    path = tmp_path / "ar/LC_MESSAGES/django.po"
    begun = polib.pofile(path)
    total = len(catalogues.texts())
    assert capsys.readouterr().out == f"ar: {total} texts, {total} to translate\n"
    known = {entry.msgid: entry for entry in begun}
    assert len(known["%(n)s family"].msgstr_plural) == 6
    known["%(n)s family"].msgstr_plural = {n: f"%(n)s {n}" for n in range(6)}
    known["Options"].msgstr = "<b>"
    begun.append(polib.POEntry(msgid="Of no page", msgstr="x"))
    begun.save()
    catalogues.main()
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"ar: {total} texts, {total - 2} to translate"
    assert second == f"{path}: tags differ from the English text: '<b>'"
    assert "Of no page" not in {entry.msgid for entry in polib.pofile(path)}
    with path.with_suffix(".mo").open("rb") as file:
        compiled = GNUTranslations(file)
    said = [compiled.ngettext("%(n)s family", "%(n)s families", n) for n in (0, 1, 2, 3, 11, 100)]
    assert said == [f"%(n)s {n}" for n in range(6)]
    with pytest.raises(SystemExit, match="Django has no language 'xx'"):
        catalogues.main(["xx"])


def test_complete_translation_has_no_faults(catalogues):
    made = translated.catalogue()
    assert made.untranslated_entries() == []
    assert catalogues.faults(made) == []


@pytest.mark.parametrize(
    ("english", "translation", "fault"),
    [
        ("%(n)s of %(all)s", "%(all)s / %(n)s", ""),
        ("%(n)s of %(all)s", "%(n)s", "values differ"),
        ("%s of %d", "%d / %s", "values differ"),
        ("{n} of", "{m} of", "values differ"),
        ("<b>no</b>", "<i>no</i>", "tags differ"),
        ('<a href="/x/">no</a>', '<a href="/y/">no</a>', "tags differ"),
        ("no", "<no", "markup"),
        ("no", "\u202eno", "control characters"),
        ("no", " no", "control characters"),
    ],
)
def test_faulty_translation_is_reported(catalogues, english, translation, fault):
    flags = ["python-format"] if "%" in english else []
    entry = polib.POEntry(msgid=english, msgstr=translation, flags=flags)
    found = catalogues.faults([entry])
    assert [one.startswith(fault) for one in found] == [True] * bool(fault)
