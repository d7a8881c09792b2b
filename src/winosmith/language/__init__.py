"""English words: their tags, forms and senses; only this uses nltk, lemminflect and HanTa.

>>> from winosmith.language import inflect, lemma
>>> inflect(lemma("lent", "VBN"), "VBZ")
'lends'
"""

from __future__ import annotations

from winosmith.language._forms import article, inflect, is_mass, lemma, tag, usage
from winosmith.language._replace import is_name, replace_word
from winosmith.language._wordnet import Sense, Synonym, WordNet, wordnet_folder

__all__ = [
    "Sense",
    "Synonym",
    "WordNet",
    "article",
    "inflect",
    "is_mass",
    "is_name",
    "lemma",
    "replace_word",
    "tag",
    "usage",
    "wordnet_folder",
]
