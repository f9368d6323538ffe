#pragma once
// Objects from JSON text, and findings as text.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "common/json/parse.h"
#include "common/rules/request/dgdr.h"

namespace dynamo::rules::test {

inline json::Document object(std::string_view text) {
  json::Document document;
  if (const auto error = json::parse(text, document)) FAIL(error->message() << "\n" << text);
  return document;
}

/// A v1beta1 request "r" in "ns" with `spec`. Without `phase` it has no status.
inline std::string dgdr(std::string_view spec, std::string_view phase = {}) {
  std::string text =
      fmt::format(R"({{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest",)"
                  R"("metadata":{{"name":"r","namespace":"ns"}},"spec":{})",
                  spec);
  if (!phase.empty()) text += fmt::format(R"(,"status":{{"phase":"{}"}})", phase);
  return text + "}";
}

/// One line "E <rule> <message>" or "W <rule> <message>" per finding, errors first.
inline std::string lines(const Findings& findings) {
  std::string text;
  for (const FieldError& error : findings.errors)
    text += fmt::format("E {} {}\n", error.rule, error.message());
  for (const Warning& warning : findings.warnings) {
    text += fmt::format("W {} {}: {}\n", warning.rule, warning.field.text(), warning.text);
  }
  return text;
}

/// The findings about `text`. Without `old` it is a CREATE, otherwise an UPDATE of `old`.
inline std::string findingsOf(std::string_view text, std::string_view old = {}, const DgdrPolicy& policy = {},
                              std::string_view clientVersion = "v1beta1") {
  const json::Document now = object(text);
  if (old.empty()) return lines(validateDgdr({now, nullptr, clientVersion, policy}));
  const json::Document before = object(old);
  return lines(validateDgdr({now, &before, clientVersion, policy}));
}

}  // namespace dynamo::rules::test
