#pragma once
// metav1.Status as denials and errors carry it: message AND causes complete, as kubectl prints one or the
// other.

#include <string>
#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/json/text_writer.h"

namespace dynamo::webhook {

/// At most this many errors are told one by one, fewer when they are long; then "and N more".
inline constexpr std::size_t kMaxErrors = 20;
/// A message stays near 4 KiB: a terminal's page or two.
inline constexpr std::size_t kMostOfMessage = 4096;

void writeMember(json::TextWriter& writer, std::string_view key, std::string_view text);

/// The identity that `details` and the message name.
struct ObjectName {
  std::string_view kind;
  std::string_view name;
};

/// 422 Invalid with one cause an error, as the API server's own schema errors look.
void writeInvalid(json::TextWriter& writer, const ObjectName& object,
                  const std::vector<field::FieldError>& errors);

/// A failure without causes: code and reason ("BadRequest", "InternalError", …). The message becomes one
/// line.
void writeFailure(json::TextWriter& writer, int code, std::string_view reason, std::string_view message);

}  // namespace dynamo::webhook
