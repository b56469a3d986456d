"""The warm-up schedule is the paper's equation 3; the linear one is a triangle."""

import pytest

from minigrad.optim import warmup, warmup_linear


@pytest.mark.parametrize("step", [1, 2, 100, 3999, 4000, 4001, 100_000])
def test_the_rate_is_equation_3(step):
    assert warmup(512, 4000)(step) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5), rel=1e-15)


def test_it_grows_linearly_to_its_peak_and_then_falls_as_one_over_the_root():
    rate = warmup(64, 200, factor=2.0)
    assert rate(100) == pytest.approx(rate(200) / 2)
    assert rate(200) == pytest.approx(2 * (64 * 200) ** -0.5)
    assert rate(800) == pytest.approx(rate(200) / 2)
    assert max(range(1, 1000), key=rate) == 200


def test_steps_count_from_one():
    with pytest.raises(ValueError, match="the first step is 1, not 0"):
        warmup(64, 200)(0)
    with pytest.raises(ValueError, match="at least 1 step, not 0"):
        warmup(64, 0)


def test_the_linear_schedule_grows_to_its_peak_and_comes_down_to_nothing():
    rate = warmup_linear(0.3, 10, 100)
    assert rate(1) == pytest.approx(0.03)
    assert rate(10) == pytest.approx(0.3)
    assert rate(55) == pytest.approx(0.3 * 46 / 91)
    assert rate(100) == pytest.approx(0.3 / 91)
    assert rate(101) == rate(1000) == 0
    assert max(range(1, 101), key=rate) == 10


def test_the_linear_schedule_refuses_what_has_no_room():
    for warm, total in ((0, 10), (11, 10)):
        with pytest.raises(ValueError, match=f"between 1 and total_steps={total}, not {warm}"):
            warmup_linear(0.1, warm, total)
    with pytest.raises(ValueError, match="the first step is 1, not 0"):
        warmup_linear(0.1, 1, 10)(0)
