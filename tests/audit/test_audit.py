"""Probes, the rest of a reviewer's list, rules that fail, and the page."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from winosmith import Dataset, Origin, Problem, audit, lookalikes
from winosmith.audit import _audit, _items, _probes, _review
from winosmith.audit._cues import Corpus
from winosmith.errors import DataError, InputError
from winosmith.testing import make_twins


def _worded(n: int, share: float, seed: int = 0, name: str = "mine") -> Dataset:
    """Make items whose key holds the word "granite" in a share of them, else the other option."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(n):
        noun = rng.choice(["river", "mouse", "stone", "cloud", "bread"])
        options = [f"granite {noun}", f"velvety {noun}"]
        if rng.random() < 0.5:
            options.reverse()
        told = "granite" if rng.random() < share else "velvety"
        answer = next(at for at, option in enumerate(options) if told in option)
        words = " ".join(rng.choice(["how", "big", "was", "it", "then", "here", "old"], 4))
        found.append(Problem(f"{name}{at}", f"{words} {at} _", tuple(options), answer))
    return Dataset(found, name)


def test_a_probe_finds_a_word_that_tells() -> None:
    """A word that is right four times in five is guessed from the options, and named."""
    items = audit.Items.from_dataset(_worded(200, 0.8))
    options, question, both = audit.fit_probes(items, draws=49)
    assert options.right > 0.7
    assert options.p == both.p == 0.02
    assert question.p > 0.05
    assert options.words[0].text.removesuffix(", at the start") in ("granite", "velvety")
    assert options.low < options.expected < options.high < options.right
    assert len(options.solved) == pytest.approx(options.right * 200, abs=2)


def test_a_probe_of_random_keys_is_within_its_null() -> None:
    """Where no word tells, the share guessed lies among those of keys dealt anew."""
    probe = audit.fit_probes(audit.Items.from_dataset(_worded(200, 0.5, seed=4)), draws=49)[0]
    assert probe.low <= probe.right <= probe.high


class _Places:
    """Each word a column, so that what is told by vectors can be reckoned."""

    parameters: ClassVar = {"embedder": "places"}

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return which words a text has."""
        words = ["granite", "velvety", "river", "mouse", "how", "big", "was", "old"]
        return np.array([[word in text.split() for word in words] for text in texts], np.float32)


def test_vectors_find_what_words_find() -> None:
    """A word that is right four times in five is guessed from vectors that have it as a column."""
    data = _worded(200, 0.8)
    found = audit.audit(data, cues=audit.CUES[:5], draws=19, probe_draws=199, embedder=_Places())
    by_words, by_vectors = found.parts[0].probes[:3], found.parts[0].probes[3:]
    assert [(probe.by, probe.sees) for probe in by_vectors] == [
        ("vectors", sees) for sees in ("options", "question", "both")
    ]
    options, question, both = by_vectors
    assert options.right == both.right == pytest.approx(by_words[0].right, abs=0.02)
    assert options.p == both.p == 0.005
    assert question.p > 0.05
    assert len(options.solved) == pytest.approx(options.right * 200, abs=2)
    html = audit.render_page(found)
    assert "mine: model of vectors that sees only the options" in html
    assert "that a model of vectors solves from only the options" in html
    assert "embedder:places" in found.signature
    assert found.record()["splits"]["mine"]["probes"][3]["by"] == "vectors"


def test_vectors_see_whether_an_option_is_like_its_question() -> None:
    """An option that says what is asked is found by one who sees both, and by nobody else."""
    rng = np.random.default_rng(0)
    data = []
    for at in range(240):
        asked, other = rng.choice(["granite", "velvety", "river", "mouse"], 2, replace=False)
        answer = int(rng.integers(2))
        options = (other, asked) if answer else (asked, other)
        data.append(Problem(str(at), f"{asked} {at}", options, answer, blank=None))
    options, question, both = audit.fit_probes(
        audit.Items.from_dataset(Dataset(data)), _Places(), draws=39
    )
    assert (options.p > 0.05, question.p > 0.05) == (True, True)
    assert both.right > 0.95


def test_vectors_of_a_question_tell_a_position() -> None:
    """Where questions with "old" have their key first, the question alone tells; options don't."""
    rng = np.random.default_rng(1)
    data = []
    for at in range(240):
        old, texts = rng.random() < 0.5, rng.choice(["granite", "river", "mouse"], 3, replace=False)
        answer = 0 if old else int(rng.integers(1, 3))
        words = f"how {'old' if old else 'big'} was {at}"
        data.append(Problem(str(at), words, tuple(texts), answer, blank=None))
    options, question, _ = audit.fit_probes(
        audit.Items.from_dataset(Dataset(data)), _Places(), draws=39
    )
    assert options.p > 0.05
    assert (question.right > 0.7, question.p) == (True, 0.025)


def test_copies_and_the_order_of_items_change_nothing_that_vectors_guess() -> None:
    """Each item twice, with its options turned round, or items the other way round: the same."""
    data = _worded(120, 0.7)
    again = [
        replace(p, id=f"{p.id}b", options=p.options[::-1], answer=1 - (p.answer or 0)) for p in data
    ]
    for other in (Dataset([*data, *again]), Dataset(reversed(data.problems))):
        one, two = (
            audit.fit_probes(audit.Items.from_dataset(some), _Places(), draws=19)
            for some in (Dataset(data), other)
        )
        for before, after in zip(one, two, strict=True):
            if before.sees != "question":  # whose guesses are positions
                assert (before.right, before.p) == (after.right, after.p)


def test_an_embedder_that_gives_no_vector_a_text_is_refused() -> None:
    """The message tells the shape that came."""

    class Short(_Places):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().embed_texts(texts[:3])

    with pytest.raises(DataError, match=r"shape \(3, 8\) for 10 texts"):
        audit.fit_probes(audit.Items.from_dataset(_worded(60, 0.5)), Short())


def test_items_of_a_template_whose_options_are_classes_are_drawn_one_by_one() -> None:
    """Two hundred questions in the same words with yes and no as options are as many draws."""
    data = Dataset(
        _item(str(at), f"Is the number {at} a prime number?", ("no", "yes"), int(at % 5 > 0))
        for at in range(200)
    )
    items = audit.Items.from_dataset(data)
    assert (len(items.unit_starts), int(items.block.max()) + 1) == (200, 200)
    twins = Dataset(
        _item(f"{at}{half}", f"w{at} x{at} y{at} z{at} was {word}", (f"a{at}", f"b{at}"), half)
        for at in range(200)
        for half, word in enumerate(["big", "small"])
    )
    assert len(audit.Items.from_dataset(twins).unit_starts) == 200


def test_a_question_that_tells_its_position_is_found() -> None:
    """Labels that are the same options everywhere are guessed from the question alone."""
    rng = np.random.default_rng(1)
    rows = [("denied", 0) if rng.random() < 0.5 else ("praised", 1) for _ in range(120)]
    data = Dataset(
        Problem(
            str(at),
            f"{verb} {' '.join(f'w{word}' for word in rng.integers(0, 500, 6))} _",
            ("false", "true"),
            answer,
        )
        for at, (verb, answer) in enumerate(rows)
    )
    options, question, _ = audit.fit_probes(audit.Items.from_dataset(data), draws=49)
    assert question.right > 0.9
    assert question.p == 0.02
    assert "option 1, if the question has denied" in {word.text for word in question.words}
    assert options.p > 0.05


def test_a_long_question_is_paired_by_its_end() -> None:
    """Of a passage with its question at the end, the last forty content words meet the options."""
    data = [
        replace(p, sentence=" ".join(["early", *(f"w{at}x{n}" for n in range(60)), "late _"]))
        for at, p in enumerate(_worded(80, 0.9))
    ]
    told = {
        word.text
        for word in audit.fit_probes(audit.Items.from_dataset(Dataset(data)), draws=19)[2].words
    }
    assert "granite, if the question has late" in told
    assert "granite, if the question has early" not in told
    html = audit.render_page(
        audit.audit(Dataset(data), cues=audit.CUES[:1], draws=19, probe_draws=59)
    )
    assert "x59 late" in html
    assert "early w" not in html


def test_a_page_says_where_nothing_was_learnt_and_what_are_classes() -> None:
    """With few items the page says that no model was tried; shared options are classes."""
    data = Dataset(
        (_item(str(at), f"Was w{at} x{at} y{at}?", ("no", "yes"), int(at > 2)) for at in range(40)),
        "mine",
    )
    html = audit.render_page(audit.audit(data, cues=audit.CUES[:6], draws=39))
    assert "No model was tried on mine (40 blocks of 40 items)" in html
    assert "form 40 blocks" not in html
    assert "The options are classes (no, yes)" in html


def test_a_page_states_the_blocks_that_findings_do_not_list() -> None:
    """Look-alikes with other words are no near-duplicates, but they share a block."""
    pairs = [
        _item(f"{at}{half}", f"w{at} x{at} y{at} z{at} v was {word}", (f"a{at}", f"b{at}"), half)
        for at in range(20)
        for half, word in enumerate(["small and red", "big"])
    ]
    html = audit.render_page(audit.audit(Dataset(pairs, "mine"), cues=audit.CUES[:6], draws=39))
    assert "No model was tried on mine (20 blocks of 40 items)" in html
    assert "The 40 items of mine form 20 blocks" in html
    assert "Not found in mine: groups of identical items" in html
    assert "; pairs of nearly identical items;" in html


def test_probes_know_no_order_of_items_and_weigh_copies_once() -> None:
    """Rows in another order, or each twice, leave what is guessed and its p as they were."""
    data = _worded(80, 0.7)
    rows = np.random.default_rng(0).permutation(80).tolist()
    twice = Dataset([*data, *(Problem(p.id + "x", p.sentence, p.options, p.answer) for p in data)])
    told = [
        [
            (probe.right, probe.p, probe.words)
            for probe in audit.fit_probes(audit.Items.from_dataset(d), draws=19)
        ]
        for d in (data, data.select(rows), twice)
    ]
    assert told[0] == told[1] == told[2]


def _item(name: str, question: str, options: tuple[str, ...], answer: int | None = 0) -> Problem:
    return Problem(name, f"{question} _", options, answer)


def test_options_that_differ_in_case_or_an_end_mark_are_equal() -> None:
    """A case or a full stop tells no options apart; an article or a sign does."""
    data = Dataset(
        [
            _item("equal", "What fell?", ("The cup.", "the cup")),
            _item("article", "What fell down?", ("the red cup", "red cup")),
            _item("sign", "What fell off?", ("+1", "-1")),
        ]
    )
    assert audit.review(data).equal_option_ids == ("equal",)


def test_copies_contradictions_and_near_copies_are_told_apart() -> None:
    """Identical items are copies, with other keys contradictions; one changed word is near."""
    asked = "Which of the many stones that lie beside the river is the oldest of them all?"
    data = Dataset(
        [
            _item("a", asked, ("granite", "marble")),
            _item("b", asked, ("marble", "granite"), 0),
            _item("c", asked.replace("oldest", "newest"), ("granite", "marble")),
            _item("d", "Who sleeps?", ("mice", "cats")),
        ]
    )
    seen = audit.review(data)
    assert seen.copies.groups == (("a", "b"),)
    assert seen.copies.contradictions == (("a", "b"),)
    assert set(seen.near_duplicates) == {("a", "c"), ("b", "c")}


def test_near_copies_with_other_answers_are_told_to_be_looked_at() -> None:
    """Their answers stand side by side, same options first; equal answers are not among them."""
    asked = "Which of the many stones that lie beside the river is the {} of them all?"
    data = Dataset(
        [
            _item("a", asked.format("oldest"), ("granite", "marble")),
            _item("b", asked.format("newest"), ("Marble", "granite"), 1),
            _item("c", asked.format("first"), ("granite", "marble", "chalk"), 2),
            _item("d", asked.format("eldest"), ("marble", "granite")),
            _item("e", asked.format("last"), ("granite", "marble"), None),
        ],
        "mine",
    )
    seen = audit.review(data)
    assert {("a", "b"), ("a", "e")} <= {*seen.near_duplicates}
    assert seen.differing_pairs[:2] == (("a", "d"), ("b", "d"))
    assert {*seen.differing_pairs[2:]} == {("a", "c"), ("b", "c"), ("c", "d")}
    assert seen.record()["near_duplicates_that_differ"]["count"] == 5
    html = audit.render_page(audit.audit(data, cues=audit.CUES[:1], draws=19, probe_draws=0))
    table = html.partition("Nearly identical items of mine with different answers")[2]
    assert table.index("granite") < table.index("marble") < table.index("chalk")
    assert "Check whether one of the keys is wrong" in table


def test_what_a_template_or_another_list_left_is_found() -> None:
    """Odd numbers of options and unfilled fields are found; an invisible sign hides no copy."""
    texts = ["Which cup fell?", "Which c\u200bup fell?", "Is <answer> so?", "Why {x} and <b>?"]
    options = [("a", "b", "c"), ("a", "b", "c"), ("a", "b"), ("{{answerA}}", "b", "c")]
    seen = _review.review(Dataset(
        Problem(str(n), text, own, 0, blank=None)
        for n, (text, own) in enumerate(zip(texts, options, strict=True))
    ))  # fmt: skip
    assert (seen.uneven_ids, seen.unfilled_ids, seen.copies.groups) == (
        ("2",),
        ("2", "3"),
        (("0", "1"),),
    )


def test_letters_of_another_alphabet_hide_no_item_of_another_split() -> None:
    """A Cyrillic letter in each word, or letters of full width, make no other item."""
    text = "Which stone broke the old oven over there?"
    for table in (
        {ord("o"): "\u043e", ord("e"): "\u0435"},
        {ord("o"): "\uff4f", ord("e"): "\uff45"},
    ):
        item = _item("a", text, ("coral", "stone"), 0)
        other = _item("b", text.translate(table), ("c\u043eral", "st\u043ene"), 0)
        shared = _review.find_shared_items({"train": Dataset([item]), "test": Dataset([other])})
        assert shared == {("train", "test"): (("a", "b"),)}


def test_a_rule_that_no_item_carries_has_no_row() -> None:
    """Of yes and no there is no third option: no band of no width, but a name in a sentence."""
    rng = np.random.default_rng(0)
    data = Dataset(
        (_item(str(at), f"Was w{at} x{at} y{at}?", ("no", "yes"), int(rng.integers(2)))
         for at in range(60)), "mine",
    )  # fmt: skip
    found = audit.audit(data, cues=audit.CUES[:5], draws=99, probe_draws=0)
    html = audit.render_page(found)
    assert "50.0–50.0" not in html
    assert "have the same accuracy with any keys: “the third”, “the fourth”" in html
    assert html.count("the second") > html.count("the third") == 1


def test_items_that_splits_share_are_found() -> None:
    """An item of the test split that is in training, nearly so, is told with both ids."""
    asked = "Which of the many stones that lie beside the river is the oldest of them all?"
    train = Dataset([_item("a", asked, ("granite", "marble")), _item("b", "Who?", ("x", "y"))])
    test = Dataset([_item("t", asked + " Now", ("granite", "marble"))])
    splits = {"train": train, "test": test}
    assert _review.find_shared_items(splits) == {("train", "test"): (("a", "t"),)}
    twice = Dataset([*train, _item("c", asked, ("granite", "marble"))])
    told = audit.audit({"train": twice, "test": test}, cues=audit.CUES[:1], draws=19, probe_draws=0)
    assert told.failures("leak") == ["test: t is identical or nearly identical to a in train"]


def test_a_template_is_not_told_in_all_its_pairs() -> None:
    """Of items that are like all others each is told beside twenty, and splits still share it."""
    words = "the long template of a question whose words are all the same but for the number"
    data = [_item(str(at), f"{words} w{at}?", ("no", "yes")) for at in range(100)]
    pairs = _review.find_near_duplicates(data)
    assert 20 * 100 / 2 <= len(pairs) <= 20 * 100
    found = _review.find_shared_items({"a": Dataset(data[:60]), "b": Dataset(data[60:])})
    assert {other for _, other in found["a", "b"]} == {*map(str, range(60, 100))}


def test_licences_and_missing_keys_are_counted() -> None:
    """Items that state no licence, and those without a key, are told by number."""
    licensed = Problem("a", "It is _", ("x", "y"), 0, origin=Origin(licence="CC0-1.0"))
    seen = audit.review(Dataset([licensed, _item("b", "Who?", ("x", "y"), None)]))
    assert (seen.unlicensed_count, seen.withheld_count) == (1, 1)


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        ("probe=3pt", 1),
        ("probe=45pt", 0),
        ("duplicates", 0),
        ("cue=3pt,contradictions,leak,options,refused", 0),
        ("", 0),
    ],
)
def test_rules_break_for_what_is_found(rules: str, broken: int) -> None:
    """A rule tells what is beyond it, and nothing else."""
    found = audit.audit(_worded(200, 0.8), cues=audit.CUES[:5], draws=19, probe_draws=59)
    told = found.failures(rules)
    assert bool(told) == bool(broken)


@pytest.mark.parametrize("rule", ["cues", "cue", "cue=many", "leak=3pt"])
def test_a_rule_that_is_none_is_refused(rule: str) -> None:
    """A misspelt rule would never break; the error lists those that there are."""
    found = audit.audit(_worded(60, 0.5), draws=19, probe_draws=0)
    with pytest.raises(InputError, match="unknown rule"):
        found.failures(rule)


def test_each_split_is_audited_by_itself() -> None:
    """A cue of one split alone is named there and not in the other."""
    both = {"train": _worded(200, 0.95, 1, "a"), "test": _worded(200, 0.5, 2, "b")}
    cue = audit.Cue("granite", lambda view: [float("granite" in o) for o in view.options])
    train, test = audit.audit(both, cues=[cue], draws=99, probe_draws=0).parts
    assert (train.best_cue is not None, test.best_cue is None) == (True, True)


def test_the_page_tells_the_verdict_first_and_the_record_is_json() -> None:
    """The page begins with what can be guessed; the record holds every figure as JSON."""
    found = audit.audit(_worded(120, 0.9), cues=audit.CUES[5:6], draws=39, probe_draws=59)
    html = audit.render_page(found)
    assert html.index("No cue of mine is flagged, but a model of words") < html.index("<h2")
    assert "granite" in html
    assert html.count("; within chance") == 1  # the cue's, not the model's
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert record["splits"]["mine"]["items"] == 120
    assert found.readme_line.startswith("Audited by winosmith")
    assert ": mine: no cue is flagged (n = 120); " in found.readme_line


def test_a_set_in_which_no_cue_could_be_flagged_gets_no_certificate() -> None:
    """Of three items, a cue that is always correct is within chance; of sixty it is not."""
    found = audit.audit(_worded(3, 0.5), draws=99)
    assert audit.make_verdict(found) == (
        "mine is too small to be judged: even a cue that is correct for all 3 items would not be "
        "flagged."
    )
    assert found.readme_line == ""
    assert "none is flagged" not in audit.render_page(found)
    assert audit.audit(_worded(60, 0.5), draws=99, probe_draws=0).readme_line


def test_a_field_that_tells_the_key_comes_first_in_the_verdict() -> None:
    """An id that ends in the key is told before any cue, and breaks the rule on leaks."""
    data = _worded(80, 0.5)
    told = Dataset(
        (Problem(f"{at}-{p.answer}", p.sentence, p.options, p.answer) for at, p in enumerate(data)),
        "mine",
    )
    found = audit.audit(told, cues=audit.CUES[5:6], draws=19, probe_draws=0)
    assert audit.make_verdict(found).startswith(
        "mine gives answers away through a field: the id's last character gives the answer away in "
        "100 %"
    )
    assert len(found.failures("leak")) == 1
    assert "mine: id reveals the key" in found.readme_line


def test_a_cue_that_is_named_given_others_alone_is_explained() -> None:
    """A p of 0.01 beside one of 0.8 has a sentence on the page; a cue that tells by itself none."""
    found = audit.audit(_worded(80, 0.5), cues=audit.CUES[:6], draws=39, probe_draws=0)
    [part] = found.parts
    first, other, *rest = part.battery.scores

    def render_page(p: float) -> str:
        named = [replace(first, rank=1, p=0.025, p_given=0.025, draws_given=39),
                 replace(other, rank=2, p=p, p_given=0.025, draws_given=39)]  # fmt: skip
        battery = replace(part.battery, scores=(*named, *rest))
        return audit.render_page(replace(found, parts=(replace(part, battery=battery),)))

    told = f"“{other.cue}” is correct for"
    assert f"{told} {100 * other.right:.1f}" in render_page(0.8)
    assert "(p = 0.800). It is flagged because it adds" in render_page(0.8)
    assert told not in render_page(0.025)


def test_the_page_counts_the_cues_that_a_flagged_cue_explains() -> None:
    """The sentence about the cues has the number of unflagged cues above their chance limits."""
    found = audit.audit(_worded(80, 0.5), cues=audit.CUES[:6], draws=39, probe_draws=0)
    [part] = found.parts
    first, second, *rest = part.battery.scores
    both = (replace(first, rank=1), replace(second, rank=None, right=0.7, high=0.69))
    battery = replace(part.battery, scores=(*both, *(replace(one, high=1.0) for one in rest)))
    page = audit.render_page(replace(found, parts=(replace(part, battery=battery),)))
    assert "Of 6 cues, 1 is flagged; other cues above their limits, explained by the" in page
    assert "flagged cues: 1." in page


def test_a_borderline_cue_is_a_verdict_of_its_own() -> None:
    """Verdict, page, README line, JSON and the rule of that name report it; `cue` does not fail."""
    found = audit.audit(_worded(80, 0.5), cues=audit.CUES[:6], draws=39, probe_draws=0)
    [part] = found.parts
    first, *rest = part.battery.scores
    unsure = replace(first, right=0.7, high=0.69, p=0.049, borderline=True)
    battery = replace(part.battery, scores=(unsure, *rest), draws=20_000)
    found = replace(found, parts=(replace(part, battery=battery),))
    assert audit.make_verdict(found).startswith(
        "It is borderline whether mine gives answers away: 20,000 random draws are too few"
    )
    assert f"“{first.cue}”, correct for 70.0 % (expected: " in found.readme_line
    assert found.readme_line.endswith(", n = 80), is borderline")
    assert "Of 6 cues, none is flagged, and 1 is borderline." in audit.render_page(found)
    record = found.record()["splits"]["mine"]
    assert (record["named"], record["borderline"]) == ([], [first.cue])
    assert found.failures("cue=0pt") == []
    assert [told.partition(" is correct")[0] for told in found.failures("borderline")] == [
        f"mine: “{first.cue}”"
    ]


def test_models_of_words_may_see_a_sample_in_whole_blocks() -> None:
    """Cues see all items, probes the sample: the same one for a seed, and copies stay together."""
    data = make_twins(200)
    again = (replace(p, id=f"{p.id} again", twin_id=f"{p.twin_id} again") for p in data)
    items = audit.Items.from_dataset(Dataset([*data, *again]))
    some = items.sample(100, 1)
    assert 100 <= len(some) <= 102
    assert [p.id for p in some.problems] == [p.id for p in items.sample(100, 1).problems]
    assert len({p.id.removesuffix(" again") for p in some.problems}) == len(some) / 2
    assert items.sample(0, 1) is items
    (part,) = audit.audit(data, draws=19, probe_draws=19, sample=100).parts
    assert (len(part.items), part.sampled) == (400, 100)
    assert all(len(probe.scores) == int(part.items.counts[0]) * 100 for probe in part.probes)
    whole = audit.audit(data, draws=19, probe_draws=19)
    assert part.battery == whole.parts[0].battery
    assert "a random sample of 100 items" in audit.render_page(
        audit.audit(data, draws=19, probe_draws=19, sample=100)
    )
    assert "a random sample" not in audit.render_page(whole)


def test_a_large_set_says_that_it_needs_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is tried, and only if models see all items."""
    monkeypatch.setattr(_audit, "_LARGE", 59)
    for more, says in (({"probe_draws": 1}, True), ({}, False), ({"sample": 20}, False)):
        steps: list[str] = []
        audit.audit(_worded(60, 0.5), **{"draws": 19, "probe_draws": 0, **more}, step=steps.append)
        assert ("GiB" in steps[0]) == says


def test_a_long_audit_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a minute each step tells how many items, draws or fields are done, and what is left."""
    clock = iter(range(0, 1_000_000, 40))
    monkeypatch.setattr(_items, "monotonic", lambda: next(clock))
    monkeypatch.setattr(_items, "_BATCH_SIZE", 30)
    monkeypatch.setattr(_probes, "_MAX_CELLS", 1)
    monkeypatch.setattr(lookalikes, "_WORDS_PER_STEP", 1000)
    steps: list[str] = []
    audit.audit(_worded(120, 0.5), draws=19, probe_draws=2, step=steps.append)
    assert steps == [
        "mine: cues",
        "mine: cues: 60 of 120 items, about 2 minutes left",
        "mine: probes",
        "mine: probes: 2 of 6 draws, about 3 minutes left",
        "mine: probes: 4 of 6 draws, about 2 minutes left",
        "mine: copies, fields, splits",
        "mine: near-duplicates: 38 of 120 items, about 3 minutes left",
        "mine: near-duplicates: 111 of 120 items, about 1 minute left",
        "mine: fields: 1 of 4 fields, about 4 minutes left",
        "mine: fields: 3 of 4 fields, about 1 minute left",
    ]


def test_a_probe_is_the_same_however_much_is_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few features sorted and few draws at a time give the probe of all at once."""
    items = audit.Items.from_dataset(_worded(120, 0.7))
    whole = audit.fit_probes(items, draws=9)
    monkeypatch.setattr(_probes, "_FEATURES_PER_SORT", 50)
    monkeypatch.setattr(_probes, "_MAX_CELLS", 2 * len(items))
    for one, other in zip(audit.fit_probes(items, draws=9), whole, strict=True):
        assert one.scores.tobytes() == other.scores.tobytes()
        assert replace(one, scores=other.scores) == other


def test_each_word_of_a_large_set_is_held_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What options hold, and what near copies are found by, is no text for each word of an item."""
    data = _worded(60, 0.5)
    wholes = Corpus.from_options(problem.options for problem in data).wholes
    looked: list[Sequence[Sequence[str]]] = []
    monkeypatch.setattr(_review, "find_pairs", lambda words, *_: looked.append(words))
    _review.find_near_duplicates(list(data))
    for held in (wholes, *looked):
        said = [word for words in held for word in words]
        assert len({*map(id, said)}) == len({*said}) < len(said)
    assert looked
