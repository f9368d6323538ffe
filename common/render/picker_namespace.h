#pragma once
// The Dynamo namespace in which an endpoint picker looks for workers (decision dec-20). Workers of a
// component deployment register in a namespace with the hash of their generation as suffix.

#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// Whether the service is an endpoint picker for which the user gives no DYN_NAMESPACE. `intent` is the
/// intent of the graph, so that values of the webhook do not count.
bool followsWorkers(const json::Value& intent, std::string_view service);

/// "<namespace>-<hash>".
std::string workerNamespace(std::string_view dynamoNamespace, std::string_view hash);

/// Sets DYN_NAMESPACE in `spec`, the spec of the picker's DynamoComponentDeployment.
void setPickerNamespace(const Component& picker, std::string_view hash, json::Value& spec, Origins* origins,
                        json::Allocator& allocator);

/// The DYN_NAMESPACE that setPickerNamespace has set; empty if it has set none.
std::string_view pickerNamespace(const json::Value& deployment);

}  // namespace dynamo::render
