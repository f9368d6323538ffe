#include "webhook/admit.h"

#include "common/admission/request.h"
#include "common/admission/rules.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/defaults/annotations.h"
#include "common/defaults/apply.h"
#include "common/defaults/dgdr.h"
#include "common/json/patch.h"
#include "common/render/size.h"
#include "common/rules/graph/graph.h"
#include "common/rules/request/dgdr.h"
#include "common/rules/validators.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::webhook {

using defaults::defaultDgdr;
using defaults::replaceNullImage;

namespace {

/// The operator may change its own version stamp without a warning (adm-Q2).
void dropOperatorWarnings(const AdmissionRequest& request, const rules::GraphPolicy& policy,
                          std::vector<field::Warning>& warnings) {
  if (!rules::isOperator(request.username, policy)) return;
  std::erase_if(warnings,
                [](const auto& warning) { return warning.rule == defaults::kOriginVersionRemoved; });
}

/// Implements `validation.mode: warn`. Errors of locks stay errors, because a lock is not a defect of the
/// object.
void downgradeErrors(field::Findings& findings) {
  std::vector<field::FieldError> locks;
  for (field::FieldError& error : findings.errors) {
    if (admission::isLock(error.rule)) {
      locks.push_back(std::move(error));
    } else {
      findings.warn(error.field, error.body(), error.rule);
    }
  }
  findings.errors = std::move(locks);
}

/// Whether `object`, which its client wrote in v1alpha1, has types that the schema of v1alpha1 rejects.
bool hasWrongTypesInAlpha(const json::Value& object) {
  json::Document document;
  json::Value alpha;
  if (conversion::convertDgdr(object, api::kV1alpha1, alpha, document.GetAllocator())) return false;
  const schema::Node* node = schema::find(api::kV1alpha1, api::kDynamoGraphDeploymentRequest);
  return !schema::wrongTypes(*node, alpha).empty();
}

}  // namespace

bool applyDgdrDefaults(json::Value& object, std::string_view clientVersion, std::string_view operatorVersion,
                       json::Allocator& allocator) {
  const bool given = !json::findText(json::find(&object, "spec"), "image").empty();
  if (given || (clientVersion == "v1alpha1" && hasWrongTypesInAlpha(object))) return false;
  return defaultDgdr(object, operatorVersion, allocator);
}

Decision mutateDgdr(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator) {
  Decision decision;
  const json::Value* spec = json::find(*request.object, "spec");
  const bool hadImage = json::findRaw(spec == nullptr ? *request.object : *spec, "image") != nullptr;
  const bool changed = request.updates()
                           ? replaceNullImage(*request.object, *request.old, allocator)
                           : request.creates() && applyDgdrDefaults(*request.object, request.clientVersion,
                                                                    policy.operatorVersion, allocator);
  if (!changed) return decision;
  json::Patch patch;
  const json::Value* image = json::find(json::find(request.object, "spec"), "image");
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

Decision validateDgdr(const AdmissionRequest& request, const Policy& policy) {
  Decision decision;
  const json::Value* old = request.updates() ? request.old : nullptr;
  decision.findings = admission::wrongTypes(*request.object, old);
  decision.findings.add(
      admission::validateRequest({*request.object, old, request.clientVersion, policy.dgdr}));
  if (policy.warnOnly) downgradeErrors(decision.findings);
  decision.findings.sort();
  return decision;
}

Decision mutateComponents(AdmissionRequest& request, const Policy& policy, json::Allocator& allocator) {
  Decision decision;
  // Validation rejects an object that cannot be rendered, unless an update leaves it as it was.
  const bool good =
      request.updates() ? render::judgeable(*request.object) : render::tooLarge(*request.object).empty();
  if (!good) return decision;
  const json::Value* old = request.updates() ? request.old : nullptr;
  const json::Value before = json::share(*request.object, allocator);
  const auto settings = policy.settings->get();
  defaults::DefaultResult result = defaults::applyComponentDefaults(
      *request.object, old,
      {settings->defaults, settings->config, policy.operatorVersion, request.namespaceName}, allocator);
  decision.findings.warnings = std::move(result.warnings);
  dropOperatorWarnings(request, settings->policy, decision.findings.warnings);
  json::Patch patch;
  json::diff(before, *request.object, "", patch);
  if (!patch.empty()) decision.patch = patch.dump();
  return decision;
}

Decision validateKind(const AdmissionRequest& request, std::string_view kind, const Policy& policy) {
  Decision decision;
  const json::Value* old = request.updates() ? request.old : nullptr;
  const auto settings = policy.settings->get();
  decision.findings = admission::validate({kind, *request.object, old, request.username}, *settings);
  if (policy.warnOnly) downgradeErrors(decision.findings);
  decision.findings.sort();
  return decision;
}

}  // namespace dynamo::webhook
