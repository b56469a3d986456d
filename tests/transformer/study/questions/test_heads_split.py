"""Question 14: what stands where after a reshape and a transpose, and after a reshape alone."""

import numpy as np
import pytest

import minigrad as mg
from tests.transformer.study.questions.asked import SUBJECTS, check, numbers, value
from tests.transformer.study.questions.subjects import subject as subject_of
from transformer.study.questions.heads_split import reshape_then_transpose


@pytest.mark.parametrize("name", SUBJECTS)
def test_each_cell_of_the_last_head_names_its_token_and_feature_and_the_shares_count_the_cells(name):
    subject = SUBJECTS[name]
    answer = reshape_then_transpose(subject)
    check(answer, 14)
    right, alone = answer.figures
    length, config = subject.trace.target_in.shape[1], subject.trace.model.config
    heads, all_features, features = config.heads, config.d_model, config.d_head
    for place in range(length):
        for feature in range(features):
            expected = place + 1 + ((heads - 1) * features + feature + 1) / 100
            assert right.values[place, feature] == pytest.approx(expected, abs=1e-12)
            in_memory = ((heads - 1) * length + place) * features + feature
            token, of_token = divmod(in_memory, all_features)
            assert alone.values[place, feature] == pytest.approx(token + 1 + (of_token + 1) / 100, abs=1e-12)
    owner = np.array(
        [[(head * length + place) * features // all_features for place in range(length)] for head in range(heads)]
    )
    wrong, later = np.mean(owner != np.arange(length)), np.mean(owner > np.arange(length))
    shares = [number for number in numbers(answer.answer.en) if number.endswith("%")]
    assert shares == [f"{wrong:.0%}", f"{later:.0%}"]


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_reshape_alone_lets_the_first_words_loss_see_later_words_and_the_model_does_not(name):
    trace = SUBJECTS[name].trace
    leaked, kept = numbers(reshape_then_transpose(SUBJECTS[name]).answer.en)[-2:]
    assert kept == "0"
    assert np.all(slopes_of_the_first_loss(trace, {}) == 0)

    def split(part):
        return mg.Tensor(part.data.swapaxes(1, 2).reshape(part.shape))

    layers = range(trace.model.config.layers)
    planted = {f"decoder.layers.{n}.self_attention.{part}": split for n in layers for part in "qkv"}
    norm = np.linalg.norm(slopes_of_the_first_loss(trace, planted))
    assert norm > 1e-4
    assert value(leaked) == pytest.approx(norm, rel=0.051)


def slopes_of_the_first_loss(trace, patches):
    """Central differences of the first word's loss, by each number that the decoder reads after it: all in a batch."""
    place = "target_positions.out"
    _, length, width = trace.seen[place].shape
    change = 1e-5 * np.eye(length * width).reshape(-1, length, width)[width:]
    source, target_in = (np.repeat(ids, 2 * len(change), axis=0) for ids in (trace.source, trace.target_in))
    nudged = trace.seen[place].data + np.concatenate([change, -change])
    with mg.no_grad(), trace.model.patch({place: nudged} | patches):
        logits = trace.model(source, target_in).data[:, 0]
    losses = np.log(np.exp(logits).sum(axis=-1)) - logits[:, trace.target[0, 0]]
    up, down = np.split(losses, 2)
    return (up - down) / 2e-5


def test_one_head_or_one_word_is_split_right_by_a_reshape_too():
    for subject in (subject_of(heads=1), subject_of(target_length=1)):
        answer = reshape_then_transpose(subject)
        check(answer, 14)
        assert [number for number in numbers(answer.answer.en) if number.endswith("%")] == ["0%", "0%"]
        right, alone = answer.figures
        assert np.array_equal(right.values, alone.values)
