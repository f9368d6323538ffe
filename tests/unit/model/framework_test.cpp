#include "common/model/framework.h"

#include <catch2/catch.hpp>

#include "tests/unit/model/support.h"

namespace dynamo::model::test {
namespace {

TEST_CASE("the engine of a component") {
  struct Row {
    const char* type;
    const char* command;
    const char* args;
    const char* explicitName;
    const char* framework;
    const char* error;
  };
  const Row rows[] = {
      {"worker", R"(["python3"])", R"(["-m","dynamo.vllm"])", "", "vllm", ""},
      {"decode", R"(["python3.11","-m","dynamo.sglang"])", "[]", "", "sglang", ""},
      {"prefill", R"(["sh","-c"])", R"(["echo x && python -m dynamo.trtllm"])", "", "trtllm", ""},
      {"worker", R"(["java"])", R"(["-jar","x"])", "", "noop", ""},
      {"worker", R"(["java"])", "[]", "sglang", "sglang", ""},
      {"frontend", R"(["python3","-m","dynamo.vllm"])", "[]", "vllm", "noop", ""},
      {"", R"(["python3","-m","dynamo.vllm"])", "[]", "", "noop", ""},
      {"worker", R"(["sh","-c"])", R"(["python -m dynamo.vllm & python -m dynamo.sglang"])", "", "noop",
       "the command runs vllm and sglang: set backendFramework"},
      {"worker", R"(["sh","-c"])", R"(["python -m dynamo.vllm & python -m dynamo.sglang"])", "sglang",
       "sglang", ""},
      {"worker", R"(["python3"])", R"(["-m","dynamo.vllm"])", "sglang", "vllm",
       "the command runs vllm, but backendFramework is sglang"},
      {"worker", R"(["python3"])", R"(["-m | dynamo.vllm"])", "", "noop", ""},
  };
  for (const Row& row : rows) {
    INFO(row.command << row.args << row.explicitName);
    const auto component = parsed(std::string{R"({"componentType":")"} + row.type +
                                  R"(","extraPodSpec":{"mainContainer":{"command":)" + row.command +
                                  R"(,"args":)" + row.args + "}}}");
    const Framework found = detectFramework(component, row.explicitName);
    CHECK(found.name == row.framework);
    CHECK(found.error == row.error);
  }
}

}  // namespace
}  // namespace dynamo::model::test
