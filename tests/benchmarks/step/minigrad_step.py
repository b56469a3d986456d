"""The step in minigrad, as its user writes it."""

from collections.abc import Callable

import minigrad as mg
from tests.benchmarks.step.configs import BETAS, EPS, RATE, Step, StepConfig, batch
from tests.benchmarks.step.weights import weights
from transformer import Transformer, TransformerConfig
from transformer.training.memory import keep_freed_memory


def prepare(threads: int) -> None:
    """What training does first. It holds for the whole process: all competitors gain by it alike."""
    keep_freed_memory()


def build(config: StepConfig, seed: int) -> Callable[[], Step]:
    """The model; what it gives makes the optimiser, and then is the step."""
    model = Transformer(
        TransformerConfig(
            source_vocab=config.vocab,
            target_vocab=config.vocab,
            d_model=config.d_model,
            heads=config.heads,
            layers=config.layers,
            d_ff=config.d_ff,
            dropout=0.0,
        )
    )
    model.load_state_dict(weights(config, seed))
    source, target_in, target_out = batch(config, seed)

    def begin() -> Step:
        optimizer = mg.optim.Adam(model.parameters(), lr=RATE, betas=BETAS, eps=EPS)

        def step() -> float:
            optimizer.zero_grad()
            loss = mg.cross_entropy(model(source, target_in), target_out)
            loss.backward()
            optimizer.step()
            return float(loss.item())

        return step

    return begin
