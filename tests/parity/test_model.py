"""The whole model is torch's: weights both ways, logits, gradients of all parameters, the losses of 50 Adam steps.

In float64 to 1e-9, with padding, causal masks, and distinct sizes throughout. torch runs in train mode, since in eval
mode it may take another path of its own; dropout is 0. No target begins with padding: torch answers NaN where a query
sees no key.
"""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import minigrad as mg
from minigrad import CheckpointError
from tests.parity.comparison import assert_close
from tests.transformer.models import SHAPE, small_batch, small_model
from transformer import Transformer, TransformerConfig
from transformer.interop.torch_weights import from_torch, to_torch
from transformer.positions import sinusoids
from transformer.vocabulary import PAD

STEPS, RATE, BETAS, EPS = 50, 1e-3, (0.9, 0.98), 1e-9
CASES = {
    f"{norm}-norm, {activation}, {'biases' if bias else 'no biases'}, tied {tied}": {
        "norm": norm, "feed_forward": activation, "bias": bias, "tied": tied,
        "source_vocab": 13 if tied == "all" else SHAPE["source_vocab"],
    }
    for norm, activation, bias, tied in itertools.product(
        ("post", "pre"), ("relu", "gelu"), (True, False), ("none", "output", "all")
    )
}  # fmt: skip
"""Every config that torch.nn.Transformer has."""
by_case = pytest.mark.parametrize("changes", CASES.values(), ids=CASES)


class Model(nn.Transformer):
    """torch's encoder and decoder, with the paper's ends: embeddings, positions that skip padding, an output."""

    def __init__(self, config, last_norms):
        d, layers, pre = config.d_model, config.layers, config.norm == "pre"
        settings = dict(d_model=d, nhead=config.heads, dim_feedforward=config.d_ff, dropout=0.0, batch_first=True)
        settings |= dict(activation=config.feed_forward, bias=config.bias)
        encoder = nn.TransformerEncoderLayer(**settings, norm_first=pre)
        decoder = nn.TransformerDecoderLayer(**settings, norm_first=pre)
        norms = [nn.LayerNorm(d, bias=config.bias) if last_norms else None for _ in range(2)]
        super().__init__(
            custom_encoder=nn.TransformerEncoder(encoder, layers, norms[0], enable_nested_tensor=False),
            custom_decoder=nn.TransformerDecoder(decoder, layers, norms[1]),
            **settings,
        )
        self.source_embedding = nn.Embedding(config.source_vocab, d)
        self.target_embedding = nn.Embedding(config.target_vocab, d)
        self.output = nn.Linear(d, config.target_vocab)
        if config.tied == "all":
            self.target_embedding.weight = self.source_embedding.weight
        if config.tied != "none":
            self.output.weight = self.target_embedding.weight

    def embedded(self, embedding, ids):
        """(B, T) -> (B, T, D)."""
        words, places = ids != PAD, (ids != PAD).cumsum(1).sub(1).clamp(min=0)
        positions = torch.tensor(sinusoids(ids.shape[1], self.d_model), dtype=embedding.weight.dtype)
        return embedding(ids) * math.sqrt(self.d_model) * words[:, :, None] + positions[places]

    def forward(self, source, target):
        """(B, T_s), (B, T_t) -> logits (B, T_t, V). torch's masks are True at what may not be seen."""
        length = target.shape[1]
        y = super().forward(
            self.embedded(self.source_embedding, source),
            self.embedded(self.target_embedding, target),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
        )
        return self.output(y)


def torchs(config, weights=None, last_norms=None):
    """torch's model in float64, in train mode; strictly with these weights."""
    torch.manual_seed(0)
    model = Model(config, config.norm == "pre" if last_norms is None else last_norms).double()
    if weights is not None:
        model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return model


def twins(changes):
    """Our model, every parameter random, and torch's with the same weights."""
    mine = small_model(**changes)
    return mine, torchs(mine.config, to_torch(mine))


def batch(config, seed):
    """(source, target_in, target_out), padding before, among and after the words; no two batches of one length."""
    sizes = dict(source_length=4 + seed % 3, target_length=7 + seed % 2)
    vocabularies = dict(source_vocab=config.source_vocab, target_vocab=config.target_vocab)
    source, target_in, target_out = small_batch(seed, batch=3, **sizes, **vocabularies)
    source[2, 0] = PAD
    target_in[2, 3] = PAD
    assert all((ids == PAD).any() for ids in (source, target_in, target_out))
    return source, target_in, target_out


def losses(mine, theirs, source, target_in, target_out):
    """The same cross-entropy of both, over the words that are not padding."""
    ours = mg.cross_entropy(mine(source, target_in), target_out, ignore_index=PAD)
    logits = theirs(torch.from_numpy(source), torch.from_numpy(target_in))
    classes = torch.from_numpy(np.ascontiguousarray(target_out)).flatten()
    return ours, F.cross_entropy(logits.flatten(0, 1), classes, ignore_index=PAD)


def gradients_in_torchs_names(model):
    """All gradients, turned and packed as the weights are."""
    with mg.default_dtype("float64"):
        holder = Transformer(model.config)
    for place, parameter in zip(holder.parameters(), model.parameters(), strict=True):
        place.data = parameter.grad.data
    return to_torch(holder)


@by_case
@pytest.mark.parametrize("seed", [0, 1])
def test_logits_and_all_gradients(changes, seed):
    mine, theirs = twins(changes)
    source, target_in, target_out = batch(mine.config, seed)
    assert_close("logits", mine(source, target_in), theirs(torch.from_numpy(source), torch.from_numpy(target_in)))
    ours, torchs_loss = losses(mine, theirs, source, target_in, target_out)
    assert_close("loss", ours, torchs_loss)
    ours.backward()
    torchs_loss.backward()
    found = gradients_in_torchs_names(mine)
    parameters = dict(theirs.named_parameters())
    assert sum(parameter.numel() for parameter in parameters.values()) == mine.parameter_count
    for name, parameter in parameters.items():
        assert_close(name, found[name], parameter.grad)


def fifty_adam_steps(mine, theirs, pair_at):
    """Our losses and torch's, each step by its own Adam. pair_at: both losses of a step, on the same batch."""
    ours = mg.optim.Adam(mine, lr=RATE, betas=BETAS, eps=EPS)
    other = torch.optim.Adam(theirs, lr=RATE, betas=BETAS, eps=EPS)
    seen = []
    for step in range(STEPS):
        pair = pair_at(step)
        for optimizer, loss in zip((ours, other), pair, strict=True):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seen.append([float(loss.item()) for loss in pair])
    return np.transpose(seen)


@by_case
def test_the_losses_of_fifty_adam_steps(changes):
    mine, theirs = twins(changes)

    def pair_at(step):
        return losses(mine, theirs, *batch(mine.config, step % 6))

    found, expected = fifty_adam_steps(mine.parameters(), theirs.parameters(), pair_at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert found[-6:].mean() < 0.9 * found[:6].mean()  # it did learn


@by_case
def test_weights_go_to_torch_and_back_bit_for_bit(changes):
    mine, theirs = twins(changes)
    again = small_model(seed=5, **changes)
    from_torch(again, theirs.state_dict())
    for name, array in mine.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name], array, err_msg=name)


@by_case
def test_weights_come_from_torch_and_go_back_bit_for_bit(changes):
    mine = small_model(**changes)
    state = torchs(mine.config).state_dict()
    from_torch(mine, state)
    found = to_torch(mine)
    assert found.keys() == state.keys()
    for name, tensor in state.items():
        np.testing.assert_array_equal(found[name], tensor.numpy(), err_msg=name)


@by_case
def test_the_models_share_no_memory(changes):
    mine = small_model(**changes)
    theirs = torchs(mine.config)
    from_torch(mine, theirs.state_dict())
    before = to_torch(mine)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(1)
    for name, array in to_torch(mine).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_torchs_own_body_as_it_stands_is_a_pre_norm_model():
    """nn.Transformer with no custom stacks, and its own names: only the ends are added."""
    mine = small_model(norm="pre")
    c = mine.config
    settings = dict(num_encoder_layers=c.layers, num_decoder_layers=c.layers, norm_first=True, batch_first=True)
    with pytest.warns(UserWarning, match="enable_nested_tensor"):
        body = nn.Transformer(c.d_model, c.heads, dim_feedforward=c.d_ff, **settings).double()
    ends = {name: array for name, array in to_torch(mine).items() if not name.startswith(("encoder.", "decoder."))}
    from_torch(mine, body.state_dict() | ends)
    assert to_torch(mine).keys() - ends.keys() == body.state_dict().keys()


def test_last_norms_of_a_fresh_post_norm_model_are_left_out_and_change_outputs_by_about_eps():
    config = TransformerConfig(**SHAPE)
    theirs = torchs(config, last_norms=True)
    mine = small_model()
    from_torch(mine, theirs.state_dict())
    source, target_in, _ = batch(config, 0)
    expected = theirs(torch.from_numpy(source), torch.from_numpy(target_in)).numpy(force=True)
    difference = np.abs(mine(source, target_in).data - expected).max()
    assert 0 < difference < 1e-4


@pytest.mark.parametrize("changed", ["encoder.norm.bias", "decoder.norm.weight", "decoder.layers.1.norm3.weight"])
def test_last_norms_that_count_are_refused(changed):
    """Also one of weight 1 and bias 0, where it undoes the gain of the norm before it."""
    theirs = torchs(TransformerConfig(**SHAPE), last_norms=True)
    with torch.no_grad():
        theirs.get_parameter(changed)[3] += 0.5
    with pytest.raises(CheckpointError, match=rf"^{changed[:7]}\.norm is a last norm"):
        from_torch(small_model(), theirs.state_dict())


@pytest.mark.parametrize("kind", ["bfloat16", "requires grad"])
def test_a_tensor_that_numpy_can_not_read_is_named(kind):
    mine = small_model()
    state = torchs(mine.config).state_dict()
    bias = state["output.bias"]
    state["output.bias"] = bias.bfloat16() if kind == "bfloat16" else bias.requires_grad_()
    with pytest.raises(CheckpointError, match=r"output\.bias can't be read as an array"):
        from_torch(mine, state)
