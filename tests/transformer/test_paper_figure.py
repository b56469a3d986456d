import re
import subprocess
import sys
from importlib import import_module
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.drawing import collect
from minigrad.drawing.palette import TEXT, contrast
from tests.minigrad.drawing.pictures import SVG, all_words, parsed
from tests.transformer.models import small_batch, small_model
from transformer import DecoderOnly, EncoderOnly, figure1, layout
from transformer.blocks import find_blocks, fold
from transformer.presets import bert, gpt, llama

Box = tuple[float, float, float, float]


def boxes(root: ElementTree.Element) -> dict[str, Box]:
    """The rectangle of each node that has an outline, by id."""
    found = {}
    for group in root.iter(f"{SVG}g"):
        outline = group.find(f"{SVG}path")
        if group.get("class") == "node" and outline is not None:
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", outline.get("d", ""))]
            found[group.get("id", "")] = (min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2]))
    return found


def texts(root: ElementTree.Element) -> list[tuple[str, Box]]:
    """Each text with the rectangle that it fills."""
    found = []
    for text in root.iter(f"{SVG}text"):
        x, y, size = (float(text.get(name, "nan")) for name in ("x", "y", "font-size"))
        wide = float(text.get("textLength", size * 0.6))
        left = x - wide / 2 if text.get("text-anchor") == "middle" else x
        found.append(("".join(text.itertext()), (left, y - 0.72 * size, left + wide, y + 0.2 * size)))
    return found


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("layers", [1, 6])
def test_nothing_overlaps_and_nothing_is_cut_off(norm: str, layers: int) -> None:
    root = parsed(figure1(small_model(norm=norm, layers=layers)))
    outlines, words = list(boxes(root).values()), texts(root)
    for place, one in enumerate(outlines):
        assert not any(overlap(one, other) for other in outlines[place + 1 :])
    for place, (text, one) in enumerate(words):
        assert not [other for other, where in words[place + 1 :] if overlap(one, where)], text
        around = [box for box in outlines if overlap(one, box)]
        assert len(around) <= 1
        assert all(box[0] < one[0] and one[2] < box[2] and box[1] < one[1] and one[3] < box[3] for box in around), text
    left, top, wide, high = (float(number) for number in root.get("viewBox", "").split())
    shift = [float(n) for n in re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)", ElementTree.tostring(root).decode())[0]]
    for text, (x0, y0, x1, y1) in words:
        assert left <= x0 + shift[0], text
        assert x1 + shift[0] <= left + wide, text
        assert top <= y0 + shift[1], text
        assert y1 + shift[1] <= top + high, text


def test_it_says_what_the_paper_s_says_and_real_shapes() -> None:
    source, target_in, _ = small_batch()
    model = small_model(layers=3)
    words = all_words(figure1(model, source, target_in))
    expected = {"3×": 2, "Add & Norm": 5, "Masked Multi-Head": 1, "Multi-Head": 2, "Linear": 1, "Softmax": 1}
    assert {word: words.count(word) for word in expected} == expected
    assert {"Inputs (3×5)", "Outputs (shifted right) (3×7)", "Probabilities (3×7×13)", "K, V", "3×5×12"} <= set(words)
    assert f"d_model = 12, h = 3, N = 3, {model.parameter_count:,} parameters" in words
    assert [words.count(role) for role in "QKV"] == [3, 2, 2]


def test_a_pre_norm_model_has_its_own_figure() -> None:
    words = all_words(figure1(small_model(norm="pre")))
    assert "Add & Norm" not in words
    assert words.count("Norm") == 7
    assert words.count("+") == 7


def test_residuals_run_outside_and_every_arrow_is_one_of_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    module = import_module("transformer.paper_figure")
    monkeypatch.setattr(module, "fold", lambda blocks: seen.append(fold(blocks)) or seen[-1])
    root = parsed(figure1(small_model()))
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    arrows = [title for title in titles if " to " in title]
    expected = sum(max(len(link.roles), 1) if len(link.roles) == 3 else 1 for link in seen[0].links)
    assert len(arrows) == expected
    assert sum(title.startswith("residual ") for title in arrows) == 5
    assert sum(title.startswith("memory ") for title in arrows) == 1


def test_the_weights_and_gradients_are_left_alone() -> None:
    model = small_model()
    before = {name: array.copy() for name, array in model.state_dict().items()}
    figure1(model)
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_it_is_drawn_under_no_grad_too_but_not_from_a_frozen_model() -> None:
    model = small_model()
    with mg.no_grad():
        drawn = figure1(model)
    assert drawn.source == figure1(model).source
    for parameter in model.parameters():
        parameter.requires_grad = False
    with pytest.raises(mg.DrawingError, match="requires a gradient"):
        figure1(model)


@pytest.mark.parametrize("vocabulary", [2, 5])
def test_the_default_batch_has_no_padding_even_in_a_tiny_vocabulary(vocabulary: int) -> None:
    assert "Masked Multi-Head" in all_words(figure1(small_model(source_vocab=vocabulary, target_vocab=vocabulary)))


def test_colours_have_contrast() -> None:
    assert min(contrast(TEXT, fill) for fill in layout.FILLS.values()) >= 4.5
    for line in (layout.RESIDUAL, layout.MEMORY, layout.PANEL.line):
        assert min(contrast(line, layout.PANEL.fill), contrast(line, "#FFFFFF")) >= 3
    assert contrast(layout.MEMORY, "#FFFFFF") >= 4.5
    assert contrast(layout.MEMORY, layout.PANEL.fill) >= 4.5


def test_the_package_has_the_function_however_its_module_was_imported():
    code = "import transformer.paper_figure; from transformer import figure1; assert callable(figure1)"
    subprocess.run([sys.executable, "-c", code], check=True)


ONE_STACK = dict(vocab=13, layers=3, d_model=16, heads=4, d_ff=20, max_length=16)


@pytest.mark.parametrize(
    ("model", "words", "unlike"),
    [
        (
            EncoderOnly(bert(**ONE_STACK)),
            ["Multi-Head", "Encoder", "Add & Norm", "3×"],
            ["Decoder", "Masked Multi-Head"],
        ),
        (DecoderOnly(gpt(**ONE_STACK)), ["Masked Multi-Head", "Decoder", "Norm", "3×"], ["Encoder", "Add & Norm"]),
        (
            DecoderOnly(llama(**ONE_STACK, kv_heads=2)),
            ["Masked Multi-Head", "Decoder", "3×"],
            ["Encoder", "Add & Norm"],
        ),
    ],
    ids=["bert", "gpt", "llama"],
)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_model_of_one_stack_has_one_column(model, words, unlike, direction) -> None:
    picture = figure1(model, direction=direction)
    shown = all_words(picture)
    assert {*words, "3×"} <= set(shown)
    assert not set(unlike) & set(shown)
    assert "Inputs (8×12)" in shown
    outlines, placed = list(boxes(parsed(picture)).values()), texts(parsed(picture))
    for place, one in enumerate(outlines):
        assert not any(overlap(one, other) for other in outlines[place + 1 :])
    for place, (text, one) in enumerate(placed):
        assert not [other for other, where in placed[place + 1 :] if overlap(one, where)], text


def test_backward_has_the_norms_of_real_gradients() -> None:
    source, target_in, target_out = small_batch()
    model = small_model(layers=2)
    picture = figure1(model, source, target_in, direction="backward", target=target_out)
    with model.capture() as seen:
        loss = mg.cross_entropy(model(source, target_in), target_out)
    logits, out, memory = (seen[name] for name in ("logits", "decoder.out", "encoder.out"))
    d_logits, d_out = (np.linalg.norm(g.data) for g in mg.gradients(loss, [logits, out]))
    shown = all_words(picture)
    assert f"norm {d_logits:.3g}" in shown
    assert f"norm {d_out:.3g}" in shown
    assert "Cross-Entropy" in shown
    assert "d Loss = 1" in shown
    assert "Softmax" not in shown
    # What comes to the encoder's output is the sum over both layers; the arrow shows the first layer's share.
    assert memory.shape == (3, 5, 12)
    told = "\n".join(picture.texts.values())
    assert "decoder.layers.0.cross_attention to encoder.layers.0.feed_forward_norm as K, V: gradient of 3×5×12" in told


def test_arrows_turn_round_and_widen_with_their_norms() -> None:
    forward, backward = (figure1(small_model(), direction=way) for way in ("forward", "backward"))

    def ends(picture):
        found = [re.search(r"([\w.]+) to ([\w.]+)(?: as|:)", text) for text in picture.texts.values()]
        return {match.groups() for match in found if match}

    assert {pair for pair in ends(backward) if "cross_entropy" not in pair} == {
        (head, tail) for tail, head in ends(forward) if head != "softmax"
    }
    widths = {float(width) for width in re.findall(r"penwidth=([\d.]+)\];", backward.source)}
    assert max(widths) == 4
    assert len(widths) > 5


def test_another_direction_is_refused() -> None:
    with pytest.raises(mg.DrawingError, match="direction is 'forward' or 'backward', not 'up'"):
        figure1(small_model(), direction="up")


def test_each_box_leads_to_the_graph_of_its_own_operations() -> None:
    links = figure1(small_model(layers=2)).links()
    opened = set(links.opens.values())
    assert {"encoder.layers.0.self_attention", "decoder.layers.0.cross_attention"} <= opened
    assert opened <= set(links.views)
    picture = links.views["decoder.layers.0.cross_attention"]()
    titles = [entry["title"] for entry in picture.links().details.values()]
    assert "softmax" in titles
    assert figure1(small_model(layers=1)).html().count('"n0"') >= 1


def test_what_flows_back_along_an_arrow_is_added_up_before_its_norm_is_taken() -> None:
    source, target_in, target_out = small_batch()
    model = small_model(layers=1)
    with mg.unfused(), model.capture() as seen:
        loss = mg.cross_entropy(model(source, target_in), target_out)
    blocks = find_blocks(collect(loss), loss)
    path = {number: block.path for number, block in blocks.blocks.items()}
    into_memory = [link for link in blocks.links if path[link.source] == "encoder.layers.0.feed_forward_norm"]
    assert [link.roles for link in into_memory] == ["KV"]  # the one use: keys and values together are its gradient
    (gradient,) = mg.gradients(loss, [seen["encoder.out"]])
    assert into_memory[0].norm == pytest.approx(np.linalg.norm(gradient.data), rel=1e-12)
