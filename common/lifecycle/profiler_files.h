#pragma once
// What the output copier stores of the files that a profiler has left. Decisions life-Q11, life-Q12.

#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::lifecycle {

/// The contents of the files; nullopt: there is no such file.
struct ProfilerFiles {
  std::optional<std::string> result;
  std::optional<std::string> status;
  std::optional<std::string> webUi{};
  std::optional<std::string> log{};  ///< not stored
};

/// The most bytes that a ConfigMap may hold in all its values. The API server accepts 1 MiB.
inline constexpr std::size_t kMaxConfigMapBytes = 1'000'000;

/// Why there is no result to store, in one line for users; empty: there is one.
std::string profilerProblem(const ProfilerFiles& files);

/// The ConfigMap of a request. Without a result it has the problem instead. The data of the web UI is left
/// out if it does not fit.
json::Value outputConfigMap(std::string_view request, std::string_view namespaceName,
                            const ProfilerFiles& files, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
