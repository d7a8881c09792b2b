"""Whether a filter is fair: what it kept, beside everything and beside random subsets.

Each measure is of people's agreement, of labels that may be wrong, of domains and topics, or of
words; measures of words are chosen so that they do not grow with the size of a set.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.debias._ensemble import check_draws
from winosmith.debias._ranking import Dynamics, Mask, Ranking, ranking
from winosmith.debias._selection import alike
from winosmith.errors import DataError
from winosmith.metrics import clusters, holm, human_accuracy
from winosmith.parallel import one_thread
from winosmith.problem import BLANK, MAX_OPTIONS, Problem
from winosmith.records import Recorded
from winosmith.report import Signature, sign
from winosmith.text import content_words, tokens

About = Literal["people", "labels", "domain", "words"]


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KeptSet(Recorded):
    """What one filter kept.

    Attributes:
        size: problems kept.
        twins: of them whole twins.
        singles: of them problems whose other half is not there.
        figures: beside those of all problems, and of random subsets.
    """

    size: int
    twins: int
    singles: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Fairness(Recorded):
    """Filtered sets beside the pool that they were drawn from.

    Attributes:
        signature: what the figures depend on.
        pool: how many problems there were.
        draws: random subsets for each kept set.
        sets: by name, what was kept.
        ranking: the order of models on them; None without models.
    """

    signature: Signature
    pool: int
    draws: int
    sets: Mapping[str, KeptSet]
    ranking: Ranking | None


def fairness(
    pool: Dataset,
    kept: Mapping[str, Sequence[int] | NDArray[Any]],
    *,
    votes: Sequence[Response] = (),
    dynamics: Dynamics | None = None,
    marks: Mapping[str, NDArray[Any]] | None = None,
    right: Mapping[str, NDArray[np.float64]] | None = None,
    draws: int = 999,
    seed: int = 0,
) -> Fairness:
    """Compare what filters kept of a pool with the pool, and with random subsets.

    A filter by what machines can guess chooses by more than artifacts: it may keep what people
    disagree on, or what is labelled wrongly, narrow what the problems are about, or favour some
    models over others (Phang et al. 2021). Each figure of a kept set stands beside that of all
    problems, and beside those of random subsets of the same size with as many whole twins, halves
    of twins and singles: a figure within their central 95 % is what blind choice gives. p-values
    are corrected for the number of figures of a set (Holm).

    Measured are, each where there is something to measure it by: the judges' agreement and its
    Krippendorff's alpha, fresh people's majority (`votes`); the regions of a data map (`dynamics`);
    any marks; domains and topics; length, rarefied distinct-1 and distinct-2, and the distance of
    sentences; and the order of models (`right`).

    Args:
        pool: what the filters were given.
        kept: by name of the filter, the rows of the pool that it kept.
        votes: of people, for any purpose.
        dynamics: see `read_dynamics`.
        marks: by name, (n,) 1 or 0 for each problem, NaN where it is not known: a wrong answer, a
            planted artifact.
        right: by name of a model, (n,) what its answers are worth, 1, 0 or a tie's share
            (`metrics.Graded.credit`); two models or more for an order. Models that were trained on
            the pool know its answers: leave them out, or cross-validate.
        draws: random subsets for each kept set, 20 or more.
        seed: of all draws.

    Raises:
        InputError: too few draws, or one model alone.
        DataError: rows that the pool does not have, a set of nothing, columns of another length, or
            subjects of a human test who are not fresh.

    >>> from winosmith import practice
    >>> made = practice.corpus(60, seed=1)
    >>> found = fairness(made.dataset, {"half": range(60)}, votes=made.votes, draws=20)
    >>> found.sets["half"].size, found.sets["half"].figures[0].name
    (60, 'votes for the answer')
    """
    check_draws(draws)
    masks = {name: _mask(name, rows, len(pool)) for name, rows in kept.items()}
    if not masks:
        raise DataError("there is no kept set to compare with the pool")
    for name, column in {**(marks or {}), **(right or {})}.items():
        if len(column) != len(pool):
            raise DataError(f"{name} has {len(column)} entries for {len(pool)} problems")
    ids = set(pool.ids)
    if any(vote.purpose == "test" and vote.problem_id in ids for vote in votes):
        human_accuracy(pool, votes, subjects=1)  # refuses subjects who are not fresh
    smallest = min(masks.values(), key=lambda mask: int(mask.sum()))
    measures = [
        *people_measures(pool, votes),
        *label_measures(dynamics, marks or {}),
        *domain_measures(pool, seed),
        *word_measures(pool, smallest),
    ]
    subsets = {name: list(alike(pool.groups, mask, draws, seed)) for name, mask in masks.items()}
    sets = {
        name: _kept_set(pool, mask, compared(measures, mask, subsets[name]))
        for name, mask in masks.items()
    }
    order = None
    if right:
        order = ranking(right, masks, clusters(pool), subsets, seed=seed)
    known = {
        "kept": [(name, mask.tobytes()) for name, mask in masks.items()],
        "votes": [asdict(vote) for vote in votes],
        "dynamics": dynamics and asdict(dynamics),
        "marks": [
            (name, np.asarray(mark, float).tobytes()) for name, mark in (marks or {}).items()
        ],
        "models": [(name, np.asarray(own, float).tobytes()) for name, own in (right or {}).items()],
    }
    sources = {name: _digest(value) for name, value in known.items() if value}
    return Fairness(sign(pool, seed, **sources, draws=draws), len(pool), draws, sets, order)


def _digest(value: Any) -> str:
    """Return twelve digits for what a figure depends on."""
    if isinstance(value, dict):
        value = {n: a if a is None else np.asarray(a, float).tobytes() for n, a in value.items()}
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _mask(name: str, rows: Sequence[int] | NDArray[Any], count: int) -> Mask:
    chosen = np.asarray(rows, np.intp)
    if not chosen.size:
        raise DataError(f"{name} holds no problem")
    if chosen.min() < 0 or chosen.max() >= count or len(np.unique(chosen)) < len(chosen):
        raise DataError(f"{name} must name rows from 0 to {count - 1}, each once")
    mask = np.zeros(count, np.bool_)
    mask[chosen] = True
    return mask


def _kept_set(pool: Dataset, mask: Mask, figures: tuple[Figure, ...]) -> KeptSet:
    part = pool.select(np.flatnonzero(mask).tolist())
    return KeptSet(len(part), len(part.twins), len(part.singles), figures)


@dataclass(frozen=True, slots=True)
class Figure(Recorded):
    """One figure of a kept set.

    Attributes:
        about: "people", "labels", "domain" or "words".
        name: what is measured.
        form: how to print it.
        pool: of all problems.
        kept: of the kept ones; None, with all that follows, where it is not defined.
        mean: of the random subsets, on average.
        low: the lower end of the central 95 % of them.
        high: the upper end.
        spread: their standard deviation.
        p: how likely a random subset is as far out as the kept set, on either side: twice the
            smaller Monte Carlo p-value (Davison & Hinkley 1997, section 4.2.3), 1 at most.
        adjusted: p, for so many figures of the same kept set (Holm 1979).
    """

    about: About
    name: str
    form: str
    pool: float | None
    kept: float | None
    mean: float | None
    low: float | None
    high: float | None
    spread: float | None
    p: float | None
    adjusted: float | None

    @property
    def shift(self) -> float | None:
        """How many standard deviations of the random subsets the kept set is off their mean."""
        if self.kept is None or self.mean is None or not self.spread:
            return None
        return (self.kept - self.mean) / self.spread


@dataclass(frozen=True)
class Measure:
    """Something that can be measured of every subset of a pool.

    Attributes:
        about: what it is about.
        name: in words.
        form: how to print it, a format specification.
        of: (n,) mask → the figure; NaN where it is not defined.
    """

    about: About
    name: str
    form: str
    of: Callable[[Mask], float]


def share_of(about: About, name: str, values: NDArray[Any], form: str = ".1%") -> Measure:
    """Return the mean of a column, over the rows where it is known.

    >>> measure = share_of("people", "agree", np.array([1.0, 0.0, np.nan]))
    >>> measure.of(np.array([True, True, True])), measure.of(np.array([True, False, True]))
    (0.5, 1.0)
    """
    column = np.asarray(values, np.float64)
    known = ~np.isnan(column)
    filled = np.where(known, column, 0.0)

    def of(mask: Mask) -> float:
        count = int((mask & known).sum())
        return float(filled[mask].sum() / count) if count else float("nan")

    return Measure(about, name, form, of)


def compared(
    measures: Sequence[Measure], kept: Mask, subsets: Sequence[Mask]
) -> tuple[Figure, ...]:
    """Measure a kept set, everything, and random subsets.

    Args:
        measures: what to measure.
        kept: (n,) which rows were kept.
        subsets: masks of random subsets; see `alike`.
    """
    everything = np.ones(len(kept), np.bool_)
    found = [
        _figure(measure, measure.of(everything), measure.of(kept),
                np.array([measure.of(subset) for subset in subsets]))
        for measure in measures
    ]  # fmt: skip
    return _adjusted(found)


def _figure(measure: Measure, pool: float, kept: float, drawn: NDArray[Any]) -> Figure:
    about = (measure.about, measure.name, measure.form)
    known = drawn[~np.isnan(drawn)]
    whole = None if np.isnan(pool) else pool
    if np.isnan(kept) or not known.size:
        return Figure(*about, whole, None, None, None, None, None, None, None)
    low, high = np.quantile(known, [0.025, 0.975])
    close = 1e-9 * max(1.0, abs(kept))  # sums of the same numbers in another order are the same
    above, below = (known >= kept - close).sum(), (known <= kept + close).sum()
    p = min(1.0, 2 * (1 + min(above, below)) / (1 + len(known)))
    spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    return Figure(
        *about,
        whole,
        kept,
        float(known.mean()),
        float(low),
        float(high),
        spread if spread > close else 0.0,
        float(p),
        None,
    )


def _adjusted(found: Sequence[Figure]) -> tuple[Figure, ...]:
    known = [figure.p for figure in found if figure.p is not None]
    adjusted = iter(holm(known) if known else [])
    return tuple(
        figure if figure.p is None else replace(figure, adjusted=next(adjusted)) for figure in found
    )


def people_measures(pool: Dataset, votes: Sequence[Response]) -> Iterator[Measure]:
    """Yield the agreement of judges, and the accuracy of people who had not judged.

    Agreement is no accuracy: problems were kept because judges agreed with their answers.
    """
    agreement = human_agreement(pool, votes)
    if not np.isnan(agreement).all():
        unanimous = np.where(np.isnan(agreement), np.nan, agreement == 1)
        yield share_of("people", "votes for the answer", agreement)
        yield share_of("people", "all judges chose the answer", unanimous)
        yield share_of("people", "called ambiguous by a judge", ambiguous(pool, votes))
        yield Measure("people", "Krippendorff's alpha of the judges", ".3f", _alpha(pool, votes))
    fresh = fresh_right(pool, votes)
    if not np.isnan(fresh).all():
        yield share_of("people", "right by the majority of a human test", fresh)


def _alpha(pool: Dataset, votes: Sequence[Response]) -> Any:
    """Return Krippendorff's alpha of any subset; see `metrics.krippendorff_alpha`."""
    counts = vote_counts(pool, votes)
    answers = counts.sum(axis=1)
    several = answers >= 2
    differing = np.zeros(len(counts))
    pairs = answers**2 - (counts**2).sum(axis=1)
    np.divide(pairs, answers - 1, out=differing, where=several)

    def of(mask: Mask) -> float:
        rows = mask & several
        total = counts[rows].sum(axis=0)
        n = int(total.sum())
        expected = n**2 - int((total**2).sum())
        return 1 - (n - 1) * float(differing[rows].sum()) / expected if expected else float("nan")

    return of


SUBJECTS = 3
"""The fewest people whose majority is asked for (WinoGrande, section 2: three judges)."""


def human_agreement(pool: Dataset, votes: Iterable[Response]) -> Floats:
    """Return the share of each problem's judges who chose its answer.

    Votes with the purpose "validate" count. A judge who chose no option did not choose the answer.

    Args:
        pool: problems with answers.
        votes: of any purpose, on any problems.

    Returns:
        (n,) shares, 0–1; NaN where nobody judged.

    Raises:
        DataError: the answer of a problem that was judged is withheld.

    >>> from winosmith import Problem
    >>> pool = Dataset([Problem(name, "Ann beat Beth, so _ won.", ("Ann", "Beth"), 0) for name in "ab"])
    >>> votes = [Response("a", who, "validate", choice) for who, choice in zip("xyz", (0, 0, 1))]
    >>> human_agreement(pool, votes).round(3).tolist()
    [0.667, nan]
    """  # noqa: E501
    right, judged = np.zeros(len(pool)), np.zeros(len(pool))
    for row, vote in _on(pool, votes, "validate"):
        if pool[row].answer is None:
            raise DataError(f"the answer of {pool.ids[row]!r} is withheld; who is right?")
        judged[row] += 1
        right[row] += vote.choice == pool[row].answer
    return _shares(right, judged)


def ambiguous(pool: Dataset, votes: Iterable[Response]) -> Floats:
    """Return 1 for a problem that a judge called ambiguous, else 0; NaN where nobody judged."""
    called = np.full(len(pool), np.nan)
    for row, vote in _on(pool, votes, "validate"):
        called[row] = max(float(vote.ambiguous), np.nan_to_num(called[row]))
    return called


def fresh_right(pool: Dataset, votes: Iterable[Response]) -> Floats:
    """Return 1 where the majority of a human test chose the answer, else 0; NaN below three people.

    Judges' votes are no such test: problems were kept for their being right. See
    `metrics.human_accuracy`, which also refuses people who are not fresh.
    """
    right, asked = np.zeros(len(pool)), np.zeros(len(pool))
    for row, vote in _on(pool, votes, "test"):
        asked[row] += 1
        right[row] += vote.choice is not None and vote.choice == pool[row].answer
    return np.where(asked >= SUBJECTS, (2 * right > asked).astype(float), np.nan)


def vote_counts(pool: Dataset, votes: Iterable[Response]) -> NDArray[np.int64]:
    """Return how many judges chose each option of each problem, (n, options)."""
    counts = np.zeros((len(pool), MAX_OPTIONS), np.int64)
    for row, vote in _on(pool, votes, "validate"):
        if vote.choice is not None:
            counts[row, vote.choice] += 1
    return counts


def _on(pool: Dataset, votes: Iterable[Response], purpose: str) -> Iterable[tuple[int, Response]]:
    rows = {name: row for row, name in enumerate(pool.ids)}
    for vote in votes:
        if vote.purpose == purpose and vote.problem_id in rows:
            row = rows[vote.problem_id]
            if vote.choice is not None and vote.choice >= len(pool[row].options):
                raise DataError(
                    f"{vote.participant!r} chose option {vote.choice + 1} of {vote.problem_id!r}, "
                    f"which has {len(pool[row].options)}"
                )
            yield row, vote


def _shares(count: Floats, of: Floats) -> Floats:
    shares = np.full(len(of), np.nan)
    np.divide(count, of, out=shares, where=of > 0)
    return shares


def label_measures(
    dynamics: Dynamics | None, marks: Mapping[str, NDArray[Any]]
) -> Iterator[Measure]:
    """Yield signs of wrong labels, and whatever is known of the problems.

    Swayamdipta et al. (2020, "Dataset Cartography", section 3) call the third with the lowest mean
    probability of the label *hard to learn*, that with the highest *easy to learn*, and the third
    with the most varying probability *ambiguous*; thirds of the pool, here. Hard to learn is where
    they find label errors (section 5). The map is a model's: what a filter keeps is hard for
    models, and some of what these figures show is just that.
    """
    if dynamics is not None:
        yield share_of("labels", "confidence in the label", dynamics.confidence, ".3f")
        yield share_of("labels", "variability of that", dynamics.variability, ".3f")
        for name, third in dynamics.regions().items():
            yield share_of("labels", name, third)
        yield share_of("labels", "label thought less likely than not", dynamics.doubted())
        if dynamics.correctness is not None:
            never = np.where(np.isnan(dynamics.correctness), np.nan, dynamics.correctness == 0)
            yield share_of("labels", "never learnt", never)
    for name, mark in marks.items():
        yield share_of("labels", name, mark)


TOPICS, COMPONENTS = 20, 50
"""Clusters of sentences, and dimensions that they are found in."""

MOST = 6
"""Domains that have a figure of their own; the mixture counts all."""


def domain_measures(pool: Dataset, seed: int) -> Iterator[Measure]:
    """Yield shares of domains, how many topics there are in effect, and how far the mixture moved.

    A domain is `Origin.domain`. Where no problem has one, WinoGrande's two are told apart as its
    authors were asked to write them (section 2): about two people, whose options are names, or
    about two objects. Topics are clusters of sentences by k-means over TF-IDF reduced by SVD, found
    in the pool without a look at answers. Their number in effect is exp of Shannon's entropy (Hill
    1973, order 1); a mixture is compared with that of the pool by half the sum of absolute
    differences (total variation).
    """
    names = [problem.origin.domain if problem.origin else None for problem in pool]
    if any(names):
        labels = [name or "unknown" for name in names]
    else:
        labels = ["people (options are names)" if _named(p) else "objects" for p in pool]
    common = [name for name, _ in Counter(labels).most_common(MOST)]
    for name in common[: 1 if len(set(labels)) <= 2 else MOST]:  # of two, one says all
        yield share_of("domain", name, np.array([label == name for label in labels]))
    topics = _topics(pool, seed)
    yield Measure("domain", "topics in effect", ".2f", _in_effect(topics))
    yield Measure("domain", "topics moved from those of all", ".2%", _moved(topics))


def _named(problem: Problem) -> bool:
    """Tell whether the options are names: single words with a capital, within the sentence."""
    return all(
        option.isalpha() and option[0].isupper() and not option.isupper()
        for option in problem.options
    )


def _topics(pool: Dataset, seed: int) -> NDArray[np.intp]:
    """Return the cluster of each problem."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = [content_words(problem.put(" ")) for problem in pool]
    if not any(texts):
        return np.zeros(len(pool), np.intp)
    with one_thread():
        X = TfidfVectorizer(analyzer=lambda words: words).fit_transform(texts)
        width = min(COMPONENTS, *X.shape)
        if width > 1:
            X = normalize(TruncatedSVD(width - 1, random_state=seed).fit_transform(X))
        else:
            X = X.toarray()
        count = min(TOPICS, len(np.unique(X, axis=0)))
        labels: NDArray[np.intp] = KMeans(count, n_init=1, random_state=seed).fit(X).labels_
    return labels.astype(np.intp)


def _mixture(topics: NDArray[np.intp], mask: Mask) -> NDArray[np.float64]:
    counts = np.bincount(topics[mask], minlength=int(topics.max(initial=0)) + 1)
    shares: NDArray[np.float64] = counts / max(1, counts.sum())
    return shares


def _in_effect(topics: NDArray[np.intp]) -> Any:
    def of(mask: Mask) -> float:
        shares = _mixture(topics, mask)
        there = shares[shares > 0]
        return float(np.exp(-(there * np.log(there)).sum())) if there.size else float("nan")

    return of


def _moved(topics: NDArray[np.intp]) -> Any:
    everything = _mixture(topics, np.ones(len(topics), np.bool_))

    def of(mask: Mask) -> float:
        if not mask.any():
            return float("nan")
        return float(np.abs(_mixture(topics, mask) - everything).sum() / 2)

    return of


def word_measures(pool: Dataset, smallest: Mask) -> Iterator[Measure]:
    """Yield length, distinct-1 and distinct-2, and how far apart the sentences are.

    Distinct-n (Li et al. 2016, section 5.1) is the share of distinct n-grams among all. It falls as
    texts grow, so it is rarefied: what is expected of as many n-grams as half of those in the
    smallest set compared, drawn without replacement (Hurlbert 1971, equation 10; see `rarefied`).
    The distance of two sentences is 1 − cosine of their TF-IDF vectors, on average over all pairs
    (the dispersion of an embedding, as Lai et al. 2020 measure it, with words for dimensions).

    Args:
        pool: the problems.
        smallest: (n,) the smallest of the sets that are compared.
    """
    sentences = [[t.lower() for t in tokens(p.sentence) if t != BLANK] for p in pool]
    yield share_of("words", "tokens a problem", np.array([len(s) for s in sentences]), ".2f")
    for name, grams in (
        ("distinct-1", sentences),
        ("distinct-2", [list(pairwise(s)) for s in sentences]),
    ):
        counts = _counted(grams)
        size = int((counts @ smallest.astype(np.float64)).sum()) // 2
        yield Measure("words", f"{name}, of {size:,} n-grams", ".4f", _distinct(counts, size))
    yield Measure("words", "distance of two sentences", ".4f", _distance(pool))


def _counted(grams: Sequence[Sequence[Any]]) -> Any:
    """Return how often each n-gram is in each sentence, as a sparse (n-grams, n) matrix."""
    from scipy.sparse import csr_array

    number: dict[Any, int] = {}
    rows = [number.setdefault(gram, len(number)) for sentence in grams for gram in sentence]
    columns = np.repeat(np.arange(len(grams)), [len(sentence) for sentence in grams])
    shape = (len(number), len(grams))
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _distinct(counts: Any, size: int) -> Any:
    def of(mask: Mask) -> float:
        found = counts @ mask.astype(np.float64)
        if not size or found.sum() < size:
            return float("nan")
        return rarefied(found[found > 0].astype(np.int64), size) / size

    return of


def rarefied(counts: NDArray[np.int64], size: int) -> float:
    """Return how many distinct things are expected among so many drawn without replacement.

    E = Σ_i [1 − C(N − n_i, m) / C(N, m)] for N things, n_i of kind i, of which m are drawn
    (Hurlbert 1971, equation 10; Heck et al. 1975).

    Args:
        counts: how often each kind occurs, 1 or more.
        size: how many are drawn, at most all.

    >>> rarefied(np.array([2, 1, 1]), 4), round(rarefied(np.array([2, 1, 1]), 2), 4)
    (3.0, 1.8333)
    """
    from scipy.special import gammaln

    of = np.bincount(counts)
    kinds = np.flatnonzero(of)
    n = int(counts.sum())
    left = n - kinds - size  # of those that are not of the kind, minus those drawn
    can_miss = left >= 0
    missed = np.zeros(len(kinds))
    rest = n - kinds[can_miss]
    missed[can_miss] = np.exp(
        gammaln(rest + 1) - gammaln(left[can_miss] + 1) - gammaln(n + 1) + gammaln(n - size + 1)
    )
    return float(of[kinds] @ (1 - missed))


def _distance(pool: Dataset) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [content_words(problem.put(" ")) for problem in pool]
    if not any(texts):
        return lambda mask: float("nan")
    unit = TfidfVectorizer(analyzer=lambda words: words).fit_transform(texts)
    worded = np.asarray(unit.getnnz(axis=1) > 0)
    across = unit.T.tocsr()

    def of(mask: Mask) -> float:
        n = int((mask & worded).sum())
        if n < 2:
            return float("nan")
        whole = across @ mask.astype(np.float64)
        return 1 - (float(whole @ whole) - n) / (n * (n - 1))

    return of
