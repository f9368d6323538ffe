#pragma once
// Which inference engine a component runs.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

inline constexpr std::string_view kVllm = "vllm";
inline constexpr std::string_view kSglang = "sglang";
inline constexpr std::string_view kTrtllm = "trtllm";
inline constexpr std::string_view kNoop = "noop";

struct Framework {
  std::string name{kNoop};  ///< one of the four
  std::string error;        ///< not empty: the command and `explicitName` disagree, or it names several
};

/// The framework of `component` (a service or a DCD's spec). `explicitName` is backendFramework, may be
/// empty. Other types than workers have none.
Framework detectFramework(const json::Value& component, std::string_view explicitName);

}  // namespace dynamo::model
