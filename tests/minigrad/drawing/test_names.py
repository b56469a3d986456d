"""Names of tensors and modules, however odd, are shown as they are."""

from xml.etree import ElementTree

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.drawing.text import clean, shorten
from tests.minigrad.drawing.pictures import all_words, node_ids, parsed, words

HOSTILE = [
    "<lambda> <map>",
    "a<b",
    "{x|y}",
    "ends in \\",
    "nul\0 esc\x1b",
    "&amp; ]]> &",
    "a:b:c",
    'say "hi"',
    "名字：偏置",
]
HOSTILE += [
    "<b>|{x}",
    "\\N \\G \\n",
    "\\\\N",
    "a.b",
    "<>",
    "<TABLE>",
    "--> // /* # ;",
    "\ud800",
    "  two  spaces  ",
    "​",
    "%s",
]
names = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=30))


@settings(max_examples=500)
@given(name=names, other=names)
@example(name="a:b", other="a\\")
@example(name="<b>|{x}", other="\0")
def test_a_hostile_name_is_shown_as_it_is_and_makes_no_phantom_node(name: str, other: str) -> None:
    x = mg.Tensor(1.0, requires_grad=True, name=name)
    y = mg.sin(x)
    y.name = other
    drawing = mg.draw(y, title=name)
    assert node_ids(drawing) == ["n0", "n1"]
    shown = words(drawing)
    assert shown["n0"][0] == clean(shorten(name, 44))
    assert clean(shorten(other, 44)) in shown["n1"]
    assert not {"script", "a", "image"} & {element.tag.rpartition("}")[2] for element in parsed(drawing).iter()}
    attributes = {name.rpartition("}")[2] for element in parsed(drawing).iter() for name in element.attrib}
    assert not [name for name in attributes if name == "href" or name.startswith("on")]


@settings(max_examples=30)
@given(key=names, parameter=names)
def test_a_hostile_module_name_is_shown_as_it_is(key: str, parameter: str) -> None:
    class Odd(mg.nn.Module):
        def __init__(self) -> None:
            self.parts = {key: mg.nn.Linear(2, 2, np.random.default_rng(0))}

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return mg.exp(self.parts[key](x) * self.parts[key].weight)

    module = Odd()
    module.parts[key].weight.name = parameter
    drawing = mg.draw(module(np.ones((1, 2), np.float32)))
    assert len(node_ids(drawing)) == len(words(drawing))
    ElementTree.fromstring(drawing.render("svg"))
    start = "".join(clean(shorten(key, 20))[:5].split())  # a picture shows runs of spaces as one
    if key.strip(".") and "." not in key and "#" not in key:
        assert any(start in "".join(text.split()) for text in all_words(drawing))


def test_a_long_chinese_name_has_room_in_its_box() -> None:
    name = "交叉注意力的查询投影矩阵与偏置向量"
    drawing = mg.draw(mg.exp(mg.Tensor(1.0, requires_grad=True, name=name)))
    group = next(g for g in parsed(drawing).iter("{http://www.w3.org/2000/svg}g") if g.get("id") == "n0")
    outline = next(group.iter("{http://www.w3.org/2000/svg}path")).get("d", "")
    x = [float(point.split(",")[0]) for point in outline.replace("M", " ").replace("C", " ").split()]
    text = next(group.iter("{http://www.w3.org/2000/svg}text"))
    start = float(text.get("x", "nan"))
    assert min(x) <= start
    assert start + float(text.get("textLength", "nan")) <= max(x)


def test_row_41_an_einsum_with_an_arrow_in_it_and_a_tensor_with_markup_in_its_name() -> None:
    x = mg.Tensor([1.0, 2.0], requires_grad=True, name="<b>|{x}")
    drawing = mg.draw(mg.einsum("a,a->a", x, x), gradients=False)
    words = " ".join(ElementTree.fromstring(drawing.svg()).itertext())
    assert "<b>|{x}" in words
    assert "einsum" in words
