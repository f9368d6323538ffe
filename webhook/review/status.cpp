#include "webhook/review/status.h"

#include <fmt/format.h>

#include <utility>

#include "common/api/kinds.h"

namespace dynamo::webhook {
namespace {

constexpr int kUnprocessableEntity = 422;

// Field paths and messages contain map keys, which users can make arbitrarily long.
constexpr std::size_t kMaxPathBytes = 256;
constexpr std::size_t kMaxDetailBytes = 512;

/// `text` in one line. Long text keeps its beginning and its end, which names the field.
std::string shorten(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return field::oneLine(text, limit);
  std::size_t end = text.size() - limit / 2;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
  return field::oneLine(text.substr(0, end), limit / 2) + field::oneLine(text.substr(end), limit);
}

/// The texts of an error as they are shown.
struct ShownError {
  std::string_view reason;
  std::string field;
  std::string body;
};

/// As many errors as fit into a message, but at least one.
std::vector<ShownError> shownErrors(const std::vector<field::FieldError>& errors) {
  std::vector<ShownError> shown;
  std::size_t bytes = 0;
  for (const field::FieldError& error : errors) {
    ShownError one{field::causeReason(error.type), shorten(error.field.text(), kMaxPathBytes),
                   shorten(error.body(), kMaxDetailBytes)};
    bytes += one.field.size() + one.body.size() + 4;  // ": " and ", "
    if (shown.size() == kMaxErrors || (bytes > kMaxMessageBytes && !shown.empty())) break;
    shown.push_back(std::move(one));
  }
  return shown;
}

std::string invalidMessage(const ObjectName& object, const std::vector<ShownError>& shown, std::size_t more) {
  std::string list;
  for (const ShownError& one : shown) {
    if (!list.empty()) list += ", ";
    list.append(one.field).append(": ").append(one.body);
  }
  if (more > 0) list += fmt::format(", and {} more", more);
  const bool bracketed = shown.size() + more > 1;
  return fmt::format("{}.{} {} is invalid: {}{}{}", object.kind, api::kGroup, field::showValue(object.name),
                     bracketed ? "[" : "", list, bracketed ? "]" : "");
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

void writeInvalid(json::TextWriter& writer, const ObjectName& object,
                  const std::vector<field::FieldError>& errors) {
  const std::vector<ShownError> shown = shownErrors(errors);
  const std::size_t more = errors.size() - shown.size();
  writer.StartObject();
  writeMember(writer, "status", "Failure");
  writeMember(writer, "message", invalidMessage(object, shown, more));
  writeMember(writer, "reason", "Invalid");
  writer.key("details");
  writer.StartObject();
  writeMember(writer, "name", object.name);
  writeMember(writer, "group", api::kGroup);
  writeMember(writer, "kind", object.kind);
  writer.key("causes");
  writer.StartArray();
  for (const ShownError& one : shown) writeCause(writer, one.reason, one.body, one.field);
  if (more > 0) writeCause(writer, "FieldValueInvalid", fmt::format("and {} more errors", more), "spec");
  writer.EndArray();
  writer.EndObject();
  writer.key("code");
  writer.Int(kUnprocessableEntity);
  writer.EndObject();
}

void writeFailure(json::TextWriter& writer, int code, std::string_view reason, std::string_view message) {
  writer.StartObject();
  writeMember(writer, "status", "Failure");
  writeMember(writer, "message", field::oneLine(message, kMaxMessageBytes));
  writeMember(writer, "reason", reason);
  writer.key("code");
  writer.Int(code);
  writer.EndObject();
}

}  // namespace dynamo::webhook
