#pragma once
// The container of the profiling Job that stores what the profiler has written in a ConfigMap.

#include <string>
#include <string_view>

namespace dynamo::render {

/// The shell script of the container, for a request of that name and namespace. It is for any POSIX shell
/// with kubectl, and always ends with 0: a Job would repeat the whole profiling otherwise. What went wrong
/// becomes a key of the ConfigMap (life-Q11, life-Q12).
std::string outputCopierScript(std::string_view request, std::string_view namespaceName);

}  // namespace dynamo::render
