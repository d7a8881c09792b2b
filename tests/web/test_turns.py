"""Turns: how many at once, and in which order."""

from __future__ import annotations

import os
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
    turns, order, threads, gate = Turns(1), [], [], threading.Event()
    threads.append(threading.Thread(target=turns.do, args=(gate.wait,)))
    threads[0].start()
    wait_until(lambda: turns._process and not turns._patient)
    for waiting, name in enumerate(("a", "b", "quick", "c"), 1):
        asked = {"act": lambda name=name: order.append(name), "hasty": name == "quick"}
        threads.append(threading.Thread(target=turns.do, kwargs=asked))
        threads[-1].start()
        wait_until(lambda n=waiting: len(turns._hasty) + len(turns._patient) == n)
    assert order == []
    gate.set()
    for thread in threads:
        thread.join(10)
    assert order == ["quick", "a", "b", "c"]


def test_no_more_have_their_turn_than_there_are_places():
    """Of 21 threads three are inside at once and never four, and each gets what came of its own."""
    turns, inside, most, told = Turns(3), [], [], {}
    three = threading.Barrier(3)

    def come(number):
        def act():
            inside.append(threading.current_thread())
            most.append(len(inside))
            three.wait(10)
            inside.remove(threading.current_thread())
            if number % 2:
                raise KeyError(number)
            return number

        try:
            told[number] = turns.do(act, hasty=number % 3 == 0)
        except KeyError as error:
            told[number] = -error.args[0]

    threads = [threading.Thread(target=come, args=(number,)) for number in range(21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(most) == 21
    assert max(most) == 3
    assert told == {number: -number if number % 2 else number for number in range(21)}


def test_a_fork_begins_its_own_threads():
    """A process that was forked off has its turns, too."""
    turns = Turns(2)
    assert turns.do(os.getpid) == os.getpid()
    child = os.fork()
    if not child:
        os._exit(0 if turns.do(os.getpid) == os.getpid() else 1)
    assert os.waitpid(child, 0)[1] == 0
