#pragma once
// Hashes that name children. They must equal the reference's byte for byte:
// a cluster can change operators in either direction without rolling workers.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::render {

/// Lower-case hex, 64 characters.
std::string sha256Hex(std::string_view text);

/// The hash of all worker services of a DynamoGraphDeployment, 8 hex digits (ctl-Q31). `graph` is the
/// intent with schema defaults: what the webhook added is not in it.
std::string workerHash(const json::Value& graph);

/// The text that workerHash hashes: Go's JSON of the worker services.
std::string workerHashInput(const json::Value& graph);

/// The first hex digits of a model's SHA-256: label value and end of the model Service's name.
std::string modelHash(std::string_view model);
inline constexpr std::size_t kModelHashDigits = 8;
inline constexpr std::string_view kModelServicePrefix = "dynamo-model-";

/// The hash of a checkpoint's identity, 16 hex digits.
std::string identityHash(const json::Value& identity);

/// Appends `text` as a JSON string the way Go's encoder writes it: <, >, & and U+2028/9 escaped.
void appendGoString(std::string& out, std::string_view text);

/// The members of an object by name, the order in which Go writes maps.
std::vector<const json::Value::Member*> sortedMembers(const json::Value& object);

/// Compact JSON as Go writes a generic value: sorted keys, appendGoString's escaping, whole numbers plain.
std::string goJson(const json::Value& value);

}  // namespace dynamo::render
