"""Rules for perturbing and revising problems."""

from typing import Any

import pytest

from tests.web.growing import model
from tests.web.making import fresh
from tests.web.perturb.conftest import CHILD, GRANDCHILD, OPTIONS, ROOT, form, original, send, typed
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.judge.models import Seen, Slot, mark_seen
from winosmith.web.judge.submissions import withdraw_twin
from winosmith.web.people.gates import RateLimitError, rate_limit
from winosmith.web.people.models import Done
from winosmith.web.perturb.rules import (
    Position,
    SentenceInput,
    _check_length,
    create_version,
    is_revisable,
    measure_input_depths,
    run_checks,
)
from winosmith.web.predict.models import Prediction
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.family import get_path, may_perturb
from winosmith.web.problems.lookalikes import index_problems, index_published_dataset
from winosmith.web.problems.models import Problem, Remembered, Version
from winosmith.web.problems.records import as_problem

KEY = "k" * 32


def test_version_becomes_a_single_problem_in_judging(database, ann, root):
    """It has its own twin and lineage, is indexed, and all models are asked about it."""
    one, other = model("one"), model("other")
    made = send(ann, root, typed(against="other"))
    assert (made.sentence, tuple(made.options), made.answer) == (CHILD, OPTIONS, 1)
    assert (made.state, made.embargo, made.gold) == ("judging", False, False)
    twin = made.twin
    assert (twin.contributor, twin.source, twin.domain) == (ann, "person", "physical")
    assert twin.problems.count() == 1
    assert twin.pk != root.twin_id
    assert len({made.ref, twin.ref, root.ref}) == 3
    assert as_problem(made).twin_id is None
    event = made.events.get()
    assert (event.kind, event.after, event.actor) == ("submit", "judging", ann)
    assert Slot.objects.filter(problem=made).count() == 3
    assert Remembered.objects.filter(problem=made).exists()
    version = Version.objects.get(problem=made)
    assert (version.root, version.parent, version.step) == (root, root, 1)
    assert (version.declared, version.lineage, version.edit) == (None, 1, 1)
    assert version.against == other
    asked = Prediction.objects.filter(problem=made).order_by("model")
    assert [(row.model, row.stand, row.urgent) for row in asked] == [
        (one, "waiting", True),
        (other, "waiting", True),
    ]


def test_form_key_creates_one_version_per_person(database, ann, bob, root):
    made = send(ann, root, key=KEY)
    assert send(ann, root, typed(GRANDCHILD), key=KEY) == made
    assert send(bob, root, typed(GRANDCHILD), key=KEY) != made
    assert Problem.objects.count() == 3


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"sentence": ""}, "sentence", "Write the sentence"),
        ({"sentence": CHILD.replace("_", "it")}, "sentence", "underscore"),
        ({"sentence": CHILD.replace("too", "_")}, "sentence", "there are 2"),
        ({"sentence": ROOT}, "sentence", "Change a word"),
        ({"sentence": ROOT, "options": OPTIONS[::-1]}, "sentence", "Change a word"),
        ({"sentence": "Too few _ ."}, "sentence", "5 words"),
        ({"sentence": f"_ {'so ' * 400}"}, "sentence", "1000 characters"),
        ({"options": ("the trophy", "")}, "option_2", "Enter each option"),
        ({"options": ("the trophy", "The Trophy")}, "option_2", "differ"),
        ({"options": ("the _", "it")}, "option_1", "An option can’t contain a blank."),
        ({"options": ("x" * 101, "it")}, "option_1", "100 characters"),
        ({"answer": None}, "answer", "Read your sentence again"),
        ({"declared": "many"}, "declared", "whole number"),
        ({"declared": "-1"}, "declared", "whole number"),
        ({"declared": "0"}, "declared", "original"),
    ],
)
def test_invalid_input_is_refused_with_advice_by_field(db, ann, root, changes, field, words):
    with pytest.raises(RefusedError) as refused:
        send(ann, root, typed(**changes))
    assert words in " ".join(refused.value.faults[field])
    assert list(Problem.objects.all()) == [root]
    assert not Version.objects.exists()
    assert not Done.objects.exists()


def test_version_is_refused_twice_in_a_family(db, ann, bob, root):
    """A withdrawn or rejected version can be submitted again."""
    child = send(ann, root)
    for somebody, parent, sentence, words in (
        (ann, root, CHILD, "You have already submitted this sentence"),
        (bob, root, CHILD, "This sentence has already been submitted"),
        (ann, child, ROOT, "equals the original"),
    ):
        with pytest.raises(RefusedError, match=words):
            send(somebody, parent, typed(sentence))
    withdraw_twin(ann, child.twin)
    again = send(bob, root)
    Problem.objects.update(state="rejected")
    Problem.objects.filter(pk=root.pk).update(state="valid")
    assert send(ann, root).ref != again.ref
    assert send(ann, original("elsewhere", GRANDCHILD)).version.root.ref == "elsewhere"


def test_other_half_of_the_twin_is_refused(db, ann, root):
    """If the writer can't read that half, the sentence is accepted, so that nothing is revealed."""
    half = original("half", CHILD, twin=root.twin, answer=1)
    with pytest.raises(RefusedError, match="other half"):
        send(ann, root)
    Problem.objects.filter(pk=half.pk).update(state="judging")
    made = send(ann, root)
    assert made.state == "judging"
    assert made.hints == []


def test_copy_of_an_embargoed_version_is_accepted(db, ann, bob, root):
    """A refusal would reveal the embargoed version."""
    child = send(ann, root)
    Problem.objects.filter(pk=child.pk).update(embargo=True)
    assert send(bob, root).pk != child.pk


def test_public_and_own_waiting_problems_can_be_perturbed(db, contributor, ann, bob):
    """Moderators have no extra rights."""
    eva = contributor("eva", is_moderator=True)
    own = original("own", contributor=ann)
    table = {}
    for state in ("held", "judging", "valid", "rejected", "revised", "withdrawn"):
        for hidden in ("", "embargo", "gold"):
            own.state = state
            own.embargo, own.gold = hidden == "embargo", hidden == "gold"
            own.save()
            own.refresh_from_db(fields=["public"])
            table[state, hidden] = [may_perturb(who, own) for who in (ann, bob, eva, None)]
    allowed = {key: found for key, found in table.items() if any(found)}
    assert allowed == {
        ("valid", ""): [True, True, True, True],
        ("held", ""): [True, False, False, False],
        ("judging", ""): [True, False, False, False],
    }
    own.embargo = own.gold = False
    own.save()
    with pytest.raises(InputError, match="This sentence can no longer be perturbed"):
        send(bob, original("hidden", state="judging"))


def test_consent_and_rate_limit_are_checked_first(db, ann, person, root):
    """A resubmitted form doesn't count against the limit."""
    with pytest.raises(InputError, match="First agree"):
        send(person("eva"), root)

    def before() -> None:
        rate_limit(ann, "perturb", 1)

    send(ann, root, precheck=before, key=KEY)
    send(ann, root, precheck=before, key=KEY)
    with pytest.raises(RateLimitError):
        send(ann, root, typed(GRANDCHILD), precheck=before)
    assert Problem.objects.count() == 2


def test_only_copies_from_outside_the_family_give_hints(db, ann, root):
    """A problem that the root resembles as well is not a hint."""
    from winosmith import Dataset, Problem

    index_problems(root, original("half", ROOT.replace("large", "wide"), twin=root.twin))
    index_published_dataset(Dataset([Problem("w1", ROOT, OPTIONS)]), "WSC273")
    child = send(ann, root)
    assert child.hints == []
    assert send(ann, child, typed(GRANDCHILD)).hints == []
    other = CHILD.replace("small", "narrow")
    index_published_dataset(Dataset([Problem("w2", other, OPTIONS)]), "WSC273")
    assert send(ann, root, typed(other)).hints == ["shares 100 % of its words with w2 in WSC273"]
    flagged = send(ann, root, typed(CHILD.replace("small", "small, Mary Smith said")))
    assert (flagged.state, len(flagged.hints)) == ("held", 1)


def test_simultaneous_equal_sentences_are_entered_once(database, contributor, root):
    """The root has no earlier version, so the family doesn't exist yet."""
    people = [contributor(f"person {n}") for n in range(10)]

    found = at_once(lambda somebody: send(somebody, root), people, but=RefusedError)
    made = Problem.objects.exclude(pk=root.pk).get()
    assert found.count(made) == 1
    assert sum("This sentence has already been submitted" in str(one) for one in found) == 9
    assert Version.objects.filter(parent=None).count() == 1


def _revise(person: Any, old: Any, what: Any, key: str = KEY) -> Any:
    """Replace a version as a person does."""
    ref = create_version(Position.for_revision(person, fresh(old)), what, key)
    return Problem.objects.select_related("twin").get(ref=ref)


def test_revision_replaces_the_old_version(database, ann, bob, root):
    """It has the old version's parent and readers; children stay below the old version."""
    old = send(ann, root)
    below = send(ann, old, typed(GRANDCHILD))
    mark_seen(bob, [old])
    assert is_revisable(ann, old)
    assert not is_revisable(bob, old)
    assert not is_revisable(ann, root)
    new = _revise(ann, old, typed(CHILD, 0))
    assert _revise(ann, old, typed(CHILD, 0)) == new
    assert new.twin.revises == old.twin
    assert (new.sentence, new.answer, new.version.parent) == (CHILD, 0, root)
    assert fresh(old).state == "revised"
    assert not Slot.objects.filter(problem=old, open=True).exists()
    assert Seen.objects.filter(person=bob, twin=new.twin).exists()
    assert [row.pk for row in get_path(below)] == [root.pk, old.pk, below.pk]
    with pytest.raises(InputError, match="can’t be revised"):
        _revise(ann, old, typed(GRANDCHILD), "m" * 32)
    Problem.objects.filter(pk=new.pk).update(state="rejected")
    assert _revise(ann, new, typed(CHILD), "n" * 32).state == "judging"


def test_revision_of_an_embargoed_version_is_embargoed(db, ann, root):
    model("one")
    old = send(ann, root)
    Problem.objects.filter(pk=old.pk).update(embargo=True)
    new = _revise(ann, old, typed(GRANDCHILD))
    assert new.embargo
    assert not Prediction.objects.filter(problem=new).exists()


def test_version_keeps_three_options_and_the_pronoun(db, ann, bob):
    """Problems have up to five options; a change of the options drops the pronoun."""
    three = ["the trophy", "the suitcase", "the lock"]
    root = original(options=three, record={"pronoun": "it", "single": True})
    made = send(ann, root, typed(options=tuple(three), answer=2))
    assert (made.options, made.answer, made.record["pronoun"]) == (three, 2, "it")
    renamed = typed(CHILD.replace("suitcase", "box"), options=("the trophy", "the box", "the lock"))
    assert "pronoun" not in send(bob, root, renamed).record


def test_edit_next_to_an_attached_blank_is_one_edit(database, ann, root):
    """The blank was typed without a space; the check separates it and says so."""
    glued = SentenceInput.from_form(form(CHILD.replace("_ was", "_was")), 2)
    place = Position(ann, [root])
    found = measure_input_depths(glued, place)
    assert (found.lineage, found.edit) == (1, 1)
    blank = next(check for check in run_checks(glued, place) if check.rule == "blank")
    assert (blank.verdict, blank.figure) == ("pass", "separated from the words next to it")
    assert send(ann, root, glued).sentence == CHILD


def test_length_in_words_is_not_checked_without_spaces(site):
    japanese = _check_length(SentenceInput("茶碗が急須に当たって_が割れた。", ("茶碗", "急須")))
    assert (japanese.verdict, japanese.figure) == ("pass", "")
    assert _check_length(SentenceInput("The _ fell.", ("cup", "jug"))).verdict == "fail"


def test_long_form_values_are_not_truncated(site):
    long = {"declared": "9" * 60, "against": "x" * 60}
    stated = SentenceInput.from_form(long, 2)
    assert (stated.declared, stated.against) == (long["declared"], long["against"])
    assert stated.depth is None
