"""The whole model by hand, forward and backward: the boxes, joined. The paper, figure 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.config import TransformerConfig
from transformer.model import Transformer
from transformer.study.hand import cross_entropy, embedding, layers, linear, projection, stack
from transformer.study.hand.arrays import Array, Ids
from transformer.study.hand.gathered import Activation, Gathered
from transformer.vocabulary import PAD, as_ids

COVERED = {"norm_kind": "layer", "positions": "sinusoidal", "cross_positions": "none", "feed_forward": "relu"}
"""The choices of a config that the derivations are for; norm, tied and bias are as one likes."""

TABLES = {
    "none": ("source_embedding.weight", "target_embedding.weight", "output.weight"),
    "output": ("source_embedding.weight", "target_embedding.weight", "target_embedding.weight"),
    "all": ("source_embedding.weight", "source_embedding.weight", "source_embedding.weight"),
}
"""What the weights of the two embeddings and of the output projection are called, by what is tied."""


@dataclass(frozen=True)
class Hand:
    """What was found by hand.

    loss: the mean cross-entropy. parameters: their gradients, named as by `model.named_parameters()`; a tied table has
    one name, and the sum of its contributions. activations: value and gradient, named as by `model.capture()`.
    """

    loss: float
    parameters: dict[str, Array]
    activations: dict[str, Activation]


def hand_gradients(model: Transformer, source: Any, target_in: Any, target: Any, label_smoothing: float = 0.0) -> Hand:
    """The loss of `model` on a batch of ids, and every gradient, by the derivations of this package alone; in float64.

    source (B, T_s), target_in, target (B, T_t); without dropout, as `transformer.study.trace.traced`, whose tape finds
    the same. Raises ValueError for a config that the derivations do not cover and for shapes that do not fit,
    IndexError for an id that is in no vocabulary.
    """
    config = model.config
    require_covered(config)
    source, target_in, target = checked(config, source, target_in, target)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"hand_gradients: label_smoothing must be in [0, 1], not {label_smoothing}")
    parameters = {name: np.asarray(array, np.float64) for name, array in model.state_dict().items()}
    source_table, target_table, output_weight = TABLES[config.tied]
    output = linear if config.tied == "none" else projection

    # Forward, from the words to the loss. Masks: which query may see which key, (B, heads, T_q, T_k).
    source_words, target_words = source != PAD, target_in != PAD
    sees_source = source_words[:, None, None, :]
    sees_past = target_words[:, None, None, :] & np.tri(target_in.shape[1], dtype=np.bool_)
    x, source_kept = embedding.forward(parameters[source_table], source, source_words)
    encoder = layers.encoder(parameters, config, sees_source)
    memory, encoder_kept = stack.forward(x, encoder)
    y, target_kept = embedding.forward(parameters[target_table], target_in, target_words)
    decoder = layers.decoder(parameters, config, memory, sees_past, sees_source)
    top, decoder_kept = stack.forward(y, decoder)
    logits, output_kept = output.forward(top, parameters[output_weight], parameters["output.bias"])
    loss, loss_kept = cross_entropy.forward(logits, target, target != PAD, label_smoothing)

    # Backward, from the loss, whose gradient is 1, to the words.
    d_logits = cross_entropy.backward(1.0, loss_kept)
    d_top, d_weight, d_bias = output.backward(d_logits, output_kept)
    d_decoder = stack.backward(d_top, decoder_kept, decoder)
    d_target = embedding.backward(d_decoder.x, target_kept)
    d_memory = memory_gradient(decoder, d_decoder)
    d_encoder = stack.backward(d_memory, encoder_kept, encoder)
    d_source = embedding.backward(d_encoder.x, source_kept)

    found = Gathered(parameters)
    found.embedding("source", source_table, source_kept, d_source)
    found.stack("encoder", encoder, encoder_kept, d_encoder)
    found.note("encoder.out", memory, d_memory)
    found.embedding("target", target_table, target_kept, d_target)
    found.stack("decoder", decoder, decoder_kept, d_decoder)
    found.note("decoder.out", top, d_top)
    found.note("logits", logits, d_logits)
    found.add(output_weight, d_weight)
    found.add("output.bias", d_bias)
    return Hand(float(loss), found.parameters, found.activations)


def memory_gradient(decoder: stack.Stack, gradients: stack.Gradients) -> Array:
    """What the encoder's output gets: a contribution from the keys and values of every decoder layer."""
    ways = zip(decoder.steps, gradients.steps, strict=True)
    total: Array = sum(found.inner.memory for step, found in ways if step.path.endswith("cross_attention"))
    return total


def require_covered(config: TransformerConfig) -> None:
    """Raise ValueError for a config whose model is not the one derived here."""
    told = f"the hand derivation covers {', '.join(f'{name}={choice!r}' for name, choice in COVERED.items())}"
    for name, choice in COVERED.items():
        if getattr(config, name) != choice:
            raise ValueError(f"hand_gradients: {name}={getattr(config, name)!r}: {told}")
    if config.key_value_heads != config.heads:
        raise ValueError(
            f"hand_gradients: kv_heads={config.kv_heads} of heads={config.heads}: the hand derivation covers as many "
            "heads of keys as of queries, kv_heads=0"
        )


def checked(config: TransformerConfig, source: Any, target_in: Any, target: Any) -> tuple[Ids, Ids, Ids]:
    """Ids as arrays that fit together and to the vocabularies."""
    ids = as_ids("source", source), as_ids("target_in", target_in), as_ids("target", target)
    if ids[1].shape != ids[2].shape or len(ids[0]) != len(ids[1]):
        raise ValueError(
            f"hand_gradients: source {ids[0].shape}, target_in {ids[1].shape}, target {ids[2].shape}: they must be "
            "(B, T_s), (B, T_t) and (B, T_t)"
        )
    sizes = config.source_vocab, config.target_vocab, config.target_vocab
    for name, array, size in zip(("source", "target_in", "target"), ids, sizes, strict=True):
        if array.size and (array.min() < 0 or array.max() >= size):
            raise IndexError(f"hand_gradients: {name} holds {array.min()} to {array.max()}; ids are 0 to {size - 1}")
    return ids
