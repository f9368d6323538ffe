#include "controller/kube/api_error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "common/json/parse.h"
#include "common/k8s/api_message.h"

namespace dynamo::kube {
namespace {

using std::chrono::seconds;

struct ReasonRow {
  std::string_view word;  ///< metav1.StatusReason
  Reason reason;
};

constexpr std::array kReasons{
    ReasonRow{"NotFound", Reason::NotFound},
    ReasonRow{"AlreadyExists", Reason::AlreadyExists},
    ReasonRow{"Conflict", Reason::Conflict},
    ReasonRow{"Gone", Reason::Gone},
    ReasonRow{"Expired", Reason::Gone},
    ReasonRow{"TooManyRequests", Reason::TooManyRequests},
    ReasonRow{"Unauthorized", Reason::Unauthorized},
    ReasonRow{"Forbidden", Reason::Forbidden},
    ReasonRow{"Invalid", Reason::Invalid},
    ReasonRow{"BadRequest", Reason::BadRequest},
    ReasonRow{"Timeout", Reason::Timeout},
    ReasonRow{"ServerTimeout", Reason::Timeout},
    ReasonRow{"ServiceUnavailable", Reason::Unavailable},
    ReasonRow{"InternalError", Reason::Internal},
};

Reason reasonOf(int status) {
  switch (status) {
    case 400:
      return Reason::BadRequest;
    case 401:
      return Reason::Unauthorized;
    case 403:
      return Reason::Forbidden;
    case 404:
      return Reason::NotFound;
    case 408:
    case 504:
      return Reason::Timeout;
    case 409:
      return Reason::Conflict;
    case 410:
      return Reason::Gone;
    case 422:
      return Reason::Invalid;
    case 429:
      return Reason::TooManyRequests;
    case 502:
    case 503:
      return Reason::Unavailable;
    default:
      return status >= 500 ? Reason::Internal : Reason::Other;
  }
}

Reason reasonOf(int status, std::string_view word) {
  const auto* found =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const ReasonRow& row) { return row.word == word; });
  return found == kReasons.end() ? reasonOf(status) : found->reason;
}

/// Returns the text as one line of at most kMaxErrorMessage bytes. UTF-8 characters are not split.
std::string shown(std::string_view text) {
  constexpr std::string_view kMore = "...";
  const bool cut = text.size() > kMaxErrorMessage;
  if (cut) {
    std::size_t end = kMaxErrorMessage - kMore.size();
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text = text.substr(0, end);
  }
  std::string out{text};
  constexpr char kDelete = 0x7f;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == kDelete) c = ' ';
  }
  return cut ? out.append(kMore) : out;
}

std::optional<std::int64_t> integer(const json::Value* value) {
  return value != nullptr && value->IsInt64() ? std::optional{value->GetInt64()} : std::nullopt;
}

std::optional<seconds> waitOf(std::int64_t count) {
  if (count < 0) return std::nullopt;
  return std::min(seconds{count}, kMaxRetryAfter);
}

/// Returns the delay in Retry-After. API servers send seconds. A date, which HTTP also allows, is ignored.
std::optional<seconds> retryAfterOf(const runtime::ReplyHead& head) {
  const std::string* const text = head.find("Retry-After");
  if (text == nullptr || text->empty()) return std::nullopt;
  std::int64_t count = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, count);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range && text->front() != '-') return kMaxRetryAfter;
  return error == std::errc{} ? waitOf(count) : std::nullopt;
}

/// Returns true if the object is a Secret. `details.kind` contains the kind or the resource name.
bool isAboutSecret(const json::Value* details) {
  const std::string_view kind = json::findText(details, "kind");
  return json::findText(details, "group").empty() && (kind == "Secret" || kind == "secrets");
}

/// Returns true if the API server's message for the reason is fixed and contains only the name of the object.
bool hasFixedMessage(Reason reason) {
  return reason != Reason::Invalid && reason != Reason::BadRequest && reason != Reason::Internal &&
         reason != Reason::Forbidden && reason != Reason::Other;
}

std::string withheldMessage(Reason reason, const json::Value* details) {
  const std::string_view kind = json::findText(details, "kind");
  const std::string_view name = json::findText(details, "name");
  std::string out{kind.empty() ? "the request" : kind};
  if (!name.empty()) out.append(" \"").append(name).append("\"");
  return out.append(" failed: ")
      .append(nameOf(reason))
      .append(" (the message is omitted because it may quote the Secret)");
}

std::vector<Cause> causesOf(const json::Value* details, bool withhold) {
  std::vector<Cause> out;
  const json::Value* const causes = json::find(details, "causes");
  if (causes == nullptr || !causes->IsArray()) return out;
  for (const json::Value& each : causes->GetArray()) {
    if (out.size() == kMaxCauses) break;
    if (!each.IsObject()) continue;
    Cause& cause = out.emplace_back();
    cause.reason = shown(json::findText(&each, "reason"));
    const std::string_view field = json::findText(&each, "field");
    if (!withhold) cause.message = shown(k8s::withoutQuotedValues(json::findText(&each, "message"), field));
    cause.field = shown(field);
  }
  return out;
}

bool isStatus(const json::Value& value) {
  return value.IsObject() && json::findText(&value, "kind") == "Status" &&
         json::findText(&value, "apiVersion") == "v1";
}

ApiError statusError(int httpStatus, const json::Value& status, MessagePolicy messagePolicy) {
  const Reason reason = reasonOf(httpStatus, json::findText(&status, "reason"));
  const json::Value* const details = json::findObject(&status, "details");
  const bool withhold = messagePolicy == MessagePolicy::Withhold || isAboutSecret(details);
  const std::string_view message = json::findText(&status, "message");
  ApiError error{reason, httpStatus, {}};
  if (withhold && !hasFixedMessage(reason)) {
    error.message = shown(withheldMessage(reason, details));
  } else {
    error.message = message.empty() ? std::string{nameOf(reason)} : shown(k8s::withoutQuotedValues(message));
  }
  error.causes = causesOf(details, withhold);
  if (const auto wait = integer(json::find(details, "retryAfterSeconds")); wait && *wait > 0) {
    error.retryAfter = waitOf(*wait);
  }
  return error;
}

}  // namespace

std::string_view nameOf(Reason reason) {
  constexpr std::array<std::string_view, 15> kNames{
      "NotFound",     "AlreadyExists", "Conflict", "Gone",       "TooManyRequests",
      "Unauthorized", "Forbidden",     "Invalid",  "BadRequest", "Timeout",
      "Unavailable",  "Internal",      "TooLarge", "Transport",  "Other"};
  return kNames[static_cast<std::size_t>(reason)];
}

bool ApiError::transient() const {
  switch (reason) {
    case Reason::Conflict:
    case Reason::TooManyRequests:
    case Reason::Timeout:
    case Reason::Unavailable:
    case Reason::Internal:
    case Reason::Transport:
      return true;
    default:
      return false;
  }
}

const Cause* ApiError::cause(std::string_view causeReason) const {
  const auto found = std::find_if(causes.begin(), causes.end(),
                                  [&](const Cause& each) { return each.reason == causeReason; });
  return found == causes.end() ? nullptr : &*found;
}

ApiError errorOf(const runtime::ReplyHead& head, std::string_view body, MessagePolicy messagePolicy) {
  json::Document document;
  const bool readable = !json::parse(body, document) && isStatus(document);
  ApiError error = readable ? statusError(head.status, document, messagePolicy)
                            : ApiError{reasonOf(head.status), head.status,
                                       "the server answered with HTTP status " + std::to_string(head.status)};
  if (const auto wait = retryAfterOf(head)) error.retryAfter = wait;
  return error;
}

ApiError errorOf(const json::Value& status, MessagePolicy messagePolicy) {
  constexpr int kInternal = 500;
  if (!isStatus(status))
    return {Reason::Internal, kInternal, "the server sent an error that is not a Status"};
  const std::int64_t code = integer(json::find(status, "code")).value_or(kInternal);
  return statusError(code >= 100 && code <= 599 ? static_cast<int>(code) : kInternal, status, messagePolicy);
}

ApiError errorOf(const runtime::TransportError& error) {
  switch (error.problem) {
    case runtime::TransportProblem::BadRequest:
      return {Reason::BadRequest, 0, error.message};
    case runtime::TransportProblem::TimedOut:
      return {Reason::Timeout, 0, error.message};
    default:
      return {Reason::Transport, 0, error.message};
  }
}

}  // namespace dynamo::kube
