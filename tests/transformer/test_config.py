import pytest

from transformer import Transformer, TransformerConfig
from transformer.config import CHOICES, OneStackConfig

SIZES = dict(source_vocab=9, target_vocab=10)
SMALL = SIZES | dict(d_model=12, heads=4, layers=1, d_ff=16)


def test_the_defaults_are_the_papers_base_model():
    config = TransformerConfig(**SIZES)
    assert (config.d_model, config.heads, config.layers, config.d_ff, config.dropout, config.norm) == (
        512, 8, 6, 2048, 0.1, "post",
    )  # fmt: skip
    assert config.d_head == 64


def test_the_base_model_with_the_papers_vocabulary_has_the_papers_65_million_parameters():
    # table 3 says 65 million; our embeddings are tied as section 3.4 says, and the attention projections have biases
    config = TransformerConfig(source_vocab=37000, target_vocab=37000, tied="all")
    assert 62e6 < Transformer(config).parameter_count < 66e6


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (dict(d_model=10, heads=4), "d_model=10 must be a multiple of heads=4"),
        (dict(dropout=1.0), "dropout must be in [0, 1), not 1.0"),
        (dict(norm="both"), "norm is 'post' or 'pre', not 'both'"),
        (dict(tied="all"), "source_vocab=9, target_vocab=10"),
        (dict(layers=0), "layers must be a positive integer, not 0"),
        (dict(d_ff=2.5), "d_ff must be a positive integer, not 2.5"),
        (dict(max_length=True), "max_length must be a positive integer, not True"),
        (dict(kv_heads=3), "heads=8 must be a multiple of kv_heads=3"),
        (dict(kv_heads=16), "heads=8 must be a multiple of kv_heads=16"),
        (dict(kv_heads=-1), "kv_heads must be a positive integer, or 0 for as many as heads, not -1"),
        (dict(kv_heads=True), "kv_heads must be a positive integer, or 0 for as many as heads, not True"),
        (dict(kv_heads=2.0), "kv_heads must be a positive integer, or 0 for as many as heads, not 2.0"),
        (dict(bias=1), "bias is True or False, not 1"),
        (dict(d_model=40, positions="rotary"), "a head's width must be even, not 5 (d_model=40 / heads=8)"),
        (dict(d_model=40, cross_positions="rotary"), "cross_positions='rotary' turns pairs, so a head's width must be"),
        (dict(d_model=40, cross_positions="rotary_both_ends"), "cross_positions='rotary_both_ends' turns pairs"),
        (dict(rotary_base=1.0), "rotary_base must be a number greater than 1, not 1.0"),
        (dict(rotary_base=float("nan")), "rotary_base must be a number greater than 1, not nan"),
        (dict(kv_heads=1, cross_positions="rotary_both_ends"), "halves the heads of keys: 1 can't be halved"),
        (dict(d_model=6, heads=3, cross_positions="rotary_both_ends"), "halves the heads of keys: 3 can't be halved"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_numbers(changes, text):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the text is compared below
        TransformerConfig(**(SIZES | changes))
    assert text in str(error.value)


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["Post", "", None, 3, ["post"]])
def test_an_unknown_choice_is_refused_with_those_there_are(name, value):
    with pytest.raises(ValueError, match=f"^{name} is ") as error:
        TransformerConfig(**SIZES, **{name: value})
    assert all(repr(choice) in str(error.value) for choice in CHOICES[name])
    assert str(error.value).endswith(f"not {value!r}")


def test_every_choice_is_a_field_and_the_paper_s_is_its_default():
    config = TransformerConfig(**SIZES)
    assert {name: getattr(config, name) for name in CHOICES} == {name: first for name, (first, *_) in CHOICES.items()}


def test_what_does_not_turn_takes_a_head_of_odd_width_and_what_has_no_halves_one_of_keys():
    assert TransformerConfig(**SIZES, d_model=40, positions="alibi").d_head == 5
    assert TransformerConfig(**SIZES, kv_heads=1, cross_positions="rotary").key_value_heads == 1
    assert TransformerConfig(**SIZES, kv_heads=2, cross_positions="rotary_both_ends").key_value_heads == 2


def count(**changes):
    return Transformer(TransformerConfig(**(SMALL | changes))).parameter_count


def test_each_choice_has_the_parameters_that_it_says():
    """One layer a stack: 3 attentions, 2 feed-forward networks, 5 norms; d_model 12, d_ff 16, heads 4."""
    base = count()
    assert count(norm="pre") - base == 2 * (12 + 12)  # a last norm for each stack
    assert base - count(norm_kind="rms") == 5 * 12  # no bias in a norm
    assert base - count(kv_heads=2) == 3 * 2 * (12 * 6 + 6)  # half of the keys and values
    assert count(feed_forward="swiglu") - base == 2 * (12 * 16 + 16)  # a gate
    assert base - count(bias=False) == 3 * 4 * 12 + 2 * (16 + 12) + 5 * 12
    assert count(positions="learned", max_length=7) - base == 2 * 7 * 12
    for kept in ("rotary", "alibi", "randomised", "none"):
        assert count(positions=kept, d_model=24) == count(d_model=24)
    assert count(cross_positions="rotary_both_ends", d_model=24) == count(d_model=24)


def test_a_model_of_one_stack_has_one_vocabulary_and_ties_its_output_or_nothing():
    assert OneStackConfig(vocab=9, tied="output").vocab == 9
    with pytest.raises(ValueError, match="tied is 'none' or 'output' in a model of one vocabulary, not 'all'"):
        OneStackConfig(vocab=9, tied="all")
    with pytest.raises(ValueError, match="vocab must be a positive integer, not 0"):
        OneStackConfig(vocab=0)
    with pytest.raises(ValueError, match="heads=8 must be a multiple of kv_heads=3"):
        OneStackConfig(vocab=9, kv_heads=3)
