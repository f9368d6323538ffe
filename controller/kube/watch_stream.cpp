#include "controller/kube/watch_stream.h"

#include <string_view>
#include <utility>
#include <variant>

namespace dynamo::kube {

using runtime::Deadline;
using runtime::Task;
using runtime::TransportError;

Task<Result<std::optional<std::string>>> WatchStream::next(Deadline deadline) {
  const auto failed = [](const char* what) { return ApiError{Reason::Transport, 0, what}; };
  for (;;) {
    if (cancelled_) co_return failed("the watch was cancelled");
    std::optional<std::string> line = lines_.take();
    if (line) co_return std::move(line);
    if (lines_.overflown()) co_return failed("an event of the watch is too large");
    auto piece = co_await session_.read(deadline);
    if (const auto* error = std::get_if<TransportError>(&piece)) co_return errorOf(*error);
    const std::string_view bytes = std::get<std::string_view>(piece);
    if (bytes.empty()) {
      if (lines_.hasRest()) co_return failed("the watch ended within an event");
      co_return std::nullopt;
    }
    lines_.put(bytes);
  }
}

void WatchStream::cancel() {
  cancelled_ = true;
  session_.cancel();
}

}  // namespace dynamo::kube
