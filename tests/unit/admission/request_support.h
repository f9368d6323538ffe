#pragma once
// Requests in v1beta1, and the findings of admission about them.

#include "common/admission/dgdr.h"
#include "rows.h"
#include "support.h"

namespace dynamo::admission::test {

using rules::test::dgdr;
using rules::test::lines;
using rules::test::object;

inline std::string findingsOf(std::string_view text, std::string_view old = {},
                              std::string_view version = "v1beta1") {
  const rules::DgdrPolicy policy;
  const json::Document now = object(text);
  if (old.empty()) return lines(validateDgdr({now, nullptr, version, policy}));
  const json::Document before = object(old);
  return lines(validateDgdr({now, &before, version, policy}));
}

inline std::string with(std::string_view members) {
  return dgdr(fmt::format(R"({{"model":"m",{}}})", members));
}

/// A Job override: members of the pod, of its only container, of the Job.
inline std::string job(std::string_view pod, std::string_view container = "", std::string_view members = "") {
  return with(fmt::format(
      R"("overrides":{{"profilingJob":{{"template":{{"spec":{{"containers":[{{"name":"profiler"{}}}]{}}}}}{}}}}})",
      container, pod, members));
}

inline std::string annotated(std::string_view key, std::string_view value) {
  return fmt::format(
      R"({{"metadata":{{"name":"r","namespace":"ns","annotations":{{"nvidia.com/dgdr-{}":"{}"}}}},)"
      R"("spec":{{"model":"m"}}}})",
      key, value);
}

inline void check(const std::vector<Row>& rows) {
  check([](std::string_view object) { return findingsOf(object); }, rows);
}

inline const std::string kName =
    "must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit\n";

}  // namespace dynamo::admission::test
