"""How a model is judged: it writes freely, from the source alone, and what it wrote is held against what is right."""

from transformer.evaluation.asking import Question, ask, evaluate, evaluate_splits, questions
from transformer.evaluation.score import Answer, Score
from transformer.evaluation.text_scores import TextScore, bleu, chrf, load_sacrebleu, tokenizer_for

__all__ = [
    "Answer",
    "Question",
    "Score",
    "TextScore",
    "ask",
    "bleu",
    "chrf",
    "evaluate",
    "evaluate_splits",
    "load_sacrebleu",
    "questions",
    "tokenizer_for",
]
