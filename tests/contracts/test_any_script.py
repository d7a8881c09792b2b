"""Engines that read words find artifacts in scripts other than Latin."""

from collections.abc import Callable

import numpy as np
import pytest

from winosmith import Dataset, Problem, debias, solve
from winosmith.embed import Embedder, HashedEmbedder, LightEmbedder, OptionsEmbedder

TWINS = 240

NOUNS = {
    "Japanese": "茶碗 急須 机 椅子 本 箱 鞄 帽子 時計 カメラ ナイフ スプーン コート シャツ 鏡 石",
    "Chinese": "杯子 盘子 桌子 椅子 书 箱子 书包 帽子 手表 相机 刀 勺子 外套 衬衫 镜子 石头",
    "Russian": "чашка тарелка книга коробка сумка шапка ложка куртка рубашка лампа ваза подушка",
    "Korean": "그릇 주전자 책상 의자 공책 상자 가방 모자 시계 카메라 숟가락 외투 거울 돌멩이",
}
WHO = {
    "Japanese": "健太 花子 太郎 ユミ ケン 直美",
    "Chinese": "小明 小红 李华 王芳 张伟 小丽",
    "Russian": "Иван Пётр Сергей Олег Антон Борис",
    "Korean": "민수 지영 철수 영희 현우 수진",
}
FRAMES = {
    "Japanese": [
        ("{who}は{A}を{B}に入れられなかった。_が{t}からだ。", "大きすぎた", "小さすぎた"),
        ("{who}は{A}より{B}を選んだ。_の方が{t}と思ったからだ。", "安い", "高い"),
        ("{A}が{B}にぶつかった時、_は{t}。", "壊れてしまった", "無事だった"),
    ],
    "Chinese": [
        ("{who}没能把{A}放进{B}里，因为_{t}。", "太大了", "太小了"),
        ("{who}没有买{A}而是买了{B}，因为_{t}。", "比较便宜", "比较贵"),
        ("{A}撞到{B}的时候，_{t}。", "摔碎了", "没有坏"),
    ],
    "Russian": [  # both mentions are inflected, so neither is written like its option
        ("{who} положил {A} на {B}, хотя видел, что _ слишком {t}.", "большая", "маленькая"),
        ("{who} купил {A}, а не {B}, потому что _ {t}.", "дешевле", "дороже"),
        ("{who} уронил {A} на {B}, и _ {t}.", "разбилась", "уцелела"),
    ],
    "Korean": [
        ("{who}는 {A}를 {B}에 넣지 못했다. _가 {t} 때문이다.", "너무 컸기", "너무 작았기"),
        ("{who}는 {A}보다 {B}를 골랐다. _가 {t} 생각했기 때문이다.", "싸다고", "비싸다고"),
        ("{A}가 {B}에 부딪혔을 때 _는 {t}.", "깨졌다", "멀쩡했다"),
    ],
}
LANGUAGES = tuple(FRAMES)


def make_templated_twins(language: str, planted: float) -> Dataset:
    """Return twins made from a few templates.

    In a fraction `planted` of them, the option mentioned first is the answer with the first
    trigger. In the others, the answer is random.
    """
    rng = np.random.default_rng(1)
    nouns, who, frames = NOUNS[language].split(), WHO[language].split(), FRAMES[language]
    made = []
    for number in range(TWINS):
        frame, *triggers = frames[rng.integers(len(frames))]
        pair = [str(noun) for noun in rng.choice(nouns, 2, replace=False)]
        mentioned = pair
        if language == "Russian":
            mentioned = [f"{noun[:-1]}у" for noun in pair]
        first = int(rng.integers(2)) if rng.random() >= planted else 0
        turned = int(rng.integers(2))
        name = rng.choice(who)
        for half, trigger in enumerate(triggers):
            text = frame.format(A=mentioned[0], B=mentioned[1], who=name, t=trigger)
            options = (pair[turned], pair[1 - turned])
            answer = first ^ half ^ turned
            made.append(Problem(f"{number}-{half}", text, options, answer, str(number)))
    return Dataset(made, language)


def measure_vectors(pool: Dataset, embedder: Embedder) -> float:
    """Return the cross-validated accuracy of a linear model on an embedder's vectors."""
    labels = debias.get_problem_labels(pool)
    return debias.probe(embedder.embed(pool), labels, pool.groups).accuracy


def measure_word_association(pool: Dataset) -> float:
    """Return its accuracy on the second half of the data, after training on the first."""
    half = len(pool) // 2
    solver = solve.WordAssociation.trained_on(pool[:half], smoothing=1)
    scores = zip(solver.score(pool[half:]), pool.answers[half:], strict=True)
    return float(np.mean([0.5 + 0.5 * np.sign(one[key] - one[1 - key]) for one, key in scores]))


def measure_clues(pool: Dataset) -> float:
    """Return the fraction of problems whose strongest clue points to the answer.

    A problem without a clue counts one half.
    """
    leads = debias.find_associations(pool).count_clue_directions(range(len(pool)))
    return 0.5 + 0.5 * (leads.toward - leads.away) / leads.problems


def measure_pmi_removals(pool: Dataset) -> float:
    """Return the fraction of problems removed by PMI filtering that have the planted agreement."""
    removed = set(debias.pmi(pool, size=len(pool) // 2).removed.tolist())
    agree = []
    for row in removed:
        key = pool[row].options[pool.answers[row]]
        first = pool[row].options[find_first_mentioned(pool[row])]
        agree.append((key == first) == pool.ids[row].endswith("-0"))
    return float(np.mean(agree))


def find_first_mentioned(problem: Problem) -> int:
    """Return the index of the option that is mentioned first."""
    places = [problem.sentence.find(option[:2]) for option in problem.options]
    return int(places[1] < places[0])


ENGINES: dict[str, Callable[[Dataset], float]] = {
    "light": lambda pool: measure_vectors(pool, LightEmbedder(dimensions=128)),
    "hashed": lambda pool: measure_vectors(pool, HashedEmbedder(dimensions=256)),
    "association": measure_word_association,
    "clues": measure_clues,
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("engine", ENGINES)
def test_only_planted_artifacts_are_found_in_any_script(engine, language):
    """Twins with random answers are within three standard errors of chance."""
    assert ENGINES[engine](make_templated_twins(language, 0.8)) > 0.7
    assert ENGINES[engine](make_templated_twins(language, 0.0)) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_pmi_removes_problems_with_the_planted_agreement(language):
    """Without PMI, one half of the removed problems would have it."""
    assert measure_pmi_removals(make_templated_twins(language, 0.5)) > 0.9


def test_options_without_spaces_are_similar_if_they_share_words():
    X = OptionsEmbedder(4096).embed_texts(["红色的茶杯", "绿色的茶杯", "一本旧书"])
    assert X[0] @ X[1] > 0.5 > 0.1 > abs(X[0] @ X[2])
