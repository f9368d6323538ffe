#pragma once
// An index of the facts of a cluster that rendering uses, with lookup in logarithmic time. Lookups can be
// recorded, so that a change of a fact triggers only the graphs that used it.

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dynamo::render {

/// APIs that affect rendering or defaults.
enum class Api : std::uint8_t {
  Grove,
  LeaderWorkerSet,  ///< leaderworkerset.x-k8s.io and scheduling.volcano.sh, both
  KaiScheduler,
  InferencePool,  ///< inference.networking.k8s.io
  SleepAction     ///< the action `sleep` of preStop: Kubernetes 1.30
};
inline constexpr std::array<std::string_view, 5> kApiNames = {"grove", "leaderWorkerSet", "kaiScheduler",
                                                              "inferencePool", "sleepAction"};
inline constexpr std::string_view nameOf(Api api) {
  return kApiNames[static_cast<std::size_t>(api)];
}

/// The properties of a DynamoCheckpoint that services use.
struct CheckpointFact {
  std::string namespaceName;
  std::string name;
  std::string hash;       ///< status.identityHash
  std::string labelHash;  ///< label nvidia.com/snapshot-checkpoint-hash
  bool ready = false;     ///< status.phase is Ready

  bool operator==(const CheckpointFact&) const = default;
};

/// The GPUs of the nodes that have the most.
struct HardwareFact {
  std::string gpuSku;
  double vramMb = 0;      ///< of one GPU
  long long perNode = 0;  ///< GPUs of one node
  long long inTotal = 0;  ///< GPUs of all nodes
};

/// The kinds of facts.
enum class FactKind : std::uint8_t {
  Api,               ///< name: the API (kApiNames)
  PullSecrets,       ///< name: the host of the registry
  ComponentAccount,  ///< no name
  CheckpointByName,  ///< name: the DynamoCheckpoint
  CheckpointByHash,  ///< name: the value of its hash label
  Queue,             ///< name: the queue of the KAI scheduler
};

struct FactKey {
  FactKind kind = FactKind::Api;
  std::string namespaceName;  ///< empty for facts of the whole cluster
  std::string name;

  auto operator<=>(const FactKey&) const = default;
};
using FactKeys = std::set<FactKey>;

/// Whether the sets have a common key, for example whether a change affects the facts that a graph looked up.
bool intersect(const FactKeys& a, const FactKeys& b);

/// Facts of a cluster. An object that was not added does not exist. An API that was not set is unknown until
/// discovery has run, and absent afterwards.
class Facts {
 public:
  /// nullopt if unknown. Rendering then assumes that all APIs except that of KAI are present.
  std::optional<bool> api(Api api) const;
  void setApi(Api api, bool present) { apis_[static_cast<std::size_t>(api)] = present; }
  /// Sets whether discovery has run.
  void setDiscovered(bool discovered = true) { discovered_ = discovered; }
  bool discovered() const { return discovered_; }

  /// Names of the pull secrets of a namespace for a registry (pull_secrets.h), sorted.
  std::span<const std::string> pullSecrets(std::string_view namespaceName, std::string_view registry) const;
  /// Adds secrets for `registry`.
  void addPullSecrets(std::string_view namespaceName, std::string_view registry,
                      const std::vector<std::string>& secrets);
  /// Removes a secret from all registries. Called when it is deleted, and before it is added again after a
  /// change.
  void removePullSecret(std::string_view namespaceName, std::string_view secret);

  /// The service account labelled for component pods, the first by name if there are several; empty if none.
  std::string_view componentAccount(std::string_view namespaceName) const;
  void addComponentAccount(std::string_view namespaceName, std::string_view account);
  void removeComponentAccount(std::string_view namespaceName, std::string_view account);

  /// The result of GPU discovery; nullopt if it found nothing or has not run.
  const std::optional<HardwareFact>& hardware() const { return hardware_; }
  void setHardware(HardwareFact hardware) { hardware_ = std::move(hardware); }

  /// nullptr if it does not exist.
  const CheckpointFact* checkpointNamed(std::string_view namespaceName, std::string_view name) const;
  /// The checkpoint with this hash label whose status has no other hash; nullptr if none. Of several, the
  /// first by name that is ready, or else the first (decision dec-13).
  const CheckpointFact* checkpointWithHash(std::string_view namespaceName, std::string_view hash) const;
  /// Adds a checkpoint or replaces the one with the same name.
  void setCheckpoint(const CheckpointFact& fact);
  void removeCheckpoint(std::string_view namespaceName, std::string_view name);

  /// Whether a queue of the KAI scheduler exists; nullopt if the queues are unknown.
  std::optional<bool> queue(std::string_view name) const;
  void setQueuesKnown() { queuesKnown_ = true; }
  void addQueue(std::string_view name) { queues_.emplace(name); }
  void removeQueue(std::string_view name);

  /// The keys of the facts that differ.
  friend FactKeys changed(const Facts& before, const Facts& after);

 private:
  template <typename T>
  using ByName = std::map<std::string, T, std::less<>>;
  template <typename T>
  using ByNamespace = ByName<ByName<T>>;
  using Names = std::set<std::string, std::less<>>;

  std::array<std::optional<bool>, kApiNames.size()> apis_{};
  bool discovered_ = false;
  // These maps have no empty entries.
  ByNamespace<std::vector<std::string>> pullSecrets_;
  ByName<Names> accounts_;
  std::optional<HardwareFact> hardware_;
  ByNamespace<CheckpointFact> checkpoints_;
  ByNamespace<Names> checkpointHashes_;  ///< label -> names
  bool queuesKnown_ = false;
  Names queues_;
};

FactKeys changed(const Facts& before, const Facts& after);

/// A view of facts that adds the key of each lookup to `lookedUp`, even if there is no such fact. `lookedUp`
/// may be nullptr. `facts` and `lookedUp` must outlive the view.
class FactsView {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): Facts converts to a view without a recorder.
  FactsView(const Facts& facts, FactKeys* lookedUp = nullptr) : facts_(&facts), lookedUp_(lookedUp) {}
  FactsView(const Facts&& facts, FactKeys* lookedUp = nullptr) = delete;

  std::optional<bool> api(Api api) const;
  std::span<const std::string> pullSecrets(std::string_view namespaceName, std::string_view registry) const;
  std::string_view componentAccount(std::string_view namespaceName) const;
  /// Not recorded: a profiling Job, once created, does not change with it.
  const std::optional<HardwareFact>& hardware() const { return facts_->hardware(); }
  const CheckpointFact* checkpointNamed(std::string_view namespaceName, std::string_view name) const;
  const CheckpointFact* checkpointWithHash(std::string_view namespaceName, std::string_view hash) const;
  std::optional<bool> queue(std::string_view name) const;

 private:
  void record(FactKind kind, std::string_view namespaceName, std::string_view name) const;

  const Facts* facts_;
  FactKeys* lookedUp_;
};

}  // namespace dynamo::render
