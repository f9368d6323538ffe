"""Runs unittest modules, each in its own process, several at a time, because most of them wait for an API server.

A skipped comparison is reported as a line "skipped: TEST: REASON". The last line has the totals."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

AT_ONCE = 2


def run_here(label, names):
    """Runs the named tests in this process. Returns the exit status."""
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestLoader().loadTestsFromNames(names))
    # A test counts once for all of its failed rows. A failed set-up of a module counts as a failed test.
    bad = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    fixtures = sum(name.startswith(("setUp", "tearDown")) for name in bad)
    # A test with a skipped row still passes. A class whose set-up is skipped has started no test.
    skipped = [test for test, _ in result.skipped if isinstance(test, unittest.TestCase) and not hasattr(test, "test_case")]
    for test, reason in result.skipped:
        print(f"skipped: {test.id()}: {' '.join(reason.split())}")
    passed = result.testsRun + fixtures - len(bad) - len(skipped)
    print(f"{label}: {passed} passed, {len(bad)} failed, {len(result.skipped)} skipped", flush=True)
    return 1 if bad or (result.testsRun == 0 and not result.skipped) else 0


def failed_tests(text):
    """What unittest reports of each failed test in its output `text`; empty if it has reported none."""
    return "".join(re.findall(r"^={70}\n(?:FAIL|ERROR): .*?(?=^={70}\n|^-{70}\nRan )", text, re.M | re.S))


def run_apart(label, script, names, alone=(), at_once=AT_ONCE, beside=(), beside_at_once=1):
    """Runs the named tests with `script NAME...`, one process per module, `at_once` of them at a time. Modules in `beside` mostly
    wait: `beside_at_once` of them run beside the others. Modules in `alone` run after all others, one at a time. Returns the
    exit status."""
    modules = {}
    for name in names:
        modules.setdefault(name.partition(".")[0], []).append(name)
    if len(modules) == 1:
        return run_here(label, names)
    groups = [  # run one after the other; the pools of a group at the same time
        [
            ([module for module in modules if module not in (*alone, *beside)], at_once),
            ([module for module in beside if module in modules], beside_at_once),
        ],
        [([module for module in modules if module in alone], 1)],
    ]
    totals = [0, 0, 0]
    failures = []

    def run(module):
        began = time.monotonic()
        with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
            command = [sys.executable, str(script), *modules[module]]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)  # with the processor time of all processes that it has started
            process.returncode = os.waitstatus_to_exitcode(status)
            log.seek(0)
            text = log.read()
        matches = re.findall(rf"^{label}: (\d+) passed, (\d+) failed, (\d+) skipped$", text, re.M)
        counts = [int(count) for count in matches[-1]] if matches else [0, 0, 0]
        if status and not counts[1]:
            counts[1] = 1  # the process ended before it printed its totals
        body = re.sub(rf"^{label}: .*\n", "", text, flags=re.M)
        if status:
            failures.append(f"== failed: {module}\n{failed_tests(text) or body}")
        processor = usage.ru_utime + usage.ru_stime
        sys.stdout.write(f"== {module}: {time.monotonic() - began:.0f} s, {processor:.0f} s cpu\n{body}")
        sys.stdout.flush()
        return counts

    for group in groups:
        pools = [(concurrent.futures.ThreadPoolExecutor(lanes), batch) for batch, lanes in group]
        try:
            for results in [pool.map(run, batch) for pool, batch in pools]:
                for counts in results:
                    totals = [sum(pair) for pair in zip(totals, counts)]
        finally:
            for pool, _ in pools:
                pool.shutdown(cancel_futures=True)  # after Ctrl-C, which the modules have received too
    # Once more at the end, where the reader of a long log looks.
    print("".join(failures), end="")
    print(f"{label}: {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] or sum(totals) == 0 else 0


def modules_of(folder):
    return sorted(path.stem for path in pathlib.Path(folder).glob("test_*.py"))
