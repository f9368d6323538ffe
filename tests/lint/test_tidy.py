"""`tidy` finds the same mistakes in a batch of files as in each file alone."""

import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True


def load():
    loader = importlib.machinery.SourceFileLoader("tidy", str(HERE / "tidy"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


tidy = load()

PRELUDE = 'extern "C" int atoi(const char*);\n'
MISTAKES = {
    "bugprone-macro-parentheses": "#define TWICE(x) x * 2\nint eight() { return TWICE(4); }",
    "bugprone-branch-clone": "int one(bool b) { if (b) { return 1; } else { return 1; } }",
    "bugprone-integer-division": "double half(int i) { return i / 2; }",
    "cert-err34-c": "int number(const char* text) { return atoi(text); }",
    "modernize-use-override": "struct A { virtual void f(); };\nstruct B : A { virtual void f(); };",
    "modernize-use-nullptr": "int* none() { return 0; }",
    "modernize-use-equals-default": "struct C { C() {} int i = 0; };",
    "performance-unnecessary-value-param":
        "struct D { D(const D&); int i; };\nint first(D d) { return d.i; }",
    "readability-container-size-empty":
        "struct E { unsigned size() const; bool empty() const; };\nbool none(const E& e) { return e.size() == 0; }",
    "readability-static-definition-in-anonymous-namespace":
        "namespace { static int f() { return 1; } }\nint g() { return f(); }",
    "clang-diagnostic-unused-parameter": "int zero(int unused) { return 0; }",
}


def checks_in(done):
    """The checks that a run of clang-tidy reports."""
    return set(re.findall(r"\[([\w-]+)[\],]", done.stdout))


class Batches(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copy(HERE.parents[1] / ".clang-tidy", self.root)
        (self.root / "common").mkdir()
        self.addCleanup(setattr, tidy, "ROOT", tidy.ROOT)
        self.addCleanup(setattr, tidy, "BUILD", tidy.BUILD)
        tidy.ROOT = tidy.BUILD = self.root
        self.commands = {}

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")
        self.commands[name] = "clang++-16 -std=c++20 -Wall -Wextra -o object"
        return name

    def found(self, files):
        """The exit status of a run over these files, and the checks that it reports."""
        done = tidy.run_together("-clang-analyzer-*", files, self.commands)
        return done.returncode, checks_in(done)

    def test_each_mistake_is_found_between_other_files(self):
        good = [self.write(f"common/good{i}.cpp", f"namespace good{i} {{ int f() {{ return {i}; }} }}\n") for i in range(2)]
        self.assertEqual(self.found(good), (0, set()))
        for number, (check, text) in enumerate(MISTAKES.items()):
            with self.subTest(check):
                name = self.write(f"common/bad{number}.cpp", f"{PRELUDE}namespace bad {{\n{text}\n}}\n")
                alone = tidy.run("-clang-analyzer-*", self.root / name, "--", "-std=c++20", "-Wall", "-Wextra")
                self.assertIn(check, checks_in(alone))
                status, checks = self.found([good[0], name, good[1]])
                self.assertNotEqual(status, 0)
                self.assertIn(check, checks)

    def test_a_definition_in_a_header_is_found(self):
        (self.root / "common/header.h").write_text("#pragma once\nint defined() { return 1; }\n", encoding="utf-8")
        name = self.write("common/user.cpp", f'#include "{self.root}/common/header.h"\nnamespace user {{ int f(); }}\n')
        self.assertEqual(self.found([name]), (1, {"misc-definitions-in-headers"}))

    def test_files_with_the_same_local_names_and_files_without_a_namespace_are_apart(self):
        local = "namespace one {\nnamespace {\nint local() { return 1; }\n}  // namespace\n}\n"
        texts = {"a": local, "b": "namespace one {}\n", "c": local, "d": "int main() {}\n", "e": "int f() {}\n"}
        names = [self.write(f"common/{name}.cpp", text) for name, text in texts.items()]
        self.assertEqual(tidy.batches(names), [names[:2], names[2:3], names[3:4], names[4:]])
        many = [self.write(f"common/m{i}.cpp", f"namespace m{i} {{}}\n") for i in range(tidy.BATCH + 1)]
        self.assertEqual([len(files) for files in tidy.batches(many)], [tidy.BATCH, 1])

    def test_unused_using_declarations(self):
        rows = [("using a::b;\n", ["b"]), ("  using a::b;\nint b();\n", []), ("using a::b, c::d;\nd e;\n", ["b"]),
                ("using a::b;\n// b is here\n", ["b"]), ("using namespace a;\nusing b = c;\n", []), ("using a::b;\nbc d;\n", ["b"])]
        for text, unused in rows:
            with self.subTest(text):
                self.assertEqual(tidy.unused_using(text), unused)

    def test_definitions_of_all_files_apply(self):
        commands = {"a": "c++ -DX -O1 -std=c++20 -o a.o -c a", "b": "c++ -DX -DY=1 -O1 -std=c++20 -o b.o -c b"}
        self.assertEqual(tidy.options_of(["a", "b"], commands), ["-O1", "-std=c++20", "-DX", "-DY=1"])


if __name__ == "__main__":
    unittest.main()
