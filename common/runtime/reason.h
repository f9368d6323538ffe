#pragma once
// The text of an errno.

#include <string>
#include <system_error>

namespace dynamo::runtime {

inline std::string reasonOf(int error) {
  return std::generic_category().message(error);
}

}  // namespace dynamo::runtime
