#pragma once
// Removes members that are not needed from a text before it is parsed. managedFields is often more than half
// of an object.

#include <span>
#include <string>
#include <string_view>

namespace dynamo::json {

/// Names of nested members from the root on.
using MemberPath = std::span<const std::string_view>;

/// Replaces the values at `paths` of the object at the start of `text` by null and blanks. taken[i] gets the
/// text of the value at paths[i], or is empty if there is none. If `taken` is empty, the values are dropped.
/// Stops where the text is not JSON, because the parser reports that. Duplicate names inside the values are
/// not detected. `text` must have passed guard(). At most 64 paths.
void takeMembers(std::span<char> text, std::span<const MemberPath> paths, std::span<std::string> taken = {});

}  // namespace dynamo::json
