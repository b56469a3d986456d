"""Questions that learners ask, each answered by one picture or one number, from the model at hand where it can."""

from collections.abc import Callable

from transformer.study.questions.answer import Answer, Subject
from transformer.study.questions.attention import gradients_of_attention, large_logits, spread_of_scores
from transformer.study.questions.broadcasting import broadcast_shapes
from transformer.study.questions.decoding import key_value_cache, parallel_training
from transformer.study.questions.first_loss import first_loss
from transformer.study.questions.free_running import teacher_forcing
from transformer.study.questions.gradient_checks import key_bias, step_of_a_check
from transformer.study.questions.heads_split import reshape_then_transpose
from transformer.study.questions.masks import fully_masked_row, ways_to_mask
from transformer.study.questions.norm_order import pre_norm_or_post_norm
from transformer.study.questions.norms import layer_norm_terms
from transformer.study.questions.padded import padding
from transformer.study.questions.scaled_embeddings import scaled_embeddings
from transformer.study.questions.shifted import shifted_right
from transformer.study.questions.smoothing import label_smoothing
from transformer.study.questions.softmax import minus_one, softmax_jacobian, two_jacobians
from transformer.study.questions.tables import repeated_ids
from transformer.study.questions.the_walk import topological_order, zeroing
from transformer.study.questions.tied_weights import weight_tying
from transformer.study.questions.which_head import which_head

QUESTIONS: tuple[Callable[[Subject], Answer], ...] = (
    gradients_of_attention,
    spread_of_scores,
    large_logits,
    two_jacobians,
    softmax_jacobian,
    minus_one,
    layer_norm_terms,
    repeated_ids,
    broadcast_shapes,
    topological_order,
    zeroing,
    fully_masked_row,
    ways_to_mask,
    reshape_then_transpose,
    shifted_right,
    parallel_training,
    key_value_cache,
    weight_tying,
    scaled_embeddings,
    pre_norm_or_post_norm,
    key_bias,
    step_of_a_check,
    padding,
    label_smoothing,
    teacher_forcing,
    which_head,
    first_loss,
)
"""In the order in which a page asks them."""

__all__ = ["QUESTIONS", "Answer", "Subject"]
