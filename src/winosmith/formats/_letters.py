"""Letters that mark options, in the order of each script.

A letter's position is counted in its own script: the Cyrillic В looks like the Latin B, but marks
the third option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import NamedTuple

LETTERS = {
    "Latin": ascii_uppercase,
    "Cyrillic": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЭЮЯ",
    "Greek": "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ",
    "Hebrew": "אבגדהוזחטיכלמנסעפצקרשת",
    "Arabic": "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ",
    "Devanagari": "कखगघङचछजझञटठडढणतथदधनपफबभमयरलवशषसह",
    "Bengali": "কখগঘঙচছজঝঞটঠডঢণতথদধনপফবভমযরলশষসহ",
    "Thai": "กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ",
    "heavenly stems": "甲乙丙丁戊己庚辛壬癸",
    "hiragana": "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめも",
    "katakana": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモ",
    "Hangul consonants": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
    "Hangul": "가나다라마바사아자차카타파하",
    "Georgian": "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ",
    "Armenian": "ԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔ",
}
"""Each script's letters in the order of list markers (W3C 2024, "Ready-made Counter Styles":
`upper-alpha`, `upper-russian`, `arabic-abjad`, `hindi`, `thai-alphabetic`, `cjk-heavenly-stem`,
`hiragana`, `katakana`, `hangul-consonant`, `hangul`) or in alphabetical order."""

_IROHA = (
    "いろはにほへとちりぬるをわかよたれそつねならむうゐのおくやまけふこえてあさきゆめみしゑひもせす"
)
OTHER_ORDERS = {
    "Arabic": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "hiragana": _IROHA,
    "katakana": "".join(chr(ord(one) + ord("ア") - ord("あ")) for one in _IROHA),
}
"""Letters in an alternative order that is also used for options: the alphabet (Arabic) or the iroha
poem (`hiragana-iroha` and `katakana-iroha`, W3C 2024)."""

_BARE_ALEF = str.maketrans("أ", "ا")
OTHER_SERIES = (*OTHER_ORDERS.values(), OTHER_ORDERS["Arabic"].translate(_BARE_ALEF))

_DIGITS = tuple(
    "0123456789 ٠١٢٣٤٥٦٧٨٩ ۰۱۲۳۴۵۶۷۸۹ ०१२३४५६७८९ ০১২৩৪৫৬৭৮৯ ๐๑๒๓๔๕๖๗๘๙ ０１２３４５６７８９".split()
)

_USUAL_SERIES: tuple[Sequence[str], ...] = (
    *LETTERS.values(),
    LETTERS["Arabic"].translate(_BARE_ALEF),
    *(letters.lower() for letters in LETTERS.values() if letters.lower() != letters),
    *("".join(chr(ord(first) + at) for at in range(26)) for first in "Ａａ"),
    *(
        [str(number).translate(str.maketrans(_DIGITS[0], digits)) for number in range(1, 100)]
        for digits in _DIGITS
    ),
    "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳",
)
SERIES_BY_KIND = {"letter": _USUAL_SERIES, "letter2": OTHER_SERIES}
"""Series of option markers by kind of answer: letters in the usual order (in both cases and in full
width), numbers and circled numbers; or letters in the alternative order."""

LETTER_KINDS = tuple(SERIES_BY_KIND)

SERIES: tuple[Sequence[str], ...] = (*_USUAL_SERIES, *OTHER_SERIES)

FIRST_MARKERS = frozenset(own[0] for own in SERIES)


class Letter(NamedTuple):
    """A letter that marks an option.

    Attributes:
        script: a key of `LETTERS`.
        positions: the letter's 0-based position by kind of answer: `letter` for the script's usual
            order, `letter2` for its alternative order, if it has one.
    """

    script: str
    positions: Mapping[str, int]


def _map_letters() -> dict[str, Letter]:
    locations: dict[str, Letter] = {}
    for kind, scripts in zip(LETTER_KINDS, (LETTERS, OTHER_ORDERS), strict=True):
        for script, letters in scripts.items():
            for at, letter in enumerate(letters):
                for sign in {letter, letter.lower()}:
                    known = locations.get(sign, Letter(script, {}))
                    locations[sign] = Letter(script, {**known.positions, kind: at})
    return locations | dict.fromkeys([*"اإآ", "الف"], locations["أ"])


_LOCATIONS = _map_letters()


def locate_letter(letter: str) -> Letter | None:
    """Return a letter's script and positions, or None if it can't mark an option.

    >>> locate_letter("В"), locate_letter("乙").positions, locate_letter("!")
    (Letter(script='Cyrillic', positions={'letter': 2}), {'letter': 1}, None)
    >>> locate_letter("ج").positions, locate_letter("イ").positions
    ({'letter': 2, 'letter2': 4}, {'letter': 1, 'letter2': 0})
    """
    return _LOCATIONS.get(letter)
