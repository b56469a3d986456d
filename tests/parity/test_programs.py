"""Random programs give the same value, gradient and second derivative in minigrad and in torch."""

from types import SimpleNamespace

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.minigrad import programs as smooth
from tests.minigrad.operations import seeds
from tests.parity.comparison import Pair, assert_agree, pair
from tests.parity.programs import SHAPES, minigrad_and_torch, programs

MORE = settings(max_examples=5 * settings().max_examples)


@st.composite
def cases(draw):
    program = draw(programs())
    shapes = [draw(st.sampled_from(SHAPES)) for _ in range(program.inputs)]
    return pair(draw, *minigrad_and_torch(program), *shapes, note=str(program))


MINE = SimpleNamespace(**{name: getattr(mg, name) for name in mg.ops.__all__}, asarray=np.asarray, amax=mg.max)
THEIRS = SimpleNamespace(**{name: getattr(torch, name) for name in dir(torch) if name.islower()})
THEIRS.transpose = torch.permute  # NumPy's transpose


@MORE
@given(smooth.programs(), seeds)
def test_a_random_program_of_primitives_agrees_with_torch(program, seed):
    assert_agree(
        Pair(
            lambda *values: program.run(MINE, values),
            lambda *values: program.run(THEIRS, values),
            program.arrays(seed),
            repr(program),
        ),
        seed,
    )


@MORE
@given(cases(), seeds)
def test_a_random_program_agrees_with_torch(case, seed):
    assert_agree(case, seed)


@given(cases(), seeds)
def test_a_random_program_agrees_with_torch_unfused(case, seed):
    with mg.unfused():
        assert_agree(case, seed)
