"""What the form in the browser saves: the description of its file.

The file `answers-<subject>-<code>.json` holds one object:

    winosmith   "answers"
    version     1, of this form
    sheet       the code of the sheet: "a-1-7Q2K"
    subject     the code that the subject typed
    started     when the first question was shown; ISO 8601 in UTC, or null
    ended       when the file was saved; ISO 8601 in UTC
    seconds     in which a question was on the screen, all together
    answers     an object from the number of a question, as text, to
                {"letter": "A", "seconds": 12.3}; letter is null where nothing was chosen;
                seconds are those in which the question was on the screen
    recognised  a list of {"number": 12, "source": "free text"}; number is null where none is given
    words       a list of {"number": 12, "word": "free text"}; the same
    attributes  what the subject declared, an object of texts, empty where nothing was: "native" is
                "yes" or "no"; others as the form asked

Problem ids are not in it: the form does not know them; the sheet's JSON file does.
"""

from __future__ import annotations

__all__ = ["ANSWERS_VERSION"]

ANSWERS_VERSION = 1
