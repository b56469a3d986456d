"""The weights that every competitor starts from, by the names of minigrad's Transformer; matrices are (in, out)."""

import numpy as np

from tests.benchmarks.step.configs import StepConfig

Shapes = dict[str, tuple[int, ...]]


def shapes(config: StepConfig) -> Shapes:
    """{name: shape} of all parameters, in the model's order."""
    d, vocab = config.d_model, config.vocab
    found: Shapes = {"source_embedding.weight": (vocab, d), "target_embedding.weight": (vocab, d)}
    for n in range(config.layers):
        found |= layer(f"encoder.layers.{n}", ["self_attention"], config)
    for n in range(config.layers):
        found |= layer(f"decoder.layers.{n}", ["self_attention", "cross_attention"], config)
    return found | linear("output", d, vocab)


def layer(name: str, attentions: list[str], config: StepConfig) -> Shapes:
    """The attentions and the feed-forward network of a layer, each with its norm."""
    d, found = config.d_model, {}
    for attention in attentions:
        for part in ("query", "key", "value", "output"):
            found |= linear(f"{name}.{attention}.{part}", d, d)
        found |= norm(f"{name}.{attention}_norm", d)
    found |= linear(f"{name}.feed_forward.inner", d, config.d_ff) | linear(f"{name}.feed_forward.outer", config.d_ff, d)
    return found | norm(f"{name}.feed_forward_norm", d)


def linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (inputs, outputs), f"{name}.bias": (outputs,)}


def norm(name: str, width: int) -> Shapes:
    return {f"{name}.gain": (width,), f"{name}.bias": (width,)}


def products(config: StepConfig) -> list[tuple[int, ...]]:
    """The (in, out) of every matrix that the tokens are multiplied by: all but the embeddings, which are looked up."""
    return [shape for name, shape in shapes(config).items() if len(shape) == 2 and "embedding" not in name]


def weights(config: StepConfig, seed: int) -> dict[str, np.ndarray]:
    """Random weights, gains around 1 and biases around 0, so that a competitor that forgot one would show it."""
    rng = np.random.default_rng([seed, 1])

    def draw(name: str, shape: tuple[int, ...]) -> np.ndarray:
        scale = config.d_model**-0.5 if len(shape) == 2 else 0.1
        values = rng.normal(1.0 if name.endswith(".gain") else 0.0, scale, shape)
        return values.astype(np.float32)

    return {name: draw(name, shape) for name, shape in shapes(config).items()}
