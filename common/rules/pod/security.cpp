// Security contexts of pods and containers.

#include <fmt/format.h>

#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr long long kMaxId = 2147483647;

void securityId(const Reports& report, const Value* value, const At& at) {
  const auto number = integer(value);
  if (!number || (*number >= 0 && *number <= kMaxId)) return;
  report(id::kSecurityId).invalid(at, *value, fmt::format("must be between 0 and {}, inclusive", kMaxId));
}

void warnRootUser(const Reports& report, const Value& context, const At& at) {
  if (json::findBool(&context, "runAsNonRoot") == true && integer(json::find(context, "runAsUser")) == 0) {
    report(id::kSecurityRoot)
        .warn(at / "runAsUser", "is root, but runAsNonRoot is true: no container will start");
  }
}

void commonContext(const Reports& report, const Value& context, const At& at) {
  for (const std::string_view field : {"runAsUser", "runAsGroup"}) {
    securityId(report, json::find(context, field), at / field);
  }
  seccompProfile(report, json::find(context, "seccompProfile"), at / "seccompProfile");
  appArmorProfile(report, json::find(context, "appArmorProfile"), at / "appArmorProfile");
  windowsOptions(report, json::find(context, "windowsOptions"), at / "windowsOptions");
  warnRootUser(report, context, at);
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

/// The field of the pod that shares the namespace of a sysctl with the host; empty for other sysctls. If the
/// first separator is a slash, slashes and dots are exchanged.
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

void hostSysctls(const Reports& report, const Value& podSpec, const At& at) {
  const Value* given = json::find(json::findObject(&podSpec, "securityContext"), "sysctls");
  forEach(given, at, [&](const Value& sysctl, const At& place) {
    const std::string_view name = json::findText(&sysctl, "name");
    const std::string_view field = hostNamespaceOf(name);
    if (field.empty() || !isSysctlName(name) || json::findBool(&podSpec, field) != true) return;
    report(id::kSysctl).invalid(place / "name", name, fmt::format("may not be set when {} is true", field));
  });
}

void sysctls(const Reports& report, const Value& context, const At& at) {
  Seen<> names;
  forEach(json::find(context, "sysctls"), at, [&](const Value& sysctl, const At& place) {
    const std::string_view name = json::findText(&sysctl, "name");
    if (name.empty()) return report(id::kSysctl).required(place / "name");
    if (!isSysctlName(name)) {
      report(id::kSysctl)
          .invalid(place / "name", name, "must be the name of a sysctl, such as kernel.shm_rmid_forced");
    } else if (!names.add(name)) {
      report(id::kSysctl).duplicate(place / "name", name);
    }
  });
}

bool addsSysAdmin(const Value& context) {
  bool found = false;
  const At nowhere;
  forEachText(json::find(json::findObject(&context, "capabilities"), "add"), nowhere,
              [&](std::string_view name, const At&) { found = found || name == "CAP_SYS_ADMIN"; });
  return found;
}

void procMount(const Reports& report, const Value* given, const At& at, const PodFacts& facts) {
  if (given == nullptr) return;
  oneOfGiven(report(id::kEnum), at, given, {"Default", "Unmasked"});
  if (json::text(*given) != "Unmasked") return;
  needsVersion(report, at, "1.33");
  if (facts.hostUsers) {
    report(id::kProcMount).invalid(at, *given, "hostUsers must be false in the pod to use Unmasked");
  }
}

/// Checks a field with a fixed set of values that is new in Kubernetes 1.33.
void newerChoice(const Reports& report, const Value& context, std::string_view field, const At& at,
                 std::initializer_list<std::string_view> supported) {
  const Value* given = json::find(context, field);
  if (given == nullptr) return;
  needsVersion(report, at / field, "1.33");
  oneOfGiven(report(id::kEnum), at / field, given, supported);
}

}  // namespace

void podSecurity(const Reports& report, const Value* context, const At& at) {
  if (context == nullptr || !context->IsObject()) return;
  commonContext(report, *context, at);
  securityId(report, json::find(*context, "fsGroup"), at / "fsGroup");
  const Value* groups = json::find(*context, "supplementalGroups");
  const At groupsAt = at / "supplementalGroups";
  for (rapidjson::SizeType i = 0; groups != nullptr && groups->IsArray() && i < groups->Size(); ++i) {
    securityId(report, &(*groups)[i], groupsAt[i]);
  }
  oneOfGiven(report(id::kEnum), at / "fsGroupChangePolicy", json::find(context, "fsGroupChangePolicy"),
             {"Always", "OnRootMismatch"});
  newerChoice(report, *context, "supplementalGroupsPolicy", at, {"Merge", "Strict"});
  newerChoice(report, *context, "seLinuxChangePolicy", at, {"MountOption", "Recursive"});
  if (json::findText(context, "seLinuxChangePolicy") == "MountOption") {
    needsGate(report, at / "seLinuxChangePolicy", "SELinuxMount");
  }
  sysctls(report, *context, at / "sysctls");
}

void podSysctls(const Reports& report, const Value& podSpec, const At& at) {
  const At context = at / "securityContext";
  hostSysctls(report, podSpec, context / "sysctls");
}

void containerSecurity(const Reports& report, const Value* context, const At& at, const PodFacts& facts) {
  if (context == nullptr || !context->IsObject()) return;
  commonContext(report, *context, at);
  procMount(report, json::find(context, "procMount"), at / "procMount", facts);
  if (json::findBool(context, "allowPrivilegeEscalation") != false) return;
  const At place = at / "allowPrivilegeEscalation";
  if (json::findBool(context, "privileged") == true) {
    report(id::kSecurityEscalation).forbidden(place, "may not be false in a privileged container");
  }
  if (addsSysAdmin(*context)) {
    report(id::kSecurityEscalation).forbidden(place, "may not be false with the capability CAP_SYS_ADMIN");
  }
}

void hostUsers(const Reports& report, const Value& podSpec, const At& at, const PodFacts& facts) {
  if (facts.hostUsers) return;
  needsVersion(report, at / "hostUsers", "1.33");
  for (const std::string_view field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (json::findBool(&podSpec, field) != true) continue;
    report(id::kHostUsers).forbidden(at / field, "may not be true when hostUsers is false");
  }
}

}  // namespace dynamo::rules::pod
