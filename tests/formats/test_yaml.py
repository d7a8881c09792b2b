"""Quizzes in YAML."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples, installed
from winosmith import formats
from winosmith.errors import FormatError, InputError


@pytest.fixture(autouse=True, scope="module")
def yaml() -> None:
    """Skip the module without the extra `yaml`."""
    installed("yaml")


QUIZ = """\
# The quiz of a unit
title: Colours
questions:
  - question: Is it 1:30 or "yes"?   # a comment
    options: [yes, 1:30, 'no', 0x1F]
    answer: 2
  - question: >
      Was ist größer
      als “é”?
    options:
    - "a\\tb"
    - ü

    - Null
    - 7.50
    answer: 0
"""


def test_scalars_that_yaml_1_1_converts_stay_texts(tmp_path):
    """Examples are yes, 1:30 and 0x1F."""
    path = tmp_path / "quiz.yml"
    path.write_text(QUIZ.replace("Null", "'Null'"))
    first, second = formats.scan(path, columns=formats.Columns(answer_is="0")).problems
    assert first.options == ("yes", "1:30", "no", "0x1F")
    assert first.answer == 2
    assert (second.sentence, second.options) == (
        "Was ist größer als “é”?",
        ("a\tb", "ü", "Null", "7.5"),
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("answer: 2", "answer: &two 2\n    also: *two", r"aliases \(\*name\) are not allowed"),
        ("answer: 2", "<<: {answer: 2}", r"merge keys \(<<\) are not allowed"),
        ("answer: 2", "answer: 2\n    answer: 3", "each key must be a unique string"),
        ("title:", "more: [{question: x}]\ntitle:", "several lists of records; write only one"),
        ("answer: 2", "answer: [2", r"quiz.yml:\d+: this is not YAML: "),
        ("answer: 2", "answer: \x07", "this is not YAML: "),
    ],
)
def test_unsupported_or_malformed_yaml_is_refused(tmp_path, old, new, reason):
    path = tmp_path / "quiz.yml"
    path.write_text(QUIZ.replace(old, new, 1))
    with pytest.raises(FormatError, match=reason):
        formats.scan(path)


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(QUIZ)), out=st.integers(0, 9), new=st.sampled_from(
    ["", "&a ", "*a", "!!python/object:os.system ", "[", "]", "{", "- ", ": ", "\t", "'", '"', "|",
     "? ", "---\n", "%YAML 9\n", "\x00", "\u2028", "[" * 5000, "!!binary x"]))  # fmt: skip
def test_damaged_yaml_is_read_or_raises_input_error(tmp_path, at, out, new):
    path = tmp_path / "quiz.yml"
    path.write_text(QUIZ[:at] + new + QUIZ[at + out :])
    with suppress(InputError):
        formats.scan(path)
