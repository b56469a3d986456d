"""`python -m demos micrograd`: the classic first lesson: numbers, a small network that parts two moons, a neuron."""

import argparse
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demos.keeping import keep, refuse_foreign
from demos.options import positive_real, whole_number
from demos.problems import UserError, told_plainly

if TYPE_CHECKING:
    import numpy as np

    from minigrad import Tensor
    from minigrad.drawing import Drawing

SUMMARY = "the classic first lesson: numbers with gradients, two moons, a neuron"
FILES = ("moons.svg", "neuron.svg")
EXPECTED = {"g": 24.7041, "a.grad": 138.8338, "b.grad": 645.5773}  # from micrograd's README
POINTS, NOISE = 200, 0.1
WIDTH, STEPS, RATE, TOLD_EVERY = 16, 200, 0.02, 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("micrograd"),
        metavar="DIR",
        help="the folder for the pictures (default micrograd)",
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="N", help="of the moons and of the first weights (default 0)"
    )
    parser.add_argument(
        "--max-seconds",
        type=positive_real,
        default=20.0,
        metavar="S",
        help="for training, and for the layout of the neuron's graph (default 20)",
    )


def run(options: argparse.Namespace) -> int:
    """The three parts of the lesson, printed as they go; the pictures come last."""
    import numpy as np

    import minigrad as mg
    from demos.pictures.moons import draw_moons, make_moons
    from minigrad.drawing import DrawingWarning, find_engine
    from minigrad.errors import DrawingError

    moons, neuron = (options.out / name for name in FILES)
    with told_plainly(DrawingError, OSError):
        find_engine("svg")
        options.out.mkdir(parents=True, exist_ok=True)
        refuse_foreign([moons, neuron], "micrograd", "--out")

    print("1. Numbers. The example of micrograd's README, with Tensor for Value:\n")
    with mg.default_dtype("float64"):
        show_arithmetic(arithmetic())

    print(f"\n2. A network, 2 -> {WIDTH} -> {WIDTH} -> 1, learns to part two moons of {POINTS} points:\n")
    rng = np.random.default_rng(options.seed)
    points, labels = make_moons(POINTS, NOISE, rng)
    unseen, unseen_labels = make_moons(POINTS, NOISE, rng)
    with mg.default_dtype("float64"):
        network = train(points, labels, rng, time.monotonic() + options.max_seconds)

    def score(where: "np.ndarray[Any, np.dtype[np.float64]]") -> "np.ndarray[Any, np.dtype[np.float64]]":
        with mg.no_grad():
            scores: np.ndarray[Any, np.dtype[np.float64]] = network(where).data
            return scores

    right = float(np.mean(np.sign(score(unseen)) == unseen_labels))
    print(f"\nOn {POINTS} points that it has never seen, {right:.1%} are on the right side.")

    print("\n3. Pictures:\n")
    title = "Two moons, and where the network draws the line"
    subtitle = f"a multilayer perceptron, 2 → {WIDTH} → {WIDTH} → 1; of points it never saw, {right:.1%} are right"
    with told_plainly(DrawingError, OSError), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DrawingWarning)
        keep(moons, draw_moons(points, labels, score, title, subtitle).encode(), "micrograd")
        print(f"{moons}: the points, the boundary and its margins")
        keep(neuron, draw_neuron(network, points).render("svg", options.max_seconds), "micrograd")
        print(f"{neuron}: one neuron of the trained network, every value with its gradient")
    for warning in caught:
        print(f"note: {warning.message}", file=sys.stderr)
    print("\nOpen them in a browser. Next: python -m demos rules")
    return 0


@dataclass(frozen=True)
class Arithmetic:
    """What the example computes."""

    a: "Tensor"
    b: "Tensor"
    g: "Tensor"


def arithmetic() -> Arithmetic:
    """The example. Source: the README of karpathy/micrograd, with `Tensor` for `Value`."""
    from minigrad import Tensor

    a = Tensor(-4.0, requires_grad=True)
    b = Tensor(2.0, requires_grad=True)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    return Arithmetic(a, b, g)


def show_arithmetic(found: Arithmetic) -> None:
    """Print the example's source and what came out. Raises UserError, status 1, where that is not what it should be."""
    import inspect

    body = inspect.getsource(arithmetic).splitlines()
    lines = [line.strip() for line in body if " = " in line or "+=" in line or "backward" in line]
    print("\n".join(f"    {line}" for line in lines))
    assert found.a.grad is not None
    assert found.b.grad is not None
    values = {"g": found.g, "a.grad": found.a.grad, "b.grad": found.b.grad}
    print()
    for name, value in values.items():
        print(f"    {name:<6} = {value:8.4f}   (micrograd: {EXPECTED[name]:8.4f})")
    wrong = [name for name, value in values.items() if f"{value:.4f}" != f"{EXPECTED[name]:.4f}"]
    if wrong:
        raise UserError(f"{', '.join(wrong)}: not what micrograd gives; this engine is broken", status=1)


def make_network(rng: "np.random.Generator") -> Any:
    """A multilayer perceptron: points (n, 2) -> scores (n,)."""
    import minigrad as mg

    class Perceptron(mg.nn.Module):
        """Two hidden layers of ReLU neurons, and one linear neuron that gives the score."""

        def __init__(self) -> None:
            self.first = mg.nn.Linear(2, WIDTH, rng)
            self.second = mg.nn.Linear(WIDTH, WIDTH, rng)
            self.last = mg.nn.Linear(WIDTH, 1, rng)

        def forward(self, x: Any) -> Any:
            """(n, 2) -> (n,)."""
            hidden = mg.relu(self.first(x))  # (n, WIDTH)
            hidden = mg.relu(self.second(hidden))  # (n, WIDTH)
            return self.last(hidden).reshape(-1)  # (n,)

    return Perceptron()


def train(points: Any, labels: Any, rng: "np.random.Generator", until: float) -> Any:
    """Train a network by gradient descent (Adam) on all points at once, and return it.

    The loss is the mean of max(0, 1 - label * score): 0 for a point that lies beyond its margin.
    until: when to stop early, by `time.monotonic()`.
    """
    import numpy as np

    import minigrad as mg

    network = make_network(rng)
    optimizer = mg.optim.Adam(network.parameters(), lr=RATE)
    print("    step    loss  accuracy")
    for step in range(STEPS + 1):
        scores = network(points)
        loss = mg.relu(1 - labels * scores).mean()
        late = time.monotonic() >= until
        if step % TOLD_EVERY == 0 or late:
            accuracy = np.mean(np.sign(scores.data) == labels)
            print(f"    {step:4}  {loss:.4f}    {accuracy:6.1%}", flush=True)
        if step == STEPS:
            break
        if late:
            print(f"note: stopped after {step} of {STEPS} steps: --max-seconds is over", file=sys.stderr)
            break
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return network


def draw_neuron(network: Any, points: Any) -> "Drawing":
    """A neuron of the first layer at one of the points, as scalars: the pair at which its output is largest."""
    import numpy as np

    import minigrad as mg

    layer = network.first
    outputs = points @ layer.weight.data + layer.bias.data  # (n, WIDTH)
    point, place = np.unravel_index(int(outputs.argmax()), outputs.shape)
    values = (*points[point], *layer.weight.data[:, place], layer.bias.data[place])
    with mg.default_dtype("float64"):
        x1, x2, w1, w2, b = (
            mg.Tensor(float(value), requires_grad=True, name=name)
            for value, name in zip(values, ("x1", "x2", "w1", "w2", "b"), strict=True)
        )
        one, two = x1 * w1, x2 * w2
        total = one + two
        n = total + b
        o = n.relu()
    for tensor, name in ((one, "x1·w1"), (two, "x2·w2"), (total, "sum"), (n, "n"), (o, "o")):
        tensor.name = name
    return mg.draw(o, gradients=True, title="A trained neuron: o = relu(x1·w1 + x2·w2 + b)")
