"""What a use of a tensor is called: "residual", "query", "scores", ..., by the operation and the module it stands in.

A use is an operation and the place of its operand. Where the modules are not a Transformer's, a use is called as its
operation is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import minigrad as mg
from transformer.study.figures import Words


class Use(NamedTuple):
    """The operation that takes a tensor, and as which of its operands."""

    node: mg.Node
    position: int

    @property
    def operation(self) -> str:
        """The operation's name."""
        return "" if self.node.primitive is None else self.node.primitive.name

    @property
    def operand(self) -> str:
        """What the operation calls the operand, such as "x"; its number, from 1, where it takes any number of them."""
        names = getattr(self.node.primitive, "operands", ())[1:]
        return str(names[self.position]) if len(names) >= len(self.node.inputs) else str(self.position + 1)


Following = Mapping[mg.Node, Use]
"""For each operation one use of what it makes."""

QUERY, KEY, VALUE = Words("query", "查询"), Words("key", "键"), Words("value", "值")
HEADS_OUTPUT = Words("attention output", "注意力输出")
SCORES, PATTERN_V, SOFTMAX = Words("scores", "得分"), Words("pattern · V", "权重 · V"), Words("softmax", "softmax")
RESIDUAL, REFINED, NORM = Words("residual", "残差"), Words("refined", "子层输出"), Words("norm", "归一化")

MODULES = {
    "source_embedding": Words("source embedding", "源语言词嵌入"),
    "target_embedding": Words("target embedding", "目标语言词嵌入"),
    "embedding": Words("embedding", "词嵌入"),
    "source_positions": Words("source positions", "源语言位置"),
    "target_positions": Words("target positions", "目标语言位置"),
    "positions": Words("positions", "位置"),
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "inner": Words("feed-forward", "前馈"),
    "gate": Words("gate", "门"),
    "outer": Words("feed-forward outer", "前馈外层"),
    "norm": Words("last norm", "最后的归一化"),
    "output": Words("output projection", "输出投影"),
}
"""Modules all of whose operations are called alike."""

OPERATIONS = {
    "softmax": SOFTMAX,
    "layer_norm": NORM,
    "rms_norm": NORM,
    "cross_entropy": Words("cross-entropy", "交叉熵"),
    "dropout": Words("dropout", "随机失活"),
    "feed_forward": MODULES["inner"],
}
"""Operations with a name of their own; under `mg.unfused()` it is at the end of the path."""

OPERANDS = {
    "attention": {"query": SCORES, "key": SCORES, "value": PATTERN_V},
    "multi_head_attention": {
        "x": QUERY, "w_q": QUERY, "b_q": QUERY, "memory": Words("key and value", "键和值"), "w_k": KEY, "b_k": KEY,
        "w_v": VALUE, "b_v": VALUE, "w_o": HEADS_OUTPUT, "b_o": HEADS_OUTPUT,
    },
    "add_norm": {"x": RESIDUAL, "y": REFINED, "gain": NORM, "bias": NORM},
}  # fmt: skip
"""Fused operations that do several things: what each operand is for."""

ATTENTIONS = ("self_attention", "cross_attention")
STACKS = {"encoder": Words("encoder", "编码器"), "decoder": Words("decoder", "解码器")}
SUBLAYERS = {
    "self_attention": Words("self-attention", "自注意力"),
    "cross_attention": Words("cross-attention", "交叉注意力"),
    "feed_forward": Words("feed-forward", "前馈"),
}


def names_of(uses: Sequence[Use], following: Following) -> list[Words]:
    """A name for each use, no two alike: where one would not do, with the layer, the call, the operand, or a number.

    following: what comes after an operation, by which one that only rearranges is called.
    """
    names = [_purpose(use, following) for use in uses]
    names = _told_apart(names, [_place(use.node.path) for use in uses], before=True)
    names = _told_apart(names, [_call(use.node.path) for use in uses])
    names = _told_apart(names, [Words(use.operation, use.operation) for use in uses])
    names = _told_apart(names, [Words(use.operand, use.operand) for use in uses])
    met = Counter[Words]()
    numbers: list[Words] = []
    for name in names:
        met[name] += 1
        numbers.append(Words(str(met[name]), str(met[name])))
    return _told_apart(names, numbers)


def _told_apart(names: list[Words], details: list[Words], before: bool = False) -> list[Words]:
    """The names with a detail each, before or behind, where several are alike and their details are not."""
    several: dict[Words, set[Words]] = {}
    for name, detail in zip(names, details, strict=True):
        several.setdefault(name, set()).add(detail)
    return [
        (_joined(detail, name) if before else _joined(name, detail)) if len(several[name]) > 1 else name
        for name, detail in zip(names, details, strict=True)
    ]


def _purpose(use: Use, following: Following) -> Words:
    """What the operation is for; one of an attention that only rearranges is for what comes next."""
    while _rearranges(use) and use.node in following:
        use = following[use.node]
    if use.operation in OPERANDS:
        return OPERANDS[use.operation][use.operand]
    above, module, below = _divided(use.node.path)
    if module == "output" and _in_attention(above):
        return HEADS_OUTPUT
    if module in MODULES:
        return MODULES[module]
    if below:
        return _operation(below[0])
    if module in ATTENTIONS and use.operation == "matmul":
        return SCORES if _before_softmax(use, following) else PATTERN_V
    if module.endswith("_norm") and use.operation == "add":
        return (RESIDUAL, REFINED)[use.position]
    return _operation(use.operation)


def _operation(name: str) -> Words:
    return OPERATIONS.get(name, Words(name, name))


def _divided(path: str) -> tuple[list[str], str, list[str]]:
    """A path as what is above the innermost module that has a name here, that module, and fused operations below it."""
    parts = _parts(path)
    known = [place for place, part in enumerate(parts) if part in MODULES or _sublayer(part)]
    if not known:
        return [], "", [part for part in parts if part in OPERATIONS]
    place = known[-1]
    if place and parts[place] == "embedding" and parts[place - 1] in MODULES:
        place -= 1  # it is the operation of this name
    return parts[:place], parts[place], [part for part in parts[place + 1 :] if part != "attention"]


def _rearranges(use: Use) -> bool:
    """Whether it is an attention's own, and neither a product nor the softmax: heads split, K^T, the scale, ..."""
    parts = _parts(use.node.path)
    products = use.operation == "matmul" or use.operation in OPERANDS
    return _in_attention(parts) and not products and "softmax" not in (use.operation, *parts)


def _in_attention(parts: Sequence[str]) -> bool:
    """Whether this is the path of an attention itself, not of one of its linear maps."""
    own = [part for part in parts if part not in ("attention", *OPERATIONS)]
    return bool(own) and own[-1] in ATTENTIONS


def _before_softmax(use: Use, following: Following) -> bool:
    while use.node in following:
        use = following[use.node]
        if not _rearranges(use):
            break
    return "softmax" in (use.operation, *_parts(use.node.path))


def _place(path: str) -> Words:
    """Where a module stands: "decoder layer 1 · cross-attention"; a path that is no Transformer's as it is."""
    parts = _parts(path)
    found: list[Words] = []
    stack = next((STACKS[part] for part in parts if part in STACKS), Words("", ""))
    layer = next((int(inner) for outer, inner in pairwise(parts) if outer == "layers" and inner.isdecimal()), None)
    if layer is not None:
        found.append(Words(f"{stack.en} layer {layer + 1}".strip(), f"{stack.zh}第 {layer + 1} 层"))
    elif stack.en:
        found.append(stack)
    found += [SUBLAYERS[_sublayer(part)] for part in parts if _sublayer(part)][:1]
    return _joined(*found) if found else Words(path, path)


def _sublayer(part: str) -> str:
    """The sub-layer that a module is, or whose norm it is; "" for others."""
    name = part.removesuffix("_norm")
    return name if name in SUBLAYERS else ""


def _call(path: str) -> Words:
    """Which call of a module it was, if not the first."""
    number = next((part.partition("#")[2] for part in path.split(".") if "#" in part), "")
    return Words(f"call {number}", f"第 {number} 次调用") if number else Words("", "")


def _parts(path: str) -> list[str]:
    """The names in a path, without the numbers of calls."""
    return [part.partition("#")[0] for part in path.split(".")] if path else []


def _joined(*words: Words) -> Words:
    """Several, with dots between; empty ones left out."""
    return Words(*(" · ".join(part for part in parts if part) for parts in zip(*words, strict=True)))
