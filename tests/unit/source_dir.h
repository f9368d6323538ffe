#pragma once
// The path of the repository. Only one file is compiled with it. All other files are the same in every clone,
// so clones share the compiler cache.

#include <string>
#include <string_view>

namespace dynamo::test {

/// The full path of a file of the repository; `path` is relative to its root.
std::string sourceFile(std::string_view path);

}  // namespace dynamo::test
