// Seccomp and AppArmor profiles of pods and containers.

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::string_view kLocalhost = "Localhost";

std::string_view checkedType(const Report& report, const Value& profile, const At& at,
                             std::string_view rule) {
  const std::string_view type = json::findText(&profile, "type");
  if (type.empty()) report.required(at, rule);
  report.oneOf(at, type, {kLocalhost, "RuntimeDefault", "Unconfined"}, rule);
  return type;
}

bool isSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

void appArmorName(const Report& report, const Value& given, const At& at) {
  constexpr std::size_t kMaxPath = 4095;
  const std::string_view name = json::text(given);
  if (!given.IsString()) return;
  if (name.empty()) {
    report.required(at, id::kAppArmor, "must be set when type is Localhost");
  } else if (isSpace(name.front()) || isSpace(name.back())) {
    report.invalid(at, name, "must not be padded with white space", id::kAppArmor);
  } else if (name.size() > kMaxPath) {
    report.tooLong(at, kMaxPath, id::kAppArmor);
  }
}

}  // namespace

void seccompProfile(const Report& report, const Value* profile, const At& at) {
  if (profile == nullptr || !profile->IsObject()) return;
  const bool localhost = checkedType(report, *profile, at / "type", id::kSeccomp) == kLocalhost;
  const Value* file = json::find(*profile, "localhostProfile");
  const At place = at / "localhostProfile";
  if (localhost && file == nullptr) {
    report.required(place, id::kSeccomp, "a file, for the type is Localhost");
  } else if (localhost && file->IsString()) {
    const std::string_view path = json::text(*file);
    if (path.starts_with('/')) report.invalid(place, path, "must be a relative path", id::kSeccomp);
    if (hasBackstep(path)) report.invalid(place, path, "must not contain '..'", id::kSeccomp);
  } else if (!localhost && file != nullptr) {
    report.forbidden(place, "may only be set when type is Localhost", id::kSeccomp);
  }
}

void appArmorProfile(const Report& report, const Value* profile, const At& at) {
  if (profile == nullptr || !profile->IsObject()) return;
  const std::string_view type = checkedType(report, *profile, at / "type", id::kAppArmor);
  const Value* name = json::find(*profile, "localhostProfile");
  const At place = at / "localhostProfile";
  if (type == kLocalhost && name == nullptr) {
    report.required(place, id::kAppArmor, "must be set when type is Localhost");
  } else if (type == kLocalhost) {
    appArmorName(report, *name, place);
  } else if (name != nullptr && (type == "RuntimeDefault" || type == "Unconfined")) {
    report.forbidden(place, "may only be set when type is Localhost", id::kAppArmor);
  }
}

}  // namespace dynamo::rules::pod
