"""English to Chinese by a small grammar whose test sentences hold word pairs that training never shows together."""

import numpy as np

from transformer.tasks.grammar.chinese import CHARACTERS, chinese
from transformer.tasks.grammar.draw import draw
from transformer.tasks.grammar.english import WORDS, english
from transformer.tasks.grammar.held_out import has_unseen_pair, is_unseen_sentence
from transformer.tasks.grammar.reading import read
from transformer.tasks.task import Pair, Recipe, Task
from transformer.vocabulary import Vocabulary


def sample(rng: np.random.Generator) -> Pair:
    """Draw a training pair: no pair of its words is held out, and neither is the sentence."""
    while True:
        meaning = draw(rng)
        if not has_unseen_pair(meaning) and not is_unseen_sentence(source := english(meaning)):
            return Pair(tuple(source.split()), tuple(chinese(meaning)))


def draw_test_set(size: int, seed: int = 0) -> dict[str, list[Pair]]:
    """Draw `size` distinct sentences that hold an unseen word pair, and `size` that hold none but are fresh."""
    rng = np.random.default_rng(seed)
    unseen: dict[Pair, None] = {}
    fresh: dict[Pair, None] = {}
    while len(unseen) < size or len(fresh) < size:
        meaning = draw(rng)
        source = english(meaning)
        split = unseen if has_unseen_pair(meaning) else fresh if is_unseen_sentence(source) else None
        if split is not None and len(split) < size:
            split[Pair(tuple(source.split()), tuple(chinese(meaning)))] = None
    return {"unseen pairs": list(unseen), "seen pairs": list(fresh)}


TRANSLATE = Task(
    name="translate",
    title="English to Chinese: i love you . -> 我爱你。",
    source_vocabulary=Vocabulary(WORDS),
    target_vocabulary=Vocabulary(CHARACTERS),
    sample=sample,
    test_set=draw_test_set,
    test_size=1000,
    tokenize_source=read,
    render_source=" ".join,
    render_target="".join,
    example="i love you .",
    max_source_length=16,  # she does not want to draw those twenty two red bicycles in the park now .
    max_target_length=25,  # 他们今天早上在公园找到了我们的二十二辆旧自行车吗？
    recipe=Recipe(
        model={"d_model": 64, "heads": 4, "layers": 2, "d_ff": 256, "dropout": 0.0},
        training={"steps": 1000, "warmup": 200, "peak_rate": 3e-3, "label_smoothing": 0.1, "window": 8},
    ),
    goal=0.99,
    budget=100,
)
