from collections import Counter

import numpy as np

from transformer.tasks.parity import PARITY, is_unseen


def test_each_sign_is_the_parity_of_the_ones_up_to_its_place():
    rng = np.random.default_rng(0)
    for source, target in [PARITY.sample(rng) for _ in range(500)] + PARITY.test_set(500)["lengths 8-24"]:
        assert len(target) == len(source)
        for place, sign in enumerate(target, start=1):
            assert int(sign) == source[:place].count("1") % 2


def test_training_lengths_are_uniform_over_8_to_24_and_half_of_the_bits_are_ones():
    rng = np.random.default_rng(1)
    sources = [PARITY.sample(rng).source for _ in range(17_000)]
    lengths = Counter(map(len, sources))
    assert set(lengths) == set(range(8, 25))
    assert all(840 < times < 1160 for times in lengths.values())  # 1000 expected, 5 standard deviations
    bits = Counter(bit for source in sources for bit in source)
    assert 0.98 < bits["1"] / bits["0"] < 1.02


def test_nothing_held_out_is_trained_on():
    rng = np.random.default_rng(2)
    unseen = {pair.source for pair in PARITY.test_set(2000)["lengths 8-24"]}
    assert all(map(is_unseen, unseen))
    assert unseen.isdisjoint(PARITY.sample(rng).source for _ in range(30_000))


def test_the_test_set_holds_distinct_strings_of_every_length():
    scored = PARITY.test_set(2000)["lengths 8-24"]
    assert len(set(scored)) == 2000
    assert set(map(len, (pair.source for pair in scored))) == set(range(8, 25))


def test_about_one_string_in_ten_is_held_out():
    rng = np.random.default_rng(4)
    strings = {"".join(rng.choice(["0", "1"], size=20)) for _ in range(10_000)}
    assert 0.085 < sum(map(is_unseen, strings)) / len(strings) < 0.115


def test_a_user_may_write_bits_with_or_without_blanks():
    assert PARITY.tokenize_source(" 1 01\n") == ["1", "0", "1"]
    assert PARITY.render_target(["1", "1"]) == "1 1"
    assert PARITY.source_vocabulary.unknown(PARITY.tokenize_source("12")) == ["2"]
