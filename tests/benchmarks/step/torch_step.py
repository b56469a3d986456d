"""The step in torch, eager, with its own layers and its fused Adam."""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.benchmarks.step.configs import BETAS, EPS, RATE, Step, StepConfig, batch
from tests.benchmarks.step.weights import weights
from transformer.positions import sinusoids

LAYER_NAMES = {
    "self_attention_norm": "norm1",
    "feed_forward.inner": "linear1",
    "feed_forward.outer": "linear2",
    "self_attention.output": "self_attn.out_proj",
    "cross_attention.output": "multihead_attn.out_proj",
    "cross_attention_norm": "norm2",
}
PACKED = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}  # query, key, value: one matrix


def prepare(threads: int) -> None:
    """So many threads, for the whole process."""
    torch.set_num_threads(threads)


class Model(nn.Module):
    """Post-norm, no last norm, as in the paper."""

    def __init__(self, config: StepConfig) -> None:
        super().__init__()
        d, layers = config.d_model, config.layers
        self.source, self.target = nn.Embedding(config.vocab, d), nn.Embedding(config.vocab, d)
        self.register_buffer("positions", torch.tensor(sinusoids(config.length, d), dtype=torch.float32))
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(config.length))
        encoder = nn.TransformerEncoderLayer(d, config.heads, config.d_ff, 0.0, batch_first=True)
        decoder = nn.TransformerDecoderLayer(d, config.heads, config.d_ff, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder, layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, layers)
        self.output = nn.Linear(d, config.vocab)
        self.scale = d**0.5

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """(B, T), (B, T) -> logits (B, T, V)."""
        memory = self.encoder(self.source(source) * self.scale + self.positions)
        y = self.target(target) * self.scale + self.positions
        return self.output(self.decoder(y, memory, tgt_mask=self.causal, tgt_is_causal=True))


def build(config: StepConfig, seed: int) -> Callable[[], Step]:
    """The model; what it gives makes the optimiser, and then is the step."""
    model = Model(config)
    model.load_state_dict(in_torchs_names(weights(config, seed), config.layers), strict=False)  # buffers stay
    source, target_in, target_out = (torch.from_numpy(part) for part in batch(config, seed))

    def begin() -> Step:
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=BETAS, eps=EPS, fused=True)

        def step() -> float:
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(source, target_in).flatten(0, 1), target_out.flatten())
            loss.backward()
            optimizer.step()
            return float(loss.item())

        return step

    return begin


def in_torchs_names(given: dict[str, np.ndarray], layers: int) -> dict[str, torch.Tensor]:
    """The weights as torch calls and turns them: matrices (out, in), query, key and value in one."""
    found = {
        "source.weight": given["source_embedding.weight"],
        "target.weight": given["target_embedding.weight"],
        "output.weight": given["output.weight"].T,
        "output.bias": given["output.bias"],
    }
    for n in range(layers):
        found |= of_layer(given, f"encoder.layers.{n}", {"feed_forward_norm": "norm2"})
        found |= of_layer(given, f"decoder.layers.{n}", {"feed_forward_norm": "norm3"})
    return {name: torch.tensor(array) for name, array in found.items()}


def of_layer(given: dict[str, np.ndarray], layer: str, last: dict[str, str]) -> dict[str, np.ndarray]:
    """The weights of one layer. last: its last norm has a number that depends on the stack."""
    found = {}
    for ours, theirs in (LAYER_NAMES | last).items():
        for part in ("weight", "gain", "bias"):
            if (name := f"{layer}.{ours}.{part}") in given:
                found[f"{layer}.{theirs}.{part.replace('gain', 'weight')}"] = given[name].T
    for ours, theirs in PACKED.items():
        for part in ("weight", "bias"):
            if f"{layer}.{ours}.query.{part}" in given:
                three = [given[f"{layer}.{ours}.{one}.{part}"].T for one in ("query", "key", "value")]
                found[f"{layer}.{theirs}.in_proj_{part}"] = np.concatenate(three)
    return found
