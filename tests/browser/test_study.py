"""The study page in a real browser: every control, both languages, and its numbers, which are Python's."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import minigrad as mg
from transformer import Transformer, TransformerConfig
from transformer.study.figures import Bars, Words
from transformer.study.ledger import ledger
from transformer.study.page import study_page
from transformer.study.page.lesson import lesson, weights
from transformer.study.questions import Answer, Subject
from transformer.study.trace import nudged, traced
from transformer.tasks import TASKS
from transformer.vocabulary import BOS

TASK = TASKS["translate"]
SENTENCES = [("i", "love", "you", "."), ("she", "<b>&\"'", "now", ".")]  # no vocabulary has the second's second word
CROSS, SELF = "decoder.layers.1.cross_attention", "decoder.layers.0.self_attention"
NORM = "encoder.layers.0.self_attention_norm"


def subject_of(model, words):
    source = [TASK.source_vocabulary.encode(words)]
    target = np.array([[9, 7, 5, 9, 2]])
    target_in = np.concatenate([[[BOS]], target[:, :-1]], axis=1)
    written = (*(TASK.target_vocabulary.tokens[token] for token in target[0, :-1]), "(end)")
    trace = traced(model, source, target_in, target)
    return Subject(trace, words, written, [], TASK.source_vocabulary, TASK.target_vocabulary)


@pytest.fixture(scope="module")
def subjects():
    config = TransformerConfig(
        source_vocab=len(TASK.source_vocabulary.tokens), target_vocab=len(TASK.target_vocabulary.tokens),
        d_model=12, heads=3, layers=2, d_ff=20, dropout=0.0,
    )  # fmt: skip
    model = Transformer(config, rng=1)
    rng = np.random.default_rng(2)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.2 * rng.standard_normal(parameter.shape).astype(np.float32)
    return [subject_of(model, words) for words in SENTENCES]


@pytest.fixture(scope="module")
def file(subjects, tmp_path_factory):
    bars = Bars(Words("some bars", "一些条"), ["a"], {Words("one", "一"): [1.5]})
    answer = Answer(1, Words("Why?", "为什么？"), Words("Because 1.5.", "因为 1.5。"), (bars,))
    path = tmp_path_factory.mktemp("study") / "study.html"
    lessons = [lesson(each, lambda done: None) for each in subjects]
    path.write_text(study_page(lessons, weights(subjects[0].trace.model), [answer]), encoding="utf-8")
    return path


def address(box, direction="backward", head=0, language="en", sentence=0):
    return f"#sentence={sentence}&box={box}&direction={direction}&head={head}&language={language}"


def go(page, *where, **more):
    page.evaluate("target => { location.hash = target }", address(*where, **more))
    expect(page.locator("#box .where")).to_contain_text(where[0])


def shown(value, digits=4):
    """A number as the page writes it."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
        leading = 0 if whole else -int(np.floor(np.log10(abs(value)))) - 1
        text = f"{value:.{max(digits - whole, 0) + leading}f}"
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa}e{'+' if int(exponent) > 0 else ''}{int(exponent)}"
    return text.replace("-", "−")


def cell(page, title, row, column):
    """A cell of the heat map with this title."""
    figure = page.locator("#box figure.map").filter(has=page.get_by_text(title, exact=True))
    return figure.locator(f'rect[data-row="{row}"][data-column="{column}"]')


def test_the_buttons_walk_through_every_box_and_stop_at_both_ends(open_page, file, subjects):
    page = open_page(file)
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


def test_the_keyboard_walks_too(open_page, file):
    page = open_page(file)
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


def test_play_goes_on_by_itself_until_it_is_paused_or_over(open_page, file):
    page = open_page(file)
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


def test_a_place_can_be_linked_to_and_back_goes_back(open_page, file):
    page = open_page(file)
    go(page, CROSS, "forward", head=2)
    expect(page.locator(".choice button[aria-pressed=true]")).to_have_text(["layer 2 of 2", "head 3 of 3"])
    page.locator(".choice button", has_text="head 1").click()
    expect(page.locator(".choice button[aria-pressed=true]")).to_have_text(["layer 2 of 2", "head 1 of 3"])
    page.go_back()
    expect(page.locator(".choice button[aria-pressed=true]")).to_have_text(["layer 2 of 2", "head 3 of 3"])
    page.locator(".choice button", has_text="layer 1").click()
    expect(page.locator("#box .where")).to_contain_text("decoder.layers.0.cross_attention")


@pytest.mark.parametrize("hostile", ["#box=toString", "#sentence=9&head=-1&direction=up&language=xx", "#%E0%A4%A"])
def test_a_wrong_address_shows_the_page_as_it_opens(open_page, file, hostile):
    page = open_page(file)
    page.evaluate("target => { location.hash = target }", hostile)
    expect(page.locator("#box .where")).to_contain_text(CROSS)
    expect(page.locator("#backward")).to_have_attribute("aria-pressed", "true")


def test_every_box_opens_in_both_directions_and_languages_without_a_word_missing(open_page, file):
    page = open_page(file)
    for language in ("en", "zh"):
        for direction in ("forward", "backward"):
            for box in page.evaluate("lesson().order"):
                go(page, box, direction, language=language)
                text = page.locator("main").inner_text()
                assert not re.search(r"undefined|NaN|\{\w+\}|\[object", text), (box, direction, language)
                title = page.locator("#box h2").inner_text()
                assert bool(re.search(r"[\u4e00-\u9fff]", title)) == (language == "zh")


def test_forward_numbers_of_an_attention_are_pythons(open_page, file, subjects):
    page = open_page(file)
    trace = subjects[0].trace
    for head in range(3):
        go(page, CROSS, head=head)
        for title, name in (("Q", "q"), ("K", "k"), ("S", "scores"), ("P", "pattern"), ("V", "v"), ("Z", "z")):
            value = trace.seen[f"{CROSS}.{name}"].data[0, head]
            for row, column in ((0, 0), (2, 1), (value.shape[0] - 1, value.shape[1] - 1)):
                told = cell(page, title, row, column).locator("title").text_content()
                assert told.endswith(f"= {shown(value[row, column])}"), (title, row, column)
            gradient = trace.seen[f"{CROSS}.{name}"].grad.data[0, head]
            told = cell(page, f"d{title}", 1, 2).locator("title").text_content()
            assert told.endswith(f"= {shown(gradient[1, 2])}"), title


def test_a_picked_cell_tells_its_gradient_its_rule_and_what_nudging_did(open_page, file, subjects):
    page = open_page(file)
    trace = subjects[0].trace
    for title, name in (("dS", "scores"), ("dP", "pattern"), ("dQ", "q"), ("dK", "k"), ("dV", "v"), ("dZ", "z")):
        go(page, CROSS, head=1)
        cell(page, title, 2, 1).click()
        gradient = trace.seen[f"{CROSS}.{name}"].grad.data[0, 1, 2, 1]
        told = page.locator("#told")
        expect(told).to_contain_text(f"= {shown(gradient)}")
        expect(told.locator(".formula")).to_contain_text(f"= {shown(gradient)}")
        sizes = (0.01, 0.1, 1.0) if name == "scores" else (0.01,)
        lines = told.locator(".nudge").all_text_contents()
        assert len(lines) == len(sizes)
        for by, line in zip(sizes, lines, strict=True):
            moved = nudged(trace, f"{CROSS}.{name}", by)[0, 1, 2, 1] - trace.loss.data
            assert f"by +{by:g}: " in line
            assert f"foretells {shown(gradient * by)}," in line
            assert f"did {shown(float(moved))}." in line


def test_rules_of_norms_and_gates_give_the_tapes_gradients(open_page, file, subjects):
    page = open_page(file)
    trace = subjects[0].trace
    go(page, NORM)
    cell(page, "ds", 3, 7).click()
    gradient = trace.seen[f"{NORM}.sum"].grad.data[0, 3, 7]
    expect(page.locator("#told .formula")).to_contain_text(f"= {shown(gradient)}")
    inner = trace.seen["decoder.layers.1.feed_forward.inner"]
    for column in (int(np.argmax(inner.data[0, 1])), int(np.argmin(inner.data[0, 1]))):  # an open gate and a shut one
        go(page, "decoder.layers.1.feed_forward")
        cell(page, "d inner", 1, column).click()
        expect(page.locator("#told .formula")).to_contain_text(f"= {shown(inner.grad.data[0, 1, column])}")
    go(page, "softmax")
    cell(page, "d logits", 1, 7).click()
    gradient = trace.seen["logits"].grad.data[0, 1, 7]
    expect(page.locator("#told .formula")).to_contain_text(f"= {shown(gradient)}")
    go(page, "output")
    cell(page, "dx", 2, 3).click()
    gradient = trace.seen["decoder.out"].grad.data[0, 2, 3]
    expect(page.locator("#told .formula")).to_contain_text(f"= {shown(gradient)}")
    hidden = trace.seen["encoder.layers.0.feed_forward.hidden"].grad.data[0, 2, 3]
    go(page, "encoder.layers.0.feed_forward")
    cell(page, "d hidden", 2, 3).click()
    expect(page.locator("#told .formula")).to_contain_text(f"= {shown(hidden)}")


def test_an_outputs_gradient_is_told_as_the_sum_of_what_flows_into_it(open_page, file, subjects):
    page = open_page(file)
    trace = subjects[0].trace
    for box, title in (("source_embedding", "dx"), ("target_positions", "dx"), (NORM, "d out")):
        go(page, box)
        cell(page, title, 2, 5).click()
        book = ledger(trace.loss, trace.seen[f"{box}.out"])
        told = page.locator("#told .formula")
        expect(told).to_contain_text(f"= {shown(trace.seen[f'{box}.out'].grad.data[0, 2, 5])}")
        for contribution in book.contributions:
            expect(told).to_contain_text(f"{contribution.name} ")
            expect(told).to_contain_text(shown(contribution.value[0, 2, 5], 3))


def test_masked_cells_are_hatched_and_their_scores_gradient_is_exactly_0(open_page, file, subjects):
    page = open_page(file)
    go(page, SELF)
    for title in ("S", "P", "dS", "dP"):
        figure = page.locator("#box figure.map").filter(has=page.get_by_text(title, exact=True))
        assert figure.locator("rect.hatch").count() == 10  # 5 words: what is above the diagonal
        for row, column in ((0, 1), (3, 4)):
            expect(cell(page, title, row, column)).to_have_class("cell hatch")
    expect(page.locator("#box")).to_contain_text("Every dS there is exactly 0 (30 in all heads).")
    d_pattern = subjects[0].trace.seen[f"{SELF}.pattern"].grad.data[0, 0, 0, 1]
    assert d_pattern != 0  # and the page does not say it were
    assert cell(page, "dP", 0, 1).locator("title").text_content().endswith(f"= {shown(d_pattern)}")
    go(page, CROSS)
    assert page.locator("#box rect.hatch").count() == 0


def test_the_ledger_is_pythons_and_adds_up(open_page, file, subjects):
    page = open_page(file)
    trace = subjects[0].trace
    memory = "encoder.layers.1.feed_forward_norm"
    go(page, memory)
    book = ledger(trace.loss, trace.seen[f"{memory}.out"])
    told = page.locator("#ledger .bars > span").all_text_contents()
    assert told[::2] == [contribution.name for contribution in book.contributions]
    assert told[1::2] == [shown(contribution.norm, 3) for contribution in book.contributions]
    assert len(told) == 8  # key and value of two layers
    sums = re.search(r"norm ([^)]+)\) by (\S+)\.$", page.locator("#ledger p").inner_text())
    assert sums[1] == shown(float(np.linalg.norm(trace.seen[f"{memory}.out"].grad.data)), 3)
    assert float(sums[2].replace("−", "-")) < 1e-15
    go(page, memory, language="zh")
    told = page.locator("#ledger .bars > span").all_text_contents()
    assert told[::2] == [contribution.words.zh for contribution in book.contributions]


def test_three_witnesses_agree_on_every_gradient(open_page, file, subjects):
    page = open_page(file)
    trace = subjects[0].trace
    seen = set()
    for box in page.evaluate("lesson().order"):
        go(page, box)
        rows = page.locator("#witnesses tbody tr").evaluate_all(
            "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
        )
        assert rows or box.endswith("positions")
        for name, norm, hand, difference in rows:
            inside = f"{box}.{name}"
            full = inside if inside in trace.seen or inside in trace.parameters else name
            gradient = trace.parameters[full] if full in trace.parameters else trace.seen[full].grad.data
            assert norm == shown(float(np.linalg.norm(gradient)))
            assert float(hand.replace("−", "-")) < 1e-10
            assert float(difference.replace("−", "-")) < 1e-4
            seen.add(full)
    assert set(trace.parameters) <= seen


def test_arrows_are_as_wide_as_what_flows_in_the_layer_we_are_in(open_page, file, subjects):
    page = open_page(file)
    trace = subjects[0].trace

    def norms():
        return page.evaluate(
            "Object.entries(lesson().maps[state.direction].arrows).map(([id, flows]) => [...flowOf(flows).slice(0, 2),"
            " Number(document.getElementById(id).dataset.norm), parseFloat(document.getElementById(id)"
            ".querySelector('path').style.strokeWidth)])"
        )

    for layer in (0, 1):
        path = f"decoder.layers.{layer}.feed_forward_norm"
        go(page, path)
        into = {tuple(flow[:2]): flow[2] for flow in norms() if flow[1] == path}
        residual = into[f"decoder.layers.{layer}.cross_attention_norm", path]
        book = ledger(trace.loss, trace.seen[f"decoder.layers.{layer}.cross_attention_norm.out"])
        assert residual == pytest.approx(book["residual"].norm)
        sublayer = ledger(trace.loss, trace.seen[f"decoder.layers.{layer}.feed_forward.out"]).contributions[0].norm
        assert into[f"decoder.layers.{layer}.feed_forward", path] == pytest.approx(sublayer)
    found = sorted((norm, width) for _, _, norm, width in norms())
    assert [width for _, width in found] == sorted(width for _, width in found)
    go(page, CROSS, "forward")
    found = {tuple(flow[:2]): flow[2] for flow in norms()}
    memory = np.linalg.norm(trace.seen["encoder.out"].data)
    assert found["encoder.layers.1.feed_forward_norm", CROSS] == pytest.approx(memory)


def test_a_box_of_the_map_is_a_way_there_by_mouse_and_by_keyboard(open_page, file):
    page = open_page(file)
    page.locator("#picture g.node[role=button]", has_text="Linear").click()
    expect(page.locator("#box .where")).to_contain_text("output")
    expect(page.locator("#picture g.node.here")).to_have_count(1)
    feed_forward = page.locator('#picture g.node[aria-label="Feed-forward, encoder, layer 1 of 2"]')
    feed_forward.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#box .where")).to_contain_text("encoder.layers.0.feed_forward")
    expect(feed_forward).to_have_attribute("aria-current", "step")


def test_arrow_keys_in_a_heat_map_go_from_cell_to_cell_and_say_each(open_page, file, subjects):
    page = open_page(file)
    go(page, CROSS)
    figure = page.locator("#box figure.map").filter(has=page.get_by_text("P", exact=True))
    figure.locator("svg").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    value = subjects[0].trace.seen[f"{CROSS}.pattern"].data[0, 0, 1, 1]
    expect(page.locator("#readout")).to_contain_text(f"love] = {shown(value)}")
    expect(page.locator("#box .where")).to_contain_text(CROSS)  # and did not step
    expect(page.locator("#told")).to_contain_text(f"love] = {shown(value)}")


def test_the_keyboards_focus_stays_where_it_was_when_the_page_is_drawn_anew(open_page, file):
    page = open_page(file)
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


def test_home_and_end_in_a_heat_map_go_to_the_ends_of_its_row(open_page, file, subjects):
    page = open_page(file)
    go(page, CROSS)
    page.locator("#box figure.map").filter(has=page.get_by_text("P", exact=True)).locator("svg").focus()
    page.keyboard.press("End")
    value = subjects[0].trace.seen[f"{CROSS}.pattern"].data[0, 0, 0, 3]
    expect(page.locator("#readout")).to_contain_text(f".] = {shown(value)}")
    expect(page.locator("#box .where")).to_contain_text(CROSS)


def test_no_two_boxes_of_the_map_have_one_name(open_page, file):
    page = open_page(file)
    names = page.locator("#picture g[role=button]").evaluate_all(
        "boxes => boxes.map(box => box.getAttribute('aria-label'))"
    )
    assert len(names) == 16
    assert len(set(names)) == len(names)


def test_the_picker_shows_another_sentence_and_hostile_words_are_words(open_page, file, subjects):
    page = open_page(file)
    page.locator("#sentence").select_option("1")
    loss = float(subjects[1].trace.loss.data)
    expect(page.locator("#loss")).to_have_text(shown(loss))
    assert page.locator("b", has_text="&\"'").count() == 0
    expect(page.locator("#box figure.map text", has_text="<b>&\"'").first).to_be_visible()


def test_how_it_writes_is_what_the_model_writes(open_page, file, subjects):
    page = open_page(file)
    steps = page.evaluate("lesson().writing")
    first = page.locator("#writing .steps > div").first.locator(".bars > span").all_text_contents()
    logits = subjects[0].trace.seen["logits"].data[0, 0].copy()
    logits[[0, 1]] = -np.inf  # padding and bos are never written
    p = np.exp(logits - logits.max())
    best = int(p.argmax())
    assert steps[0]["after"] == "(start)"
    assert first[1] == f"{100 * p[best] / p.sum():.1f}%"
    assert sum(share for _, share in steps[0]["likeliest"]) + steps[0]["other"] == pytest.approx(1)
    widths = (
        page.locator("#writing .steps > div").first.locator("b").evaluate_all("bars => bars.map(b => b.style.width)")
    )
    assert float(widths[0].rstrip("%")) == pytest.approx(100 * p[best] / p.sum(), rel=1e-4)


def test_both_languages_have_every_text_and_the_questions_their_figures(open_page, file):
    page = open_page(file)
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
def test_no_width_makes_the_page_scroll_sideways(open_page, file, width):
    page = open_page(file, viewport={"width": width, "height": 800})
    for box in (CROSS, NORM, "decoder.layers.1.feed_forward", "output", "softmax"):
        go(page, box)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), box


def test_dark_mode_turns_the_colours_and_paper_stays_white(open_page, file):
    page = open_page(file, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(24, 24, 24)"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_printing_opens_the_questions(open_page, file):
    page = open_page(file)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#questions details")).to_have_attribute("open", "")


def test_each_control_has_a_name_for_a_screen_reader(open_page, file):
    page = open_page(file)
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, svg[tabindex], #picture g[role=button]')].filter(made =>"
        " !(made.getAttribute('aria-label') || made.textContent.trim() || made.labels?.length)).length"
    )
    assert nameless == 0


def test_the_page_holds_no_address_of_another_place(file):
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:)", text)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    assert len(json.loads(data)["lessons"]) == len(SENTENCES)
    assert mg.__file__ not in text
