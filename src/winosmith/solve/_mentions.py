"""Find the mentions next to a predicate, their roles, and the possible referents of pronouns.

There is no parser. Only the form of words is used: the number, gender and animacy of pronouns, and
the auxiliary and participle of a passive. The noun lists were compiled for winosmith. A noun that
is in no list may be a person or a thing, so it may be the referent of either kind of pronoun.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from winosmith.text import FUNCTION_WORDS
from winosmith.validate import find_gender

_GROUPS = {
    "he": "he him his himself",
    "she": "she her hers herself",
    "it": "it its itself",
    "they": "they them their theirs themselves",
    "i": "i me my mine myself",
    "we": "we us our ours ourselves",
    "you": "you your yours yourself yourselves",
}

PRONOUNS = {form: group for group, forms in _GROUPS.items() for form in forms.split()}
"""Maps each form of a personal pronoun to its group."""

POSSESSIVES = frozenset("my your his her its our their".split())
"""The possessive forms used before a noun. "his" and "her" are also used without a noun."""

_BOUNDARIES = frozenset(
    """although and as because before but if or since so that though unless until when whereas
    which while who after""".split()
)
"""Words that begin a clause."""

_BE = frozenset("am are be been being is was were 're 'm".split())
"""Forms of "be" except "'s", which just as often means "has"."""

_GET = frozenset("get gets got gotten getting".split())

_LINKING = frozenset(
    """become becomes became becoming feel feels felt feeling look looks looked looking remain
    remains remained remaining seem seems seemed seeming stay stays stayed staying appear appears
    appeared appearing""".split()
)

_AUXILIARIES = _BE | _GET | _LINKING
"""Verbs after which a participle refers to the subject (Quirk et al. 1985, 3.63–3.67)."""

_PARTICIPLES = frozenset(
    """beat bent bet bit blown born bought bound bred brought built burnt burst cast caught chosen
    cost cut dealt done drawn driven drunk dug eaten fed felt flown forbidden forgotten forgiven
    fought found frozen given gone grown heard held hidden hit hung hurt kept knit known laid led
    left lent let lit lost made meant met paid put quit read rung run said seen sent set shaken shot
    shown shut slain sold spent split spread spun stolen struck stuck stung sung sunk swept sworn
    swum swung taken taught thought thrown told torn understood upset won worn wound woven wrung
    written""".split()
)
"""Irregular participles of common verbs that end neither in -ed nor in -en."""

_ADVERBS = frozenset(
    """almost already also always away back badly early fast hard late long much never not n't now
    often perhaps quite rather really seldom sometimes soon still then today together tomorrow
    tonight twice well yesterday yet""".split()
)

_NOUNS_IN_LY = frozenset(
    """ally anomaly assembly belly bully butterfly dolly family fly folly gully homily jelly lily
    melancholy monopoly panoply reply rally supply tally""".split()
)

_MANNER = frozenset(
    """accident air boat bus car chance day default definition design ear email far fire foot force
    habit hand heart instinct land law letter luck mail midnight mistake morning name nature night
    noon now phone plane post rail reason request rote sea sight surprise then train turns
    virtue weight""".split()
)
"""Nouns that do not name an agent after "by": "chipped by hand"."""

_PLURALS = frozenset(
    """cattle children clothes feet geese mice oxen people police teeth they we""".split()
)

_SINGULARS_IN_S = frozenset("gas lens mathematics news physics series species".split())

_PEOPLE = frozenset(
    """accountant actor adult agent artist assistant athlete attendant aunt author baby
    baker banker barber bartender boss boy bride brother builder butcher captain carpenter
    cashier chef chief child citizen clerk client coach colleague composer cook councillor
    councilman cousin criminal customer dancer daughter dentist designer detective director
    doctor driver editor electrician employee employer enemy engineer expert farmer father
    fighter fisherman friend gardener girl governor grandfather grandmother groom guard
    guest guide hairdresser hero host hunter husband infant inspector instructor
    investigator janitor journalist judge king lady landlord lawyer leader librarian
    machinist maid manager mayor mechanic merchant minister mother musician neighbor
    neighbour nephew niece nurse officer owner painter paramedic parent partner passenger
    patient pharmacist photographer physician pianist pilot plumber poet policeman
    politician president priest prince princess prisoner professor programmer psychologist
    pupil queen receptionist referee reporter sailor salesperson scientist secretary senator
    sergeant servant sheriff singer sister soldier son spectator spy stranger student
    supervisor surgeon swimmer tailor teacher teenager tenant thief tourist trainer
    traveller uncle veterinarian victim visitor waiter waitress wife winner witness woman
    worker writer""".split()
)

_THINGS = frozenset(
    """apple arrow axe bag ball balloon bandage bank banner barrel basket bath bed bell belt
    bench bicycle bike blade blanket block board boat bolt book boot bottle bowl box
    bracelet branch bread brick bridge broom brush bucket building bus button cabin cabinet
    cable cage cake camera candle car card carpet cart case castle cave ceiling chain chair
    chest church cliff clock cloth coat coffee coin computer container cookie couch counter
    crane crate cup cupboard curtain cushion desk dish door drawer dress drill drum engine
    envelope fabric fence fire flag flashlight floor flower fork furniture game garage
    garden gate gift glass glove glue grass hammer handle hat heater helmet hose house ice
    iron jacket jar jug kettle key keyboard kite knife knot ladder lake lamp lawn leaf lens
    letter lid light lock machine mail map mat match meal medicine mirror money motor
    mountain mug nail necklace needle net newspaper oven package page paint pan paper park
    path pen pencil phone piano picture pillow pipe plane plant plate pocket poster pot
    present purse radio raft rail river road rock roof room rope rug sand saw scale scarf
    screen screw seat shelf shell ship shirt shoe shovel sign sink skirt snow soap sock sofa
    soup spoon stage stairs statue stick stone store stove street string suitcase sun
    sweater sword table tank tape tea telephone television tent tie tile tire tool towel
    tower toy train tray tree trophy truck tube umbrella van vase violin wagon wall wallet
    watch water wheel window wire wood yarn""".split()
)

_GENDERS = {"he": "male", "she": "female"}


class Roles(NamedTuple):
    """A predicate's agent and patient, each None if it is omitted, as in "and was weak"."""

    agent: str | None
    patient: str | None


def find_roles(
    words: Sequence[str], predicate: slice, *, start: int = 0, skip: frozenset[str] = frozenset()
) -> Roles:
    """Return the agent and the patient of a predicate, which are swapped in the passive.

    The search for the subject begins at the position `start`, and skips words with the stems in
    `skip`.

    >>> cut = "The bowl got badly chipped by hand .".split()
    >>> find_roles(cut, slice(4, 5))
    Roles(agent=None, patient='bowl')
    """
    auxiliary = find_passive_auxiliary(words, predicate)
    if auxiliary is None:
        subject = _find_subject(words, predicate.start, start, skip)
        return Roles(subject, _find_object(words, predicate.stop))
    by = _find_agent_marker(words, predicate.stop)
    agent = None if by is None else _find_object(words, by + 1)
    return Roles(agent, _find_subject(words, auxiliary, start, skip))


def find_passive_auxiliary(words: Sequence[str], predicate: slice) -> int | None:
    """Return the position of a passive's auxiliary ("was (not badly) chipped"), or None."""
    for at in range(predicate.start, min(predicate.stop, len(words))):
        token = words[at].lower()
        if token not in _PARTICIPLES and not token.endswith(("ed", "en")):
            continue
        back = at - 1
        while back >= 0 and is_adverb(words[back]):
            back -= 1
        if back >= 0 and words[back].lower() in _AUXILIARIES:
            return back
    return None


def _find_agent_marker(words: Sequence[str], start: int) -> int | None:
    for at in range(start, len(words) - 1):
        if is_boundary(words[at]):
            return None
        if words[at].lower() == "by":
            following = words[at + 1].lower()
            other = following in _MANNER or following.endswith(("ing", "self", "selves"))
            return None if other or following[0].isdigit() else at
    return None


def is_adverb(token: str) -> bool:
    if token in _ADVERBS:
        return True
    return token.islower() and token.endswith("ly") and token not in _NOUNS_IN_LY


def _find_subject(words: Sequence[str], index: int, start: int, skip: frozenset[str]) -> str | None:
    for token in reversed(words[start:index]):
        lowered = token.lower()
        if lowered in PRONOUNS:
            return token
        if is_boundary(token) and lowered != "so":
            break
        passed = lowered in FUNCTION_WORDS or lowered in _AUXILIARIES or is_adverb(token)
        if not passed and stem(token) not in skip:
            return token
    return None


def _find_object(words: Sequence[str], index: int) -> str | None:
    head = None
    for at in range(index, len(words)):
        lowered = words[at].lower()
        if is_boundary(words[at]) or (head and (lowered in FUNCTION_WORDS or is_adverb(words[at]))):
            break
        if lowered in PRONOUNS and not _is_possessive(words, at):
            return words[at]
        if lowered not in FUNCTION_WORDS and not is_adverb(words[at]):
            head = words[at]
    return head


def _is_possessive(words: Sequence[str], index: int) -> bool:
    following = words[index + 1] if index + 1 < len(words) else "."
    alone = is_boundary(following) or following.lower() in FUNCTION_WORDS or is_adverb(following)
    return words[index].lower() in POSSESSIVES and not alone


def is_same_noun(first: str | None, second: str | None) -> bool:
    if first is None or second is None or PRONOUNS.keys() & {first.lower(), second.lower()}:
        return False
    return stem(first) == stem(second)


def may_corefer(first: str | None, second: str | None) -> bool:
    """Return whether one mention is a pronoun whose form lets it refer to the other."""
    if first is None or second is None:
        return False
    mine, theirs = PRONOUNS.get(first.lower()), PRONOUNS.get(second.lower())
    if mine and theirs:
        return mine == theirs
    if mine:
        return _may_refer(mine, second)
    return theirs is not None and _may_refer(theirs, first)


def _may_refer(pronoun_group: str, noun: str) -> bool:
    """Return whether a pronoun may refer to a noun, by number, gender and animacy.

    >>> [_may_refer("she", noun) for noun in ("box", "nurse", "Robert", "queen", "hamster")]
    [False, True, False, True, True]
    >>> [_may_refer("it", noun) for noun in ("box", "nurse", "Robert", "boxes", "hamster")]
    [True, False, False, False, True]
    """
    if pronoun_group == "they":
        return is_plural(noun)
    if pronoun_group not in ("it", *_GENDERS) or is_plural(noun):
        return False
    gender, lowered = find_gender(noun), noun.lower()
    is_person = lowered in _PEOPLE or lowered.endswith(("man", "woman", "person")) or bool(gender)
    if pronoun_group == "it":
        return not is_person and noun.islower()
    return (is_person or lowered not in _THINGS) and gender in (None, _GENDERS[pronoun_group])


def is_boundary(token: str) -> bool:
    return token.lower() in _BOUNDARIES or not any(map(str.isalnum, token))


def is_plural(token: str) -> bool:
    """Return whether a noun looks like a plural. Names never do.

    >>> [is_plural(noun) for noun in ("bulls", "men", "James", "glass", "lens")]
    [True, True, False, False, False]
    """
    if not token.islower():
        return False
    if token in _PLURALS or token.endswith("men"):
        return True
    return (
        token.endswith("s")
        and token not in _SINGULARS_IN_S
        and not token.endswith(("ss", "us", "'s"))
    )


def stem(word: str) -> str:
    """Return the stem of a word, roughly as Porter (1980) does.

    >>> {stem(word) for word in ("refuse", "refuses", "refused", "refusing")}
    {'refus'}
    >>> [stem(word) for word in ("carried", "carry", "stopped", "stop", "glass", "so")]
    ['carri', 'carri', 'stop', 'stop', 'glass', 'so']
    """
    word = word.lower().removesuffix("'s")
    for ending in ("ing", "ed", "s"):
        root = word.removesuffix(ending)
        if root == word or len(root) < 3 or len(word) < 4 or (ending == "s" and root.endswith("s")):
            continue
        doubled = ending != "s" and root[-1] == root[-2] and root[-1] not in "lsz"
        word = root[:-1] if doubled else root  # "stop" for "stopp", but "fall"
        break
    word = word.removesuffix("e") if len(word) > 3 else word
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 else word
