"""The study page's data: the map's boxes and arrows in every layer, arrays, texts in two languages."""

import base64
import re
import tomllib
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from minigrad.drawing.palette import HEAT, PAPER, TEXT, contrast, dark
from tests.transformer.models import small_batch, small_model
from transformer.study.hand import hand_gradients
from transformer.study.ledger import ledger, ledgers
from transformer.study.page import study_page
from transformer.study.page.boxes import boxes, tensors
from transformer.study.page.encoded import encoded
from transformer.study.page.figure_map import TOP, figure_map, output_of
from transformer.study.page.lesson import require_covered, weights
from transformer.study.page.witnesses import directional, of_activation, relative
from transformer.study.trace import traced

PAGE = files("transformer.study.page")


@pytest.fixture(scope="module")
def trace():
    return traced(small_model(layers=3), *(ids[2:3] for ids in small_batch()))


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_each_box_of_the_map_stands_for_one_in_every_layer_and_all_are_there(trace, direction):
    figure = figure_map(trace, direction)
    told = [path for paths in figure.boxes.values() for path in paths.values()]
    assert sorted(told) == sorted(figure.order)
    assert len(told) == 6 + 3 * 4 + 3 * 6
    assert figure.order[0 if direction == "backward" else -1] == TOP
    for name in (*figure.boxes, *figure.arrows):
        assert f'id="{name}"' in figure.svg
    for paths in figure.boxes.values():
        assert list(paths) in ([""], ["0", "1", "2"])
        for layer, path in paths.items():
            assert not layer or f".layers.{layer}." in path


def test_backward_an_arrow_carries_what_its_target_adds_to_its_sources_gradient(trace):
    flows = [flow for each in figure_map(trace, "backward").arrows.values() for flow in each.values()]
    for flow in flows:
        if flow.target == TOP:
            continue
        book = ledger(trace.loss, trace.seen[output_of(flow.source)])
        parts = [c.value for c in book.contributions if f"{c.path}.".startswith(f"{flow.target}.")]
        assert parts, flow
        assert flow.norm == pytest.approx(np.linalg.norm(sum(parts)), rel=1e-12)


def test_forward_an_arrow_carries_its_sources_output_into_every_box_that_takes_it(trace):
    arrows = figure_map(trace, "forward").arrows
    flows = {(flow.source, flow.target): flow for each in arrows.values() for flow in each.values()}
    for flow in flows.values():
        assert flow.norm == pytest.approx(np.linalg.norm(trace.seen[output_of(flow.source)].data), rel=1e-12)
    memory = "encoder.layers.2.feed_forward_norm"
    for layer in range(3):
        attention, norm = f"decoder.layers.{layer}.cross_attention", f"decoder.layers.{layer}.cross_attention_norm"
        assert flows[memory, attention].roles == "KV"
        assert flows[f"decoder.layers.{layer}.self_attention_norm", attention].roles == "Q"
        assert (f"decoder.layers.{layer}.self_attention_norm", norm) in flows  # the residual
        below = f"decoder.layers.{layer - 1}.feed_forward_norm" if layer else "target_positions"
        assert flows[below, f"decoder.layers.{layer}.self_attention"].roles == "QKV"


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_arrays_are_there_again_when_they_are_decoded(kind):
    array = np.random.default_rng(0).standard_normal((3, 4, 5))[::2].transpose(0, 2, 1)
    told = encoded(array, kind)
    assert told["shape"] == [2, 5, 4]
    found = np.frombuffer(base64.b64decode(told["data"]), f"<{kind}").reshape(told["shape"])
    assert np.array_equal(found, array.astype(kind))


def test_witnesses_agree_and_would_say_so_if_not(trace):
    by_hand = hand_gradients(trace.model, trace.source, trace.target_in, trace.target)
    name = "decoder.layers.2.cross_attention.pattern"
    told = of_activation(trace, name, by_hand)
    assert told["hand"] < 1e-12
    assert 0 < told["difference"] < 1e-5
    wrong = by_hand.activations[name].gradient.copy()
    wrong[0, 1, 2, 3] *= 1.001
    by_hand.activations[name] = by_hand.activations[name]._replace(gradient=wrong)
    assert of_activation(trace, name, by_hand)["hand"] > 1e-7
    weight = "decoder.layers.2.cross_attention.value.weight"
    assert directional(trace, weight) < 1e-6
    wrong = replace(trace, parameters=trace.parameters | {weight: 1.001 * trace.parameters[weight]})
    assert directional(wrong, weight) > 1e-6


def test_where_the_tape_says_0_but_for_rounding_the_difference_itself_is_told():
    assert relative(np.array([1e-18, 3e-12]), np.array([0.0, 2e-17])) == pytest.approx(3e-12)
    assert relative(np.array([1.0, 2.2]), np.array([1.0, 2.0])) == pytest.approx(0.1)


def test_every_text_is_in_two_languages_and_asked_for_and_none_is_missing():
    words = tomllib.loads((PAGE / "words.toml").read_text("utf-8"))
    scripts = "\n".join(script.read_text("utf-8") for script in (PAGE / "script").iterdir())
    template = (PAGE / "study.html.jinja").read_text("utf-8")
    for key, (english, chinese) in words.items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", chinese)), key
        assert english != chinese or "{name}" in english, key
    asked = set(re.findall(r'word\("([\w-]+)"', scripts)) | set(re.findall(r'data-(?:word|label)="([\w-]+)"', template))
    assert asked <= set(words)
    kinds = {"embedding", "position", "attention", "masked", "cross", "add_norm", "feed_forward", "linear", "softmax"}
    computed = {f"{kind}{end}" for kind in kinds for end in ("", "-for")} | {
        "map-forward", "map-backward", "pick-forward", "pick-backward", "pick-nudge", "source", "target",
        "encoder", "decoder", "play", "pause", "masked-zero", "masked-not-zero"
    }  # fmt: skip
    assert computed <= set(words)
    assert set(words) == asked | computed


def test_every_kind_of_box_has_its_equation_and_its_rules(trace):
    equations = tomllib.loads((PAGE / "equations.toml").read_text("utf-8"))
    kinds = set(figure_map(trace, "forward").kinds.values())
    assert {"attention" if kind == "masked" else kind for kind in kinds} | {"tied"} == set(equations)


def test_numbers_in_cells_stand_out_from_their_grounds_in_light_and_dark():
    for level, ground in enumerate(HEAT):
        text = PAPER if level in (0, 8) else TEXT  # as 2_heat.js says
        assert contrast(text, ground) >= 4.5
        assert contrast(dark(text), dark(ground)) >= 4.4  # `dark` keeps ratios up to rounding


@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_a_tied_projection_tells_of_the_table(tied):
    changes = {"source_vocab": 13} if tied == "all" else {}
    subject = traced(small_model(tied=tied, **changes), *(ids[2:3] for ids in small_batch()))
    figure = figure_map(subject, "forward")
    outputs = [output_of(path) for path in figure.kinds if path != TOP]
    books = dict(zip(outputs, ledgers(subject.loss, [subject.seen[name] for name in outputs]), strict=True))
    names = [
        *subject.parameters,
        *{name for path, kind in figure.kinds.items() for name in tensors(kind, path).values()},
    ]
    told = boxes(subject, figure, books, {name: {"tensor": name} for name in names})["output"]
    assert told["equation"] == ("linear" if tied == "none" else "tied")
    table = {"none": "output.weight", "output": "target_embedding.weight", "all": "source_embedding.weight"}[tied]
    assert {"tensor": table} in told["witnesses"]
    stored = weights(subject.model)["output.weight"]
    found = np.frombuffer(base64.b64decode(stored["data"]), "<f4").reshape(stored["shape"])
    named = dict(subject.model.named_parameters())[table].data
    assert np.array_equal(found, (named if tied == "none" else named.T).astype("f4"))


def test_a_pre_norm_model_and_a_page_of_nothing_are_refused():
    with pytest.raises(ValueError, match="norm='pre'"):
        require_covered(small_model(norm="pre").config)
    with pytest.raises(ValueError, match="at least one"):
        study_page([], {}, [])
