"""The settings of a site, as its admin writes them into `site.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from winosmith.errors import RecipeError
from winosmith.solver_rule import SolverRule
from winosmith.web._models import BUILT_IN

Review = Literal["none", "flagged", "all"]
Signup = Literal["open", "invited"]


@dataclass(frozen=True, slots=True)
class SiteRules:
    """What a site asks of its people; the numbers are WinoGrande's where section 2 states them.

    Attributes:
        title: the name of the site, at the top of each page.
        contact: how to reach who runs it; shown with the consent text.
        licence: under which contributors give their sentences.
        language: in which the sentences are written, as browsers name it ("en", "de-AT"): pages in
            another language tell screen readers and spelling checks so.
        judges: how many distinct people judge a problem; odd, so that a majority exists.
        both_halves: one person may judge both halves of a twin. Off: whoever has seen one half
            reads the other as its opposite.
        local_first: the judge answers from the local context alone before reading the whole.
        wait_days: how long a half that was decided waits for the other half to be, so that a twin
            becomes public as a whole; 0 for not at all.
        lease_minutes: how long a problem waits for the judge who took it.
        local_before: the words before the blank that the local context shows.
        signup: "open", or "invited": accounts come by invitation alone.
        open_judging: everyone with an account may judge; off, a moderator makes people judges.
        review: what a moderator must let through before it is judged: "none", "flagged" (what the
            hints or an anonymous writer make worth a look), or "all".
        anonymous: people without an account may write; they never judge.
        gold_every: one problem in so many that a judge sees has a known answer; 0 for none.
        training_questions: with a known answer, before somebody's first vote; 0 for no training.
        training_right: of these, how many must be right; no more than there are.
        hold_pace_seconds: a judge's votes wait for a moderator when half of their last answers
            took less than this many seconds a problem; 0 switches it off.
        hold_pace_over: the last answers that this is taken over.
        hold_gold_percent: votes wait when fewer of a judge's last gold questions are right, in
            percent; 0 switches it off.
        hold_gold_over: the last gold questions that this is taken over.
        hold_accounts: votes wait when so many accounts of one address judge the same problem
            within an hour, and fewer of them are never a majority of its votes; 0 switches both
            off, as for a class behind one address.
        held_most: how many votes of one judge may wait for a moderator; they get no further
            problem beyond that.
        writes_per_hour: how much one person, or one network without an account, may write.
        answers_per_hour: how many judgements one person may give.
        retention_days: how long network digests, drafts and timings are kept.
        goal: how many valid problems the site wants, shown to contributors; 0 for none.
        topics: a folder of texts, a JSONL file or an https address; None for the topics that ship.
        words_to_flag: words that send a sentence to the moderators.
        perturbs_per_hour: how many perturbations one person, or one network without an account,
            may send.
        models: the models that perturbations are sent to; see `SolverRule`.
        model_seconds: how long a model may take for one problem before it is shown as too slow.

    Raises:
        RecipeError: a number out of its range, or an unknown word.
    """

    title: str = "Winosmith"
    contact: str = ""
    licence: str = "CC-BY-4.0"
    language: str = "en"
    judges: int = 3
    both_halves: bool = False
    local_first: bool = True
    wait_days: int = 14
    lease_minutes: int = 20
    local_before: int = 2
    signup: Signup = "open"
    open_judging: bool = True
    review: Review = "flagged"
    anonymous: bool = True
    gold_every: int = 10
    training_questions: int = 5
    training_right: int = 4
    hold_pace_seconds: int = 3
    hold_pace_over: int = 20
    hold_gold_percent: int = 70
    hold_gold_over: int = 10
    hold_accounts: int = 3
    held_most: int = 50
    writes_per_hour: int = 60
    answers_per_hour: int = 600
    retention_days: int = 90
    goal: int = 0
    topics: str | None = None
    words_to_flag: tuple[str, ...] = ()
    perturbs_per_hour: int = 120
    models: tuple[SolverRule, ...] = BUILT_IN
    model_seconds: int = 20

    def __post_init__(self) -> None:
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise RecipeError(f"{name} is a whole number from {least} to {most}, not {value!r}")
        if self.judges % 2 == 0:
            raise RecipeError(f"judges must be odd, so that a majority exists; not {self.judges}")
        if self.training_right > self.training_questions:
            raise RecipeError(
                f"training_right is {self.training_right}, more than the "
                f"{self.training_questions} of training_questions; nobody could pass"
            )
        if self.hold_accounts == 1:
            raise RecipeError("hold_accounts is 2 or more, or 0 to switch it off; not 1")
        for name, words in (("signup", get_args(Signup)), ("review", get_args(Review))):
            if getattr(self, name) not in words:
                raise RecipeError(
                    f"{name} is one of {', '.join(words)}; not {getattr(self, name)!r}"
                )
        for name in ("both_halves", "local_first", "open_judging", "anonymous"):
            if not isinstance(getattr(self, name), bool):
                raise RecipeError(f"{name} is true or false, not {getattr(self, name)!r}")
        if not isinstance(self.language, str) or not _LANGUAGE.fullmatch(self.language):
            raise RecipeError(f"language reads like en or de-AT, not {self.language!r}")
        names = [rule.name for rule in self.models]
        if twice := {name for name in names if names.count(name) > 1}:
            raise RecipeError(f"two models are named {min(twice)!r}; each needs its own name")

    @classmethod
    def read(cls, path: Path) -> SiteRules:
        """Return the settings of a TOML file; without a file, those that are built in.

        Raises:
            RecipeError: the file is no TOML, has an unknown key, or a value out of its range.
        """
        if not path.exists():
            return cls()
        try:
            found = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RecipeError(f"{path}: {error}; correct the file") from None
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(found) - known):
            raise RecipeError(
                f"{path}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}"
            )
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in found.items()
        }
        try:
            if "models" in values:
                values["models"] = _models(values["models"])
            return cls(**values)
        except RecipeError as error:
            raise RecipeError(f"{path}: {error}") from None


def _models(tables: Any) -> tuple[SolverRule, ...]:
    if not isinstance(tables, tuple):
        raise RecipeError("models is a list of tables, [[models]], or [] for none")
    rules = tuple(map(SolverRule.of, tables))
    for rule in rules:
        if rule.options.get("sees") == "pronoun":
            raise RecipeError(
                f"the solver {rule.name}: what people write on a site has a blank and no pronoun, "
                "so none can be seen; leave sees out"
            )
    return rules


_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
"""The forms of BCP 47 (RFC 5646, section 2.1) that name a living language."""

_RANGES = (
    ("judges", 1, 99),
    ("wait_days", 0, 3650),
    ("lease_minutes", 1, 24 * 60),
    ("local_before", 0, 50),
    ("gold_every", 0, 1000),
    ("training_questions", 0, 50),
    ("training_right", 0, 50),
    ("hold_pace_seconds", 0, 60),
    ("hold_pace_over", 5, 1000),
    ("hold_gold_percent", 0, 100),
    ("hold_gold_over", 5, 1000),
    ("hold_accounts", 0, 1000),
    ("held_most", 0, 1_000_000),
    ("writes_per_hour", 1, 1_000_000),
    ("answers_per_hour", 1, 1_000_000),
    ("retention_days", 1, 36_500),
    ("goal", 0, 1_000_000_000),
    ("perturbs_per_hour", 1, 1_000_000),
    ("model_seconds", 1, 3600),
)
