"""Probes, the review of items, rules that break, and the page."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from winosmith import Dataset, Problem, audit, lookalikes
from winosmith.audit import _audit, _items, _probes, _review
from winosmith.audit._cues import Corpus
from winosmith.errors import DataError, InputError
from winosmith.testing import make_twins


def _make_items(n: int, share: float, seed: int = 0, name: str = "mine") -> Dataset:
    """Make items of a "granite" and a "velvety" option; a fraction has the key "granite"."""
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


def _fit_probes(data: Dataset, *embedder: "_Places", **how: int) -> tuple[audit.Probe, ...]:
    return audit.fit_probes(audit.Items.from_dataset(data), *embedder, **how)


def test_columns_of_a_table_are_stated_in_a_notebook():
    rows = [
        {"stem": f"Which is {n}?", "A": f"{n}", "B": "x", "key": "AB"[n % 2]} for n in range(40)
    ]
    found = audit.audit(rows, draws=19, probe_draws=0)
    assert "<p>table: the question is &#39;stem&#39;; the choices are" in found._repr_html_()
    assert (
        "the answer is 'key' (letters); no column is used as the id. Chance is" in found.summary()
    )


def test_probe_finds_a_word_that_reveals_the_key():
    options, question, both = _fit_probes(_make_items(200, 0.8), draws=49)
    assert options.right > 0.7
    assert options.p == both.p == 0.02
    assert question.p > 0.05
    assert options.words[0].text.removesuffix(", at the start") in ("granite", "velvety")
    assert options.expected < options.high < options.right
    for probe in (options, question, both):
        assert (probe.right > probe.high) == (probe.p <= 0.05)
    assert len(options.solved) == pytest.approx(options.right * 200, abs=2)


def test_too_few_draws_of_probes_are_refused():
    with pytest.raises(InputError, match=r"5 draws can't yield a p-value of 0\.05; use 19 or more"):
        _fit_probes(_make_items(40, 0.5), draws=5)


def test_accuracy_of_probe_on_random_keys_is_below_the_limit():
    probe = _fit_probes(_make_items(200, 0.5, seed=4), draws=49)[0]
    assert probe.right <= probe.high
    assert probe.p > 0.05


def _item(name: str, question: str, options: tuple[str, ...], answer: int | None = 0) -> Problem:
    return Problem(name, f"{question} _", options, answer)


def _render(data: Dataset, **how: Any) -> str:
    return audit.render_page(audit.audit(data, **how))


class _Places:
    """An embedder with one column per word, so that results can be computed by hand."""

    parameters: ClassVar = {"embedder": "places"}

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a column per word: whether the text contains it."""
        words = ["granite", "velvety", "river", "mouse", "how", "big", "was", "old"]
        return np.array([[word in text.split() for word in words] for text in texts], np.float32)


def test_probe_on_vectors_finds_the_same_word_as_on_words():
    data = _make_items(200, 0.8)
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


def test_probe_finds_options_that_repeat_the_question():
    """Only the probe that sees both question and options finds this."""
    rng = np.random.default_rng(0)
    data = []
    for at in range(240):
        asked, other = rng.choice(["granite", "velvety", "river", "mouse"], 2, replace=False)
        answer = int(rng.integers(2))
        options = (other, asked) if answer else (asked, other)
        data.append(Problem(str(at), f"{asked} {at}", options, answer, blank=None))
    options, question, both = _fit_probes(Dataset(data), _Places(), draws=39)
    assert (options.p > 0.05, question.p > 0.05) == (True, True)
    assert both.right > 0.95


def test_probe_on_vectors_finds_questions_that_reveal_a_position():
    rng = np.random.default_rng(1)
    data = []
    for at in range(240):
        old, texts = rng.random() < 0.5, rng.choice(["granite", "river", "mouse"], 3, replace=False)
        answer = 0 if old else int(rng.integers(1, 3))
        words = f"how {'old' if old else 'big'} was {at}"
        data.append(Problem(str(at), words, tuple(texts), answer, blank=None))
    options, question, _ = _fit_probes(Dataset(data), _Places(), draws=39)
    assert options.p > 0.05
    assert (question.right > 0.7, question.p) == (True, 0.025)


def test_probe_on_vectors_ignores_duplicates_and_order():
    data = _make_items(120, 0.7)
    again = [
        replace(p, id=f"{p.id}b", options=p.options[::-1], answer=1 - (p.answer or 0)) for p in data
    ]
    for other in (Dataset([*data, *again]), Dataset(reversed(data.problems))):
        one, two = (_fit_probes(some, _Places(), draws=19) for some in (data, other))
        for before, after in zip(one, two, strict=True):
            if before.sees != "question":  # that probe predicts positions
                assert (before.right, before.p) == (after.right, after.p)


def test_embedder_with_too_few_vectors_is_refused():
    class Short(_Places):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().embed_texts(texts[:3])

    with pytest.raises(DataError, match=r"shape \(3, 8\) for 10 texts"):
        _fit_probes(_make_items(60, 0.5), Short())


def test_template_items_with_class_options_are_drawn_separately():
    """The 200 questions have the same words, and the options are yes and no."""
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


def test_probe_finds_questions_that_reveal_a_label():
    rng = np.random.default_rng(1)
    rows = [("denied", 0) if rng.random() < 0.5 else ("praised", 1) for _ in range(120)]
    words = [" ".join(f"w{word}" for word in rng.integers(0, 500, 6)) for _ in rows]
    data = Dataset(
        _item(str(at), f"{verb} {words[at]}", ("false", "true"), answer)
        for at, (verb, answer) in enumerate(rows)
    )
    options, question, _ = _fit_probes(data, draws=49)
    assert question.right > 0.9
    assert question.p == 0.02
    assert "option 1, if the question has denied" in {word.text for word in question.words}
    assert options.p > 0.05


def test_probe_pairs_options_with_the_end_of_a_long_question():
    """It uses the last 40 content words: a passage has its question at the end."""
    data = [
        replace(p, sentence=" ".join(["early", *(f"w{at}x{n}" for n in range(60)), "late _"]))
        for at, p in enumerate(_make_items(80, 0.9))
    ]
    told = {word.text for word in _fit_probes(Dataset(data), draws=19)[2].words}
    assert "granite, if the question has late" in told
    assert "granite, if the question has early" not in told
    html = _render(Dataset(data), cues=audit.CUES[:1], draws=19, probe_draws=59)
    assert "x59 late" in html
    assert "early w" not in html


def test_page_reports_too_few_items_for_probes_and_classes():
    data = Dataset(
        (_item(str(at), f"Was w{at} x{at} y{at}?", ("no", "yes"), int(at > 2)) for at in range(40)),
        "mine",
    )
    html = _render(data, cues=audit.CUES[:6], draws=39)
    assert "No model was tried on mine (40 blocks of 40 items)" in html
    assert "form 40 blocks" not in html
    assert "if they are classes, use equal numbers of each" in html


def test_page_counts_blocks_of_items_that_are_not_duplicates():
    """Items that differ in several words are no near-duplicates, but share a block."""
    pairs = [
        _item(f"{at}{half}", f"w{at} x{at} y{at} z{at} v was {word}", (f"a{at}", f"b{at}"), half)
        for at in range(20)
        for half, word in enumerate(["small and red", "big"])
    ]
    html = _render(Dataset(pairs, "mine"), cues=audit.CUES[:6], draws=39)
    assert "No model was tried on mine (20 blocks of 40 items)" in html
    assert "The 40 items of mine form 20 blocks" in html
    assert "Not found in mine: groups of identical items" in html
    assert "; pairs of nearly identical items;" in html


def test_probes_ignore_row_order_and_duplicates():
    data = _make_items(80, 0.7)
    rows = np.random.default_rng(0).permutation(80).tolist()
    twice = Dataset([*data, *(Problem(p.id + "x", p.sentence, p.options, p.answer) for p in data)])
    told = [
        [(probe.right, probe.p, probe.words) for probe in _fit_probes(d, draws=19)]
        for d in (data, data.select(rows), twice)
    ]
    assert told[0] == told[1] == told[2]


def test_options_that_differ_in_case_or_final_mark_are_equal():
    data = Dataset(
        [
            _item("equal", "What fell?", ("The cup.", "the cup")),
            _item("article", "What fell down?", ("the red cup", "red cup")),
            _item("sign", "What fell off?", ("+1", "-1")),
        ]
    )
    assert audit.review(data).equal_option_ids == ("equal",)


def test_duplicates_contradictions_and_near_duplicates_are_separate():
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


def test_near_duplicates_with_differing_answers_are_listed():
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
    html = _render(data, cues=audit.CUES[:1], draws=19, probe_draws=0)
    table = html.partition("Nearly identical items of mine with different answers")[2]
    assert table.index("granite") < table.index("marble") < table.index("chalk")
    assert "Check whether one of the keys is wrong" in table


def test_unfilled_fields_and_uneven_options_are_found():
    texts = ["Which cup fell?", "Which c\u200bup fell?", "Is <answer> so?", "Why {x} and <b>?"]
    options = [("a", "b", "c"), ("a", "b", "c"), ("a", "b"), ("{{answerA}}", "b", "c")]
    seen = _review.review(Dataset(
        Problem(str(n), text, own, 0, blank=None)
        for n, (text, own) in enumerate(zip(texts, options, strict=True))
    ))  # fmt: skip
    assert (seen.uneven_ids, seen.unfilled_ids) == (("2",), ("2", "3"))
    assert seen.copies.groups == (("0", "1"),)


def test_shared_items_are_found_despite_lookalike_letters():
    text = "Which stone broke the old oven over there?"
    for o, e in ("\u043e\u0435", "\uff4f\uff45"):
        item = _item("a", text, ("coral", "stone"), 0)
        looks = text.replace("o", o).replace("e", e)
        other = _item("b", looks, ("c\u043eral", "st\u043ene"), 0)
        shared = _review.find_shared_items({"train": Dataset([item]), "test": Dataset([other])})
        assert shared == {("train", "test"): (("a", "b"),)}


def test_positions_without_options_have_no_row():
    """Items of two options have no third; a sentence lists such cues."""
    rng = np.random.default_rng(0)
    data = Dataset(
        (_item(str(at), f"Was w{at} x{at} y{at}?", ("no", "yes"), int(rng.integers(2)))
         for at in range(60)), "mine",
    )  # fmt: skip
    html = _render(data, cues=audit.CUES[:5], draws=99, probe_draws=0)
    assert "50.0–50.0" not in html
    assert "have the same accuracy with any keys: “the third”, “the fourth”" in html
    assert html.count("the second") > html.count("the third") == 1


def test_near_duplicates_between_splits_are_found():
    asked = "Which of the many stones that lie beside the river is the oldest of them all?"
    train = Dataset([_item("a", asked, ("granite", "marble")), _item("b", "Who?", ("x", "y"))])
    test = Dataset([_item("t", asked + " Now", ("granite", "marble"))])
    splits = {"train": train, "test": test}
    assert _review.find_shared_items(splits) == {("train", "test"): (("a", "t"),)}
    twice = Dataset([*train, _item("c", asked, ("granite", "marble"))])
    told = audit.audit({"train": twice, "test": test}, cues=audit.CUES[:1], draws=19, probe_draws=0)
    assert told.failures("leak") == ["test: t is identical or nearly identical to a in train"]


def test_near_duplicate_pairs_of_a_template_are_limited():
    """Each item has about twenty of its pairs; splits that share the template are found anyway."""
    words = "the long template of a question whose words are all the same but for the number"
    data = [_item(str(at), f"{words} w{at}?", ("no", "yes")) for at in range(100)]
    pairs = _review.find_near_duplicates(data)
    assert 20 * 100 / 2 <= len(pairs) <= 20 * 100
    found = _review.find_shared_items({"a": Dataset(data[:60]), "b": Dataset(data[60:])})
    assert {other for _, other in found["a", "b"]} == {*map(str, range(60, 100))}


def test_missing_keys_are_counted():
    items = [_item("a", "It?", ("x", "y"), 0), _item("b", "Who?", ("x", "y"), None)]
    seen = audit.review(Dataset(items))
    assert seen.withheld_count == 1


def test_rules_break_only_beyond_their_limits():
    found = audit.audit(_make_items(200, 0.8), cues=audit.CUES[:5], draws=19, probe_draws=59)
    assert found.failures("probe=3pt")
    others = "cue=3pt,contradictions,leak,options,refused"
    for rules in ("probe=45pt", "duplicates", others, ""):
        assert not found.failures(rules), rules


def test_cue_of_one_split_is_flagged_only_there():
    both = {"train": _make_items(200, 0.95, 1, "a"), "test": _make_items(200, 0.5, 2, "b")}
    cue = audit.Cue("granite", lambda view: [float("granite" in o) for o in view.options])
    train, test = audit.audit(both, cues=[cue], draws=99, probe_draws=0).parts
    assert (train.best_cue is not None, test.best_cue is None) == (True, True)


def test_page_starts_with_the_verdict_and_record_is_json():
    found = audit.audit(_make_items(120, 0.9), cues=audit.CUES[5:6], draws=39, probe_draws=59)
    html = audit.render_page(found)
    assert html.index("No cue of mine is flagged, but a model of words") < html.index("<h2")
    assert "granite" in html
    assert html.count("; not flagged") == 1  # the cue's, not the model's
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert record["splits"]["mine"]["items"] == 120


def test_table_without_cues_is_omitted_with_its_note():
    """In whole twins, each cue has the same accuracy with any keys."""
    page = _render(make_twins(60), draws=19, probe_draws=0)
    assert ("Not listed, because" in page, "Chance limit:" in page) == (True, False)


def test_data_too_small_to_flag_a_cue_get_no_certificate():
    """With three items, even a cue that is always correct is within chance."""
    found = audit.audit(_make_items(3, 0.5), draws=99)
    assert audit.make_verdict(found) == (
        "mine is too small to be judged: even a cue that is correct for all 3 items would not be "
        "flagged."
    )
    assert "none is flagged" not in audit.render_page(found)


def test_field_that_reveals_the_key_is_first_in_the_verdict():
    data = _make_items(80, 0.5)
    told = (replace(p, id=f"{at}-{p.answer}") for at, p in enumerate(data))
    found = audit.audit(Dataset(told, "mine"), cues=audit.CUES[5:6], draws=19, probe_draws=0)
    assert audit.make_verdict(found).startswith(
        "mine gives answers away through a field: the id's last character gives the answer away in "
        "100 %"
    )
    assert len(found.failures("leak")) == 1


def _with_scores(found: audit.Audit, *scores: audit.CueScore, **changes: int) -> audit.Audit:
    """Return the audit of one split with other scores of its cues."""
    [part] = found.parts
    battery = replace(part.battery, scores=scores, **changes)
    return replace(found, parts=(replace(part, battery=battery),))


def test_cue_flagged_only_given_others_is_explained():
    """Its p-value alone is large, so the page states what it adds."""
    found = audit.audit(_make_items(80, 0.5), cues=audit.CUES[:6], draws=39, probe_draws=0)
    first, other, *rest = found.parts[0].battery.scores

    def render_page(p: float) -> str:
        named = [replace(first, rank=1, p=0.025, p_given=0.025, draws_given=39),
                 replace(other, rank=2, p=p, p_given=0.025, draws_given=39)]  # fmt: skip
        return audit.render_page(_with_scores(found, *named, *rest))

    told = f"“{other.cue}” is correct for"
    assert f"{told} {100 * other.right:.1f}" in render_page(0.8)
    assert "(p = 0.800). It is flagged because it adds" in render_page(0.8)
    assert told not in render_page(0.025)


def test_page_counts_cues_explained_by_a_flagged_cue():
    """These are unflagged cues above their chance limits."""
    found = audit.audit(_make_items(80, 0.5), cues=audit.CUES[:6], draws=39, probe_draws=0)
    first, second, *rest = found.parts[0].battery.scores
    both = (replace(first, rank=1), replace(second, rank=None, right=0.7, high=0.69))
    others = (replace(one, high=1.0) for one in rest)
    page = audit.render_page(_with_scores(found, *both, *others))
    assert "Of 6 cues, 1 is flagged; other cues above their limits, explained by the" in page
    assert "flagged cues: 1." in page


def test_borderline_cue_has_its_own_verdict_and_rule():
    found = audit.audit(_make_items(80, 0.5), cues=audit.CUES[:6], draws=39, probe_draws=0)
    first, *rest = found.parts[0].battery.scores
    unsure = replace(first, right=0.7, high=0.69, p=0.049, borderline=True)
    found = _with_scores(found, unsure, *rest, draws=20_000)
    assert audit.make_verdict(found).startswith(
        "It is borderline whether mine gives answers away: 20,000 random draws are too few"
    )
    assert "Of 6 cues, none is flagged, and 1 is borderline." in audit.render_page(found)
    record = found.record()["splits"]["mine"]
    assert (record["named"], record["borderline"]) == ([], [first.cue])
    assert found.failures("cue=0pt") == []
    (told,) = found.failures("borderline")
    assert told.startswith(f"mine: “{first.cue}” is correct")


def test_memory_of_large_data_sets_is_reported_first(monkeypatch):
    """Only models of words and vectors need it."""
    monkeypatch.setattr(_audit, "_LARGE", 59)
    for more, says in (({"probe_draws": 19}, True), ({}, False)):
        steps: list[str] = []
        how = {"draws": 19, "probe_draws": 0, **more}
        audit.audit(_make_items(60, 0.5), **how, step=steps.append)
        assert ("GiB" in steps[0]) == says


def test_long_audit_reports_progress_every_minute(monkeypatch):
    clock = iter(range(0, 1_000_000, 40))
    monkeypatch.setattr(_items, "monotonic", lambda: next(clock))
    monkeypatch.setattr(_items, "_BATCH_SIZE", 30)
    monkeypatch.setattr(_probes, "_MAX_CELLS", 1)
    monkeypatch.setattr(lookalikes, "_WORDS_PER_STEP", 1000)
    steps: list[str] = []
    audit.audit(_make_items(120, 0.5), draws=19, probe_draws=19, step=steps.append)
    draws = [text for text in steps if " draws, " in text]
    assert draws[0] == "mine: probes: 2 of 57 draws, about 37 minutes left"
    assert draws[-1] == "mine: probes: 56 of 57 draws, about 1 minute left"
    assert len(draws) == 28
    assert [text for text in steps if text not in draws] == [
        "mine: cues",
        "mine: cues: 60 of 120 items, about 2 minutes left",
        "mine: probes",
        "mine: copies, fields, splits",
        "mine: near-duplicates: 38 of 120 items, about 3 minutes left",
        "mine: near-duplicates: 111 of 120 items, about 1 minute left",
        "mine: fields: 1 of 4 fields, about 4 minutes left",
        "mine: fields: 3 of 4 fields, about 1 minute left",
    ]


def test_probe_does_not_depend_on_the_batch_size(monkeypatch):
    items = audit.Items.from_dataset(_make_items(120, 0.7))
    whole = audit.fit_probes(items, draws=19)
    monkeypatch.setattr(_probes, "_FEATURES_PER_SORT", 50)
    monkeypatch.setattr(_probes, "_MAX_CELLS", 2 * len(items))
    for one, other in zip(audit.fit_probes(items, draws=19), whole, strict=True):
        assert one.scores.tobytes() == other.scores.tobytes()
        assert replace(one, scores=other.scores) == other


def test_equal_words_share_one_string(monkeypatch):
    """Large data sets need less memory, both for options and for near-duplicates."""
    data = _make_items(60, 0.5)
    wholes = Corpus.from_options(problem.options for problem in data).wholes
    looked: list[Sequence[Sequence[str]]] = []
    monkeypatch.setattr(_review, "find_pairs", lambda words, *_: looked.append(words))
    _review.find_near_duplicates(list(data))
    for held in (wholes, *looked):
        said = [word for words in held for word in words]
        assert len({*map(id, said)}) == len({*said}) < len(said)
    assert looked
