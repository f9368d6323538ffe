#pragma once
// Ids of the pod rules. The table in rules.cpp says how severe each is and why it is there.

#include <string_view>

namespace dynamo::rules::pod::id {

// Containers
inline constexpr std::string_view kContainers = "pod.containers";
inline constexpr std::string_view kContainerName = "pod.container-name";
inline constexpr std::string_view kContainerUnique = "pod.container-unique";
inline constexpr std::string_view kContainerRestart = "pod.container-restart";
inline constexpr std::string_view kResizePolicy = "pod.resize-policy";
inline constexpr std::string_view kStopSignal = "pod.stop-signal";
inline constexpr std::string_view kInitForbidden = "pod.init-forbidden";
inline constexpr std::string_view kImage = "pod.image";
inline constexpr std::string_view kImageDoubtful = "pod.image-doubtful";
inline constexpr std::string_view kReference = "pod.reference-unexpanded";
inline constexpr std::string_view kEnum = "pod.unsupported-value";

// Ports
inline constexpr std::string_view kPortNumber = "pod.port-number";
inline constexpr std::string_view kPortName = "pod.port-name";
inline constexpr std::string_view kPortUnique = "pod.port-unique";
inline constexpr std::string_view kPortRepeated = "pod.port-repeated";
inline constexpr std::string_view kHostPort = "pod.host-port";

// Probes and lifecycle
inline constexpr std::string_view kHandler = "pod.handler";
inline constexpr std::string_view kHandlerPort = "pod.handler-port";
inline constexpr std::string_view kHandlerField = "pod.handler-field";
inline constexpr std::string_view kProbePortUnknown = "pod.probe-port-unknown";
inline constexpr std::string_view kProbeNumber = "pod.probe-number";
inline constexpr std::string_view kProbeSuccess = "pod.probe-success-threshold";
inline constexpr std::string_view kProbeGrace = "pod.probe-grace-period";
inline constexpr std::string_view kSleep = "pod.lifecycle-sleep";

// Environment
inline constexpr std::string_view kEnvName = "pod.env-name";
inline constexpr std::string_view kEnvNameStrict = "pod.env-name-strict";
inline constexpr std::string_view kEnvRepeated = "pod.env-repeated";
inline constexpr std::string_view kEnvSource = "pod.env-source";
inline constexpr std::string_view kEnvFile = "pod.env-file";
inline constexpr std::string_view kFieldRef = "pod.field-ref";
inline constexpr std::string_view kResourceFieldRef = "pod.resource-field-ref";
inline constexpr std::string_view kKeyRef = "pod.key-ref";
inline constexpr std::string_view kEnvFrom = "pod.env-from";
inline constexpr std::string_view kObjectName = "pod.object-name";

// Resources
inline constexpr std::string_view kQuantity = "pod.quantity";
inline constexpr std::string_view kResourceName = "pod.resource-name";
inline constexpr std::string_view kResourceReserved = "pod.resource-reserved";
inline constexpr std::string_view kResourceNegative = "pod.resource-negative";
inline constexpr std::string_view kResourceWhole = "pod.resource-whole";
inline constexpr std::string_view kResourceLimit = "pod.resource-limit";
inline constexpr std::string_view kHugepages = "pod.hugepages";
inline constexpr std::string_view kResourceOdd = "pod.resource-odd";
inline constexpr std::string_view kResourceClaim = "pod.resource-claim";
inline constexpr std::string_view kPodResources = "pod.pod-resources";

// Volumes and mounts
inline constexpr std::string_view kVolumeName = "pod.volume-name";
inline constexpr std::string_view kVolumeUnique = "pod.volume-unique";
inline constexpr std::string_view kVolumeSource = "pod.volume-source";
inline constexpr std::string_view kVolumeField = "pod.volume-field";
inline constexpr std::string_view kVolumeMedium = "pod.volume-medium";
inline constexpr std::string_view kVolumePath = "pod.volume-path";
inline constexpr std::string_view kVolumeMode = "pod.volume-mode";
inline constexpr std::string_view kMountVolume = "pod.mount-volume";
inline constexpr std::string_view kMountPath = "pod.mount-path";
inline constexpr std::string_view kMountPathDoubtful = "pod.mount-path-doubtful";
inline constexpr std::string_view kMountSubPath = "pod.mount-sub-path";
inline constexpr std::string_view kMountPropagation = "pod.mount-propagation";

inline constexpr std::string_view kRecursiveReadOnly = "pod.recursive-read-only";
inline constexpr std::string_view kVolumeRemoved = "pod.volume-removed";

// Security
inline constexpr std::string_view kSecurityId = "pod.security-id";
inline constexpr std::string_view kSecurityRoot = "pod.security-root";
inline constexpr std::string_view kSecurityEscalation = "pod.security-escalation";
inline constexpr std::string_view kSeccomp = "pod.seccomp";
inline constexpr std::string_view kAppArmor = "pod.app-armor";
inline constexpr std::string_view kProcMount = "pod.proc-mount";
inline constexpr std::string_view kHostUsers = "pod.host-users";
inline constexpr std::string_view kWindows = "pod.windows";
inline constexpr std::string_view kHostProcess = "pod.host-process";
inline constexpr std::string_view kOs = "pod.os";
inline constexpr std::string_view kSysctl = "pod.sysctl";
inline constexpr std::string_view kShareProcesses = "pod.share-process-namespace";

// Pod
inline constexpr std::string_view kRestartPolicy = "pod.restart-policy";
inline constexpr std::string_view kGracePeriod = "pod.grace-period";
inline constexpr std::string_view kActiveDeadline = "pod.active-deadline";
inline constexpr std::string_view kNameField = "pod.name-field";
inline constexpr std::string_view kHostnameOverride = "pod.hostname-override";
inline constexpr std::string_view kPriority = "pod.priority";
inline constexpr std::string_view kSchedulerName = "pod.scheduler-name";
inline constexpr std::string_view kPullSecret = "pod.pull-secret";
inline constexpr std::string_view kDns = "pod.dns";
inline constexpr std::string_view kHostAlias = "pod.host-alias";
inline constexpr std::string_view kGate = "pod.gate";
inline constexpr std::string_view kGatedNode = "pod.gated-node";
inline constexpr std::string_view kNewerField = "pod.newer-field";
inline constexpr std::string_view kFeatureGate = "pod.feature-gate";
inline constexpr std::string_view kPodClaim = "pod.claim";
inline constexpr std::string_view kEphemeral = "pod.ephemeral-containers";
inline constexpr std::string_view kOverhead = "pod.overhead";

// Scheduling
inline constexpr std::string_view kToleration = "pod.toleration";
inline constexpr std::string_view kNodeAffinity = "pod.node-affinity";
inline constexpr std::string_view kNodeAffinityDoubtful = "pod.node-affinity-doubtful";
inline constexpr std::string_view kPodAffinity = "pod.pod-affinity";
inline constexpr std::string_view kSelector = "pod.label-selector";
inline constexpr std::string_view kMatchLabelKeys = "pod.match-label-keys";
inline constexpr std::string_view kMatchLabelKeysDoubtful = "pod.match-label-keys-doubtful";
inline constexpr std::string_view kSpread = "pod.topology-spread";
inline constexpr std::string_view kSpreadKey = "pod.topology-spread-key";

// Metadata and other objects
inline constexpr std::string_view kLabel = "pod.label";
inline constexpr std::string_view kAnnotation = "pod.annotation";
inline constexpr std::string_view kPodAnnotation = "pod.annotation-value";
inline constexpr std::string_view kTemplateMetadata = "pod.claim-metadata";
inline constexpr std::string_view kPvcAccessMode = "pvc.access-mode";
inline constexpr std::string_view kPvcSize = "pvc.size";
inline constexpr std::string_view kPvcSource = "pvc.data-source";
inline constexpr std::string_view kPvcClass = "pvc.storage-class";
inline constexpr std::string_view kJobNumber = "job.number";
inline constexpr std::string_view kJobDeadline = "job.deadline";

}  // namespace dynamo::rules::pod::id
