"""Ctrl-C is noted, not obeyed at once; a second one is obeyed."""

import os
import signal
import threading

import pytest

from transformer.training.interruption import Interruption


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_the_first_is_noted_and_the_second_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as interruption:
        assert not interruption.requested
        press_ctrl_c()
        assert interruption.requested
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is before


def test_the_old_handler_comes_back_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), Interruption():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_nothing_happens():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with Interruption() as interruption:
            seen.append((interruption.requested, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, before)]
