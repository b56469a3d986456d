"""Classic mistakes in derivatives: each an operation written twice, with one forward pass, a wrong and a right rule."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.primitive import Primitive, Rule

Function = Callable[..., mg.Tensor]
Entry = tuple[Function, Function, list[np.ndarray]]

GALLERY: dict[str, Callable[[], Entry]] = {}
"""(wrong, right, arguments) by the name of the mistake. Made when called: an operation's name can be taken once."""


def entry(make: Callable[[], Entry]) -> Callable[[], Entry]:
    """Put (wrong, right, arguments) into the gallery, under the function's name."""
    GALLERY[make.__name__.replace("_", " ")] = make
    return make


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape)


def both(forward: Any, wrong: Any, right: Any, reads: str = "x out", **options: Any) -> tuple[Function, Function]:
    """An operation of one operand with either rule."""
    return (
        Primitive("wrong", forward, "", Rule(wrong, reads), **options),
        Primitive("right", forward, "", Rule(right, reads), **options),
    )


def both_of_two(forward: Any, wrong: Any, right: Any, first: Any, reads: str = "x y out") -> tuple[Function, Function]:
    """An operation of two operands: a right rule for the first, and either for the second."""
    return (
        Primitive("wrong", forward, "", Rule(first, reads), Rule(wrong, reads)),
        Primitive("right", forward, "", Rule(first, reads), Rule(right, reads)),
    )


@entry
def sign_of_the_cosine() -> Entry:
    return *both(np.cos, lambda g, out, x: g * np.sin(x), lambda g, out, x: -g * np.sin(x)), [numbers(3)]


@entry
def factor_two() -> Entry:
    return *both(lambda x: x * x, lambda g, out, x: g * x, lambda g, out, x: 2 * g * x), [numbers(3)]


@entry
def cotangent_forgotten() -> Entry:
    return *both(np.exp, lambda g, out, x: np.exp(x), lambda g, out, x: g * np.exp(x)), [numbers(3)]


@entry
def cotangent_taken_for_its_sum() -> Entry:
    return *both(np.exp, lambda g, out, x: g.sum() * out, lambda g, out, x: g * out), [numbers(2, 3)]


@entry
def input_in_place_of_the_output() -> Entry:
    return *both(np.tanh, lambda g, out, x: g * (1 - x * x), lambda g, out, x: g * (1 - out * out)), [numbers(3)]


@entry
def root_of_the_input_forgotten() -> Entry:
    return *both(
        np.sqrt, lambda g, out, x: g / (2 * x), lambda g, out, x: g / (2 * out)
    ), [numbers(4)]  # fmt: skip


@entry
def quotient_without_its_square() -> Entry:
    rules = (lambda g, out, x, y: -g * x / y, lambda g, out, x, y: -g * x / (y * y), lambda g, out, x, y: g / y)
    return *both_of_two(np.divide, *rules), [numbers(3), numbers(3, seed=1)]


@entry
def operands_exchanged() -> Entry:
    rules = (lambda g, out, x, y: g * y, lambda g, out, x, y: g * x, lambda g, out, x, y: g * y)
    return *both_of_two(np.multiply, *rules), [numbers(3), numbers(3, seed=1)]


@entry
def broadcast_operand_averaged_where_it_is_summed() -> Entry:
    rules = (
        lambda g, out, x, y: (g * x).mean(axis=0),
        lambda g, out, x, y: (g * x).sum(axis=0),
        lambda g, out, x, y: g * y,
    )
    return *both_of_two(np.multiply, *rules), [numbers(4, 3), numbers(3, seed=1)]


@entry
def no_unbroadcast_but_the_first_row() -> Entry:
    rules = (lambda g, out, x, y: (g * x)[0], lambda g, out, x, y: g * x, lambda g, out, x, y: g * y)
    return *both_of_two(np.multiply, *rules), [numbers(4, 3), numbers(3, seed=1)]


@entry
def unbroadcast_over_the_wrong_axis() -> Entry:
    rules = (
        lambda g, out, x, y: (g * x).sum(axis=1),
        lambda g, out, x, y: (g * x).sum(axis=0),
        lambda g, out, x, y: g * y,
    )
    return *both_of_two(np.multiply, *rules), [numbers(3, 3), numbers(3, seed=1)]


@entry
def cotangent_transposed() -> Entry:
    return *both(lambda x: 2 * x, lambda g, out, x: 2 * g.T, lambda g, out, x: 2 * g), [numbers(3, 3)]


@entry
def matrix_product_with_the_factor_not_transposed() -> Entry:
    rules = (
        lambda g, out, x, y: x @ g,
        lambda g, out, x, y: np.swapaxes(x, -1, -2) @ g,
        lambda g, out, x, y: g @ np.swapaxes(y, -1, -2),
    )
    return *both_of_two(np.matmul, *rules), [numbers(3, 3), numbers(3, 3, seed=1)]


@entry
def permutation_in_place_of_its_inverse() -> Entry:
    order = (1, 2, 0)
    rules = lambda g, out, x: g.transpose(order), lambda g, out, x: g.transpose((2, 0, 1))
    return *both(lambda x: x.transpose(order), *rules), [numbers(3, 3, 3)]


@entry
def equals_where_plus_equals_is_meant() -> Entry:
    rows = np.array([0, 2, 0, 0])

    def overwrites(g: Any, out: Any, x: Any) -> Any:
        found = np.zeros(x.shape)
        found[rows] = g
        return found

    right = Rule(lambda g, out, x: mg.scatter_add(g, rows, x.shape).data)
    return (
        Primitive("wrong", lambda x: x[rows], "", Rule(overwrites)),
        Primitive("right", lambda x: x[rows], "", right),
        [numbers(3, 2)],
    )


@entry
def one_of_two_uses_forgotten() -> Entry:
    rules = lambda g, out, x: g * np.exp(x), lambda g, out, x: g * np.exp(x) * (1 + x)
    return *both(lambda x: x * np.exp(x), *rules), [numbers(3)]


@entry
def mean_without_its_share() -> Entry:
    rules = lambda g, out, x: np.broadcast_to(g, x.shape), lambda g, out, x: np.broadcast_to(g / x.shape[0], x.shape)
    return *both(lambda x: np.mean(x, axis=0), *rules), [numbers(4, 3)]


@entry
def sum_spread_along_the_wrong_axis() -> Entry:
    rules = (
        lambda g, out, x: np.broadcast_to(np.expand_dims(g, 0), x.shape),
        lambda g, out, x: np.broadcast_to(np.expand_dims(g, 1), x.shape),
    )
    return *both(lambda x: np.sum(x, axis=1), *rules), [numbers(3, 3)]


@entry
def variance_as_if_the_mean_were_constant() -> Entry:
    """Of x * mean(x), where it matters: the variance itself forgives this mistake, its rate does not."""
    rules = lambda g, out, x: g * x.mean(), lambda g, out, x: g * x.mean() + (g * x).sum() / x.size
    return *both(lambda x: x * x.mean(), *rules), [numbers(4)]


@entry
def softmax_as_if_elementwise() -> Entry:
    def forward(x: np.ndarray) -> np.ndarray:
        e = np.exp(x)
        return np.asarray(e / e.sum(axis=-1, keepdims=True))

    return *both(
        forward,
        lambda g, out, x: g * out * (1 - out),
        lambda g, out, x: out * (g - (g * out).sum(axis=-1, keepdims=True)),
    ), [numbers(2, 4)]  # fmt: skip


@entry
def softmax_summed_over_the_wrong_axis() -> Entry:
    def forward(x: np.ndarray) -> np.ndarray:
        e = np.exp(x)
        return np.asarray(e / e.sum(axis=-1, keepdims=True))

    return *both(
        forward,
        lambda g, out, x: out * (g - (g * out).sum(axis=0, keepdims=True)),
        lambda g, out, x: out * (g - (g * out).sum(axis=-1, keepdims=True)),
    ), [numbers(3, 3)]  # fmt: skip


@entry
def part_detached() -> Entry:
    return lambda x: x * x.detach(), lambda x: x * x, [numbers(3)]


@entry
def second_operand_of_a_sum_forgotten() -> Entry:
    rules = (lambda g, out, x, y: 0 * g, lambda g, out, x, y: g, lambda g, out, x, y: g)
    return *both_of_two(np.add, *rules), [numbers(3), numbers(3, seed=1)]


@entry
def maximum_with_its_branches_exchanged() -> Entry:
    return *both(
        lambda x: np.maximum(x, 1.0),
        lambda g, out, x: g * (x < 1.0),
        lambda g, out, x: g * (x > 1.0),
        analytic=False,
    ), [numbers(6)]  # fmt: skip


@entry
def clipped_but_the_gradient_goes_through() -> Entry:
    return *both(
        lambda x: np.clip(x, 0.8, 1.2),
        lambda g, out, x: g,
        lambda g, out, x: g * ((x > 0.8) & (x < 1.2)),
        analytic=False,
    ), [numbers(8)]  # fmt: skip


@entry
def cumulative_sum_run_forwards_again() -> Entry:
    return *both(
        np.cumsum, lambda g, out, x: np.asarray(np.cumsum(g)), lambda g, out, x: np.asarray(np.cumsum(g[::-1])[::-1])
    ), [numbers(4)]  # fmt: skip


@entry
def tiny_error_of_one_in_a_million() -> Entry:
    """Central differences let 1e-6 pass; the complex step does not."""
    return *both(np.exp, lambda g, out, x: g * out * (1 + 1e-7), lambda g, out, x: g * out), [numbers(3)]


@entry
def product_divided_by_each_factor() -> Entry:
    """out / x, where a factor is 0."""

    def rest(g: Any, out: Any, x: Any) -> Any:
        return g * np.stack([np.prod(np.delete(x, i)) for i in range(x.size)])

    return *both(np.prod, lambda g, out, x: g * out / x, rest), [np.array([2.0, 0.0, 3.0, 4.0])]


@entry
def length_not_divided_by() -> Entry:
    rules = lambda g, out, x: g * x, lambda g, out, x: g * x / out
    return *both(lambda x: np.sqrt((x * x).sum()), *rules), [numbers(3)]


@entry
def power_rule_with_the_exponent_not_lowered() -> Entry:
    rules = lambda g, out, x: 3 * g * x * x * x, lambda g, out, x: 3 * g * x * x
    return *both(lambda x: x * x * x, *rules), [numbers(3)]


@entry
def batch_of_products_not_summed_but_its_last() -> Entry:
    """x (2, 3, 4) @ y (4, 5): dy is a sum over the batch."""
    rules = (
        lambda g, out, x, y: (np.swapaxes(x, -1, -2) @ g)[-1],
        lambda g, out, x, y: np.swapaxes(x, -1, -2) @ g,
        lambda g, out, x, y: g @ np.swapaxes(y, -1, -2),
    )
    return *both_of_two(np.matmul, *rules), [numbers(2, 3, 4), numbers(4, 5, seed=1)]


@entry
def padding_cut_at_the_wrong_end() -> Entry:
    rules = lambda g, out, x: g[:3], lambda g, out, x: g[2:]
    return *both(lambda x: np.concatenate([np.zeros(2), x]), *rules), [numbers(3)]


@entry
def sorted_but_the_gradient_left_in_order() -> Entry:
    def back(g: Any, out: Any, x: Any) -> Any:
        return g[np.argsort(np.argsort(x))]

    return *both(np.sort, lambda g, out, x: g, back, analytic=False), [np.array([2.0, 0.5, 1.0])]
