#pragma once
// Fields of a service that stand beside the services of a graph, because they are indented as deep as the
// name of their service:
//
//   services:
//     Worker:
//     componentType: worker

#include <string>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::admission {

struct StrayField {
  std::string name;
  /// The service before the field, if that has no body. Empty: the service is not known.
  std::string service;
  field::Path place;   ///< in that service; empty if there is none
  std::string advice;  ///< the rest of the detail of the error
};

/// The stray fields among `services`, the map of the services of a graph, in the order of the map. An object
/// that can be a service is none.
std::vector<StrayField> strayFields(const json::Value& services);

}  // namespace dynamo::admission
