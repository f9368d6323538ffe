#include "common/admission/admit.h"

#include <utility>
#include <vector>

#include "common/admission/kinds.h"
#include "common/admission/rules.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/defaults/annotations.h"
#include "common/defaults/apply.h"
#include "common/defaults/dgdr.h"
#include "common/json/patch.h"
#include "common/render/size.h"
#include "common/rules/graph/graph.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using json::Value;

/// The operator may change its own version stamp without a warning (adm-Q2).
void dropOperatorWarnings(const Request& request, const rules::GraphPolicy& policy,
                          std::vector<field::Warning>& warnings) {
  if (!rules::isOperator(request.username, policy)) return;
  std::erase_if(warnings,
                [](const auto& warning) { return warning.rule == defaults::kOriginVersionRemoved; });
}

/// Errors of locks stay errors, because a lock is not a defect of the object.
void downgradeErrors(field::Findings& findings) {
  std::vector<field::FieldError> locks;
  for (field::FieldError& error : findings.errors) {
    if (isLock(error.rule)) {
      locks.push_back(std::move(error));
    } else {
      findings.warn(error.field, error.body(), error.rule);
    }
  }
  findings.errors = std::move(locks);
}

/// Whether `object`, which its client wrote in v1alpha1, has types that the schema of v1alpha1 rejects.
bool hasWrongTypesInAlpha(const Value& object) {
  json::Document document;
  Value alpha;
  if (conversion::convertDgdr(object, api::kV1alpha1, alpha, document.GetAllocator())) return false;
  const schema::Node* node = schema::find(api::kV1alpha1, api::kDynamoGraphDeploymentRequest);
  return !schema::wrongTypes(*node, alpha).empty();
}

Decision mutateDgdr(Value& object, const Request& request, const Settings& settings,
                    json::Allocator& allocator) {
  Decision decision;
  const Value* spec = json::find(object, "spec");
  const bool hadImage = json::findRaw(spec == nullptr ? object : *spec, "image") != nullptr;
  const bool changed = request.old != nullptr ? defaults::replaceNullImage(object, *request.old, allocator)
                                              : applyDgdrDefaults(object, request.clientVersion,
                                                                  settings.operatorVersion, allocator);
  if (!changed) return decision;
  json::Patch patch;
  const Value* image = json::find(json::find(&object, "spec"), "image");
  if (image == nullptr) {
    patch.remove("/spec/image");
  } else if (hadImage) {
    patch.replace("/spec/image", *image);
  } else {
    patch.add("/spec/image", *image);
  }
  decision.patch = patch.dump();
  return decision;
}

Decision mutateComponents(Value& object, const Request& request, const Settings& settings,
                          json::Allocator& allocator) {
  Decision decision;
  // Validation rejects an object that cannot be rendered, unless an update leaves it as it was.
  const bool good = request.old != nullptr ? render::judgeable(object) : render::tooLarge(object).empty();
  if (!good) return decision;
  const Value before = json::share(object, allocator);
  defaults::DefaultContext context{settings.defaults, settings.config, settings.operatorVersion,
                                   request.namespaceName};
  context.sleepAction = settings.facts.api(render::Api::SleepAction).value_or(false);
  defaults::DefaultResult result = defaults::applyComponentDefaults(object, request.old, context, allocator);
  decision.findings.warnings = std::move(result.warnings);
  dropOperatorWarnings(request, settings.policy, decision.findings.warnings);
  json::Patch patch;
  json::diff(before, object, "", patch);
  if (!patch.empty()) decision.patch = patch.dump();
  return decision;
}

}  // namespace

bool applyDgdrDefaults(Value& object, std::string_view clientVersion, std::string_view operatorVersion,
                       json::Allocator& allocator) {
  const bool given = !json::findText(json::find(&object, "spec"), "image").empty();
  if (given || (clientVersion == "v1alpha1" && hasWrongTypesInAlpha(object))) return false;
  return defaults::defaultDgdr(object, operatorVersion, allocator);
}

Decision mutate(Value& object, const Request& request, const Settings& settings, json::Allocator& allocator) {
  const Kind* kind = findKind(request.kind);
  switch (kind == nullptr ? Defaults::None : kind->defaults) {
    case Defaults::GraphRequest:
      return mutateDgdr(object, request, settings, allocator);
    case Defaults::Components:
      return mutateComponents(object, request, settings, allocator);
    case Defaults::None:
      break;
  }
  return {};
}

Decision validate(const Value& object, const Request& request, const Settings& settings) {
  Decision decision;
  decision.findings = judge(object, request, settings);
  if (settings.warnOnly) downgradeErrors(decision.findings);
  decision.findings.sort();
  return decision;
}

}  // namespace dynamo::admission
