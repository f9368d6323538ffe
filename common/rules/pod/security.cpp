// Security contexts of pods and containers.

#include <fmt/format.h>

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr long long kMaxId = 2147483647;

void securityId(const Report& report, const Value* value, const At& at) {
  const auto number = integer(value);
  if (!number || (*number >= 0 && *number <= kMaxId)) return;
  report.invalid(at, *value, fmt::format("must be between 0 and {}, inclusive", kMaxId), id::kSecurityId);
}

void rootDoubt(const Report& report, const Value& context, const At& at) {
  if (json::findBool(&context, "runAsNonRoot") == true && integer(json::find(context, "runAsUser")) == 0) {
    report.warn(at / "runAsUser", "is root, but runAsNonRoot is true: no container will start",
                id::kSecurityRoot);
  }
}

void common(const Report& report, const Value& context, const At& at) {
  for (const std::string_view field : {"runAsUser", "runAsGroup"}) {
    securityId(report, json::find(context, field), at / field);
  }
  seccompProfile(report, json::find(context, "seccompProfile"), at / "seccompProfile");
  appArmorProfile(report, json::find(context, "appArmorProfile"), at / "appArmorProfile");
  windowsOptions(report, json::find(context, "windowsOptions"), at / "windowsOptions");
  rootDoubt(report, context, at);
}

bool isSysctlName(std::string_view name) {
  constexpr std::size_t kMaxSysctl = 253;
  if (name.empty() || name.size() > kMaxSysctl) return false;
  const auto isPlain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool start = true;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool separator = c == '.' || c == '/';
    const bool end = i + 1 == name.size() || name[i + 1] == '.' || name[i + 1] == '/';
    if (separator ? start : !isPlain(c) && (start || end || (c != '-' && c != '_'))) return false;
    start = separator;
  }
  return !start;
}

/// The host's namespace that a sysctl is of, by the field of the pod that asks for it; empty for none.
/// Slashes stand for dots and dots for slashes when the first separator is a slash.
std::string_view hostNamespaceOf(std::string_view name) {
  std::string dotted{name};
  const std::size_t first = dotted.find_first_of("./");
  if (first != std::string::npos && dotted[first] == '/') {
    for (char& c : dotted) c = c == '/' ? '.' : c == '.' ? '/' : c;
  }
  if (dotted.starts_with("net.")) return "hostNetwork";
  const bool ipc = dotted == "kernel.sem" || dotted.starts_with("kernel.shm") ||
                   dotted.starts_with("kernel.msg") || dotted.starts_with("fs.mqueue.");
  return ipc ? "hostIPC" : "";
}

void hostSysctls(const Report& report, const Value& podSpec, const At& at) {
  const Value* given = json::find(json::findObject(&podSpec, "securityContext"), "sysctls");
  forEach(given, at, [&](const Value& sysctl, const At& place) {
    const std::string_view name = json::findText(&sysctl, "name");
    const std::string_view field = hostNamespaceOf(name);
    if (field.empty() || !isSysctlName(name) || json::findBool(&podSpec, field) != true) return;
    report.invalid(place / "name", name, fmt::format("may not be set when {} is true", field), id::kSysctl);
  });
}

void sysctls(const Report& report, const Value& context, const At& at) {
  Seen<> names;
  forEach(json::find(context, "sysctls"), at, [&](const Value& sysctl, const At& place) {
    const std::string_view name = json::findText(&sysctl, "name");
    if (name.empty()) return report.required(place / "name", id::kSysctl);
    if (!isSysctlName(name)) {
      report.invalid(place / "name", name, "must be the name of a sysctl, such as kernel.shm_rmid_forced",
                     id::kSysctl);
    } else if (!names.add(name)) {
      report.duplicate(place / "name", name, id::kSysctl);
    }
  });
}

bool addsSysAdmin(const Value& context) {
  bool found = false;
  const At nowhere{""};
  forEachText(json::find(json::findObject(&context, "capabilities"), "add"), nowhere,
              [&](std::string_view name, const At&) { found = found || name == "CAP_SYS_ADMIN"; });
  return found;
}

void procMount(const Report& report, const Value* given, const At& at, const PodFacts& facts) {
  if (given == nullptr) return;
  report.oneOfGiven(at, given, {"Default", "Unmasked"}, id::kEnum);
  if (json::text(*given) != "Unmasked") return;
  report.needsVersion(at, "1.33");
  if (facts.hostUsers) {
    report.invalid(at, *given, "hostUsers must be false in the pod to use Unmasked", id::kProcMount);
  }
}

/// A field with a fixed set of values that API servers know since 1.33.
void newerChoice(const Report& report, const Value& context, std::string_view field, const At& at,
                 std::initializer_list<std::string_view> supported) {
  const Value* given = json::find(context, field);
  if (given == nullptr) return;
  report.needsVersion(at / field, "1.33");
  report.oneOfGiven(at / field, given, supported, id::kEnum);
}

}  // namespace

void podSecurity(const Report& report, const Value* context, const At& at) {
  if (context == nullptr || !context->IsObject()) return;
  common(report, *context, at);
  securityId(report, json::find(*context, "fsGroup"), at / "fsGroup");
  const Value* groups = json::find(*context, "supplementalGroups");
  const At groupsAt = at / "supplementalGroups";
  for (rapidjson::SizeType i = 0; groups != nullptr && groups->IsArray() && i < groups->Size(); ++i) {
    securityId(report, &(*groups)[i], groupsAt[i]);
  }
  report.oneOfGiven(at / "fsGroupChangePolicy", json::find(context, "fsGroupChangePolicy"),
                    {"Always", "OnRootMismatch"}, id::kEnum);
  newerChoice(report, *context, "supplementalGroupsPolicy", at, {"Merge", "Strict"});
  newerChoice(report, *context, "seLinuxChangePolicy", at, {"MountOption", "Recursive"});
  if (json::findText(context, "seLinuxChangePolicy") == "MountOption") {
    report.needsGate(at / "seLinuxChangePolicy", "SELinuxMount");
  }
  sysctls(report, *context, at / "sysctls");
}

void podSysctls(const Report& report, const Value& podSpec, const At& at) {
  const At context = at / "securityContext";
  hostSysctls(report, podSpec, context / "sysctls");
}

void containerSecurity(const Report& report, const Value* context, const At& at, const PodFacts& facts) {
  if (context == nullptr || !context->IsObject()) return;
  common(report, *context, at);
  procMount(report, json::find(context, "procMount"), at / "procMount", facts);
  if (json::findBool(context, "allowPrivilegeEscalation") != false) return;
  const At place = at / "allowPrivilegeEscalation";
  if (json::findBool(context, "privileged") == true) {
    report.forbidden(place, "may not be false in a privileged container", id::kSecurityEscalation);
  }
  if (addsSysAdmin(*context)) {
    report.forbidden(place, "may not be false with the capability CAP_SYS_ADMIN", id::kSecurityEscalation);
  }
}

void hostUsers(const Report& report, const Value& podSpec, const At& at, const PodFacts& facts) {
  if (facts.hostUsers) return;
  report.needsVersion(at / "hostUsers", "1.33");
  for (const std::string_view field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (json::findBool(&podSpec, field) != true) continue;
    report.forbidden(at / field, "may not be true when hostUsers is false", id::kHostUsers);
  }
}

}  // namespace dynamo::rules::pod
