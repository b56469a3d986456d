"""What `model.generate` does: the likeliest text, by greedy decoding or by beam search."""

from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy
from transformer.decoding.writer import CanWrite
from transformer.masks import Ids
from transformer.vocabulary import PAD


def generate(model: CanWrite, source: Ids, max_length: int, beam: int, length_penalty: float) -> Ids:
    """(B, T_s) -> (B, up to max_length) ids: a row ends with eos, if it came to one, and is padded after it.

    beam: 1, always the likeliest next word (length_penalty is not used); more, the best of a beam search.
    """
    if beam == 1:
        return greedy(model, source, max_length).ids
    best = beam_search(model, source, beam, max_length, length_penalty).ids[:, 0]
    return best[:, : int((best != PAD).sum(axis=1).max(initial=0))]
