"""Tests of co_await. Each row is a statement that is accepted or refused."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True


def load():
    loader = importlib.machinery.SourceFileLoader("co_await", str(HERE / "co_await"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("co_await", loader))
    loader.exec_module(module)
    return module


co_await = load()

ACCEPTED = (
    "co_await f(a, b);",
    "co_await f(std::move(made));",
    "co_await f();  // wrong ? failed() : done()",
    'co_await f("a ? b() : c()");',
    "co_await f(wrong ? nullptr : &live);",
    "co_await read(on, *head, success ? request.maxBytes : kMaxErrorBytes);",
    "co_await readable(in.empty() ? std::min(deadline, first) : deadline);",
    "co_await f(first ? 1 : second ? 2 : limits::kMost);",
    "const auto made = wrong ? failed() : done(); co_await f(made);",
    "if (co_await f(made)) use(wrong ? failed() : done());",
)
REFUSED = (
    "co_await f({1, 2});",
    "co_await f([&] { return 1; });",
    "co_return co_await finish(wrong ? status().failed(why) : status().done());",
    "co_await f(wrong ? std::string{} : name);",
    "co_await f(name, wrong\n ? name : text(other));",
    'co_await f(wrong ? "" : name);',
    "co_await f(first ? one : second ? two : three());",
    "co_await f(g(wrong ? failed() : name), other);",
    "co_await (wrong ? f() : g());",
    "use(co_await f(wrong ? a() : b), c);",
)


class CoAwaitTest(unittest.TestCase):
    def test_statements(self):
        for statements, lines in ((ACCEPTED, []), (REFUSED, [2])):
            for text in statements:
                with self.subTest(text):
                    self.assertEqual(list(co_await.mistakes(f"// a line before\n{text}\n")), lines)


if __name__ == "__main__":
    unittest.main()
