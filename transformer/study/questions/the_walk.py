"""What the backward walk does: it goes in topological order, and adds to the leaves' gradients."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import minigrad as mg
from transformer.study.figures import Table, Words
from transformer.study.figures.figure import Label
from transformer.study.questions.answer import Answer, Subject

ORDERS = ("y c b a x", "y b c a x", "y b a x c", "y b a x c a x")
YES, NO = Words("yes", "是"), Words("no", "否")


def topological_order(subject: Subject) -> Answer:
    """Question 10: a diamond, y = b + c, b = 2a, c = 5a, a = x^2 at x = 3, walked in four orders.

    The local derivatives are the tape's. Of the trace: how many nodes the walk passes once, and along how many chains
    of operations the loss hangs on the leaves.
    """
    slopes, right = _diamond()
    found = {order: _walked(slopes, order.split()) for order in ORDERS}
    early, twice = (f"{found[order]:g}" for order in ORDERS[2:])
    nodes, chains = _chains(subject.trace.loss)
    question = Words(
        "Why does backprop need a topological order? Any order reaches every node.",
        "反向传播为什么要按拓扑序？随便什么顺序不也能走到每个节点吗？",
    )
    answer = Words(
        "A node may hand its gradient on only when all who use it have added theirs. In the diamond a = x², b = 2a, "
        f"c = 5a, y = b + c at x = 3, the gradient of x is {right:g}. Passing a on before c has come gives {early}; "
        f"visiting a again, with what it holds by then, gives {twice}. In this model's graph the walk passes {nodes} "
        f"nodes once each; the same sum along every single path from the loss would be {chains:,} paths.",
        "一个节点要等所有用到它的节点都把梯度加完，才能把自己的梯度往下传。"
        f"在菱形 a = x²，b = 2a，c = 5a，y = b + c 中，x = 3 时 x 的梯度是 {right:g}。"
        f"如果 c 还没到就把 a 的梯度传下去，得到 {early}；"
        f"之后再带着累积的梯度访问一次 a，得到 {twice}。在本模型的计算图上，按拓扑序 {nodes} 个节点各走一次；"
        f"如果沿着从损失出发的每一条路径分别相加，则有 {chains:,} 条路径。",
    )
    columns = [
        Words("order", "顺序"), Words("gradient of x", "x 的梯度"),
        Words("each after all that use it", "每个都在使用者之后"),
    ]  # fmt: skip
    rows = [
        (order, f"{gradient:g}", YES if _is_topological(slopes, order.split()) else NO)
        for order, gradient in found.items()
    ]
    title = Words("One diamond in four orders", "同一个菱形，四种顺序")
    return Answer(10, question, answer, (Table(title, columns, rows),))


def _diamond() -> tuple[Mapping[tuple[str, str], float], float]:
    """d output / d operand of each edge (output, operand), and dy/dx, as the tape has them."""
    x = mg.Tensor(3.0, requires_grad=True, dtype="float64", name="x")
    a = x * x
    b, c = 2.0 * a, 5.0 * a
    y = b + c
    for name, tensor in (("a", a), ("b", b), ("c", c), ("y", y)):
        tensor.name = name
    slopes: dict[tuple[str, str], float] = defaultdict(float)
    for step in mg.walk(y):
        for operand, contribution in zip(step.node.inputs, step.contributions, strict=False):
            if isinstance(operand, mg.Node) and contribution is not None:
                slopes[str(step.node.name), str(operand.name)] += float(contribution / step.cotangent)
    return slopes, float(mg.gradients(y, [x])[0].data)


def _walked(slopes: Mapping[tuple[str, str], float], order: Sequence[str]) -> float:
    """The gradient of x where each node, in this order, hands on what it holds at that time."""
    held: dict[str, float] = defaultdict(float, {order[0]: 1.0})
    for node in order:
        for (output, operand), slope in slopes.items():
            if output == node:
                held[operand] += held[node] * slope
    return held["x"]


def _is_topological(slopes: Mapping[tuple[str, str], float], order: Sequence[str]) -> bool:
    """Whether each node, where it first stands, stands behind all that use it."""
    return all(order.index(output) < order.index(operand) for output, operand in slopes)


def _chains(loss: mg.Tensor) -> tuple[int, int]:
    """(nodes of the walk, paths from `loss` to its leaves)."""
    paths: Counter[mg.Node] = Counter()
    nodes = found = 0
    for step in mg.walk(loss):
        nodes += 1
        here = paths.pop(step.node, 1)
        if not step.contributions:
            found += here
        for operand, contribution in zip(step.node.inputs, step.contributions, strict=False):
            if isinstance(operand, mg.Node) and contribution is not None:
                paths[operand] += here
    return nodes, found


def zeroing(subject: Subject) -> Answer:
    """Question 11: who has .grad after backward, once and again, and the error of a second walk through one graph.

    w = 1, h = w x, k = h - 0.5, loss = sum(k): first with x = 1, then with x = 2.
    """
    w = mg.Tensor(1.0, requires_grad=True, dtype="float64")
    once, twice = _stepped(w, 1.0), _stepped(w, 2.0)
    mg.optim.SGD([w], lr=0.1).zero_grad()
    zeroed = _stepped(w, 2.0)
    message, retained = _walked_again()
    question = Words(
        "Which gradients must I set to zero, and when? May I call backward twice?",
        "要清零的是哪些梯度，什么时候清？可以调用两次 backward 吗？",
    )
    answer = Words(
        "backward() adds to the .grad of leaves and to nothing else; what lies between keeps none, unless "
        "retain_grad() asked for it, and is made anew by each forward pass. So w holds "
        f"{once['w']} after a loss with x = 1, {twice['w']} after one more with x = 2, and {zeroed['w']} where "
        "zero_grad() stood in between: zero the parameters once a step, before backward(). A second backward() on the "
        f"same graph is an error here: “{message}” With retain_graph=True it runs and adds the same again: {retained}.",
        "backward() 只往叶子的 .grad 上累加；中间结果不保留梯度（除非事先调用 retain_grad()），"
        f"而且每次前向都会重新生成。所以 x = 1 的损失之后 w 的梯度是 {once['w']}，"
        f"再来一个 x = 2 的损失之后是 {twice['w']}，若中间调用了 zero_grad() 则是 {zeroed['w']}："
        "每一步在 backward() 之前把参数清零一次。对同一张图再调用 backward() 会报错："
        f"“{message}” 加上 retain_graph=True 就能运行，同样的梯度又加了一遍：{retained}。",
    )
    columns = [
        Words(".grad of", "谁的 .grad"), Words("x = 1, backward()", "x = 1，backward()"),
        Words("then x = 2, backward()", "接着 x = 2，backward()"),
        Words("with zero_grad() in between", "中间调用 zero_grad()"),
    ]  # fmt: skip
    names: dict[str, Label] = {
        "w": Words("w, a parameter (leaf)", "w，参数（叶子）"),
        "x": Words("x, data", "x，数据"),
        "h": Words("h = w·x, in between", "h = w·x，中间结果"),
        "k": Words("k = h - 0.5, with retain_grad()", "k = h - 0.5，调用了 retain_grad()"),
        "loss": Words("loss = sum(k)", "损失 = sum(k)"),
    }
    rows = [(label, once[name], twice[name], zeroed[name]) for name, label in names.items()]
    return Answer(11, question, answer, (Table(Words("Who has a gradient", "谁有梯度"), columns, rows),))


def _stepped(w: mg.Tensor, data: float) -> dict[str, Label]:
    """Forward and backward once: what stands in .grad of each tensor."""
    x = mg.Tensor(data, dtype="float64")
    h = w * x
    k = h - 0.5
    k.retain_grad()
    loss = mg.sum(k)
    loss.backward()
    return {name: _held(tensor) for name, tensor in (("w", w), ("x", x), ("h", h), ("k", k), ("loss", loss))}


def _held(tensor: mg.Tensor) -> Label:
    try:
        return "None" if tensor.grad is None else f"{float(tensor.grad)}"
    except mg.GraphError:
        return Words("not kept", "不保留")


def _walked_again() -> tuple[str, str]:
    """What a second backward through one graph says, and .grad of w after two with retain_graph, for x = 1."""
    w = mg.Tensor(1.0, requires_grad=True, dtype="float64")
    loss = w * mg.Tensor(1.0, dtype="float64")
    loss.backward(retain_graph=True)
    loss.backward()
    try:
        loss.backward()
    except mg.GraphError as error:
        return str(error), f"{float(w.grad.data)}" if w.grad is not None else ""
    raise AssertionError("a graph was walked whose arrays were released")
