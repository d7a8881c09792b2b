"""Letters that mark options, in the order of each script.

A letter's position is that in its own script: the Cyrillic В looks like the Latin B, but marks the
third option.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

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

_DIGITS = ("0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "০১২৩৪৫৬৭৮৯")

SERIES: tuple[Sequence[str], ...] = (
    *LETTERS.values(),
    *(letters.lower() for letters in LETTERS.values() if letters.lower() != letters),
    "".join(chr(ord("Ａ") + at) for at in range(26)),
    *(
        [str(number).translate(str.maketrans(_DIGITS[0], digits)) for number in range(1, 100)]
        for digits in _DIGITS
    ),
    "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳",
)
"""Series of option markers: letters in both cases and in full width, numbers, circled numbers."""

FIRST = frozenset(own[0] for own in SERIES)
"""The letters and numbers that mark a first option."""

_LOCATIONS = {
    sign: (script, at)
    for script, letters in LETTERS.items()
    for at, letter in enumerate(letters)
    for sign in (letter, letter.lower())
} | dict.fromkeys("اإآ", ("Arabic", 0))


def locate_letter(letter: str) -> tuple[str, int] | None:
    """Return a letter's script and 0-based alphabet position; None if it can't mark an option.

    >>> locate_letter("b"), locate_letter("В"), locate_letter("乙"), locate_letter("!")
    (('Latin', 1), ('Cyrillic', 2), ('heavenly stems', 1), None)
    """
    return _LOCATIONS.get(letter)
