"""The backward pass of every box of the encoder-decoder, written out by hand in plain NumPy: no tape, no minigrad.

Each box is a file, each file a derivation and two functions: `forward(...) -> (out, kept)`, and
`backward(d_out, kept) -> gradients`, which reads what the forward pass kept. Read them in this order:

    linear             y = x W + b
    softmax            P = softmax(S)
    attention          softmax(Q K' / sqrt(d)) V
    multi_head         heads side by side
    feed_forward       max(0, x W_1 + b_1) W_2 + b_2
    layer_norm         (x - mean) / sigma * gain + bias
    add_norm           LayerNorm(x + Sublayer(x))           pre_norm: x + Sublayer(LayerNorm(x))
    embedding          a row of the table for each word, and its place
    projection         x E' + b, with the embedding's table E
    cross_entropy      the loss
    stack, model       the boxes joined: `hand_gradients`

    found = hand_gradients(model, source, target_in, target)
    found.parameters["encoder.layers.0.self_attention.query.weight"]            # its gradient
    found.activations["encoder.layers.0.self_attention.scores"].gradient        # and .value

How the derivations are written. L is the loss, one number. dX is ∂L/∂X: one number for each element of X, so of X's
shape. ∂y_j/∂x_i is how one element of one array depends on one of another. All rests on one rule, the chain rule:

    dx_i = sum_j dy_j ∂y_j/∂x_i          j: everything that x_i reaches in one step

So what is read in several places gets a sum, one term a place. δ_ij is 1 where i = j, else 0; X' is X transposed; * is
element by element. Batch and heads are left out where nothing mixes them: each goes its way alone.
"""

from transformer.study.hand.gathered import Activation
from transformer.study.hand.model import Hand, hand_gradients

__all__ = ["Activation", "Hand", "hand_gradients"]
