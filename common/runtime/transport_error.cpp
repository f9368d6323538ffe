#include "common/runtime/transport_error.h"

#include <array>

namespace dynamo::runtime {

std::string_view nameOf(TransportProblem problem) {
  switch (problem) {
    case TransportProblem::Unreachable:
      return "Unreachable";
    case TransportProblem::TimedOut:
      return "TimedOut";
    case TransportProblem::Cancelled:
      return "Cancelled";
    case TransportProblem::Untrusted:
      return "Untrusted";
    case TransportProblem::Tls:
      return "Tls";
    case TransportProblem::Closed:
      return "Closed";
    case TransportProblem::Malformed:
      return "Malformed";
    case TransportProblem::TooLarge:
      return "TooLarge";
    case TransportProblem::BadRequest:
      break;
  }
  return "BadRequest";
}

TransportError waitError(Stage stage, WaitResult how) {
  if (how == WaitResult::Cancelled) return {stage, TransportProblem::Cancelled, "the wait was cancelled"};
  constexpr std::array kSlow{"connecting took too long", "the TLS handshake took too long",
                             "sending the request took too long", "no complete reply arrived in time"};
  return {stage, TransportProblem::TimedOut, kSlow[static_cast<std::size_t>(stage)]};
}

}  // namespace dynamo::runtime
