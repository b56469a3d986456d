"""The whole model by hand is the tape's: every parameter and every activation, on random configs and batches.

The bound: a gradient differs from the tape's by no more than 1e-10 of the array's greatest magnitude. Some gradients
are 0 but for rounding, those of the keys' biases in every model: for an array that is smaller than 1e-4 of the greatest
gradient of any parameter, the bound is 1e-10 of that.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transformer.models import small_batch, small_model
from transformer.config import CHOICES
from transformer.study import hand
from transformer.study.hand import hand_gradients
from transformer.study.trace import traced
from transformer.vocabulary import PAD

BOUND, FLOOR = 1e-10, 1e-4


def assert_as_traced(model, batch, label_smoothing=0.0):
    found = hand_gradients(model, *batch, label_smoothing)
    trace = traced(model, *batch, label_smoothing)
    assert list(found.parameters) == list(trace.parameters)
    assert list(found.activations) == list(trace.seen)
    assert abs(found.loss - trace.loss.item()) <= BOUND * abs(trace.loss.item())
    least = FLOOR * max(np.abs(gradient).max() for gradient in trace.parameters.values())
    for name, gradient in trace.parameters.items():
        assert_within(found.parameters[name], gradient, least, name)
    for name, activation in trace.seen.items():
        assert_within(found.activations[name].value, activation.data, 0, name)
        assert_within(found.activations[name].gradient, activation.grad.data, least, name)
    return found


def assert_within(found, expected, least, name):
    assert found.shape == expected.shape, name
    assert found.dtype == np.float64, name
    assert np.abs(found - expected).max() <= BOUND * max(np.abs(expected).max(), least), name


@st.composite
def models(draw):
    """Sizes all distinct, and every choice that is covered."""
    layers, heads, width, d_ff = draw(st.lists(st.integers(1, 5), min_size=4, max_size=4, unique=True))
    chosen = {name: draw(st.sampled_from(CHOICES[name])) for name in ("norm", "tied")}
    target_vocab = draw(st.integers(9, 12))
    return small_model(
        seed=draw(st.integers(0, 2**32 - 1)),
        layers=min(layers, 3), heads=heads, d_model=heads * width, d_ff=d_ff + heads * width,
        source_vocab=target_vocab if chosen["tied"] == "all" else 13, target_vocab=target_vocab,
        bias=draw(st.booleans()), **chosen,
    )  # fmt: skip


@st.composite
def batches(draw, config):
    """Padding anywhere, at the front and inside too; a row of padding alone; words that stand in several places."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, source_length, target_length = draw(st.lists(st.integers(1, 6), min_size=3, max_size=3, unique=True))
    padded = draw(st.sampled_from([0.0, 0.3]))

    def ids(length, words):
        array = rng.integers(4, words, (rows, length))
        array[rng.random(array.shape) < padded] = PAD
        return array

    source, target_in, target = (
        ids(length, words)
        for length, words in (
            (source_length, config.source_vocab),
            (target_length, config.target_vocab),
            (target_length, config.target_vocab),
        )
    )
    if draw(st.booleans()):
        source[rng.integers(rows)] = PAD
    return source, target_in, target


@given(st.data(), models(), st.sampled_from([0.0, 0.1, 1.0]))
def test_hand_is_the_tape_for_every_parameter_and_every_activation(data, model, label_smoothing):
    assert_as_traced(model, data.draw(batches(model.config)), label_smoothing)


@pytest.mark.parametrize("norm", CHOICES["norm"])
def test_a_model_in_float32_is_studied_in_float64(norm):
    assert_as_traced(small_model(dtype="float32", norm=norm), small_batch())


def test_dropout_is_left_out():
    assert_as_traced(small_model(dropout=0.4), small_batch())


@given(st.data(), models())
def test_hidden_cells_and_padding_get_exactly_nothing(data, model):
    source, target_in, target = data.draw(batches(model.config))
    activations = hand_gradients(model, source, target_in, target).activations
    for name, (value, _) in activations.items():
        if name.endswith("pattern"):
            assert not activations[f"{name.removesuffix('pattern')}scores"].gradient[value == 0].any()
    assert not activations["source_positions.out"].gradient[source == PAD].any()
    after = np.cumsum((target != PAD)[:, ::-1], axis=1)[:, ::-1] == 0  # nothing is asked here or later in this row
    assert not activations["target_positions.out"].gradient[after].any()


def test_a_batch_without_a_target_has_the_loss_0_and_no_gradient():
    source, target_in, target = small_batch()
    found = hand_gradients(small_model(), source, target_in, np.full_like(target, PAD))
    assert found.loss == 0
    assert not any(gradient.any() for gradient in found.parameters.values())


def test_the_tied_tables_gradient_is_the_sum_of_those_of_three_tables_of_their_own():
    tied = small_model(tied="all", source_vocab=13)
    apart = small_model(tied="none", source_vocab=13)
    table = tied.state_dict()["source_embedding.weight"]
    tables = {"source_embedding.weight": table, "target_embedding.weight": table, "output.weight": table.T}
    apart.load_state_dict(tied.state_dict() | tables)
    batch = small_batch(source_vocab=13)
    one, three = (hand_gradients(model, *batch).parameters for model in (tied, apart))
    total = three["source_embedding.weight"] + three["target_embedding.weight"] + three["output.weight"].T
    np.testing.assert_allclose(one["source_embedding.weight"], total, rtol=0, atol=1e-14)


@pytest.mark.parametrize("norm", CHOICES["norm"])
def test_gradients_foretell_what_the_loss_does(norm):
    """Without the tape: the slope of the hand's own loss along a random direction of all parameters, by Richardson."""
    model, batch, rng = small_model(norm=norm), small_batch(), np.random.default_rng(4)
    start = model.state_dict()
    direction = {name: rng.standard_normal(array.shape) for name, array in start.items()}
    foretold = sum(np.sum(g * direction[name]) for name, g in hand_gradients(model, *batch).parameters.items())

    def central(h):
        at = []
        for step in (h, -h):
            model.load_state_dict({name: array + step * direction[name] for name, array in start.items()})
            at.append(hand_gradients(model, *batch).loss)
        return (at[0] - at[1]) / (2 * h)

    assert abs((4 * central(5e-6) - central(1e-5)) / 3 - foretold) <= 1e-7 * abs(foretold)


@pytest.mark.parametrize(
    ("field", "choice"),
    [("norm_kind", "rms"), ("feed_forward", "gelu"), ("feed_forward", "swiglu"), ("cross_positions", "rotary")]
    + [("positions", kind) for kind in CHOICES["positions"] if kind != "sinusoidal"]
    + [("kv_heads", 1)],
)
def test_other_choices_are_refused_by_name(field, choice):
    model = small_model(**{field: choice})
    with pytest.raises(ValueError, match=rf"^hand_gradients: {field}={choice!r}.*the hand derivation covers"):
        hand_gradients(model, *small_batch())


def test_ids_that_do_not_fit_are_refused():
    model, (source, target_in, target) = small_model(), small_batch()
    with pytest.raises(ValueError, match=r"source \(3, 5\), target_in \(3, 7\), target \(3, 6\)"):
        hand_gradients(model, source, target_in, target[:, 1:])
    with pytest.raises(ValueError, match=r"source \(2, 5\)"):
        hand_gradients(model, source[1:], target_in, target)
    with pytest.raises(IndexError, match="target_in holds 0 to 13; ids are 0 to 12"):
        hand_gradients(model, source, np.where(target_in == target_in.max(), 13, target_in), target)
    with pytest.raises(IndexError, match="source holds -1"):
        hand_gradients(model, np.where(source == PAD, -1, source), target_in, target)
    with pytest.raises(ValueError, match=r"label_smoothing must be in \[0, 1\], not 1.5"):
        hand_gradients(model, source, target_in, target, 1.5)


def test_no_box_imports_anything_but_numpy_and_boxes():
    """So nothing of what is checked takes part in the check. The model's parts read its config, weights and ids."""
    joined = {"layers", "model"}
    allowed = {"transformer.config", "transformer.model", "transformer.vocabulary"}
    for path in Path(hand.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                ours = name.startswith("transformer.study.hand")
                if name.partition(".")[0] in ("minigrad", "transformer", "demos") and not ours:
                    assert path.stem in joined, f"{path.name} imports {name}"
                    assert name in allowed, f"{path.name} imports {name}"
