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
from winosmith.text import FUNCTION_WORDS, tokens

_REPLACEABLE_TAGS = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ",
         "JJ", "JJR", "JJS", "RB", "RBR", "RBS")  # fmt: skip
"""The tags of words that may be replaced."""

_BEFORE_CAPITAL = frozenset((".", "!", "?", '"', "“", "”", "'", ":", "...", "(", "[", "--"))
"""Tokens after which a word may be capitalized without being a name."""

_DETERMINERS = {
    "NN": {"these": "this", "those": "that", "many": "much", "few": "little"},
    "NNS": {"this": "these", "that": "those", "much": "many", "little": "few"},
}
"""Determiners that agree with a noun, and their forms before a singular or plural."""

_VERBS = {
    "NN": {"were": "was", "are": "is", "have": "has", "do": "does"},
    "NNS": {"was": "were", "is": "are", "has": "have", "does": "do"},
}
"""Verbs that agree with a noun before them, and their forms after a singular or plural."""

Change = tuple[int, int, str]
"""Start and end of a substring, and the new text for it."""


def replace_word(
    sentence: str, options: tuple[str, ...], word: int, lemma: str
) -> tuple[str, tuple[str, ...]] | None:
    """Replace a word with another in the same inflected form, and correct the words around it.

    Number, tense, degree and capitals are those of the original word. "a" and "an", "more" and
    "most", the ending of a possessive, and verbs and determiners that agree with the noun are
    corrected. If an option contains the word, the option and each mention of the word change too.

    Args:
        sentence: a sentence with a blank.
        options: options of the problem.
        word: index of the token in `winosmith.text.tokens(sentence)`.
        lemma: dictionary form of the new word or words.

    Returns:
        The new sentence and options; None if the word is a name, a function word, the blank or
        punctuation, or if the sentence would not change, the options would be equal, or the
        grammar incorrect.

    Raises:
        MissingExtraError: the libraries of the extra `language` are not installed.

    >>> replace_word("Ann lent Bea a car because _ had two.", ("Ann", "Bea"), 4, "automobile")
    ('Ann lent Bea an automobile because _ had two.', ('Ann', 'Bea'))
    """
    words = tokens(sentence)
    if not 0 <= word < len(words) or not _is_replaceable(words, options, word):
        return None
    name = _find_tag(words, word)
    form = _inflect(words, word, lemma, name)
    if form is None or form.lower() == words[word].lower():
        return None
    linked = [_is_linked(option, words[word], words) for option in options]
    places = [at for at, one in enumerate(words) if one.lower() == words[word].lower()]
    places = [at for at in places if at == word or (any(linked) and not is_name(words, at))]
    number = _find_number_change(words[word], name, lemma)
    if number and any(linked):
        return None
    changes: list[Change] = []
    where = find_spans(sentence, words)
    for at in places:
        if not _fits_determiner(words, at, _find_tag(words, at), lemma):
            return None
        made = _list_changes(words, where, at, _match_word(words, at, form, lemma), number)
        if made is None:
            return None
        changes += made
    made_options = tuple(
        _replace_in_option(option, words[word], form, lemma) if joined else option
        for option, joined in zip(options, linked, strict=True)
    )
    changed = sentence
    for start, end, new in sorted(set(changes), reverse=True):
        changed = changed[:start] + new + changed[end:]
    distinct = {option.strip().lower() for option in made_options}
    if changed == sentence or changed.count(BLANK) != 1 or len(distinct) < len(options):
        return None
    return changed, made_options


def is_name(words: Sequence[str], at: int) -> bool:
    """Return whether a token is part of a name: capitalized inside a sentence, or tagged so."""
    word = words[at]
    if not word[:1].isupper() or _is_all_caps(word):
        return False
    inside = at > 0 and words[at - 1] not in _BEFORE_CAPITAL
    return inside or tag(words)[at] in ("NNP", "NNPS")


def find_spans(sentence: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the start and end of each token in the sentence."""
    found, cursor = [], 0
    for token in words:
        start = sentence.index(token, cursor)
        cursor = start + len(token)
        found.append((start, cursor))
    return found


def _is_replaceable(words: Sequence[str], options: Sequence[str], at: int) -> bool:
    word = words[at]
    if word == BLANK or word.lower() in FUNCTION_WORDS or not any(map(str.isalpha, word)):
        return False
    if word[0] in "'’" or is_name(words, at) or _find_tag(words, at) not in _REPLACEABLE_TAGS:
        return False
    if word[0].isupper() and any(word in tokens(option) for option in options):
        return _is_all_caps(word)  # also capitalized in the option, so probably a name
    return True


def _find_tag(words: Sequence[str], at: int) -> str:
    return tag(tuple(one.lower() if _is_all_caps(one) else one for one in words))[at]


def _is_all_caps(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _inflect(words: Sequence[str], at: int, new: str, name: str) -> str | None:
    if lemmatize(words[at], name) == new.lower():
        return None
    form = inflect(new, _find_number_change(words[at], name, new) or name)
    if name in ("JJ", "RB") and _find_degree_before(words, at):
        form = inflect(new, name + _find_degree_before(words, at))
    word = words[at]
    if _is_all_caps(word) and len(word) > 3:
        return form.upper()
    return form[0].upper() + form[1:] if word[0].isupper() and not _is_all_caps(word) else form


def _find_degree_before(words: Sequence[str], at: int) -> str:
    before = words[at - 1].lower() if at else ""
    return {"more": "R", "most": "S"}.get(before, "")


def _find_number_change(word: str, name: str, new: str) -> str:
    if name == "NNS" and is_mass(new):
        return "NN"
    if name == "NN" and find_head(new) in PLURAL_ONLY and word.lower() not in PLURAL_ONLY:
        return "NNS"
    return ""


_SINGULAR = frozenset("a an one each every another either neither".split())
"""Determiners that occur only before a countable singular."""

_PLURAL = frozenset("several both various numerous couple few".split())
"""Determiners that, like numbers, occur only before a countable plural."""

_ANY_DETERMINERS = frozenset(
    "the this that my your his her its our their whose which what no 's ’s ' ’".split()
)
"""Determiners before a countable singular or a mass noun."""


def _fits_determiner(words: Sequence[str], at: int, name: str, new: str) -> bool:
    """Return whether the noun's determiner also fits the new noun's countability.

    A mass noun can't follow "a", "each" or a number; a countable singular needs a determiner, which
    a mass noun does not ("gave advice").
    """
    if name not in ("NN", "NNS"):
        return True
    tags, first = tag(words), at - 1
    while first >= 0 and tags[first].startswith(("JJ", "RB", "VBN", "VBG")):
        first -= 1
    before = words[first].lower() if first >= 0 and tags[first] != "IN" else ""  # "said that …"
    if is_mass(new):
        is_number = first >= 0 and tags[first] == "CD"
        return not is_number and before not in (_SINGULAR if name == "NN" else _PLURAL)
    from_mass = name == "NN" and is_mass(words[at].lower())
    return not from_mass or find_countability(new) is None or before in _ANY_DETERMINERS


def _is_linked(option: str, word: str, words: Sequence[str]) -> bool:
    return any(
        one == word or (one.lower() == word.lower() and one not in words) for one in tokens(option)
    )


def _match_word(words: Sequence[str], at: int, form: str, new: str) -> str:
    if new[:1].isupper() or _is_all_caps(words[at]):
        return form
    first = form[0].upper() if words[at][0].isupper() else form[0].lower()
    return first + form[1:]


def _replace_in_option(option: str, word: str, form: str, new: str) -> str:
    def changed(found: re.Match[str]) -> str:
        keeps = word.isupper() or form.isupper() or new[:1].isupper()
        small = form if keeps else form[0].lower() + form[1:]
        return form[0].upper() + form[1:] if found[0][0].isupper() and not word.isupper() else small

    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", changed, option, flags=re.IGNORECASE)


def _list_changes(
    words: Sequence[str], where: Sequence[tuple[int, int]], at: int, form: str, number: str
) -> list[Change] | None:
    start, end = where[at]
    drops_more = _find_degree_before(words, at) != "" and _find_tag(words, at) in ("JJ", "RB")
    changes: list[Change] = [(where[at - 1][0] if drops_more else start, end, form)]
    changes += _change_possessive(words, where, at, form)
    first = at - drops_more
    before = words[first - 1].lower() if first else ""
    if before in ("a", "an"):
        if number:
            return None
        changes.append((*where[first - 1], _match_case(words[first - 1], choose_article(form))))
    if number:
        changes += _make_agree(words, where, at, number)
    return changes


def _change_possessive(
    words: Sequence[str], where: Sequence[tuple[int, int]], at: int, form: str
) -> list[Change]:
    after = at + 1
    if after == len(words) or words[after] not in ("'s", "'", "’s", "’"):
        return []
    start, end = where[after]
    if start != where[at][1] or (len(words[after]) == 1 and not words[at].endswith("s")):
        return []
    plural = _find_tag(words, at) == "NNS" and form.endswith("s")
    return [(start, end, words[after][0] + ("" if plural else "s"))]


def _make_agree(
    words: Sequence[str], where: Sequence[tuple[int, int]], at: int, number: str
) -> list[Change]:
    before, after = _DETERMINERS[number], _VERBS[number]
    changes: list[Change] = []
    if at and words[at - 1].lower() in before:
        changes.append((*where[at - 1], _match_case(words[at - 1], before[words[at - 1].lower()])))
    verb = at + 1
    while verb < len(words) and tag(words)[verb] == "RB":
        verb += 1
    if verb < len(words) and words[verb].lower() in after:
        changes.append((*where[verb], after[words[verb].lower()]))
    elif verb < len(words) and tag(words)[verb] in ("VBZ", "VBP"):
        base = lemmatize(words[verb], tag(words)[verb])
        changes.append((*where[verb], inflect(base, "VBZ") if number == "NN" else base))
    return changes


def _match_case(model: str, word: str) -> str:
    return word.capitalize() if model[0].isupper() else word
