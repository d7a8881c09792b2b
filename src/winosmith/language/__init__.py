"""English words: tags, inflected forms and senses, with nltk, lemminflect and HanTa.

>>> from winosmith.language import inflect, lemmatize
>>> inflect(lemmatize("lent", "VBN"), "VBZ")
'lends'
"""

from __future__ import annotations

from winosmith.language._forms import (
    choose_article,
    estimate_log_frequency,
    inflect,
    is_mass,
    lemmatize,
    tag,
)
from winosmith.language._replace import is_name, replace_word
from winosmith.language._wordnet import Sense, Synonym, WordNet, find_wordnet_folder

__all__ = [
    "Sense",
    "Synonym",
    "WordNet",
    "choose_article",
    "estimate_log_frequency",
    "find_wordnet_folder",
    "inflect",
    "is_mass",
    "is_name",
    "lemmatize",
    "replace_word",
    "tag",
]
