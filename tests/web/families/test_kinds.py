"""Which kinds of one-token edits make models fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import needed
from winosmith.metrics import proportion
from winosmith.web.families import measuring as kinds
from winosmith.web.families.figures import answers_of
from winosmith.web.families.measuring import kinds_in, kinds_over_all, measure, tell_kinds
from winosmith.web.families.trees import tree_of

needed("HanTa")

START = "The cup hit the jug because the _ was too big ."


def _grown(version: Any, model: Any, says: Any) -> dict[str, Any]:
    """Make a family of one-token edits and one of two, told by a model."""
    alpha = model()
    root = version(None, START)
    found = {"alpha": alpha, "root": root}
    says(alpha, root, True)
    for name, sentence, right in (
        ("red", START.replace("cup", "red cup"), False),
        ("old", START.replace("cup", "old cup"), True),
        ("mug", START.replace("cup", "mug"), False),
        ("bare", START.replace("too big", "big"), True),
        ("two", START.replace("cup", "very old cup"), False),
    ):
        found[name] = version(root, sentence)
        says(alpha, found[name], right)
    found["under"] = version(found["red"], START.replace("cup", "red pan"))
    says(alpha, found["under"], True)
    return found


def test_kinds_count_what_an_edit_makes_wrong(db: Any, version: Any, model: Any, says: Any) -> None:
    """Of edits of one token after a right answer, those that make it wrong; others are no part."""
    found = _grown(version, model, says)
    root, alpha = found["root"], found["alpha"]
    tree = tree_of(root, None)
    answers = [(alpha, answers_of(root, tree, alpha))]
    assert kinds_in(root, tree, answers) is None
    assert tell_kinds(rest=0) == 6
    assert tell_kinds(rest=0) == 0
    kinds = kinds_in(root, tree, answers)
    assert kinds is not None
    assert kinds.untold == 0
    rows = {one.name: one for one in kinds.rows}
    assert {name: one.edits for name, one in rows.items()} == {
        "+JJ": 2, "NN → NN": 2, "−RB": 1,
    }  # fmt: skip
    jj = rows["+JJ"].failed[0]
    assert jj is not None
    assert (jj.right, jj.n) == (1, 2)
    nouns = rows["NN → NN"].failed[0]  # under "red", which the model got wrong, nothing fails
    assert nouns is not None
    assert (nouns.right, nouns.n) == (1, 1)
    base = kinds.all.failed[0]
    assert base is not None
    assert (base.right, base.n, kinds.all.edits) == (2, 4, 5)
    assert base.interval == proportion([1, 1, 0, 0], [0, 0, 0, 0]).interval


@pytest.mark.parametrize("options", [2, 3])
def test_a_tie_is_an_error_for_what_it_is_not_worth(
    database: Any, version: Any, model: Any, says: Any, options: int
) -> None:
    """On either database, edits that make a model undecided count, and are told as ties."""
    alpha, names = model(), ("cup", "jug", "pan")[:options]
    root = version(None, START, options=names)
    says(alpha, root, True)
    for word, right, tie in (("red", True, True), ("old", False, False), ("big", True, False)):
        made = version(root, START.replace("cup", f"{word} cup"), options=names)
        says(alpha, made, right, tie=tie)
        if tie:  # after a tie nothing is known to fail
            under = version(made, START.replace("cup", "red pan"), options=names)
            says(alpha, under, False)
    tell_kinds(rest=0)
    wrong = [1 - 1 / options, 1, 0]
    same = proportion(wrong, [0, 0, 0], ties=1)
    kinds = kinds_in(root, tree := tree_of(root, None), [(alpha, answers_of(root, tree, alpha))])
    assert kinds is not None
    (of,) = kinds.all.failed
    assert of is not None
    assert (of.right, of.n, of.ties) == (pytest.approx(same.right), 3, 1)
    base, jj = kinds_over_all(alpha)
    assert (base["right"], base["n"], base["ties"]) == (pytest.approx(same.right), 3, 1)
    assert base["interval"] == pytest.approx(same.interval)
    assert (jj["kind"], jj["right"], jj["ties"]) == ("+JJ", pytest.approx(same.right), 1)


def test_the_page_tells_ties_after_edits(
    db: Any, version: Any, model: Any, says: Any, visit: Callable[..., Any]
) -> None:
    """A kind of edits that left a model undecided among two is half an error, told as a tie."""
    alpha, root = model(), version(None, START)
    says(alpha, root, True)
    says(alpha, version(root, START.replace("cup", "red cup")), tie=True)
    tell_kinds(rest=0)
    page = visit().get(f"/families/{root.ref}/").content.decode()
    assert '0.5 / 1 <span class="small">1 tie</span>' in page.split('id="edits"')[1]


def test_rare_kinds_are_one_row(
    db: Any, version: Any, model: Any, says: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows and what is left over add up to all edits."""
    monkeypatch.setattr(kinds, "MOST", 1)
    found = _grown(version, model, says)
    tell_kinds(rest=0)
    root, alpha = found["root"], found["alpha"]
    tree = tree_of(root, None)
    of = kinds.kinds_in(root, tree, [(alpha, answers_of(root, tree, alpha))])
    assert of is not None
    assert of.rest is not None
    assert (len(of.rows), of.rest_kinds) == (1, 2)
    assert of.rows[0].edits + of.rest.edits == of.all.edits == 5


def test_no_kind_tells_of_a_hidden_sentence(
    db: Any, version: Any, model: Any, says: Any, visit: Callable[..., Any]
) -> None:
    """An edit counts where both of its sentences are public, and again once they are."""
    found = _grown(version, model, says)
    page = f"/families/{found['root'].ref}/"
    tell_kinds(rest=0)
    assert ">−RB</th>" in visit().get(page).content.decode()
    found["red"].embargo = found["bare"].embargo = True
    found["red"].save(), found["bare"].save()
    told = visit().get(page).content.decode()
    assert ">−RB</th>" not in told
    assert "0 / 1</td>" in told.split(">+JJ</th>")[1].split("</tr>")[0]
    kinds = {one["kind"]: (one["right"], one["n"]) for one in kinds_over_all(found["alpha"])}
    assert kinds == {"": (1, 2), "+JJ": (0, 1), "NN → NN": (1, 1)}


def test_all_families_tell_of_edits(
    db: Any, version: Any, model: Any, says: Any, visit: Callable[..., Any]
) -> None:
    """The page of all models has the kinds of edits, with intervals that know of families."""
    alpha = model()
    wrong = []
    for family in range(6):
        root = version(None, START.replace("cup", f"cup{family}"))
        says(alpha, root, True)
        for word in ("red", "old", "big"):
            right = (family + len(word)) % 2 == 0
            says(alpha, version(root, START.replace("cup", f"{word} cup{family}")), right)
            wrong.append(not right)
    tell_kinds(rest=0)
    assert measure()
    (base, *kinds) = kinds_over_all(alpha)
    assert base["interval"] == [*proportion(wrong, [at // 3 for at in range(18)]).interval]
    assert [one["kind"] for one in kinds] == ["+JJ"]
    told = visit().get("/families/models/").content.decode()
    assert f"{sum(wrong)} / 18</td>" in told.split("all of one token</th>")[1]
