"""A report card of every attention head: what it looks at, how surely, and what the loss says when it is taken away.

Shapes: B batch, T_q / T_k lengths, A attentions, H heads of each, D_h a head's width.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.masks import Mask, decoder_mask, padding_mask
from transformer.model import Transformer
from transformer.positions import places_of
from transformer.study.figures import Bars, Grid, Label, Table, Words
from transformer.study.figures.words import number
from transformer.study.trace import COPIES, Array, Trace, losses_of_copies, traced
from transformer.vocabulary import PAD

Role = Literal["previous", "same", "mirror", "first"]
Measure = Literal["entropy", "attribution", "foretold", "ablated"]

ROLES: dict[Role, Words] = {
    "previous": Words("previous token", "前一个词"),
    "same": Words("same position", "同一位置"),
    "mirror": Words("mirror position", "镜像位置"),
    "first": Words("first token", "第一个词"),
}
MEASURES: dict[Measure, Words] = {
    "entropy": Words("entropy", "熵"),
    "attribution": Words("Σ |P · dP|", "Σ |P · dP|"),
    "foretold": Words("loss change foretold, −Σ z · dz", "预言的损失变化 −Σ z · dz"),
    "ablated": Words("true loss change without the head", "去掉这个头后真实的损失变化"),
}


class Head(NamedTuple):
    """A head: its attention's path ("encoder.layers.0.self_attention") and its number, from 0."""

    attention: str
    number: int


@dataclass(frozen=True, eq=False)
class Heads:
    """The report cards. Numbers of heads are (A, H), in the order of `attentions`; of uniform attention (A,).

    roles: the weight that a head lays on the key of a role, the mean over the words whose query may see such a key:
        previous, the word before; same, the word at the query's own place; mirror, place T_k - 1 - t for place t, as
        reversing needs; first, the first word. NaN where no query has one. Places count words, never padding.
    entropy: -sum_k P_k log P_k in nats, the mean over words.
    uniform_roles, uniform_entropy: what attention that is equal over all keys that may be seen would have.
    attribution: sum over all cells of |P dP|, attention times gradient. Source: Hao et al. 2021, "Self-Attention
        Attribution", with the gradient at P in place of its mean from 0 to P.
    foretold: -sum z dz, the first-order estimate of how the loss changes when the head's output z becomes 0. It is
        -sum P dP too, since z = P V and dP = dz V^T; so attribution is at least its magnitude. Source: Michel et al.
        2019, "Are Sixteen Heads Really Better than One?", section 4.1, which takes its magnitude, row by row.
    ablated: how the loss does change. loss: the mean cross-entropy of the batch's words, with all heads.
    """

    attentions: tuple[str, ...]
    roles: dict[Role, Array]
    uniform_roles: dict[Role, Array]
    entropy: Array
    uniform_entropy: Array
    attribution: Array
    foretold: Array
    ablated: Array
    loss: float

    @property
    def correlation(self) -> float:
        """Pearson's, of the change that was foretold and the true one, over all heads; NaN where either is constant."""
        return correlation(self.foretold, self.ablated)

    def best(self, role: Role) -> Head:
        """The head that is most above uniform attention in a role. Raises ValueError where no query has such a key."""
        above = self.roles[role] - self.uniform_roles[role][:, None]
        if np.isnan(above).all():
            raise ValueError(f"no query may see a key in the role {role!r}; give longer sentences")
        attention, number = np.unravel_index(np.nanargmax(above), above.shape)
        return Head(self.attentions[attention], int(number))

    def figure(self, of: Role | Measure = "ablated") -> Grid:
        """One number of every head: a row an attention, a column a head."""
        numbers = {role: (ROLES[role], self.roles[role]) for role in get_args(Role)}
        numbers |= {measure: (MEASURES[measure], getattr(self, measure)) for measure in get_args(Measure)}
        if of not in numbers:
            raise ValueError(f"a head has no number {of!r}; it has {', '.join(numbers)}")
        title, values = numbers[of]
        columns = [Words(f"head {n + 1}", f"头 {n + 1}") for n in range(values.shape[1])]
        return Grid(title, [words_for(path) for path in self.attentions], columns, values)

    def compared(self) -> Bars:
        """The change of the loss that the gradient foretells, beside the true one, of every head."""
        title = Words(
            f"The loss without each head; foretold and true changes correlate by {self.correlation:.2f}",
            f"去掉每个头后的损失；预言与真实变化的相关系数 {self.correlation:.2f}",
        )
        groups = {MEASURES["foretold"]: self.foretold.ravel(), MEASURES["ablated"]: self.ablated.ravel()}
        return Bars(title, self._names(), {name: values.tolist() for name, values in groups.items()}, ".2g")

    def table(self) -> Table:
        """Everything, a row a head; in brackets what uniform attention would have."""
        title = Words(
            f"Every head; loss {self.loss:.4g}; foretold and true changes correlate by {self.correlation:.2f}",
            f"每个头；损失 {self.loss:.4g}；预言与真实变化的相关系数 {self.correlation:.2f}",
        )
        columns = [Words("head", "头"), *ROLES.values(), *MEASURES.values()]
        rows: list[list[Label]] = []
        for place, name in zip(np.ndindex(self.ablated.shape), self._names(), strict=True):
            a = place[0]
            shares = [f"{self.roles[r][place]:.2f} ({self.uniform_roles[r][a]:.2f})" for r in ROLES]
            entropy = f"{self.entropy[place]:.2f} ({self.uniform_entropy[a]:.2f})"
            changes = [
                number(float(values[place]), ".3g") for values in (self.attribution, self.foretold, self.ablated)
            ]
            rows.append([name, *shares, entropy, *changes])
        return Table(title, columns, rows)

    def _names(self) -> list[Words]:
        where = [words_for(path) for path in self.attentions]
        each = range(1, self.ablated.shape[1] + 1)
        return [Words(f"{words.en}, head {n}", f"{words.zh}，头 {n}") for words in where for n in each]


def heads(model: Transformer, source: Any, target_in: Any, target: Any, label_smoothing: float = 0.0) -> Heads:
    """The report cards of all heads on a batch: source (B, T_s), target_in, target (B, T_t), ids, padded.

    On a copy of the model in float64, without dropout; see `Heads`. One forward and backward pass, then for each
    attention one more pass for each head, many at once.
    """
    trace = traced(model, source, target_in, target, label_smoothing)
    attentions = tuple(name.removesuffix(".pattern") for name in trace.seen if name.endswith(".pattern"))
    sights = [Sight.of(trace, path) for path in attentions]
    patterns, zs = ([f"{path}.{last}" for path in attentions] for last in ("pattern", "z"))
    weights = [trace.seen[name].data for name in patterns]
    return Heads(
        attentions,
        {role: np.array([s.share(p, role) for s, p in zip(sights, weights, strict=True)]) for role in get_args(Role)},
        {role: np.array([float(s.share(s.uniform, role)[0]) for s in sights]) for role in get_args(Role)},
        np.array([s.entropy(p) for s, p in zip(sights, weights, strict=True)]),
        np.array([float(s.entropy(s.uniform)[0]) for s in sights]),
        np.array([np.abs(trace.seen[p].data * trace.gradient(p)).sum(axis=(0, 2, 3)) for p in patterns]),
        np.array([-(trace.seen[z].data * trace.gradient(z)).sum(axis=(0, 2, 3)) for z in zs]),
        np.array([ablated(trace, path) for path in attentions]),
        float(trace.loss.data),
    )


def ablated(trace: Trace, attention: str) -> Array:
    """How the loss changes when one head's z is 0, for each head of an attention: (H,).

    As if the rows of W_O that read this head were 0. Copies of the batch, each without another head, go through the
    model together.
    """
    count = trace.seen[f"{attention}.z"].shape[1]
    several = max(COPIES // len(trace.source), 1)
    found = [_without(trace, attention, np.arange(count)[n : n + several]) for n in range(0, count, several)]
    return np.concatenate(found) - float(trace.loss.data)


def correlation(one: Array, other: Array) -> float:
    """Pearson's correlation; NaN where either is constant."""
    x, y = one.ravel() - one.mean(), other.ravel() - other.mean()
    size = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / size if size else float("nan")


def words_for(path: str) -> Words:
    """An attention's name in words."""
    stack, _, layer, kind = path.split(".")
    n = int(layer) + 1
    if stack == "encoder":
        return Words(f"encoder {n}", f"编码器 {n}")
    cross = kind == "cross_attention"
    return Words(f"decoder {n}, {'cross' if cross else 'self'}", f"解码器 {n}，{'交叉' if cross else '自'}")


class Sight(NamedTuple):
    """Who asks and what may be seen: queries (B, T_q) and keys (B, T_k) that are words, visible (B, T_q, T_k)."""

    queries: Mask
    keys: Mask
    visible: Mask

    @classmethod
    def of(cls, trace: Trace, attention: str) -> "Sight":
        """That of one attention of a trace."""
        source, target = trace.source != PAD, trace.target_in != PAD
        if attention.startswith("encoder"):
            queries, keys, mask = source, source, padding_mask(source)
        elif attention.endswith("cross_attention"):
            queries, keys, mask = target, source, padding_mask(source)
        else:
            queries, keys, mask = target, target, decoder_mask(target, target.shape[1])
        shape = len(queries), 1, queries.shape[1], keys.shape[1]
        return cls(queries, keys, np.broadcast_to(mask, shape)[:, 0] & queries[:, :, None])

    @property
    def uniform(self) -> Array:
        """Attention that is equal over all that may be seen: (B, 1, T_q, T_k)."""
        count = self.visible.sum(axis=-1, keepdims=True)
        weights: Array = (self.visible / np.maximum(count, 1))[:, None]
        return weights

    def share(self, pattern: Array, role: Role) -> Array:
        """The weight on the key of a role, the mean over the queries that may see it: (B, H, T_q, T_k) -> (H,)."""
        wanted = self.wanted(role)
        asking = wanted.any(axis=-1)
        if not asking.any():
            return np.full(pattern.shape[1], np.nan)
        weights: Array = np.where(wanted[:, None], pattern, 0.0).sum(axis=(0, 2, 3)) / asking.sum()
        return weights

    def wanted(self, role: Role) -> Mask:
        """The visible key that has a role for each query, at most one: (B, T_q, T_k)."""
        asking = np.broadcast_to(places_of(self.queries), self.queries.shape)
        asked = np.broadcast_to(places_of(self.keys), self.keys.shape)
        last = self.keys.sum(axis=-1, keepdims=True) - 1
        place = {"previous": asking - 1, "same": asking, "mirror": last - asking, "first": 0 * asking}[role]
        found: Mask = (asked[:, None, :] == place[:, :, None]) & self.visible
        return found

    def entropy(self, pattern: Array) -> Array:
        """-sum_k P_k log P_k, the mean over words: (B, H, T_q, T_k) -> (H,)."""
        logs = np.log(pattern, out=np.zeros_like(pattern), where=pattern > 0)
        words = self.queries[:, None, :, None]
        found: Array = -np.where(words, pattern * logs, 0.0).sum(axis=(0, 2, 3)) / max(self.queries.sum(), 1)
        return found


def _without(trace: Trace, attention: str, those: npt.NDArray[np.int64]) -> Array:
    """The loss without one head, for each of `those`."""
    batch, count = len(trace.source), trace.seen[f"{attention}.z"].shape[1]
    kept = np.repeat(those[:, None] != np.arange(count), batch, axis=0)[:, :, None, None]
    return losses_of_copies(trace, len(those), f"{attention}.z", partial(mg.where, kept, y=0.0))
