"""The pages of perturbing: what they show, what they keep, who may see them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.hostile import TEXTS, Page  # type: ignore[import-not-found]
from tests.web.perturb.conftest import (  # type: ignore[import-not-found]
    CHILD,
    GRANDCHILD,
    ROOT,
    answer_as,
    form,
    rules,
    send,
    text,
    typed,
)


@pytest.fixture
def desk(
    db: Any, contributor: Callable[..., Any], original: Callable[..., Any], visit: Any
) -> tuple[Any, Any, Any]:
    """Return Ann, her browser, and a public original."""
    ann = contributor()
    return ann, visit(ann), original()


def _plain(page: str) -> str:
    """Return what stands on a page, without tags and with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_the_first_page_explains_and_lists(desk: Any, original: Callable[..., Any]) -> None:
    """Examples with their edits, and the originals, each with a link; perturbed ones on request."""
    from winosmith.web.problems.models import Problem

    ann, client, root = desk
    original("other", "The cup hit the jug, so the _ broke.")
    child = send(ann, root)
    send(ann, child, typed(GRANDCHILD))
    Problem.objects.update(state="valid")
    page = text(client.get("/perturb/"))
    assert page.count("<ins>") >= 7
    assert 'href="/perturb/root/"' in page
    assert 'href="/perturb/other/"' in page
    assert f'href="/perturb/{child.ref}/"' not in page
    assert "family of 3" in page
    assert "not perturbed yet" in page
    assert "and 2 perturbed ones" in page
    more = text(client.get("/perturb/?kind=perturbed"))
    assert f'href="/perturb/{child.ref}/"' in more
    assert 'href="/perturb/root/"' not in more
    assert "2 steps from the original" in more
    assert text(client.get("/perturb/?kind=")).count('class="button" href="/perturb/') == 4
    found = text(
        client.get("/perturb/?q=jug", headers={"HX-Request": "true", "HX-Target": "results"})
    )
    assert "<html" not in found
    assert "<mark>jug</mark>" in found
    assert 'href="/perturb/root/"' not in found


def test_what_is_not_public_is_on_no_list(
    desk: Any, contributor: Callable[..., Any], visit: Any
) -> None:
    """Somebody else's unjudged version is neither listed, counted nor found."""
    ann, _client, root = desk
    child = send(ann, root)
    for query in ("", "?kind=perturbed", "?kind=", "?kind=&q=small"):
        page = text(visit(contributor(f"bob{query[-3:]}")).get(f"/perturb/{query}"))
        assert child.ref not in page
        assert "perturbed one<" not in page
        assert "family of 2" not in page


def test_consent_comes_first(db: Any, person: Any, original: Any, visit: Any) -> None:
    """Who has not agreed is led to the texts and back; the first page is open to all."""
    original()
    assert visit().get("/perturb/").status_code == 200
    for client in (visit(), visit(person("eva"))):
        answer = client.get("/perturb/root/")
        assert answer.headers["Location"] == "/people/consent/?next=%2Fperturb%2Froot%2F"


def test_a_newcomer_without_an_account_perturbs(
    db: Any, original: Any, visit: Any, models: Any
) -> None:
    """From the consent to the result; without an account a moderator looks first."""
    original()
    models("one")
    client = visit()
    shown = re.findall(r'name="shown" value="(\d+)"', text(client.get("/people/consent/")))
    client.post("/people/consent/", {"agree": "yes", "shown": shown, "next": "/perturb/root/"})
    page = text(client.get("/perturb/root/"))
    assert ROOT in page
    made = client.post("/perturb/root/", form())
    page = text(client.get(made.headers["Location"]))
    assert "Your sentence is stored" in page
    assert "awaits a moderator" in page
    assert "you write without an account" in page
    assert "Waiting for one…" in page


def test_a_site_for_accounts_alone_asks_to_log_in(db: Any, original: Any, visit: Any) -> None:
    """Where the rules allow no anonymous writers, the page leads to the log-in; a form is kept."""
    original()
    with rules(anonymous=False):
        assert visit().get("/perturb/root/").headers["Location"].startswith("/people/login/")
        answer = visit().post("/perturb/root/", form())
    assert answer.status_code == 422
    assert "log in or sign up" in text(answer)
    assert f">{CHILD}</textarea>" in text(answer)


def test_the_form_starts_as_the_parent_without_its_answer(desk: Any) -> None:
    """Sentence and options are the parent's; the answer has to be chosen anew."""
    _ann, client, _root = desk
    page = text(client.get("/perturb/root/"))
    assert f">{ROOT}</textarea>" in page
    assert 'value="the suitcase"' in page
    assert not re.search(r'<input type="radio"[^>]*checked', page)
    assert "Nothing is changed yet" in page


def test_a_good_sentence_leads_to_its_page_once(desk: Any, models: Any) -> None:
    """Sent again, by a double click or the back button, the same form leads to the same page."""
    from winosmith.web.problems.models import Problem

    _ann, client, _root = desk
    first = client.post("/perturb/root/", form())
    again = client.post("/perturb/root/", form(GRANDCHILD))
    made = Problem.objects.exclude(ref="root").get()
    assert first.headers["Location"] == again.headers["Location"] == f"/perturb/made/{made.ref}/"


def test_a_refusal_keeps_everything(desk: Any, models: Any) -> None:
    """With status 422 the advice stands beside the field, and every field holds what was typed."""
    models("one", "other")
    _ann, client, _root = desk
    sent = form("The <b>trophy</b> was too.", answer="", declared="x", against="other")
    answer = client.post("/perturb/root/", sent)
    page = text(answer)
    assert answer.status_code == 422
    assert "The &lt;b&gt;trophy&lt;/b&gt; was too.</textarea>" in page
    assert "<b>trophy" not in page
    for name in ("sentence", "answer", "declared"):
        assert f'id="{name}-error"' in page
    assert 'aria-describedby="sentence-hint sentence-error" aria-invalid="true"' in page
    assert 'name="declared" id="declared" value="x"' in page
    assert '<option value="other" selected>' in page
    assert f'name="key" value="{"k" * 32}"' in page
    assert "4 things are to be changed" in _plain(page)


def test_checks_need_no_script(desk: Any) -> None:
    """The button "Check" answers with the form as it was, the edits marked, and writes nothing."""
    from winosmith.web.problems.models import Problem

    _ann, client, _root = desk
    page = text(client.post("/perturb/root/", {**form(), "do": "check"}))
    assert f">{CHILD}</textarea>" in page
    assert re.search(r"<del><bdi[^>]*>\[taken out: </bdi>large<span[^>]*>\]</span></del>", page)
    assert re.search(r"<ins><bdi[^>]*>\[put in: </bdi>small<span[^>]*>\]</span></ins>", page)
    assert "large → small" in page
    assert "<dt>lineage depth</dt><dd>1</dd>" in page
    assert '<dd class="word">flipped</dd>' in page
    assert page.count('class="pass"') == 7
    assert Problem.objects.count() == 1


def test_live_checks_write_nothing(desk: Any) -> None:
    """A check answers with its part of the page and the line that is read out."""
    from winosmith.web.problems.models import Problem

    _ann, client, _root = desk
    page = text(client.post("/perturb/root/check/", form(), headers={"HX-Request": "true"}))
    assert "<html" not in page
    assert 'hx-swap-oob="innerHTML:#tally">Ready to send.' in page
    lacking = form("The trophy did not fit because _ was too small.")
    page = text(client.post("/perturb/root/check/", lacking))
    assert 'class="note" data-rule="occur"' in page
    assert "Not in the sentence: “the suitcase”" in page
    assert Problem.objects.count() == 1


def test_too_many_keeps_what_was_typed(desk: Any) -> None:
    """Over the limit the form comes back with status 429, all kept, and says when to return."""
    _ann, client, _root = desk
    with rules(perturbs_per_hour=1):
        client.post("/perturb/root/", form())
        answer = client.post("/perturb/root/", form(GRANDCHILD, key="m" * 32))
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert f">{GRANDCHILD}</textarea>" in text(answer)
    assert "as many as the site allows" in text(answer)


def test_a_text_that_changed_keeps_what_was_typed(desk: Any, visit: Any) -> None:
    """What is sent without the consent that holds now comes back; nobody is made up for it."""
    from winosmith.web.people.agree import publish
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem

    _ann, client, _root = desk
    publish("consent", "Everything is different now.")
    before = Person.objects.count()
    for browser in (client, visit()):
        answer = browser.post("/perturb/root/", form())
        assert answer.status_code == 422
        assert 'href="/people/consent/?next=%2Fperturb%2Froot%2F"' in text(answer)
        assert f">{CHILD}</textarea>" in text(answer)
    assert Person.objects.count() == before
    assert Problem.objects.count() == 1


def test_a_model_that_is_away_blocks_nobody(desk: Any, models: Any) -> None:
    """It is named as away; the sentence is stored, and the page says why it waits."""
    (one,) = models("one")
    one.fault = "Its weights could not be read."
    one.save()
    _ann, client, _root = desk
    page = text(client.get("/perturb/root/"))
    assert '<option value="one">one (away now)</option>' in page
    assert "Its weights could not be read." in page
    made = client.post("/perturb/root/", form(against="one")).headers["Location"]
    page = text(client.get(made))
    assert "Its weights could not be read. The sentence is stored; its answer comes later." in page


def test_a_prediction_appears_with_probabilities(desk: Any, models: Any) -> None:
    """The chosen model stands first; bars, who was fooled, what it made of the parent."""
    import math

    one, other = models("one", "other")
    ann, client, root = desk
    from winosmith.web.predict.asking import ask

    ask(root)
    answer_as(other, root, [0.0, -1.0])
    made = send(ann, root, typed(against="other"))
    where = f"/perturb/made/{made.ref}/"
    answer_as(other, made, [math.log(0.75), math.log(0.25)])
    page = text(client.get(where))
    plain = _plain(page)
    assert page.index('id="model-1">other') < page.index('id="model-2">one')
    assert "You fooled 1 model of 1. It counts once judges agree with your answer." in plain
    assert "1 model is still to answer." in plain
    assert '<meter min="0" max="100" value="75"' in page
    assert "on the parent it was right" in plain
    assert "0.25 s" in plain
    answer_as(one, made, [0.5, 0.5])
    page = text(client.get(where))
    assert "You fooled 2 models of 2." in _plain(page)
    assert "It knows nothing here" in page
    assert "hx-get" not in page.split('id="predictions"')[1].split("</section>")[0]
    made.state = "valid"
    made.save()
    assert "Judges agree with your answer: it counts." in _plain(text(client.get(where)))


def test_a_page_that_waits_asks_again_until_all_is_there(desk: Any, models: Any) -> None:
    """Nothing new is 204; what is new replaces the cards and is read out; then nobody asks."""
    (one,) = models("one")
    ann, client, root = desk
    made = send(ann, root)
    page = text(client.get(f"/perturb/made/{made.ref}/"))
    (where,) = re.findall(r'hx-get="(/perturb/made/[^"]+)" hx-trigger="every 500ms"', page)
    where = where.replace("&amp;", "&")
    htmx = {"HX-Request": "true"}
    assert client.get(where, headers=htmx).status_code == 204
    answer_as(one, made, [-1.0, 0.0])
    answer = client.get(where, headers=htmx)
    assert answer.status_code == 200
    assert 'hx-swap-oob="innerHTML:#verdict">Not fooled: the model followed you.' in text(answer)
    assert "hx-get" not in text(answer)


@pytest.mark.parametrize(
    ("stand", "words"), [("late", "It took too long."), ("failed", "out of memory")]
)
def test_a_model_that_fails_is_shown_as_such(
    desk: Any, models: Any, stand: str, words: str
) -> None:
    """A model that took too long or failed says so, and nobody waits for it."""
    from winosmith.web.predict.models import Prediction

    models("one")
    ann, client, root = desk
    made = send(ann, root)
    Prediction.objects.update(stand=stand, error="out of memory")
    page = text(client.get(f"/perturb/made/{made.ref}/"))
    assert words in page
    assert "No model could answer." in page
    assert "every 500ms" not in page


def test_without_models_sentences_are_stored_all_the_same(desk: Any) -> None:
    """A site without models says so, and takes sentences."""
    _ann, client, _root = desk
    assert "This site has no model now" in text(client.get("/perturb/root/"))
    where = client.post("/perturb/root/", form()).headers["Location"]
    assert "Stored. This site has no model now" in text(client.get(where))


def test_the_result_leads_on(desk: Any) -> None:
    """To the version itself, its parent, its family, and its revision while that may help."""
    ann, client, root = desk
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


def test_the_way_from_the_root_is_shown_as_far_as_one_may(
    desk: Any, contributor: Any, visit: Any
) -> None:
    """Each step marks its edits; what is not public is a gap, told by no edit of the next."""
    from winosmith.web.problems.models import Problem

    ann, client, root = desk
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
        assert "A version that is not public." in page
        assert "secret" not in page
        assert child.ref not in page


def test_a_long_way_is_folded(desk: Any) -> None:
    """Of a long path the root and the last steps are shown, the rest unfolds."""
    ann, client, root = desk
    version = root
    for n in range(9):
        version = send(ann, version, typed(CHILD.replace("old", "").replace("too", f"too {n}")))
    page = text(client.get(f"/perturb/{version.ref}/"))
    assert "5 steps between" in page
    assert page.count('<li class="step') == 11


def test_only_those_who_may_see_a_version_see_its_page(
    desk: Any, contributor: Callable[..., Any], visit: Any
) -> None:
    """To all others it does not exist, as if nothing had that id."""
    from winosmith.web.problems.models import Problem

    ann, client, root = desk
    made = send(ann, root)
    eva = contributor("eva", is_moderator=True)
    bob = contributor("bob")
    pages = (
        f"/perturb/made/{made.ref}/",
        f"/perturb/made/{made.ref}/predictions/",
        f"/perturb/{made.ref}/",
        f"/perturb/{made.ref}/revise/",
    )
    found = {}
    for name, who in (("ann", client), ("eva", visit(eva)), ("bob", visit(bob))):
        found[name] = [who.get(page).status_code for page in pages]
    assert found == {
        "ann": [200, 200, 200, 200],
        "eva": [200, 200, 404, 404],
        "bob": [404, 404, 404, 404],
    }
    other = visit(bob)
    assert other.post(f"/perturb/{made.ref}/check/", form()).status_code == 404
    assert other.post(f"/perturb/{made.ref}/revise/check/", form()).status_code == 404
    hidden = re.sub(r'value="\w{64}"', "", text(other.get(pages[0]))).replace(made.ref, "")
    nothing = re.sub(r'value="\w{64}"', "", text(other.get("/perturb/made/nothing/")))
    assert hidden == nothing.replace("nothing", "")
    Problem.objects.filter(pk=made.pk).update(state="valid")
    assert [other.get(page).status_code for page in pages] == [200, 200, 200, 404]
    assert other.get("/perturb/made/root/").status_code == 404


def test_a_version_is_revised_on_the_same_form(desk: Any) -> None:
    """Filled with what was sent, it replaces the version once; afterwards its address says so."""
    from winosmith.web.problems.models import Problem

    ann, client, root = desk
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


def test_who_reads_a_half_to_perturb_it_never_judges_the_other(desk: Any, original: Any) -> None:
    """The page notes that the twin was read where its other half is still being judged."""
    from winosmith.web.judge.models import Seen

    ann, client, root = desk
    original("half", CHILD, twin=root.twin, state="judging")
    client.get("/perturb/root/")
    assert Seen.objects.filter(person=ann, twin=root.twin).exists()


def test_hostile_texts_run_nowhere(desk: Any) -> None:
    """Through the form, its checks, the result and the path each text stays text."""
    from winosmith.web.problems.models import Problem

    _ann, client, _root = desk
    for n, hostile in enumerate(TEXTS):
        sentence = f"The trophy number {n} and {hostile} went into the suitcase since _ was wide."
        sent = {**form(sentence, key=f"{n:032}"), "option_1": hostile}
        assert Page(text(client.post("/perturb/root/check/", sent))).faults == []
        answer = client.post("/perturb/root/", sent)
        assert answer.status_code == 302, hostile
        made = Problem.objects.get(ref=answer.headers["Location"].split("/")[-2])
        assert made.sentence == sentence
        page = Page(text(client.get(f"/perturb/{made.ref}/")))
        assert page.faults == []
        result = Page(text(client.get(answer.headers["Location"])))
        assert result.faults == []
        assert hostile in "".join(result.options)
