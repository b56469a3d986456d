"""Weights to and from PyTorch, in the names and shapes of `torch.nn.Transformer(..., batch_first=True)`'s state dict.

torch itself is not needed: it reads and gives arrays (`torch.from_numpy`, `Tensor.numpy`). The body has torch's own
names, `encoder.layers.0.self_attn.in_proj_weight` and so on. torch.nn.Transformer has neither embeddings nor an output;
here they are `source_embedding.weight` (V_s, D), `target_embedding.weight` (V_t, D), `output.weight` (V_t, D) and
`output.bias` (V_t), which are the names of two `nn.Embedding` and one `nn.Linear`, attributes of a class derived from
nn.Transformer. A tied table stands under each of its names, as in torch's own state dict.

What differs: torch's matrices are (out, in), ours (in, out); torch packs the projections of query, key and value one
above the other, (3D, D); the weight of a norm is our gain.

What weights don't say must be asked of torch: norm_first where the config's norm is "pre", `activation` as the config's
feed_forward, `bias` as the config's, eps 1e-5. Embeddings are multiplied by sqrt(D) and are 0 at padding, and positions
count words, not padding.

torch.nn.Transformer ends either stack with a norm, `encoder.norm` and `decoder.norm`. These are a pre-norm model's last
norms. A post-norm model, the paper's, has none: build torch's with `nn.TransformerEncoder(layer, N, norm=None)`.
Source: torch 2.13, torch/nn/modules/transformer.py and activation.py (MultiheadAttention).
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from minigrad import CheckpointError
from transformer.config import TransformerConfig
from transformer.model import Transformer

Arrays = dict[str, npt.NDArray[Any]]

ENCODER_LAYER: dict[str, tuple[str, ...]] = {
    "self_attn.in_proj_": ("self_attention.query", "self_attention.key", "self_attention.value"),
    "self_attn.out_proj.": ("self_attention.output",),
    "linear1.": ("feed_forward.inner",),
    "linear2.": ("feed_forward.outer",),
    "norm1.": ("self_attention_norm",),
    "norm2.": ("feed_forward_norm",),
}
DECODER_LAYER: dict[str, tuple[str, ...]] = ENCODER_LAYER | {
    "multihead_attn.in_proj_": ("cross_attention.query", "cross_attention.key", "cross_attention.value"),
    "multihead_attn.out_proj.": ("cross_attention.output",),
    "norm2.": ("cross_attention_norm",),
    "norm3.": ("feed_forward_norm",),
}
"""What torch's names of a layer begin with, before "weight" and "bias", and our modules, in the order of packing."""

STACKS = {"encoder": ENCODER_LAYER, "decoder": DECODER_LAYER}
LAST_IN_LAYER = {"encoder": "norm2.", "decoder": "norm3."}


def to_torch(model: Transformer) -> Arrays:
    """The model's weights as torch names and turns them: new arrays, of the model's dtype, in C order.

    A pre-norm model has `encoder.norm` and `decoder.norm`, a post-norm model leaves them out. `from_torch` is the exact
    inverse. Raises CheckpointError, naming the choice, for a config that torch.nn.Transformer does not have.
    """
    ours = model.state_dict()
    return {
        name: np.ascontiguousarray(np.concatenate([_turned(part, ours[part]) for part in parts]))
        for name, parts in _layout(model).items()
    }


def from_torch(model: Transformer, state: Mapping[str, Any]) -> None:
    """Give the model the weights in `state`, named and shaped as `to_torch` does; all of them, or none if any is wrong.

    state: name -> array or whatever NumPy can read, such as the tensors of a torch module's `state_dict()` on the CPU.
    They are cast to the model's dtype, so that the way there and back is exact where the dtypes are the same.

    A post-norm model takes a state with last norms only where they change nothing: `encoder.norm` and `decoder.norm`
    have weight 1 and bias 0, and so has the norm before them, at the end of the last layer. (A last norm undoes the
    gain and bias of the norm before it, whatever its own.) They are left out then. Even these would change a number by
    eps, 1e-5 of itself, since a norm's output has a variance a little less than 1: so near are the two models' outputs.

    Raises CheckpointError, naming the first three names that are missing, unknown, of another shape or dtype, or that
    differ although they are one tied table; and for last norms that a post-norm model can't have.
    """
    layout = _layout(model)
    given = {name: _array(name, value) for name, value in state.items()}
    extra = {} if model.config.norm == "pre" else _last_norms(given)
    given = {name: array for name, array in given.items() if name not in extra}
    _refuse(_misfits(given, to_torch(model)))
    _refuse(_untied(given, layout))
    if extra:
        _refuse_a_norm_that_counts(given | extra, model.config)
    model.load_state_dict(_in_our_names(given, layout))


ONLY: dict[str, tuple[Any, ...]] = {
    "norm_kind": ("layer",),
    "positions": ("sinusoidal", "none"),
    "cross_positions": ("none",),
    "feed_forward": ("relu", "gelu"),
}
"""The choices of a config that torch.nn.Transformer has, where it has not all."""


def _layout(model: Transformer) -> dict[str, tuple[str, ...]]:
    """torch's name -> our names of what it packs, for each array of the state dict, in torch's way of speaking."""
    _refuse_choices(model)
    config, layout = model.config, _ends(model.config)
    for stack, layer in STACKS.items():
        for n in range(config.layers):
            for theirs, ours in layer.items():
                named = [f"{stack}.layers.{n}.{one}" for one in ours]
                layout |= _weight_and_bias(f"{stack}.layers.{n}.{theirs}", named, config.bias)
        if config.norm == "pre":
            layout |= _weight_and_bias(f"{stack}.norm.", [f"{stack}.norm"], config.bias)
    placed = {part for parts in layout.values() for part in parts}
    _refuse([f"{name} has no place in torch.nn.Transformer" for name in model.state_dict() if name not in placed])
    return layout


def _refuse_choices(model: Transformer) -> None:
    """CheckpointError for a model that torch.nn.Transformer has no place for, whatever its weights are."""
    if not isinstance(model, Transformer):
        raise CheckpointError(f"torch.nn.Transformer is an encoder and a decoder, not {type(model).__name__}")
    config = model.config
    problems = [
        f"{name}={getattr(config, name)!r}" for name, known in ONLY.items() if getattr(config, name) not in known
    ]
    if config.key_value_heads != config.heads:
        problems.append(f"kv_heads={config.kv_heads} of {config.heads} heads")
    if problems:
        raise CheckpointError(f"torch.nn.Transformer does not have {', '.join(problems)}")


def _ends(config: TransformerConfig) -> dict[str, tuple[str, ...]]:
    """Embeddings and output; names of one table where they are tied."""
    source, target = "source_embedding.weight", "target_embedding.weight"
    shared = source if config.tied == "all" else target
    return {
        source: (source,),
        target: (shared,),
        "output.weight": ("output.weight",) if config.tied == "none" else (shared,),
        "output.bias": ("output.bias",),
    }


def _weight_and_bias(theirs: str, ours: list[str], bias: bool) -> dict[str, tuple[str, ...]]:
    """The arrays of a Linear, of a norm, or of three Linears packed; bias: whether there is one."""
    weight = "gain" if ours[0].endswith("norm") else "weight"
    arrays = {f"{theirs}weight": tuple(f"{one}.{weight}" for one in ours)}
    return arrays | {f"{theirs}bias": tuple(f"{one}.bias" for one in ours)} if bias else arrays


def _turned(ours: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(in, out) <-> (out, in) for the matrix of a Linear; tables and vectors as they are."""
    return array if ours.endswith("embedding.weight") else array.T


def _in_our_names(given: Arrays, layout: dict[str, tuple[str, ...]]) -> Arrays:
    """The state dict of our model: unpacked and turned back."""
    return {
        part: _turned(part, array)
        for name, parts in layout.items()
        for part, array in zip(parts, np.split(given[name], len(parts)), strict=True)
    }


def _array(name: str, value: Any) -> npt.NDArray[Any]:
    """`value` as an array; CheckpointError if it is none that NumPy can read (bfloat16, on another device)."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{name} can't be read as an array: {error}") from None


def _misfits(given: Arrays, expected: Arrays) -> list[str]:
    """What is wrong with the names, shapes and dtypes in `given`, one sentence each."""
    problems = [f"{name} is missing" for name in expected if name not in given]
    problems += [f"{name} is not known" for name in given if name not in expected]
    for name, array in expected.items():
        if name in given and given[name].shape != array.shape:
            problems.append(f"{name} has shape {given[name].shape}, not {array.shape}")
        elif name in given and given[name].dtype.kind != "f":
            problems.append(f"{name} has dtype {given[name].dtype}, not a floating one")
    return problems


def _untied(given: Arrays, layout: dict[str, tuple[str, ...]]) -> list[str]:
    """Names of one tied table under which different tables stand."""
    first: dict[tuple[str, ...], str] = {}
    problems = []
    for name, parts in layout.items():
        other = first.setdefault(parts, name)
        if not np.array_equal(given[name], given[other], equal_nan=True):
            problems.append(f"{name} is tied to {other} and differs from it")
    return problems


def _refuse(problems: Iterable[str]) -> None:
    """CheckpointError with the first three, if there are any."""
    if found := list(problems):
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise CheckpointError(f"these weights and this model do not fit: {'; '.join(found[:3])}{more}")


def _last_norms(given: Arrays) -> Arrays:
    """The weights of `encoder.norm` and `decoder.norm`, of those that are there."""
    names = [f"{stack}.norm.{part}" for stack in STACKS for part in ("weight", "bias")]
    return {name: given[name] for name in names if name in given}


def _refuse_a_norm_that_counts(given: Arrays, config: TransformerConfig) -> None:
    """CheckpointError if a post-norm model with these last norms is another than the one without."""
    for stack, last in LAST_IN_LAYER.items():
        norm, before = f"{stack}.norm.", f"{stack}.layers.{config.layers - 1}.{last}"
        present = f"{norm}weight" in given or f"{norm}bias" in given
        if present and not all(_is_plain(given, each, config) for each in (norm, before)):
            raise CheckpointError(
                f"{stack}.norm is a last norm, which a post-norm model does not have. It could be left out only if its "
                f"weight and that of {before.removesuffix('.')} were 1, their biases 0. Build torch's model with "
                "nn.TransformerEncoder(layer, N, norm=None) and nn.TransformerDecoder(layer, N, norm=None)"
            )


def _is_plain(given: Arrays, norm: str, config: TransformerConfig) -> bool:
    """Whether a norm's weight (D,) is there and 1, and its bias (D,), if the config wants biases, there and 0."""
    nothing = np.empty(0)
    plain = np.array_equal(given.get(f"{norm}weight", nothing), np.ones(config.d_model))
    bias = given.get(f"{norm}bias", nothing)
    return plain and (np.array_equal(bias, np.zeros(config.d_model)) if config.bias else not bias.size)
