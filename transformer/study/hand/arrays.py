"""What every box takes and gives: arrays of float64. Masks are boolean, True = may be seen, or is a word."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
