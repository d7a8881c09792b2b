"""Solvers that use language models (`Causal`, `Masked`), encoders, or several solvers."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from winosmith import models
from winosmith.errors import DataError, InputError, check_choice
from winosmith.prediction import find_best_options
from winosmith.problem import Claim, Problem
from winosmith.seen import Sees, check_pronouns, check_sees_value
from winosmith.solve._solver import Scores, Solver, sample_solved


@dataclass(frozen=True)
class LanguageScores:
    """A language model's scores for a sequence of problems.

    Attributes:
        scores: maps the name of a score to one tuple per problem, with a value for each option.
        tokens_fed: number of tokens that the model read, including padding.
    """

    scores: dict[str, list[tuple[float, ...]]]
    tokens_fed: int


def rewrite_as_referent_questions(
    problems: Sequence[Problem], sees: Sees, suffix: str = ""
) -> Sequence[Problem]:
    check_sees_value(sees)
    if sees == "blank":
        return problems
    check_pronouns(problems)
    return [models.ask_referent(problem, suffix) for problem in problems]


def aggregate_scores(
    problems: Sequence[Problem],
    parts: Sequence[str],
    values: Sequence[npt.NDArray[np.float64]],
    tokens_fed: int,
    model: str | Path,
) -> LanguageScores:
    """For each part, return the sum and the mean of each option's values as scores of the option.

    The arrays in `values` are in the order of parts, problems and options.
    """
    rows = iter(values)
    scores: dict[str, list[tuple[float, ...]]] = {}
    for part in parts:
        sums, means = [], []
        for problem in problems:
            own = [next(rows) for _ in problem.options]
            if not all(np.isfinite(one).all() for one in own):
                raise DataError(
                    f"the model {model} produces non-finite values, first for "
                    f"{problem.id!r}; its weights are damaged, or its dtype is not precise enough"
                )
            sums.append(tuple(float(one.sum()) for one in own))
            means.append(tuple(float(one.mean()) if len(one) else 0.0 for one in own))
        scores |= {part: sums, f"{part}_per_token": means}
    return LanguageScores(scores, tokens_fed)


@dataclass(frozen=True)
class LanguageSolver(ABC):
    """Scores each option with a language model.

    Options are inflected for the pronoun that they replace, if known (`models.inflect_options`).
    The model is loaded, or downloaded, by the first call of `score`.

    Attributes:
        model: a folder with a saved model, or a hub id.
        kind: name of the score.
        sees: "blank" or "pronoun".
        device: a torch device ("cpu", "cuda:0"); by default the GPU if there is one.
        dtype: precision of the network (see `models.Precision`).
        tokens_per_batch: number of tokens in a batch. The default depends on the device.
        on_progress: called with the number of finished texts and the total number.
    """

    model: str | Path
    kind: str = ""
    _: KW_ONLY
    sees: Sees = "blank"
    device: str | None = None
    dtype: models.Precision = "float32"
    tokens_per_batch: int | None = None
    on_progress: models.OnProgress | None = field(default=None, compare=False)

    kinds: ClassVar[Any]
    parts: ClassVar[tuple[str, str]]

    def _make_parameters(self, solver: str, **extra: Any) -> dict[str, Any]:
        return {
            "solver": solver,
            "model": models.digest_weights(models.find_model_folder(self.model))[:12],
            **{name: value for name, value in extra.items() if value is not None},
            "sees": self.sees,
            "dtype": self.dtype,
        }

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the score of each option.

        Raises:
            InputError: the model can't be loaded, or the score is unknown.
            DataError: the model gives values that are not finite, or a required pronoun is unknown.
        """
        check_choice("score", self.kind, self.kinds)
        part = self.kind.removesuffix("_per_token")
        return self._score_parts(problems, [part]).scores[self.kind]

    def compute_all_scores(self, problems: Sequence[Problem]) -> LanguageScores:
        """Compute all four kinds of scores in one pass."""
        return self._score_parts(problems, self.parts)

    @abstractmethod
    def _score_parts(self, problems: Sequence[Problem], parts: Sequence[str]) -> LanguageScores: ...


CausalScore = Literal["partial", "full", "partial_per_token", "full_per_token"]
"""Kinds of scores of a causal model. "full" is the log-probability of the filled-in sentence.
"partial" is the log-probability of the text after the blank, given the text up to the end of the
option (Trinh and Le 2018, "A Simple Method for Commonsense Reasoning", section 3). Both are sums
over tokens. With the suffix "_per_token", they are means."""


@dataclass(frozen=True)
class Causal(LanguageSolver):
    """Scores each option with a causal language model (GPT-2, OPT, Pythia, Llama, Qwen, …).

    Common prefixes of texts (of a problem's options, of twins, and of sentences after the same
    prompt) are read once. Partial scores agree with lm-evaluation-harness to 1e-4. If nothing
    follows the blank (COPA), the partial score is that of the option given its context.

    With `sees="pronoun"`, the original sentence is followed by "'She' refers to", and the partial
    score is that of the option after this text (`models.ask_referent`).

    Attributes:
        kind: name of the score (see `CausalScore`).
        prompt: text to put before each sentence, such as solved problems (`solve.make_prompt`),
            including the separating white space.
        bos: whether to prepend a start token. By default, the tokeniser decides (see
            `models.make_passages`).

    >>> Causal("openai-community/gpt2").kind
    'partial'
    """

    kind: CausalScore = "partial"
    prompt: str = ""
    bos: bool | None = None

    kinds = CausalScore
    parts = ("full", "partial")

    @cached_property
    def _model(self) -> models.CausalModel:
        return models.load_causal_model(self.model, device=self.device, dtype=self.dtype)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for signatures and headers."""
        digest = hashlib.sha256(self.prompt.encode()).hexdigest()[:12] if self.prompt else None
        return self._make_parameters("causal", score=self.kind, prompt=digest, bos=self.bos)

    def _score_parts(self, problems: Sequence[Problem], parts: Sequence[str]) -> LanguageScores:
        asked = rewrite_as_referent_questions(problems, self.sees)
        found = models.make_passages(self._model, asked, prompt=self.prompt, bos=self.bos)
        flat = [
            passage if part == "full" else other
            for part in parts
            for own in found
            for passage, other in own
        ]
        given = self._model.compute_likelihoods(
            [passage.ids for passage in flat],
            [passage.start for passage in flat],
            tokens_per_batch=self.tokens_per_batch,
            on_progress=self.on_progress,
        )
        return aggregate_scores(problems, parts, given.values, given.tokens_fed, self.model)


MaskedScore = Literal["sentence", "option", "sentence_per_token", "option_per_token"]
"""Kinds of scores of a masked model. "sentence" is the pseudo-log-likelihood of the filled-in
sentence (Salazar et al. 2020). "option" is the log-probability of the option's tokens when all of
them are hidden (Kocijan et al. 2019). Both are sums over tokens. With the suffix "_per_token", they
are means. Kocijan et al. use the mean, `option_per_token`."""


@dataclass(frozen=True)
class Masked(LanguageSolver):
    """Scores each option with a masked language model (BERT, RoBERTa, ALBERT, ModernBERT, …).

    With `sees="pronoun"`, the original sentence is followed by "'She' refers to …", and the option
    in this text is scored (`models.ask_referent`).

    Attributes:
        kind: name of the score (see `MaskedScore`). For a sentence score, the model reads the
            sentence once per token. For an option score, it reads the sentence once.
        within_word: for sentence scores, whether each piece of a word is hidden together with the
            later pieces of the word (Kauf and Ivanova 2023, PLL-word-l2r).

    >>> Masked("FacebookAI/roberta-large", "option_per_token").within_word
    False
    """

    kind: MaskedScore = "sentence"
    within_word: bool = False

    kinds = MaskedScore
    parts = ("sentence", "option")

    @cached_property
    def _model(self) -> models.MaskedModel:
        return models.load_masked_model(self.model, device=self.device, dtype=self.dtype)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for signatures and headers."""
        return self._make_parameters("masked", score=self.kind, within_word=self.within_word)

    def _score_parts(self, problems: Sequence[Problem], parts: Sequence[str]) -> LanguageScores:
        asked = rewrite_as_referent_questions(problems, self.sees, ".")
        texts: list[list[models.MaskedText]] = []  # each for one option and one kind of score
        for part in parts:
            if part == "option":
                for own in models.mask_options(self._model, asked):
                    texts += [[text] for text in own]
            else:
                for rows in models.mask_tokens(self._model, asked, within_word=self.within_word):
                    texts += rows
        given = self._model.compute_likelihoods(
            [text for row in texts for text in row],
            tokens_per_batch=self.tokens_per_batch,
            on_progress=self.on_progress,
        )
        values = iter(given.values)
        joined = [np.concatenate([next(values) for _ in row]) for row in texts]
        return aggregate_scores(problems, parts, joined, given.tokens_fed, self.model)


SENTENCE_SEPARATOR = "\n\n"
"""The text between two sentences, as in lm-evaluation-harness."""


def make_prompt(
    problems: Sequence[Problem], count: int = 30, *, seed: int = 0, sees: Sees = "blank"
) -> str:
    r"""Return a prompt of random problems with the correct option filled in.

    The prompt is the same for all sentences, so it is read once. Draw it from problems that are not
    scored. EvoGrad (2024, section 4.1) uses 30 from the training set.

    Args:
        problems: problems to draw from. Those without an answer are skipped.
        count: number of problems.
        seed: random seed.
        sees: "blank", or "pronoun" to state the pronoun's referent in each example.

    Raises:
        DataError: too few problems have an answer, or a required pronoun is unknown.

    >>> make_prompt([Problem("1", "The cup hit the jug, so the _ broke.", ("cup", "jug"), 1)], 1)
    'The cup hit the jug, so the jug broke.\n\n'
    """
    drawn = sample_solved(problems, count, seed)
    return "".join(models.fill_answer(problem, sees) + SENTENCE_SEPARATOR for problem in drawn)


Combination = Literal["product", "vote"]
"""Methods of combining solvers. `product` is the sum of the solvers' scores. For log-likelihoods,
it is the logarithm of the product of the likelihoods (Trinh and Le 2018, section 4). `vote` is the
number of solvers that prefer the option. A solver's vote is split between tied options. To break
ties, `vote` also includes half the option's fraction of the product, scaled so that it has no other
effect."""


@dataclass(frozen=True)
class Ensemble:
    """Combines several solvers, such as the language models in Trinh and Le (2018, section 4).

    A product needs comparable scores, such as the same score of several language models. A vote
    works with any solvers.

    Attributes:
        solvers: the solvers, one or more.
        combine: method of combination (see `Combination`).

    >>> from winosmith.solve import Random
    >>> ensemble = Ensemble((Random(1), Random(2), Random(3)), "vote")
    >>> [scores] = ensemble.score([Problem("a", "A _ b.", ("x", "y"))])
    >>> [int(score) for score in scores]
    [2, 1]
    """

    solvers: tuple[Solver, ...]
    combine: Combination = "product"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for signatures and headers."""
        parts = [getattr(solver, "parameters", repr(solver)) for solver in self.solvers]
        parameters = {"solver": "ensemble", "combine": self.combine, "parts": parts}
        seen = {part.get("sees") if isinstance(part, dict) else None for part in parts}
        if None in seen:  # a third-party solver
            return parameters
        return {**parameters, "sees": "pronoun" if "pronoun" in seen else "blank"}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the combined score of each option.

        Raises:
            InputError: there is no solver, or the combination is unknown.
        """
        check_choice("combination", self.combine, Combination)
        if not self.solvers:
            raise InputError("an ensemble needs at least one solver")
        given = [solver.score(problems) for solver in self.solvers]
        scores = []
        for by_solver in zip(*given, strict=True):
            combined = np.array(by_solver, np.float64).sum(0)
            if self.combine == "vote":
                bests = [list(find_best_options(list(map(float, own)))) for own in by_solver]
                votes = np.zeros(len(combined))
                for best in bests:
                    votes[best] += 1 / len(best)
                step = 1 / np.lcm.reduce(list(map(len, bests)))  # the smallest difference of votes
                share = np.exp(combined - combined.max())
                combined = votes + step / 2 * share / share.sum()
            scores.append(tuple(map(float, combined)))
        return scores


@dataclass(frozen=True)
class EncoderSolver:
    """Scores each option with an encoder that was trained for multiple choice.

    Each option is filled in and scored separately. A model trained on two options therefore also
    solves problems with more options, like the models in WinoGrande's table 6 on the Pronoun
    Disambiguation Problems. The input has the same format as in training. Texts are batched by
    length. The model is loaded, or downloaded, by the first call of `score`.

    Attributes:
        model: a folder from `winosmith train` or `models.train_multiple_choice`, or its `model/`.
            It may also be the hub id or folder of another model with a multiple-choice head.
        how: the input format. The default is the format used in training or, if that is unknown, a
            split before the option.
        sees: "blank" or "pronoun", for a model without its own input format. A model trained with
            the other value is refused. The default is the value in `how`.
        device: a torch device ("cpu", "cuda:0"); by default the GPU if there is one.
        tokens_per_batch: number of tokens in a batch. The default depends on the device. A batch
            that does not fit into memory is halved.
        on_progress: called with the number of finished texts and the total number.

    >>> EncoderSolver("tuned").tokens_per_batch is None
    True
    """

    model: str | Path
    how: models.InputFormat | None = None
    sees: Sees | None = None
    device: str | None = None
    tokens_per_batch: int | None = None
    on_progress: models.OnProgress | None = field(default=None, compare=False)

    @cached_property
    def _model(self) -> models.ChoiceModel:
        return models.load_choice_model(self.model, input_format=self._format, device=self.device)

    @cached_property
    def _format(self) -> models.InputFormat:
        how = self.how or models.load_input_format(self.model)
        if how is None:
            return models.InputFormat(sees=self.sees or "blank")
        if self.sees not in (None, how.sees):
            raise InputError(
                f"{self.model} was trained with the {how.sees}, so its scores with the "
                f"{self.sees} are meaningless; train a model with "
                f"`winosmith train --sees {self.sees}` on problems whose pronouns are known, or "
                "omit `sees=`"
            )
        return how

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for signatures and headers."""
        model = models.digest_weights(models.find_model_folder(self.model))[:12]
        how = self._format
        parameters = {} if self.how is None else asdict(how)
        if how.local is not None:
            parameters["local"] = how.local
        return {"solver": "encoder", "model": model, **parameters, "sees": how.sees}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the score of each option.

        Raises:
            InputError: the model can't be loaded, was not trained for multiple choice, or was
                trained with another `sees`, or one text does not fit into memory.
            DataError: a required pronoun is unknown.
        """
        given = self._model.score_problems(
            problems, tokens_per_batch=self.tokens_per_batch, on_batch=self.on_progress
        )
        return [tuple(map(float, own)) for own in given]

    @property
    def judges_claims(self) -> bool:
        """Whether the model was trained on claims, so that its scores are log-odds."""
        return self._model.input_format.claims

    def judge(self, claims: Sequence[Claim]) -> list[float]:
        """Return the log-odds that each claim is true. The model must be trained on claims.

        Raises:
            InputError: see `score`, or the model was trained to choose between options.
        """
        if not self.judges_claims:
            raise InputError(f"{self.model} was not trained on claims; use a model that was")
        rows = self._model.make_inputs(list(map(models.convert_claim, claims)), options=1)
        given = self._model.score_inputs(
            rows, tokens_per_batch=self.tokens_per_batch, on_batch=self.on_progress
        )
        return [float(score) for score in given]
