"""Any problem at all, written and read again: what comes back is what the format promises."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from tests.conftest import examples
from winosmith import Claim, Edit, Extra, Lineage, Origin, Problem, formats
from winosmith.errors import FormatError

WRITABLE = [known.name for known in formats.FORMATS if known.write is not None]

WORDS = st.lists(
    st.text(st.characters(exclude_characters="_", exclude_categories=["Z", "C"]), min_size=1),
    min_size=1,
    max_size=4,
).map(" ".join)
"""Tidy texts: words with single spaces."""

WILD = st.text(
    st.one_of(
        st.characters(exclude_characters="_", exclude_categories=["Cs"]),
        st.sampled_from(" \n\r\t\u2028\u00a0\"',;=+-@[]<>&\\\x00"),
    ),
    min_size=1,
    max_size=12,
)
"""Texts with anything in them: quotation marks, line ends, formulas, control characters."""


def problems(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Problem]:
    """Return a strategy for problems whose texts are drawn from another one."""
    filled = texts.filter(lambda text: bool(text.strip()))
    options = st.lists(filled, min_size=2, max_size=5, unique_by=str.strip).map(tuple)
    extra = st.dictionaries(
        st.sampled_from(["csv.colour", "wsc.source", "x.y"]),
        st.one_of(texts, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    ).filter(lambda items: all(v not in (float("inf"), float("-inf")) for v in items.values()))
    edits = st.just((Edit("substitute", 3, "a", "b"), Edit("insert", 0, "", "c")))
    lineage = st.builds(Lineage, filled, filled, st.one_of(st.just(()), edits), st.integers(0, 9))
    return st.tuples(options, st.data()).flatmap(
        lambda drawn: st.builds(
            Problem,
            id=filled,
            sentence=st.tuples(texts, texts).map("_".join),
            options=st.just(drawn[0]),
            answer=st.one_of(st.none(), st.integers(0, len(drawn[0]) - 1)),
            twin_id=st.one_of(st.none(), filled),
            pronoun=st.one_of(st.none(), filled),
            origin=st.one_of(
                st.none(), st.builds(Origin, filled, filled, st.just("2026-11-21"), filled)
            ),
            lineage=st.one_of(st.none(), lineage),
            embargo=st.booleans(),
            extra=extra.map(Extra),
        )
    )


def written_and_read(items: list[formats.Item], name: str) -> list[formats.Item]:
    """Return what comes back of the items, or skip the example when the format refuses them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        try:
            formats.write(items, path, name)
        except FormatError:
            assume(False)
        return formats.read_items(path, name, as_written=True)


def told(lost: formats.Losses) -> set[str]:
    """Return the names of all fields that did not come back as they were."""
    return lost.lost.keys() | lost.changed.keys() | lost.added.keys()


def two_options(problem: Problem) -> Problem:
    """Return the problem with its first two options, for formats that have two."""
    return replace(problem, options=problem.options[:2], answer=problem.answer and 1)


def tidy(problem: Problem) -> Problem:
    """Return the problem with single spaces in its sentence."""
    return replace(problem, sentence=" ".join(problem.sentence.split()))


def copa(problem: Problem) -> Problem:
    """Return the problem as COPA has it: "premise because _.", options that begin small."""
    before = problem.sentence.split("_")[0].strip(" .") or "x"
    options = (f"x{problem.options[0]}".rstrip("."), f"I {problem.options[1]}".rstrip("."))
    return replace(two_options(problem), sentence=f"{before} because _.", options=options)


def winogender(problem: Problem) -> Problem:
    """Return the problem with the id, options and pronoun of a Winogender sentence."""
    return replace(
        problem,
        id="nurse.patient.0.male.txt",
        sentence=tidy(problem).sentence.replace("_", " _ "),
        options=("the nurse", "the patient"),
        answer=0,
        pronoun="he",
        twin_id="nurse.patient.male",
    )


SHAPES = {
    "wsc-xml": tidy,
    "pdp-xml": tidy,
    "dpr": tidy,
    "substitutions": tidy,
    "superglue-copa": copa,
    "copa-xml": copa,
    "winogender": winogender,
    "questions": lambda problem: replace(problem, blank=None, pronoun=None, twin_id=None),
    "perturbed-wsc-jsonl": lambda problem: replace(two_options(problem), id="q110"),
}
"""What makes a problem likely to fit into a format; the others need two options."""

LAW = examples(
    40,
    derandomize=True,  # the same examples in every run
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@pytest.mark.parametrize("name", ["winosmith", "csv"])
@LAW
@given(found=st.lists(problems(WILD), min_size=1, max_size=3, unique_by=lambda p: p.id))
def test_our_own_formats_hold_any_problem(name: str, found: list[Problem]) -> None:
    """Our JSON Lines and plain tables give back every field of any problem, whatever its texts."""
    assert written_and_read(list(found), name) == found


@LAW
@given(found=st.lists(problems(WILD), min_size=1, max_size=3, unique_by=lambda p: p.id))
def test_winogrande_holds_any_text(found: list[Problem]) -> None:
    """WinoGrande's form gives back id, texts and answer of any problem with two options."""
    twos = [two_options(problem) for problem in found]
    back = written_and_read(list(twos), "winogrande")
    assert not formats.format_named("winogrande").keeps & told(formats.losses(twos, back))


@pytest.mark.parametrize("name", [n for n in WRITABLE if n not in ("winosmith", "superglue-wsc")])
@LAW
@given(data=st.data())
def test_a_writer_keeps_what_it_promises_or_refuses(name: str, data: st.DataObject) -> None:
    """Of any tidy problem that a format takes, the fields that it keeps come back as they were."""
    known = formats.format_named(name)
    problem = data.draw(problems(WORDS).map(SHAPES.get(name, two_options)))
    back = written_and_read([problem], name)
    assert len(back) == 1
    assert not known.keeps & told(formats.losses([problem], back))


@LAW
@given(
    before=WORDS,
    pronoun=st.sampled_from(["it", "She", "them"]),
    after=WORDS,
    candidate=WORDS,
    holds=st.sampled_from([True, False, None]),
)
def test_claims_come_back(
    before: str, pronoun: str, after: str, candidate: str, holds: bool | None
) -> None:
    """Any claim whose text holds its candidate comes back from SuperGLUE's form."""
    claim = Claim("0", f"{candidate} {before} _ {after}", candidate, holds, pronoun)
    back = written_and_read([claim], "superglue-wsc")
    assert not formats.format_named("superglue-wsc").keeps & told(formats.losses([claim], back))
