#include "common/render/shell.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::render::test {
namespace {

TEST_CASE("interpreters that need no shell") {
  for (const char* yes :
       {"python", "python3", "python2.7", "/usr/bin/python3.8", "./python3", "python3.11"}) {
    INFO(yes);
    CHECK(isPython(yes));
  }
  for (const char* no : {"python-config", "pythonx", "python ", "python/", "", "sh", "xpython3"}) {
    INFO(no);
    CHECK_FALSE(isPython(no));
  }
}

TEST_CASE("words of a shell command") {
  struct Row {
    const char* text;
    const char* plain;
    const char* nested;  ///< inside single quotes
  };
  const Row rows[] = {
      {"--model-path", "--model-path", "--model-path"},
      {"", "", ""},
      {"it's", R"("it's")", R"("it'"'"'s")"},
      {"$HOME/path", R"("\$HOME/path")", R"("\$HOME/path")"},
      {R"(path\to)", R"("path\\to")", R"("path\\to")"},
      {R"({"a": 1})", R"("{\"a\": 1}")", R"("{\"a\": 1}")"},
      {"$(POD_IP)", "$(POD_IP)", "$(POD_IP)"},
      {"tcp://$(POD_IP):1 x", "\"tcp://$(POD_IP):1 x\"", "\"tcp://$(POD_IP):1 x\""},
      {"$(date +%s)", "\"\\$(date +%s)\"", "\"\\$(date +%s)\""},
      {"a;b", R"("a;b")", R"("a;b")"},
      {"a&b", R"("a&b")", R"("a&b")"},
      {"~x", R"("~x")", R"("~x")"},
      {"a`b`", R"("a\`b\`")", R"("a\`b\`")"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(quote(row.text) == row.plain);
    CHECK(quote(row.text, Quoting::InsideSingleQuotes) == row.nested);
  }
}

TEST_CASE("flags are inserted after the framework's module (pod-Q16)") {
  struct Row {
    const char* text;
    const char* with;  ///< nullptr: unchanged
  };
  const Row rows[] = {
      {"python3 -m dynamo.vllm --x y", "python3 -m dynamo.vllm FLAGS --x y"},
      {"python3 -m dynamo.vllm", "python3 -m dynamo.vllm FLAGS"},
      {"python -m dynamo.vllm | tee /tmp/log", "python -m dynamo.vllm FLAGS | tee /tmp/log"},
      {"echo blah | wc -l && python3 -m dynamo.vllm --data-parallel-size 8 && ls -al",
       "echo blah | wc -l && python3 -m dynamo.vllm FLAGS --data-parallel-size 8 && ls -al"},
      {"python3 -m dynamo.vllm --served-model-name my-vllm",
       "python3 -m dynamo.vllm FLAGS --served-model-name my-vllm"},
      {"python3 -m dynamo.vllm.worker --x", "python3 -m dynamo.vllm.worker FLAGS --x"},
      {"python3 serve_vllm.py --x", "python3 serve_vllm.py FLAGS --x"},
      {"python3 -m dynamo.vllm a; python3 -m dynamo.vllm b",
       "python3 -m dynamo.vllm FLAGS a; python3 -m dynamo.vllm FLAGS b"},
      {"java -jar vllm.jar", nullptr},
      {"python3 -m dynamo.sglang", nullptr},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto changed = injectIntoText(row.text, "FLAGS", "vllm");
    CHECK(changed.value_or("unchanged") == (row.with == nullptr ? "unchanged" : row.with));
  }
  CHECK(injectIntoText("python3 -m dynamo.vllm", R"(\1 \\ $x)", "vllm").value_or("") ==
        R"(python3 -m dynamo.vllm \1 \\ $x)");
}

TEST_CASE("numbers of parallel flags (pod-Q31)") {
  struct Row {
    const char* container;
    long long value;
  };
  const Row rows[] = {
      {R"({"args":["--tensor-parallel-size","8"]})", 8},
      {R"({"args":["python3 -m dynamo.vllm --tensor-parallel-size 16 --x"]})", 16},
      {R"({"args":["--tensor-parallel-size=4"]})", 4},
      {R"({"args":["-tp","2"]})", 2},
      {R"({"args":["-tp=2"]})", 2},
      {R"({"command":["python3","--tensor-parallel-size","3"]})", 3},
      {R"({"args":["--tensor-parallel-size","x"]})", 1},
      {R"({"args":["--tensor-parallel-size"]})", 1},
      {R"({"args":["--tensor-parallel-size","x","--tensor-parallel-size","5"]})", 5},
      {R"({"args":["--tensor-parallel-size-x","5"]})", 1},
      {R"({})", 1},
      {R"({"args":["--tensor-parallel-size","99999999999999999999"]})", 1},
  };
  for (const Row& row : rows) {
    INFO(row.container);
    CHECK(flagValue(parsed(row.container), "--tensor-parallel-size", "-tp") == row.value);
  }
}

}  // namespace
}  // namespace dynamo::render::test
