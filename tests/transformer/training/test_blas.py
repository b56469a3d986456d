"""How many threads the BLAS gets: by the configuration alone, and put back afterwards."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController

from transformer import TransformerConfig
from transformer.tasks import TASKS
from transformer.training import blas
from transformer.training.blas import MANY_TOKENS, WIDE, blas_threads, limited_blas
from transformer.training.config import configure


def model(d_model):
    return TransformerConfig(source_vocab=9, target_vocab=9, d_model=d_model, heads=1)


def threads():
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@given(d_model=st.integers(1, 2000), tokens=st.integers(1, 10**6))
def test_more_than_one_thread_only_where_products_are_large(d_model, tokens):
    large = d_model >= WIDE and tokens >= MANY_TOKENS
    assert blas_threads(model(d_model), tokens) == (2 if large else 1)


def test_the_papers_model_has_two_and_every_task_one():
    assert blas_threads(TransformerConfig(source_vocab=1000, target_vocab=1000), 8 * 32) == 2
    for task in TASKS.values():
        config = configure(task)
        assert blas_threads(config.model, config.training.batch_size * config.model.max_length) == 1


@pytest.mark.parametrize(("accumulate", "expected"), [(1, 2), (4, 2), (5, 1)])
def test_it_is_a_micro_batch_that_has_to_be_large(tiny_config, accumulate, expected):
    config = replace(
        tiny_config,
        model=replace(tiny_config.model, d_model=512),
        training=replace(tiny_config.training, batch_size=64, accumulate=accumulate),
    )  # 64 x 17 tokens
    with ThreadpoolController().limit(limits=2, user_api="blas"), limited_blas(config):
        assert threads() == {expected}


@pytest.mark.parametrize(("d_model", "workers", "expected"), [(512, 1, 2), (512, 2, 1), (64, 1, 1), (64, 2, 1)])
def test_workers_have_one_each(tiny_config, d_model, workers, expected):
    config = replace(
        tiny_config,
        model=replace(tiny_config.model, d_model=d_model),
        training=replace(tiny_config.training, batch_size=64, workers=workers),
    )
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        with limited_blas(config):
            assert threads() == {expected}
        assert threads() == {2}


def test_no_more_than_there_were(tiny_config):
    config = replace(tiny_config, model=replace(tiny_config.model, d_model=512))
    with ThreadpoolController().limit(limits=1, user_api="blas"), limited_blas(config):
        assert threads() == {1}


def test_a_blas_that_can_not_be_asked_is_no_trouble(tiny_config, monkeypatch):
    class Nobody:
        def select(self, **_):
            return self

        def info(self):
            return []

        def limit(self, limits, user_api):
            return limits

    monkeypatch.setattr(blas, "ThreadpoolController", Nobody)
    assert limited_blas(tiny_config) == 1
