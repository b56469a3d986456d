"""The numbers on the study page are Python's, to the digits shown."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.study import CROSS, NORM, SELF, cell, go, shown
from transformer.study.ledger import ledger
from transformer.study.trace import nudged


def test_forward_numbers_of_an_attention_are_pythons(open_page, study, subjects):
    page = open_page(study)
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


def test_a_picked_cell_tells_its_gradient_its_rule_and_what_nudging_did(open_page, study, subjects):
    page = open_page(study)
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


def test_rules_of_norms_and_gates_give_the_tapes_gradients(open_page, study, subjects):
    page = open_page(study)
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


def test_an_outputs_gradient_is_told_as_the_sum_of_what_flows_into_it(open_page, study, subjects):
    page = open_page(study)
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


def test_masked_cells_are_hatched_and_their_scores_gradient_is_exactly_0(open_page, study, subjects):
    page = open_page(study)
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


def test_the_ledger_is_pythons_and_adds_up(open_page, study, subjects):
    page = open_page(study)
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


def test_three_witnesses_agree_on_every_gradient(open_page, study, subjects):
    page = open_page(study)
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


def test_arrows_are_as_wide_as_what_flows_in_the_layer_we_are_in(open_page, study, subjects):
    page = open_page(study)
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


def test_how_it_writes_is_what_the_model_writes(open_page, study, subjects):
    page = open_page(study)
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
