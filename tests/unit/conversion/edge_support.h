#pragma once
// Helpers of tables that convert JSON texts.

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/json/parse.h"

namespace dynamo::test {

inline json::Document object(std::string_view text) {
  json::Document document;
  if (const auto error = json::parse(text, document)) FAIL(error->message() << "\n" << text);
  return document;
}

/// The object in the other version as text, which shares no memory with the source.
inline std::string converted(std::string_view text) {
  const json::Document source = object(text);
  const bool alpha = json::findText(&source, "apiVersion") == api::kV1alpha1;
  json::Allocator allocator;
  json::Value result;
  const auto error =
      conversion::convertDgdr(source, alpha ? api::kV1beta1 : api::kV1alpha1, result, allocator);
  if (error) return "error: " + error->message;
  return json::dump(result);
}

/// The value at the JSON pointer `pointer` as text; "(absent)" when there is none.
inline std::string at(std::string_view text, std::string_view pointer) {
  if (text.starts_with("error: ")) return std::string{text};
  const json::Document document = object(text);
  const json::Value* value = rapidjson::Pointer{pointer.data(), pointer.size()}.Get(document);
  return value == nullptr ? "(absent)" : json::dump(*value);
}

inline std::string request(std::string_view version, std::string_view spec, std::string_view status = {},
                           std::string_view annotations = {}) {
  std::string text = R"({"apiVersion":")" + std::string{version} +
                     R"(","kind":"DynamoGraphDeploymentRequest","metadata":{"name":"r","namespace":"ns")";
  if (!annotations.empty()) text += R"(,"annotations":)" + std::string{annotations};
  text += R"(},"spec":)" + std::string{spec};
  if (!status.empty()) text += R"(,"status":)" + std::string{status};
  return text + "}";
}
inline std::string alpha(std::string_view spec, std::string_view status = {}, std::string_view notes = {}) {
  return request(api::kV1alpha1, spec, status, notes);
}
inline std::string beta(std::string_view spec, std::string_view status = {}, std::string_view notes = {}) {
  return request(api::kV1beta1, spec, status, notes);
}

/// A v1alpha1 request whose profiler configuration is `config`.
inline std::string withConfig(std::string_view config) {
  return alpha(
      R"({"model":"m","backend":"vllm","autoApply":true,"profilingConfig":{"profilerImage":"p","config":)" +
      std::string{config} + "}}");
}

/// `text` with `value` set at `pointer`, as an edit between two conversions.
inline std::string edited(std::string_view text, std::string_view pointer, std::string_view value) {
  json::Document document = object(text);
  json::Document parsed{&document.GetAllocator()};
  REQUIRE_FALSE(json::parse(value, parsed).has_value());
  rapidjson::Pointer{pointer.data(), pointer.size()}.Set(document, parsed);
  return json::dump(document);
}
inline std::string removed(std::string_view text, std::string_view pointer) {
  json::Document document = object(text);
  rapidjson::Pointer{pointer.data(), pointer.size()}.Erase(document);
  return json::dump(document);
}

/// Removes the annotations that conversion owns. They differ between the versions.
inline void dropOurs(json::Document& object) {
  json::Value* metadata = json::find(object, "metadata");
  json::Value* notes = metadata == nullptr ? nullptr : json::find(*metadata, "annotations");
  if (notes == nullptr) return;
  for (const std::string_view key : api::dgdr::kPrivateAnnotations) json::remove(*notes, key);
  if (notes->ObjectEmpty()) json::remove(*metadata, "annotations");
}

/// Checks that a round trip keeps spec, status and the user's metadata.
inline void checkReturns(std::string_view text) {
  const std::string there = converted(text);
  const std::string back = converted(there);
  INFO("there " << there << "\nback  " << back);
  json::Document before = object(text);
  REQUIRE_FALSE(back.starts_with("error: "));
  json::Document after = object(back);
  dropOurs(before);
  dropOurs(after);
  for (const char* part : {"apiVersion", "kind", "metadata", "spec", "status"}) {
    INFO(part);
    CHECK(json::equal(json::find(before, part), json::find(after, part)));
  }
}

}  // namespace dynamo::test
