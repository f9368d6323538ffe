#pragma once
// Where the repository stands. One file alone is compiled with it: all others are the same in every clone, so
// that the compiler cache of one serves another.

#include <string>
#include <string_view>

namespace dynamo::test {

/// The full path of a file of the repository, which is named from its root.
std::string sourceFile(std::string_view path);

}  // namespace dynamo::test
