#include "common/k8s/timestamp.h"

#include <fmt/format.h>

#include "common/json/ascii.h"

namespace dynamo::k8s {
namespace {

using std::chrono::microseconds;

/// Reads a text from its start.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool skip(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// A number of exactly so many digits.
  std::optional<int> number(std::size_t digits) {
    if (rest_.size() < digits) return std::nullopt;
    int value = 0;
    for (const char c : rest_.substr(0, digits)) {
      if (!json::isDigit(c)) return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  /// The digits behind a decimal point, at least one.
  std::optional<microseconds> fraction() {
    constexpr std::size_t kDigits = 6;
    int value = 0;
    std::size_t count = 0;
    while (!rest_.empty() && json::isDigit(rest_.front())) {
      if (count < kDigits) value = value * 10 + (rest_.front() - '0');
      ++count;
      rest_.remove_prefix(1);
    }
    if (count == 0) return std::nullopt;
    for (std::size_t i = count; i < kDigits; ++i) value *= 10;
    return microseconds{value};
  }

  bool atEnd() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// "07:29", the part that a time of day and an offset have in common.
std::optional<std::chrono::minutes> hoursAndMinutes(Reader& in) {
  const auto hour = in.number(2);
  if (!hour || *hour > 23 || !in.skip(':')) return std::nullopt;
  const auto minute = in.number(2);
  if (!minute || *minute > 59) return std::nullopt;
  return std::chrono::hours{*hour} + std::chrono::minutes{*minute};
}

std::optional<std::chrono::sys_days> date(Reader& in) {
  const auto year = in.number(4);
  if (!year || !in.skip('-')) return std::nullopt;
  const auto month = in.number(2);
  if (!month || !in.skip('-')) return std::nullopt;
  const auto day = in.number(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  return date.ok() ? std::optional{std::chrono::sys_days{date}} : std::nullopt;
}

}  // namespace

std::optional<Timestamp> parseTimestamp(std::string_view text) {
  Reader in{text};
  const auto day = date(in);
  if (!day || !(in.skip('T') || in.skip('t'))) return std::nullopt;
  const auto minutes = hoursAndMinutes(in);
  if (!minutes || !in.skip(':')) return std::nullopt;
  const auto second = in.number(2);
  if (!second || *second > 59) return std::nullopt;
  std::optional<microseconds> fraction{0};
  if (in.skip('.')) fraction = in.fraction();
  if (!fraction) return std::nullopt;
  std::optional<std::chrono::minutes> offset{0};
  if (!in.skip('Z') && !in.skip('z')) {
    const bool east = in.skip('+');
    if (!east && !in.skip('-')) return std::nullopt;
    offset = hoursAndMinutes(in);
    if (!offset) return std::nullopt;
    if (!east) offset = -*offset;
  }
  if (!in.atEnd()) return std::nullopt;
  return Timestamp{*day} + *minutes + std::chrono::seconds{*second} + *fraction - *offset;
}

std::string formatTime(Timestamp time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string formatMicroTime(Timestamp time) {
  const auto fraction = time - std::chrono::floor<std::chrono::seconds>(time);
  std::string text = formatTime(time);
  text.pop_back();
  return text + fmt::format(".{:06}Z", fraction.count());
}

}  // namespace dynamo::k8s
