"""Pages of families: their contents, their links, and who sees them."""

import re
from typing import Any

import pytest

from tests.web.growing import family, model, says, version
from winosmith.web.families.trees import MAX_CHILDREN

pytestmark = pytest.mark.usefixtures("db")

HX = {"HTTP_HX_REQUEST": "true"}


def _text(answer: Any) -> str:
    """Return the visible text of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())


def test_list_shows_versions_depth_and_errors_of_each_family(visit):
    """It can be searched and sorted."""
    alpha, beta = model("alpha"), model("beta")
    first = family(alpha, beta)
    second = family(beta, alpha, word="lamp")
    page = _text(visit().get("/families/"))
    assert "2 families" in page
    assert "3 versions 2 steps deep alpha: 1 of 3 incorrect beta: 2 of 3 incorrect" in page
    found = visit().get("/families/?q=lamp").text
    assert second["root"].ref in found
    assert first["root"].ref not in found
    newest = visit().get("/families/?sort=newest").text
    assert newest.index(second["root"].ref) < newest.index(first["root"].ref)
    assert "No version contains these words." in _text(visit().get("/families/?q=zebra"))


def test_families_can_be_sorted_by_incorrect_answers(visit):
    """Only answers of current models count."""
    beta, gamma, former = model("beta"), model("gamma"), model("former", current=False)
    hard, easy = family(beta, gamma), family(former, former.__class__.objects.get(name="beta"))
    page = visit().get("/families/?sort=fooling").text
    assert page.index(hard["root"].ref) < page.index(easy["root"].ref)


def test_list_of_families_is_paged(visit):
    refs = []
    for number in range(25):
        root = version(None, f"The cup hit jug {number} and the _ broke .")
        version(root, f"The cup hit a jug {number} and the _ broke .")
        refs.append(root.ref)
    pages = [visit().get(f"/families/?page={page}").text for page in (1, 2)]
    assert [sum(f"/families/{ref}/" in page for ref in refs) for page in pages] == [20, 5]
    assert "Page 2 of 2" in pages[1]


def test_tree_shows_edits_depths_and_verdicts(visit):
    found = family(model("alpha"), model("beta"))
    answer = visit().get(f"/families/{found['root'].ref}/")
    body, text = answer.text, _text(answer)
    marked = re.sub(r'<(span|bdi) class="hidden"[^>]*>[^<]*</\1>', "", body)
    assert "<del>broke</del> <ins>fell down</ins>" in marked
    assert "Depth: declared 3 · lineage 2 · edit 2" in text
    assert "Depth: declared – · lineage 2 · edit 2" in text
    assert text.count("✗ incorrect") == 1
    assert text.count("✓ correct") == 3
    assert f'href="/perturb/{found["pot"].ref}/"' in body
    both = _text(visit().get(f"/families/{found['root'].ref}/?model=all"))
    assert "alpha: ✓ correct beta: ✗ incorrect" in both
    assert "nosuch" not in both
    assert visit().get(f"/families/{found['root'].ref}/?model=nosuch").status_code == 404
    assert visit().get(f"/families/{found['root'].ref}/?depth=nosuch").status_code == 404


def test_ties_and_missing_answers_are_shown_in_words(visit):
    found, alpha = family(), model()
    says(alpha, found["root"], tie=True)
    says(alpha, found["old"], None)
    says(alpha, found["pot"], None, stand="late")
    text = _text(visit().get(f"/families/{found['root'].ref}/"))
    for words in ("= undecided", "waits for the model",
                  "the model timed out", "not asked yet"):  # fmt: skip
        assert words in text


def test_address_of_a_version_redirects_to_its_family(visit):
    found = family()
    answer = visit().get(f"/families/{found['old_big'].ref}/")
    assert answer.status_code == 302
    assert answer.url == f"/families/{found['root'].ref}/?version={found['old_big'].ref}"
    body = visit().get(answer.url).text
    assert f'id="v-{found["old"].ref}"' in body
    assert f'id="v-{found["pot"].ref}"' not in body
    assert "Show 1 other version" in body
    focus = re.search(r'<li class="node focus"[^>]*id="v-(\w+)"', body)
    assert focus[1] == found["old_big"].ref


def test_rest_of_a_long_branch_is_loaded_or_redirected_to(visit):
    """With htmx, the rest is a part; without it, the browser is redirected to a page."""
    alpha = model()
    root = version(None, "The cup hit the jug and the _ broke .")
    refs = []
    for number in range(MAX_CHILDREN + 12):
        made = version(root, f"The cup {number} hit the jug and the _ broke .")
        says(alpha, made, number % 2 == 0)
        refs.append(made.ref)
    page = visit().get(f"/families/{root.ref}/").text
    assert [f'id="v-{ref}"' in page for ref in refs] == [True] * MAX_CHILDREN + [False] * 12
    part = re.search(r'hx-get="([^"]+)"', page)
    path = part[1].replace("&amp;", "&")
    rest = visit().get(path, **HX).text
    assert [f'id="v-{ref}"' in rest for ref in refs] == [False] * MAX_CHILDREN + [True] * 12
    assert "<html" not in rest
    assert rest.count("autofocus") == 1
    led = visit().get(path)
    assert led.status_code == 302
    alone = visit().get(led.url).text
    assert [f'id="v-{ref}"' in alone for ref in refs] == [False] * MAX_CHILDREN + [True] * 12


def test_folded_branches_count_incorrect_versions(visit):
    alpha = model()
    now = version(None, "The cup hit the jug and the _ broke .")
    root = now
    for number in range(12):
        now = version(now, f"{now.sentence} So {number} .")
        says(alpha, now, False)
    page = visit().get(f"/families/{root.ref}/")
    assert "7 versions below, 7 incorrect" in _text(page)
    part = re.search(r'hx-get="([^"]+)"', page.text)
    rest = visit().get(part[1].replace("&amp;", "&"), **HX)
    assert "2 versions below, 2 incorrect" in _text(rest)
    far = _text(visit().get(f"/families/{root.ref}/?version={now.ref}"))
    assert "7 steps before this one are not shown." in far


def test_sentence_without_versions_has_a_page(visit):
    root = version(None, "The cup hit the jug and the _ broke .")
    answer = visit().get(f"/families/{root.ref}/")
    assert "No version of this sentence is public yet." in _text(answer)
    assert f'href="/perturb/{root.ref}/"' in answer.text


def test_own_unjudged_versions_are_marked_and_counted(visit, bob, ann):
    """Other people's pages stay the same."""
    alpha = model()
    found = family(alpha)
    path = f"/families/{found['root'].ref}/"
    others = visit(), visit(bob)
    before = [_text(who.get(path)) for who in others]
    mine = version(found["pot"], "The cup hit a jug and the _ fell .", by=ann, state="judging")
    says(alpha, mine, False)
    hers = _text(visit(ann).get(path))
    assert [_text(who.get(path)) for who in others] == before
    assert "yours, not judged yet" in hers
    assert hers.count("✗ incorrect") == before[0].count("✗ incorrect") + 1
    assert "1 of your own unjudged sentences is included" in hers
    counts = [
        [tuple(map(int, found)) for found in re.findall(r"(\d+) / (\d+)", page)]
        for page in (before[0], hers)
    ]
    assert [(wrong + 1, all_ + 1) for wrong, all_ in counts[0]][-1:] == counts[1][-1:], counts
