#pragma once
// Detects the inference engine of a component.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

inline constexpr std::string_view kVllm = "vllm";
inline constexpr std::string_view kSglang = "sglang";
inline constexpr std::string_view kTrtllm = "trtllm";
inline constexpr std::string_view kNoop = "noop";

struct Framework {
  std::string name{kNoop};  ///< one of the constants above
  std::string error;        ///< set if the command contradicts `explicitName` or runs several engines
};

/// The framework of `component`, a service or the spec of a component deployment. `explicitName` is
/// backendFramework and may be empty. Only workers have a framework.
Framework detectFramework(const json::Value& component, std::string_view explicitName);

}  // namespace dynamo::model
