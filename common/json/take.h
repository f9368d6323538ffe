#pragma once
// Members of large objects that nobody looks at: managedFields is often the larger half of an object. They
// are taken out of the text before it is parsed.

#include <span>
#include <string>
#include <string_view>

namespace dynamo::json {

/// Names of nested members from the root on.
using MemberPath = std::span<const std::string_view>;

/// Puts null and blanks in place of the values at `paths` of the object at the start of `text`; taken[i] gets
/// what stood at paths[i], a JSON value as it was written, or nothing when there was none. With an empty
/// `taken` it is gone. Does nothing more from where the text stops to be JSON: parsing will tell. Not looked
/// at: duplicate names in what is taken. `text` has passed guard(); at most 64 paths.
void takeMembers(std::span<char> text, std::span<const MemberPath> paths, std::span<std::string> taken = {});

}  // namespace dynamo::json
