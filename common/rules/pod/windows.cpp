// Options of Windows containers, and fields that depend on the pod's operating system.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/json/ascii.h"
#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::size_t kMaxCredentialSpec = std::size_t{64} * 1024;
constexpr std::size_t kMaxDomain = 255;
constexpr std::size_t kMaxUser = 104;
constexpr std::size_t kMaxNetBios = 15;

bool isControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool isNetBiosName(std::string_view name) {
  return !name.empty() && characters(name) <= kMaxNetBios && name.front() != '.' &&
         name.find_first_of("\\/:*?\"<>|") == std::string_view::npos;
}

std::string domainProblem(std::string_view domain) {
  if (domain.size() > kMaxDomain) return fmt::format("must have a domain of at most {} bytes", kMaxDomain);
  // Labels of a domain may be in upper case, and the domain may be longer than a DNS name.
  for (std::string_view rest = domain; !isNetBiosName(domain);) {
    const std::size_t dot = rest.find('.');
    if (!k8s::dns1123LabelProblem(k8s::lowerAscii(rest.substr(0, dot))).empty()) {
      return "must have the name of a NetBIOS or DNS domain before '\\'";
    }
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return {};
}

std::string userNameProblem(std::string_view name) {
  if (name.empty()) return "must not be empty";
  if (std::any_of(name.begin(), name.end(), isControl)) return "must not contain control characters";
  const std::size_t slash = name.find('\\');
  const std::string_view user = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (user.find('\\') != std::string_view::npos) return "must not contain more than one '\\'";
  if (slash != std::string_view::npos) {
    std::string problem = domainProblem(name.substr(0, slash));
    if (!problem.empty()) return problem;
  }
  if (user.empty()) return "must have a user after '\\'";
  if (user.size() > kMaxUser) return fmt::format("must have a user of at most {} bytes", kMaxUser);
  if (user.find_first_not_of(". ") == std::string_view::npos) return "must not consist of '.' and spaces";
  if (user.find_first_of("\"/:;|=,+*?<>@[]") != std::string_view::npos) {
    return "must not contain any of \"/:;|=,+*?<>@[]";
  }
  return {};
}

const Value* windowsOf(const Value* holder) {
  return json::findObject(json::findObject(holder, "securityContext"), "windowsOptions");
}

/// Calls `each(container, place)` for every container of the pod.
template <typename Each>
void forEachContainer(const Value& podSpec, const At& at, Each each) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    const At listAt = at / list;
    forEach(json::find(podSpec, list), listAt, each);
  }
}

constexpr std::array<std::string_view, 11> kPodContext = {"appArmorProfile",
                                                          "fsGroup",
                                                          "fsGroupChangePolicy",
                                                          "runAsGroup",
                                                          "runAsUser",
                                                          "seLinuxChangePolicy",
                                                          "seLinuxOptions",
                                                          "seccompProfile",
                                                          "supplementalGroups",
                                                          "supplementalGroupsPolicy",
                                                          "sysctls"};
constexpr std::array<std::string_view, 10> kContainerContext = {
    "allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged",     "procMount",
    "readOnlyRootFilesystem",   "runAsGroup",      "runAsUser",    "seLinuxOptions", "seccompProfile"};

void forbidOn(const Reports& report, const Value* holder, std::string_view field, const At& at,
              std::string_view system) {
  const Value* given = json::find(holder, field);
  const bool empty = given != nullptr && field == "sysctls" && given->IsArray() && given->Empty();
  if (given == nullptr || empty) return;
  report(id::kOs).forbidden(at / field, fmt::format("may not be set for a {} pod", system));
}

void windowsPod(const Reports& report, const Value& podSpec, const At& at) {
  for (const std::string_view field : {"hostUsers", "shareProcessNamespace", "resources"}) {
    forbidOn(report, &podSpec, field, at, "Windows");
  }
  for (const std::string_view field : {"hostPID", "hostIPC"}) {
    if (json::findBool(&podSpec, field) == true) forbidOn(report, &podSpec, field, at, "Windows");
  }
  const At contextAt = at / "securityContext";
  for (const std::string_view field : kPodContext) {
    forbidOn(report, json::findObject(&podSpec, "securityContext"), field, contextAt, "Windows");
  }
  forEachContainer(podSpec, at, [&](const Value& container, const At& place) {
    const At context = place / "securityContext";
    for (const std::string_view field : kContainerContext) {
      forbidOn(report, json::findObject(&container, "securityContext"), field, context, "Windows");
    }
  });
}

void linuxPod(const Reports& report, const Value& podSpec, const At& at) {
  const At context = at / "securityContext";
  forbidOn(report, json::findObject(&podSpec, "securityContext"), "windowsOptions", context, "Linux");
  forEachContainer(podSpec, at, [&](const Value& container, const At& place) {
    const At own = place / "securityContext";
    forbidOn(report, json::findObject(&container, "securityContext"), "windowsOptions", own, "Linux");
  });
}

}  // namespace

void windowsOptions(const Reports& report, const Value* options, const At& at) {
  if (options == nullptr || !options->IsObject()) return;
  const Value* name = json::find(*options, "gmsaCredentialSpecName");
  if (name != nullptr && name->IsString()) {
    report(id::kWindows)
        .check(at / "gmsaCredentialSpecName", json::text(*name),
               k8s::dns1123SubdomainProblem(json::text(*name)));
  }
  const Value* credentials = json::find(*options, "gmsaCredentialSpec");
  if (credentials != nullptr && credentials->IsString()) {
    const std::size_t bytes = credentials->GetStringLength();
    if (bytes == 0) report(id::kWindows).refused(at / "gmsaCredentialSpec", "must not be empty");
    if (bytes > kMaxCredentialSpec) {
      tooLong(report(id::kWindows), at / "gmsaCredentialSpec", kMaxCredentialSpec);
    }
  }
  const Value* user = json::find(*options, "runAsUserName");
  if (user != nullptr && user->IsString()) {
    report(id::kWindows).check(at / "runAsUserName", json::text(*user), userNameProblem(json::text(*user)));
  }
}

void hostProcesses(const Reports& report, const Value& podSpec, const At& at, const PodFacts& facts) {
  const auto ofPod = json::findBool(windowsOf(&podSpec), "hostProcess");
  std::size_t all = 0;
  std::size_t processes = 0;
  forEachContainer(podSpec, at, [&](const Value& container, const At& place) {
    ++all;
    const auto own = json::findBool(windowsOf(&container), "hostProcess");
    if (own.value_or(ofPod.value_or(false))) ++processes;
    if (!own || !ofPod || *own == *ofPod) return;
    const At context = place / "securityContext";
    const At options = context / "windowsOptions";
    report(id::kHostProcess)
        .invalid(options / "hostProcess", *json::find(windowsOf(&container), "hostProcess"),
                 fmt::format("must be {}, the value of the pod", *ofPod));
  });
  if (processes == 0) return;
  if (processes != all) {
    report(id::kHostProcess)
        .refused(at / "containers", "must all be hostProcess containers if one of them is");
  }
  if (!facts.hostNetwork) {
    report(id::kHostProcess).required(at / "hostNetwork", "must be true for hostProcess containers");
  }
}

void operatingSystem(const Reports& report, const Value& podSpec, const At& at, const PodFacts& facts) {
  if (!facts.os) return;
  const At osAt = at / "os";
  if (facts.os->empty()) report(id::kEnum).required(osAt / "name");
  oneOf(report(id::kEnum), osAt / "name", *facts.os, {"linux", "windows"});
  if (*facts.os == "windows") windowsPod(report, podSpec, at);
  if (*facts.os == "linux") linuxPod(report, podSpec, at);
}

}  // namespace dynamo::rules::pod
