#include "common/render/rolling_update.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "common/api/dynamo.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Value;

/// Replicas have 32 bits: what a stored object says beyond them must not overflow in percentages and sums.
long long numberOr(const Value* value, long long fallback) {
  constexpr long long kMost = std::numeric_limits<std::int32_t>::max();
  return value != nullptr && value->IsInt64() ? std::clamp<long long>(value->GetInt64(), 0, kMost) : fallback;
}

std::optional<int> whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = !text.empty() && parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  return good ? std::optional{number} : std::nullopt;
}

long long limitOf(const Value* annotations, std::string_view key, long long desired, bool roundUp) {
  std::string_view text = json::findText(annotations, key);
  if (text.empty()) text = "25%";
  if (const auto number = whole(text)) return std::max(*number, 0);
  if (!text.ends_with('%')) return 0;
  const long long percent = std::max(whole(text.substr(0, text.size() - 1)).value_or(0), 0);
  return (percent * desired + (roundUp ? 99 : 0)) / 100;
}

/// The generations of one service.
struct Generations {
  std::vector<const WorkerGeneration*> older;  ///< newest first
  long long newReplicas = 0;
  long long newAvailable = 0;
  long long newReady = 0;

  long long sum(long long WorkerGeneration::*field) const {
    long long total = 0;
    for (const WorkerGeneration* generation : older) total += generation->*field;
    return total;
  }
};

Generations generationsOf(std::string_view service, std::string_view hash,
                          const std::vector<WorkerGeneration>& observed) {
  Generations all;
  for (const WorkerGeneration& generation : observed) {
    if (generation.service != service) continue;
    if (generation.hash == hash) {
      all.newReplicas = generation.replicas;
      all.newAvailable = generation.available;
      all.newReady = generation.ready;
    } else {
      all.older.push_back(&generation);
    }
  }
  std::sort(all.older.begin(), all.older.end(), [](const WorkerGeneration* a, const WorkerGeneration* b) {
    return a->created != b->created ? a->created > b->created : a->name < b->name;
  });
  return all;
}

/// Gives `budget` replicas to the older generations: what answers first, newest generations first.
void share(const Generations& all, long long budget, RollingStep& step) {
  std::map<std::string, long long, std::less<>>& replicas = step.oldReplicas;
  const auto give = [&](const WorkerGeneration& to, long long most) {
    const long long more = std::clamp(most - replicas[to.name], 0LL, budget);
    replicas[to.name] += more;
    budget -= more;
  };
  for (const WorkerGeneration* generation : all.older)
    give(*generation, std::min(generation->available, generation->replicas));
  for (const WorkerGeneration* generation : all.older) give(*generation, generation->replicas);
}

/// Availability decides, as for Deployments; replicas that do not answer go first.
void shift(std::string_view service, long long desired, const RollingLimits& limits, const Generations& all,
           RollingStep& step) {
  const long long oldReplicas = all.sum(&WorkerGeneration::replicas);
  const long long oldAvailable = all.sum(&WorkerGeneration::available);
  const long long minimum = desired - limits.unavailable;
  const long long newUnavailable = std::max(0LL, all.newReplicas - all.newAvailable);
  const long long maxDown = std::max(0LL, oldReplicas + all.newReplicas - minimum - newUnavailable);
  const long long unhealthy = std::max(0LL, oldReplicas - oldAvailable);
  const long long surplus = std::max(0LL, oldAvailable + all.newAvailable - minimum);
  share(all, std::max(0LL, oldReplicas - std::min(maxDown, unhealthy + surplus)), step);
  const long long room = std::max(0LL, desired + limits.surge - oldReplicas - all.newReplicas);
  step.newReplicas[std::string{service}] = std::min(desired, all.newReplicas + room);
}

}  // namespace

WorkerGeneration workerGeneration(const Value& deployment) {
  WorkerGeneration made;
  const Value* spec = specOf(deployment);
  const Value* status = json::findObject(json::findObject(&deployment, "status"), "service");
  made.name = nameOf(deployment);
  made.service = json::findText(spec, "serviceName");
  made.hash = json::findText(labelsOf(deployment), api::label::kWorkerHash);
  made.created = json::findText(json::find(deployment, "metadata"), "creationTimestamp");
  made.replicas = numberOr(json::find(spec, "replicas"), 1);
  made.ready = numberOr(json::find(status, "readyReplicas"), 0);
  made.available = numberOr(json::find(status, "availableReplicas"), made.ready);
  return made;
}

RollingLimits rollingLimits(const Value& service, long long desired) {
  const Value* annotations = json::findObject(&service, "annotations");
  RollingLimits limits{limitOf(annotations, api::annotation::kMaxSurge, desired, true),
                       limitOf(annotations, api::annotation::kMaxUnavailable, desired, false)};
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
  for (rapidjson::SizeType i = 0; services != nullptr && i < services->MemberCount(); ++i) {
    const auto& entry = services->MemberBegin()[i];
    if (!api::isWorkerType(json::findText(&entry.value, "componentType"))) continue;
    const std::string_view name = json::text(entry.name);
    const long long desired = numberOr(json::find(entry.value, "replicas"), 1);
    const Generations all = generationsOf(name, hash, observed);
    shift(name, desired, rollingLimits(entry.value, desired), all, step);
    if (all.newReady >= desired && all.sum(&WorkerGeneration::ready) == 0) {
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

}  // namespace dynamo::render
