"""A masked model perturbs: one word a child, flips by contrast words, answers that are claims."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import installed
from winosmith import Dataset, Problem, practice
from winosmith.errors import InputError
from winosmith.evolve import MaskedPerturber
from winosmith.evolve._masked import CONTRASTS
from winosmith.lineage import UNVALIDATED, check_lineages, depths
from winosmith.testing import tiny_language_model
from winosmith.text import FUNCTION_WORDS, overlap, tokens, trigger

HANDWRITTEN = practice.handwritten()

# EvoGrad (2024), appendix A.1
SUE = Problem(
    "sue",
    "Although they ran at about the same speed, Sue beat Sally because _ had such a good start.",
    ("Sue", "Sally"),
    0,
)


@pytest.fixture(scope="module")
def folder(quiet_models: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny masked model that knows the words of the hand-written twins, and contrasts."""
    installed("HanTa")
    words = sorted({*CONTRASTS, *(word for to in CONTRASTS.values() for word in to)})
    texts = [text for problem in HANDWRITTEN for text in problem.filled()]
    texts += [SUE.fill(0), " ".join(words), " ".join(words)]
    return tiny_language_model(
        tmp_path_factory.mktemp("masked"), "bert", texts=texts, masked=True, vocabulary=3000
    )


@pytest.fixture(scope="module")
def children(folder: Path) -> dict[str, list[Problem]]:
    """Return six children, or fewer, of each of thirty hand-written problems."""
    perturber = MaskedPerturber(folder, count=6)
    return {p.id: list(perturber.perturb(p, 3)) for p in HANDWRITTEN[:30]}


def _changes(parent: Problem, child: Problem) -> tuple[list[str], list[str]]:
    return trigger(tokens(parent.sentence), tokens(child.sentence))


def _is_flip(old: str, new: str) -> bool:
    return new.lower() in CONTRASTS.get(old.lower(), ())


def test_one_word_changes_and_its_article(children: dict[str, list[Problem]]) -> None:
    """A child differs from its parent in one word, and perhaps in the article before it."""
    assert sum(map(len, children.values())) > 100
    for parent in HANDWRITTEN[:30]:
        for child in children[parent.id]:
            old, new = _changes(parent, child)
            assert len(old) == len(new)
            if len(old) == 2:
                assert {old[0].lower(), new[0].lower()} == {"a", "an"}
            else:
                assert len(old) == 1
            assert new[-1].isalpha()
            assert new[-1][0].isupper() == old[-1][0].isupper()
            assert child.options == parent.options


def test_a_contrast_word_flips_the_answer_and_no_other_does(
    children: dict[str, list[Problem]],
) -> None:
    """The answer is the parent's but where a contrast word came in, and there `extra` says so."""
    flips = 0
    for parent in HANDWRITTEN[:30]:
        for child in children[parent.id]:
            old, new = _changes(parent, child)
            flips += _is_flip(old[-1], new[-1])
            assert (child.answer != parent.answer) == _is_flip(old[-1], new[-1])
            assert child.extra.get("evolve.flipped", False) == _is_flip(old[-1], new[-1])
    assert flips > 20


def test_a_content_word_gives_way_to_a_new_one_of_its_sort(
    children: dict[str, list[Problem]],
) -> None:
    """It has the tag of the old one and stands neither in the sentence nor in an option."""
    from winosmith.language import tag

    for parent in HANDWRITTEN[:30]:
        taken = {word.lower() for word in tokens(parent.sentence)}
        options = {word.lower() for option in parent.options for word in tokens(option)}
        for child in children[parent.id]:
            old, new = _changes(parent, child)
            if not _is_flip(old[-1], new[-1]):
                assert new[-1].lower() not in taken | options | FUNCTION_WORDS
                assert old[-1].lower() not in options | FUNCTION_WORDS
                before, after = tokens(parent.sentence), tokens(child.sentence)
                [at] = [n for n, word in enumerate(after) if word == new[-1]]
                assert tag(before)[at] == tag(after)[at]


def test_children_are_claims_with_lineage(children: dict[str, list[Problem]]) -> None:
    """Each is marked as not judged, names the model as its source, and is one or two edits away."""
    family = Dataset([*HANDWRITTEN[:30], *(c for cs in children.values() for c in cs)])
    assert check_lineages(family) == {}
    for child, depth in list(zip(family, depths(family), strict=True))[30:]:
        assert child.extra[UNVALIDATED] is True
        assert child.origin is not None
        assert child.origin.source == "masked"
        assert depth.edit in (1, 2)
        assert depth.declared is None


def test_the_papers_because_becomes_although(folder: Path) -> None:
    """With flips alone, the paper's sentence gets contrasts, and Sally for an answer."""
    [*found] = MaskedPerturber(folder, count=9, flips=1.0).perturb(SUE, 0)
    because = [child for child in found if " because " not in child.sentence]
    assert because[0].answer == 1
    old, new = _changes(SUE, because[0])
    assert old == ["because"]
    assert new[0] in ("although", "though", "but")
    assert any(child.answer == 0 for child in found)  # when contrasts are used up, others follow


def test_flips_are_as_many_as_are_wanted(folder: Path) -> None:
    """Without flips no answer changes; with flips alone the first child is one where it can be."""
    none = MaskedPerturber(folder, count=4, flips=0.0, proposals=1000)
    first = MaskedPerturber(folder, count=1, flips=1.0)
    for problem in HANDWRITTEN[:10]:
        kept = [c for c in none.perturb(problem, 1) if not _is_flip(*_pair(problem, c))]
        assert [c.answer for c in kept] == [problem.answer] * len(kept)
        assert len(kept) == 4
        if any(word.lower() in CONTRASTS for word in tokens(problem.sentence)):
            [child] = first.perturb(problem, 1)
            assert _is_flip(*_pair(problem, child))


def _pair(parent: Problem, child: Problem) -> tuple[str, str]:
    old, new = _changes(parent, child)
    return old[-1], new[-1]


def test_the_answer_is_not_seen(folder: Path) -> None:
    """Withheld or flipped, it changes no child's sentence; withheld, the children have none."""
    perturber = MaskedPerturber(folder, count=3)
    for problem in HANDWRITTEN[:8]:
        own = list(perturber.perturb(problem, 5))
        blind = list(perturber.perturb(replace(problem, answer=None), 5))
        flipped = list(perturber.perturb(replace(problem, answer=1 - (problem.answer or 0)), 5))
        assert [c.sentence for c in own] == [c.sentence for c in blind]
        assert [c.answer for c in blind] == [None] * len(blind)
        assert [c.answer for c in own] == [1 - (c.answer or 0) for c in flipped]
        assert [c.id for c in own] == [c.id for c in flipped]


def test_the_pronoun_is_read_where_it_is_known(folder: Path) -> None:
    """A blank of a known pronoun gives other proposals, and the sentence keeps its blank."""
    perturber = MaskedPerturber(folder, count=6, flips=0.0, proposals=1)
    plain = [c.sentence for p in HANDWRITTEN[:8] for c in perturber.perturb(p, 0)]
    named = [
        c.sentence for p in HANDWRITTEN[:8] for c in perturber.perturb(replace(p, pronoun="she"), 0)
    ]
    assert plain != named
    assert all(sentence.count("_") == 1 for sentence in named)
    assert max(overlap(tokens(a), tokens(b)) for a, b in zip(plain, named, strict=False)) > 0.7


def test_more_options_get_no_flips(folder: Path) -> None:
    """Who would be right instead nobody can tell with three options."""
    three = replace(SUE, options=("Sue", "Sally", "the umpire"))
    found = list(MaskedPerturber(folder, count=9, flips=1.0).perturb(three, 0))
    assert found
    assert {child.answer for child in found} == {0}


def test_a_perturber_travels_without_its_model(folder: Path) -> None:
    """Pickled after use it is as small as before, and gives the same children."""
    perturber = MaskedPerturber(folder)
    own = list(perturber.perturb(SUE, 2))
    held = pickle.dumps(perturber)
    assert len(held) < 1000
    assert list(pickle.loads(held).perturb(SUE, 2)) == own  # noqa: S301 - our own bytes


@pytest.mark.parametrize("wrong", [{"count": 0}, {"proposals": 0}, {"flips": 1.5}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    """A count, proposals or a share that is none is told when the perturber is made."""
    with pytest.raises(InputError, match=r"must be 1 or more, and flips .* 0 to 1"):
        MaskedPerturber("nowhere", **wrong)  # type: ignore[arg-type]


def test_a_model_that_is_not_there_is_told(quiet_models: None, tmp_path: Path) -> None:
    """An empty folder is no model."""
    with pytest.raises(InputError):
        list(MaskedPerturber(tmp_path).perturb(SUE, 0))
