#include "common/render/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
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

/// What is wrong, as "path: reason"; empty when nothing is.
using Problem = std::string;

Problem wantObject(const Value& value, std::string_view path) {
  return value.IsObject() ? Problem{} : fmt::format("{}: want an object", path);
}

/// Appends the texts of `list` to `texts`.
Problem readNames(const Value& list, const std::string& path, std::vector<std::string>& texts) {
  if (list.IsNull()) return {};  // as if it were not there
  if (!list.IsArray()) return fmt::format("{}: want a list of names", path);
  for (const Value& item : list.GetArray()) {
    if (!item.IsString()) return fmt::format("{}: want a list of names", path);
    texts.emplace_back(json::text(item));
  }
  return {};
}

Problem readApis(const Value& apis, Facts& facts) {
  if (Problem problem = wantObject(apis, "apis"); !problem.empty()) return problem;
  for (const auto& api : apis.GetObject()) {
    const auto known = std::find(kApiNames.begin(), kApiNames.end(), json::text(api.name));
    if (known == kApiNames.end()) return fmt::format("apis: unknown field \"{}\"", json::text(api.name));
    if (!api.value.IsBool()) return fmt::format("apis.{}: want true or false", json::text(api.name));
    facts.setApi(static_cast<Api>(known - kApiNames.begin()), api.value.GetBool());
  }
  return {};
}

Problem readPullSecrets(const Value& namespaces, Facts& facts) {
  if (Problem problem = wantObject(namespaces, "pullSecrets"); !problem.empty()) return problem;
  for (const auto& space : namespaces.GetObject()) {
    if (space.value.IsNull()) continue;
    const std::string path = fmt::format("pullSecrets[{}]", json::text(space.name));
    if (Problem problem = wantObject(space.value, path); !problem.empty()) return problem;
    for (const auto& registry : space.value.GetObject()) {
      // Several addresses name one registry: docker.io, https://index.docker.io/v1/.
      std::vector<std::string> secrets;
      Problem problem =
          readNames(registry.value, fmt::format("{}[{}]", path, json::text(registry.name)), secrets);
      if (!problem.empty()) return problem;
      facts.addPullSecrets(json::text(space.name), registryOfAuth(json::text(registry.name)), secrets);
    }
  }
  return {};
}

Problem readAccounts(const Value& namespaces, Facts& facts) {
  if (Problem problem = wantObject(namespaces, "componentServiceAccounts"); !problem.empty()) return problem;
  for (const auto& space : namespaces.GetObject()) {
    std::vector<std::string> accounts;
    Problem problem =
        readNames(space.value, fmt::format("componentServiceAccounts[{}]", json::text(space.name)), accounts);
    if (!problem.empty()) return problem;
    for (const std::string& account : accounts) facts.addComponentAccount(json::text(space.name), account);
  }
  return {};
}

Problem readCheckpoints(const Value& checkpoints, Facts& facts) {
  if (!checkpoints.IsArray()) return "checkpoints: want a list of DynamoCheckpoints";
  for (const Value& checkpoint : checkpoints.GetArray()) {
    if (!checkpoint.IsObject()) return "checkpoints: want a list of DynamoCheckpoints";
    facts.setCheckpoint(checkpointFact(checkpoint));
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
