"""Questions 10 and 11: a diamond by hand, the paths of a graph by recursion, gradients that pile up."""

from functools import cache

import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import check
from tests.transformer.study.questions.subjects import SUBJECTS
from transformer.study.questions.the_walk import topological_order, zeroing

pytestmark = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def test_the_answers_say_the_same_in_both_languages(subject):
    check(topological_order(subject), 10)
    check(zeroing(subject), 11)


def test_the_diamond_in_every_order(subject):
    answer = topological_order(subject)
    rows = {order: (gradient, topological.en) for order, gradient, topological in answer.figures[0].rows}
    x = 3.0
    right = (2 + 5) * 2 * x
    too_early = 2 * 2 * x  # a knew of b alone
    assert rows == {
        "y c b a x": (f"{right:g}", "yes"),
        "y b c a x": (f"{right:g}", "yes"),
        "y b a x c": (f"{too_early:g}", "no"),
        "y b a x c a x": (f"{too_early + right:g}", "no"),
    }
    assert f"the gradient of x is {right:g}. Passing a on before c has come gives {too_early:g};" in answer.answer.en
    assert f"gives {too_early + right:g}." in answer.answer.en


def test_the_nodes_and_paths_of_the_models_graph(subject):
    edges = {}
    for step in mg.walk(subject.trace.loss):
        inputs = zip(step.node.inputs, step.contributions, strict=False)
        edges[step.node] = [node for node, part in inputs if isinstance(node, mg.Node) and part is not None]

    @cache
    def paths(node):
        return sum(map(paths, edges[node])) if edges[node] else 1

    told = topological_order(subject).answer.en
    assert f"passes {len(edges)} nodes once each;" in told
    assert f"would be {paths(next(iter(edges))):,} paths." in told


def test_gradients_pile_up_on_leaves_alone(subject):
    (table,) = zeroing(subject).figures
    cells = [[getattr(cell, "en", cell) for cell in row[1:]] for row in table.rows]
    data = 1.0, 2.0
    kept = ["not kept"] * 3
    # d(w x - 0.5)/dw = x, and of k itself 1, each time anew.
    assert cells == [[str(data[0]), str(sum(data)), str(data[1])], ["None"] * 3, kept, ["1.0"] * 3, kept]
    assert "w holds 1.0 after a loss with x = 1, 3.0 after one more with x = 2, and 2.0 where" in (
        zeroing(subject).answer.en
    )


def test_the_error_of_a_second_backward_is_quoted(subject):
    w = mg.Tensor(1.0, requires_grad=True)
    loss = w * mg.Tensor(1.0)
    loss.backward()
    with pytest.raises(mg.GraphError) as raised:
        loss.backward()
    answer = zeroing(subject).answer
    assert f"“{raised.value}”" in answer.en
    assert f"“{raised.value}”" in answer.zh
    assert answer.en.endswith(f"adds the same again: {1.0 + 1.0}.")
