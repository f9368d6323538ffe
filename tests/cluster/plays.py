"""Runs tests at the same time in one process. unittest calls the tests one after the other; each then waits for its plays."""

import concurrent.futures
import functools
import sys
import time
import unittest

AT_ONCE = 8


class Plays:
    """`on` decorates the tests. The TestCase must call `loaded` when it is made, and the set-up of the module `start`."""

    def __init__(self):
        self._bodies = {}  # name of a test -> (its body, pathways)
        self._loaded = {}  # name of a test -> the TestCase
        self._futures = {}

    def on(self, *pathways):
        """The test is played on each of these pathways."""

        def decorate(body):
            name = body.__name__
            self._bodies[name] = body, pathways

            @functools.wraps(body)
            def test(case):
                for pathway in pathways:
                    with case.subTest(pathway):
                        self._futures[name, pathway].result()

            return test

        return decorate

    def loaded(self, case, name):
        """unittest makes a TestCase for each test that it is going to run."""
        self._loaded[name] = case

    def start(self, make_play):
        """Plays the loaded tests. make_play(number of the test, pathway) returns what the bodies get."""
        pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
        unittest.addModuleCleanup(pool.shutdown, cancel_futures=True)
        numbers = {name: number for number, name in enumerate(sorted(self._bodies))}
        for name in sorted(self._loaded):
            body, pathways = self._bodies[name]
            for pathway in pathways:
                make = functools.partial(make_play, numbers[name], pathway)
                self._futures[name, pathway] = pool.submit(self._play, name, body, pathway, make)

    def _play(self, name, body, pathway, make):
        began = time.monotonic()
        play = make()
        body(self._loaded[name], play)
        play.check_claims()
        print(f"  {time.monotonic() - began:5.1f} s {name}, {pathway}", file=sys.stderr)
