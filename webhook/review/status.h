#pragma once
// Writes metav1.Status for denials and errors. Both message and causes are complete, because kubectl prints
// either of them.

#include <string>
#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/json/text_writer.h"

namespace dynamo::webhook {

/// A denial lists at most this many errors, or fewer if they are long. The rest is "and N more".
inline constexpr std::size_t kMaxErrors = 20;
/// Limits messages to about 4 KiB, one or two pages of a terminal.
inline constexpr std::size_t kMaxMessageBytes = 4096;

void writeMember(json::TextWriter& writer, std::string_view key, std::string_view text);

/// The object in `details` and in the message.
struct ObjectName {
  std::string_view kind;
  std::string_view name;
};

/// Writes 422 Invalid with one cause per error, in the form of the API server's schema errors.
void writeInvalid(json::TextWriter& writer, const ObjectName& object,
                  const std::vector<field::FieldError>& errors);

/// Writes a failure without causes. `reason` is for example "BadRequest". The message is converted to one
/// line.
void writeFailure(json::TextWriter& writer, int code, std::string_view reason, std::string_view message);

}  // namespace dynamo::webhook
