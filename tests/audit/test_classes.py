"""Cues of labelled texts: pairs of premise and hypothesis, yes-no questions."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from winosmith import Dataset, Extra, Problem, audit, formats

LABELS = ("contradiction", "entailment", "neutral")


def _write_pairs(folder: Path, share: float, n: int = 400) -> Dataset:
    """Write pairs; a fraction of the contradictions and 20 % of the others have a negation."""
    rng = np.random.default_rng(0)
    rows = []
    for at in range(n):
        label = LABELS[at % 3]
        said = "is not" if rng.random() < (share if label == LABELS[0] else 0.2) else "is"
        place, other = rng.choice(["river", "tree", "car", "bench"], 2)
        rows.append({"premise": f"A man {at} stands near the {place}.", "label": label,
                     "hypothesis": f"The man {at} {said} near the {other}."})  # fmt: skip
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return formats.read(path)


def test_negation_that_reveals_the_label_is_flagged(tmp_path: Path) -> None:
    told = audit.audit(_write_pairs(tmp_path, 0.7), draws=99, probe_draws=0)
    found = told.parts[0].best_cue
    assert found is not None
    assert (found.cue, found.about) == (
        "contradiction, if the hypothesis has a negation",
        "class",
    )
    assert "Write such texts for the other labels as well." in audit.render_page(told)
    even = audit.audit(_write_pairs(tmp_path, 0.2), draws=99, probe_draws=0)
    assert even.parts[0].battery.flagged == ()


def test_cue_of_classes_does_not_flag_positions_of_even_labels(tmp_path: Path) -> None:
    """Contradictions are rare among the other texts, but this is explained by the cue."""
    data = [p for at, p in enumerate(_write_pairs(tmp_path, 0.9)) if at % 3 or at > 30]
    found = audit.audit(Dataset(data), draws=99, probe_draws=0).parts[0].battery
    assert [one.about for one in found.flagged] == ["class"]
    assert found.positions_p > 0.2


def test_sign_is_flagged_in_addition_to_a_frequent_answer() -> None:
    rng = np.random.default_rng(0)
    signs = [(rng.random() < 0.3, int(rng.integers(10**6))) for _ in range(300)]
    data = Dataset(
        Problem(f"{at}", f"Is {number} {'not ' * sign}prime, or {at}?", ("no", "yes"),
                int(rng.random() < (0.35 if sign else 0.85)), blank=None)
        for at, (sign, number) in enumerate(signs)
    )  # fmt: skip
    named = audit.audit(data, draws=99, probe_draws=0).parts[0].battery.flagged
    assert [one.cue for one in named] == ["the second", "no, if the text has a negation"]


def test_signs_are_of_the_hypothesis_only(tmp_path: Path) -> None:
    data = _write_pairs(tmp_path, 0.5, 60)
    premise, said = "It is not so.", "So it is."
    extra = Extra({"questions.premise": premise, "questions.hypothesis": said})
    pair = replace(data[0], sentence=f"{premise} {said}", extra=extra)
    cues = audit.make_class_cues(Dataset([pair, *data[1:]]))
    assert len(cues) == 3 * 7
    view = audit.View(pair.sentence, pair.options, audit.Corpus.from_options([pair.options]))
    assert [cue.name for cue in cues if any(cue.score(view))] == [
        f"{label}, if the hypothesis {sign}"
        for sign in ("has fewer words than most", "has all its words in the premise")
        for label in LABELS
    ]


def test_varying_options_are_not_classes() -> None:
    quiz = [
        Problem(f"q{at}", f"Who? {at}", (f"a{at}", f"b{at}"), 0, blank=None) for at in range(60)
    ]
    assert audit.make_class_cues(Dataset(quiz)) == ()
    both = (("no", "yes"), ("yes", "no"), ("No", "yes"))
    mixed = [Problem(f"m{at}", f"Is it {at}?", both[at % 3], 0, blank=None) for at in range(60)]
    assert audit.make_class_cues(Dataset(mixed)) == ()
    assert audit.make_class_cues(Dataset(replace(p, options=both[0]) for p in mixed)) != ()
