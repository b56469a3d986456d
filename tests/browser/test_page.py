"""The viewer: click, hover, focus, search, keyboard, dark mode, narrow screens, print, hostile names."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import minigrad as mg
from minigrad.drawing.page import COLOURS
from minigrad.drawing.palette import dark


class Block(mg.nn.Module):
    def __init__(self, rng):
        self.map = mg.nn.Linear(3, 3, rng)

    def forward(self, x):
        return mg.tanh(self.map(x)) * 2.0


class Tower(mg.nn.Module):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.blocks = [Block(rng) for _ in range(4)]
        self.last = Block(rng)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return mg.sum(self.last(x))


@pytest.fixture(scope="module")
def drawing():
    x = mg.Tensor(np.ones((2, 3), np.float32), requires_grad=True, name="x")
    with mg.unfused():
        loss = Tower()(x)
    return mg.draw(loss, gradients=True, depth=0, title="A tower")


@pytest.fixture(scope="module")
def file(drawing, tmp_path_factory):
    return drawing.save(tmp_path_factory.mktemp("page") / "tower.html")


def box(page, title):
    """The box of this title in the picture that is shown."""
    return page.locator("#stage g.node", has_text=title).first


def at(page, name):
    """Wait until this picture is shown. (Its own policy forbids what playwright's wait_for_function does.)"""
    page.wait_for_url(lambda url: url.endswith(f"#{name}"))
    expect(page.locator("#crumbs [aria-current]")).to_have_count(1)


def crumbs(page):
    return page.locator("#crumbs li").all_text_contents()


def test_a_click_opens_a_module_and_its_label_folds_it(open_page, file):
    page = open_page(file)
    assert page.title() == "A tower"
    assert page.locator("#stage g.node").count() == 4  # x, blocks, last, sum
    box(page, "blocks.0–3").click()
    at(page, "blocks.0")
    assert crumbs(page) == ["start", "overview", "blocks.0"]
    assert box(page, "tanh").count() == 1
    page.locator("#stage text", has_text="blocks.0–3").click()
    at(page, ".")
    assert page.locator("#stage g.cluster").count() == 0
    box(page, "blocks.0–3").click()
    at(page, "blocks.0")
    frame = page.locator("#stage g.cluster").first.bounding_box()
    page.mouse.click(frame["x"] + 5, frame["y"] + 50)  # its empty ground
    at(page, ".")


def test_back_and_forward_are_the_browsers_own_and_a_picture_can_be_linked_to(open_page, file):
    page = open_page(file)
    box(page, "last").click()
    at(page, "last")
    page.go_back()
    expect(page.locator("#stage g.cluster")).to_have_count(0)
    page.go_forward()
    expect(page.locator("#stage g.cluster")).not_to_have_count(0)
    page.locator("#crumbs button", has_text="start").click()
    expect(page.locator("#stage g.cluster")).to_have_count(0)
    page.evaluate("location.hash = '#nothing.like.it'")
    page.wait_for_timeout(50)
    assert crumbs(page)[0] == "start"


def test_hover_and_focus_tell_what_python_knows(open_page, file, drawing):
    page = open_page(file)
    details = drawing.links().details
    for name in details:
        for act in ("hover", "focus"):
            getattr(page.locator(f"#stage #{name}"), act)()
            told = page.locator("#details").text_content()
            for value in details[name].values():
                cells = [value] if isinstance(value, str) else list(np.ravel(np.array(value, dtype=object)))
                assert all(str(part) in told for part in cells), (name, value, told)
    panel, shown = (page.locator(place).bounding_box() for place in ("#details", f"#stage #{name}"))
    assert panel["x"] >= shown["x"] + shown["width"] or panel["y"] >= shown["y"] + shown["height"]


def test_search_finds_in_every_picture_and_goes_there(open_page, file):
    page = open_page(file)
    page.keyboard.press("/")
    page.keyboard.type("tanh last")
    assert page.locator("#count").inner_text() == "1 found"
    page.keyboard.press("Enter")
    at(page, "last")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("tanh, in last")
    assert page.locator("#stage .found").count() == 1
    page.locator("#query").press("Escape")
    assert page.locator("#stage .found").count() == 0
    assert page.locator("#count").inner_text() == ""
    page.locator("#query").fill("no such thing")
    assert page.locator("#count").inner_text() == "0 found"


def test_enter_goes_through_all_that_was_found_each_once_a_round(open_page, file):
    page = open_page(file)
    page.locator("#query").fill("tanh")
    assert page.locator("#count").inner_text() == "2 found"
    seen = []
    for _ in range(4):
        page.locator("#query").press("Enter")
        expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("^tanh"))
        seen.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert seen[0] != seen[1]
    assert seen[2:] == seen[:2]


@pytest.mark.parametrize("address", ["toString", "constructor", "%", "%E0%A4"])
def test_an_address_that_is_no_picture_shows_the_first(open_page, file, address):
    page = open_page(file)
    box(page, "last").click()
    expect(page.locator("#stage g.cluster")).not_to_have_count(0)
    page.evaluate(f"location.hash = '#{address}'")
    expect(page.locator("#stage g.cluster")).to_have_count(0)
    assert crumbs(page) == ["start", "overview"]


def test_the_keyboard_alone_walks_opens_and_sizes(open_page, file):
    page = open_page(file)
    box(page, "last").focus()
    page.keyboard.press("Enter")
    at(page, "last")
    before = page.locator("#stage svg").bounding_box()["width"]
    page.keyboard.press("+")
    assert page.locator("#stage svg").bounding_box()["width"] == pytest.approx(1.25 * before, rel=0.02)
    page.keyboard.press("0")
    assert page.locator("#stage svg").bounding_box()["width"] == pytest.approx(before, rel=0.02)
    page.locator("#stage [role='button']").first.focus()
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"


def test_the_outline_has_every_box_and_leads_to_it(open_page, file, drawing):
    page = open_page(file)
    entries = page.locator("#outline button")
    assert entries.count() == len(drawing.links().details)
    entries.last.click()
    assert page.evaluate("document.activeElement.id") == list(drawing.links().details)[-1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_and_its_picture_follow_the_readers_scheme(open_page, file, scheme):
    page = open_page(file, color_scheme=scheme)
    turned = dark if scheme == "dark" else str.lower

    def rgb(colour):
        return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))

    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == rgb(turned(COLOURS["paper"]))
    paper = page.evaluate("getComputedStyle(document.querySelector('#stage polygon')).fill")
    assert paper == background


def test_a_narrow_screen_scrolls_one_way_only(open_page, file):
    page = open_page(file, viewport={"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box(page, "last").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_print_is_the_picture_alone_and_light(open_page, file):
    page = open_page(file, color_scheme="dark")
    page.emulate_media(media="print")
    for place in (".tools", "aside", "nav"):
        assert not page.locator(place).is_visible()
    assert page.locator("#stage svg").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('#stage polygon')).fill") == "rgb(255, 255, 255)"


def test_hostile_names_are_text(open_page, tmp_path):
    name = "</script><script>document.title='caught'</script><b onclick=x>&\u2028"
    x = mg.Tensor(2.0, requires_grad=True, name=name)
    page = open_page(mg.draw(mg.exp(x), title=name).save(tmp_path / "hostile.html"))
    assert page.title().startswith("</script><script>")
    assert page.locator("b").count() == 0
    page.locator("#stage g.node").first.focus()
    assert page.locator("#details h2").inner_text().startswith("</script><script>document.title")
    page.locator("#query").fill("caught")
    assert page.locator("#count").inner_text() == "1 found"


def test_in_figure_1_the_boxes_lead_to_their_operations_and_words_are_passed_by(open_page, tmp_path):
    from transformer import Transformer, TransformerConfig, figure1

    config = TransformerConfig(source_vocab=50, target_vocab=50, d_model=16, heads=2, layers=2, d_ff=32)
    picture = figure1(Transformer(config))
    page = open_page(picture.save(tmp_path / "figure.html"))
    assert page.locator("#stage [tabindex='0']").count() == len(picture.links().details) == 16
    box(page, "Masked Multi-Head").click()
    at(page, "decoder.layers.0.self_attention")
    assert box(page, "softmax").count() == 1
    assert page.evaluate("document.getElementById('stage').scrollTop") == 0


def test_the_base_models_page_is_quick(open_page, tmp_path):
    from transformer import Transformer, TransformerConfig

    config = TransformerConfig(source_vocab=50, target_vocab=50, d_model=16, heads=2, layers=6, d_ff=32)
    ids = np.random.default_rng(0).integers(4, 50, (2, 5))
    page = open_page(mg.draw(mg.mean(Transformer(config)(ids, ids))).save(tmp_path / "model.html"))
    assert page.locator("#stage text", has_text="×6").count() == 2
    page.locator("#query").fill("cross_attention")
    assert page.locator("#stage .found").count() >= 1
