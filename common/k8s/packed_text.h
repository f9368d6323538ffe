#pragma once
// Compact JSON of Kubernetes objects in about two thirds of its size: names of members that every object has,
// and uids, are a few bytes each. What is packed is read back byte for byte.

#include <string>
#include <string_view>

namespace dynamo::k8s {

/// `text`: compact JSON, which holds no control characters. Values of strings stay as they are but for uids,
/// so a name is found in the packed text.
std::string pack(std::string_view text);

std::string unpack(std::string_view packed);

}  // namespace dynamo::k8s
