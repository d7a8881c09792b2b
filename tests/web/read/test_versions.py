"""Perturbed problems on the public pages: family, depths, and no word that is hidden."""

from typing import Any

import pytest

from tests.web.lineaged import child, root
from winosmith.web.read.downloads import FILES
from winosmith.web.read.public import get_stats

pytestmark = pytest.mark.usefixtures("db")


def _text(client: Any, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.getvalue().decode())


def test_a_version_tells_how_it_came_about(visit: Any) -> None:
    """The page links root, parent and family, marks the edits, and tells the three depths."""
    top = root()
    middle = child(top, new=("fit", "belong"))
    last = child(middle, new=("big", "large"), declared=4)
    page = _text(visit(), f"/problems/{last.ref}/")
    for path in (f"/problems/{top.ref}/", f"/problems/{middle.ref}/", f"/perturb/{last.ref}/"):
        assert f'href="{path}"' in page
    assert f'href="/families/{top.ref}/?version={last.ref}"' in page
    assert "declared 4, lineage 2, edit 2" in page
    assert page.count("<ins>") == 2
    assert f'href="/families/{top.ref}/"' in _text(visit(), f"/problems/{top.ref}/")
    assert "/families/" not in _text(visit(), f"/problems/{root().ref}/").split("<main")[1]


@pytest.mark.parametrize("state", ["held", "judging", "rejected", "withdrawn", "revised"])
def test_no_page_or_file_tells_a_word_of_a_hidden_parent(
    visit: Any, person: Any, ann: Any, state: str
) -> None:
    """Pages, lists and every file hold the version, and no word that its parent alone has."""
    eve = person("eve")
    top = root(ann)
    hidden = child(top, ann, new=("not fit", "secretly fit"), state=state)
    last = child(hidden, ann, new=("secretly fit", "truly fit"))
    paths = [f"/problems/{last.ref}/", f"/problems/{top.ref}/", "/problems/", "/"]
    paths += [f"/problems/?family={last.ref}", *(f"/download/{name}?fitting=1" for name in FILES)]
    for who in (None, eve):
        for path in paths:
            assert "secretly" not in _text(visit(who), path)
        assert visit(who).get(f"/problems/{hidden.ref}/").status_code == 404
        assert f'"{hidden.ref}"' not in _text(visit(who), f"/problems/{last.ref}/")
    assert "not public" in _text(visit(eve), f"/problems/{last.ref}/")
    assert "secretly" in _text(visit(ann), f"/problems/{last.ref}/")


def test_lists_are_narrowed_to_a_family(visit: Any) -> None:
    """`family` finds the public ones of a family by any of them; `kind` parts them from roots."""
    top, other = root(), root(word="mug")
    middle = child(top, new=("fit", "belong"))
    last, stranger = child(middle), child(other)
    everything = {top.ref, middle.ref, last.ref, other.ref, stranger.ref}

    def found(query: str) -> set[str]:
        page = _text(visit(), f"/problems/?{query}")
        return {ref for ref in everything if f"/problems/{ref}/" in page}

    assert found(f"family={top.ref}") == found(f"family={last.ref}") == {
        top.ref, middle.ref, last.ref,
    }  # fmt: skip
    assert found("kind=original") == {top.ref, other.ref}
    assert found("kind=perturbed") == {middle.ref, last.ref, stranger.ref}
    assert found(f"kind=perturbed&family={other.ref}") == {stranger.ref}


def test_the_family_of_a_hidden_root_is_found_by_its_id(visit: Any) -> None:
    """The root's id, which the data hold, finds its public versions though it is not public."""
    top = root(state="rejected")
    made = child(top)
    assert f"/problems/{made.ref}/" in _text(visit(), f"/problems/?family={top.ref}")


def test_figures_count_versions_apart() -> None:
    """Perturbed problems are no singles: figures count them and their families by themselves."""
    top = root()
    child(child(top), new=("fit", "belong"))
    child(root(state="rejected"))
    found = get_stats()
    assert [found[name] for name in ("problems", "twins", "singles")] == [4, 0, 1]
    assert (found["perturbed"], found["families"]) == (3, 2)
