"""Backward through the whole model against finite differences, on entries of every parameter."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.models import small_batch, small_model
from transformer.vocabulary import PAD

STEP = 1e-5
ENTRIES = 3


def loss_of(model, batch, seed=None):
    source, target_in, target_out = batch
    rng = None if seed is None else np.random.default_rng(seed)
    logits = model(source, target_in, rng=rng)
    return mg.cross_entropy(logits, target_out, ignore_index=PAD, label_smoothing=0.1)


@pytest.mark.parametrize(
    ("changes", "seed"),
    [({}, None), ({"norm": "pre"}, None), ({"tied": "output"}, None), ({"dropout": 0.3}, 7),
     ({"tied": "all", "source_vocab": 13}, None)],
    ids=["paper", "pre-norm", "tied output", "dropout", "tied three ways"],
)  # fmt: skip
def test_every_parameter_agrees_with_finite_differences(changes, seed):
    model, batch = small_model(**changes), small_batch()
    loss_of(model, batch, seed).backward()
    rng = np.random.default_rng(0)
    for name, parameter in model.named_parameters():
        start = parameter.data
        for place in rng.choice(parameter.size, min(ENTRIES, parameter.size), replace=False):
            index = np.unravel_index(place, parameter.shape)
            around = []
            for h in (STEP, -STEP):
                moved = start.copy()
                moved[index] += h
                parameter.data = moved
                around.append(loss_of(model, batch, seed).item())
            parameter.data = start
            expected, got = (around[0] - around[1]) / (2 * STEP), parameter.grad.data[index]
            bound = max(1e-9, 1e-6 * max(abs(expected), abs(got)))
            assert abs(expected - got) <= bound, f"{name}{index}: expected {expected}, got {got}"


def test_every_parameter_gets_its_own_nonzero_gradient_but_the_key_biases():
    model = small_model()
    loss_of(model, small_batch()).backward()
    for name, parameter in model.named_parameters():
        size = np.abs(parameter.grad.data).max()
        if name.endswith("key.bias"):
            assert size < 1e-15  # adding the same to every score of a row changes no weight
        else:
            assert size > 1e-6, name
    arrays = [parameter.grad.data for parameter in model.parameters()]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def test_the_definitions_give_the_gradients_of_the_kernels():
    model, batch = small_model(dropout=0.3), small_batch()
    fused = mg.gradients(loss_of(model, batch, 7), model.parameters())
    with mg.unfused():
        defined = mg.gradients(loss_of(model, batch, 7), model.parameters())
    for a, b in zip(fused, defined, strict=True):
        np.testing.assert_allclose(a.data, b.data, rtol=1e-10, atol=1e-14)


def test_tied_tables_have_one_gradient_that_is_the_sum_of_the_three_untied_ones():
    tied, batch = small_model(tied="all", source_vocab=13), small_batch()
    assert sum("embedding" in name for name, _ in tied.named_parameters()) == 1
    untied = small_model(source_vocab=13)
    state = {name: tied.state_dict().get(name) for name, _ in untied.named_parameters()}
    table = tied.source_embedding.weight.data
    state |= {"target_embedding.weight": table, "output.weight": table.T}
    untied.load_state_dict(state)
    loss_of(tied, batch).backward()
    loss_of(untied, batch).backward()
    expected = (
        untied.source_embedding.weight.grad.data
        + untied.target_embedding.weight.grad.data
        + untied.output.weight.grad.data.T
    )
    np.testing.assert_allclose(tied.source_embedding.weight.grad.data, expected, rtol=1e-12, atol=1e-15)


def test_a_tie_survives_saving_and_loading_and_has_one_optimiser_slot(tmp_path):
    model = small_model(tied="all", source_vocab=13)
    mg.save(tmp_path / "m.safetensors", model.state_dict())
    other = small_model(seed=5, tied="all", source_vocab=13)
    other.load_state_dict(mg.load(tmp_path / "m.safetensors"))
    assert other.output.weight is other.source_embedding.weight is other.target_embedding.weight
    assert len({id(parameter) for parameter in model.parameters()}) == len(model.parameters())
    optimizer = mg.optim.Adam(model.parameters(), lr=1e-3)
    loss_of(model, small_batch()).backward()
    optimizer.step()
    assert optimizer.state_dict()["sum"].size == model.parameter_count


def test_micro_batches_of_unequal_length_add_up_to_the_full_batch():
    model, (source, target_in, target_out) = small_model(), small_batch()

    def summed(rows):
        return mg.cross_entropy(
            model(source[rows], target_in[rows]), target_out[rows], ignore_index=PAD, reduction="sum"
        )

    whole = mg.gradients(summed(slice(None)), model.parameters())
    parts = [mg.gradients(summed(rows), model.parameters()) for rows in (slice(0, 1), slice(1, 3))]
    for full, first, second in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(full.data, first.data + second.data, rtol=1e-10, atol=1e-13)
