#pragma once
// How conditions and Events report the failures of a reconcile.

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/lifecycle/conditions.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/pod_failures.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

/// The failures of a reconcile. The first ones are those of rendering: they explain why children are missing.
inline std::vector<Ending> allFailures(const render::Children& children, const std::vector<Ending>& others) {
  std::vector<Ending> failures;
  for (const field::FieldError& error : children.errors) failures.emplace_back(Permanent{error.message()});
  failures.insert(failures.end(), others.begin(), others.end());
  return failures;
}

/// The messages of all permanent failures, in one line; empty when there are none (quirk
/// ctl-Q18).
inline std::string permanentFailures(std::span<const Ending> failures) {
  std::string text;
  for (const Ending& failure : failures) {
    if (isPermanent(failure)) text.append(text.empty() ? "" : "; ").append(messageOf(failure));
  }
  return text;
}

/// Whether a ValidatingAdmissionPolicy or an admission webhook refused an object. By default the API server
/// answers for the former as for an invalid object, and for the latter as for a bad request.
inline bool isDenied(std::string_view message) {
  return message.find(" denied request: ") != std::string_view::npos ||
         message.find(" denied the request") != std::string_view::npos;
}

/// Whether a failure stays until its object changes: the API server calls a child invalid. Quota, policies,
/// rights and objects of somebody else may change meanwhile.
inline bool isInvalid(std::span<const Ending> failures) {
  return std::any_of(failures.begin(), failures.end(), [](const Ending& failure) {
    const auto* permanent = std::get_if<Permanent>(&failure);
    return permanent != nullptr &&
           (permanent->type == kInvalidError || permanent->type == kBadRequestError) &&
           !isDenied(permanent->message);
  });
}

/// How often a child that quota, policies, rights or an object of somebody else prevent is tried again. They
/// change without an event of the object, and a growing back-off would wait for minutes after they have.
inline constexpr std::chrono::seconds kPreventedAgain{20};

/// Whether nothing failed, except that children may wait for deletions. The status then describes what there
/// is (LookAgain).
inline bool onlyWaits(std::span<const Ending> failures) {
  return std::all_of(failures.begin(), failures.end(), mustLookAgain);
}

/// What the children wait for, in one line; empty when none waits.
inline std::string waitsOf(std::span<const Ending> failures) {
  std::string text;
  for (const Ending& failure : failures) {
    if (mustLookAgain(failure)) text.append(text.empty() ? "" : "; ").append(messageOf(failure));
  }
  return text;
}

/// Whether the condition `stored` does not report this failure yet. An Event is due then, and only then.
inline bool isNewFailure(const json::Value* stored, std::string_view message) {
  return !isFalse(stored) || json::findText(stored, "message") != shortened(message, kMaxConditionMessage);
}

/// Whether the new message of a condition names a cause that the stored message does not name; `summary` is
/// the beginning of the cause's text. A cause that is cut off from the new message is not reported: the next
/// reconcile would report it again.
inline bool isNewCause(std::string_view summary, std::string_view storedMessage,
                       std::string_view newMessage) {
  constexpr std::size_t kMaxKey = 100;  // this many bytes identify a cause
  const std::string_view key = summary.substr(0, kMaxKey);
  return storedMessage.find(key) == std::string_view::npos &&
         newMessage.substr(0, kMaxConditionMessage).find(key) != std::string_view::npos;
}

/// Adds Events for the causes that `stored`, a message, does not name yet. `text`: the new message.
inline void reportNewCauses(const std::vector<PodFailure>& causes, std::string_view stored,
                            std::string_view text, Outcome& outcome) {
  for (const PodFailure& cause : causes) {
    if (isNewCause(cause.summary, stored, text))
      outcome.events.push_back(warning(cause.reason, cause.text()));
  }
}

}  // namespace dynamo::lifecycle
