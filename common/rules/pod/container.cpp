// Containers and init containers.

#include <algorithm>

#include "common/field/template_text.h"
#include "common/json/ascii.h"
#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::isLowerOrDigit;
using json::Value;

bool isSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

void image(const Reports& report, std::string_view image, const At& at) {
  if (image.empty()) return report(id::kImage).required(at);
  if (isSpace(image.front()) || isSpace(image.back())) {
    return report(id::kImage).invalid(at, image, "must not have leading or trailing whitespace");
  }
  const std::string warning = imageWarning(image);
  if (!warning.empty()) report(id::kImageDoubtful).warn(at, warning);
}

/// Other characters have messages of their own.
bool isPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool isTag(std::string_view tag) {
  constexpr std::size_t kMaxTag = 128;
  const auto isWord = [](char c) { return json::isLetterOrDigit(c) || c == '_'; };
  return tag.size() <= kMaxTag && isWord(tag.front()) &&
         std::all_of(tag.begin(), tag.end(), [&](char c) { return isWord(c) || c == '.' || c == '-'; });
}

/// Parts between slashes begin and end with a letter or a digit.
bool isRepository(std::string_view repository) {
  char before = '/';
  for (const char c : repository) {
    const bool separates = c == '.' || c == '_' || c == '-';
    if (!separates && c != '/' && !isLowerOrDigit(c)) return false;
    if (c == '/' ? !isLowerOrDigit(before) : separates && before == '/') return false;
    before = c;
  }
  return isLowerOrDigit(before);
}

/// Other algorithms than sha256 are not judged.
bool isDigest(std::string_view digest) {
  constexpr std::string_view kSha256 = "sha256:";
  constexpr std::size_t kDigits = 64;
  if (!digest.starts_with(kSha256)) return digest.find(':') != std::string_view::npos;
  digest.remove_prefix(kSha256.size());
  return digest.size() == kDigits && digest.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool isSidecar(const Value& container) {
  return json::findText(&container, "restartPolicy") == "Always";
}

/// Checks the fields that only long-running containers may have.
void longRunningFields(const Reports& report, const Value& container, const At& at, const PodFacts& facts) {
  struct Named {
    std::string_view field;
    ProbeKind kind;
  };
  for (const Named& named :
       {Named{"livenessProbe", ProbeKind::Liveness}, Named{"readinessProbe", ProbeKind::Readiness},
        Named{"startupProbe", ProbeKind::Startup}}) {
    const Value* value = json::find(container, named.field);
    probe(report, value, at / named.field, named.kind);
    probePortKnown(report, value, at / named.field, container);
  }
  lifecycle(report, json::find(container, "lifecycle"), at / "lifecycle", facts);
}

void forbidLongRunningFields(const Reports& report, const Value& container, const At& at) {
  for (const std::string_view field : {"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}) {
    if (json::find(container, field) == nullptr) continue;
    report(id::kInitForbidden)
        .forbidden(at / field, "may not be set for init containers without restartPolicy=Always");
  }
}

}  // namespace

std::string imageWarning(std::string_view image) {
  if (image.find('$') == std::string_view::npos) {
    if (std::string forgotten = field::notReplaced(image); !forgotten.empty()) return forgotten;
  }
  if (std::any_of(image.begin(), image.end(), isSpace)) return "contains whitespace";
  if (image.find("://") != std::string_view::npos) return "is a URL: leave out the scheme";
  if (image.find('$') != std::string_view::npos) return "holds '$': variables are not expanded in an image";
  const std::size_t digest = image.find('@');
  const std::string_view named = image.substr(0, digest);
  const std::size_t slash = named.rfind('/');
  const std::size_t colon = named.find(':', slash == std::string_view::npos ? 0 : slash);
  std::string_view repository = named.substr(0, colon);
  if (colon != std::string_view::npos) {
    const std::string_view tag = named.substr(colon + 1);
    if (tag.empty()) return "has no tag after ':'";
    if (tag.find('+') != std::string_view::npos) return "has '+' in its tag, which no registry allows";
    if (isPrintable(image) && !isTag(tag)) return "has a tag that no registry allows";
  }
  // Only the registry, the first part with a dot or a port, may be in upper case.
  const std::size_t first = repository.find('/');
  if (first != std::string_view::npos &&
      repository.substr(0, first).find_first_of(".:") != std::string_view::npos) {
    repository.remove_prefix(first + 1);
  }
  if (std::any_of(repository.begin(), repository.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    return "has upper case letters in its repository, which no registry allows";
  if (isPrintable(image) && !isRepository(repository)) return "has a repository that no registry allows";
  if (digest != std::string_view::npos && !isDigest(image.substr(digest + 1)))
    return "has a digest that is not sha256: and 64 hexadecimal digits";
  return "";
}

void container(const Reports& report, const Value& container, const At& at, ContainerKind kind,
               const PodFacts& facts) {
  const std::string_view name = json::findText(&container, "name");
  if (name.empty()) {
    report(id::kContainerName).required(at / "name");
  } else {
    report(id::kContainerName).check(at / "name", name, k8s::dns1123LabelProblem(name));
  }
  image(report, json::findText(&container, "image"), at / "image");
  oneOf(report(id::kEnum), at / "imagePullPolicy", json::findText(&container, "imagePullPolicy"),
        {"Always", "IfNotPresent", "Never"});
  oneOf(report(id::kEnum), at / "terminationMessagePolicy",
        json::findText(&container, "terminationMessagePolicy"), {"FallbackToLogsOnError", "File"});
  ports(report, json::find(container, "ports"), at / "ports");
  env(report, json::find(container, "env"), at / "env", facts);
  envFrom(report, json::find(container, "envFrom"), at / "envFrom");
  references(report, container, at);
  mounts(report, container, at, facts);
  resources(report, json::find(container, "resources"), at / "resources", facts);
  resizePolicy(report, json::find(container, "resizePolicy"), at / "resizePolicy", facts);
  containerSecurity(report, json::find(container, "securityContext"), at / "securityContext", facts);
  containerRestart(report, container, at, kind);
  if (kind == ContainerKind::Main || isSidecar(container)) {
    longRunningFields(report, container, at, facts);
  } else {
    forbidLongRunningFields(report, container, at);
  }
}

void containers(const Reports& report, const Value& podSpec, const At& at, const PodFacts& facts) {
  const At mainAt = at / "containers";
  const At initAt = at / "initContainers";
  const Value* main = json::find(podSpec, "containers");
  const Value* init = json::find(podSpec, "initContainers");
  if (main == nullptr || (main->IsArray() && main->Empty())) report(id::kContainers).required(mainAt);

  Seen<> names;
  const auto each = [&](ContainerKind kind) {
    return [&, kind](const Value& one, const At& place) {
      container(report, one, place, kind, facts);
      const std::string_view name = json::findText(&one, "name");
      if (!name.empty() && !names.add(name)) {
        report(id::kContainerUnique).duplicate(place / "name", name);
      }
    };
  };
  forEach(main, mainAt, each(ContainerKind::Main));
  forEach(init, initAt, each(ContainerKind::Init));
  hostPorts(report, main, mainAt, facts.hostNetwork, false);
  hostPorts(report, init, initAt, facts.hostNetwork, true);
}

}  // namespace dynamo::rules::pod
