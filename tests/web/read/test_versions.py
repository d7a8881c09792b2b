"""Perturbed problems on public pages: family, depths, and no hidden words."""

from typing import Any

import pytest

from tests.web.lineaged import child, root
from winosmith.web.read.downloads import FILES
from winosmith.web.read.public import get_stats

pytestmark = pytest.mark.usefixtures("db")


def _get_text(client: Any, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.getvalue().decode())


def test_version_page_shows_family_edits_and_depths(visit):
    top = root()
    middle = child(top, new=("fit", "belong"))
    last = child(middle, new=("big", "large"), declared=4)
    page = _get_text(visit(), f"/problems/{last.ref}/")
    for path in (f"/problems/{top.ref}/", f"/problems/{middle.ref}/", f"/perturb/{last.ref}/"):
        assert f'href="{path}"' in page
    assert f'href="/families/{top.ref}/?version={last.ref}"' in page
    assert "declared 4, lineage 2, edit 2" in page
    assert page.count("<ins>") == 2
    assert f'href="/families/{top.ref}/"' in _get_text(visit(), f"/problems/{top.ref}/")
    assert "/families/" not in _get_text(visit(), f"/problems/{root().ref}/").split("<main")[1]


@pytest.mark.parametrize("state", ["held", "judging", "rejected", "withdrawn", "revised"])
def test_no_page_or_file_contains_words_of_a_hidden_parent(visit, person, ann, state):
    eve = person("eve")
    top = root(ann)
    hidden = child(top, ann, new=("not fit", "secretly fit"), state=state)
    last = child(hidden, ann, new=("secretly fit", "truly fit"))
    paths = [f"/problems/{last.ref}/", f"/problems/{top.ref}/", "/problems/", "/"]
    paths += [f"/problems/?family={last.ref}", *(f"/download/{name}?fitting=1" for name in FILES)]
    for who in (None, eve):
        for path in paths:
            assert "secretly" not in _get_text(visit(who), path)
        assert visit(who).get(f"/problems/{hidden.ref}/").status_code == 404
        assert f'"{hidden.ref}"' not in _get_text(visit(who), f"/problems/{last.ref}/")
    assert "not public" in _get_text(visit(eve), f"/problems/{last.ref}/")
    assert "secretly" in _get_text(visit(ann), f"/problems/{last.ref}/")


def test_lists_can_be_filtered_by_family_and_kind(visit):
    top, other = root(), root(word="mug")
    middle = child(top, new=("fit", "belong"))
    last, stranger = child(middle), child(other)
    everything = {top.ref, middle.ref, last.ref, other.ref, stranger.ref}

    def found(query: str) -> set[str]:
        page = _get_text(visit(), f"/problems/?{query}")
        return {ref for ref in everything if f"/problems/{ref}/" in page}

    assert found(f"family={top.ref}") == found(f"family={last.ref}") == {
        top.ref, middle.ref, last.ref,
    }  # fmt: skip
    assert found("kind=original") == {top.ref, other.ref}
    assert found("kind=perturbed") == {middle.ref, last.ref, stranger.ref}
    assert found(f"kind=perturbed&family={other.ref}") == {stranger.ref}


def test_family_of_a_hidden_root_is_found_by_its_id(visit):
    """Exported data contain the id of the root."""
    top = root(state="rejected")
    made = child(top)
    assert f"/problems/{made.ref}/" in _get_text(visit(), f"/problems/?family={top.ref}")


def test_statistics_count_versions_separately():
    top = root()
    child(child(top), new=("fit", "belong"))
    child(root(state="rejected"))
    found = get_stats()
    assert [found[name] for name in ("problems", "twins", "singles")] == [4, 0, 1]
    assert (found["perturbed"], found["families"]) == (3, 2)
