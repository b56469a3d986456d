"""What must stay as it is, whatever the weights are, and what must not: each law with the first break that was seen."""

import math
from collections.abc import Callable, Iterator

import numpy as np

import minigrad as mg
from transformer.batching import Batch
from transformer.model import Transformer
from transformer.study.bugs import lesson
from transformer.study.bugs.witnesses.specimen import Array, logits, specimen, strings
from transformer.study.bugs.witnesses.verdict import Verdict
from transformer.study.figures import Words
from transformer.tasks.task import Pair
from transformer.vocabulary import PAD, SPECIALS

SAME = 1e-9  # further apart than this, numbers of size 1 are not the same
CHANGED = 1e-6

Law = Callable[[int], Words | None]
"""From a seed, by which the model and the strings are drawn, to how the law was broken; None if it holds."""


def invariances(seed: int) -> Verdict:
    """Every law in turn; the first that is broken is the evidence."""
    for law in LAWS:
        if broken := law(seed):
            return Verdict(True, broken)
    return Verdict(False, Words(f"{len(LAWS)} laws hold", f"{len(LAWS)} 条规律都成立"))


def repeatable(seed: int) -> Words | None:
    """Without a generator nothing is random."""
    model, batch = specimen(seed), lesson.batch_of(strings(seed))
    what = Words("the same sentence, asked twice, is answered differently", "同一句话问两遍，回答不同")
    return told(what, logits(model, batch), logits(model, batch))


def unforeseen(seed: int) -> Words | None:
    """The prediction of a word does not see it, nor what follows."""
    for place, before, after in target_words_changed(seed):
        until = slice(min(place + 1, len(before)))
        what = Words(
            f"word {place + 1} of the target changes what is predicted up to there",
            f"改变目标句第 {place + 1} 个词，到那里为止的预测也变了",
        )
        if broken := told(what, before[until], after[until]):
            return broken
    return None


def remembered(seed: int) -> Words | None:
    """The prediction of the end sees every word that was written before it."""
    for place, before, after in target_words_changed(seed):
        if np.abs(before - after)[-1].max() < CHANGED:
            return Words(
                f"word {place + 1} of the target is not seen when its end is predicted",
                f"预测句末时看不到目标句的第 {place + 1} 个词",
            )
    return None


def target_words_changed(seed: int) -> Iterator[tuple[int, Array, Array]]:
    """For each place of one target: the predictions for it, and those with another word at that place."""
    model, pairs = specimen(seed), strings(seed)
    longest = max(pairs, key=lambda pair: len(pair.target))
    before = logits(model, lesson.batch_of([longest, *pairs]))[0]
    for place in range(len(longest.target)):
        yield place, before, logits(model, lesson.batch_of([changed(longest, place), *pairs]))[0]


def source_read(seed: int) -> Words | None:
    """What is predicted depends on the source."""
    model, batch = specimen(seed), lesson.batch_of(strings(seed))
    other = Batch(batch.source[::-1], batch.target_in, batch.target_out)
    if np.abs(logits(model, batch) - logits(model, other)).max() < CHANGED:
        return Words("another source, and the same predictions", "换了源句，预测却不变")
    return None


def company_ignored(seed: int) -> Words | None:
    """A sentence alone, and beside others that are longer."""
    model, pairs = specimen(seed), strings(seed)
    together = logits(model, lesson.batch_of(pairs))
    what = Words("a sentence is answered differently alone and in a batch", "同一句话单独与在批次里，回答不同")
    for row, pair in enumerate(pairs):
        alone = logits(model, lesson.batch_of([pair]))[0]
        if broken := told(what, alone, together[row, : len(alone)]):
            return broken
    return None


def padding_ignored(seed: int) -> Words | None:
    """Padding on the left, on the right and between the words."""
    model, pair = specimen(seed), strings(seed)[0]
    batch = lesson.batch_of([pair])
    expected = logits(model, batch)[0]
    length, out = batch.source.shape[1], batch.target_in.shape[1]
    for side, chinese, source, target in (
        ("on the right", "右侧", np.arange(length), np.arange(out)),
        ("on the left", "左侧", np.arange(length) + 2, np.arange(out) + 2),
        ("between words", "词间", np.arange(length) + (np.arange(length) > 0), np.arange(out) + (np.arange(out) > 1)),
    ):
        padded = Batch(
            *(spread(ids, where) for ids, where in zip(arrays(batch), (source, target, target), strict=True))
        )
        what = Words(f"padding {side} changes the answer", f"{chinese}的填充改变了回答")
        if broken := told(what, expected, logits(model, padded)[0, target]):
            return broken
    return None


def nothing_seen(seed: int) -> Words | None:
    """A query that may see nothing gets 0."""
    model, batch = specimen(seed), lesson.batch_of(strings(seed)[:1])
    with mg.no_grad(), model.capture() as seen:
        model(np.full((1, 3), PAD), batch.target_in)
    z = seen["decoder.layers.0.cross_attention.z"].data
    return told(Words("a source of nothing but padding is read", "只有填充的源句也被读了"), np.zeros_like(z), z)


def loss_of_words(seed: int) -> Words | None:
    """The loss of a batch is that of its sentences, each weighted by its words."""
    model, pairs = specimen(seed), strings(seed)
    singles = [lesson.batch_of([pair]) for pair in pairs]
    with mg.no_grad():
        whole = lesson.loss_of(model, lesson.batch_of(pairs)).data
        each = np.array([lesson.loss_of(model, single).item() for single in singles])
    expected = np.average(each, weights=[single.tokens for single in singles])
    what = Words(
        f"a batch has the loss {whole:.3f}, its sentences {expected:.3f}",
        f"一个批次的损失是 {whole:.3f}，按其中各句算是 {expected:.3f}",
    )
    return told(what, expected, whole)


def order_read(seed: int) -> Words | None:
    """With positions the order of words matters to the encoder, without it does not."""
    source = lesson.batch_of(strings(seed)[:1]).source
    order = np.random.default_rng(seed).permutation(source.shape[1])[None]
    if (order == np.arange(source.shape[1])).all():
        order = order[:, ::-1]
    plain, placed = (specimen(seed, positions) for positions in ("none", "sinusoidal"))
    what = Words("without positions the encoder tells places apart", "没有位置编码，编码器却能区分位置")
    if broken := told(what, *reordered(plain, source, order)):
        return broken
    there, moved = reordered(placed, source, order)
    if np.abs(there - moved).max() > CHANGED:
        return None
    return Words("with positions the encoder does not tell places apart", "有位置编码，编码器却不能区分位置")


def reordered(model: Transformer, source: np.ndarray, order: np.ndarray) -> tuple[Array, Array]:
    """The encoder's output in another order, and that of the words in this order."""
    with mg.no_grad(), lesson.in_parts(model):
        return (
            np.take_along_axis(model.encode(source).data, order[..., None], 1),
            model.encode(np.take_along_axis(source, order, 1)).data,
        )


def cache_unseen(seed: int) -> Words | None:
    """Word by word with a cache, as all at once."""
    model, batch = specimen(seed), lesson.batch_of(strings(seed)[:1])
    expected = logits(model, batch)
    with mg.no_grad(), lesson.in_parts(model):
        memory, cache = model.encode(batch.source), model.new_cache()
        steps = [model.decode(word[:, None], memory, batch.source, cache).data for word in batch.target_in.T]
    what = Words("word by word with a cache the answer is another", "带缓存逐词解码，回答不同")
    return told(what, expected, np.concatenate(steps, axis=1))


def dropout_fair(seed: int) -> Words | None:
    """On average dropout leaves a number as it is."""
    mean = float(mg.nn.dropout(mg.Tensor(np.ones(40_000)), 0.25, np.random.default_rng(seed)).data.mean())
    if abs(mean - 1) < 0.02:
        return None
    return Words(f"dropout turns 1 into {mean:.2f} on average", f"随机丢弃平均把 1 变成 {mean:.2f}")


def first_loss(seed: int) -> Words | None:
    """A new model guesses: its loss is near ln V."""
    guess = math.log(len(lesson.VOCABULARY))
    with mg.no_grad():
        loss = lesson.loss_of(Transformer(lesson.CONFIG, rng=seed), lesson.batch_of(strings(seed, 24))).item()
    if 0.8 * guess < loss < 1.6 * guess:
        return None
    return Words(f"the first loss is {loss:.2f}, a guess's {guess:.2f}", f"最初的损失是 {loss:.2f}，乱猜是 {guess:.2f}")


LAWS: tuple[Law, ...] = (
    repeatable, unforeseen, remembered, source_read, company_ignored, padding_ignored, nothing_seen,
    loss_of_words, order_read, cache_unseen, dropout_fair, first_loss,
)  # fmt: skip


def told(what: Words, expected: Array, found: Array) -> Words | None:
    """What is broken and by how much, if the two are not the same."""
    difference = np.abs(expected - found).max()
    if difference <= SAME:
        return None
    return Words(f"{what.en} (by {difference:.2g})", f"{what.zh}（相差 {difference:.2g}）")


def changed(pair: Pair, place: int) -> Pair:
    """Another letter at one place of the target."""
    letters = lesson.VOCABULARY.tokens[len(SPECIALS) :]
    other = letters[(letters.index(pair.target[place]) + 1) % len(letters)]
    return Pair(pair.source, (*pair.target[:place], other, *pair.target[place + 1 :]))


def arrays(batch: Batch) -> tuple[np.ndarray, ...]:
    """Its three arrays."""
    return batch.source, batch.target_in, batch.target_out


def spread(ids: np.ndarray, where: np.ndarray) -> np.ndarray:
    """One row with its words in these columns and padding in the others, two more than it needs at the end."""
    row = np.full((1, int(where[-1]) + 3), PAD)
    row[:, where] = ids
    return row
