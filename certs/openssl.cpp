#include "certs/openssl.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#include <ctime>

namespace dynamo::certs {

namespace {

std::optional<Time> toTime(const ASN1_TIME* value) {
  std::tm fields{};
  if (value == nullptr || ASN1_TIME_to_tm(value, &fields) != 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{fields.tm_year + 1900},
                                         std::chrono::month{static_cast<unsigned>(fields.tm_mon + 1)},
                                         std::chrono::day{static_cast<unsigned>(fields.tm_mday)}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days{date} + std::chrono::hours{fields.tm_hour} +
         std::chrono::minutes{fields.tm_min} + std::chrono::seconds{fields.tm_sec};
}

}  // namespace

std::string formatTime(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

ErrorQueueScope::ErrorQueueScope() {
  ERR_clear_error();
}
ErrorQueueScope::~ErrorQueueScope() {
  ERR_clear_error();
}

std::string opensslReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  return reason == nullptr ? "unknown error" : reason;
}

std::optional<Time> notBefore(const X509& certificate) {
  return toTime(X509_get0_notBefore(&certificate));
}
std::optional<Time> notAfter(const X509& certificate) {
  return toTime(X509_get0_notAfter(&certificate));
}

void wipe(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

}  // namespace dynamo::certs
