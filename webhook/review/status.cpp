#include "webhook/review/status.h"

#include <fmt/format.h>

#include <utility>

#include "common/api/kinds.h"

namespace dynamo::webhook {
namespace {

constexpr int kUnprocessableEntity = 422;

// Keys of maps stand in paths and words, and users choose them. Nobody reads more than this of one.
constexpr std::size_t kMostOfPath = 256;
constexpr std::size_t kMostOfBody = 512;

/// `text` in one line, with its beginning and its end, which names the field.
std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return field::oneLine(text, limit);
  std::size_t end = text.size() - limit / 2;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
  return field::oneLine(text.substr(0, end), limit / 2) + field::oneLine(text.substr(end), limit);
}

/// An error as it is told.
struct Told {
  std::string_view reason;
  std::string field;
  std::string body;
};

/// As many as a message holds, one at least.
std::vector<Told> toldOf(const std::vector<field::FieldError>& errors) {
  std::vector<Told> told;
  std::size_t bytes = 0;
  for (const field::FieldError& error : errors) {
    Told one{field::causeReason(error.type), shortened(error.field.text(), kMostOfPath),
             shortened(error.body(), kMostOfBody)};
    bytes += one.field.size() + one.body.size() + 4;  // ": " and ", "
    if (told.size() == kMaxErrors || (bytes > kMostOfMessage && !told.empty())) break;
    told.push_back(std::move(one));
  }
  return told;
}

std::string invalidMessage(const ObjectName& object, const std::vector<Told>& told, std::size_t more) {
  std::string list;
  for (const Told& one : told) {
    if (!list.empty()) list += ", ";
    list.append(one.field).append(": ").append(one.body);
  }
  if (more > 0) list += fmt::format(", and {} more", more);
  const bool bracketed = told.size() + more > 1;
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
  const std::vector<Told> told = toldOf(errors);
  const std::size_t more = errors.size() - told.size();
  writer.StartObject();
  writeMember(writer, "status", "Failure");
  writeMember(writer, "message", invalidMessage(object, told, more));
  writeMember(writer, "reason", "Invalid");
  writer.key("details");
  writer.StartObject();
  writeMember(writer, "name", object.name);
  writeMember(writer, "group", api::kGroup);
  writeMember(writer, "kind", object.kind);
  writer.key("causes");
  writer.StartArray();
  for (const Told& one : told) writeCause(writer, one.reason, one.body, one.field);
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
  writeMember(writer, "message", field::oneLine(message, kMostOfMessage));
  writeMember(writer, "reason", reason);
  writer.key("code");
  writer.Int(code);
  writer.EndObject();
}

}  // namespace dynamo::webhook
