"""The contract of every perturber."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pytest

from tests.conftest import need_wordnet
from winosmith import Dataset, Origin, Problem, practice
from winosmith.chat import Message, Reply
from winosmith.evolve import ChatPerturber, Perturber, WordNetPerturber
from winosmith.lineage import UNVALIDATED, check_lineages, make_child
from winosmith.problem import BLANK

Families = list[tuple[Problem, list[Problem]]]

PARENTS = [
    replace(problem, embargo=row % 2 == 1, origin=Origin("own", domain="social", licence="CC0-1.0"))
    for row, problem in enumerate(practice.read_handwritten()[:16])
]


class _DayAdder:
    """A perturber of a user, without our base classes: it adds a day."""

    def perturb(self, problem: Problem, seed: int) -> Iterable[Problem]:
        for day in ("Monday", "Friday")[seed % 2 :]:
            sentence = f"On {day}, {problem.sentence}"
            yield make_child(problem, sentence, problem.options, problem.answer, source="own")


@dataclass(frozen=True)
class _FakeChatModel:
    """A chat model that knows some problems, and adds words before the one in the prompt."""

    sentences: tuple[str, ...]

    def __call__(self, messages: Sequence[Message]) -> Reply:
        told = messages[0].content
        seen = max((s for s in self.sentences if s in told), key=len)
        options = _options(seen)
        asked = re.findall(r"write (\d+) rows?, numbered from (\d+)", messages[-1].content)
        count, first = map(int, asked[0])
        rows = []
        for number in range(first, first + count):
            sentence = f"In room {number}, {seen}".replace('"', '""')
            rows.append(f'{number},"{sentence}",{",".join(options)},{1 + number % 2},4')
        return Reply("\n".join(rows))


def _options(sentence: str) -> tuple[str, ...]:
    [found] = {p.options for p in PARENTS if sentence.endswith(p.sentence)}
    return found


def _make_wordnet(*, as_published: bool) -> Perturber:
    need_wordnet()
    return WordNetPerturber(3, as_published=as_published)


def _make_chat() -> Perturber:
    known = [p.sentence for p in PARENTS]
    known += [f"In room {number}, {sentence}" for number in (1, 2, 3) for sentence in known]
    return ChatPerturber(_FakeChatModel(tuple(known)), wanted=3)


MAKERS: dict[str, Callable[[], Perturber]] = {
    "wordnet": lambda: _make_wordnet(as_published=False),
    "wordnet-paper": lambda: _make_wordnet(as_published=True),
    "chat": _make_chat,
    "own": _DayAdder,
}


@pytest.fixture(scope="module", params=MAKERS)
def perturber(request: pytest.FixtureRequest) -> Perturber:
    return MAKERS[request.param]()


@pytest.fixture(scope="module")
def families(perturber: Perturber) -> Families:
    """Return each parent with its children, and some children with their own."""
    found = [(parent, list(perturber.perturb(parent, 4))) for parent in PARENTS]
    again = [children[0] for _, children in found if children]
    return found + [(child, list(perturber.perturb(child, 4))) for child in again]


def test_perturber_makes_children_of_parents_and_children(families):
    """At least a quarter of the parents have children."""
    asked = len(PARENTS)
    assert sum(bool(children) for _, children in families[:asked]) >= asked / 4
    assert any(children for _, children in families[asked:])


def test_family_has_distinct_texts_and_ids(families):
    for parent, children in families:
        seen = [(p.sentence, p.options) for p in (parent, *children)]
        assert len(set(seen)) == len(seen)
        assert len({p.id for p in (parent, *children)}) == len(seen)


def test_lineages_are_valid(families):
    everyone = {p.id: p for parent, children in families for p in (parent, *children)}
    assert check_lineages(Dataset(everyone.values())) == {}
    for parent, children in families:
        root = parent.lineage.root if parent.lineage else parent.id
        for child in children:
            assert child.lineage is not None
            assert (child.lineage.root, child.lineage.parent) == (root, parent.id)
            assert child.lineage.edits


def test_children_are_marked_as_unvalidated(families):
    """Otherwise, they could be taken for problems that people have confirmed."""
    assert all(c.extra[UNVALIDATED] is True for _, children in families for c in children)


def test_children_keep_embargo_licence_and_domain_but_not_the_twin(families):
    assert {parent.embargo for parent, _ in families} == {True, False}
    assert any(parent.twin_id for parent, _ in families)
    for parent, children in families:
        for child in children:
            assert child.embargo is parent.embargo
            assert child.twin_id is None
            assert parent.origin is not None
            assert child.origin is not None
            assert child.origin.licence == parent.origin.licence == "CC0-1.0"
            assert child.origin.domain == "social"


def test_children_have_all_options_one_blank_and_an_answer(families):
    for parent, children in families:
        for child in children:
            assert len(child.options) == len(parent.options)
            assert child.sentence.count(BLANK) == 1
            assert child.answer in range(len(child.options))


def test_same_problem_and_seed_give_the_same_children(perturber, families):
    """Problems perturbed before, in another order, make no difference."""
    for parent, children in reversed(families):
        assert list(perturber.perturb(parent, 4)) == children


def test_ids_and_texts_do_not_depend_on_the_answer(perturber, families):
    for parent, children in families[: len(PARENTS)]:
        turned = replace(parent, answer=1 - (parent.answer or 0))
        others = list(perturber.perturb(turned, 4))
        assert [(c.id, c.sentence, c.options) for c in others] == [
            (c.id, c.sentence, c.options) for c in children
        ]
