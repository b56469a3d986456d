"""Questions 1 to 3, every number computed anew by other means: attention alone on the tape, formulas in NumPy."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import check
from tests.transformer.study.questions.subjects import SUBJECTS
from transformer.masks import padding_mask
from transformer.positions import NOTHING, in_self_attention, places_of
from transformer.study.questions.attention import (
    MULTIPLIERS,
    TRIES,
    WIDTHS,
    gradients_of_attention,
    large_logits,
    spread_of_scores,
)
from transformer.vocabulary import PAD

pytestmark = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def test_the_answers_say_the_same_in_both_languages(subject):
    check(gradients_of_attention(subject), 1)
    check(spread_of_scores(subject), 2)
    check(large_logits(subject), 3)


def alone(module, x, memory, mask, relative, cotangent, same):
    """Gradients of one attention run by itself on leaves: (x, memory, its weights by name)."""
    asks = mg.Tensor(x, requires_grad=True)
    answers = asks if same else mg.Tensor(memory, requires_grad=True)
    weights = {name: getattr(module, name).weight for name in ("query", "key", "value", "output")}
    out = module(asks, answers, mask, relative)
    found = [each.data for each in mg.gradients(out, [asks, answers, *weights.values()], cotangent)]
    return found[0], found[1], dict(zip(weights, found[2:], strict=True))


def entering(trace, path):
    """What goes into an attention: the norm's output where it goes before, else what the part before it made."""
    seen = trace.seen
    if f"{path}_norm.normal" in seen:
        return seen[f"{path}_norm.normal"].data
    stack, _, layer, name = path.split(".")
    if name == "cross_attention":
        return seen[f"{stack}.layers.{layer}.self_attention_norm.out"].data
    before = f"{stack}.layers.{int(layer) - 1}.feed_forward_norm.out"
    return seen[before].data


def column(table, place):
    return {row[0]: row[place] for row in table.rows}


def norm(array):
    return f"{np.linalg.norm(array):.3g}"


def test_the_gradients_of_both_attentions_are_those_of_attention_run_alone(subject):
    trace = subject.trace
    (table,) = gradients_of_attention(subject).figures
    last = trace.model.config.layers - 1
    words = trace.source != PAD
    memory, mask = trace.seen["encoder.out"].data, padding_mask(words)
    nearby = in_self_attention(trace.model.config, places_of(words), places_of(words), memory.dtype)
    for path, shapes, norms in (
        (f"encoder.layers.{last}.self_attention", column(table, 2), column(table, 3)),
        (f"decoder.layers.{last}.cross_attention", column(table, 4), column(table, 5)),
    ):
        own = "self" in path
        stack, _, layer, name = path.split(".")
        module = getattr(getattr(trace.model, stack).layers[int(layer)], name)
        x = entering(trace, path)
        relative = nearby if own else NOTHING
        dx, dm, weights = alone(module, x, memory, mask, relative, trace.seen[f"{path}.out"].grad.data, own)
        assert norms["dx"] == norm(dx)
        assert shapes["dx"] == "×".join(map(str, x.shape))
        if not own:
            assert norms["dm"] == norm(dm)
            assert shapes["dm"] == "×".join(map(str, memory.shape))
        for symbol, weight in (("dW_Q", "query"), ("dW_K", "key"), ("dW_V", "value"), ("dW_O", "output")):
            assert norms[symbol] == norm(weights[weight])
            assert shapes[symbol] == "×".join(map(str, weights[weight].shape))


def test_scores_and_pattern_follow_the_rules_that_stand_beside_them(subject):
    trace = subject.trace
    (table,) = gradients_of_attention(subject).figures
    path = f"decoder.layers.{trace.model.config.layers - 1}.cross_attention"
    norms = column(table, 5)
    seen = {name: trace.seen[f"{path}.{name}"] for name in ("q", "k", "v", "pattern", "z")}
    shared = trace.model.config.heads // trace.model.config.key_value_heads
    q, k, v = seen["q"].data, *(np.repeat(seen[name].data, shared, axis=1) for name in "kv")
    v = v * (trace.source[0] != PAD)[:, None]  # what no query may see is replaced by 0 before the products
    p, dz = seen["pattern"].data, seen["z"].grad.data
    dp = dz @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))
    root = np.sqrt(q.shape[-1])

    def gathered(heads):
        batch, _, length, width = heads.shape
        return heads.reshape(batch, -1, shared, length, width).sum(2)

    assert norms["dP"] == norm(dp)
    assert norms["dS"] == norm(ds) or np.linalg.norm(ds) < 1e-15  # of one key: nothing but rounding
    if np.linalg.norm(ds) > 1e-15:
        assert norms["dQ"] == norm(ds @ k / root)
        assert norms["dK"] == norm(gathered(ds.swapaxes(-1, -2) @ q / root))
    assert norms["dV"] == norm(gathered(p.swapaxes(-1, -2) @ dz))


def test_what_all_layers_hand_to_the_memory_is_its_gradient(subject):
    trace = subject.trace
    answer = gradients_of_attention(subject).answer.en
    whole = trace.seen["encoder.out"].grad.data
    assert f"the norm is {norm(whole)}," in answer
    gap = float(answer.rsplit("at most ", 1)[1].rstrip("."))
    assert gap <= 1e-15 * max(1.0, np.abs(whole).max())


def test_the_three_parts_of_x_are_told_and_add_up(subject):
    trace = subject.trace
    path = f"encoder.layers.{trace.model.config.layers - 1}.self_attention"
    (table,) = gradients_of_attention(subject).figures
    module = trace.model.encoder.layers[-1].self_attention
    parts = [
        np.einsum("bti,ji->btj", trace.seen[f"{path}.{name}"].grad.data, getattr(module, name).weight.data)
        for name in ("query", "key", "value")
    ]
    norms = column(table, 3)
    assert [norms[name] for name in ("dx (W_Q)", "dm (W_K)", "dm (W_V)", "dx")] == [*map(norm, [*parts, sum(parts)])]
    told = f"{norm(parts[0])} (through W_Q), {norm(parts[1])} (W_K) and {norm(parts[2])} (W_V), together "
    assert told + norm(sum(parts)) in gradients_of_attention(subject).answer.en


def test_the_spread_is_the_standard_deviation_of_sums_of_products(subject):
    (figure,) = spread_of_scores(subject).figures
    rng = np.random.default_rng(0)
    raw = []
    for width in WIDTHS:
        queries, keys = rng.standard_normal((2, TRIES, width))
        products = np.array([sum(q * k) for q, k in zip(queries, keys, strict=True)])
        raw.append(np.sqrt(((products - products.mean()) ** 2).mean()))
    curves = figure.curves
    np.testing.assert_allclose(curves["q·k"], raw, rtol=1e-12)
    np.testing.assert_allclose(curves["q·k / √d_k"] * np.sqrt(WIDTHS), raw, rtol=1e-12)
    np.testing.assert_allclose(curves["q·k / d_k"] * np.array(WIDTHS), raw, rtol=1e-12)
    # sqrt((kurtosis - 1) / 4 n) with kurtosis 3 + 6 / d_k: a standard deviation is found to within 0.03. Five of them.
    np.testing.assert_allclose(curves["q·k / √d_k"], 1.0, atol=0.15)


def test_the_spread_of_this_models_scores(subject):
    trace = subject.trace
    width = trace.model.config.d_head
    products = []
    for name, pattern in trace.seen.items():
        if not name.endswith(".pattern"):
            continue
        q, k = (trace.seen[name.replace("pattern", part)].data[0] for part in "qk")
        for head in range(len(pattern.data[0])):
            products.extend(float(a @ b) for a in q[head] for b in k[head * len(k) // len(q)])
    assert f"this sentence spread by {np.std(products):.3g}, the scores by {np.std(products) / width**0.5:.3g}." in (
        spread_of_scores(subject).answer.en
    )


def saturated(subject, multiplier):
    """(norm of dS, mean entropy), by a loop over rows and the softmax's Jacobian."""
    trace = subject.trace
    path = f"decoder.layers.{trace.model.config.layers - 1}.cross_attention"
    words = trace.source[0] != PAD
    squares, entropies = 0.0, []
    for scores, cotangent in zip(
        trace.seen[f"{path}.scores"].data.reshape(-1, len(words)),
        trace.seen[f"{path}.pattern"].grad.data.reshape(-1, len(words)),
        strict=True,
    ):
        s = multiplier * scores[words]
        p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
        squares += np.sum(((np.diag(p) - np.outer(p, p)) @ cotangent[words]) ** 2)
        entropies.append(-np.sum(p[p > 0] * np.log(p[p > 0])))
    return np.sqrt(squares), np.mean(entropies)


def test_the_gradient_and_the_entropy_under_large_logits(subject):
    gradient, entropy = large_logits(subject).figures
    expected = [saturated(subject, multiplier) for multiplier in MULTIPLIERS]
    np.testing.assert_allclose(gradient.curves["‖dS‖"], [n for n, _ in expected], rtol=1e-9, atol=1e-16)
    (values,) = entropy.curves.values()
    np.testing.assert_allclose(values, [e for _, e in expected], rtol=1e-9, atol=1e-15)
    assert tuple(gradient.x) == tuple(entropy.x) == MULTIPLIERS


def test_entropy_never_grows_with_the_multiplier(subject):
    _, entropy = large_logits(subject).figures
    (values,) = entropy.curves.values()
    assert (np.diff(values) <= 1e-12).all()


def test_leaving_out_the_scale_is_told_for_this_models_width(subject):
    root = np.sqrt(subject.trace.model.config.d_head)
    told = large_logits(subject).answer.en.split(f"which is times {root:.3g}, ")[1].split("; times")[0]
    np.testing.assert_allclose([*map(float, told.split(" and "))], saturated(subject, root), rtol=0.005, atol=1e-15)
