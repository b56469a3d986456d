"""The same program gives the same picture, byte by byte."""

import os
import subprocess
import sys

import minigrad as mg
from tests.minigrad.drawing.samples import neuron

PROGRAM = """
import numpy as np, minigrad as mg
from transformer import Transformer, TransformerConfig, figure1
model = Transformer(TransformerConfig(source_vocab=9, target_vocab=9, d_model=8, heads=2, layers=2, d_ff=8))
print(mg.draw(model(np.full((2, 3), 5), np.full((2, 4), 6)).sum(), gradients=True).svg())
print(figure1(model).svg())
"""


def test_the_same_program_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].count(b"</svg>") == 2


def test_the_same_graph_made_twice_in_one_program_is_the_same_picture() -> None:
    assert mg.draw(neuron()).source == mg.draw(neuron()).source
