"""The report cards of heads: roles against patterns built by hand, ablation against weights set to 0, sums by hand."""

import math
import re
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from tests.transformer.configs import arranged, batch_of, choices, columns, sentences
from tests.transformer.models import small_batch, small_model
from transformer.activations import UnknownActivation
from transformer.study import heads as module
from transformer.study.heads import MEASURES, ROLES, Head, Role, Sight, correlation, heads
from transformer.study.trace import traced
from transformer.study.two_heads import most_different, two_heads
from transformer.vocabulary import PAD

SVG = "{http://www.w3.org/2000/svg}"
PATHS = [
    *(f"encoder.layers.{n}.self_attention" for n in range(2)),
    *(f"decoder.layers.{n}.{kind}" for n in range(2) for kind in ("self_attention", "cross_attention")),
]
BY_HAND = {
    "previous": lambda t, count: t - 1,
    "same": lambda t, count: t,
    "mirror": lambda t, count: count - 1 - t,
    "first": lambda t, count: 0,
}


@pytest.fixture(scope="module")
def trace():
    return traced(small_model(), *small_batch())


@pytest.fixture(scope="module")
def found():
    return heads(small_model(), *small_batch())


def by_hand(trace, path, role):
    """(pattern that is exactly the role, how many queries have such a key, sum of 1 / visible keys over these)."""
    source, target = trace.source != PAD, trace.target_in != PAD
    queries = source if path.startswith("encoder") else target
    keys = target if path.startswith("decoder") and "self" in path else source
    pattern, count, equal = np.zeros((len(queries), 1, queries.shape[1], keys.shape[1])), 0, 0.0
    for row in range(len(queries)):
        there = np.flatnonzero(keys[row])
        for t, q in enumerate(np.flatnonzero(queries[row])):
            seen = there[: t + 1] if path.startswith("decoder") and "self" in path else there
            place = BY_HAND[role](t, len(there))
            if 0 <= place < len(seen):
                pattern[row, 0, q, there[place]] = 1.0
                count += 1
                equal += 1 / len(seen)
    return pattern, count, equal


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("role", get_args(Role))
def test_a_head_that_does_nothing_but_its_role_has_a_score_of_1_and_uniform_attention_what_chance_gives(
    trace, path, role
):
    sight = Sight.of(trace, path)
    pattern, count, equal = by_hand(trace, path, role)
    assert count > 0
    assert np.array_equal(sight.wanted(role), pattern[:, 0] == 1)
    assert sight.share(pattern, role) == [1.0]
    assert sight.share(sight.uniform, role) == pytest.approx([equal / count], abs=1e-15)
    assert sight.share(0.25 * pattern + 0.75 * (1 - pattern), role) == pytest.approx([0.25], abs=1e-15)


@pytest.mark.parametrize("path", PATHS)
def test_entropy_is_0_of_one_key_and_the_logarithm_of_how_many_there_are_of_all_alike(trace, path):
    sight = Sight.of(trace, path)
    logs = np.log(sight.visible.sum(axis=-1)[sight.queries])
    assert sight.entropy(sight.uniform) == pytest.approx([logs.mean()], abs=1e-14)
    first, _, _ = by_hand(trace, path, "first")
    assert sight.entropy(first) == [0.0]


def test_a_query_may_see_what_the_model_lets_it_see(trace):
    for path in PATHS:
        sight = Sight.of(trace, path)
        weights = trace.seen[f"{path}.pattern"].data
        assert np.array_equal((weights > 0).all(axis=1) & sight.queries[:, :, None], sight.visible)


def test_the_scores_are_those_of_the_patterns_that_made_the_loss(trace, found):
    assert found.attentions == tuple(dict.fromkeys(found.attentions))
    assert set(found.attentions) == set(PATHS)
    for a, path in enumerate(found.attentions):
        pattern = trace.seen[f"{path}.pattern"].data
        sight = Sight.of(trace, path)
        for role in ROLES:
            assert np.array_equal(found.roles[role][a], sight.share(pattern, role))
            assert found.uniform_roles[role][a] == sight.share(sight.uniform, role)[0]
        assert np.array_equal(found.entropy[a], sight.entropy(pattern))
        assert np.all(found.entropy[a] <= found.uniform_entropy[a] + 1e-12)
    assert found.loss == float(trace.loss.data)


def test_the_change_foretold_is_minus_the_sum_of_z_dz_and_of_p_dp_and_attribution_its_bound(trace, found):
    for a, path in enumerate(found.attentions):
        z, pattern = trace.seen[f"{path}.z"], trace.seen[f"{path}.pattern"]
        for h in range(3):
            by_z = -float((z.data[:, h] * z.grad.data[:, h]).sum())
            cells = pattern.data[:, h] * pattern.grad.data[:, h]
            assert found.foretold[a, h] == pytest.approx(by_z, abs=1e-14)
            assert found.foretold[a, h] == pytest.approx(-float(cells.sum()), abs=1e-14)
            assert found.attribution[a, h] == pytest.approx(float(np.abs(cells).sum()), abs=1e-14)
    assert np.all(found.attribution >= np.abs(found.foretold) - 1e-14)


@settings(max_examples=8, deadline=None)
@given(choices(), sentences(), st.integers(0, 9))
def test_the_change_foretold_is_the_slope_of_the_loss_as_the_head_is_turned_down(chosen, rows, seed):
    trace = traced(small_model(seed, **chosen), *batch_of(rows))
    found = heads(trace.model, *batch_of(rows))
    for a, path in enumerate(found.attentions):
        h, step = seed % 4, 1e-5

        def loss(share, path=path, h=h):
            kept = np.where(np.arange(4) == h, 1 - share, 1.0)[:, None, None]
            with mg.no_grad(), trace.model.patch({f"{path}.z": lambda z: z * kept}):
                logits = trace.model(trace.source, trace.target_in)
            return float(mg.cross_entropy(logits, trace.target, ignore_index=PAD).data)

        slope = (loss(step) - loss(-step)) / (2 * step)
        assert found.foretold[a, h] == pytest.approx(slope, abs=1e-8 * max(1, abs(slope)))


@settings(max_examples=12, deadline=None)
@given(choices(), sentences(), st.integers(0, 9), st.sampled_from([0.0, 0.1]))
def test_ablation_is_the_loss_with_the_rows_of_w_o_that_read_the_head_set_to_0(chosen, rows, seed, smoothing):
    model, h = small_model(seed, **chosen), seed % 4
    source, target_in, target = batch_of(rows)
    found = heads(model, source, target_in, target, smoothing)
    parameters = dict(model.named_parameters())
    for a, path in enumerate(found.attentions):
        weight = parameters[f"{path}.output.weight"]
        whole = weight.data.copy()
        weight.data = np.where(np.arange(16)[:, None] // 4 == h, 0.0, whole)
        with mg.no_grad():
            logits = model(source, target_in)
        loss = mg.cross_entropy(logits, target, ignore_index=PAD, label_smoothing=smoothing)
        weight.data = whole
        assert found.loss + found.ablated[a, h] == pytest.approx(float(loss.data), abs=1e-12)


def numbers(found):
    return [found.loss, found.entropy, found.uniform_entropy, found.attribution, found.foretold, found.ablated,
            *found.roles.values(), *found.uniform_roles.values()]  # fmt: skip


@settings(max_examples=8, deadline=None)
@given(choices(), sentences(), st.integers(0, 2**32 - 1), st.sampled_from(["left", "right", "inside"]))
def test_padding_changes_nothing_wherever_it_stands(chosen, rows, seed, where):
    model, rng = small_model(3, **chosen), np.random.default_rng(seed)
    places = [[columns(rng, len(words), 9, where) for words in pair[:2]] for pair in rows]
    source, target_in, target = (
        arranged([pair[part] for pair in rows], [place[side] for place in places])
        for part, side in ((0, 0), (1, 1), (2, 1))
    )  # fmt: skip
    for one, other in zip(numbers(heads(model, *batch_of(rows))), numbers(heads(model, source, target_in, target)),
                          strict=True):  # fmt: skip
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_how_many_copies_go_through_the_model_at_once_changes_nothing(found, monkeypatch):
    monkeypatch.setattr(module, "COPIES", 1)
    np.testing.assert_allclose(heads(small_model(), *small_batch()).ablated, found.ablated, rtol=0, atol=1e-14)


def test_the_model_is_left_as_it_was():
    model = small_model(dtype="float32")
    before = {name: value.copy() for name, value in model.state_dict().items()}
    heads(model, *small_batch())
    for name, value in model.state_dict().items():
        assert value.dtype == np.float32
        assert np.array_equal(value, before[name])


def test_the_best_head_of_a_role_is_the_one_most_above_uniform_attention(found):
    roles = {role: np.full((6, 3), 0.2) for role in ROLES}
    uniform = {role: np.full(6, 0.2) for role in ROLES}
    roles["previous"][4, 2] = 0.9
    roles["previous"][1] = np.nan
    roles["mirror"][:, 0], uniform["mirror"][3] = 0.8, 0.1
    roles["same"][:] = np.nan
    card = replace(found, roles=roles, uniform_roles=uniform)
    assert card.best("previous") == Head(found.attentions[4], 2)
    assert card.best("mirror") == Head(found.attentions[3], 0)
    with pytest.raises(ValueError, match="'same'"):
        card.best("same")


def test_a_role_that_no_query_has_is_not_a_number():
    card = heads(small_model(), [[5]], [[1]], [[4]])
    assert np.isnan(card.roles["previous"]).all()
    assert np.array_equal(card.roles["same"], np.ones((6, 3)))
    ElementTree.fromstring(card.table().svg())
    ElementTree.fromstring(card.figure("previous").svg())


def test_estimate_and_truth_are_correlated_as_numpy_does(found):
    expected = np.corrcoef(found.foretold.ravel(), found.ablated.ravel())[0, 1]
    assert found.correlation == pytest.approx(expected, abs=1e-12)
    assert math.isnan(correlation(np.ones((2, 3)), np.arange(6.0).reshape(2, 3)))


def test_table_and_figures_say_the_numbers(found):
    table = found.table()
    assert len(table.rows) == 18
    for n, row in enumerate(table.rows):
        a, h = divmod(n, 3)
        assert row[0].en.endswith(f"head {h + 1}")
        assert row[0].zh.endswith(f"头 {h + 1}")
        for role, cell in zip(ROLES, row[1:5], strict=True):
            assert cell == f"{found.roles[role][a, h]:.2f} ({found.uniform_roles[role][a]:.2f})"
        told = [float(cell.replace("−", "-")) for cell in row[6:]]
        expected = [values[a, h] for values in (found.attribution, found.foretold, found.ablated)]
        assert told == pytest.approx(expected, rel=6e-3)
    assert f"{found.correlation:.2f}" in table.title.en
    assert f"{found.correlation:.2f}" in table.title.zh
    for name in (*ROLES, *MEASURES):
        grid = found.figure(name)
        assert grid.values is (found.roles[name] if name in ROLES else getattr(found, name))
        assert [words.en for words in grid.rows][-1] == "decoder 2, cross"
    bars = found.compared()
    assert [list(values) for values in bars.groups.values()] == [
        list(found.foretold.ravel()),
        list(found.ablated.ravel()),
    ]
    with pytest.raises(ValueError, match="entropy"):
        found.figure("height")


SOURCE, TARGET = ["a", "<b>", "c", "d"], ["<s>", "我", "你"]


@pytest.fixture(scope="module")
def sentence():
    return traced(small_model(seed=4), [[5, 6, 7, 8]], [[1, 5, 6]], [[5, 6, 2]])


@pytest.mark.parametrize("attention", PATHS)
def test_the_two_heads_of_an_attention_are_those_that_differ_most_and_the_lines_are_their_weights(sentence, attention):
    figure = two_heads(sentence, SOURCE, TARGET, attention)
    pattern = sentence.seen[f"{attention}.pattern"].data[0]
    distance = {
        (a, b): np.mean([np.abs(pattern[a, q] - pattern[b, q]).sum() / 2 for q in range(pattern.shape[1])])
        for a in range(3)
        for b in range(a + 1, 3)
    }
    best = max(distance, key=distance.get)
    assert [name.en for name in figure.patterns] == [f"head {n + 1}" for n in best]
    assert f"{distance[best]:.0%}" in figure.title.en
    assert f"{distance[best]:.0%}" in figure.title.zh
    queries = SOURCE if "encoder" in attention else TARGET
    keys = TARGET if attention.startswith("decoder") and "self" in attention else SOURCE
    for n, shown in zip(best, figure.patterns.values(), strict=True):
        assert np.array_equal(shown, pattern[n])
    root = ElementTree.fromstring(figure.svg())
    lines = list(root.iter(f"{SVG}path"))
    told = {(k, e.find(f"{SVG}title").text) for k, group in enumerate(root.iter(f"{SVG}g"), -1)
            for e in group.findall(f"{SVG}path")}  # fmt: skip
    expected = {
        (k, f"{queries[q]} → {keys[j]}: {pattern[n, q, j]:.4g}")
        for k, n in enumerate(best)
        for q, j in np.argwhere(pattern[n] >= 0.01)
    }
    assert told == expected
    for line in lines:
        weight = float(line.find(f"{SVG}title").text.rpartition(": ")[2])
        assert float(line.get("stroke-opacity")) == pytest.approx(weight, abs=0.0051)


def test_a_line_goes_from_the_word_that_asks_to_the_word_that_is_looked_at(sentence):
    root = ElementTree.fromstring(two_heads(sentence, SOURCE, TARGET, PATHS[3]).svg())
    heights = {}
    for text in root.iter(f"{SVG}text"):
        heights.setdefault(text.text, float(text.get("y")) - 4)
    for line in root.iter(f"{SVG}path"):
        asking, asked = line.find(f"{SVG}title").text.split(": ")[0].split(" → ")
        _, start, _, end = (float(n) for n in re.findall(r"[\d.]+", line.get("d")))
        assert (start, end) == (heights[asking], heights[asked])


def test_without_a_name_the_attention_is_taken_whose_heads_differ_most(sentence):
    distances = {path: most_different(sentence.seen[f"{path}.pattern"].data[0])[2] for path in PATHS}
    best = max(distances, key=distances.get)
    assert two_heads(sentence, SOURCE, TARGET).title == two_heads(sentence, SOURCE, TARGET, best).title
    assert max(distances.values()) > min(distances.values())


def test_both_languages_and_the_same_bytes_each_time(sentence):
    figure = two_heads(sentence, SOURCE, TARGET)
    assert "两个头" in figure.svg("zh")
    assert "Two heads" in figure._repr_svg_()
    assert figure.svg("zh") == two_heads(sentence, SOURCE, TARGET).svg("zh")


def test_what_does_not_fit_is_named(trace, sentence):
    with pytest.raises(ValueError, match="3 sentences"):
        two_heads(trace, SOURCE, TARGET)
    with pytest.raises(mg.ShapeError, match=r"3 words for source of shape \(1, 4\)"):
        two_heads(sentence, TARGET, TARGET)
    with pytest.raises(UnknownActivation):
        two_heads(sentence, SOURCE, TARGET, "encoder.layers.7.self_attention")
    one = traced(small_model(heads=1), [[5, 6, 7, 8]], [[1, 5, 6]], [[5, 6, 2]])
    with pytest.raises(ValueError, match="one head"):
        two_heads(one, SOURCE, TARGET, PATHS[0])
