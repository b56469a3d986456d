"""The error function and its complement on arrays, which NumPy has not.

Rational approximations on four ranges of |x|, those of the freely distributable mathematical library of Sun
Microsystems (1993; `s_erf.c`): the error is below one unit in the last place of float64.
"""

from collections.abc import Sequence

import numpy as np

from minigrad.tape import Array

# erf(x) = x + x * P(x**2) / Q(x**2), |x| < 0.84375
_NEAR = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03,
     -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
     1.32494738004321644526e-04, -3.96022827877536812320e-06),
)  # fmt: skip
# erf(x) = _AT_ONE + P(x - 1) / Q(x - 1), 0.84375 <= x < 1.25
_AT_ONE = 8.45062911510467529297e-01
_MIDDLE = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
     -1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
     1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
)  # fmt: skip
# erfc(x) = exp(-x**2 - 0.5625 + P(1 / x**2) / Q(1 / x**2)) / x, 1.25 <= x < 1 / 0.35, and beyond
_FAR = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
     -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
     -8.12874355063065934246e+01, -9.81432934416914548592e+00),
    (1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
     6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02, 6.57024977031928170135e+00,
     -6.04244152148580987438e-02),
)  # fmt: skip
_FARTHEST = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01, -1.60636384855821916062e+02,
     -6.37566443368389627722e+02, -1.02509513161107724954e+03, -4.83519191608651397019e+02),
    (1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
     3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02, -2.24409524465858183362e+01),
)  # fmt: skip


def _polynomial(coefficients: Sequence[float], z: Array) -> Array:
    total = np.full_like(z, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= z
        total += coefficient
    return total


def _ratio(pair: tuple[Sequence[float], Sequence[float]], z: Array) -> Array:
    return np.asarray(_polynomial(pair[0], z) / _polynomial(pair[1], z))


def _tail(x: Array, pair: tuple[Sequence[float], Sequence[float]]) -> Array:
    """erfc(x) for x >= 1.25. The square is taken of x's upper half bits, exactly: exp would magnify its rounding."""
    upper = x.astype(np.float32).astype(np.float64)
    rest = (upper - x) * (upper + x)
    return np.asarray(np.exp(-upper * upper - 0.5625) * np.exp(rest + _ratio(pair, 1 / (x * x))) / x)


def _complement(x: Array) -> tuple[Array, Array]:
    """(erf(x), erfc(x)) of a flat float64 array without a sign, each to full relative accuracy."""
    erf, erfc = np.ones_like(x), np.zeros_like(x)
    near, middle, farthest = x < 0.84375, (x >= 0.84375) & (x < 1.25), (x >= 1 / 0.35) & (x < 28)
    far = (x >= 1.25) & (x < 1 / 0.35)
    if near.any():
        z = x[near]
        erf[near] = found = z + z * _ratio(_NEAR, z * z)
        erfc[near] = 1 - found
    if middle.any():
        step = _ratio(_MIDDLE, x[middle] - 1)
        erf[middle] = _AT_ONE + step
        erfc[middle] = (1 - _AT_ONE) - step
    for part, pair in ((far, _FAR), (farthest, _FARTHEST)):
        if part.any():
            erfc[part] = found = _tail(x[part], pair)
            erf[part] = 1 - found
    nan = np.isnan(x)
    erf[nan] = erfc[nan] = np.nan
    return erf, erfc


def _real(x: Array) -> Array:
    """x as flat float64. Raises TypeError for complex numbers."""
    if x.dtype.kind == "c":
        raise TypeError("the error function is for real numbers")
    return np.asarray(x, np.float64).reshape(-1)


def _result(values: Array, x: Array) -> Array:
    """In x's shape and dtype; float64 for integers."""
    return values.reshape(x.shape).astype(x.dtype if x.dtype.kind == "f" else np.float64, copy=False)


def erf_of(x: Array) -> Array:
    """The error function, elementwise: float64 inside, x's dtype outside."""
    flat = _real(x)
    erf, _ = _complement(np.abs(flat))
    return _result(np.copysign(erf, flat), x)


def normal_cdf(x: Array) -> Array:
    """The probability that a standard normal number is below x: erfc(-x / sqrt(2)) / 2, accurate in both tails."""
    flat = _real(x) * float(np.sqrt(0.5))
    _, erfc = _complement(np.abs(flat))
    return _result(np.where(flat < 0, 0.5 * erfc, 1 - 0.5 * erfc), x)
