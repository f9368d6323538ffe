#include "controller/reconcile/model_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/lifecycle/object.h"
#include "common/runtime/plain_client.h"
#include "common/runtime/task_group.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {
namespace {

using json::Document;
using lifecycle::ModelPod;
using runtime::Deadline;
using runtime::Task;
using std::chrono::milliseconds;
using Kind = ModelAnswer::Kind;

/// A read that fails is repeated, because an adapter is unloaded once, whatever comes of it.
constexpr int kReads = 3;
constexpr milliseconds kReadAgain{300};

/// The kinds that no watch reports whole, because clusters have many of them. nullptr: another kind.
const kube::Resource* readKind(std::string_view kind) {
  static const kube::Resource kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet"};
  static const kube::Resource kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet"};
  if (kind == "Pod") return &resourceOf("", "Pod");
  if (kind == "ReplicaSet") return &kReplicaSets;
  return kind == "StatefulSet" ? &kStatefulSets : nullptr;
}

/// The time for one request.
milliseconds timeLeft(Deadline deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::min(left, kModelCallTime);
}

ModelAnswer answer(Kind kind, std::string text = {}) {
  ModelAnswer out;
  out.kind = kind;
  out.text = std::move(text);
  return out;
}

}  // namespace

struct ModelCalls::Work {
  const std::vector<ModelPod>& pods;
  const ModelCall& call;
  Deadline deadline;
  std::vector<ModelAnswer> answers;
  std::size_t next = 0;
};

Task<std::vector<ModelAnswer>> ModelCalls::askAll(const std::vector<ModelPod>& pods, const ModelCall& call) {
  Work shared{pods, call, std::chrono::steady_clock::now() + kModelTime, {}};
  shared.answers.resize(pods.size());
  runtime::TaskGroup group{environment_.loop};
  for (std::size_t i = 0; i < std::min(kModelCalls, pods.size()); ++i) group.spawn(work(shared));
  co_await group.join();
  co_return std::move(shared.answers);
}

Task<void> ModelCalls::work(Work& shared) {
  while (shared.next < shared.pods.size()) {
    const std::size_t mine = shared.next++;
    shared.answers[mine] = co_await ask(shared.pods[mine], shared.call, shared.deadline);
  }
}

Task<ModelCalls::Read> ModelCalls::readObject(k8s::ObjectKey key, Deadline deadline) {
  const kube::Resource* resource = readKind(key.kind);
  if (resource == nullptr) {
    const WatchedKind* kind = findWatchedKind(key);
    if (kind == nullptr) co_return Read{Document{}};
    auto cached = environment_.cache.find(keyIn(kind->resource, key.namespaceName, key.name));
    co_return Read{cached ? std::move(cached->object) : Document{}};
  }
  for (int attempt = 1;; ++attempt) {
    const milliseconds time = timeLeft(deadline);
    if (time <= milliseconds{0}) co_return Read{std::string{"there was no time left"}};
    const kube::CallOptions call{time};
    auto got = co_await environment_.client.get(*resource, key.namespaceName, key.name, call);
    if (auto* found = std::get_if<Document>(&got)) co_return Read{std::move(*found)};
    const auto& error = std::get<kube::ApiError>(got);
    if (error.reason == kube::Reason::NotFound) co_return Read{Document{}};
    if (attempt == kReads || lifecycle::isPermanent(failureOf(key, error)))
      co_return Read{fmt::format("{} could not be read: {}", k8s::toText(key), error.message)};
    co_await environment_.loop.sleepUntil(std::chrono::steady_clock::now() + kReadAgain);
  }
}

Task<std::variant<bool, std::string>> ModelCalls::leadsToGraph(const Document& pod, Deadline deadline) {
  auto owner = lifecycle::nextOwner(pod);
  if (!owner) co_return false;
  const std::pair first{owner->key, owner->uid};
  if (const auto known = owners_.find(first); known != owners_.end()) co_return known->second;
  bool found = false;
  for (int i = 0; owner && !found && i < lifecycle::kMaxOwners; ++i) {
    k8s::ObjectKey key = owner->key;
    auto read = co_await readObject(std::move(key), deadline);
    if (auto* failed = std::get_if<std::string>(&read)) co_return std::move(*failed);
    const Document object = std::move(std::get<Document>(read));
    if (object.IsNull() || lifecycle::uidOf(object) != owner->uid) break;
    found = lifecycle::isGraph(object);
    owner = lifecycle::nextOwner(object);
  }
  owners_.insert_or_assign(first, found);
  co_return found;
}

Task<ModelAnswer> ModelCalls::ask(const ModelPod& candidate, const ModelCall& call, Deadline deadline) {
  const auto stops = [&] { return environment_.stopping && !call.whileStopping; };
  if (timeLeft(deadline) <= milliseconds{0} || stops())
    co_return answer(Kind::Unasked, "there was no time left");
  k8s::ObjectKey key = keyIn(resourceOf("", "Pod"), namespace_, candidate.name);
  auto read = co_await readObject(std::move(key), deadline);
  if (auto* failed = std::get_if<std::string>(&read)) co_return answer(Kind::Failed, std::move(*failed));
  const Document pod = std::move(std::get<Document>(read));
  // Neither a restart nor an edit of the pod makes it serve adapters.
  if (!pod.IsNull() && lifecycle::servesNoAdapters(pod)) co_return answer(Kind::Gone);
  if (pod.IsNull()) co_return answer(Kind::Missing, fmt::format("pod {} does not exist", candidate.name));
  lifecycle::PodAddress where = lifecycle::addressOfPod(pod, candidate);
  if (where.address.empty()) {
    const Kind kind = where.refusal.empty() ? Kind::Gone : Kind::Refused;
    co_return answer(kind, std::move(where.refusal));
  }
  auto ours = co_await leadsToGraph(pod, deadline);
  if (auto* failed = std::get_if<std::string>(&ours)) co_return answer(Kind::Failed, std::move(*failed));
  if (!std::get<bool>(ours)) {
    ModelAnswer refused = answer(Kind::Refused, fmt::format("pod {} belongs to no graph", candidate.name));
    refused.mayChange = true;  // its owners are not watched
    co_return std::move(refused);
  }
  ModelAnswer out;
  out.pod = {std::string{lifecycle::uidOf(pod)}, lifecycle::restartsOf(pod), where.address};
  const auto given = given_.find(candidate.name);
  if (given != given_.end() && given->second.address == where.address &&
      lifecycle::hasAdapter(given->second, pod)) {
    out.kind = Kind::Kept;
    co_return std::move(out);
  }
  if (lifecycle::isStopped(pod)) {
    out.kind = Kind::Stopped;
    co_return std::move(out);
  }
  if (call.method.empty()) {
    out.kind = Kind::Usable;
    co_return std::move(out);
  }
  const milliseconds time = timeLeft(deadline);
  if (time <= milliseconds{0} || stops() || environment_.loop.stopping()) {
    out.kind = Kind::Unasked;
    out.text = "there was no time left";
    co_return std::move(out);
  }
  runtime::PlainRequest request{call.method, {where.address, lifecycle::kModelPort}, call.path};
  request.json = call.body;
  request.timeout = time;
  auto reply = co_await runtime::askPlain(environment_.loop, std::move(request));
  if (auto* error = std::get_if<runtime::TransportError>(&reply)) {
    out.text = std::move(error->message);
    co_return std::move(out);
  }
  auto& said = std::get<runtime::PlainReply>(reply);
  out.kind = Kind::Answered;
  out.status = said.status;
  out.text = std::move(said.body);
  co_return std::move(out);
}

}  // namespace dynamo::controller
