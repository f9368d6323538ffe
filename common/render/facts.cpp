#include "common/render/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "common/api/dynamo.h"
#include "common/render/hash.h"
#include "common/render/object.h"
#include "common/render/pull_secrets.h"
#include "common/text/manifests.h"
#include "common/text/yaml.h"

namespace dynamo::render {
namespace {

using json::Value;

/// What is wrong, as "path: reason"; empty when nothing is.
using Problem = std::string;

Problem wantObject(const Value& value, std::string_view path) {
  return value.IsObject() ? Problem{} : fmt::format("{}: want an object", path);
}

/// The texts of `list` into `texts`, sorted, each once.
Problem addNames(const Value& list, const std::string& path, std::vector<std::string>& texts) {
  if (list.IsNull()) return {};  // as if it were not there
  if (!list.IsArray()) return fmt::format("{}: want a list of names", path);
  for (const Value& item : list.GetArray()) {
    if (!item.IsString()) return fmt::format("{}: want a list of names", path);
    texts.emplace_back(json::text(item));
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return {};
}

Problem readApis(const Value& apis, Facts& facts) {
  const std::map<std::string_view, std::optional<bool>*> known = {{"grove", &facts.groveApi},
                                                                  {"inferencePool", &facts.inferencePoolApi},
                                                                  {"kaiScheduler", &facts.kaiApi},
                                                                  {"leaderWorkerSet", &facts.lwsApi}};
  if (Problem problem = wantObject(apis, "apis"); !problem.empty()) return problem;
  for (const auto& api : apis.GetObject()) {
    const auto entry = known.find(json::text(api.name));
    if (entry == known.end()) return fmt::format("apis: unknown field \"{}\"", json::text(api.name));
    if (!api.value.IsBool()) return fmt::format("apis.{}: want true or false", json::text(api.name));
    *entry->second = api.value.GetBool();
  }
  return {};
}

Problem readPullSecrets(const Value& namespaces, Facts& facts) {
  if (Problem problem = wantObject(namespaces, "pullSecrets"); !problem.empty()) return problem;
  for (const auto& space : namespaces.GetObject()) {
    if (space.value.IsNull()) continue;
    const std::string path = fmt::format("pullSecrets[{}]", json::text(space.name));
    if (Problem problem = wantObject(space.value, path); !problem.empty()) return problem;
    auto& registries = facts.pullSecrets[std::string{json::text(space.name)}];
    for (const auto& registry : space.value.GetObject()) {
      // Several addresses name one registry: docker.io, https://index.docker.io/v1/.
      Problem problem = addNames(registry.value, fmt::format("{}[{}]", path, json::text(registry.name)),
                                 registries[registryOfAuth(json::text(registry.name))]);
      if (!problem.empty()) return problem;
    }
  }
  return {};
}

Problem readAccounts(const Value& namespaces, Facts& facts) {
  if (Problem problem = wantObject(namespaces, "componentServiceAccounts"); !problem.empty()) return problem;
  for (const auto& space : namespaces.GetObject()) {
    Problem problem =
        addNames(space.value, fmt::format("componentServiceAccounts[{}]", json::text(space.name)),
                 facts.componentAccounts[std::string{json::text(space.name)}]);
    if (!problem.empty()) return problem;
  }
  return {};
}

Problem readCheckpoints(const Value& checkpoints, Facts& facts) {
  if (!checkpoints.IsArray()) return "checkpoints: want a list of DynamoCheckpoints";
  for (const Value& checkpoint : checkpoints.GetArray()) {
    if (!checkpoint.IsObject()) return "checkpoints: want a list of DynamoCheckpoints";
    facts.checkpoints.push_back(checkpointFact(checkpoint));
  }
  return {};
}

struct Field {
  std::string_view name;
  Problem (*read)(const Value&, Facts&);
};
constexpr std::array<Field, 4> kFields = {{{"apis", readApis},
                                           {"pullSecrets", readPullSecrets},
                                           {"componentServiceAccounts", readAccounts},
                                           {"checkpoints", readCheckpoints}}};

}  // namespace

CheckpointFact checkpointFact(const Value& checkpoint) {
  const Value* status = json::find(&checkpoint, "status");
  CheckpointFact fact;
  fact.namespaceName = namespaceOf(checkpoint);
  fact.name = nameOf(checkpoint);
  fact.hash = json::findText(status, "identityHash");
  if (const Value* identity = json::findObject(specOf(checkpoint), "identity");
      fact.hash.empty() && identity != nullptr) {
    fact.hash = identityHash(*identity);
  }
  fact.labelHash = json::findText(labelsOf(checkpoint), api::label::kCheckpointHash);
  fact.ready = json::findText(status, "phase") == "Ready";
  return fact;
}

std::string readFacts(const Value& document, Facts& facts) {
  if (!document.IsObject()) return "want an object";
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
