// Seccomp and AppArmor profiles of pods and containers.

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::string_view kLocalhost = "Localhost";

std::string_view checkedType(const Reports& report, const Value& profile, const At& at,
                             std::string_view rule) {
  const std::string_view type = json::findText(&profile, "type");
  if (type.empty()) report(rule).required(at);
  oneOf(report(rule), at, type, {kLocalhost, "RuntimeDefault", "Unconfined"});
  return type;
}

bool isSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

void appArmorName(const Reports& report, const Value& given, const At& at) {
  constexpr std::size_t kMaxPath = 4095;
  const std::string_view name = json::text(given);
  if (!given.IsString()) return;
  if (name.empty()) {
    report(id::kAppArmor).required(at, "must be set when type is Localhost");
  } else if (isSpace(name.front()) || isSpace(name.back())) {
    report(id::kAppArmor).invalid(at, name, "must not be padded with whitespace");
  } else if (name.size() > kMaxPath) {
    tooLong(report(id::kAppArmor), at, kMaxPath);
  }
}

}  // namespace

void seccompProfile(const Reports& report, const Value* profile, const At& at) {
  if (profile == nullptr || !profile->IsObject()) return;
  const bool localhost = checkedType(report, *profile, at / "type", id::kSeccomp) == kLocalhost;
  const Value* file = json::find(*profile, "localhostProfile");
  const At place = at / "localhostProfile";
  if (localhost && file == nullptr) {
    report(id::kSeccomp).required(place, "must be set when seccomp type is Localhost");
  } else if (localhost && file->IsString()) {
    const std::string_view path = json::text(*file);
    if (path.starts_with('/')) report(id::kSeccomp).invalid(place, path, "must be a relative path");
    if (hasBackstep(path)) report(id::kSeccomp).invalid(place, path, "must not contain '..'");
  } else if (!localhost && file != nullptr) {
    report(id::kSeccomp).forbidden(place, "may only be set when type is Localhost");
  }
}

void appArmorProfile(const Reports& report, const Value* profile, const At& at) {
  if (profile == nullptr || !profile->IsObject()) return;
  const std::string_view type = checkedType(report, *profile, at / "type", id::kAppArmor);
  const Value* name = json::find(*profile, "localhostProfile");
  const At place = at / "localhostProfile";
  if (type == kLocalhost && name == nullptr) {
    report(id::kAppArmor).required(place, "must be set when type is Localhost");
  } else if (type == kLocalhost) {
    appArmorName(report, *name, place);
  } else if (name != nullptr && (type == "RuntimeDefault" || type == "Unconfined")) {
    report(id::kAppArmor).forbidden(place, "may only be set when type is Localhost");
  }
}

}  // namespace dynamo::rules::pod
