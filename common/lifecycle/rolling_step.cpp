#include "common/lifecycle/rolling_step.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/api/dynamo.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/readiness.h"
#include "common/lifecycle/worker_hash.h"
#include "common/render/deployment_config.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

std::optional<int> parseInteger(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool valid = !text.empty() && parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  return valid ? std::optional{number} : std::nullopt;
}

long long readLimit(const Value* annotations, std::string_view key, long long desired, bool roundUp) {
  std::string_view text = json::findText(annotations, key);
  if (text.empty()) text = "25%";
  if (const auto number = parseInteger(text)) return std::max(*number, 0);
  if (!text.ends_with('%')) return 0;
  const long long percent = std::max(parseInteger(text.substr(0, text.size() - 1)).value_or(0), 0);
  return (percent * desired + (roundUp ? 99 : 0)) / 100;
}

/// A status of a larger spec does not count more pods than the spec has.
long long availableOf(const WorkerGeneration& generation) {
  return std::min(generation.available, generation.replicas);
}

/// Replicas of the spec; if the scale-down is refused, the pods that exist.
long long occupiedBy(const WorkerGeneration& generation) {
  return generation.refused ? std::max(generation.present, generation.replicas) : generation.replicas;
}

/// The generations of one service.
struct Generations {
  std::vector<const WorkerGeneration*> older;  ///< newest first
  long long newReplicas = 0;
  long long newAvailable = 0;
  bool newShrinks = false;  ///< the status of the new generation counts pods that are ending
  bool observed = true;     ///< no status is of an older spec

  long long oldReplicas() const {
    return sum([](const WorkerGeneration& generation) { return generation.replicas; });
  }
  long long oldOccupied() const { return sum(occupiedBy); }
  long long oldAvailable() const { return sum(availableOf); }
  long long oldReady() const {
    return sum([](const WorkerGeneration& generation) { return generation.ready; });
  }

 private:
  long long sum(long long (*count)(const WorkerGeneration&)) const {
    long long total = 0;
    for (const WorkerGeneration* generation : older) total += count(*generation);
    return total;
  }
};

Generations generationsOf(std::string_view service, std::string_view hash,
                          const std::vector<WorkerGeneration>& observed) {
  Generations all;
  for (const WorkerGeneration& generation : observed) {
    if (generation.service != service) continue;
    all.observed = all.observed && generation.observed;
    if (generation.hash == hash) {
      all.newReplicas = generation.replicas;
      all.newAvailable = generation.refused ? 0 : availableOf(generation);
      all.newShrinks =
          !generation.settled && std::max(generation.present, generation.available) > generation.replicas;
    } else {
      all.older.push_back(&generation);
    }
  }
  std::sort(all.older.begin(), all.older.end(), [](const WorkerGeneration* a, const WorkerGeneration* b) {
    return a->created != b->created ? a->created > b->created : a->name < b->name;
  });
  return all;
}

/// Distributes `budget` replicas over the old generations, newest first. Available replicas are kept before
/// others.
void distribute(const Generations& all, long long budget, RollingStep& step) {
  std::map<std::string, long long, std::less<>>& replicas = step.oldReplicas;
  const auto give = [&](const WorkerGeneration& to, long long most) {
    const long long more = std::clamp(most - replicas[to.name], 0LL, budget);
    replicas[to.name] += more;
    budget -= more;
  };
  for (const WorkerGeneration* generation : all.older) give(*generation, availableOf(*generation));
  for (const WorkerGeneration* generation : all.older) give(*generation, generation->replicas);
}

/// Moves replicas of one service by availability, as Deployments do. Unavailable replicas are removed first.
void moveReplicas(std::string_view service, long long desired, const RollingLimits& limits,
                  const Generations& all, RollingStep& step) {
  const long long oldReplicas = all.oldReplicas();
  const long long oldAvailable = all.oldAvailable();
  const long long minAvailable = desired - limits.unavailable;
  const long long newUnavailable = std::max(0LL, all.newReplicas - all.newAvailable);
  const long long maxDown = std::max(0LL, oldReplicas + all.newReplicas - minAvailable - newUnavailable);
  const long long unhealthy = std::max(0LL, oldReplicas - oldAvailable);
  const long long surplus = std::max(0LL, oldAvailable + all.newAvailable - minAvailable);
  const long long down = all.observed ? std::min(maxDown, unhealthy + surplus) : 0;
  distribute(all, std::max(0LL, oldReplicas - down), step);
  const long long room =
      all.newShrinks ? 0 : std::max(0LL, desired + limits.surge - all.oldOccupied() - all.newReplicas);
  step.newReplicas[std::string{service}] = std::min(desired, all.newReplicas + room);
}

}  // namespace

WorkerGeneration workerGeneration(const Value& deployment) {
  WorkerGeneration made;
  const Value* spec = specOf(deployment);
  const Value* counts = json::findObject(statusOf(deployment), "service");
  made.name = nameOf(deployment);
  made.service = json::findText(spec, "serviceName");
  made.hash = generationHash(deployment);
  made.created = json::findText(metadataOf(deployment), "creationTimestamp");
  made.replicas = countAt(spec, "replicas", 1);
  made.present = countAt(counts, "replicas");
  made.ready = countAt(counts, "readyReplicas");
  made.available = countAt(counts, "availableReplicas", made.ready);
  made.observed = isComponentObserved(deployment);
  made.refused = isComponentRefused(deployment);
  made.settled = componentDeploymentReadiness(&deployment).ready;
  return made;
}

RollingLimits rollingLimits(const Value& service, long long desired) {
  const Value* annotations = json::findObject(&service, "annotations");
  RollingLimits limits{readLimit(annotations, api::annotation::kMaxSurge, desired, true),
                       readLimit(annotations, api::annotation::kMaxUnavailable, desired, false)};
  limits.unavailable = std::min(limits.unavailable, desired);
  if (limits.surge == 0 && limits.unavailable == 0) limits.surge = 1;
  return limits;
}

RollingStep rollingStep(const Value& graph, std::string_view hash, std::string_view current,
                        const std::vector<WorkerGeneration>& observed) {
  RollingStep step;
  if (current.empty() || current == hash) return step;
  step.inProgress = true;
  step.complete = true;
  const Value* services = json::findObject(specOf(graph), "services");
  const Value* envs = json::find(specOf(graph), "envs");
  for (rapidjson::SizeType i = 0; services != nullptr && i < services->MemberCount(); ++i) {
    const auto& entry = services->MemberBegin()[i];
    if (!api::isWorkerType(json::findText(&entry.value, "componentType"))) continue;
    const std::string_view name = json::text(entry.name);
    const long long desired = render::componentReplicas(name, entry.value, envs);
    const Generations all = generationsOf(name, hash, observed);
    moveReplicas(name, desired, rollingLimits(entry.value, desired), all, step);
    if (all.newAvailable >= desired && all.oldReady() == 0) {
      step.updatedServices.emplace_back(name);
    } else {
      step.complete = false;
    }
  }
  for (const WorkerGeneration& generation : observed) {
    if (generation.hash != hash) step.outdated.push_back(generation.name);
  }
  std::sort(step.updatedServices.begin(), step.updatedServices.end());
  std::sort(step.outdated.begin(), step.outdated.end());
  return step;
}

}  // namespace dynamo::lifecycle
