"""How a model tells places apart: what is added to the word vectors, and what acts inside attention.

`added_positions` makes the module below a stack, `in_self_attention` and `in_cross_attention` what attention is told.
"""

import numpy as np
import numpy.typing as npt

import minigrad as mg
from transformer.config import StackConfig, TransformerConfig
from transformer.masks import Ids, Mask
from transformer.positions.added import LearnedPositions, NothingAdded, RandomisedPositions
from transformer.positions.places import after, places_from_end, places_of
from transformer.positions.relative import NOTHING, Relative, both_ends, distance_penalty, turn, turned
from transformer.positions.sinusoidal import PositionalEncoding, sinusoids

__all__ = [
    "NOTHING", "LearnedPositions", "NothingAdded", "PositionalEncoding", "RandomisedPositions", "Relative",
    "added_positions", "after", "in_cross_attention", "in_self_attention", "places_from_end", "places_of", "sinusoids",
    "turned",
]  # fmt: skip


def added_positions(config: StackConfig, rng: np.random.Generator) -> mg.nn.Module:
    """The module between the embedding and the stack, called with (x, places, rng)."""
    d_model, dropout, length = config.d_model, config.dropout, config.max_length
    if config.positions == "sinusoidal":
        return PositionalEncoding(d_model, dropout, length)
    if config.positions == "learned":
        return LearnedPositions(d_model, dropout, length, rng)
    if config.positions == "randomised":
        return RandomisedPositions(d_model, dropout, length)
    return NothingAdded(dropout)


def in_self_attention(config: StackConfig, new: Ids, places: Ids, dtype: npt.DTypeLike) -> Relative:
    """What places do to the scores of one stack: (T_q,) of what asks, (T_k,) of all that may answer; or (B,) before it.

    Keys are turned once, when they are made, so those of `new` are: what was decoded before is turned already.
    """
    if config.positions == "rotary":
        turn_of_new = turn(new, config.d_head, dtype, config.rotary_base)
        return Relative(turn_of_new, turn_of_new)
    if config.positions == "alibi":
        return Relative(bias=distance_penalty(new, places, config.heads, dtype))
    return NOTHING


def in_cross_attention(config: TransformerConfig, query: Ids, source: Mask, dtype: npt.DTypeLike) -> Relative:
    """What the places of target (T_t,) or (B, T_t) and of the source's words (B, T_s) do to the scores between them."""
    if config.cross_positions == "none":
        return NOTHING
    places, d_head, base = places_of(source), config.d_head, config.rotary_base
    asking = turn(query, d_head, dtype, base)
    if config.cross_positions == "rotary":
        return Relative(asking, turn(places, d_head, dtype, base))
    key = both_ends(places, places_from_end(source), config.key_value_heads, d_head, dtype, base)
    return Relative(asking, key)
