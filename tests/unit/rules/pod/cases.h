#pragma once
// The table tests/e2e/pod-rules-cases.json, which tests/e2e/test_pod_rules.py compares with a real API
// server.

#include <fstream>
#include <sstream>

#include "judged.h"
#include "support.h"
#include "tests/unit/source_dir.h"

namespace dynamo::rules::pod::test {

/// The rows about Ingresses, or all other rows.
inline json::Document cases(bool ingresses = false) {
  const std::string path = dynamo::test::sourceFile("tests/e2e/pod-rules-cases.json");
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  json::Document rows = parsed(text.str());
  for (auto row = rows.Begin(); row != rows.End();) {
    row = (json::findText(&*row, "kind") == "Ingress") == ingresses ? row + 1 : rows.Erase(row);
  }
  return rows;
}

}  // namespace dynamo::rules::pod::test
