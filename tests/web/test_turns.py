"""Turns: how many at once, and in which order."""

from __future__ import annotations

import threading
import time

from winosmith.web._turns import Turns


def wait_until(told):
    """Wait until something is so, ten seconds at most."""
    until = time.monotonic() + 10
    while not told() and time.monotonic() < until:
        time.sleep(0.001)
    assert told()


def test_turns_come_in_order_and_the_hasty_first():
    """With the one place taken, who waits gets it in order, who only looks before all others."""
    turns, order, threads = Turns(1), [], []

    def come(name, hasty):
        with turns.turn(hasty=hasty):
            order.append(name)

    with turns.turn():
        for name, hasty in (("a", False), ("b", False), ("quick", True), ("c", False)):
            threads.append(threading.Thread(target=come, args=(name, hasty)))
            threads[-1].start()
            waiting = len(threads)
            wait_until(lambda n=waiting: len(turns._hasty) + len(turns._patient) == n)
        assert order == []
    for thread in threads:
        thread.join(10)
    assert order == ["quick", "a", "b", "c"]


def test_no_more_have_their_turn_than_there_are_places():
    """Of 21 threads three are inside at once and never four, also where some of them fail."""
    turns, inside, most, three = Turns(3), [], [], threading.Barrier(3)

    def come(number):
        try:
            with turns.turn(hasty=number % 3 == 0):
                inside.append(number)
                most.append(len(inside))
                three.wait(10)
                inside.remove(number)
                if number % 2:
                    raise KeyError
        except KeyError:
            pass

    threads = [threading.Thread(target=come, args=(number,)) for number in range(21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(most) == 21
    assert max(most) == 3
    assert turns._free == 3
