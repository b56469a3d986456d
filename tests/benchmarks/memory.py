"""The peak memory of one training step: minigrad's and torch's, the same model, each in a process of its own. Linux.

The `small` model: d_model 128, 8 heads, 2 + 2 layers, d_ff 512, vocabulary 200, no dropout; batches of 64 by 20
tokens, cross-entropy, Adam. A tiny model is trained first, so that code loaded at its first use does not count. Then:
memory after that, after the model is built, and the highest during the steps (ru_maxrss).

    python -m tests.benchmarks.memory [--steps 5] [--engines minigrad,torch]
"""

import argparse
import gc
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SMALL = {"d_model": 128, "heads": 8, "layers": 2, "d_ff": 512, "batch": 64, "length": 20, "vocab": 200}
TINY = {"d_model": 8, "heads": 2, "layers": 1, "d_ff": 16, "batch": 2, "length": 3, "vocab": 9}
MIB = 2**20
RATE, BETAS = 1e-3, (0.9, 0.98)

Step = Callable[[], float]


def batch(config: dict[str, int]) -> list[np.ndarray]:
    """(source, target_in, target_out), each (B, T) of ids that are no special tokens."""
    rng = np.random.default_rng(0)
    return [rng.integers(4, config["vocab"], (config["batch"], config["length"])) for _ in range(3)]


def minigrad_model(config: dict[str, int]) -> Callable[[], Step]:
    """The model; what it gives makes the optimiser and then is the step."""
    import minigrad as mg
    from transformer import Transformer, TransformerConfig

    sizes = {name: config[name] for name in ("d_model", "heads", "layers", "d_ff")}
    vocab = config["vocab"]
    model = Transformer(TransformerConfig(source_vocab=vocab, target_vocab=vocab, dropout=0.0, **sizes))
    source, target_in, target_out = batch(config)

    def begin() -> Step:
        optimizer = mg.optim.Adam(model.parameters(), lr=RATE, betas=BETAS)

        def step() -> float:
            optimizer.zero_grad()
            loss = mg.cross_entropy(model(source, target_in), target_out)
            loss.backward()
            optimizer.step()
            return float(loss.item())

        return step

    return begin


def torch_model(config: dict[str, int]) -> Callable[[], Step]:
    """The same with torch's own layers: post-norm, no last norm."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(1)
    d, heads, layers, d_ff = (config[name] for name in ("d_model", "heads", "layers", "d_ff"))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.source, self.target = nn.Embedding(config["vocab"], d), nn.Embedding(config["vocab"], d)
            self.register_buffer("positions", torch.zeros(config["length"], d))
            self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(config["length"]))
            encoder = nn.TransformerEncoderLayer(d, heads, d_ff, 0.0, batch_first=True)
            decoder = nn.TransformerDecoderLayer(d, heads, d_ff, 0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(encoder, layers, enable_nested_tensor=False)
            self.decoder = nn.TransformerDecoder(decoder, layers)
            self.output = nn.Linear(d, config["vocab"])

        def forward(self, source: Any, target: Any) -> Any:
            memory = self.encoder(self.source(source) * d**0.5 + self.positions)
            target = self.target(target) * d**0.5 + self.positions
            return self.output(self.decoder(target, memory, tgt_mask=self.causal, tgt_is_causal=True))

    model = Model()
    source, target_in, target_out = (torch.from_numpy(part) for part in batch(config))

    def begin() -> Step:
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=BETAS, fused=True)

        def step() -> float:
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(source, target_in).flatten(0, 1), target_out.flatten())
            loss.backward()
            optimizer.step()
            return float(loss.item())

        return step

    return begin


def kept_minigrad_model(config: dict[str, int]) -> Callable[[], Step]:
    """minigrad as `demos train` runs it: freed memory stays with the process."""
    from transformer.training.memory import keep_freed_memory

    keep_freed_memory()
    return minigrad_model(config)


ENGINES = {"minigrad": minigrad_model, "minigrad-training": kept_minigrad_model, "torch": torch_model}


def resident() -> float:
    """MiB of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def measure(engine: str, steps: int) -> dict[str, float]:
    """MiB: with the libraries loaded, with the model, and the peak of the steps."""
    make = ENGINES[engine]
    make(TINY)()()
    gc.collect()
    loaded = resident()
    begin = make(SMALL)
    gc.collect()
    built = resident()
    step = begin()
    losses = [step() for _ in range(steps)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"loaded": loaded, "built": built, "peak": peak, "loss": losses[-1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5, help="training steps (default: %(default)s)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which, in order (default: %(default)s)")
    parser.add_argument("--measure", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.steps)))
        return
    print(f"{'MiB':18} {'loaded':>8} {'built':>8} {'peak':>8} {'steps':>8} {'model and steps':>16}")
    for engine in options.engines.split(","):
        command = [sys.executable, "-m", "tests.benchmarks.memory", "--measure", engine, "--steps", str(options.steps)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        loaded, built, peak = (found[name] for name in ("loaded", "built", "peak"))
        print(
            f"{engine:18} {loaded:8.1f} {built:8.1f} {peak:8.1f} {peak - built:8.1f} {peak - loaded:16.1f}", flush=True
        )


if __name__ == "__main__":
    main()
