#pragma once
// Messages of API servers and webhooks about objects that they refuse.

#include <string>
#include <string_view>

namespace dynamo::k8s {

/// Returns the message without the values that it quotes, if they are values of environment variables, or are
/// structs, maps or lists, which may contain such values. Paths, reasons, the names of variables and values
/// of other fields stay:
///
///     spec.containers[0].env[1]: Invalid value: core.EnvVar{Name:"A", Value:"b"}: may not be set
///     spec.containers[0].env[1]: Invalid value: may not be set
///
/// `field`: the path of the value that a message without a path is about, as in the causes of a Status.
std::string withoutQuotedValues(std::string_view message, std::string_view field = {});

}  // namespace dynamo::k8s
