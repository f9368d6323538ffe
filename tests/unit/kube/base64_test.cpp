#include "controller/kube/base64.h"

#include <catch2/catch.hpp>
#include <string>

namespace dynamo::kube {

TEST_CASE("base64 is decoded and encoded") {
  struct Row {
    const char* text;
    const char* bytes;
  };
  const Row row = GENERATE(values<Row>({{"", ""},
                                        {"Zg==", "f"},
                                        {"Zm8=", "fo"},
                                        {"Zm9v", "foo"},
                                        {"Zm9vYg==", "foob"},
                                        {"+/A=", "\xFB\xF0"}}));
  CHECK(decodeBase64(row.text) == row.bytes);
  CHECK(encodeBase64(row.bytes) == row.text);
  CHECK(decodeBase64("Zm9v\r\nYg==\n") == "foob");
}

TEST_CASE("invalid base64 is rejected") {
  const std::string text = GENERATE(values<std::string>(
      {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Zg==Zm9v", "Zm9=v", "Zm 9v", "Zm-_", "\xFF"}));
  CAPTURE(text);
  CHECK_FALSE(decodeBase64(text));
}

}  // namespace dynamo::kube
