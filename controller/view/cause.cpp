#include "controller/view/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/api/kinds.h"
#include "common/field/show.h"
#include "common/json/build.h"
#include "common/lifecycle/graph_status.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/readiness.h"
#include "controller/view/status_node.h"
#include "controller/view/table.h"
#include "controller/view/tree_table.h"

namespace dynamo::view {
namespace {

namespace reason = lifecycle::reason;

/// How soon a cause is told. A lack of capacity may end by itself. What is missing or is being deleted is
/// often a consequence of something else.
enum class Rank : std::uint8_t { Failure, Capacity, Missing, Other, Leaving };

struct Known {
  std::string_view reason;
  Rank rank;
  std::string_view advice;
};

constexpr std::string_view kTriesAgain =
    "Correct what the message names. The operator tries again by itself and after each change.";

constexpr std::array kKnown = {
    Known{reason::kImagePull, Rank::Failure,
          "Correct the image in the service. If the registry is private, create a pull Secret for it in the "
          "namespace."},
    Known{
        reason::kCrashLoop, Rank::Failure,
        "Read the log of the last run, then correct the command, the arguments, the model or the resources."},
    Known{
        reason::kContainer, Rank::Failure,
        "Create the Secret, ConfigMap or volume that the message names, or correct its name in the service."},
    Known{reason::kPodsRefused, Rank::Failure,
          "An admission policy of the cluster refuses the pods. Change the service so that it is met, or ask "
          "the administrator of the cluster."},
    Known{reason::kGroveError, Rank::Failure,
          "Correct what Grove reports, or read the log of Grove's operator."},
    Known{reason::kNotReconciled, Rank::Failure, kTriesAgain},
    Known{lifecycle::state::kFailed, Rank::Failure, kTriesAgain},  // the state of the graph of a request
    Known{"JobCreationFailed", Rank::Failure, kTriesAgain},
    Known{"DeploymentCreationFailed", Rank::Failure, kTriesAgain},
    Known{"NoServicesFound", Rank::Failure,
          "Deploy a graph whose workers serve this base model, or correct the name of the base model."},
    Known{"Suspended", Rank::Failure, "Resume the Job: somebody has suspended it."},
    Known{reason::kPaused, Rank::Failure, "Resume the workload: somebody has paused it."},
    Known{reason::kQuotaExceeded, Rank::Capacity,
          "Free part of the quota of the namespace, lower the resources or replicas of the service, or have "
          "the quota raised."},
    Known{reason::kUnschedulable, Rank::Capacity,
          "Wait for capacity or add nodes. If no node can ever fit, lower the resources or correct node "
          "selectors and tolerations."},
    Known{reason::kUnscheduled, Rank::Capacity,
          "All pods of the group need room at once. Wait for capacity or add nodes."},
    Known{reason::kNoCapacity, Rank::Capacity, "Wait for capacity or add nodes."},
    Known{
        reason::kMissing, Rank::Missing,
        "Create it if it is yours, such as a claim. If it is the operator's, see whether the operator runs: "
        "kubectl get pods -A -l app.kubernetes.io/name=dynamo-operator."},
    Known{reason::kNotReady, Rank::Other,
          "It runs, but does not pass its probe yet. A model may take minutes to load: follow the log."},
    Known{reason::kStuck, Rank::Other,
          "Its pods do not become ready in time. Follow the log of a pod. The update goes on when they are "
          "ready."},
    Known{reason::kRolling, Rank::Other,
          "Wait: pods are being replaced, and earlier ones serve until the new ones are ready."},
    Known{reason::kRestarting, Rank::Other, "Wait: the requested restart has not reached all services."},
    Known{reason::kDeleted, Rank::Leaving,
          "Wait until it is gone. If it stays, look at its finalizers with kubectl get -o yaml."},
};

constexpr std::string_view kWaits = "Wait, and follow it with kubectl dynamo status -w.";
constexpr std::string_view kNotObserved =
    "See whether the operator runs and manages this namespace: kubectl get pods -A -l "
    "app.kubernetes.io/name=dynamo-operator.";
constexpr std::string_view kFailedRequest =
    "Correct the cause. A failed request is not tried again: delete it and create it again.";
constexpr std::string_view kFailedCheckpoint =
    "Correct the cause. A failed checkpoint is taken again after a change of its spec, or when it is deleted "
    "and created again.";

const Known* knownOf(std::string_view name) {
  const auto found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& each) { return each.reason == name; });
  return found == kKnown.end() ? nullptr : &*found;
}

Rank rankOf(std::string_view name) {
  const Known* known = knownOf(name);
  return known == nullptr ? Rank::Other : known->rank;
}

std::string adviceOf(std::string_view name, std::string_view otherwise) {
  const Known* known = knownOf(name);
  return std::string{known == nullptr ? otherwise : known->advice};
}

/// An object that is not ready, with none below it.
struct Lowest {
  const Node* node;
  std::string service;
};

/// Returns true for objects whose state explains nothing: their controllers replace pods that have ended, and
/// earlier worker generations; what may not be listed may be ready.
bool isNoCause(const Node& node) {
  return node.earlier || (node.kind == "Pod" && (node.state == "Failed" || node.state == "Succeeded")) ||
         (node.kind != "service" && node.state == kUnknown);
}

/// Objects below a ready one count, too: a ready Deployment may have a new pod that fails.
void addLowest(const std::vector<Node>& nodes, const std::string& service, std::vector<Lowest>& found) {
  for (const Node& node : nodes) {
    if (isNoCause(node)) continue;
    const std::string& inner = node.kind == "service" ? node.name : service;
    const std::size_t before = found.size();
    const bool refused = node.kind == api::kDynamoGraphDeployment && node.state == lifecycle::state::kFailed;
    if (!refused) addLowest(node.children, inner, found);
    if (found.size() == before && !node.ready && node.kind != "service") found.push_back({&node, inner});
  }
}

/// Messages name commands about their own pod.
std::string withoutName(const Node& node) {
  std::string text = node.message;
  if (node.name.empty()) return text;
  for (std::size_t at = text.find(node.name); at != std::string::npos; at = text.find(node.name, at))
    text.erase(at, node.name.size());
  return text;
}

bool haveSameCause(const Node& a, const Node& b) {
  return a.kind == b.kind && a.state == b.state && withoutName(a) == withoutName(b);
}

std::optional<Cause> lowestCause(const std::vector<Node>& nodes) {
  std::vector<Lowest> found;
  addLowest(nodes, "", found);
  if (found.empty()) return std::nullopt;
  const Lowest& first = *std::min_element(found.begin(), found.end(), [](const Lowest& a, const Lowest& b) {
    return rankOf(a.node->state) < rankOf(b.node->state);
  });
  Cause cause;
  cause.reason = first.node->state;
  cause.message = first.node->message;
  cause.object = fmt::format("{} {}", first.node->kind, first.node->name);
  cause.service = first.service;
  for (const Lowest& each : found) {
    if (each.node == first.node) continue;
    ++(haveSameCause(*each.node, *first.node) ? cause.same : cause.others);
  }
  cause.advice = adviceOf(cause.reason, kWaits);
  return cause;
}

Cause ownCause(const std::string& name, const std::string& message, std::string_view advice) {
  Cause cause;
  cause.reason = name;
  cause.message = message;
  cause.advice = advice;
  return cause;
}

}  // namespace

std::optional<Cause> causeOf(const GraphTree& tree) {
  const GraphSummary& graph = tree.summary;
  if (graph.ready) return std::nullopt;
  if (graph.deleting) return ownCause("", graph.message, adviceOf(reason::kDeleted, kWaits));
  if (!graph.observed) return ownCause("", graph.message, kNotObserved);
  if (graph.reason != reason::kNotReconciled) {
    if (auto lowest = lowestCause(tree.nodes)) return lowest;
  }
  return ownCause(graph.reason, graph.message, adviceOf(graph.reason, kWaits));
}

std::optional<Cause> causeOf(const ObjectTree& tree) {
  const ObjectSummary& object = tree.summary;
  if (object.ready) return std::nullopt;
  if (object.deleting) return ownCause("", object.message, adviceOf(reason::kDeleted, kWaits));
  if (!object.observed) return ownCause("", object.message, kNotObserved);
  if (object.phase == "Failed") {
    const bool checkpoint = object.kind == api::kDynamoCheckpoint;
    return ownCause(object.reason, object.message, checkpoint ? kFailedCheckpoint : kFailedRequest);
  }
  if (auto lowest = lowestCause(tree.nodes)) return lowest;
  return ownCause(object.reason, object.message, adviceOf(object.reason, kWaits));
}

std::string toText(const std::string& what, const std::optional<Cause>& cause, const Style& style) {
  const std::string title = style.paint(Color::Bold, field::oneLine(what));
  if (!cause) return fmt::format("{} is {}\n", title, style.paint(Color::Green, "ready"));
  Table table{style};
  std::string why = cause->reason;
  if (!cause->message.empty()) why += (why.empty() ? "" : ": ") + cause->message;
  if (!why.empty()) table.add({label("cause"), {why, Color::Red}});
  std::string where = cause->object;
  if (!cause->service.empty()) where += fmt::format(", of service {}", cause->service);
  if (cause->same > 0) where += fmt::format("; {} more like it", cause->same);
  if (cause->others > 0) where += fmt::format("; {} with other causes", cause->others);
  if (!where.empty()) table.add({label("object"), {where}});
  table.add({label("to do"), {cause->advice}});
  return fmt::format("{} is {}\n{}", title, style.paint(Color::Red, "not ready"), table.text());
}

std::string toJson(const std::string& kind, const std::string& namespaceName, const std::string& name,
                   const std::optional<Cause>& cause) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  json::Value value =
      make.object("kind", kind, "namespace", namespaceName, "name", name, "ready", !cause.has_value());
  if (cause) {
    const auto set = [&](std::string_view key, const std::string& text) {
      if (!text.empty()) make.set(value, key, text);
    };
    set("reason", cause->reason);
    set("message", cause->message);
    set("object", cause->object);
    set("service", cause->service);
    set("advice", cause->advice);
    make.set(value, "same", cause->same);
    make.set(value, "others", cause->others);
  }
  return json::dump(value) + "\n";
}

}  // namespace dynamo::view
