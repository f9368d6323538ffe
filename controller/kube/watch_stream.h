#pragma once
// The stream of events of a watch.

#include <cstddef>
#include <optional>
#include <string>

#include "common/runtime/client_session.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/api_error.h"
#include "controller/kube/line_buffer.h"

namespace dynamo::kube {

/// The maximum size of an event, which contains one object. etcd stores up to 1.5 MiB by default, and JSON is
/// larger than the stored form.
inline constexpr std::size_t kMaxEventBytes = std::size_t{16} << 20;

/// Not thread-safe. A stream must be destroyed before the event loop, but may outlive its client. It cannot
/// be used after an error or the end of the stream.
class WatchStream {
 public:
  explicit WatchStream(runtime::ClientSession session)
      : session_(std::move(session)), lines_(kMaxEventBytes) {}

  /// Returns the next event as one line of JSON; see decodeEvent. Returns nullopt if the server ended the
  /// stream, which it does after the timeout of the watch. The error has reason Timeout if no complete event
  /// arrived before the deadline. Only one call may be in progress.
  runtime::Task<Result<std::optional<std::string>>> next(runtime::Deadline deadline);
  /// Cancels the call of `next` in progress and all later calls. They return an error with reason Transport.
  void cancel();

 private:
  runtime::ClientSession session_;
  LineBuffer lines_;
  bool cancelled_ = false;
};

}  // namespace dynamo::kube
