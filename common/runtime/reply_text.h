#pragma once
// The text of replies that servers send.

#include <cstddef>
#include <string>
#include <string_view>

namespace dynamo::runtime {

/// A `v1.Status` failure, as Kubernetes clients print it. `message` may hold any text (it is escaped).
std::string statusBody(int status, std::string_view message);

struct ReplyForm {
  int status = 200;
  std::string_view contentType;
  bool keepAlive = false;
  std::string_view allow = {};  ///< sent as `Allow:` unless empty
};

/// Appends status line and headers.
void appendHead(std::string& out, const ReplyForm& form, std::size_t bodyBytes);

}  // namespace dynamo::runtime
