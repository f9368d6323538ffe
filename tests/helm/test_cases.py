"""The tables in cases/ (table.py): every row, with both Helms, plain and as `helm upgrade --reuse-values` renders it."""

import concurrent.futures
import os
import tempfile
import unittest
from pathlib import Path

import render
import table

HERE = Path(__file__).resolve().parent


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-"))
        cls.table = table.Table(Path(folder))
        for helm in render.HELMS:
            render.programs.built(helm)

    def play(self, name):
        trials = [trial for row in table.rows_of(HERE / "cases" / f"{name}.yaml") for trial in table.trials_of(row)]
        self.assertGreater(len(trials), 50)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for trial, rendered in zip(trials, pool.map(self.table.render, trials)):
                if complaint := table.complaints(trial, rendered):
                    with self.subTest(trial.title()):
                        self.fail(complaint)

    def test_every_file_is_played(self):
        played = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_")}
        self.assertEqual({path.stem for path in (HERE / "cases").glob("*.yaml")} - played, set())

    def test_installations(self):
        self.play("installations")

    def test_switches(self):
        self.play("switches")

    def test_pods(self):
        self.play("pods")

    def test_operation(self):
        self.play("operation")

    def test_refusals(self):
        self.play("refusals")

    def test_quirks(self):
        self.play("quirks")


if __name__ == "__main__":
    unittest.main()
