#pragma once
// Formats the replies of servers.

#include <cstddef>
#include <string>
#include <string_view>

namespace dynamo::runtime {

/// Returns a `v1.Status` failure, which Kubernetes clients print. `message` is escaped and may be any text.
std::string statusBody(int status, std::string_view message);

struct ReplyForm {
  int status = 200;
  std::string_view contentType;
  bool keepAlive = false;
  std::string_view allow = {};  ///< value of the header `Allow`, unless empty
};

/// Appends the status line and the headers.
void appendHead(std::string& out, const ReplyForm& form, std::size_t bodyBytes);

}  // namespace dynamo::runtime
