#include "controller/view/age.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dynamo::view {
namespace {

using std::chrono::seconds;

constexpr long long kMinute = 60;
constexpr long long kHour = 60 * kMinute;
constexpr long long kDay = 24 * kHour;
constexpr long long kYear = 365 * kDay;

/// The format of ages below `end`: whole units, then the rest in smaller units.
struct Form {
  long long end;
  long long unit;
  char name;
  long long rest;  ///< the smaller unit; 0: the rest is not printed
  char restName;
};
constexpr std::array<Form, 8> kForms = {{{2 * kMinute, 1, 's', 0, ' '},
                                         {10 * kMinute, kMinute, 'm', 1, 's'},
                                         {3 * kHour, kMinute, 'm', 0, ' '},
                                         {8 * kHour, kHour, 'h', kMinute, 'm'},
                                         {2 * kDay, kHour, 'h', 0, ' '},
                                         {8 * kDay, kDay, 'd', kHour, 'h'},
                                         {2 * kYear, kDay, 'd', 0, ' '},
                                         {8 * kYear, kYear, 'y', kDay, 'd'}}};

}  // namespace

std::string formatAge(seconds age) {
  const long long count = std::max<long long>(age.count(), 0);
  for (const Form& form : kForms) {
    if (count >= form.end) continue;
    std::string text = fmt::format("{}{}", count / form.unit, form.name);
    const long long rest = form.rest == 0 ? 0 : count % form.unit / form.rest;
    return rest == 0 ? text : fmt::format("{}{}{}", text, rest, form.restName);
  }
  return fmt::format("{}y", count / kYear);
}

}  // namespace dynamo::view
