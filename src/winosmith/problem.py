"""The data model: `Problem`, `Claim`, `Origin`, `Lineage` and `Edit`.

All are frozen, hashable, picklable, and validated on construction. `winosmith.formats` converts
them from and to the fields of published files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Literal

from winosmith.errors import AdvisedText, ProblemError

BLANK = "_"
"""The character that marks the blank in a sentence (WinoGrande, section 3.1)."""

_OTHER_BLANK = re.compile(r"_{2,}|[\uff3f\u2581]+|[\[<(]\s*(?:mask|blank)\s*[\])>]", re.IGNORECASE)
"""Other notations for a blank: "____", "＿", "[MASK]", "<mask>", "[BLANK]"."""

MIN_OPTIONS, MAX_OPTIONS = 2, 26
"""Limits on the number of options. WinoGrande has 2, the Pronoun Disambiguation Problems up to 5
(Davis 2016), and MMLU-Pro 10. Up to 26 options can be labelled with letters."""

MAX_COUNT = 2**31 - 1
"""Largest number that a table can contain, because Parquet columns have 32 bits."""

ONLY_BLANK = -1
"""Default of `Problem.blank`: the blank is the only `_` in the sentence."""

Scalar = str | int | float | bool | None

_BREAKS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
EXTRA_KEY = re.compile(rf"[a-z][a-z0-9_]*\.[^\s{_BREAKS}](?:[^{_BREAKS}]*[^\s{_BREAKS}])?")
"""A key of `Extra`: a format and a field name on one line, in any script."""

_BROKEN = re.compile(rf"[{_BREAKS}\ud800-\udfff]+")


_MAX_CACHED_KEYS = 1 << 17
"""Maximum number of cached keys. All rows usually have the same column names."""


@lru_cache(_MAX_CACHED_KEYS)
def make_extra_key(prefix: str, name: str) -> str:
    r"""Return the `Extra` key for a file's column: the column's name, on one line.

    >>> make_extra_key("csv", "Right\nanswer (cm)"), make_extra_key("csv", " ")
    ('csv.Right answer (cm)', 'csv.unnamed')
    """
    return f"{prefix}.{_BROKEN.sub(' ', name).strip() or 'unnamed'}"


class Extra(Mapping[str, Scalar]):
    """A frozen, hashable mapping of format-specific fields to their values.

    With these fields, a file can be written back unchanged. Keys have the form `format.field`
    ("winogender.occupation", "csv.Größe (cm)"). A field is a name on one line, in any script.
    Solvers never see these values, because `Problem.blind` removes them. Iteration is in the order
    of the keys.

    Raises:
        ProblemError: a key is not of the form `format.field`, or a value is not a finite scalar.

    >>> Extra({"wsc.source": "Winograd 1972"})["wsc.source"]
    'Winograd 1972'
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Scalar] | None = None):
        items = {} if items is None else items
        if not isinstance(items, Mapping):
            raise ProblemError(f"extra must be a mapping of keys to values, not {items!r}")
        for key, value in items.items():
            _check_key(key)
            if isinstance(value, str):
                if not value.isascii():
                    _check_text(key, value)
            elif value is not None and not isinstance(value, int | float):
                raise ProblemError(f"the extra value of {key!r} must be a scalar, not {value!r}")
            elif isinstance(value, float) and not math.isfinite(value):
                raise ProblemError(f"the extra value of {key!r} must be finite, not {value}")
        self._items: dict[str, Scalar] = dict(sorted(items.items()))

    def __getitem__(self, key: str) -> Scalar:
        return self._items[key]

    def items(self) -> ItemsView[str, Scalar]:
        """Return the keys and values."""
        return self._items.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"Extra({self._items!r})"


_NOTHING = Extra()


@lru_cache(_MAX_CACHED_KEYS)
def _check_key(key: object) -> None:
    if not isinstance(key, str) or not EXTRA_KEY.fullmatch(key):
        raise ProblemError(f"the extra key {key!r} must have the form 'format.field'")
    _check_text("an extra key", key)


def _check_text(name: str, value: object, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if not isinstance(value, str):
        raise ProblemError(f"{name} must be text, not {value!r}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ProblemError(f"{name} contains an unpaired surrogate: {value!r}") from None


def _check_label(name: str, value: object) -> None:
    """Check a text that groups problems, so that "t1" and "t1 " don't form two groups."""
    _check_text(name, value, optional=True)
    if isinstance(value, str) and value != value.strip():
        raise ProblemError(f"{name} is {value!r}; remove the white space at its start or end")


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_COUNT:
        raise ProblemError(f"{name} must be a whole number from 0 to {MAX_COUNT:,}, not {value!r}")


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a problem.

    Attributes:
        source: the data set, campaign or tool ("winogrande", "crowd", "wordnet").
        author: the contributor's pseudonym, never a real name or address.
        created: an ISO 8601 date or time.
        domain: "social" or "physical" in WinoGrande (section 2), otherwise any text.
        anchor: the words from the topic that both halves must contain.
        licence: an SPDX identifier or a short name ("CC-BY-4.0").

    Raises:
        ProblemError: a value is not text, or `created` is not in ISO 8601.
    """

    source: str | None = None
    author: str | None = None
    created: str | None = None
    domain: str | None = None
    anchor: str | None = None
    licence: str | None = None

    def __post_init__(self) -> None:
        for known in fields(self):
            _check_text(known.name, getattr(self, known.name), optional=True)
        _check_label("the author", self.author)
        _check_label("the source", self.source)
        if self.created is not None:
            try:
                datetime.fromisoformat(self.created)
            except ValueError:
                raise ProblemError(
                    f"created is {self.created!r}; it must be an ISO 8601 date or time, "
                    "such as 2026-11-21"
                ) from None


@dataclass(frozen=True, slots=True)
class Edit:
    """An insertion, deletion or substitution of one token (EvoGrad, section 3.1).

    Attributes:
        op: "substitute", "insert" (`old` is empty) or "delete" (`new` is empty).
        at: the 0-based token position in the sentence before the edit.
        old: the previous token.
        new: the new token.

    Raises:
        ProblemError: the tokens don't match the operation, or `at` is not from 0 to `MAX_COUNT`.
    """

    op: Literal["substitute", "insert", "delete"]
    at: int
    old: str = ""
    new: str = ""

    def __post_init__(self) -> None:
        _check_count("the position of an edit", self.at)
        _check_text("old", self.old)
        _check_text("new", self.new)
        needs = {"substitute": (True, True), "insert": (False, True), "delete": (True, False)}
        if self.op not in needs:
            raise ProblemError(f"unknown edit {self.op!r}; use {', '.join(needs)}")
        if (bool(self.old), bool(self.new)) != needs[self.op]:
            raise ProblemError(
                f"{self.op} can't have old={self.old!r} and new={self.new!r}; substitute needs "
                "both, insert only new, delete only old"
            )
        if self.op == "substitute" and self.old == self.new:
            raise ProblemError(f"substitute must change the token {self.old!r}")


@dataclass(frozen=True, slots=True)
class Lineage:
    """The root, the parent and the edits of a perturbed problem.

    Attributes:
        root: the id of the family's root (EvoGrad's "seed").
        parent: the id of the problem that was perturbed.
        edits: the edits from the parent to this problem.
        declared: the depth that the contributor or the file states, 0 to `MAX_COUNT`.

    Raises:
        ProblemError: an id is empty, an edit has the wrong type, or the depth is out of range.
    """

    root: str
    parent: str
    edits: tuple[Edit, ...] = ()
    declared: int | None = None

    def __post_init__(self) -> None:
        _check_text("the root", self.root)
        _check_text("the parent", self.parent)
        if not self.root or not self.parent:
            raise ProblemError("a lineage needs the ids of its root and of its parent")
        if odd := [edit for edit in self.edits if not isinstance(edit, Edit)]:
            raise ProblemError(f"the edits of a lineage must be `Edit` objects, not {odd[0]!r}")
        if self.declared is not None:
            _check_count("a declared depth", self.declared)


@dataclass(frozen=True, slots=True)
class Problem:
    """A sentence with a blank, or a question, with its options and its answer.

    Attributes:
        id: the id, unique in its data set. Published ids may reveal the answer (like WinoGrande's
            qID); ids generated by winosmith never do.
        sentence: the text with the blank `_`, which occurs exactly once unless `blank` states its
            offset; or the text of a question, which is not empty.
        options: 2 to 26 non-empty strings. The correct one differs from all others; incorrect ones
            may be equal, which an audit reports. They may contain `_` if `blank` is given.
        answer: the 0-based index of the correct option; None if it is withheld.
        twin_id: the id that both halves of a twin share; one half keeps it if the other is removed.
        pronoun: the pronoun that the blank replaced; inserting it restores the original sentence.
        origin, lineage: the origin and the lineage; None if unknown.
        embargo: whether the problem must not be published.
        extra: values that only one file format has; see `Extra`.
        blank: the 0-based offset of the blank in the sentence, in characters; by default, that of
            the only `_`. None for a question, which has no blank; options are appended to it. If
            there is only one `_`, it is the blank, and a different offset is corrected, so that
            `dataclasses.replace` works with another sentence.

    Raises:
        ProblemError: the values do not form a valid problem; the message states the reason.

    >>> trophy = Problem(
    ...     id="t1",
    ...     sentence="The trophy doesn't fit into the suitcase because the _ is too large.",
    ...     options=("trophy", "suitcase"),
    ...     answer=0,
    ... )
    >>> trophy.fill(1)
    "The trophy doesn't fit into the suitcase because the suitcase is too large."
    >>> Problem("q", "What does __init__ make?", ("an object", "a class"), 0, blank=None).fill(0)
    'What does __init__ make? an object'
    """

    id: str
    sentence: str
    options: tuple[str, ...]
    answer: int | None = None
    twin_id: str | None = None
    pronoun: str | None = None
    origin: Origin | None = None
    lineage: Lineage | None = None
    embargo: bool = False
    extra: Extra = field(default=_NOTHING)
    blank: int | None = field(default=ONLY_BLANK, kw_only=True)

    def __post_init__(self) -> None:
        _check_text("the id", self.id)
        _check_text("the sentence", self.sentence)
        _check_label("the twin id", self.twin_id)
        _check_text("the pronoun", self.pronoun, optional=True)
        if not self.id.strip():
            raise ProblemError("the id is empty")
        if self.twin_id is not None and not self.twin_id:
            raise ProblemError("the twin id is empty; omit it for a problem without a twin")
        _check_blank(self.sentence, self.blank)
        if self.blank is None and self.pronoun is not None:
            raise ProblemError("a question has no blank, so it can't have a pronoun")
        _check_options(self.options, self.answer, has_offset=self.blank != ONLY_BLANK)
        if self.blank is not None and self.sentence.count(BLANK) == 1:
            object.__setattr__(self, "blank", self.sentence.index(BLANK))

    @property
    def root(self) -> str:
        """The id of the family's root, which is the problem's own id if it has no lineage."""
        return self.lineage.root if self.lineage else self.id

    @property
    def before(self) -> str:
        """The text before the blank, or a question's whole text and a space."""
        if self.blank is not None:
            return self.sentence[: self.blank]
        return self.sentence if self.sentence[-1].isspace() else f"{self.sentence} "

    @property
    def after(self) -> str:
        """The text after the blank, or an empty text for a question."""
        return "" if self.blank is None else self.sentence[self.blank + 1 :]

    @property
    def blank_is_unique(self) -> bool:
        """Whether the blank is the only `_` in the sentence and its options."""
        return (
            self.blank is not None
            and self.sentence.count(BLANK) == 1
            and not any(BLANK in option for option in self.options)
        )

    def replace_blank(self, text: str) -> str:
        """Return the sentence with `text` in place of the blank.

        For a question, return the question, a space and `text`.
        """
        return f"{self.before}{text}{self.after}"

    def fill(self, option_index: int) -> str:
        """Return the sentence with its blank replaced by the option at `option_index`.

        For a question, return the question, a space and the option.
        """
        return self.replace_blank(self.options[option_index])

    def fill_all(self) -> tuple[str, ...]:
        """Return one sentence per option, with the option filled in."""
        return tuple(self.fill(index) for index in range(len(self.options)))

    def blind(self) -> Problem:
        """Return the problem as solvers see it, without the answer or `extra`."""
        return replace(self, answer=None, extra=_NOTHING)

    def with_new_ids(
        self,
        map_id: Callable[[str], str],
        map_twin_id: Callable[[str], str],
        ids: Mapping[str, str] | None = None,
    ) -> Problem:
        """Return a copy of the problem with new ids.

        Args:
            map_id: maps the ids of the problem, its root and its parent.
            map_twin_id: maps a twin id to its new id.
            ids: maps ids in `extra`, such as the id of the other half; numbers are not mapped.

        >>> problem = Problem("1", "The _ fell.", ("cup", "jug"), 0, "t")
        >>> new = problem.with_new_ids("new-{}".format, str.upper)
        >>> new.id, new.twin_id
        ('new-1', 'T')
        """
        lineage = self.lineage
        if lineage is not None:
            lineage = replace(lineage, root=map_id(lineage.root), parent=map_id(lineage.parent))
        twin_id = None if self.twin_id is None else map_twin_id(self.twin_id)
        changed = {
            key: ids[one]
            for key, one in self.extra.items()
            if ids and isinstance(one, str) and one in ids and not one.isdecimal()
        }
        extra = Extra({**self.extra, **changed}) if changed else self.extra
        return replace(self, id=map_id(self.id), twin_id=twin_id, lineage=lineage, extra=extra)


def _check_blank(sentence: str, blank: int | None) -> None:
    if blank is None:
        if not sentence.strip():
            raise ProblemError("the question is empty")
        return
    if not isinstance(blank, int) or isinstance(blank, bool):
        raise ProblemError(f"the blank must be an offset in the sentence, or None, not {blank!r}")
    if blank == ONLY_BLANK or sentence.count(BLANK) < 2:
        has_none = BLANK not in sentence and not _OTHER_BLANK.search(sentence)
        _check_one_blank(sentence, '; mark a question with "blank": null' if has_none else "")
    elif not 0 <= blank < len(sentence) or sentence[blank] != BLANK:
        raise ProblemError(f"the sentence has no blank ('_') at offset {blank}")


def _check_one_blank(sentence: str, advice: str = "") -> None:
    blanks = sentence.count(BLANK)
    if blanks == 1:
        return
    if not sentence.strip():
        raise ProblemError("the sentence is empty")
    reason = f"the sentence has {blanks or 'no'} blank{'s' * (blanks != 1)} ('_'); 1 is needed"
    if other := _OTHER_BLANK.search(sentence):
        reason += f": write one '_' in place of {other[0]!r}"
    raise ProblemError(AdvisedText(reason, "blank", advice))


class OutOfRangeText(str):
    """A message about an answer that is not the number of an option.

    Attributes:
        number: the answer as a whole number; None for other values.
        options: the number of options.
        first: the number of the first option.
    """

    number: int | None
    options: int
    first: int

    def __new__(
        cls, text: str, number: int | None = None, options: int = 0, first: int = 0
    ) -> OutOfRangeText:
        made = super().__new__(cls, text)
        made.number, made.options, made.first = number, options, first
        return made


def _check_options(options: tuple[str, ...], answer: int | None, *, has_offset: bool) -> None:
    if not isinstance(options, tuple):
        raise ProblemError(f"the options must be a tuple of texts, not {options!r}")
    for option in options:
        if not isinstance(option, str) or not option.isascii():
            _check_text("an option", option)
    if not MIN_OPTIONS <= len(options) <= MAX_OPTIONS:
        raise ProblemError(
            f"the number of options is {len(options)}; it must be {MIN_OPTIONS} to {MAX_OPTIONS}"
        )
    texts = [*map(str.strip, options)]
    if not all(texts):
        raise ProblemError("an option is empty")
    if not has_offset and any(BLANK in option for option in options):
        raise ProblemError("an option contains the blank ('_')")
    if answer is not None:
        if isinstance(answer, bool) or not isinstance(answer, int):
            raise ProblemError(f"the answer must be an index or None, not {answer!r}")
        if not 0 <= answer < len(options):
            count = len(options)
            text = f"the answer is {answer}; with {count} options it must be 0 to {count - 1}"
            raise ProblemError(OutOfRangeText(text, answer, count, first=0))
    different = len({*texts})
    is_ambiguous = answer is not None and texts.count(texts[answer]) > 1
    if different == 1 or is_ambiguous:
        which = ", one of them the correct one" if different > 1 else ""
        raise ProblemError(f"two options are equal{which}: {', '.join(map(repr, options))}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A problem recast as a true-or-false claim that a candidate fills the blank (SuperGLUE-WSC).

    Attributes:
        problem_id: the id that all claims of one problem share.
        sentence: the text, with exactly one blank `_`.
        candidate: the text that is claimed to fill the blank.
        holds: whether the claim is true; None if the label is withheld.
        pronoun: the pronoun that the blank replaced.
        extra: values that only one file format has; see `Extra`.

    Raises:
        ProblemError: the id or the candidate is empty, or there is not exactly one blank.
    """

    problem_id: str
    sentence: str
    candidate: str
    holds: bool | None = None
    pronoun: str | None = None
    extra: Extra = field(default=_NOTHING)

    def __post_init__(self) -> None:
        _check_text("the problem id", self.problem_id)
        _check_text("the sentence", self.sentence)
        _check_text("the candidate", self.candidate)
        _check_text("the pronoun", self.pronoun, optional=True)
        if not self.problem_id.strip():
            raise ProblemError("the problem id is empty")
        if not self.candidate.strip():
            raise ProblemError("the candidate is empty")
        _check_one_blank(self.sentence)
        if self.holds is not None and not isinstance(self.holds, bool):
            raise ProblemError(f"holds must be True, False or None, not {self.holds!r}")
