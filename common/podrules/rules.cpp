// The list of the pod rules.

#include "common/podrules/rules.h"

#include "common/podrules/pod.h"

namespace dynamo::podrules {
namespace {

using validation::Severity;

constexpr auto kError = Severity::Error;
constexpr auto kWarning = Severity::Warning;

constexpr validation::Rule kRules[] = {
    {rule::kContainers, kError, "A pod has at least one container"},
    {rule::kContainerName, kError, "Containers have names, which are DNS labels"},
    {rule::kContainerUnique, kError, "No two containers or init containers of a pod share a name"},
    {rule::kContainerRestart, kWarning, "Only new API servers know a restart policy of main containers"},
    {rule::kInitRestart, kWarning,
     "Only new API servers know a restart policy of init containers but Always"},
    {rule::kInitForbidden, kError, "Init containers that end have no probes and no lifecycle"},
    {rule::kImage, kError, "Every container has an image, without white space around it"},
    {rule::kImageDoubtful, kWarning, "No registry has an image of such a name"},
    {rule::kEnum, kError, "A field with a fixed set of values has one of them"},
    {rule::kPortNumber, kError, "Ports are numbers between 1 and 65535"},
    {rule::kPortName, kError, "Names of ports have at most 15 lower case letters, digits and hyphens"},
    {rule::kPortUnique, kError, "No two ports of a container share a name"},
    {rule::kPortRepeated, kWarning, "A port and protocol is listed once"},
    {rule::kHostPort, kError, "A host port is taken once, and is the container port in the host's network"},
    {rule::kHandler, kError, "A probe or hook has exactly one handler"},
    {rule::kHandlerPort, kError, "The port of a handler is a number, or a name where names are allowed"},
    {rule::kHandlerField, kError, "An exec handler has a command, HTTP headers have proper names"},
    {rule::kProbePortUnknown, kWarning, "A probe's port name is the name of one of the container's ports"},
    {rule::kProbeNumber, kError, "Delays, periods and thresholds of probes are not negative"},
    {rule::kProbeSuccess, kError, "One success is enough for liveness and startup probes"},
    {rule::kProbeGrace, kError, "A probe's grace period is positive, and none is in readiness probes"},
    {rule::kSleep, kError, "A hook does not sleep beyond the pod's grace period"},
    {rule::kEnvName, kError, "Variables have names of printable ASCII characters without '='"},
    {rule::kEnvNameStrict, kWarning, "API servers before 1.32 want C identifiers with '-' and '.'"},
    {rule::kEnvRepeated, kWarning, "A variable is given once in a list"},
    {rule::kEnvSource, kError, "A variable has a value or exactly one source"},
    {rule::kEnvFile, kWarning, "Only new API servers know variables from files"},
    {rule::kFieldRef, kError, "A field reference names a field that pods may read"},
    {rule::kResourceFieldRef, kError, "A resource reference names a limit or request, and a fitting divisor"},
    {rule::kKeyRef, kError, "A key reference names a ConfigMap or Secret and one of its keys"},
    {rule::kEnvFrom, kError, "Each envFrom item has exactly one source"},
    {rule::kObjectName, kWarning,
     "A ConfigMap, Secret, claim or key is referred to by a name that can exist"},
    {rule::kQuantity, kError, "Quantities are numbers with a known suffix"},
    {rule::kResourceName, kError, "Resources are cpu, memory and such, or have a domain in their names"},
    {rule::kResourceReserved, kWarning, "Names of resources in kubernetes.io are reserved"},
    {rule::kResourceNegative, kError, "Requests and limits are not negative"},
    {rule::kResourceWhole, kError, "Devices come as a whole"},
    {rule::kResourceLimit, kError, "Requests fit their limits; those of devices and huge pages equal them"},
    {rule::kHugepages, kError, "Huge pages are whole pages, with cpu or memory beside them"},
    {rule::kResourceOdd, kWarning, "An amount of cpu or memory looks like a typing error"},
    {rule::kResourceClaim, kError, "A container's claims are among the pod's, each named once"},
    {rule::kPodResources, kWarning, "Only new API servers know resources of a whole pod"},
    {rule::kVolumeName, kError, "Volumes have names, which are DNS labels"},
    {rule::kVolumeUnique, kError, "No two volumes of a pod share a name"},
    {rule::kVolumeSource, kError, "A volume or projected source is of exactly one type"},
    {rule::kVolumeField, kError, "A volume has what its type needs"},
    {rule::kVolumeMedium, kWarning, "An emptyDir is on disk, in memory or of huge pages"},
    {rule::kVolumePath, kError, "Paths in volumes are relative and stay inside; host and NFS paths are sane"},
    {rule::kVolumeMode, kError, "File modes are between 0 and 0777"},
    {rule::kMountVolume, kError, "A mount names a volume of the pod"},
    {rule::kMountPath, kError, "Mounts have paths, different ones in a container"},
    {rule::kMountPathDoubtful, kWarning, "Mount paths are absolute and without ':'"},
    {rule::kMountSubPath, kError, "Sub paths are relative and stay inside the volume; one kind a mount"},
    {rule::kMountPropagation, kError, "Only privileged containers propagate mounts to the host"},
    {rule::kSecurityId, kError, "User and group ids are between 0 and 2147483647"},
    {rule::kSecurityRoot, kWarning, "runAsNonRoot with user 0 cannot start"},
    {rule::kSecurityEscalation, kError, "Privileged containers cannot forbid privilege escalation"},
    {rule::kSeccomp, kError, "A seccomp profile has a type, and a file exactly when it is Localhost"},
    {rule::kSysctl, kError, "Sysctls have proper names, each given once"},
    {rule::kShareProcesses, kError, "A pod shares its processes or the host's, not both"},
    {rule::kRestartPolicy, kError, "Pods of services always restart, pods of Jobs never or on failure"},
    {rule::kGracePeriod, kWarning, "A grace period is not negative"},
    {rule::kActiveDeadline, kError, "Only pods of Jobs have a deadline, of at least a second"},
    {rule::kNameField, kError, "Names of service accounts, classes, nodes and hosts are DNS names"},
    {rule::kSchedulerName, kWarning, "A scheduler's name is a DNS name"},
    {rule::kPullSecret, kWarning, "Image pull secrets have names that can exist"},
    {rule::kDns, kError, "Name servers are addresses and search paths domains, not too many of them"},
    {rule::kHostAlias, kError, "Host aliases give names to addresses"},
    {rule::kGate, kError, "Gates have qualified names, scheduling gates different ones"},
    {rule::kPodClaim, kError, "A pod's claims have names and exactly one source each"},
    {rule::kEphemeral, kError, "Templates have no ephemeral containers"},
    {rule::kOverhead, kWarning, "Overhead is for runtime classes to set"},
    {rule::kToleration, kError, "Tolerations are consistent"},
    {rule::kNodeAffinity, kError, "Node affinity has terms with proper keys, operators, values and weights"},
    {rule::kNodeAffinityDoubtful, kWarning, "A value of a node affinity can match no node"},
    {rule::kPodAffinity, kError, "Pod affinity has topology keys, namespaces and weights that can exist"},
    {rule::kSelector, kError, "Label selectors have proper keys, operators and values"},
    {rule::kMatchLabelKeys, kError,
     "matchLabelKeys come with a label selector, and are not in mismatchLabelKeys"},
    {rule::kMatchLabelKeysDoubtful, kWarning, "matchLabelKeys are not in the label selector, too"},
    {rule::kSpread, kError, "Topology spread constraints are complete, consistent and different"},
    {rule::kSpreadKey, kWarning, "The topology key of a spread constraint can be a label of nodes"},
    {rule::kLabel, kError, "Labels and node selectors have proper keys and values"},
    {rule::kAnnotation, kError, "Annotations have proper keys and stay below 256 KiB"},
    {rule::kPvcAccessMode, kError, "Claims have access modes that go together"},
    {rule::kPvcSize, kError, "Claims ask for more than zero bytes"},
    {rule::kPvcClass, kError, "Names of storage classes are DNS names"},
    {rule::kJobNumber, kError, "Counts and seconds of a Job are not negative"},
    {rule::kJobDeadline, kWarning, "A Job's deadline is more than zero seconds"},
};

}  // namespace

std::span<const validation::Rule> podRules() {
  return kRules;
}

}  // namespace dynamo::podrules
