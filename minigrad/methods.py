"""Methods: the operators and methods of a Tensor that are one of minigrad's functions by another spelling.

Each hands itself to the registry and does nothing else. Tensor is made from them; they are no class of their own.
"""

from __future__ import annotations  # Tensor is made from this: its name is not known here when this is imported

from typing import TYPE_CHECKING, Any, Self

from minigrad.registry import operations

if TYPE_CHECKING:
    import numpy.typing as npt

    from minigrad.tensor import Axes, Tensor, TensorLike


class Methods:
    """What `x + y`, `x[index]` and `x.sum()` call."""

    __slots__ = ()

    def __add__(self, other: TensorLike) -> Tensor:
        return operations.add(self, other)

    def __radd__(self, other: TensorLike) -> Tensor:
        return operations.add(other, self)

    def __sub__(self, other: TensorLike) -> Tensor:
        return operations.subtract(self, other)

    def __rsub__(self, other: TensorLike) -> Tensor:
        return operations.subtract(other, self)

    def __mul__(self, other: TensorLike) -> Tensor:
        return operations.multiply(self, other)

    def __rmul__(self, other: TensorLike) -> Tensor:
        return operations.multiply(other, self)

    def __truediv__(self, other: TensorLike) -> Tensor:
        return operations.divide(self, other)

    def __rtruediv__(self, other: TensorLike) -> Tensor:
        return operations.divide(other, self)

    def __pow__(self, other: TensorLike) -> Tensor:
        return operations.power(self, other)

    def __rpow__(self, other: TensorLike) -> Tensor:
        return operations.power(other, self)

    def __matmul__(self, other: TensorLike) -> Tensor:
        return operations.matmul(self, other)

    def __rmatmul__(self, other: TensorLike) -> Tensor:
        return operations.matmul(other, self)

    def __neg__(self) -> Tensor:
        return operations.negative(self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Tensor:
        return operations.abs(self)

    def __getitem__(self, index: Any) -> Tensor:
        return operations.getitem(self, index)

    @property
    def T(self) -> Tensor:
        """The tensor with its axes in reverse order."""
        return operations.transpose(self, None)

    def sum(
        self, axis: Axes = None, keepdims: bool = False, dtype: npt.DTypeLike | None = None, where: Any = None
    ) -> Tensor:
        """The sum over `axis`; see `mg.sum`."""
        return operations.sum(self, axis, keepdims, dtype, where)

    def mean(
        self, axis: Axes = None, keepdims: bool = False, dtype: npt.DTypeLike | None = None, where: Any = None
    ) -> Tensor:
        """The mean over `axis`; see `mg.mean`."""
        return operations.mean(self, axis, keepdims, dtype, where)

    def max(self, axis: Axes = None, keepdims: bool = False, where: Any = None) -> Tensor:
        """The largest element over `axis`; see `mg.max`."""
        return operations.max(self, axis, keepdims, where)

    def min(self, axis: Axes = None, keepdims: bool = False, where: Any = None) -> Tensor:
        """The smallest element over `axis`; see `mg.min`."""
        return operations.min(self, axis, keepdims, where)

    def prod(self, axis: Axes = None, keepdims: bool = False, dtype: npt.DTypeLike | None = None) -> Tensor:
        """The product over `axis`; see `mg.prod`."""
        return operations.prod(self, axis, keepdims, dtype)

    def var(self, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
        """The variance over `axis`; see `mg.var`."""
        return operations.var(self, axis, ddof, keepdims)

    def std(self, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
        """The root of the variance over `axis`; see `mg.std`."""
        return operations.std(self, axis, ddof, keepdims)

    def cumsum(self, axis: int | None = None, dtype: npt.DTypeLike | None = None) -> Tensor:
        """The sum up to each place along `axis`; see `mg.cumsum`."""
        return operations.cumsum(self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: npt.DTypeLike | None = None) -> Tensor:
        """The product up to each place along `axis`; see `mg.cumprod`."""
        return operations.cumprod(self, axis, dtype)

    def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """Kept within [min, max]; see `mg.clip`."""
        return operations.clip(self, min, max)

    def take(self, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
        """The elements or slices at `indices`; see `mg.take`."""
        return operations.take(self, indices, axis, mode)

    def repeat(self, repeats: Any, axis: int | None = None) -> Tensor:
        """Each element `repeats` times in a row; see `mg.repeat`."""
        return operations.repeat(self, repeats, axis)

    def squeeze(self, axis: Axes = None) -> Tensor:
        """Without the axes `axis` of size 1; see `mg.squeeze`."""
        return operations.squeeze(self, axis)

    def reshape(self, *shape: int | tuple[int, ...]) -> Tensor:
        """The same elements in another shape; see `mg.reshape`."""
        return operations.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: int | tuple[int, ...]) -> Tensor:
        """The axes in another order, reversed by default; see `mg.transpose`."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return operations.transpose(self, order or None)

    def swapaxes(self, first: int, second: int) -> Tensor:
        """Two axes changed for each other; see `mg.swapaxes`."""
        return operations.swapaxes(self, first, second)

    def astype(self, dtype: npt.DTypeLike) -> Tensor:
        """The same values in another floating dtype; the gradient comes back in this one's."""
        return operations.astype(self, dtype)

    def exp(self) -> Tensor:
        """See `mg.exp`."""
        return operations.exp(self)

    def log(self) -> Tensor:
        """See `mg.log`."""
        return operations.log(self)

    def sqrt(self) -> Tensor:
        """See `mg.sqrt`."""
        return operations.sqrt(self)

    def tanh(self) -> Tensor:
        """See `mg.tanh`."""
        return operations.tanh(self)

    def relu(self) -> Tensor:
        """See `mg.relu`."""
        return operations.relu(self)
