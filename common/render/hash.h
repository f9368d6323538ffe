#pragma once
// Hashes in the names of children. They must equal those of the reference, so that a cluster can change
// operators in either direction without restarting workers.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::render {

/// Lower-case hex, 64 characters.
std::string sha256Hex(std::string_view text);

/// The hash of all worker services of a DynamoGraphDeployment, 8 hex digits (ctl-Q31). `graph` is the intent
/// with schema defaults, without the defaults that the webhook added.
std::string workerHash(const json::Value& graph);

/// The input of workerHash(): the JSON that Go writes for the worker services.
std::string workerHashInput(const json::Value& graph);

/// The first hex digits of the SHA-256 of a model name, for the label and the name of the model Service.
std::string modelHash(std::string_view model);
inline constexpr std::size_t kModelHashDigits = 8;
inline constexpr std::string_view kModelServicePrefix = "dynamo-model-";

/// The hash of the identity of a checkpoint, 16 hex digits.
std::string identityHash(const json::Value& identity);
/// The hash of a DynamoCheckpoint: that of its identity, which may still change, until its Job exists; then
/// the one in its status (decision ctl-Q88). Empty if it has neither.
std::string checkpointHash(const json::Value& checkpoint);

/// Appends `text` as a JSON string the way Go's encoder writes it: <, >, & and U+2028/9 escaped.
void appendGoString(std::string& out, std::string_view text);

/// The members of an object sorted by name, the order in which Go writes maps.
std::vector<const json::Value::Member*> sortedMembers(const json::Value& object);

/// Compact JSON as Go writes a generic value: sorted keys, appendGoString's escaping, whole numbers plain.
std::string goJson(const json::Value& value);

}  // namespace dynamo::render
