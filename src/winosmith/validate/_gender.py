"""Find the gender of people's names and nouns, for the rule on social twins.

The lists were written for winosmith: common English given names of one gender, and words for
people. Names that both genders have (Alex, Sam, Jordan) are not listed, so their gender is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from winosmith.problem import Problem

Gender = Literal["female", "male"]

_FEMALE = frozenset(
    """aaliyah abigail ada adelaide adele adriana agatha agnes aiko aisha alexandra alice alicia
    alison allison alma alyssa amanda amber amelia amina amy ana anastasia angela angelica
    angelina anita anjali ann anna annabelle anne anneliese annette annie annika antonia april
    ariana astrid aubrey audrey aurora ava barbara beatrice beatrix becky bella berit bernadette
    bernice bertha beth bethany betsy betty beverly bianca bonnie brenda brianna bridget brigitte
    brittany brooke caitlin camila camille candace carla carmen carol carole caroline carolyn
    carrie cassandra cassie catherine cathy cecilia celeste celia charlotte chelsea cheryl chiara
    chloe christina christine cindy claire clara clarissa claudia colleen connie constance cora
    cordelia cristina crystal cynthia daisy daniela danielle daphne darlene deanna debbie deborah
    debra deepa deirdre delia denise diana diane dolores donna dora doreen doris dorothy edith
    edna eileen elaine eleanor elena elisa elise eliza elizabeth ella ellen eloise elsa elsie
    emilia emily emma erica erika erin esmeralda estelle esther ethel eugenia eva evangeline eve
    evelyn faith fatima faye felicia felicity fiona flora florence freya gabriela gabrielle gail
    gemma genevieve georgia georgina geraldine gertrude gina ginger gisela giulia gladys glenda
    gloria greta gwen gwendolyn hailey hannah harriet hazel heather heidi helen helena helene
    helga henrietta hilda holly ida imogen ines ingrid irene irina iris irma isabel isabella
    isabelle ivy jacqueline jane janet janice janine jasmine jeanette jenna jennifer jenny
    jessica jill joanna joanne josephine joy joyce juanita judith judy julia juliana julie juliet
    june karen karla katarina kate katherine kathleen kathryn kathy katie katrina kayla keiko
    khadija kimberly kirsten kristen kristin kristina kristy lakshmi lara laura laurie laverne
    layla leah leila lena leona leticia lila lilian lillian lily linda lisa liz liza lois lola
    lorena lorraine louisa louise lucia lucille lucinda lucy ludmila luisa lydia lynette mabel
    madeleine madeline maggie mandy marcella marcia margaret margarita margit margot maria mariah
    mariam mariana marianne marie marilyn marisol marjorie marlene marsha marta martha martina
    mary matilda maud maureen maxine maya megan mei melanie melinda melissa melody mercedes
    meredith mia michelle mildred mindy minnie miranda miriam misty molly mona monica muriel myra
    myrtle nadia nadine nancy naomi natalia natalie natasha nellie nicole nina nora norma octavia
    odessa olga olive olivia opal ophelia ottilie pamela patricia patsy patti paula pauline pearl
    peggy penelope penny petra phoebe phyllis pilar polly priscilla priya rachael rachel ramona
    raquel rebecca regina renata renate rhonda rita roberta rosa rosalie rosalind rosalyn rose
    rosemary rosie roxanne ruby ruth sabrina sadie sally salome samantha sandra sara sarah selena
    selma serena sharon sheila shelley sherri sherry shirley silvia simone sonia sonja sonya
    sophia sophie stella stephanie sue sunita susan susanna susie suzanne svetlana sybil sylvia
    tabitha tamara tammy tanya tara tatiana teresa teri tess tessa thelma theresa tiffany tina
    toni tracey tricia trisha trude ulrike uma ursula valerie vanessa vera veronica victoria
    viola violet virginia viviana wanda wendy wilhelmina wilma winifred yasmin yolanda yuki
    yvette yvonne zainab zelda zoe zuzana""".split()
)

_MALE = frozenset(
    """aaron abdul abraham adam adolf adrian ahmed alan albert alberto alejandro aleksandr
    alexander alfonso alfred alfredo ali allan allen alonzo alvin amir anders andre andreas
    andres andrew andy angelo anthony antonio archibald arjun armando arnold arthur arturo ben
    benedict benjamin bernard bert bill bob boris brad bradley brandon brendan brent brett brian
    bruce bruno bryan bryce caleb calvin carl carlos carlton cecil cedric cesar chad charles
    chester christian christopher clarence clark claude clayton clifford clifton clinton clive
    clyde cody colin conrad craig curtis cyril cyrus damien damon dan daniel danny dario darrell
    darren darryl dave david dean dennis derek derrick desmond dexter diego dieter dimitri dirk
    dmitri dominic don donald doug douglas duane duncan dustin dwayne dwight earl ed eddie edgar
    edmund eduardo edward edwin eli elias elijah elliot elmer emil emilio emmanuel enrique eric
    erich erik ernest ernesto ethan eugene evan everett felipe felix ferdinand fergus fernando
    floyd forrest francisco frank franklin fred freddie frederick gabriel garrett garry gary
    gavin geoffrey george gerald gerard gilbert giovanni giuseppe glen gordon graham grant greg
    gregory guillermo gunther gus gustav gustavo guy hamish hans harold harry harvey hassan
    hector heinrich henrik henry herbert herman hiroshi homer horace howard hubert hugh hugo
    humphrey ian ibrahim ignacio igor ike ingvar irving isaac ivan jack jackson jacob jaime jake
    jakub jamal james jared jason javier jay jeff jeffery jeffrey jeremiah jeremy jerome jerry
    jim jimmy joaquin joe joel john johnny jon jonas jonathan jorge jose joseph joshua juan
    julian julio julius justin jürgen karl keith ken kenji kenneth kenny kevin khalid kirk klaus
    konrad kurt kyle lance larry lars lawrence leander leif leo leon leonard leopold leroy lester
    lewis lionel lloyd lorcan lorenzo louis luca lucas ludwig luis luke luther lyle magnus
    malcolm manuel marc marco marcos marcus mario mark marshall martin marvin matt matteo matthew
    maurice max maximilian melvin michael miguel mike mikhail miles milton mitchell mohamed
    mohammad mohammed morris moses muhammad mustafa nathan nathaniel neal ned neil nelson neville
    nicholas nick nicolas nigel noah norman oliver omar orlando orville oscar otis otto owen
    pablo paolo patrick paul pavel pedro percy pete peter phil philip phillip pierre preston
    pyotr quentin rafael rajesh ralph ramiro ramon randall raoul raphael raul ravi ray raymond
    reginald rex ricardo richard rick ricky rob robert roberto rod roderick rodney rodrigo roger
    roland rolf roman ron ronald ross roy ruben rudolph rufus rupert russell ryan salvador
    salvatore samuel sanjay santiago saul scott sean sebastian sergei sergio seth shane shaun
    shawn sheldon sherman sidney silas simon spencer stan stanley stefan stefano stephen steve
    steven stewart stuart sven tad takashi ted terrence thaddeus theodore thomas tim timothy
    tobias todd tom tomas tomasz tommy travis trevor tristan troy tyler tyrone ulrich vernon
    victor vikram viktor vincent vladimir wade wallace walter warren wayne wendell wesley wilbur
    wilfred will willard william winston wolfgang xavier yusuf zachary zdenek""".split()
)

_FEMALE_WORDS = frozenset(
    """actress aunt aunts bride daughter daughters duchess girl girlfriend girls goddess
    granddaughter grandma grandmother heiress her herself hostess ladies lady landlady miss
    mistress mom mother mothers mrs ms mum niece nun policewoman princess queen queens saleswoman
    she sister sisters stepdaughter stepmother stepsister waitress widow wife witch wives woman
    women""".split()
)

_MALE_WORDS = frozenset(
    """boy boyfriend boys brother brothers dad duke father fathers gentleman gentlemen
    grandfather grandpa grandson groom guy he him himself his husband husbands king kings
    landlord man men monk mr nephew nephews policeman priest prince salesman sir son sons
    stepbrother stepfather stepson uncle uncles waiter widower wizard""".split()
)

_PRONOUN_GENDERS: dict[str, Gender] = {
    **dict.fromkeys(("she", "her", "hers", "herself"), "female"),
    **dict.fromkeys(("he", "him", "his", "himself"), "male"),
}

_POSSESSIVES = frozenset("his her hers".split())
"""Possessive pronouns, which show the owner's gender, not the person's: "her brother"."""


def find_gender(option: str) -> Gender | None:
    """Return the gender that an option's words show; None if they show neither gender, or both.

    >>> [find_gender(option) for option in ("Robert", "the old queen", "Alex", "her brother")]
    ['male', 'female', None, 'male']
    """
    words = [word.strip(".,'’").removesuffix("'s").removesuffix("’s") for word in option.split()]
    found: set[Gender] = set()
    for word in words:
        small = word.lower()
        if small in _POSSESSIVES:
            continue
        is_name = word[:1].isupper()
        if small in _FEMALE_WORDS or (is_name and small in _FEMALE):
            found.add("female")
        if small in _MALE_WORDS or (is_name and small in _MALE):
            found.add("male")
    return found.pop() if len(found) == 1 else None


def explain_gender_mismatch(problem: Problem, halves: Sequence[Problem]) -> str | None:
    """Return an explanation if the two people of a social problem differ in gender, otherwise "".

    A person's gender is shown by the name or noun, and by the pronoun in a half whose answer is
    this person. Return None if the gender of a person is unknown or contradictory.
    """
    if len(problem.options) != 2:
        return None
    genders = []
    for option in problem.options:
        found = {find_gender(option)}
        found |= {
            _PRONOUN_GENDERS.get((half.pronoun or "").lower())  # the pronoun stands for the answer
            for half in halves
            if half.answer is not None
            and half.options[half.answer].strip().casefold() == option.strip().casefold()
        }
        found.discard(None)
        if len(found) != 1:
            return None
        genders.append(found.pop())
    (one, other), (first, second) = problem.options, genders
    if first == second:
        return ""
    both = f"{one!r} is {first} and {other!r} is {second}"
    return f"{both}; two people of the same gender are required"
