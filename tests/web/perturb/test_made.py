"""The page of a submitted sentence: predictions, the path from the root, and its revision."""

import math
import re

import pytest

from tests.web.growing import model
from tests.web.perturb.conftest import CHILD, GRANDCHILD, answer_as, form, plain, send, text, typed
from winosmith.web.predict.asking import request_predictions
from winosmith.web.predict.models import Prediction
from winosmith.web.problems.models import Problem


def test_unavailable_model_does_not_block_a_submission(client):
    one = model("one")
    one.fault = "Its weights could not be read."
    one.save()
    page = text(client.get("/perturb/root/"))
    assert '<option value="one">one (unavailable)</option>' in page
    assert "Its weights could not be read." in page
    made = client.post("/perturb/root/", form(against="one")).headers["Location"]
    page = text(client.get(made))
    why = "Its weights could not be read. The sentence is stored; the model will answer later."
    assert why in page


def test_predictions_are_shown_with_probabilities(client, ann, root):
    """The chosen model is listed first."""
    one, other = model("one"), model("other")

    request_predictions(root)
    answer_as(other, root, [0.0, -1.0])
    made = send(ann, root, typed(against="other"))
    where = f"/perturb/made/{made.ref}/"
    answer_as(other, made, [math.log(0.75), math.log(0.25)])
    page = text(client.get(where))
    told = plain(page)
    assert page.index('id="model-1">other') < page.index('id="model-2">one')
    assert "You fooled 1 of 1 models. This counts once judges find the sentence valid." in told
    assert "1 model has not answered yet." in told
    assert '<meter min="0" max="100" value="75"' in page
    assert "correct on the parent" in told
    assert "0.25 s" in told
    answer_as(one, made, [0.5, 0.5])
    page = text(client.get(where))
    assert "You fooled 1 of 2 models." in plain(page)
    assert "1 model could not decide." in plain(page)
    assert "Undecided" in plain(page)
    assert "This counts neither as fooling the model nor as a correct answer." in page
    assert page.count('<span class="tag">the model’s choice</span>') == 1
    assert "hx-get" not in page.split('id="predictions"')[1].split("</section>")[0]
    made.state = "valid"
    made.save()
    assert "The sentence was found valid, so this counts." in plain(text(client.get(where)))


FOOLED, RIGHT = [0.0, -1.0], [-1.0, 0.0]
"""Scores of a model that is fooled, and of one that is not."""


@pytest.mark.parametrize(
    ("reader", "fields", "scores", "said"),
    [
        *(
            ("ann", {"state": state}, FOOLED, f"did not give this answer. The sentence was {why}")
            for state, why in (
                ("rejected", "rejected, so it does not count as fooling a model."),
                ("withdrawn", "withdrawn, so it does not count as fooling a model."),
                ("revised", "replaced by a revision, which counts in its place."),
            )
        ),
        (
            "ann", {"state": "valid", "embargo": True}, FOOLED,
            "You fooled 1 of 1 models. The sentence is under embargo; this counts once",
        ),
        ("", {"state": "valid"}, FOOLED, "1 of 1 models is fooled."),
        ("", {"state": "valid"}, RIGHT, "Not fooled: the model gave this answer, too."),
        ("ann", {}, [0.5, 0.5], "Not fooled: the model could not decide."),
        ("ann", {}, [-3.0, -3.0], "Not fooled: the model could not decide."),
    ],
)  # fmt: skip
def test_verdict_depends_on_state_scores_and_reader(
    db, ann, root, visit, reader, fields, scores, said
):
    one = model("one")
    made = send(ann, root)
    assert made.answer == 1
    answer_as(one, made, scores)
    Problem.objects.filter(pk=made.pk).update(**fields)
    told = plain(text(visit(ann if reader else None).get(f"/perturb/made/{made.ref}/")))
    assert said in told
    assert ("ooled 1" in told) is said.startswith("You fooled")
    if "did not give" in said:
        assert "1 of 1 models did not" in told
        assert "Another answer" in told
        assert "this counts" not in told


def test_page_polls_until_all_predictions_arrive(client, ann, root):
    """Without news the answer is 204; new predictions are also announced to screen readers."""
    one = model("one")
    made = send(ann, root)
    page = text(client.get(f"/perturb/made/{made.ref}/"))
    (where,) = re.findall(r'hx-get="(/perturb/made/[^"]+)" hx-trigger="every 500ms"', page)
    where = where.replace("&amp;", "&")
    htmx = {"HX-Request": "true"}
    assert client.get(where, headers=htmx).status_code == 204
    answer_as(one, made, [-1.0, 0.0])
    answer = client.get(where, headers=htmx)
    assert answer.status_code == 200
    page = text(answer)
    assert 'hx-swap-oob="innerHTML:#verdict">Not fooled: the model gave this answer, too.' in page
    assert "hx-get" not in page


@pytest.mark.parametrize(
    ("stand", "words"), [("late", "The model took too long."), ("failed", "out of memory")]
)
def test_late_or_failed_model_is_shown_without_polling(client, ann, root, stand, words):
    model("one")
    made = send(ann, root)
    Prediction.objects.update(stand=stand, error="out of memory")
    page = text(client.get(f"/perturb/made/{made.ref}/"))
    assert words in page
    assert "No model could answer." in page
    assert "every 500ms" not in page


def test_sentences_are_stored_without_models(client):
    assert "This site currently has no models" in text(client.get("/perturb/root/"))
    where = client.post("/perturb/root/", form()).headers["Location"]
    assert "Your sentence is stored. This site currently has no models" in text(client.get(where))


def test_result_links_to_version_parent_family_and_revision(client, ann, root):
    made = send(ann, root)
    page = text(client.get(f"/perturb/made/{made.ref}/"))
    for where in (
        f"/perturb/{made.ref}/",
        "/perturb/root/",
        f"/families/root/?version={made.ref}",
        f"/perturb/{made.ref}/revise/",
        f"/write/mine/{made.twin.ref}/",
    ):
        assert f'href="{where}"' in page
    made.state = "valid"
    made.save()
    assert "/revise/" not in text(client.get(f"/perturb/made/{made.ref}/"))


def test_path_hides_versions_that_are_not_public(client, ann, root, contributor, visit):
    """A hidden version is a gap, which the edits of the next version don't reveal."""
    child = send(ann, root, typed(CHILD.replace("suitcase", "secret suitcase")))
    grandchild = send(ann, child, typed(GRANDCHILD))
    page = text(client.get(f"/perturb/{grandchild.ref}/"))
    path = page.split('class="path"')[1].split("</ol>")[0]
    assert path.count('class="step') == 3
    assert path.count("<ins>") == 3
    Problem.objects.filter(pk=grandchild.pk).update(state="valid")
    bob = visit(contributor("bob"))
    for where in (f"/perturb/{grandchild.ref}/", f"/perturb/made/{grandchild.ref}/"):
        page = text(bob.get(where))
        assert "This version is not public." in page
        assert "secret" not in page
        assert child.ref not in page


def test_long_path_is_folded(client, ann, root):
    version = root
    for n in range(9):
        version = send(ann, version, typed(CHILD.replace("old", "").replace("too", f"too {n}")))
    page = text(client.get(f"/perturb/{version.ref}/"))
    assert "5 more steps" in page
    assert page.count('<li class="step') == 11


def test_hidden_version_looks_like_a_missing_one(client, ann, root, bob, visit):
    made, other = send(ann, root), visit(bob)
    pages = (
        f"/perturb/made/{made.ref}/",
        f"/perturb/made/{made.ref}/predictions/",
        f"/perturb/{made.ref}/",
        f"/perturb/{made.ref}/revise/",
    )
    hidden = re.sub(r'value="\w{64}"', "", text(other.get(pages[0]))).replace(made.ref, "")
    nothing = re.sub(r'value="\w{64}"', "", text(other.get("/perturb/made/nothing/")))
    assert hidden == nothing.replace("nothing", "")
    Problem.objects.filter(pk=made.pk).update(state="valid")
    assert [other.get(page).status_code for page in pages] == [200, 200, 200, 404]
    assert other.get("/perturb/made/root/").status_code == 404


def test_version_is_revised_once_on_the_same_form(client, ann, root):
    old = send(ann, root, typed(declared="2"))
    where = f"/perturb/{old.ref}/revise/"
    page = text(client.get(where))
    assert f">{CHILD}</textarea>" in page
    assert 'name="declared" id="declared" value="2"' in page
    assert re.search(r'id="answer_1" value="1" checked', page)
    assert f'hx-post="{where}check/"' in page
    checked = text(client.post(f"{where}check/", form(GRANDCHILD)))
    assert checked.count('class="pass"') == 7
    sent = client.post(where, form(GRANDCHILD))
    again = client.post(where, form(GRANDCHILD))
    new = Problem.objects.exclude(ref__in=("root", old.ref)).get()
    assert sent.headers["Location"] == again.headers["Location"] == f"/perturb/made/{new.ref}/"
    assert client.get(where).headers["Location"] == f"/perturb/made/{old.ref}/"
    assert "replaced by a revision" in text(client.get(f"/perturb/made/{old.ref}/"))
