"""Text to tokens and back, in three ways with one protocol, and vocabularies of limited size."""

from transformer.data.tokenisers.byte_pairs import BytePairTokeniser
from transformer.data.tokenisers.characters import CharacterTokeniser
from transformer.data.tokenisers.learning import learn_byte_pairs
from transformer.data.tokenisers.stored import load, save
from transformer.data.tokenisers.tokeniser import Tokeniser
from transformer.data.tokenisers.vocabularies import Coverage, count_tokens, coverage, limited_vocabulary
from transformer.data.tokenisers.words import WordTokeniser

__all__ = [
    "BytePairTokeniser", "CharacterTokeniser", "Coverage", "Tokeniser", "WordTokeniser", "count_tokens", "coverage",
    "learn_byte_pairs", "limited_vocabulary", "load", "save",
]  # fmt: skip
