"""Dictionary forms and inflected forms, one kind after the other."""

from __future__ import annotations

import pytest

FORMS = """
lend VBD lent | lend VBN lent | join VBD joined | buy VBD bought | stop VBG stopping | lie VBG lying
carry VBZ carries | wash VBZ washes | panic VBD panicked | travel VBG traveling | drink VBN drunk
give+up VBD gave+up | look+after VBZ looks+after | throw+away VBG throwing+away
bottle NNS bottles | knife NNS knives | child NNS children | mouse NNS mice | tomato NNS tomatoes
feeding+bottle NNS feeding+bottles | mother-in-law NNS mothers-in-law | passer-by NNS passers-by
scissors NNS scissors | box NNS boxes | lady NNS ladies | sheep NNS sheep | hero NNS heroes
big JJR bigger | happy JJS happiest | good JJR better | bad JJS worst | enormous JJR more+enormous
clever JJS cleverest | tired JJR more+tired | fast RBR faster | quickly RBR more+quickly
large JJR larger | dry JJR drier | simple JJS simplest | careful JJS most+careful
"""


def written(forms: str) -> list[tuple[str, str, str]]:
    """Return lemma, tag and form of each entry."""
    entries = forms.replace("\n", "|").split("|")
    parts = [entry.replace("+", "\0").split() for entry in entries if entry.strip()]
    return [tuple(part.replace("\0", " ") for part in entry) for entry in parts]  # type: ignore[misc]


@pytest.mark.parametrize(("lemma", "tag", "form"), written(FORMS))
def test_words_take_the_form_that_the_tag_asks_for(lemma: str, tag: str, form: str) -> None:
    """Regular, irregular and multiword lemmas give their forms."""
    from winosmith.language import inflect

    accepted = {"traveling": ("traveling", "travelling")}.get(form, (form,))
    assert inflect(lemma, tag) in accepted


@pytest.mark.parametrize(
    ("word", "tag", "lemma"),
    [
        ("Lent", "VBN", "lend"),
        ("knives", "NNS", "knife"),
        ("better", "JJR", "good"),
        ("better", "RBR", "well"),
        ("left", "VBD", "leave"),
        ("stopped", "VBD", "stop"),
        ("children", "NNS", "child"),
        ("happiest", "JJS", "happy"),
        ("scissors", "NNS", "scissors"),
        ("glass", "NN", "glass"),
        ("was", "VBD", "be"),
        ("because", "IN", "because"),
    ],
)
def test_a_form_gives_its_dictionary_form(word: str, tag: str, lemma: str) -> None:
    """The dictionary form is found by tag; words of other tags are their own."""
    from winosmith.language import lemma as lemma_of

    assert lemma_of(word, tag) == lemma
