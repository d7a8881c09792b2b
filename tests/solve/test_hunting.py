"""Knowledge hunting: queries, evidence in snippets, and scores."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from winosmith import Problem, formats, solve
from winosmith.errors import DataError
from winosmith.solve._hunting import (
    find_mention_evidence,
    find_role_evidence,
    parse_query,
    stem,
)

COUNCIL = Problem(
    "council",
    "The city councilmen refused the demonstrators a permit because _ feared violence.",
    ("The city councilmen", "The demonstrators"),
)
"""Winograd (1972), as in Levesque et al. (2012)."""

LIFTING = Problem(
    "lifting", "The man couldn't lift his son because _ was so weak.", ("The man", "The son")
)


def texts(terms: Sequence[object]) -> list[str]:
    """Return the searched texts of the terms."""
    return [term.text for term in terms]


def test_query_has_the_predicates_of_options_and_blank():
    """In Emami et al.'s first example, these are "refused" and "feared violence"."""
    what = parse_query(COUNCIL)
    assert texts(what.context) == ["refused"]
    assert texts(what.query) == ["feared violence", "feared", "violence"]
    assert (what.agent, what.patient, what.blank) == (0, 1, "subject")
    assert what.heads == ("councilmen", "demonstrators")


@pytest.mark.parametrize(
    ("sentence", "options", "context", "query", "blank", "agent"),
    [
        (
            "Ann was hired by Beth because _ needed help.",
            ("Ann", "Beth"),
            ["hired"],
            ["needed help", "needed", "help"],
            "subject",
            1,  # in the passive, the agent comes second
        ),
        (
            "Beth hired Ann although the boss disliked _.",
            ("Ann", "Beth"),
            ["hired"],
            ["boss disliked", "boss", "disliked"],
            "object",
            1,  # the option that the sentence mentions first
        ),
        ("_ waved at Ann and Beth.", ("Ann", "Beth"), [], ["waved"], "subject", 0),
        ("Ann beat Beth; _.", ("Ann", "Beth"), ["beat"], [], "object", 0),
        ("It was late when _ came.", ("Ann", "Beth"), [], ["came"], "subject", None),
    ],
)
def test_queries_of_other_sentences(sentence, options, context, query, blank, agent):
    """The passive, a blank that is the object, and sentences without a predicate."""
    what = parse_query(Problem("x", sentence, options))
    assert (texts(what.context), texts(what.query)) == (context, query)
    assert (what.blank, what.agent) == (blank, agent)


def test_negation_belongs_to_its_term():
    what = parse_query(LIFTING)
    assert [(t.text, t.is_negated) for t in what.context] == [("lift", True)]
    assert [(t.text, t.is_negated) for t in what.query] == [("weak", False)]


def test_tagger_omits_nouns_from_the_terms():
    def tagger(cut: list[str]) -> list[tuple[str, str]]:
        tags = {"refused": "VBD", "feared": "VBD"}
        return [(token, tags.get(token, "NN")) for token in cut]

    assert texts(parse_query(COUNCIL, tagger).query) == ["feared"]


@pytest.mark.parametrize(
    ("problem", "snippet", "expected"),
    [
        # the one who fears also refuses: the councilmen
        (COUNCIL, "They refused him a visa because they feared violence.", (0, 4)),
        (COUNCIL, "The mayor refused to meet him, fearing violence.", (0, 4)),
        (COUNCIL, "He was refused by the bank because the bank feared violence.", (0, 4)),
        # the one who fears is refused: the demonstrators
        (COUNCIL, "They refused him a visa because he feared violence.", (1, 4)),
        (COUNCIL, "She refused the workers, as the workers feared violence.", (1, 4)),
        (COUNCIL, "Because he feared violence, they refused him.", (1, 3)),
        # by their form, both options are possible
        (COUNCIL, "She refused her a visa because she feared violence.", None),
        (COUNCIL, "The bank refused the firm because it feared violence.", None),
        # the opposite
        (COUNCIL, "They never refused him because they feared violence.", None),
        # only one predicate
        (COUNCIL, "They refused him a visa because of the rain.", None),
        # negations of snippet and problem must agree
        (LIFTING, "She could not lift it because she was weak.", (0, 3)),
        (LIFTING, "She could not lift him because he was weak.", (1, 3)),
        (LIFTING, "She could lift it because she was weak.", None),
        (LIFTING, "She could not lift it because she was not weak.", None),
        (LIFTING, "We could not lift them because they were weak.", (1, 3)),
    ],
)
def test_evidence_is_for_the_option_in_the_role_of_the_blank(problem, snippet, expected):
    asked = parse_query(problem)
    readings = [
        find_role_evidence(snippet, asked, c, q) for c in asked.context for q in asked.query
    ]
    assert max((r for r in readings if r), key=lambda r: r[1], default=None) == expected


class Always:
    """A retriever that always finds one sentence."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def search(self, phrases: Sequence[str], limit: int) -> list[str]:
        self.asked.append((tuple(phrases), limit))
        return [self.sentence]


CHASE = Problem("chase", "The dogs chased the boys because _ were angry.", ("the dogs", "the boys"))

CHIP = Problem(
    "chip", "The rock chipped the plate because _ was brittle.", ("the rock", "the plate")
)

SINK = Problem("p", "The spoon hit the bowl in the sink, and _ was chipped.", ("spoon", "bowl"))
HIRING = Problem("hiring", "Ann was hired by Beth because _ needed help.", ("Ann", "Beth"))

CHASED = Problem(
    "chased", "The cat scratched the dog because _ was chased.", ("the cat", "the dog")
)


@pytest.mark.parametrize(
    ("problem", "snippet", "expected"),
    [
        # he and she are people, it is a thing or an animal
        (LIFTING, "She was weak, so she could not lift the box.", 0),
        (LIFTING, "He could not lift the machine because he was weak.", 0),
        (LIFTING, "The machine could not lift him because it was weak.", 0),
        (LIFTING, "The nurse could not lift it because it was weak.", 1),
        (LIFTING, "The nurse could not lift him because he was weak.", None),  # or the nurse
        (LIFTING, "The nurse could not lift the box because she was weak.", 0),
        (LIFTING, "She could not lift the patient because she was weak.", None),  # or the patient
        (LIFTING, "She could not lift the hamster because she was weak.", None),  # in no list
        # genders of names and words
        (LIFTING, "Robert could not lift Anna because she was weak.", 1),
        (LIFTING, "The queen could not lift the king because he was weak.", 1),
        (LIFTING, "Robert could not lift Samuel because he was weak.", None),
        # plurals without -s, and names and singulars with it
        (LIFTING, "The men could not lift it because they were weak.", 0),
        (LIFTING, "James could not lift them because he was weak.", 0),
        (LIFTING, "The police could not lift him because they were weak.", 0),
        # the passive, with an agent anywhere in the clause, or without one
        (CHASE, "The farmer was chased by the bulls because they were angry.", 0),
        (CHASE, "The farmer was chased across the field by the bulls because they were angry.", 0),
        (CHASE, "They were chased by him because they were angry.", 1),
        (CHASE, "He was chased away because he was angry.", 1),
        (CHASE, "The farmer was not seen; she chased them because they were angry.", 1),
        (CHIP, "The bowl got chipped by her because it was brittle.", 1),
        (CHIP, "The bowl got badly chipped by hand because it was brittle.", 1),
        (CHIP, "The bowl had become slightly chipped by accident because it was brittle.", 1),
        (CHIP, "It has been chipped because it was brittle.", 1),
        (CHIP, "She chipped it because it was brittle.", 1),
        (HIRING, "She was never hired by them because they needed help.", None),  # negated there
        (HIRING, "She was soon hired by them because they needed help.", 1),
        (HIRING, "She was hired by them because she needed help.", 0),
        # a predicate of the blank that is passive itself
        (CHASED, "She scratched them because they were chased.", 1),
        (CHASED, "She scratched him because he got badly chased by dogs.", 1),
        (SINK, "The bowl got badly chipped by hand.", 1),
        (SINK, "The old bowl gets easily chipped.", 1),
        (SINK, "The bowl became chipped in the end.", 1),
        (SINK, "The bowl was often slightly chipped.", 1),
        # adverbs, and nouns that look like them
        (LIFTING, "The bully could not lift them because the bully was weak.", 0),
        (LIFTING, "They could not lift the family yesterday because the family was weak.", 1),
        (LIFTING, "They could not lift the baby today because the baby was really weak.", 1),
    ],
)
def test_grammar_determines_the_option_of_the_evidence(problem, snippet, expected):
    """By animacy, gender, number, the passive and adverbs."""
    found = solve.KnowledgeHunting(Always(snippet)).find_evidence(problem)
    assert [one.option for one in found] == ([] if expected is None else [expected])
    if problem is SINK:
        assert found[0].phrases == ("bowl", "chipped")


def test_function_words_do_not_make_a_copy():
    """A copy has the problem's content words; "the", "was", "by" and "because" don't count."""
    words = "The {} was chased by the {} because the {} was angry."
    problem = Problem("p", "The boy was chased by the dog because _ was angry.", ("boy", "dog"))
    for nouns, copies in ((("farmer", "bull", "bull"), 0), (("boy", "dog", "dog"), 1)):
        found = solve.KnowledgeHunting(Always(words.format(*nouns))).find_evidence(problem)
        assert len(found) == 1 - copies


def test_option_as_subject_of_the_predicate_is_evidence():
    """The blank's predicate said of an option's own noun speaks for that option."""
    what = parse_query(
        Problem(
            "t",
            "I set the cup by the jug and the pan, so _ tumbled backwards.",
            ("cup", "jug", "pan"),
        )
    )
    term = what.query[0]
    assert term.text == "tumbled backwards"
    assert find_mention_evidence("The old jugs tumbled backwards again.", what, 1, term) == (1, 2)
    assert find_mention_evidence("The old jugs tumbled backwards again.", what, 0, term) is None
    assert find_mention_evidence("The jug broke when it tumbled backwards.", what, 1, term) is None


@pytest.mark.parametrize(
    "words",
    ["refuse refuses refused refusing", "carry carries carried carrying", "stop stopped stops",
     "lift lifting lifts", "box's box", "try tries tried"],
)  # fmt: skip
def test_inflections_have_one_stem(words):
    assert len(set(map(stem, words.split()))) == 1


TEXT = """The guards refused her entry because they feared violence.
He refused the men a drink because the men feared violence.
She refused, fearing violence, and left.
The council feared nothing at all.
Nothing of this is about permits."""


@pytest.fixture
def hunter(tmp_path: Path) -> solve.KnowledgeHunting:
    """Return a solver that searches five sentences."""
    (tmp_path / "a.txt").write_text(TEXT.replace("\n", "\n\n"), "utf-8")
    return solve.KnowledgeHunting(solve.FullTextIndex.open(tmp_path / "a.txt", tmp_path / "index"))


def test_evidence_is_summed_over_sentences(hunter):
    """Each sentence counts once, by its strongest evidence."""
    found = hunter.find_evidence(COUNCIL)
    assert sorted((f.option, f.strength) for f in found) == [(0, 4), (0, 4), (1, 4)]
    assert {f.phrases for f in found} == {("refused", "feared violence")}
    [scores] = hunter.score([COUNCIL])
    assert scores == (8.0, 4.0)


def test_all_questions_without_a_blank_are_reported_at_once(hunter):
    asked = [Problem(f"q{n}", "Who feared it?", ("he", "she"), blank=None) for n in range(2)]
    with pytest.raises(DataError, match=r"2 problems are questions without one \('q0', 'q1'\)"):
        hunter.score([COUNCIL, *asked])


def test_copy_of_the_problem_gives_no_evidence(tmp_path):
    (tmp_path / "a.txt").write_text(COUNCIL.fill(1), "utf-8")
    index = solve.FullTextIndex.open(tmp_path / "a.txt", tmp_path / "index")
    assert index.search(["refused", "feared violence"], 5) == [COUNCIL.fill(1)]
    assert solve.KnowledgeHunting(index).find_evidence(COUNCIL) == ()


def test_any_object_with_search_is_a_retriever():
    """It is asked for both predicates, and the most specific terms come first."""
    library = Always("They refused him a visa because he feared violence.")
    solver = solve.KnowledgeHunting(library, snippets=7)
    assert solver.score([COUNCIL]) == [(0.0, 4.0)]
    assert library.asked[0] == (("refused", "feared violence"), 7)
    assert ("demonstrators", "feared violence") in [phrases for phrases, _ in library.asked]
    assert {limit for _, limit in library.asked} == {7}
    assert solver.parameters == {
        "solver": "hunting", "collection": "Always", "snippets": 7, "sees": "blank",
    }  # fmt: skip


@pytest.mark.data
def test_winograd_schemas_have_consistent_evidence(data_dir, tmp_path):
    """WinoGrande's sentences have evidence for many schemas.

    The halves of a twin have the same words. Evidence for an option of one half must be found
    again if the options are swapped, and be for the same option.
    """
    train = formats.read(data_dir / "winogrande" / "train_l.jsonl")
    lines = (problem.fill(problem.answer or 0) for problem in train)
    (tmp_path / "texts.txt").write_text("\n\n".join(lines), "utf-8")
    index = solve.FullTextIndex.open(tmp_path / "texts.txt", tmp_path / "index")
    schemas = formats.read(data_dir / "wsc" / "WSCollection.xml")
    two = [problem for problem in schemas if len(problem.options) == 2]
    solver = solve.KnowledgeHunting(index)
    scores = solver.score(two)
    assert sum(len(set(own)) > 1 for own in scores) > 40
    swapped = [Problem(p.id, p.sentence, p.options[::-1]) for p in two]
    assert [own[::-1] for own in solver.score(swapped)] == list(scores)
