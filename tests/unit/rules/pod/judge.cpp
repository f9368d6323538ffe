// Rows like those of tests/e2e/pod-rules-cases.json in, one a line; out, a line for each: what the pod rules
// say of it. For tests/e2e/test_pod_rules_generated.py, which asks a real API server the same.

#include <iostream>
#include <string>

#include "common/json/parse.h"
#include "judged.h"

namespace {

/// "E <rule> <path>: <words>" and "W ...", as a JSON array.
std::string answer(const dynamo::json::Value& row) {
  dynamo::json::Document said{rapidjson::kArrayType};
  auto& allocator = said.GetAllocator();
  for (const std::string& line : dynamo::rules::pod::test::lines(dynamo::rules::pod::test::judged(row))) {
    said.PushBack(dynamo::json::string(line, allocator), allocator);
  }
  return dynamo::json::dump(said);
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    dynamo::json::Document row;
    if (const auto error = dynamo::json::parse(line, row)) {
      std::cerr << "pod_rules_judge: " << error->message() << "\n";
      return 1;
    }
    std::cout << answer(row) << "\n";
  }
  return 0;
}
