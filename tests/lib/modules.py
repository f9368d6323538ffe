"""Runs unittest modules, each in a process of its own, two at a time: most of them wait for an API server.

A comparison that could not be made is a line "skipped: TEST: REASON", and the last line tells the totals."""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

AT_ONCE = 2


def run_here(label, names):
    """The tests of these names in this process; the exit status."""
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestLoader().loadTestsFromNames(names))
    # A test counts once, however many of its rows fail; a module that cannot be set up counts as well.
    bad = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    fixtures = sum(name.startswith(("setUp", "tearDown")) for name in bad)
    # A skipped row leaves its test a passed one, and a class that cannot be set up has started no test.
    skipped = [test for test, _ in result.skipped if isinstance(test, unittest.TestCase) and not hasattr(test, "test_case")]
    for test, reason in result.skipped:
        print(f"skipped: {test.id()}: {' '.join(reason.split())}")
    passed = result.testsRun + fixtures - len(bad) - len(skipped)
    print(f"{label}: {passed} passed, {len(bad)} failed, {len(result.skipped)} skipped", flush=True)
    return 1 if bad or (result.testsRun == 0 and not result.skipped) else 0


def run_apart(label, script, names, alone=()):
    """The tests of these names by `script NAME...`, one process a module; modules in `alone` after all others, with
    nothing beside them. The exit status."""
    modules = {}
    for name in names:
        modules.setdefault(name.partition(".")[0], []).append(name)
    if len(modules) == 1:
        return run_here(label, names)
    together = [module for module in modules if module not in alone]
    totals = [0, 0, 0]

    def run(module):
        began = time.monotonic()
        with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
            command = [sys.executable, str(script), *modules[module]]
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT).returncode
            log.seek(0)
            text = log.read()
        told = re.findall(rf"^{label}: (\d+) passed, (\d+) failed, (\d+) skipped$", text, re.M)
        counts = [int(count) for count in told[-1]] if told else [0, 0, 0]
        if status and not counts[1]:
            counts[1] = 1  # it ended before it could count
        body = re.sub(rf"^{label}: .*\n", "", text, flags=re.M)
        sys.stdout.write(f"== {module}: {time.monotonic() - began:.0f} s\n{body}")
        sys.stdout.flush()
        return counts

    for batch, at_once in ((together, AT_ONCE), ([module for module in modules if module in alone], 1)):
        pool = concurrent.futures.ThreadPoolExecutor(at_once)
        try:
            for counts in pool.map(run, batch):
                totals = [sum(pair) for pair in zip(totals, counts)]
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C, which the modules have got as well
    print(f"{label}: {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] or sum(totals) == 0 else 0


def modules_of(folder):
    return sorted(path.stem for path in pathlib.Path(folder).glob("test_*.py"))
