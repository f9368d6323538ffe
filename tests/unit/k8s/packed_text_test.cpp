#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "common/k8s/packed_text.h"

namespace dynamo::k8s::test {
namespace {

TEST_CASE("what is packed is read back byte for byte") {
  const std::string uid = "0b5d4f1e-00ff-4000-8000-0000000000a1";
  for (const std::string& text : std::initializer_list<std::string>{
           std::string{}, std::string{"{}"}, R"({"metadata":{"name":"a","uid":")" + uid + R"("}})",
           R"({"uid":")" + uid + uid + R"("})", R"({"uid":")" + uid.substr(0, 35) + R"("})",
           R"({"uid":"0B5D4F1E-00FF-4000-8000-0000000000A1"})",
           R"({"uid":"0b5d4f1e-00ff-4000-8000_0000000000a1"})",
           R"({"uid":"0b5d4f1e-00ff-4000-8000-0000000000g1"})", std::string{R"({"uid":")"},
           std::string{"{\"name\":\"uid\\\":\\\"\xc3\xa9\x7f\",\"status\":\"True\",\"status\":\"Tru\"}"},
           std::string{R"(","},"name":"namespace":"nvidia.com/dynamo-)"}}) {
    INFO(text);
    CHECK(unpack(pack(text)) == text);
  }
  CHECK(pack(R"({"uid":")" + uid + R"("})").size() == 21);
}

TEST_CASE("any mixture of pieces is read back") {
  const std::string pieces[] = {"\"",
                                "uid\":\"",
                                "0b5d4f1e-00ff-4000-8000-0000000000a1",
                                "name\":\"",
                                "status",
                                "\":{\"",
                                "generation\":",
                                "observed",
                                ",",
                                "}",
                                "True\"",
                                "nvidia.com/dynamo-",
                                "-",
                                "0123",
                                "\xe2\x82\xac",
                                "replicas\":"};
  std::mt19937 random{11};
  std::size_t longer = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto count = random() % 12; count > 0; --count) text += pieces[random() % std::size(pieces)];
    const std::string packed = pack(text);
    if (unpack(packed) != text) FAIL(text);
    longer += packed.size() > text.size() ? 1 : 0;
  }
  CHECK(longer == 0);
}

}  // namespace
}  // namespace dynamo::k8s::test
