#pragma once
// Names of child objects.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

/// `name` with "-" for each ".", for kinds whose names may not contain dots and for references to them.
std::string dashed(std::string_view name);

/// "<graph>-<service in lower case>".
std::string componentName(std::string_view graph, std::string_view service);

/// Name of the DynamoComponentDeployment. For worker types the name ends with `workerHash` unless that is
/// empty.
std::string componentDeploymentName(std::string_view graph, std::string_view service,
                                    std::string_view componentType, std::string_view workerHash);

/// The queue of the KAI scheduler in the annotations of a graph, without surrounding white space; "dynamo" if
/// absent.
std::string_view kaiQueue(const json::Value* annotations);

}  // namespace dynamo::model
