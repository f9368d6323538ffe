// Reads rows like those of tests/e2e/pod-rules-cases.json, one per line, and prints the findings of the pod
// rules for each. tests/e2e/test_pod_rules_generated.py compares them with a real API server.

#include <iostream>
#include <string>

#include "common/json/parse.h"
#include "judged.h"

namespace {

/// A JSON array of "E <rule> <path>: <message>" and "W ...".
std::string answer(const dynamo::json::Value& row) {
  dynamo::json::Document found{rapidjson::kArrayType};
  auto& allocator = found.GetAllocator();
  for (const std::string& line : dynamo::rules::pod::test::lines(dynamo::rules::pod::test::findingsOf(row))) {
    found.PushBack(dynamo::json::string(line, allocator), allocator);
  }
  return dynamo::json::dump(found);
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
