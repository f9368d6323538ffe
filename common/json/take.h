#pragma once
// Takes members that nobody looks at out of a text before it is parsed. managedFields is often the larger
// half of an object.

#include <span>
#include <string>
#include <string_view>

namespace dynamo::json {

/// Names of nested members from the root on.
using MemberPath = std::span<const std::string_view>;

/// Replaces the values at `paths` of the object at the start of `text` by null and blanks. taken[i] gets the
/// text of the value that was at paths[i], and is empty when there was none. When `taken` is empty, the
/// values are dropped. Stops where the text is not JSON: parsing reports that. Duplicate names inside the
/// values are not detected. `text` must have passed guard(); at most 64 paths.
void takeMembers(std::span<char> text, std::span<const MemberPath> paths, std::span<std::string> taken = {});

}  // namespace dynamo::json
