#pragma once
// How a write or a reconcile ended.

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace dynamo::lifecycle {

/// The values of the label error_type of dynamo_operator_reconcile_errors_total that are not a reason of the
/// API server, as in the metrics of the reference.
inline constexpr std::string_view kInternalError = "internal";
inline constexpr std::string_view kNotFoundError = "not_found";
inline constexpr std::string_view kConflictError = "conflict";
inline constexpr std::string_view kInvalidError = "validation";
inline constexpr std::string_view kBadRequestError = "bad_request";

/// It is done.
struct Done {};

/// It cannot be done until an object has been deleted, whose event triggers the next reconcile. The status
/// describes what there is meanwhile, and does not report readiness.
struct LookAgain {
  std::string message;
  /// The deletion should take seconds, so it is a failure if it lasts (quirk ctl-Q52).
  bool shouldPass = false;
};

/// It was computed from an old version of an object. This is no error: the next reconcile computes it again.
struct Conflict {
  std::string message;
};

/// It failed, and a retry may succeed: timeouts, throttling. No condition reports it until it has lasted for
/// a while (quirk ctl-Q18).
struct Transient {
  std::string message;
  std::string_view type = kInternalError;
  std::chrono::seconds retryAfter{0};  ///< the delay before a retry that the API server requested
};

/// It failed for a reason that users should know: the API server refused it, or a child cannot be rendered.
struct Permanent {
  std::string message;
  std::string_view type = kInternalError;
};

using Ending = std::variant<Done, LookAgain, Conflict, Transient, Permanent>;

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

inline bool isDone(const Ending& ending) {
  return std::holds_alternative<Done>(ending);
}
inline bool isPermanent(const Ending& ending) {
  return std::holds_alternative<Permanent>(ending);
}
inline bool mustLookAgain(const Ending& ending) {
  return std::holds_alternative<LookAgain>(ending);
}

/// The message; empty for Done.
inline const std::string& messageOf(const Ending& ending) {
  static const std::string kNone;
  return std::visit(Match{[](const Done&) -> const std::string& { return kNone; },
                          [](const auto& each) -> const std::string& { return each.message; }},
                    ending);
}

/// The label error_type of dynamo_operator_reconcile_errors_total, such as "not_found".
inline std::string_view errorTypeOf(const Ending& ending) {
  return std::visit(
      Match{[](const Transient& failed) { return failed.type; },
            [](const Permanent& failed) { return failed.type; },
            [](const Conflict&) { return kConflictError; }, [](const auto&) { return kInternalError; }},
      ending);
}

/// Whether it counts as an error. A conflict and a wait are none.
inline bool isError(const Ending& ending) {
  return std::visit(
      Match{[](const Done&) { return false; }, [](const Conflict&) { return false; },
            [](const LookAgain& wait) { return wait.shouldPass; }, [](const auto&) { return true; }},
      ending);
}

/// The ending after a failure that may pass has lasted too long.
inline Ending lasting(Ending ending) {
  if (auto* failed = std::get_if<Transient>(&ending))
    return Permanent{std::move(failed->message), failed->type};
  if (auto* wait = std::get_if<LookAgain>(&ending); wait != nullptr && wait->shouldPass)
    return Permanent{std::move(wait->message)};
  return ending;
}

/// How it ended as a whole: the first of the gravest endings. Done if there are none.
inline Ending gravestOf(std::span<const Ending> endings) {
  const auto weight = [](const Ending& ending) {
    return std::visit(
        Match{[](const Done&) { return 0; }, [](const LookAgain& w) { return w.shouldPass ? 3 : 1; },
              [](const Conflict&) { return 2; }, [](const Transient&) { return 4; },
              [](const Permanent&) { return 5; }},
        ending);
  };
  const auto gravest =
      std::max_element(endings.begin(), endings.end(),
                       [&](const Ending& a, const Ending& b) { return weight(a) < weight(b); });
  return gravest == endings.end() ? Ending{Done{}} : *gravest;
}

}  // namespace dynamo::lifecycle
