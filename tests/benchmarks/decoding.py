"""Greedy decoding with keys and values kept, against a loop that reads all that is written again for every word.

The `small` configuration, 32 rows, 64 words; the cache is to be at least 6 times faster, and both write the same.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.decoding [--source 20] [--repeats 9]
"""

import argparse
import statistics

import numpy as np

import minigrad as mg
from tests.benchmarks.turns import ratio, side_by_side
from transformer import Transformer, TransformerConfig
from transformer.masks import Ids
from transformer.vocabulary import BOS, EOS, PAD

ROWS, WORDS, VOCABULARY = 32, 64, 200
SMALL = dict(source_vocab=VOCABULARY, target_vocab=VOCABULARY, d_model=128, heads=8, layers=2, d_ff=512)
NEVER = [PAD, BOS, EOS]  # eos too, so that every row has all its words


def small() -> Transformer:
    """A model of the `small` shape that never ends a text."""
    model = Transformer(TransformerConfig(**SMALL), rng=0)
    model.output.bias.data = np.where(np.arange(VOCABULARY) == EOS, -np.inf, 0.0)
    return model


def uncached(model: Transformer, source: Ids) -> Ids:
    """Greedy decoding as the paper's equations have it: (B, T_s) -> (B, WORDS)."""
    ids = np.full((len(source), 1), BOS)
    with mg.no_grad():
        memory = model.encode(source)
        for _ in range(WORDS):
            following = model.decode(ids, memory, source).data[:, -1].copy()
            following[:, NEVER] = -np.inf
            ids = np.concatenate([ids, following.argmax(axis=-1)[:, None]], axis=1)
    return ids[:, 1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=int, default=20, help="words of a source (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=9, help="turns of each (default: %(default)s)")
    options = parser.parse_args()
    model, source = small(), np.random.default_rng(0).integers(4, VOCABULARY, (ROWS, options.source))
    assert np.array_equal(model.generate(source, WORDS), uncached(model, source))

    competitors = {
        "cached": lambda: model.generate(source, WORDS),
        "uncached": lambda: uncached(model, source),
        "beam of 4": lambda: model.generate(source, WORDS, beam=4),
    }
    seconds = side_by_side(competitors, options.repeats)
    for name, each in seconds.items():
        print(f"{name:12} least {min(each):7.3f} s, median {statistics.median(each):7.3f} s")
    print(f"the cache is {ratio(seconds, 'uncached', 'cached'):.1f} times faster")


if __name__ == "__main__":
    main()
