"""Importing problems into the site, and exporting them again."""

from dataclasses import replace

import pytest

from winosmith import Dataset, Edit, Extra, Lineage, Origin, Problem
from winosmith.errors import InputError
from winosmith.testing import make_twins
from winosmith.web import importing as module
from winosmith.web.importing import assign_new_ids, import_problems
from winosmith.web.judge.models import Gold, Slot
from winosmith.web.judge.votes import open_slots
from winosmith.web.problems.lookalikes import find_lookalikes
from winosmith.web.problems.models import Problem as Row, Twin
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import get_public_problems

FULL = Problem(
    id="child.1",
    sentence="The cup hit the jug and _ broke.",
    options=("the cup", "the jug", "the mug"),
    answer=2,
    pronoun="it",
    origin=Origin(source="wordnet", author="p-1", created="2020-01-02", domain="physical"),
    lineage=Lineage("root.1", "root.1", (Edit("substitute", 3, "struck", "hit"),), 1),
    extra=Extra({"pdp.agree": 0.5}),
)


def test_import_and_export_round_trip(database):
    """The digest covers lineage, origin, extra, ids and order."""
    data = Dataset([*make_twins(4), FULL])
    made = import_problems(data, "valid")
    assert (made.added, made.known) == (len(data), 0)
    assert Dataset(map(as_problem, get_public_problems().order_by("pk"))).digest == data.digest


def test_repeated_import_adds_only_new_problems(database):
    from winosmith.web.problems.models import Event

    data = make_twins(4)
    assert import_problems(Dataset(data[:3]), "valid").added == 3
    made = import_problems(data, "valid")
    assert (made.added, made.known) == (5, 3)
    assert import_problems(data, "valid").added == 0
    assert (Row.objects.count(), Twin.objects.count()) == (8, 4)
    assert Event.objects.filter(kind="import", after="valid").count() == 8


def test_interrupted_import_can_be_resumed(database, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 3)

    def stop(done: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_problems(make_twins(4), "judging", on_progress=stop)
    assert Row.objects.count() == 6
    made = import_problems(make_twins(4), "judging")
    assert (made.added, made.known) == (2, 6)
    assert all(problem.slots.count() == 3 for problem in Row.objects.all())


def test_imported_slots_equal_those_of_open_slots(database):
    import_problems(make_twins(2), "judging")
    fields = [field.name for field in Slot._meta.fields if field.name != "id"]
    made = list(Slot.objects.order_by("place").values(*fields))
    Slot.objects.all().delete()
    for problem in Row.objects.order_by("pk"):
        open_slots(problem)
    assert made == list(Slot.objects.order_by("place").values(*fields))


def test_imported_problems_are_found_as_lookalikes(database):
    import_problems(make_twins(3), "valid")
    found = find_lookalikes([make_twins(3)[4]])
    assert found[0].share == 1.0


def test_imported_gold_needs_an_explanation_and_is_not_public(database):
    data = Dataset(
        replace(problem, extra=Extra({"gold.explanation": "It says so."}))
        for problem in make_twins(2)
    )
    with pytest.raises(InputError, match=r"gold\.explanation"):
        import_problems(make_twins(2), "gold")
    assert Row.objects.count() == 0
    assert import_problems(data, "gold").added == 4
    assert set(Gold.objects.values_list("explanation", flat=True)) == {"It says so."}
    assert not get_public_problems().exists()


def test_embargo_in_the_file_or_as_an_option_is_applied(database):
    first, *rest = make_twins(2)
    import_problems(Dataset([replace(first, embargo=True), *rest]), "valid")
    assert get_public_problems().count() == 3
    other = Dataset(replace(half, id=f"x{half.id}", twin_id=None) for half in make_twins(2))
    import_problems(other, "valid", embargo=True)
    assert get_public_problems().count() == 3


def test_data_card_describes_contributors_only_if_there_are_any(db, ann, visit):
    import_problems(make_twins(1), "valid")
    for path in ("/card/", "/card/data-card.md"):
        page = visit().get(path).text
        assert "the rules for contributors were not applied" in page
        assert "Contributors get a random topic" not in page
        assert "volunteers" not in page
    Twin.objects.update(contributor=ann)
    for path in ("/card/", "/card/data-card.md"):
        page = visit().get(path).text
        assert "the rules for contributors were not applied" not in page
        assert "Contributors get a random topic" in page


@pytest.mark.parametrize(
    ("change", "as_", "reason"),
    [
        ({"id": "a/b"}, "valid", "import with new ids"),
        ({"id": "x" * 81}, "valid", "import with new ids"),
        ({"id": "a\nb"}, "valid", "import with new ids"),
        ({"twin_id": "a/b"}, "valid", "import with new ids"),
        ({"answer": None}, "judging", "'child.1': the problem has no answer"),
        (
            {"sentence": "Did it break?", "blank": None, "pronoun": None},
            "valid",
            "the problem is a question",
        ),
        ({"options": ("a _", "b", "c")}, "valid", "contains '_' in addition to the blank"),
        ({"options": tuple("abcdef")}, "valid", "has 6 options; a site allows at most 5"),
        ({}, "gold", "add a column named gold.explanation"),
        ({"sentence": f"A{'h' * 1000} is _."}, "valid", "has 1,007 characters; .* at most 1,000"),
        ({"options": ("a", "b", "c" * 1001)}, "judging", "has 1,001 characters"),
    ],
)
def test_invalid_problem_is_refused_before_anything_is_added(db, change, as_, reason):
    data = Dataset([*make_twins(1), replace(FULL, **change)])
    with pytest.raises(InputError, match=reason):
        import_problems(data, as_)
    assert Row.objects.count() == 0


def test_ids_of_other_problems_are_refused_or_replaced(db):
    import_problems(make_twins(2), "valid")
    other = Dataset(replace(half, sentence=f"Then {half.sentence}") for half in make_twins(2))
    with pytest.raises(InputError, match="another problem"):
        import_problems(other, "valid")
    twin = Dataset([replace(make_twins(2)[0], id="third")])
    with pytest.raises(InputError, match="another twin"):
        import_problems(twin, "valid")
    assert import_problems(assign_new_ids(other, "key"), "valid").added == 4
    assert import_problems(assign_new_ids(other, "key"), "valid").added == 0
    assert Row.objects.count() == 8


def test_a_corrected_answer_is_not_lost_in_silence(db):
    """An import changes no problem, so a file with another key is refused with the way out."""
    (first, second), third = make_twins(1), replace(make_twins(2)[2], twin_id=None)
    import_problems(Dataset([replace(first, answer=None), second, third]), "valid")
    right = Dataset([first, second, replace(third, answer=1 - third.answer)])
    for changed in (right.select([0, 1]), right.select([2])):
        with pytest.raises(InputError, match="without this answer"):
            import_problems(changed, "valid")
    assert import_problems(assign_new_ids(right, "key"), "valid").added == 3
    assert import_problems(Dataset([first.blind(), second.blind()]), "valid").known == 2


def test_new_ids_preserve_twins_and_lineages():
    root = make_twins(1)[0]
    child = replace(FULL, lineage=Lineage(root.id, root.id))
    stranger = replace(FULL, id="s", lineage=Lineage("elsewhere", "elsewhere"))
    old = Dataset([*make_twins(1), child, stranger], "set")
    new = assign_new_ids(old, "key")
    assert new.twins == old.twins
    assert new[2].lineage == Lineage(new[0].id, new[0].id)
    assert new[3].root == "elsewhere"
    assert not set(new.ids) & set(old.ids)
    assert not set(new.ids) & set(assign_new_ids(old, "other").ids)
