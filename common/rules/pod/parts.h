#pragma once
// The checks of each part of a pod. pod.h has the functions for other folders.

#include <array>
#include <cstddef>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/rules/pod/pod.h"
#include "common/rules/pod/report.h"

namespace dynamo::rules::pod {

enum class ProbeKind { Liveness, Readiness, Startup };
enum class ContainerKind { Main, Init };

/// Facts about a pod that the checks of its containers need.
struct PodFacts {
  std::map<std::string_view, const json::Value*> volumes;  ///< the first volume with each name
  std::set<std::string_view> claims;
  std::optional<long long> gracePeriod;
  std::optional<std::string_view> os;  ///< os.name as written; nullopt when the pod has no os
  bool hostNetwork = false;
  bool hostUsers = true;
  bool restartsNever = false;

  explicit PodFacts(const json::Value& podSpec);
  const json::Value* volume(std::string_view name) const;
};

/// The items that a list has had so far. It is a set because lists may be as long as a request allows. Lists
/// of usual length fit into the buffer and allocate no memory.
template <typename Item = std::string_view>
class Seen {
 public:
  /// True the first time.
  bool add(const Item& item) { return items_.insert(item).second; }
  bool contains(const Item& item) const { return items_.contains(item); }
  void clear() { items_.clear(); }

 private:
  std::array<std::byte, 2048> buffer_;
  std::pmr::monotonic_buffer_resource memory_{buffer_.data(), buffer_.size()};
  std::pmr::set<Item> items_{&memory_};
};

// container.cpp
void container(const Reports& report, const json::Value& container, const At& at, ContainerKind kind,
               const PodFacts& facts);
/// Checks both lists of containers. Names are unique over both lists, host ports over the pod.
void containers(const Reports& report, const json::Value& podSpec, const At& at, const PodFacts& facts);

// ports.cpp
void ports(const Reports& report, const json::Value* list, const At& at);
/// Checks that host ports of a list do not conflict. `oneByOne`: init containers run one after another.
void hostPorts(const Reports& report, const json::Value* containers, const At& at, bool hostNetwork,
               bool oneByOne);

// probe.cpp
void probe(const Reports& report, const json::Value* probe, const At& at, ProbeKind kind);
/// Warns of a port name that the container does not define.
void probePortKnown(const Reports& report, const json::Value* probe, const At& at,
                    const json::Value& container);
void lifecycle(const Reports& report, const json::Value* lifecycle, const At& at, const PodFacts& facts);

// restart.cpp
/// The restart policy of a container and its rules.
void containerRestart(const Reports& report, const json::Value& container, const At& at, ContainerKind kind);
/// The restart policies for an in-place resize.
void resizePolicy(const Reports& report, const json::Value* list, const At& at, const PodFacts& facts);
/// The signal that ends a container.
void stopSignal(const Reports& report, const json::Value* lifecycle, const At& at, const PodFacts& facts);

// env.cpp
void env(const Reports& report, const json::Value* list, const At& at, const PodFacts& facts);
void envFrom(const Reports& report, const json::Value* list, const At& at);
void fieldRef(const Reports& report, const json::Value& reference, const At& at, bool volume);
void resourceFieldRef(const Reports& report, const json::Value& reference, const At& at, bool volume);

// words.cpp
/// Warns of references to variables in command, args and values that are not written $(NAME).
void references(const Reports& report, const json::Value& container, const At& at);

// resources.cpp
void resources(const Reports& report, const json::Value* resources, const At& at, const PodFacts& facts);
/// The overhead of a pod, which its RuntimeClass sets.
void overhead(const Reports& report, const json::Value* list, const At& at);

// pod_resources.cpp
/// Resources of the pod as a whole.
void podResources(const Reports& report, const json::Value& podSpec, const At& at, const PodFacts& facts);

// mounts.cpp
void mounts(const Reports& report, const json::Value& container, const At& at, const PodFacts& facts);

// volumes.cpp, volume_sources.cpp, volume_plugins.cpp, projected.cpp
void volumes(const Reports& report, const json::Value* list, const At& at);
void volumeSource(const Reports& report, std::string_view type, const json::Value& source, const At& at);
/// Types of volumes that are older than CSI.
void volumePlugin(const Reports& report, std::string_view type, const json::Value& source, const At& at);
void projected(const Reports& report, const json::Value& source, const At& at);
/// Checks the length of the volume name and the portal of an iSCSI volume together.
void iscsiNames(const Reports& report, std::string_view volume, const json::Value& source, const At& at);
/// The name of another object. The API server accepts any text, so a name that no object can have is a
/// warning.
void objectName(const Reports& report, const json::Value& source, std::string_view field, const At& at);
void fileMode(const Reports& report, const json::Value& source, std::string_view field, const At& at);
/// A required path of a file in the volume.
void localPath(const Reports& report, const json::Value& item, std::string_view field, const At& at);
/// Paths of files in one volume.
using Paths = std::vector<std::string_view>;
/// Keys of a ConfigMap or Secret as files.
Paths keyItems(const Reports& report, const json::Value& source, const At& at);
/// Fields of the pod as files.
Paths downwardItems(const Reports& report, const json::Value& source, const At& at);
/// A path below the volume: relative, no ".." element, not starting with "..".
std::string localPathProblem(std::string_view path);
bool hasBackstep(std::string_view path);

// security.cpp
void podSecurity(const Reports& report, const json::Value* context, const At& at);
/// Rejects sysctls of the network or IPC when the pod shares that namespace with the host.
void podSysctls(const Reports& report, const json::Value& podSpec, const At& at);
void containerSecurity(const Reports& report, const json::Value* context, const At& at,
                       const PodFacts& facts);
/// Rejects namespaces of the host in a pod with a user namespace.
void hostUsers(const Reports& report, const json::Value& podSpec, const At& at, const PodFacts& facts);

// profiles.cpp
void seccompProfile(const Reports& report, const json::Value* profile, const At& at);
void appArmorProfile(const Reports& report, const json::Value* profile, const At& at);

// windows.cpp
void windowsOptions(const Reports& report, const json::Value* options, const At& at);
/// Checks that all containers or none are hostProcess containers, which need the host's network.
void hostProcesses(const Reports& report, const json::Value& podSpec, const At& at, const PodFacts& facts);
/// Rejects fields that the pod's operating system does not support.
void operatingSystem(const Reports& report, const json::Value& podSpec, const At& at, const PodFacts& facts);

// scheduling.cpp, affinity.cpp
void tolerations(const Reports& report, const json::Value* list, const At& at);
void topologySpread(const Reports& report, const json::Value* list, const At& at);
void affinity(const Reports& report, const json::Value* affinity, const At& at);
void labelSelector(const Reports& report, const json::Value* selector, const At& at);
/// matchLabelKeys and mismatchLabelKeys of an affinity term or a spread constraint.
void matchLabelKeys(const Reports& report, const json::Value& term, const At& at);

// dns.cpp
void dns(const Reports& report, const json::Value& podSpec, const At& at);
void hostAliases(const Reports& report, const json::Value* list, const At& at);

// metadata.cpp
void labels(const Reports& report, const json::Value* map, const At& at);
void annotations(const Reports& report, const json::Value* map, const At& at);
/// Annotations whose values the API server reads in pods.
void podAnnotations(const Reports& report, const json::Value* map, const json::Value* podSpec, const At& at);

// pvc.cpp
void pvcSpec(const Reports& report, const json::Value* spec, const At& at);

// job.cpp
void jobSpec(const Reports& report, const json::Value& spec, const At& at);

// template.cpp
void podTemplate(const Reports& report, const json::Value* podTemplate, const At& at, Workload workload);
void podSpec(const Reports& report, const json::Value& spec, const At& at, Workload workload);

}  // namespace dynamo::rules::pod
