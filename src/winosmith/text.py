"""Split text into words and tokens, and measure length, overlap, edits and local context.

Sentences are split in two ways, because the published numbers use both:

- `words` are separated by white space. WinoGrande's rules for authors count words: 99.7 % of the
  dev and debiased problems have 15 to 30 words, and the halves of 99.96 % of the twins share 70 %
  of their words (with `tokens`: 97.8 % and 100 %).
- `tokens` follow the Penn Treebank, sentence by sentence: punctuation is separate, and "doesn't"
  becomes "does n't". WinoGrande's table 5 counts lower-cased tokens: DPR has 15.9 per sentence and
  a vocabulary of 4,127, SuperGLUE-WSC 28.4 and 1,711, WSC273 19.1 and 918 (919 if opening and
  closing quotes are different tokens). Perturbation depth also counts tokens.

The blank `_` counts as a word and as a token.

Both need spaces between words, and their conventions and function words are English.
`detect_script` detects texts without such spaces, in which words are not counted. `units` works
for any script. `diff_text` and `mark_differences` show how the tokens of two sentences differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from winosmith.errors import ProblemError
from winosmith.problem import BLANK

Writing = Literal["latin", "spaced", "unspaced"]
"""Kinds of scripts: Latin; others with spaces between words (Cyrillic, Greek, Arabic, Hebrew,
Hangul, Devanagari …); scripts without spaces (Chinese, Japanese, Thai …)."""

_UNSPACED = frozenset(
    "CJK HIRAGANA KATAKANA KATAKANA-HIRAGANA BOPOMOFO IDEOGRAPHIC YI THAI LAO KHMER MYANMAR TIBETAN"
    " JAVANESE BALINESE".split()
)
"""First word of the Unicode names of letters in scripts without spaces between words."""

MIN_UNSPACED_FRACTION, MIN_LATIN_FRACTION = 0.2, 0.5
"""Minimum fractions of letters for a text to be "unspaced" and "latin", so that a quoted word does
not matter. The first is smaller, because a Chinese word has fewer letters than a Latin one."""

_MAX_CONSECUTIVE_MARKS = 256
"""Number of consecutive combining marks after which a text is split; real letters have few."""

_NO_ASCII = re.compile(rf"[^\x00-\x7f]{{{_MAX_CONSECUTIVE_MARKS},}}")


def normalize(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """Return a text in a Unicode normalization form (UAX 15), in linear time.

    Python sorts the combining marks of a letter in quadratic time: a million of them would take
    hours. Text with 256 or more marks in a row is therefore normalized in parts.

    >>> normalize("cafe\u0301"), normalize("ﬁ", "NFKC")
    ('café', 'fi')
    """
    if text.isascii():
        return text
    apart: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"
    ends, marks = [0], 0
    for at, sign in enumerate(text if _NO_ASCII.search(text) else "", 1):
        # A character that is not a mark itself may decompose into two marks.
        is_mark = unicodedata.combining(unicodedata.normalize(apart, sign)[0])
        marks = marks + 1 if is_mark else 0
        if marks == _MAX_CONSECUTIVE_MARKS:
            ends.append(at)
            marks = 0
    parts = (text[start:end] for start, end in pairwise([*ends, len(text)]))
    return "".join(unicodedata.normalize(form, part) for part in parts)


_TITLES = "".join(rf"(?<!\b{title}\.)" for title in ("Mr", "Mrs", "Ms", "Dr", "Prof", "St"))
_SENTENCE_END = re.compile(rf"(?:(?<=[.?!][\"')])|(?<=[.?!]){_TITLES})\s+(?![a-z])")
"""Space after a full stop, except after a title ("Mr. Moncrieff") or before lower-case letters."""

_TREEBANK_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\.\.\.|--|[;@#$%&?!\[\](){}<>“”\"]"), r" \g<0> "),
    (re.compile(r"[:,](?!\d)"), r" \g<0> "),  # "10:30" and "1,000" stay whole
    (re.compile(r"(?<=[^.])\.(?=[\s\])}>\"'”’]*$)"), r" ."),  # only the last full stop
    (re.compile(r"(?<=[^'])'(?=\s|$)"), r" '"),  # a closing quote or a plural possessive
    (re.compile(r"(?<=[^' ])('(?:s|m|d|ll|re|ve)|n't)(?=\s|$)", re.IGNORECASE), r" \1"),
    (re.compile(r"\b(can)(not)\b|\b(gon|wan)(na)\b", re.IGNORECASE), r"\1\3 \2\4"),
)
"""The Penn Treebank's tokenisation rules (Marcus et al. 1993 and its web page), in order of use."""

_SPLIT_WORDS = ("cannot", "gonna", "wanna")
"""Words that `_TREEBANK_RULES` split although they contain no punctuation."""

_SPACED = "A-Za-z0-9\u00c0-\u024f\u0370-\u058f\u10a0-\u10ff\u1e00-\u1fff"
"""Digits and letters of scripts with separate words: Latin, Greek, Cyrillic, Armenian, Georgian. In
other scripts, which have no spaces or attach particles to words, text may touch the blank."""

_GLUED_BEFORE = re.compile(rf"(?<=[{_SPACED}]){BLANK}")
_GLUED_AFTER = re.compile(rf"{BLANK}(?=[{_SPACED}])(?!(?:s|es)(?![{_SPACED}]))")
"""A blank that touches a word, except a plural ending as in "the _s were full"."""

MAX_CACHED = 1000
"""Maximum length of a text whose tokens are cached; no problem is longer."""

FUNCTION_WORDS = frozenset(
    """a about above after again against all although am an and any are as at be because been
    before being below between both but by can could did do does doing down during each either
    else even ever every few for from further had has have having he her here hers herself him
    himself his how however i if in into is it its itself just less let many may me might mine
    more most much must my myself neither no nor not of off on once one only onto or other our
    ours ourselves out over own quite rather same shall she should since so some still such than
    that the their theirs them themselves then there these they this those though through thus to
    too toward under unless until up upon us very was we were what when where whether which while
    who whom whose why will with within without would yet you your yours yourself yourselves
    ca n't 's 'm 'd 'll 're 've""".split()
)
"""Function words, which can't be anchors (WinoGrande, section 2: "the, it, he, of")."""


_INVISIBLE = re.compile(
    r"[\0-\x08\x0e-\x1b\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef]"
)
"""Control characters and invisible characters (Unicode's Default_Ignorable_Code_Point, except for
the tags of flags)."""

_LOOKALIKES = str.maketrans(
    "авекмнорстухѕіјһԁԛԝαβεικνορτυχγօոսհցɑɡ", "abekmhopctyxsijhdqwabeikvoptuxyonuhgag"
)
"""Latin letters that look like other lower-cased letters or their capitals (Unicode Technical
Standard 39, "Confusable Detection")."""


def remove_invisible(text: str) -> str:
    r"""Return a text without invisible characters, such as zero-width spaces.

    >>> remove_invisible("a\u200b cup")
    'a cup'
    """
    is_plain = text.isascii() and text.isprintable()
    return text if is_plain else _INVISIBLE.sub("", text)


def normalize_name(name: str) -> str:
    r"""Return a person's name in the form in which names are compared.

    >>> normalize_name(" Jose\u0301\u200b") == "José"
    True
    """
    return remove_invisible(normalize(name)).strip()


def fold(text: str) -> str:
    """Normalise a text for comparison, so that texts that look alike in lower case become equal.

    >>> fold("The сup") == fold("the cup")  # the first "с" is Cyrillic
    True
    """
    return normalize(remove_invisible(text), "NFKC").lower().translate(_LOOKALIKES)


@lru_cache(4096)
def _get_script(letter: str) -> str:
    """Return a letter's script: the first word of its Unicode name, such as "LATIN" or "CJK"."""
    name = unicodedata.name(letter, "").removeprefix("HALFWIDTH ").removeprefix("FULLWIDTH ")
    return name.partition(" ")[0]


def detect_script(text: str) -> Writing:
    """Detect the kind of script of a text from the Unicode names of its letters.

    A text of several scripts is "unspaced" if at least `MIN_UNSPACED_FRACTION` of its letters are,
    otherwise "latin" if at least `MIN_LATIN_FRACTION` are Latin. A text without letters is "latin".

    >>> (detect_script("The cup hit the 茶碗 and the _ broke."),
    ...  detect_script("Чашка упала, и _ разбилась."))
    ('latin', 'spaced')
    >>> (detect_script("茶碗が急須に当たって_が割れた。"),
    ...  detect_script("AliceはBobに_の本を貸した。"))
    ('unspaced', 'unspaced')
    """
    if text.isascii():
        return "latin"
    scripts = [_get_script(letter) for letter in text if letter.isalpha()]
    if not scripts:
        return "latin"
    unspaced = sum(script in _UNSPACED for script in scripts)
    if unspaced >= MIN_UNSPACED_FRACTION * len(scripts):
        return "unspaced"
    return "latin" if scripts.count("LATIN") >= MIN_LATIN_FRACTION * len(scripts) else "spaced"


def split_words(text: str) -> list[str]:
    """Split a text at white space, in accordance with WinoGrande's rules for authors.

    >>> split_words("He said: _ doesn't fit.")
    ['He', 'said:', '_', "doesn't", 'fit.']
    """
    return text.split()


def split_pieces(text: str) -> list[str]:
    """Split a text into words, or into pairs of letters, for similarity measures.

    Text without spaces is split into pairs of neighbouring letters, so that a changed word changes
    its own pairs and one more. Single characters would not suffice, because different Japanese
    sentences often share them.

    >>> split_pieces("It is large."), split_pieces("大き すぎる")
    (['It', 'is', 'large.'], ['大き', 'きす', 'すぎ', 'ぎる'])
    """
    if detect_script(text) != "unspaced":
        return split_words(text)
    letters = "".join(text.split())
    return [letters[at : at + 2] for at in range(len(letters) - 1)] or [letters]


def split_units(text: str, whole: Sequence[str] = ()) -> list[str]:
    """Split a text into lower-cased units for counting and comparison.

    Units are tokens. In text without spaces between words, units are the letters and the pairs of
    neighbouring letters, in order. For Chinese, both together are as good as a dictionary of words
    (Nie, Gao, Zhang and Zhou 2000, "On the use of words and n-grams for Chinese information
    retrieval"). A word of another script ("Alice", "10") is one unit, and so is each punctuation
    mark. The blank is a unit. The texts in `whole`, such as options, are never split in text
    without spaces.

    >>> split_units("The Cup broke.")
    ['the', 'cup', 'broke', '.']
    >>> split_units("Aliceは赤い_、茶碗。", ["茶碗"])
    ['alice', 'aliceは', 'は', 'は赤', '赤', '赤い', 'い', '_', '、', '茶碗', '。']
    """
    if detect_script(text) != "unspaced":
        return [token.lower() for token in tokenize(text)]
    lowered = text.lower()
    names = sorted({name.lower() for name in whole if name.strip()} | {BLANK}, key=len)
    found: list[str] = []
    for part in re.split(f"({'|'.join(map(re.escape, names[::-1]))})", lowered):
        if part in names:
            found.append(part)
            continue
        cut = list[tuple[str, bool]]()
        for kind, run in groupby(part, _classify_character):
            if kind == "word":
                cut.append(("".join(run), True))
            elif kind != "space":
                cut += ((sign, kind == "letter") for sign in run)
        for (one, is_word), (other, is_next) in pairwise([*cut, ("", False)]):
            found += [one, one + other] if is_word and is_next else [one]
    return found


STEM, ENDING = 3, 2
"""Minimum length of the common prefix of inflected forms, and the length of an ending."""


def get_inflection_prefix(word: str) -> str:
    """Return the prefix that a word shares with its inflected forms in languages such as Russian.

    >>> "чашку".startswith(get_inflection_prefix("чашка")), get_inflection_prefix("кот")
    (True, 'кот')
    """
    return word[: max(STEM, len(word) - ENDING)]


def split_whole_words(text: str) -> list[str]:
    """Split a text into words, single letters of scripts without spaces, and other characters.

    >>> split_whole_words("Ann's 茶碗 fell.")
    ["Ann's", ' ', '茶', '碗', ' ', 'fell', '.']
    """
    kinds = "".join(
        "-"
        if sign in "'’-"
        else "+"
        if unicodedata.category(sign)[0] == "M"
        else _classify_character(sign)[0]
        for sign in text
    )
    cuts = re.finditer(r"w[w+]*(?:-w[w+]*)*|.\+*", kinds)
    return [text[slice(*found.span())] for found in cuts]


def _classify_character(character: str) -> Literal["space", "letter", "word", "mark"]:
    """Classify a character; "letter" is a letter of a script without spaces between words."""
    if character.isspace():
        return "space"
    if unicodedata.category(character)[0] not in "LMN":
        return "mark"
    return "letter" if _get_script(character) in _UNSPACED else "word"


def find_occurrences(phrase: str, text: str, *, attached: bool = False) -> list[int]:
    """Return the offsets of all occurrences of a word or phrase in a text, ignoring case.

    In scripts with spaces, the phrase must be a whole word. In Arabic, Hebrew, Korean and the
    scripts of India, prefixes and particles are attached to words. A part of a longer word is then
    accepted if the phrase does not occur as a whole word. With `attached`, it is always accepted.

    >>> find_occurrences("he", "The man said he knew the others; He did.")
    [13, 33]
    >>> (find_occurrences("它", "狗追它，因为它慢。"),
    ...  find_occurrences("он", "Кони видят: он тут."))
    ([2, 6], [12])
    """
    if not phrase.strip():
        return []
    ends = (found.span() for found in re.finditer(re.escape(phrase), text, re.IGNORECASE))
    parts = [span for span in ends if not any(_splits_word(text, at, _SET_APART) for at in span)]
    whole = [span for span in parts if not any(_splits_word(text, at, _ANY) for at in span)]
    return [start for start, _ in (parts if attached else whole or parts)]


_SET_APART, _ANY = re.compile(f"[{_SPACED}]{{2}}"), re.compile("..")


def _splits_word(text: str, offset: int, joined: re.Pattern[str]) -> bool:
    """Return whether a cut at an offset would split a word, or separate a mark from its letter."""
    if not 0 < offset < len(text):
        return False
    one, other = text[offset - 1], text[offset]
    in_word = _classify_character(one) == _classify_character(other) == "word"
    return (in_word and bool(joined.match(one + other))) or unicodedata.category(other)[0] == "M"


def tokenize(text: str) -> list[str]:
    """Split a text into Penn Treebank tokens, sentence by sentence.

    >>> tokenize("Ann's cup can't fit. It's 1,000 mm, the _ is.")
    ['Ann', "'s", 'cup', 'ca', "n't", 'fit', '.', 'It', "'s", '1,000', 'mm', ',', 'the', '_', 'is', '.']
    """  # noqa: E501
    return list(_tokenize_cached(text)) if len(text) <= MAX_CACHED else _tokenize_uncached(text)


def _tokenize_uncached(text: str) -> list[str]:
    lowered = text.lower()
    if lowered.replace(" ", "").isalnum() and not any(word in lowered for word in _SPLIT_WORDS):
        return text.split()  # the same result, ten times as fast
    return [token for sentence in _SENTENCE_END.split(text) for token in _split_treebank(sentence)]


@lru_cache(200)
def _tokenize_cached(text: str) -> tuple[str, ...]:
    return tuple(_tokenize_uncached(text))


def _split_treebank(sentence: str) -> list[str]:
    for pattern, apart in _TREEBANK_RULES:
        sentence = pattern.sub(apart, sentence)
    return sentence.split()


def find_content_words(text: str) -> list[str]:
    """Return the lower-cased tokens, except function words, punctuation and the blank.

    >>> find_content_words("The trophy doesn't fit into the brown suitcase.")
    ['trophy', 'fit', 'brown', 'suitcase']
    """
    lowered = (token.lower() for token in tokenize(text))
    return [token for token in lowered if is_content(token)]


def is_content(token: str) -> bool:
    return token not in FUNCTION_WORDS and any(map(str.isalnum, token))


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun; `plural` is the plural of an irregular noun.

    >>> [format_count(number, "block") for number in (1, 1_022)], format_count(2, "foot", "feet")
    (['1 block', '1,022 blocks'], '2 feet')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def separate_blank(sentence: str) -> str:
    """Insert a space between the blank of a sentence and a word that touches it.

    EvoGrad has such blanks ("because _had", appendix A.1), in which a filled-in option and the word
    would form one token. Punctuation ("_,", "(_)", "_'s", "_-like"), plural endings ("_s") and text
    in scripts without spaces may touch the blank. Sentences without exactly one blank are
    unchanged.

    >>> separate_blank("Monica was kind because _had time.")
    'Monica was kind because _ had time.'
    >>> separate_blank("She was glad (_'s hat was back).")
    "She was glad (_'s hat was back)."
    """
    if sentence.count(BLANK) != 1:
        return sentence
    return _GLUED_AFTER.sub(f"{BLANK} ", _GLUED_BEFORE.sub(f" {BLANK}", sentence))


def number_words(words: Sequence[str]) -> frozenset[str]:
    """Return the words as a set, in which repeated words are numbered: "the", "the 2"."""
    counted = Counter(words)
    again = (f"{word} {at}" for word, n in counted.items() if n > 1 for at in range(2, n + 1))
    return frozenset(counted).union(again)


def compute_overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the fraction of the longer sequence's items that two sequences (multisets) share.

    The fraction is 1 for two empty sequences. WinoGrande, section 2, requires 70 % but does not
    state the denominator. The longer half is the stricter interpretation.

    >>> compute_overlap(split_words("it was too large"), split_words("it was too small"))
    0.75
    """
    longer = max(len(first), len(second))
    if not longer:
        return 1.0
    return (Counter(first) & Counter(second)).total() / longer


def compute_edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the Levenshtein distance between two sequences.

    >>> compute_edit_distance(split_words("it is large"), split_words("it is very small"))
    2
    """
    return int(Levenshtein.distance(first, second))


def find_trigger(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], list[str]]:
    """Find the items in which two sequences differ, according to a shortest edit script.

    For the halves of a twin, these are the trigger words.

    >>> find_trigger(split_words("the _ is too large ."), split_words("the _ is too small ."))
    (['large'], ['small'])
    """
    mine: list[str] = []
    theirs: list[str] = []
    for op in Levenshtein.opcodes(first, second):
        if op.tag != "equal":
            mine.extend(first[op.src_start : op.src_end])
            theirs.extend(second[op.dest_start : op.dest_end])
    return mine, theirs


def get_local_context(
    sentence: str, words_before: int = 2, *, whole: bool = True, blank: int | None = None
) -> str:
    """Return the end of a sentence, starting a few words before the blank.

    This is the input of WinoGrande's local-context baseline (section 4.1, w_{t-2:EOS}).
    If there are no spaces between words, the baseline would see the whole text. With `whole`, such
    text is returned unchanged; otherwise it is an error. `blank` is the offset of the blank, by
    default that of the first `_`.

    Raises:
        ProblemError: there is no blank, or there are no spaces between words.

    >>> get_local_context("The trophy doesn't fit into the suitcase because the _ is too large.")
    'because the _ is too large.'
    """
    if not whole and detect_script(sentence) == "unspaced":
        raise ProblemError(f"{sentence!r} has no spaces between words, so it has no local context")
    at = sentence.find(BLANK) if blank is None else blank
    if at < 0:
        raise ProblemError(f"{sentence!r} has no blank ('_')")
    first = len(split_words(sentence[: at + 1])) - 1
    return " ".join(split_words(sentence)[max(0, first - words_before) :])


class Change(NamedTuple):
    """A piece of text that is unchanged (""), removed ("del") or added ("ins")."""

    text: str
    kind: Literal["", "del", "ins"]


def diff_text(before: str, after: str) -> list[Change]:
    """Compare two sentences by token, and return unchanged, removed and added pieces.

    The unchanged and added pieces form the new sentence, except for white space.

    >>> [(one.kind, one.text) for one in diff_text("The cup is full.", "The mug is so full.")]
    [('', 'The '), ('del', 'cup'), ('', ' '), ('ins', 'mug'), ('', ' is '), ('ins', 'so'), ('', ' full.')]
    """  # noqa: E501
    found = _iter_changes(before, after)
    joined = (
        (kind, "".join(text for text, _ in run)) for kind, run in groupby(found, attrgetter("kind"))
    )
    return [Change(text, kind) for kind, text in joined if text]


def mark_differences(sentence: str, reference: str) -> list[Change]:
    """Split a sentence into pieces, and mark those that are not in `reference` as "ins".

    >>> [(one.kind, one.text) for one in mark_differences("The _ is big.", "The _ is small.")]
    [('', 'The _ is '), ('ins', 'big'), ('', '.')]
    """
    spans, found, at = find_token_spans(sentence), list[Change](), 0
    for same, _old, new in _iter_token_runs(reference, sentence):
        if not same and new.start < new.stop:
            start, end = spans[new.start][0], spans[new.stop - 1][1]
            found += Change(sentence[at:start], ""), Change(sentence[start:end], "ins")
            at = end
    return [one for one in (*found, Change(sentence[at:], "")) if one.text]


def _iter_changes(before: str, after: str) -> Iterator[Change]:
    old, new = find_token_spans(before), find_token_spans(after)
    for same, out, put in _iter_token_runs(before, after):
        gone, here = "" if same else _join_spans(before, old[out]), _join_spans(after, new[put])
        if here and put.start:
            yield Change(after[new[put.start - 1][1] : new[put.start][0]], "")
        if gone:
            if not here and out.start:
                yield Change(before[old[out.start - 1][1] : old[out.start][0]], "")
            yield Change(gone, "del")
            if here or not put.start:
                yield Change(" ", "")
        if here:
            yield Change(here, "" if same else "ins")


def _iter_token_runs(before: str, after: str) -> Iterator[tuple[bool, slice, slice]]:
    """Yield each run of tokens: whether it is equal in both texts, and its slice in each."""
    cut = [[text[start:end] for start, end in find_token_spans(text)] for text in (before, after)]
    for same, ops in groupby(Levenshtein.opcodes(*cut), key=lambda op: op.tag == "equal"):
        first, *more = ops
        last = more[-1] if more else first
        yield same, slice(first.src_start, last.src_end), slice(first.dest_start, last.dest_end)


def _join_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    return text[spans[0][0] : spans[-1][1]] if spans else ""


@lru_cache(maxsize=1024)
def find_token_spans(text: str) -> tuple[tuple[int, int], ...]:
    spans, at = [], 0
    for token in tokenize(text):
        start = text.index(token, at)
        at = start + len(token)
        spans.append((start, at))
    return tuple(spans)
