#include "common/render/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/api/dynamo.h"
#include "common/config/manifests.h"
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
  const Value* apis = json::findObject(&document, "apis");
  facts.groveApi = json::findBool(apis == nullptr ? &document : apis, "grove").value_or(facts.groveApi);
  facts.lwsApi = json::findBool(apis == nullptr ? &document : apis, "leaderWorkerSet").value_or(facts.lwsApi);
  facts.kaiApi = json::findBool(apis == nullptr ? &document : apis, "kaiScheduler").value_or(facts.kaiApi);
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
