"""What is shown is what runs: a formula's text, evaluated with numbers, gives the bits that the rule gives."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad.formulas import Symbol, mathml, rows, text
from minigrad.formulas.rows import derivative_text, of_rules, parsed, source_of
from minigrad.formulas.symbols import explore, name
from minigrad.fused import Fused
from minigrad.operation import TABLE
from minigrad.primitive import Primitive
from minigrad.tape import topological_order
from tests.minigrad.case import seeds
from tests.minigrad.operations import CASES

ROWS = {row.name: row for row in rows()}
NAMESPACE = {part: getattr(np, part) for part in np.__all__} | {"abs": np.abs, "__builtins__": {}}
NAMESPACE |= {
    operation.name: operation.forward
    for operation in TABLE.values()
    if isinstance(operation, Primitive) and operation.name not in NAMESPACE
}

g, out, x, y, n = (name(part) for part in ("g", "out", "x", "y", "n"))


def evaluated(formula, node, cotangent):
    """A formula's text as Python, with a node's own operands and parameters."""
    operands = dict(zip(node.primitive.operands[1:], node.args, strict=True))
    known = {"g": cotangent, "out": node if node.data is None else node.data} | operands | node.params
    return eval(formula, NAMESPACE | known)


@pytest.mark.parametrize("operation", sorted(name for name in CASES if isinstance(TABLE[name], Primitive)))
@given(data=st.data(), seed=seeds)
def test_a_formula_evaluated_with_numbers_is_the_rule_s_value(operation, data, seed):
    case = data.draw(CASES[operation])
    row = TABLE[operation]
    derivatives = {} if row.variadic else {derivative.operand: derivative for derivative in of_rules(row)}
    inputs = [mg.Tensor(base, requires_grad=base.dtype.kind == "f") for base in case.bases]
    output = case.of_views(*inputs)
    with np.errstate(all="ignore"):
        for node in topological_order([output._node]) if output._node is not None else []:
            if node.primitive is not row:
                continue
            cotangent = np.random.default_rng(seed).standard_normal(node.shape)
            expected = row.cotangents(node, cotangent, *node.saved)
            for operand, right in zip(row.operands[1:], expected, strict=False):
                if right is None or operand not in derivatives or derivatives[operand].formula is None:
                    continue
                found = evaluated(str(derivatives[operand]), node, cotangent)
                np.testing.assert_array_equal(found, right, strict=True)


def test_every_row_of_the_table_is_shown_with_a_derivative_for_each_operand_that_has_a_rule():
    assert list(ROWS) == sorted(TABLE)
    for operation in TABLE.values():
        row = ROWS[operation.name]
        assert row.forward == operation.formula
        assert row.fused == isinstance(operation, Fused)
        assert all(str(derivative) for derivative in row.derivatives)
        if isinstance(operation, Primitive):
            assert len(row.derivatives) == sum(rule is not None for rule in operation.rules)
            for derivative, rule in zip(row.derivatives, (r for r in operation.rules if r is not None), strict=True):
                assert set(derivative.reads) == rule.reads


ALGEBRA = (
    "abs", "add", "cos", "divide", "exp", "getitem", "log", "matmul", "max", "maximum", "mean", "minimum", "multiply",
    "negative", "power", "power_constant", "relu", "sin", "sqrt", "subtract", "sum", "tanh", "where",
)  # fmt: skip


@pytest.mark.parametrize("operation", ALGEBRA)
def test_these_rules_write_a_formula_and_not_only_their_source(operation):
    assert all(derivative.formula is not None for derivative in ROWS[operation].derivatives)


@pytest.mark.parametrize(
    ("operation", "formulas"),
    [
        ("multiply", ["g * y", "g * x"]),
        ("divide", ["g / y", "-g * (out / y)"]),
        ("tanh", ["g * (1 - out * out)"]),
        ("relu", ["g * (out > 0)"]),
        ("where", ["where(condition, g, 0)", "where(condition, 0, g)"]),
        ("matmul", ["g @ swapaxes(y, -1, -2)", "swapaxes(x, -1, -2) @ g"]),
        ("power_constant", ["g * exponent * x ** (exponent - 1) if exponent else 0 * g"]),
        ("getitem", ["scatter_add(g, index=index, shape=x.shape)"]),
        ("softmax", ["dx = out * (g - sum(g * out))"]),
        ("concatenate", ["g[_part(parts, axis, position)]"]),
    ],
)
def test_a_rule_is_shown_as_one_would_write_it(operation, formulas):
    assert [str(derivative) for derivative in ROWS[operation].derivatives] == formulas


@pytest.mark.parametrize(
    ("formula", "written"),
    [
        (x - (y - g), "x - (y - g)"),
        (x - y - g, "x - y - g"),
        (x / (y * g), "x / (y * g)"),
        (-(x * y), "-(x * y)"),
        ((-x) ** 2, "(-x) ** 2"),
        (-(x**2), "-x ** 2"),
        (x ** (y**g), "x ** y ** g"),
        ((x**y) ** g, "(x ** y) ** g"),
        (x**-1, "x ** (-1)"),
        ((x > 0) & (y <= 1), "(x > 0) & (y <= 1)"),
        ((x > 0) == (y != 0), "(x > 0) == (y != 0)"),
        (1 - abs(x), "1 - abs(x)"),
        (~(x > 0), "~(x > 0)"),
        ((x + y).sum(axis=(0,), keepdims=True), "sum(x + y, axis=(0,), keepdims=True)"),
        (x[..., 1:, None, ::-1], "x[..., 1:, None, ::-1]"),
        (x[(0,)], "x[0,]"),
        ((x + y)[0], "(x + y)[0]"),
        (np.ones(2) * x, "array([1.0, 1.0]) * x"),
        (np.float64(0.5) * x, "0.5 * x"),
        (x @ y.T, "x @ y.T"),
        (+x, "x"),
        (np.negative(x), "-x"),
        (np.logical_not(x > y), "~(x > y)"),
        (np.linalg.norm(x), "linalg.norm(x)"),
        (np.concatenate([x, y], 0), "concatenate([x, y], 0)"),
        (x.astype(np.float32), "astype(x, float32)"),
        (x[slice(1, 2)], "x[1:2]"),
        (np.take(x, (slice(None), 1)), "take(x, (slice(None, None, None), 1))"),
    ],
)
def test_text_has_the_parentheses_that_it_needs_and_no_others(formula, written):
    assert text(formula) == written
    ElementTree.fromstring(mathml(formula))


@given(st.recursive(
    st.sampled_from([x, y, n]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "**"]), inner, inner).map(lambda t: Symbol("operator", *t)),
        inner.map(lambda part: -part),
    ),
    max_leaves=8,
))  # fmt: skip
def test_text_says_what_was_built(formula):
    """Arithmetic of any depth: the text, evaluated on symbols, builds the same again."""

    def same(one, other):
        if not isinstance(one, Symbol):
            return not isinstance(other, Symbol)
        if (one.kind, one.what) == (other.kind, other.what):
            return all(map(same, one.parts, other.parts))
        return False

    assert same(eval(text(formula), {"x": x, "y": y, "n": n}), formula)


def test_where_a_rule_asks_a_parameter_both_ways_are_shown():
    assert text(explore(lambda: (x if n > 1 else y) if n else g)) == "(x if n > 1 else y) if n else g"
    assert text(explore(lambda: (x, x)[bool(n)])) == "x"
    with pytest.raises(RecursionError, match="no formula"):
        explore(lambda: next(i for i in iter(int, 1) if n))


def test_a_symbol_refuses_what_would_not_end_or_writes_into_arrays():
    with pytest.raises(TypeError):
        list(x)
    with pytest.raises(TypeError):
        np.add(x, y, out=np.zeros(2))
    with pytest.raises(TypeError):
        np.add.reduce(x)
    with pytest.raises(AttributeError, match="no frobnicate"):
        x.frobnicate
    assert len({x, y, x}) == 2


def test_mathml_is_well_formed_and_has_the_notation_of_print():
    for row in ROWS.values():
        for derivative in row.derivatives:
            if derivative.formula is not None:
                tree = ElementTree.fromstring(derivative.mathml)
                assert tree.get("alttext") == str(derivative)
            else:
                assert derivative.mathml is None
    shown = {
        operation: ROWS[operation].derivatives[0].mathml for operation in ("divide", "relu", "where", "matmul", "max")
    }
    assert "<mfrac><mi>g</mi><mi>y</mi></mfrac>" in shown["divide"]
    assert (
        '<mo stretchy="false">[</mo><mrow><mi>out</mi><mo>&gt;</mo><mn>0</mn></mrow><mo stretchy="false">]</mo>'
        in shown["relu"]
    )
    assert "otherwise" in shown["where"]
    assert "<msup><mi>y</mi><mi>T</mi></msup>" in shown["matmul"]
    assert "<munder><mo>∑</mo><mi>axis</mi></munder>" in shown["max"]
    assert (
        mathml(x < y)
        == '<math alttext="x &lt; y" displaystyle="true"><mrow><mi>x</mi><mo>&lt;</mo><mi>y</mi></mrow></math>'
    )
    assert "<msqrt>" in mathml(np.sqrt(x) * np.square(y + 1))
    assert mathml(x * -2.5).count("<mo>−</mo>") == 1
    assert mathml((x / y) ** 2).count('<mo stretchy="true">(</mo>') == 1
    nested = mathml(explore(lambda: x if n else y * np.where(x > 0, 1, np.where(y > 0, 2, 3))))
    assert nested.count("<mtr>") == 2 + 3


@pytest.mark.parametrize(
    ("words", "formula"),
    [("x * y", "x * y"), ("|x|", "abs(x)"), ("exp(x) / (1 + y)", "exp(x) / (1 + y)"), ("x[index]", "x[index]"),
     ("sum of x over axis", None), ("softmax(q @ k^T)", None), ("x where c, else y", None)],
)  # fmt: skip
def test_a_forward_pass_that_is_a_formula_is_typeset_and_words_stay_words(words, formula):
    found = parsed(words)
    assert (None if found is None else text(found)) == formula


def test_what_kernels_say_of_their_derivative_is_found_in_their_docstrings():
    assert derivative_text("Something. dx = g * y, dW = x^T @ g. Raises ValueError.") == "dx = g * y; dW = x^T @ g"
    assert derivative_text("Nothing of the kind.") == ""


def test_the_source_of_a_rule_is_its_expression():
    def rule(g, out, x):
        half = 0.5
        return g * half

    assert source_of(lambda g, out, x: g * len(x)) == "g * len(x)"
    assert source_of(rule) == "g * half"
    made = eval("lambda g, out, x: g")
    assert source_of(made) == "<lambda>(g, out, ...)"
