#include "common/render/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "common/api/dynamo.h"
#include "common/config/manifests.h"
#include "common/config/yaml.h"
#include "common/render/hash.h"
#include "common/render/object.h"
#include "common/render/pull_secrets.h"

namespace dynamo::render {
namespace {

using json::Value;

/// The texts of `list` into `texts`, sorted, each once.
void addSorted(std::vector<std::string>& texts, const Value& list) {
  if (!list.IsArray()) return;
  for (const Value& item : list.GetArray()) {
    if (item.IsString()) texts.emplace_back(json::text(item));
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

constexpr std::array<std::string_view, 4> kKnown = {"apis", "pullSecrets", "componentServiceAccounts",
                                                    "checkpoints"};

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
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end())
      return fmt::format("unknown field \"{}\"", name);
  }
  if (const Value* apis = json::find(document, "apis")) {
    if (!apis->IsObject()) return "apis: want an object";
    const std::map<std::string_view, std::optional<bool>*> known = {
        {"grove", &facts.groveApi},
        {"inferencePool", &facts.inferencePoolApi},
        {"kaiScheduler", &facts.kaiApi},
        {"leaderWorkerSet", &facts.lwsApi}};
    for (const auto& api : apis->GetObject()) {
      const auto entry = known.find(json::text(api.name));
      if (entry == known.end()) return fmt::format("apis: unknown field \"{}\"", json::text(api.name));
      if (!api.value.IsBool()) return fmt::format("apis.{}: want true or false", json::text(api.name));
      *entry->second = api.value.GetBool();
    }
  }
  if (const Value* namespaces = json::findObject(&document, "pullSecrets")) {
    for (const auto& space : namespaces->GetObject()) {
      if (!space.value.IsObject()) return "pullSecrets: want namespace -> registry -> names";
      for (const auto& registry : space.value.GetObject()) {
        // Several addresses name one registry: docker.io, https://index.docker.io/v1/.
        addSorted(
            facts.pullSecrets[std::string{json::text(space.name)}][registryOfAuth(json::text(registry.name))],
            registry.value);
      }
    }
  }
  if (const Value* namespaces = json::findObject(&document, "componentServiceAccounts")) {
    for (const auto& space : namespaces->GetObject()) {
      addSorted(facts.componentAccounts[std::string{json::text(space.name)}], space.value);
    }
  }
  if (const Value* checkpoints = json::find(document, "checkpoints");
      checkpoints != nullptr && checkpoints->IsArray()) {
    for (const Value& checkpoint : checkpoints->GetArray())
      facts.checkpoints.push_back(checkpointFact(checkpoint));
  }
  return {};
}

std::string parseFacts(std::string_view text, Facts& facts) {
  const config::TextDocuments parsed = config::parseDocuments(text);
  if (parsed.error) return parsed.error->message();
  for (const config::TextDocument& document : parsed.documents) {
    if (std::string error = readFacts(document.value, facts); !error.empty()) return error;
  }
  return {};
}

std::string loadFacts(const std::string& file, Facts& facts) {
  const config::Manifests read = config::readManifests({file});
  if (!read.errors.empty()) return read.errors.front();
  for (const config::Manifest& manifest : read.objects) {
    if (const std::string error = readFacts(manifest.object, facts); !error.empty())
      return fmt::format("{}: {}", file, error);
  }
  return {};
}

}  // namespace dynamo::render
