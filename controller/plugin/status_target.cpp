#include "controller/plugin/status_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/render/checkpoint_job.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::plugin {
namespace {

struct Shown {
  std::string_view kind;
  std::string_view plural;
  std::string_view shortName;
  std::string_view job;  ///< the prefix of the name of its Job; empty: it has none
};

constexpr std::array kShown = {
    Shown{api::kDynamoGraphDeployment, "dynamographdeployments", "dgd", ""},
    Shown{api::kDynamoGraphDeploymentRequest, "dynamographdeploymentrequests", "dgdr",
          api::dgdr::kProfilingJobPrefix},
    Shown{api::kDynamoModel, "dynamomodels", "dm", ""},
    Shown{api::kDynamoCheckpoint, "dynamocheckpoints", "dckpt", render::kCheckpointJobPrefix},
};

const Shown& shownOf(std::string_view kind) {
  return *std::find_if(kShown.begin(), kShown.end(), [&](const Shown& each) { return each.kind == kind; });
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

Selection named(kube::Resource resource, std::string_view name) {
  Selection selection{std::move(resource)};
  selection.fieldSelector = fmt::format("metadata.name={}", name);
  return selection;
}

}  // namespace

std::variant<StatusTarget, std::string> parseTarget(std::string_view argument) {
  const std::size_t slash = argument.find('/');
  if (slash == std::string_view::npos) return StatusTarget{"", std::string{argument}};
  const std::string kind = lower(argument.substr(0, slash));
  const std::string name{argument.substr(slash + 1)};
  const auto found = std::find_if(kShown.begin(), kShown.end(), [&](const Shown& each) {
    return kind == lower(each.kind) || kind == each.plural || kind == each.shortName;
  });
  if (found == kShown.end())
    return fmt::format("{}: the kind must be dgd, dgdr, dm or dckpt, or a longer form of these", argument);
  if (name.empty()) return fmt::format("{}: there is no name", argument);
  return StatusTarget{std::string{found->kind}, name};
}

runtime::Task<StatusTarget> findTarget(kube::Client& client, std::string namespaceName, StatusTarget target) {
  if (target.name.empty() || !target.kind.empty()) co_return target;
  for (const Shown& each : kShown) {
    const kube::Resource resource = controller::resourceOf(api::kGroup, each.kind);
    const auto got = co_await client.get(resource, namespaceName, target.name);
    const auto* error = std::get_if<kube::ApiError>(&got);
    if (error == nullptr) target.kind = each.kind;
    const bool unreadable = error != nullptr && error->reason != kube::Reason::NotFound &&
                            error->reason != kube::Reason::Forbidden;
    if (error == nullptr || unreadable) break;
  }
  if (target.kind.empty()) target.kind = api::kDynamoGraphDeployment;
  co_return target;
}

std::vector<Selection> selectionsFor(const StatusTarget& target) {
  std::vector<Selection> selections;
  if (target.name.empty()) {
    selections.push_back(selectGraphs({}));
    for (const Shown& each : kShown) {
      if (each.kind == api::kDynamoGraphDeployment) continue;
      Selection selection{controller::resourceOf(api::kGroup, each.kind)};
      selection.optional = true;
      selections.push_back(std::move(selection));
    }
    // A request is profiled since its Job exists.
    Selection jobs{controller::resourceOf("batch", "Job"),
                   {{kube::hasLabel(std::string{api::dgdr::kJobLabels[1]})}}};
    jobs.optional = true;
    selections.push_back(std::move(jobs));
    return selections;
  }
  if (target.kind == api::kDynamoGraphDeployment) {
    selections = selectChildren(target.name);
    selections.push_back(selectGraphs(target.name));
    return selections;
  }
  // The graph of a request has a name of its own, which may not be known yet.
  if (target.kind == api::kDynamoGraphDeploymentRequest) {
    selections = selectChildren({});
  } else {
    selections.push_back({controller::resourceOf("", "Pod")});
  }
  if (target.kind != api::kDynamoModel)
    selections.push_back({controller::resourceOf(api::kGroup, api::kDynamoGraphDeployment)});
  const Shown& shown = shownOf(target.kind);
  if (!shown.job.empty())
    selections.push_back(
        named(controller::resourceOf("batch", "Job"), fmt::format("{}{}", shown.job, target.name)));
  Selection root = named(controller::resourceOf(api::kGroup, shown.kind), target.name);
  root.required = true;
  selections.push_back(std::move(root));
  return selections;
}

}  // namespace dynamo::plugin
