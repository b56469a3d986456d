"""How many threads the BLAS may use in a training: by the size of the products, never by how busy the machine is.

Two threads pay on a machine with nothing else to do, from small products on. Where other programs run too, they wait
for each other at every product, and the smaller the products, the more of the time is waiting. Seconds of a step with
two threads over those with one, by turns, medians of 7 to 9 pairs of steps, on two cores shared with others:

| d_model, tokens | 64, 768 | 128, 1280 | 256, 256 | 256, 1280 | 512, 256 | 512, 1024 |
|---|---|---|---|---|---|---|
| nothing else runs | 0.93 | 0.72 | 0.74 | 0.63 | 0.70 | 0.62 |
| one other program | 16 | 2.5 | 1.7 | 1.4 | 1.6 | 1.3 |
| two other programs | - | 6.0 | 5.9 | 2.5 | - | - |

What may be lost is no more than what may be won only at the paper's width, so two threads begin there. How many there
are changes how sums are rounded: chosen by load, they would make a run differ from run to run.
"""

from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController

from transformer.config import TransformerConfig
from transformer.training.config import RunConfig

WIDE, MANY_TOKENS, THREADS = 512, 256, 2


def blas_threads(config: TransformerConfig, tokens: int) -> int:
    """How many threads the products of a step are worth: 2 from d_model 512 and 256 tokens on, else 1.

    tokens: the places of one side's batch, B * T.
    """
    return THREADS if config.d_model >= WIDE and tokens >= MANY_TOKENS else 1


def limited_blas(config: RunConfig) -> AbstractContextManager[object]:
    """A context in which BLAS has the threads that a run is worth.

    They are never more than it has outside: as many as there are cores, or as OPENBLAS_NUM_THREADS and its like say.
    Workers have one each: they are the threads.
    """
    training = config.training
    tokens = training.batch_size * config.model.max_length // training.accumulate
    wanted = blas_threads(config.model, tokens) if training.workers == 1 else 1
    controller = ThreadpoolController()
    available = [library["num_threads"] for library in controller.select(user_api="blas").info()]
    limit: AbstractContextManager[object] = controller.limit(limits=min([wanted, *available]), user_api="blas")
    return limit
