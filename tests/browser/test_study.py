"""The study page in a real browser: every control, by mouse and keyboard, both languages, widths, dark and on paper."""

import json
import re

import pytest
from playwright.sync_api import expect

import minigrad as mg
from tests.browser.study import CROSS, NORM, SENTENCES, go, shown


def test_the_buttons_walk_through_every_box_and_stop_at_both_ends(open_page, study, subjects):
    page = open_page(study)
    count = len(page.evaluate("lesson().order"))
    assert count == 26
    for direction, first, last in (("forward", "source_embedding", "softmax"), ("backward", "softmax", "source_embed")):
        page.locator(f"#{direction}").click()
        page.locator("#first").click()
        expect(page.locator("#box .where")).to_contain_text(first)
        expect(page.locator("#previous")).to_have_attribute("aria-disabled", "true")
        for step in range(1, count):
            expect(page.locator("#step")).to_have_text(f"step {step} of {count}")
            page.locator("#next").click()
        expect(page.locator("#box .where")).to_contain_text(last)
        expect(page.locator("#next")).to_have_attribute("aria-disabled", "true")
        page.locator("#previous").click()
        expect(page.locator("#step")).to_have_text(f"step {count - 1} of {count}")


def test_the_keyboard_walks_too(open_page, study):
    page = open_page(study)
    page.keyboard.press("f")
    expect(page.locator("#forward")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Home")
    expect(page.locator("#step")).to_have_text("step 1 of 26")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#step")).to_have_text("step 2 of 26")
    page.keyboard.press("End")
    expect(page.locator("#step")).to_have_text("step 26 of 26")
    page.keyboard.press("b")
    expect(page.locator("#step")).to_have_text("step 1 of 26")
    page.keyboard.press("l")
    expect(page.locator("html")).to_have_attribute("lang", "zh")


def test_play_goes_on_by_itself_until_it_is_paused_or_over(open_page, study):
    page = open_page(study)
    page.clock.install()
    go(page, "source_positions")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("pause")
    page.clock.run_for(1500)
    expect(page.locator("#box .where")).to_contain_text("source_embedding")
    page.clock.run_for(1500)
    expect(page.locator("#play")).to_have_text("play")
    page.locator("#play").click()  # from the start
    page.clock.run_for(1500)
    expect(page.locator("#step")).to_have_text("step 2 of 26")
    page.locator("#play").click()
    page.clock.run_for(5000)
    expect(page.locator("#step")).to_have_text("step 2 of 26")


def test_a_place_can_be_linked_to_and_back_goes_back(open_page, study):
    page = open_page(study)
    go(page, CROSS, "forward", head=2)
    expect(page.locator(".choice button[aria-pressed=true]")).to_have_text(["layer 2 of 2", "head 3 of 3"])
    page.locator(".choice button", has_text="head 1").click()
    expect(page.locator(".choice button[aria-pressed=true]")).to_have_text(["layer 2 of 2", "head 1 of 3"])
    page.go_back()
    expect(page.locator(".choice button[aria-pressed=true]")).to_have_text(["layer 2 of 2", "head 3 of 3"])
    page.locator(".choice button", has_text="layer 1").click()
    expect(page.locator("#box .where")).to_contain_text("decoder.layers.0.cross_attention")


@pytest.mark.parametrize("hostile", ["#box=toString", "#sentence=9&head=-1&direction=up&language=xx", "#%E0%A4%A"])
def test_a_wrong_address_shows_the_page_as_it_opens(open_page, study, hostile):
    page = open_page(study)
    page.evaluate("target => { location.hash = target }", hostile)
    expect(page.locator("#box .where")).to_contain_text(CROSS)
    expect(page.locator("#backward")).to_have_attribute("aria-pressed", "true")


def test_every_box_opens_in_both_directions_and_languages_without_a_word_missing(open_page, study):
    page = open_page(study)
    for language in ("en", "zh"):
        for direction in ("forward", "backward"):
            for box in page.evaluate("lesson().order"):
                go(page, box, direction, language=language)
                text = page.locator("main").inner_text()
                assert not re.search(r"undefined|NaN|\{\w+\}|\[object", text), (box, direction, language)
                title = page.locator("#box h2").inner_text()
                assert bool(re.search(r"[\u4e00-\u9fff]", title)) == (language == "zh")


def test_a_box_of_the_map_is_a_way_there_by_mouse_and_by_keyboard(open_page, study):
    page = open_page(study)
    page.locator("#picture g.node[role=button]", has_text="Linear").click()
    expect(page.locator("#box .where")).to_contain_text("output")
    expect(page.locator("#picture g.node.here")).to_have_count(1)
    feed_forward = page.locator('#picture g.node[aria-label="Feed-forward, encoder, layer 1 of 2"]')
    feed_forward.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#box .where")).to_contain_text("encoder.layers.0.feed_forward")
    expect(feed_forward).to_have_attribute("aria-current", "step")


def test_arrow_keys_in_a_heat_map_go_from_cell_to_cell_and_say_each(open_page, study, subjects):
    page = open_page(study)
    go(page, CROSS)
    figure = page.locator("#box figure.map").filter(has=page.get_by_text("P", exact=True))
    figure.locator("svg").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    value = subjects[0].trace.seen[f"{CROSS}.pattern"].data[0, 0, 1, 1]
    expect(page.locator("#readout")).to_contain_text(f"love] = {shown(value)}")
    expect(page.locator("#box .where")).to_contain_text(CROSS)  # and did not step
    expect(page.locator("#told")).to_contain_text(f"love] = {shown(value)}")


def test_the_keyboards_focus_stays_where_it_was_when_the_page_is_drawn_anew(open_page, study):
    page = open_page(study)
    go(page, CROSS)
    page.locator(".choice button", has_text="head 2").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".choice button", has_text="head 2")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".choice button", has_text="head 2")).to_be_focused()
    page.locator('#picture g.node[aria-label="Linear"]').focus()
    page.keyboard.press("f")
    expect(page.locator("#forward")).to_have_attribute("aria-pressed", "true")
    expect(page.locator('#picture g.node[aria-label="Linear"]')).to_be_focused()
    page.locator("#next").focus()
    for _ in range(30):
        page.keyboard.press("Enter")
    expect(page.locator("#step")).to_have_text("step 26 of 26")
    expect(page.locator("#next")).to_be_focused()


def test_home_and_end_in_a_heat_map_go_to_the_ends_of_its_row(open_page, study, subjects):
    page = open_page(study)
    go(page, CROSS)
    page.locator("#box figure.map").filter(has=page.get_by_text("P", exact=True)).locator("svg").focus()
    page.keyboard.press("End")
    value = subjects[0].trace.seen[f"{CROSS}.pattern"].data[0, 0, 0, 3]
    expect(page.locator("#readout")).to_contain_text(f".] = {shown(value)}")
    expect(page.locator("#box .where")).to_contain_text(CROSS)


def test_no_two_boxes_of_the_map_have_one_name(open_page, study):
    page = open_page(study)
    names = page.locator("#picture g[role=button]").evaluate_all(
        "boxes => boxes.map(box => box.getAttribute('aria-label'))"
    )
    assert len(names) == 16
    assert len(set(names)) == len(names)


def test_the_picker_shows_another_sentence_and_hostile_words_are_words(open_page, study, subjects):
    page = open_page(study)
    page.locator("#sentence").select_option("1")
    loss = float(subjects[1].trace.loss.data)
    expect(page.locator("#loss")).to_have_text(shown(loss))
    assert page.locator("b", has_text="&\"'").count() == 0
    expect(page.locator("#box figure.map text", has_text="<b>&\"'").first).to_be_visible()


def test_both_languages_have_every_text_and_the_questions_their_figures(open_page, study):
    page = open_page(study)
    page.locator("#questions summary").click()
    expect(page.locator("#question-1")).to_contain_text("Because 1.5.")
    expect(page.locator("#questions figure svg").first).to_be_visible()
    page.locator("#language").click()
    expect(page.locator("#language")).to_have_text("English")
    expect(page.locator("#question-1 [lang=zh]").first).to_be_visible()
    expect(page.locator("#question-1 [lang=en]").first).to_be_hidden()
    for made in page.locator("[data-word]").all_text_contents():
        assert re.search(r"[\u4e00-\u9fff]|English", made), made


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_no_width_makes_the_page_scroll_sideways(open_page, study, width):
    page = open_page(study, viewport={"width": width, "height": 800})
    for box in (CROSS, NORM, "decoder.layers.1.feed_forward", "output", "softmax"):
        go(page, box)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), box


def test_dark_mode_turns_the_colours_and_paper_stays_white(open_page, study):
    page = open_page(study, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(24, 24, 24)"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_printing_opens_the_questions(open_page, study):
    page = open_page(study)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#questions details")).to_have_attribute("open", "")


def test_each_control_has_a_name_for_a_screen_reader(open_page, study):
    page = open_page(study)
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, svg[tabindex], #picture g[role=button]')].filter(made =>"
        " !(made.getAttribute('aria-label') || made.textContent.trim() || made.labels?.length)).length"
    )
    assert nameless == 0


def test_the_page_holds_no_address_of_another_place(study):
    text = study.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:)", text)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    assert len(json.loads(data)["lessons"]) == len(SENTENCES)
    assert mg.__file__ not in text
