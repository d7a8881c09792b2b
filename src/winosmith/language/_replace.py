"""Replace a word in a problem, and correct the words that depend on it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from winosmith.language._forms import (
    PLURAL_ONLY,
    choose_article,
    find_countability,
    find_head,
    inflect,
    is_mass,
    lemmatize,
    tag,
)
from winosmith.problem import BLANK
from winosmith.text import FUNCTION_WORDS, find_token_spans, tokenize

_REPLACEABLE_TAGS = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ",
         "JJ", "JJR", "JJS", "RB", "RBR", "RBS")  # fmt: skip

_BEFORE_CAPITAL = frozenset((".", "!", "?", '"', "“", "”", "'", ":", "...", "(", "[", "--"))
"""Tokens after which a word may be capitalized without being a name."""

_DETERMINERS = {
    "NN": {"these": "this", "those": "that", "many": "much", "few": "little"},
    "NNS": {"this": "these", "that": "those", "much": "many", "little": "few"},
}
"""Replacements that make a determiner agree with the singular or plural noun that follows."""

_VERBS = {
    "NN": {"were": "was", "are": "is", "have": "has", "do": "does"},
    "NNS": {"was": "were", "is": "are", "has": "have", "does": "do"},
}
"""Replacements that make a verb agree with the singular or plural noun that precedes it."""

Change = tuple[int, int, str]
"""The start and end of a substring, and its replacement."""


def replace_word(
    sentence: str, options: tuple[str, ...], index: int, lemma: str
) -> tuple[str, tuple[str, ...]] | None:
    """Replace a word with another in the same inflected form, and correct the words around it.

    Number, tense, degree and capitals are those of the original word. "a" and "an", "more" and
    "most", the ending of a possessive, and verbs and determiners that agree with the noun are
    corrected. If an option contains the word, the option and each mention of the word also change.

    `index` is that of a token in `text.tokenize(sentence)`. `lemma` is the dictionary form of the
    new word or words. The result is None if the word is a name, a function word, the blank
    or punctuation. It is also None if the sentence would not change, the options would be equal, or
    the grammar would be incorrect.

    >>> replace_word("Ann lent Bea a car because _ had two.", ("Ann", "Bea"), 4, "automobile")
    ('Ann lent Bea an automobile because _ had two.', ('Ann', 'Bea'))
    """
    words = tokenize(sentence)
    if not 0 <= index < len(words) or not _is_replaceable(words, options, index):
        return None
    word = words[index]
    lowered = word.lower()
    name = _find_tag(words, index)
    form = _inflect_like(words, index, lemma, name)
    if form is None or form.lower() == lowered:
        return None
    linked = [  # whether each option mentions the word
        any(t == word or (t.lower() == lowered and t not in words) for t in tokenize(option))
        for option in options
    ]
    places = [at for at, one in enumerate(words) if one.lower() == lowered]
    places = [at for at in places if at == index or (any(linked) and not is_name(words, at))]
    number = _find_number_change(word, name, lemma)
    if number and any(linked):
        return None
    changes: list[Change] = []
    where = find_token_spans(sentence)
    for at in places:
        if not _fits_determiner(words, at, _find_tag(words, at), lemma):
            return None
        made = _list_changes(words, where, at, _copy_case(words, at, form, lemma), number)
        if made is None:
            return None
        changes += made
    made_options = tuple(
        _replace_in_option(option, word, form, lemma) if joined else option
        for option, joined in zip(options, linked, strict=True)
    )
    changed = sentence
    for start, end, new in sorted(set(changes), reverse=True):
        changed = changed[:start] + new + changed[end:]
    distinct = {option.strip().lower() for option in made_options}
    if changed == sentence or changed.count(BLANK) != 1 or len(distinct) < len(options):
        return None
    return changed, made_options


def is_name(words: Sequence[str], index: int) -> bool:
    """Return whether a token is part of a name: capitalized mid-sentence, or tagged as a name."""
    word = words[index]
    if not word[:1].isupper() or _is_all_caps(word):
        return False
    inside = index > 0 and words[index - 1] not in _BEFORE_CAPITAL
    return inside or tag(words)[index] in ("NNP", "NNPS")


def _is_replaceable(words: Sequence[str], options: Sequence[str], index: int) -> bool:
    word = words[index]
    if word == BLANK or word.lower() in FUNCTION_WORDS or not any(map(str.isalpha, word)):
        return False
    if word[0] in "'’" or is_name(words, index) or _find_tag(words, index) not in _REPLACEABLE_TAGS:
        return False
    if word[0].isupper() and any(word in tokenize(option) for option in options):
        return _is_all_caps(word)  # also capitalized in the option, so probably a name
    return True


def _find_tag(words: Sequence[str], index: int) -> str:
    return tag(tuple(one.lower() if _is_all_caps(one) else one for one in words))[index]


def _is_all_caps(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _inflect_like(words: Sequence[str], index: int, lemma: str, penn_tag: str) -> str | None:
    if lemmatize(words[index], penn_tag) == lemma.lower():
        return None
    form = inflect(lemma, _find_number_change(words[index], penn_tag, lemma) or penn_tag)
    if penn_tag in ("JJ", "RB") and _find_degree_before(words, index):
        form = inflect(lemma, penn_tag + _find_degree_before(words, index))
    word = words[index]
    if _is_all_caps(word) and len(word) > 3:
        return form.upper()
    return form[0].upper() + form[1:] if word[0].isupper() and not _is_all_caps(word) else form


def _find_degree_before(words: Sequence[str], index: int) -> str:
    before = words[index - 1].lower() if index else ""
    return {"more": "R", "most": "S"}.get(before, "")


def _find_number_change(word: str, penn_tag: str, lemma: str) -> str:
    if penn_tag == "NNS" and is_mass(lemma):
        return "NN"
    if penn_tag == "NN" and find_head(lemma) in PLURAL_ONLY and word.lower() not in PLURAL_ONLY:
        return "NNS"
    return ""


_SINGULAR_DETERMINERS = frozenset("a an one each every another either neither".split())
"""Determiners that occur only before a countable singular."""

_PLURAL_DETERMINERS = frozenset("several both various numerous couple few".split())
"""Determiners that, like numbers, occur only before a countable plural."""

_ANY_DETERMINERS = frozenset(
    "the this that my your his her its our their whose which what no 's ’s ' ’".split()
)
"""Determiners before a countable singular or a mass noun."""


def _fits_determiner(words: Sequence[str], index: int, penn_tag: str, lemma: str) -> bool:
    """Return whether the noun's determiner also fits the new noun's countability.

    A mass noun can't follow "a", "each" or a number. A countable singular needs a determiner; a
    mass noun does not ("gave advice").
    """
    if penn_tag not in ("NN", "NNS"):
        return True
    tags, first = tag(words), index - 1
    while first >= 0 and tags[first].startswith(("JJ", "RB", "VBN", "VBG")):
        first -= 1
    before = words[first].lower() if first >= 0 and tags[first] != "IN" else ""  # "said that …"
    if is_mass(lemma):
        is_number = first >= 0 and tags[first] == "CD"
        return not is_number and before not in (
            _SINGULAR_DETERMINERS if penn_tag == "NN" else _PLURAL_DETERMINERS
        )
    from_mass = penn_tag == "NN" and is_mass(words[index].lower())
    return not from_mass or find_countability(lemma) is None or before in _ANY_DETERMINERS


def _copy_case(words: Sequence[str], index: int, form: str, lemma: str) -> str:
    if lemma[:1].isupper() or _is_all_caps(words[index]):
        return form
    first = form[0].upper() if words[index][0].isupper() else form[0].lower()
    return first + form[1:]


def _replace_in_option(option: str, word: str, form: str, lemma: str) -> str:
    def format_match(match: re.Match[str]) -> str:
        keeps = word.isupper() or form.isupper() or lemma[:1].isupper()
        small = form if keeps else form[0].lower() + form[1:]
        return form[0].upper() + form[1:] if match[0][0].isupper() and not word.isupper() else small

    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", format_match, option, flags=re.IGNORECASE)


def _list_changes(
    words: Sequence[str], spans: Sequence[tuple[int, int]], index: int, form: str, number_tag: str
) -> list[Change] | None:
    start, end = spans[index]
    drops_more = _find_degree_before(words, index) != "" and _find_tag(words, index) in ("JJ", "RB")
    changes: list[Change] = [(spans[index - 1][0] if drops_more else start, end, form)]
    changes += _correct_possessive(words, spans, index, form)
    first = index - drops_more
    before = words[first - 1].lower() if first else ""
    if before in ("a", "an"):
        if number_tag:
            return None
        changes.append((*spans[first - 1], _match_case(words[first - 1], choose_article(form))))
    if number_tag:
        changes += _correct_agreement(words, spans, index, number_tag)
    return changes


def _correct_possessive(
    words: Sequence[str], spans: Sequence[tuple[int, int]], index: int, form: str
) -> list[Change]:
    after = index + 1
    if after == len(words) or words[after] not in ("'s", "'", "’s", "’"):
        return []
    start, end = spans[after]
    if start != spans[index][1] or (len(words[after]) == 1 and not words[index].endswith("s")):
        return []
    plural = _find_tag(words, index) == "NNS" and form.endswith("s")
    return [(start, end, words[after][0] + ("" if plural else "s"))]


def _correct_agreement(
    words: Sequence[str], spans: Sequence[tuple[int, int]], index: int, number_tag: str
) -> list[Change]:
    before, after = _DETERMINERS[number_tag], _VERBS[number_tag]
    changes: list[Change] = []
    if index and words[index - 1].lower() in before:
        determiner = words[index - 1]
        changes.append((*spans[index - 1], _match_case(determiner, before[determiner.lower()])))
    verb = index + 1
    while verb < len(words) and tag(words)[verb] == "RB":
        verb += 1
    if verb < len(words) and words[verb].lower() in after:
        changes.append((*spans[verb], after[words[verb].lower()]))
    elif verb < len(words) and tag(words)[verb] in ("VBZ", "VBP"):
        base = lemmatize(words[verb], tag(words)[verb])
        changes.append((*spans[verb], inflect(base, "VBZ") if number_tag == "NN" else base))
    return changes


def _match_case(model: str, word: str) -> str:
    return word.capitalize() if model[0].isupper() else word
