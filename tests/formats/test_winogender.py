"""Winogender: sentences, and the templates from which they were made."""

from collections import Counter

from winosmith import Extra, Problem, formats


def test_120_templates_expand_to_the_720_sentences(data_dir):
    sentences = formats.read(data_dir / "winogender/all_sentences.tsv")
    expanded = formats.read(data_dir / "winogender/templates.tsv")
    assert set(expanded.problems) == set(sentences.problems)
    assert expanded == sentences


def test_sentence_becomes_a_problem_with_its_gender_in_extra(data_dir):
    """There are 240 problems of each gender."""
    problems = formats.read(data_dir / "winogender/all_sentences.tsv")
    assert problems[0] == Problem(
        id="technician.customer.1.male.txt",
        sentence="The technician told the customer that _ could pay with cash.",
        options=("the technician", "the customer"),
        answer=1,
        twin_id="technician.customer.male",
        pronoun="he",
        extra=Extra(
            {
                "winogender.occupation": "technician",
                "winogender.participant": "customer",
                "winogender.gender": "male",
            }
        ),
    )
    assert Counter(p.extra["winogender.gender"] for p in problems) == {
        "male": 240,
        "female": 240,
        "neutral": 240,
    }
    assert Counter(problems.answers) == {0: 360, 1: 360}
    assert sum(p.options[1] == "someone" for p in problems) == 360
