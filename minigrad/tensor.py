"""Tensor: an array that remembers how it was made.

What it is and what it converts to stands here; what only calls a function, as `x + y` and `x.sum()` do, in methods.py.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from minigrad.errors import DtypeError, GraphError, ShapeError, operation_error
from minigrad.hooks import Handle, Hook, register
from minigrad.methods import Methods
from minigrad.registry import operations, unsupported
from minigrad.state import current
from minigrad.tape import Array, Node, Number

TensorLike: TypeAlias = Union["Tensor", Array, Number, Sequence[Any]]
Axes: TypeAlias = int | tuple[int, ...] | None


def as_array(data: Any, dtype: npt.DTypeLike | None = None) -> Array:
    """A locked array of numbers that nobody else can write to.

    Python floats become the default dtype (lists of them too), Python ints int64; arrays and NumPy scalars keep
    their dtype. Raises TypeError for what holds no numbers, and for masked arrays, whose mask would be lost.
    """
    if isinstance(data, np.ma.MaskedArray):
        raise DtypeError("a masked array would lose its mask; pass its data, and the mask to `where`")
    array = np.array(data, dtype=dtype)
    if dtype is None and array.dtype == np.float64 and not holds_numpy(data):
        array = array.astype(current().default_dtype)
    if array.dtype.kind not in "biufc":
        raise DtypeError(f"a tensor holds numbers, not {array.dtype} (from {type(data).__name__})")
    array.setflags(write=False)
    return array


def holds_numpy(data: Any) -> bool:
    """Whether `data` is, or begins with, something that has a dtype of its own."""
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return hasattr(data, "dtype")


class Tensor(Methods):
    """An array that remembers how it was made, so that derivatives can be taken through it.

    data: anything that `numpy.array` takes. It is copied: later writes to the array can't reach the tensor.
    requires_grad: whether gradients are wanted; only floating dtypes can have one (TypeError).
    dtype: None keeps an array's own; Python floats become the default dtype (float32).
    name: what drawings and errors call it.

    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    Tensor([2., 4., 6.])
    """

    __slots__ = ("__weakref__", "_data", "_name", "_node")
    _data: Array
    _node: Node | None
    _name: str | None

    def __init__(
        self, data: Any, requires_grad: bool = False, dtype: npt.DTypeLike | None = None, name: str | None = None
    ) -> None:
        self._data = as_array(data._data if isinstance(data, Tensor) else data, dtype)
        self._node = None
        self._name = name
        if requires_grad:
            self.requires_grad = True

    # What it is

    @property
    def data(self) -> Array:
        """The array, read-only. Assigning a new one of the same shape is how a leaf is changed."""
        return self._data

    @data.setter
    def data(self, new: Any) -> None:
        self._replace(as_array(new._data if isinstance(new, Tensor) else new, self._data.dtype))

    def _replace(self, array: Array) -> None:
        """The one door by which a tensor's array changes: a leaf's only, and its version counts it."""
        node = self._node
        if array.shape != self._data.shape:
            raise ShapeError(f"a tensor of shape {self.shape} can't take data of shape {array.shape}")
        if node is not None and node.primitive is not None:
            raise GraphError(
                f"the output of {node.primitive.name} can't be changed: a derivative may need it; change a leaf, "
                "or work on t.detach()"
            )
        self._data = array
        if node is not None:
            node.data = array
            node.version += 1

    shape = property(lambda self: self._data.shape, doc="The sizes of the axes.")
    dtype = property(lambda self: self._data.dtype, doc="The type of the elements.")
    ndim = property(lambda self: self._data.ndim, doc="The number of axes.")
    size = property(lambda self: self._data.size, doc="The number of elements.")

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows to this tensor. Can be set on a leaf."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted == (self._node is not None):
            return
        if not wanted:
            if self._node is not None and self._node.primitive is not None:
                raise GraphError("only a leaf can stop requiring a gradient; use t.detach()")
            if self._node is not None and self._node.hooks:
                raise GraphError(f"{self._node.hooks[0]} would never be called again; remove it first")
            self._name, self._node = self.name, None
        else:
            if self._data.dtype.kind != "f":
                raise DtypeError(
                    f"a tensor of {self._data.dtype} can't have a gradient; use a floating dtype, "
                    "such as Tensor(data, dtype='float32')"
                )
            self._node = Node.leaf(self._data, self._name)

    @property
    def name(self) -> str | None:
        """What drawings and errors call it."""
        return self._name if self._node is None else self._node.name

    @name.setter
    def name(self, name: str | None) -> None:
        if self._node is None:
            self._name = name
        else:
            self._node.name = name

    @property
    def grad(self) -> "Tensor | None":
        """What `backward()` accumulated here; None before. An operation's output has one if it asked: `retain_grad()`.

        Raises GraphError for an output that did not ask.
        """
        node = self._node
        if node is None:
            return None
        if node.primitive is not None and not node.retains:
            raise GraphError(
                f"the gradient of {node.primitive.name}'s output is not kept; call t.retain_grad() before backward(), "
                "or use mg.gradients(loss, [t])"
            )
        return node.grad

    @grad.setter
    def grad(self, gradient: "Tensor | None") -> None:
        node = self._node
        if node is None:
            raise GraphError("this tensor does not require a gradient")
        if gradient is not None and not isinstance(gradient, Tensor):
            raise DtypeError(f"a gradient is a Tensor, not {type(gradient).__name__}; write t.grad = mg.Tensor(...)")
        if gradient is not None and gradient.shape != self.shape:
            raise ShapeError(f"a tensor of shape {self.shape} can't have a gradient of shape {gradient.shape}")
        node.grad = gradient

    def retain_grad(self) -> None:
        """Ask that `backward()` keeps the gradient of this output of an operation."""
        if self._node is None:
            raise GraphError("this tensor does not require a gradient")
        self._node.retains = True

    def backward(
        self, gradient: TensorLike | None = None, retain_graph: bool = False, create_graph: bool = False
    ) -> None:
        """Accumulate the gradient of this tensor in `.grad` of every leaf it was made from.

        gradient: the cotangent to start with, of this tensor's shape; 1 for a tensor of one element.
        retain_graph: keep what was saved, so that another backward pass can follow.
        create_graph: record the backward pass itself, for higher derivatives; the graph is then kept too.
        Raises GraphError for a graph that was released, changed since, or never recorded; ShapeError for a cotangent
        of another shape. A pass that fails on its way writes no gradient at all; what it went through is released
        (waiting for the end would cost a tenth of a training step's memory), so to look into a failure, run it with
        retain_graph=True, after which the graph is as before.
        """
        operations.backward(self, gradient, retain_graph, create_graph)

    def register_hook(self, hook: Hook) -> Handle:
        """Call `hook(gradient)` whenever `backward()` or `gradients()` reaches this tensor, with its whole gradient.

        The gradient is a read-only Tensor, on the tape under `create_graph`. The hook observes and returns None; see
        `minigrad.hooks` for changing a gradient. The handle's `remove()` takes it off, and so does leaving a
        with-block of the handle.
        Raises GraphError where the hook could never be called: no gradient is required, or the graph is released.

        >>> x = Tensor(3.0, requires_grad=True)
        >>> y = x * x
        >>> with y.register_hook(print):
        ...     (y * y).backward()
        Tensor(18.)
        """
        return register(self._node, hook)

    def detach(self) -> "Tensor":
        """The same values, without history."""
        return wrap(self._data, None)

    def numpy(self) -> Array:
        """The array, read-only; raises GraphError where a gradient would silently be lost."""
        return self.__array__()

    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number."""
        if self._data.size != 1:
            raise ShapeError(f"item() is for one element; this tensor has shape {self.shape}")
        return self._number()

    def _number(self) -> Any:
        if current().inside_rule:
            raise GraphError("a derivative's rule must not branch on values: it asked a Tensor for its number or truth")
        return self._data.item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iub" or self._data.ndim:
            raise DtypeError(f"only an integer tensor of no axes is an index, not {self.dtype} of shape {self.shape}")
        return int(self._number())

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise ValueError(f"the truth of a tensor of shape {self.shape} is ambiguous; use .data.any() or .all()")
        return bool(self._number())

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator["Tensor"]:
        if not self._data.ndim:
            raise TypeError("a tensor of no axes can't be iterated over")
        return (self[i] for i in range(len(self._data)))

    def __contains__(self, value: Any) -> bool:
        return bool((self._data == plain(value)).any())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        body = np.array2string(self._data, separator=", ", prefix="Tensor(", threshold=50, edgeitems=3)
        parts = [body]
        if self._data.dtype not in (current().default_dtype, np.int64, np.bool_):
            parts.append(f"dtype={self._data.dtype}")
        if self.name:
            parts.append(f"name={self.name!r}")
        if self._node is not None:
            made_by = self._node.primitive
            parts.append("requires_grad=True" if made_by is None else f"made_by={made_by.name!r}")
        return f"Tensor({', '.join(parts)})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        if self._data.size != 1:
            raise TypeError(f"format {spec!r} is for one number; this tensor has shape {self.shape}")
        return format(self.item(), spec)

    def __reduce__(self) -> tuple[Any, ...]:
        # History does not travel: a copy is a leaf.
        return type(self)._rebuild, (self._data, self.requires_grad, self.name)

    @classmethod
    def _rebuild(cls, data: Array, requires_grad: bool, name: str | None) -> "Tensor":
        new = cls.__new__(cls)
        Tensor.__init__(new, data, requires_grad=requires_grad, dtype=data.dtype, name=name)
        return new

    # NumPy's protocols

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if self._node is not None:
            raise GraphError(
                "NumPy would lose this tensor's gradient; use t.detach().numpy() or t.data, or the function of this "
                "name in minigrad"
            )
        return np.array(self._data, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        ours = operations.ufuncs.get(ufunc)
        if ours is None:
            raise unsupported(ufunc)
        if method != "__call__" or kwargs:
            extra = f".{method}" if method != "__call__" else f"(..., {', '.join(f'{key}=' for key in kwargs)})"
            raise TypeError(f"np.{ufunc.__name__}{extra} is not supported on a Tensor: it would write where none looks")
        return ours(*inputs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        ours = operations.functions.get(function)
        if ours is None:
            raise unsupported(function)
        return ours(*args, **kwargs)

    # Operators that change

    def __iadd__(self, other: TensorLike) -> "Tensor":
        return self._updated(operations.add, other)

    def __isub__(self, other: TensorLike) -> "Tensor":
        return self._updated(operations.subtract, other)

    def __imul__(self, other: TensorLike) -> "Tensor":
        return self._updated(operations.multiply, other)

    def __itruediv__(self, other: TensorLike) -> "Tensor":
        return self._updated(operations.divide, other)

    def __ipow__(self, other: TensorLike) -> "Tensor":
        return self._updated(operations.power, other)

    def __imatmul__(self, other: TensorLike) -> "Tensor":
        return self._updated(operations.matmul, other)

    def _updated(self, operation: Callable[[TensorLike, TensorLike], "Tensor"], other: TensorLike) -> "Tensor":
        """`t += other`: on a leaf under `no_grad` a change of its data; else a new tensor, as for a Python number."""
        if self._node is None or self._node.primitive is not None:
            return operation(self, other)
        if current().recording:
            raise GraphError(
                "a leaf that requires a gradient can't be changed while operations are recorded; "
                "write `with mg.no_grad(): p -= lr * p.grad`, or make a new tensor: q = p - ..."
            )
        self.data = operation(self, other)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("a tensor's elements can't be assigned; use mg.where(mask, new, t), or t.data = new on a leaf")

    # Comparisons and positions are plain arrays: nothing flows through them

    def __eq__(self, other: object) -> Any:
        return compared(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return compared(operator.ne, self, other)

    def __lt__(self, other: TensorLike) -> Any:
        return compared(operator.lt, self, other)

    def __le__(self, other: TensorLike) -> Any:
        return compared(operator.le, self, other)

    def __gt__(self, other: TensorLike) -> Any:
        return compared(operator.gt, self, other)

    def __ge__(self, other: TensorLike) -> Any:
        return compared(operator.ge, self, other)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Where the largest element along `axis` is (None: in the tensor made flat), as `numpy.argmax`."""
        return np.argmax(self._data, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Where the smallest element along `axis` is (None: in the tensor made flat), as `numpy.argmin`."""
        return np.argmin(self._data, axis, keepdims=keepdims)

    def argsort(self, axis: int | None = -1) -> Any:
        """The indices that bring the elements into rising order along `axis`, ties in theirs, as `mg.sort` does."""
        return np.argsort(self._data, axis, kind="stable")


def plain(value: Any) -> Any:
    """The array of a Tensor; anything else as it is."""
    return value._data if isinstance(value, Tensor) else value


def compared(comparison: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A comparison as a plain boolean array. Raises ShapeError or TypeError that names it where it can't be made."""
    left, right = plain(left), plain(right)
    try:
        return comparison(left, right)
    except (ValueError, TypeError) as error:
        raise operation_error(comparison.__name__, current().path, [left, right], error) from error


# An array on the left asks NumPy, which asks the Tensor
for ufunc, comparison in {
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt, np.less_equal: operator.le,
    np.greater: operator.gt, np.greater_equal: operator.ge,
}.items():  # fmt: skip
    operations.ufuncs[ufunc] = partial(compared, comparison)
operations.functions |= {np.shape: attrgetter("shape"), np.ndim: attrgetter("ndim")}


blank = object.__new__


def wrap(data: Array, node: Node | None) -> Tensor:
    """A Tensor around a locked array and the node that made it, without a copy."""
    tensor = blank(Tensor)
    tensor._data = data
    tensor._node = node
    tensor._name = None
    return tensor
