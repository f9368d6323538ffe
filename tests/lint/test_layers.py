"""Tests of layers.py. Each row is a small tree with one error."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import layers  # noqa: E402

GOOD = {
    "common/low/CMakeLists.txt": "add_library(low STATIC low.cpp)\n",
    "common/low/low.h": "",
    "common/low/low.cpp": '#include "common/low/low.h"\n',
    "common/mid/CMakeLists.txt": "add_library(mid STATIC mid.cpp)\ntarget_link_libraries(mid PUBLIC low fmt::fmt)\n",
    "common/mid/mid.h": '#include "common/low/low.h"\n',
    "common/mid/mid.cpp": '#include "common/mid/mid.h"\n',
    "webhook/CMakeLists.txt": "add_executable(top main.cpp)\ntarget_link_libraries(top PRIVATE mid)\n",
    "webhook/main.cpp": '#include "common/low/low.h"\n#include "common/mid/mid.h"\n',
}

# title, files that replace those of GOOD, expected errors
FAULTS = [
    ("an include upwards", {"common/low/low.cpp": '#include "common/mid/mid.h"\n'},
     ["common/low/low.cpp:1: low does not link mid"]),
    ("a header that needs a PUBLIC dependency",
     {"common/mid/CMakeLists.txt": "add_library(mid STATIC mid.cpp)\ntarget_link_libraries(mid PRIVATE low)\n",
      "webhook/main.cpp": '#include "common/mid/mid.h"\n'},
     ["common/mid/mid.h:1: mid does not link low PUBLIC"]),
    ("a private dependency is not transitive",
     {"common/mid/CMakeLists.txt": "add_library(mid STATIC mid.cpp)\ntarget_link_libraries(mid PRIVATE low)\n",
      "common/mid/mid.h": "", "common/mid/mid.cpp": '#include "common/low/low.h"\n'},
     ["webhook/main.cpp:1: top does not link low"]),
    ("an unused dependency", {"webhook/main.cpp": ""},
     ["webhook/CMakeLists.txt:1: top links mid, but includes none of its headers"]),
    ("a header without a library", {"certs/lost.h": "", "webhook/main.cpp": '#include "certs/lost.h"\n#include "common/mid/mid.h"\n'},
     ["webhook/main.cpp:1: certs/lost.h belongs to no library"]),
    ("a cycle",
     {"common/low/CMakeLists.txt": "add_library(low STATIC low.cpp)\ntarget_link_libraries(low PRIVATE mid)\n",
      "common/low/low.cpp": '#include "common/mid/mid.h"\n'},
     ["cycle: low -> mid -> low"]),
]


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return layers.judge(root)


class Layers(unittest.TestCase):
    def test_a_tree_without_errors(self):
        libraries, wrong = check(GOOD)
        self.assertEqual(wrong, [])
        self.assertEqual(layers.levels(libraries), ["low", "mid", "top"])

    def test_errors(self):
        for title, files, expected in FAULTS:
            with self.subTest(title):
                self.assertEqual(check({**GOOD, **files})[1], expected)


if __name__ == "__main__":
    unittest.main()
