#include "common/render/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "common/api/dynamo.h"
#include "common/render/hash.h"
#include "common/render/object.h"
#include "common/render/pull_secrets.h"
#include "common/text/manifests.h"
#include "common/text/yaml.h"

namespace dynamo::render {
namespace {

using json::Value;

/// The error as "path: reason"; empty if there is none.
using Problem = std::string;

Problem requireObject(const Value& value, std::string_view path) {
  return value.IsObject() ? Problem{} : fmt::format("{}: must be an object", path);
}

/// Appends the strings of `list` to `texts`.
Problem readNames(const Value& list, const std::string& path, std::vector<std::string>& texts) {
  if (list.IsNull()) return {};  // null means absent
  if (!list.IsArray()) return fmt::format("{}: must be a list of names", path);
  for (const Value& item : list.GetArray()) {
    if (!item.IsString()) return fmt::format("{}: must be a list of names", path);
    texts.emplace_back(json::text(item));
  }
  return {};
}

Problem readApis(const Value& apis, Facts& facts) {
  if (Problem problem = requireObject(apis, "apis"); !problem.empty()) return problem;
  for (const auto& api : apis.GetObject()) {
    const auto known = std::find(kApiNames.begin(), kApiNames.end(), json::text(api.name));
    if (known == kApiNames.end()) return fmt::format("apis: unknown field \"{}\"", json::text(api.name));
    if (!api.value.IsBool()) return fmt::format("apis.{}: must be true or false", json::text(api.name));
    facts.setApi(static_cast<Api>(known - kApiNames.begin()), api.value.GetBool());
  }
  return {};
}

Problem readPullSecrets(const Value& namespaces, Facts& facts) {
  if (Problem problem = requireObject(namespaces, "pullSecrets"); !problem.empty()) return problem;
  for (const auto& entry : namespaces.GetObject()) {
    if (entry.value.IsNull()) continue;
    const std::string path = fmt::format("pullSecrets[{}]", json::text(entry.name));
    if (Problem problem = requireObject(entry.value, path); !problem.empty()) return problem;
    for (const auto& registry : entry.value.GetObject()) {
      // A registry may have several addresses, for example docker.io and https://index.docker.io/v1/.
      std::vector<std::string> secrets;
      Problem problem =
          readNames(registry.value, fmt::format("{}[{}]", path, json::text(registry.name)), secrets);
      if (!problem.empty()) return problem;
      facts.addPullSecrets(json::text(entry.name), registryOfAuth(json::text(registry.name)), secrets);
    }
  }
  return {};
}

Problem readAccounts(const Value& namespaces, Facts& facts) {
  if (Problem problem = requireObject(namespaces, "componentServiceAccounts"); !problem.empty())
    return problem;
  for (const auto& entry : namespaces.GetObject()) {
    std::vector<std::string> accounts;
    Problem problem =
        readNames(entry.value, fmt::format("componentServiceAccounts[{}]", json::text(entry.name)), accounts);
    if (!problem.empty()) return problem;
    for (const std::string& account : accounts) facts.addComponentAccount(json::text(entry.name), account);
  }
  return {};
}

Problem readCheckpoints(const Value& checkpoints, Facts& facts) {
  if (!checkpoints.IsArray()) return "checkpoints: must be a list of DynamoCheckpoints";
  for (const Value& checkpoint : checkpoints.GetArray()) {
    if (!checkpoint.IsObject()) return "checkpoints: must be a list of DynamoCheckpoints";
    facts.setCheckpoint(checkpointFact(checkpoint));
  }
  return {};
}

Problem readHardware(const Value& hardware, Facts& facts) {
  if (Problem problem = requireObject(hardware, "hardware"); !problem.empty()) return problem;
  HardwareFact found;
  for (const auto& member : hardware.GetObject()) {
    const std::string_view name = json::text(member.name);
    const Value& value = member.value;
    if (name == "gpuSku") {
      if (!value.IsString()) return "hardware.gpuSku: must be a string";
      found.gpuSku = json::text(value);
    } else if (name == "vramMb") {
      if (!value.IsNumber()) return "hardware.vramMb: must be a number";
      found.vramMb = value.GetDouble();
    } else if (name == "numGpusPerNode" || name == "totalGpus") {
      if (!value.IsInt64()) return fmt::format("hardware.{}: must be a whole number", name);
      (name == "totalGpus" ? found.inTotal : found.perNode) = value.GetInt64();
    } else {
      return fmt::format("hardware: unknown field \"{}\"", name);
    }
  }
  facts.setHardware(std::move(found));
  return {};
}

struct Field {
  std::string_view name;
  Problem (*read)(const Value&, Facts&);
};
constexpr std::array<Field, 5> kFields = {{{"apis", readApis},
                                           {"pullSecrets", readPullSecrets},
                                           {"componentServiceAccounts", readAccounts},
                                           {"checkpoints", readCheckpoints},
                                           {"hardware", readHardware}}};

}  // namespace

CheckpointFact checkpointFact(const Value& checkpoint) {
  const Value* status = json::find(&checkpoint, "status");
  CheckpointFact fact;
  fact.namespaceName = namespaceOf(checkpoint);
  fact.name = nameOf(checkpoint);
  fact.hash = checkpointHash(checkpoint);
  fact.labelHash = json::findText(labelsOf(checkpoint), api::label::kCheckpointHash);
  fact.ready = json::findText(status, "phase") == "Ready";
  return fact;
}

std::string readFacts(const Value& document, Facts& facts) {
  if (!document.IsObject()) return "must be an object";
  for (const auto& member : document.GetObject()) {
    const std::string_view name = json::text(member.name);
    const auto field =
        std::find_if(kFields.begin(), kFields.end(), [&](const Field& f) { return f.name == name; });
    if (field == kFields.end()) return fmt::format("unknown field \"{}\"", name);
    if (member.value.IsNull()) continue;
    if (Problem problem = field->read(member.value, facts); !problem.empty()) return problem;
  }
  return {};
}

std::string parseFacts(std::string_view text, Facts& facts) {
  const text::TextDocuments parsed = text::parseDocuments(text);
  if (parsed.error) return parsed.error->message();
  for (const text::TextDocument& document : parsed.documents) {
    if (std::string error = readFacts(document.value, facts); !error.empty()) return error;
  }
  return {};
}

std::string loadFacts(const std::string& file, Facts& facts) {
  const text::Manifests read = text::readManifests({file});
  if (!read.errors.empty()) return read.errors.front();
  for (const text::Manifest& manifest : read.objects) {
    if (const std::string error = readFacts(manifest.object, facts); !error.empty())
      return fmt::format("{}: {}", file, error);
  }
  return {};
}

}  // namespace dynamo::render
