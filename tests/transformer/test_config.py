import pytest

from transformer import Transformer, TransformerConfig

SIZES = dict(source_vocab=9, target_vocab=10)


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
    ],
)
def test_what_does_not_fit_is_refused_with_the_numbers(changes, text):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the text is compared below
        TransformerConfig(**(SIZES | changes))
    assert text in str(error.value)
