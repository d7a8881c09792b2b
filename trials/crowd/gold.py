"""Test whether a judge can recognise gold questions, with a client that records everything.

The client judges on the pages of a real server, and its answers are as good as the sentence
allows. For each problem, until its answer, it records the references, the bytes, headers and
time
of each response, and the number of problems since the last gold question. Then a classifier is
trained on these data.
"""

from __future__ import annotations

import http.client
import itertools
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .acts import IN_PLACE
from .browser import Browser, Page
from .scenario import open_site
from .sentences import make_twin

EVERY = 2
"""Every second problem is gold, so that few judgements yield equally many of both kinds."""

PASSING = ("Date", "Content-Length")
"""Headers that depend on the time and the text."""

BESIDE = {"what I judged": "/judge/history/", "news": "/people/news/"}
"""Pages about a judge's own work, which must reveal nothing about the judge's current problem."""

COOKIE = r"(?<==)\w{32}(?=;)|(?<=expires=)[^;]*"
"""The random part of the form's cookie, and its expiry."""


@dataclass(frozen=True)
class Judge:
    """A judge: the session's cookies, and the correct options by sentence."""

    cookies: dict[str, str]
    answers: dict[str, int]


@dataclass
class Observation:
    """The data recorded about a problem before its answer revealed whether it was gold.

    Attributes:
        seen: features by name: a number, or a text from which the classifier derives features.
    """

    gold: bool = False
    seen: dict[str, float | str] = field(default_factory=dict)


def fill(folder: Path, database: str | None, count: int) -> list[Judge]:
    """Fill a site with gold and other problems of every origin, `count` of each, and two judges.

    Gold questions are imported with and without `--new-ids`; the other problems are written, or
    imported with ids like those of releases, with a file's own ids, and with `--new-ids`.
    """
    open_site(folder, database, gold_every=EVERY)
    from winosmith import Dataset, Problem
    from winosmith.web.importing import assign_new_ids, import_problems

    from . import inside

    made = inside.make_people("judge", 2, is_judge=True)
    inside.make_problems(-(-count // 4))
    answers = {}
    kinds = {"gold-0": [], "gold-1": [], "judging-0": [], "judging-1": [], "judging-2": []}
    names = {
        "gold-0": str,
        "judging-1": lambda _: secrets.token_hex(6),
        "judging-2": "train-{}-1".format,
    }
    for at in range(2 * count):
        kind = f"gold-{at % 4 // 2}" if at % 2 else f"judging-{at // 2 % 4}"
        sentence, answer = make_twin(f"n{at:05}").halves()[at // 8 % 2]
        answers[sentence] = answer
        if kind not in kinds:  # the same number was written above
            continue
        name = names.get(kind, "own-{}".format)(at)
        extra = {"gold.explanation": "A lantern is bright, and a kettle boils."}
        kinds[kind].append(
            Problem(name, sentence, ("lantern", "kettle"), answer, extra=extra if at % 2 else {})
        )
    for kind, problems in kinds.items():
        data = Dataset(problems, kind)
        data = assign_new_ids(data, "k" * 50) if kind in ("gold-1", "judging-0") else data
        import_problems(data, "gold" if kind.startswith("gold") else "judging")
    return [Judge(one.cookies, answers) for one in made]


class Watcher(Browser):
    """A browser that records each response and its time."""

    seconds = 0.0
    headers = ""
    size = 0
    to = ""

    def _exchange(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        start = time.perf_counter()
        answer, data = super()._exchange(method, path, body, headers)
        self.seconds, self.size = time.perf_counter() - start, len(data)
        self.to = answer.headers.get("HX-Redirect") or ""
        headers = "".join(f"{k}: {v}\n" for k, v in answer.headers.items() if k not in PASSING)
        self.headers = f"{answer.status} {re.sub(COOKIE, '', headers)}"
        return answer, data


def judge_and_record(url: str, judges: Sequence[Judge], count: int) -> list[Observation]:
    """Judge until `count` gold questions and as many others were seen, or none are left.

    They take turns, so that other work on the machine affects all of them.
    """
    watchers = [Watcher(url) for _ in judges]
    for watcher, judge in zip(watchers, judges, strict=True):
        watcher.cookies = dict(judge.cookies)
    judging = [_judge(*pair) for pair in zip(watchers, (j.answers for j in judges), strict=True)]
    found: list[Observation] = []
    since = [0] * len(judging)
    while min(_count_kinds(found)) < count:
        for at, by in enumerate(judging):
            observed = next(by, None)
            if observed is None:
                raise AssertionError("nothing is left to judge")
            observed.seen["problems since the last gold"] = since[at]
            since[at] = 0 if observed.gold else since[at] + 1
            found.append(observed)
    for watcher in watchers:
        watcher.close()
    return found


def _count_kinds(found: Sequence[Observation]) -> tuple[int, int]:
    """Return the numbers of recorded gold questions and other questions."""
    golds = sum(one.gold for one in found)
    return golds, len(found) - golds


def _record_answer(observed: Observation, what: str, watcher: Watcher, text: str) -> None:
    """Record an answer of the server; the problem's own text is not counted as bytes."""
    observed.seen[f"ms, {what}"] = 1000 * watcher.seconds
    observed.seen[f"bytes, {what}"] = watcher.size - len(text.encode())
    observed.seen[f"headers, {what}"] = watcher.headers


def _judge(watcher: Watcher, answers: Mapping[str, int]) -> Iterator[Observation]:
    """Judge like the pages' script: each answer contains the next problem."""
    page = _send_form(watcher, watcher.get("/judge/"), "/next/")
    while page.form("/skip/") is not None:
        observed = Observation()
        first = page.form("/local/")
        refs = _extract_references(page)
        observed.seen["steps"] = 2 if first else 1
        observed.seen["reference"] = refs[0]
        observed.seen["references that differ"] = len(set(refs))
        _record_answer(observed, "page with the question", watcher, _extract_text(page))
        for what, path in BESIDE.items():  # in another tab, while the problem is held
            _record_answer(observed, what, watcher, _extract_words(watcher.get(path)))
        if first is not None:
            page = _send_form(watcher, page, "/local/", choice="0")
            _record_answer(observed, "the second step", watcher, _extract_text(page))
        refused = _send_form(watcher, page, "/answer/")
        if refused.status != 422:
            raise AssertionError(f"an answer without a choice: {refused.status}")
        _record_answer(observed, "a refusal", watcher, _extract_text(refused))
        choice = answers.get(_extract_sentence(page), 0)
        page = _send_form(watcher, refused, "/answer/", choice=str(choice))
        observed.gold = page.status == 204
        yield observed
        if observed.gold:
            page = _send_form(watcher, watcher.get(watcher.to), "/next/")


def _send_form(watcher: Watcher, page: Page, to: str, **typed: str) -> Page:
    """Send a form as the page's script does."""
    form = page.form(to)
    return page if form is None else watcher.send(form, IN_PLACE, **typed)


def _extract_text(page: Page) -> str:
    """Return the part of a page that depends on the problem, with the previous action."""
    own = page.text.partition('<p class="sentence"')[2].partition("</p>")[0]
    undo = re.findall(r'<form class="undo".*?</form>', page.text, re.DOTALL)
    judged = page.text.partition('<p class="progress">')[2].partition("</p>")[0]
    return "".join((own, *undo, judged))


def _extract_references(page: Page) -> list[str]:
    """Return the problem's references in the forms; the undo form names the previous problem."""
    forms = [form for form in page.forms() if not form.action.endswith("/undo/")]
    return [form.fields["problem"] for form in forms if "problem" in form.fields]


def _extract_words(page: Page) -> str:
    """Return a page's text without its markup, which depends on earlier judgements."""
    if page.status != 200:
        raise AssertionError(f"a page of one's own work: {page.status}")
    return re.sub(r"<[^>]*>", "", page.text)


def _extract_sentence(page: Page) -> str:
    """Return a page's sentence, with its blank as in the data."""
    own = page.text.partition('<p class="sentence"')[2].partition(">")[2].partition("</p>")[0]
    before, _, after = own.partition('<span class="blank">')
    return f"{before}_{after.rpartition('</span>')[2]}"


@dataclass(frozen=True)
class GoldAuc:
    """The AUC with which some features predict gold questions.

    Attributes:
        auc: AUC of predictions for held-out problems; above 0.5 if they are better than chance.
        low, high: interval of the AUC.
    """

    name: str
    features: int
    auc: float
    low: float
    high: float


def classify_gold(found: Sequence[Observation], *, folds: int = 10) -> list[GoldAuc]:
    """Train classifiers on each feature and on all features, and return their AUCs.

    The classifiers are gradient-boosted trees, in stratified folds. The features of a text are its
    length, its alphabet and its bigrams by position. The intervals of the AUCs are DeLong's, and
    hold simultaneously in 95 of 100 trials (Bonferroni).
    """
    from statistics import NormalDist

    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    gold = np.array([one.gold for one in found])
    names = list(dict.fromkeys(name for one in found for name in one.seen))
    columns = {name: _make_columns([one.seen.get(name) for one in found]) for name in names}
    first = columns["problems since the last gold"] == 0  # there is more work after gold
    asked = {**columns, "all together": np.hstack(list(columns.values()))}
    wide = NormalDist().inv_cdf(1 - 0.05 / 2 / len(asked))
    results = []
    for name, own in asked.items():
        if (own == own[0]).all():
            results.append(GoldAuc(name, own.shape[1], 0.5, 0.5, 0.5))
            continue
        data = np.hstack([own, first])
        model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
        split = StratifiedKFold(folds, shuffle=True, random_state=0)
        scores = cross_val_predict(model, data, gold, cv=split, method="decision_function")
        auc, error = _compute_delong_auc(gold, scores)
        results.append(GoldAuc(name, own.shape[1], auc, auc - wide * error, auc + wide * error))
    return results


def _make_columns(values: Sequence[float | str | None]) -> Any:
    """Return a numeric column; for texts, lengths, character kinds and positioned bigrams."""
    import numpy as np

    if all(value is None or isinstance(value, int | float) for value in values):
        numbers = [float("nan") if value is None else float(value) for value in values]
        return np.array(numbers).reshape(-1, 1)
    texts = [str(value or "") for value in values]
    if len(set(texts)) <= 20:  # headers: one of a few values
        kinds = sorted(set(texts))
        return np.array([[kinds.index(text)] for text in texts], float)
    return np.array([_describe_text(text) for text in texts], float)


def _describe_text(text: str) -> list[float]:
    kinds = (str.isdigit, str.isupper, str.islower, lambda c: c in "abcdef", lambda c: c in "-_.")
    counts = [sum(map(kind, text)) for kind in kinds]
    codes = [ord(char) for char in text[:24]]
    codes += [-1] * (24 - len(codes))
    pairs = [128 * one + other for one, other in itertools.pairwise(codes)]
    return [len(text), len(set(text)), *counts, *codes, *pairs]


def _compute_delong_auc(gold: Any, scores: Any) -> tuple[float, float]:
    """Return the AUC of scores and its standard error (DeLong and others 1988)."""
    import numpy as np
    from scipy.stats import rankdata

    ours, others = scores[gold], scores[~gold]
    ranks = rankdata(np.concatenate([ours, others]))
    above = (ranks[: len(ours)] - rankdata(ours)) / len(others)
    below = 1 - (ranks[len(ours) :] - rankdata(others)) / len(ours)
    error = np.sqrt(above.var(ddof=1) / len(ours) + below.var(ddof=1) / len(others))
    return float(above.mean()), float(error)
