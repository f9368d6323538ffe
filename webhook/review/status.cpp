#include "webhook/review/status.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/kinds.h"

namespace dynamo::webhook {
namespace {

constexpr int kUnprocessableEntity = 422;

std::string invalidMessage(const Subject& subject, const std::vector<validation::FieldError>& errors) {
  const std::size_t shown = std::min(errors.size(), kMaxErrors);
  std::string list;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i != 0) list += ", ";
    list += errors[i].message();
  }
  if (shown < errors.size()) list += fmt::format(", and {} more", errors.size() - shown);
  const bool bracketed = errors.size() > 1;
  return fmt::format("{}.{} {} is invalid: {}{}{}", subject.kind, api::kGroup,
                     validation::showValue(subject.name), bracketed ? "[" : "", list, bracketed ? "]" : "");
}

void writeCause(json::TextWriter& writer, std::string_view reason, std::string_view message,
                std::string_view field) {
  writer.StartObject();
  writeMember(writer, "reason", reason);
  writeMember(writer, "message", message);
  writeMember(writer, "field", field);
  writer.EndObject();
}

}  // namespace

void writeMember(json::TextWriter& writer, std::string_view key, std::string_view text) {
  writer.key(key);
  writer.string(text);
}

void writeInvalid(json::TextWriter& writer, const Subject& subject,
                  const std::vector<validation::FieldError>& errors) {
  writer.StartObject();
  writeMember(writer, "status", "Failure");
  writeMember(writer, "message", invalidMessage(subject, errors));
  writeMember(writer, "reason", "Invalid");
  writer.key("details");
  writer.StartObject();
  writeMember(writer, "name", subject.name);
  writeMember(writer, "group", api::kGroup);
  writeMember(writer, "kind", subject.kind);
  writer.key("causes");
  writer.StartArray();
  const std::size_t shown = std::min(errors.size(), kMaxErrors);
  for (std::size_t i = 0; i < shown; ++i) {
    writeCause(writer, validation::causeReason(errors[i].type), errors[i].body(), errors[i].field);
  }
  if (shown < errors.size()) {
    writeCause(writer, "FieldValueInvalid", fmt::format("and {} more errors", errors.size() - shown), "spec");
  }
  writer.EndArray();
  writer.EndObject();
  writer.key("code");
  writer.Int(kUnprocessableEntity);
  writer.EndObject();
}

void writeFailure(json::TextWriter& writer, int code, std::string_view reason, std::string_view message) {
  writer.StartObject();
  writeMember(writer, "status", "Failure");
  writeMember(writer, "message", message);
  writeMember(writer, "reason", reason);
  writer.key("code");
  writer.Int(code);
  writer.EndObject();
}

}  // namespace dynamo::webhook
