#pragma once
#include <string_view>

namespace dynamo::render {

/// One type per line: "Type: member member:TYPE …", members in the order of the Go declaration.
///   member      a scalar, omitted if zero           member*  a pointer: an explicit zero is kept
///   member!     always written                      :T :[]T  another type of this table, or a list of it
///   :[]         list of scalars                     :{}      map of strings, written with sorted keys
///   :q :{}q     quantity, map of quantities         :raw     any JSON
inline constexpr std::string_view kGoTypes = R"(
Service: globalDynamoNamespace resources:Resources* envs:[]EnvVar envFromSecret* volumeMounts:[]ServiceVolumeMount sharedMemory:SharedMemory* extraPodMetadata:ExtraPodMetadata* extraPodSpec:ExtraPodSpec* livenessProbe:Probe* readinessProbe:Probe* multinode:Multinode* frontendSidecar:FrontendSidecar* checkpoint:Checkpoint*
GraphSpec: annotations:{} labels:{} pvcs:raw envs:[]EnvVar backendFramework restart:raw*
GraphService: annotations:{} labels:{} serviceName componentType subComponentType dynamoNamespace* globalDynamoNamespace resources:Resources* autoscaling:raw* envs:[]EnvVar envFromSecret* volumeMounts:[]ServiceVolumeMount ingress:raw* modelRef:raw* sharedMemory:SharedMemory* extraPodMetadata:ExtraPodMetadata* extraPodSpec:ExtraPodSpec* livenessProbe:Probe* readinessProbe:Probe* replicas* multinode:Multinode* scalingAdapter:raw* eppConfig:raw* checkpoint:Checkpoint* frontendSidecar:FrontendSidecar*
Resources: requests:ResourceItem* limits:ResourceItem* claims:[]ResourceClaim
ResourceItem: cpu memory gpu gpuType custom:{}
RequestSpec: model! backend image modelCache:RequestModelCache* hardware:RequestHardware* workload:RequestWorkload* sla:RequestSla* overrides:RequestOverrides* features:RequestFeatures* searchStrategy autoApply*
RequestModelCache: pvcName pvcModelPath pvcMountPath
RequestHardware: gpuSku vramMb* totalGpus* numGpusPerNode*
RequestWorkload: isl* osl* concurrency* requestRate*
RequestSla: ttft* itl* e2eLatency*
RequestOverrides: profilingJob:JobSpec* dgd:raw*
RequestFeatures: planner:raw* mocker:RequestMocker*
RequestMocker: enabled
JobSpec: parallelism* completions* activeDeadlineSeconds* podFailurePolicy:raw* successPolicy:raw* backoffLimit* backoffLimitPerIndex* maxFailedIndexes* selector:LabelSelector* manualSelector* template:PodTemplateSpec! ttlSecondsAfterFinished* completionMode* suspend* podReplacementPolicy* managedBy*
PodTemplateSpec: metadata:ObjectMeta! spec:PodSpec!
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds* labels:{} annotations:{} ownerReferences:raw finalizers:[] managedFields:raw
ServiceVolumeMount: name mountPoint useAsCompilationCache
SharedMemory: disabled size:q!
ExtraPodMetadata: annotations:{} labels:{}
Multinode: nodeCount!
FrontendSidecar: image! args:[] envFromSecret* envs:[]EnvVar
Checkpoint: enabled mode checkpointRef* identity:CheckpointIdentity*
CheckpointIdentity: model! backendFramework! dynamoVersion tensorParallelSize pipelineParallelSize dtype maxModelLen extraParameters:{}
ExtraPodSpec: volumes:[]Volume initContainers:[]Container ephemeralContainers:[]Container restartPolicy terminationGracePeriodSeconds* activeDeadlineSeconds* dnsPolicy nodeSelector:{} serviceAccountName serviceAccount automountServiceAccountToken* nodeName hostNetwork hostPID hostIPC shareProcessNamespace* securityContext:PodSecurityContext* imagePullSecrets:[]LocalObjectReference hostname subdomain affinity:Affinity* schedulerName tolerations:[]Toleration hostAliases:[]HostAlias priorityClassName priority* dnsConfig:PodDNSConfig* readinessGates:[]PodReadinessGate runtimeClassName* enableServiceLinks* preemptionPolicy* overhead:{}q topologySpreadConstraints:[]TopologySpreadConstraint setHostnameAsFQDN* os:PodOS* hostUsers* schedulingGates:[]LocalObjectReference resourceClaims:[]PodResourceClaim resources:ResourceRequirements* hostnameOverride* containers:[]Container mainContainer:Container*
PodSpec: volumes:[]Volume initContainers:[]Container containers:[]Container! ephemeralContainers:[]Container restartPolicy terminationGracePeriodSeconds* activeDeadlineSeconds* dnsPolicy nodeSelector:{} serviceAccountName serviceAccount automountServiceAccountToken* nodeName hostNetwork hostPID hostIPC shareProcessNamespace* securityContext:PodSecurityContext* imagePullSecrets:[]LocalObjectReference hostname subdomain affinity:Affinity* schedulerName tolerations:[]Toleration hostAliases:[]HostAlias priorityClassName priority* dnsConfig:PodDNSConfig* readinessGates:[]PodReadinessGate runtimeClassName* enableServiceLinks* preemptionPolicy* overhead:{}q topologySpreadConstraints:[]TopologySpreadConstraint setHostnameAsFQDN* os:PodOS* hostUsers* schedulingGates:[]LocalObjectReference resourceClaims:[]PodResourceClaim resources:ResourceRequirements* hostnameOverride*
Container: name! image command:[] args:[] workingDir ports:[]ContainerPort envFrom:[]EnvFromSource env:[]EnvVar resources:ResourceRequirements! resizePolicy:[]ContainerResizePolicy restartPolicy* restartPolicyRules:[]ContainerRestartRule volumeMounts:[]VolumeMount volumeDevices:[]VolumeDevice livenessProbe:Probe* readinessProbe:Probe* startupProbe:Probe* lifecycle:Lifecycle* terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext:SecurityContext* stdin stdinOnce tty targetContainerName
ContainerPort: name hostPort containerPort! protocol hostIP
EnvVar: name! value valueFrom:EnvVarSource*
EnvVarSource: fieldRef:ObjectFieldSelector* resourceFieldRef:ResourceFieldSelector* configMapKeyRef:KeySelector* secretKeyRef:KeySelector* fileKeyRef:FileKeySelector*
ObjectFieldSelector: apiVersion fieldPath!
ResourceFieldSelector: containerName resource! divisor:q!
KeySelector: name key! optional*
FileKeySelector: volumeName! path! key! optional*
EnvFromSource: prefix configMapRef:OptionalReference* secretRef:OptionalReference*
OptionalReference: name optional*
LocalObjectReference: name
ResourceRequirements: limits:{}q requests:{}q claims:[]ResourceClaim
ResourceClaim: name! request
ContainerResizePolicy: resourceName! restartPolicy!
ContainerRestartRule: action exitCodes:ContainerRestartRuleOnExitCodes*
ContainerRestartRuleOnExitCodes: operator values:[]
VolumeMount: name! readOnly recursiveReadOnly* mountPath! subPath mountPropagation* subPathExpr
VolumeDevice: name! devicePath!
Probe: exec:ExecAction* httpGet:HTTPGetAction* tcpSocket:TCPSocketAction* grpc:GRPCAction* initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold terminationGracePeriodSeconds*
ExecAction: command:[]
HTTPGetAction: path port! host scheme httpHeaders:[]HTTPHeader
HTTPHeader: name! value!
TCPSocketAction: port! host
GRPCAction: port! service*!
Lifecycle: postStart:LifecycleHandler* preStop:LifecycleHandler* stopSignal*
LifecycleHandler: exec:ExecAction* httpGet:HTTPGetAction* tcpSocket:TCPSocketAction* sleep:SleepAction*
SleepAction: seconds!
SecurityContext: capabilities:Capabilities* privileged* seLinuxOptions:SELinuxOptions* windowsOptions:WindowsOptions* runAsUser* runAsGroup* runAsNonRoot* readOnlyRootFilesystem* allowPrivilegeEscalation* procMount* seccompProfile:LocalProfile* appArmorProfile:LocalProfile*
PodSecurityContext: seLinuxOptions:SELinuxOptions* windowsOptions:WindowsOptions* runAsUser* runAsGroup* runAsNonRoot* supplementalGroups:[] supplementalGroupsPolicy* fsGroup* sysctls:[]Sysctl fsGroupChangePolicy* seccompProfile:LocalProfile* appArmorProfile:LocalProfile* seLinuxChangePolicy*
Capabilities: add:[] drop:[]
SELinuxOptions: user role type level
WindowsOptions: gmsaCredentialSpecName* gmsaCredentialSpec* runAsUserName* hostProcess*
LocalProfile: type! localhostProfile*
Sysctl: name! value!
Toleration: key operator value effect tolerationSeconds*
HostAlias: ip! hostnames:[]
PodDNSConfig: nameservers:[] searches:[] options:[]PodDNSConfigOption
PodDNSConfigOption: name value*
PodReadinessGate: conditionType!
PodOS: name!
PodResourceClaim: name! resourceClaimName* resourceClaimTemplateName*
TopologySpreadConstraint: maxSkew! topologyKey! whenUnsatisfiable! labelSelector:LabelSelector* minDomains* nodeAffinityPolicy* nodeTaintsPolicy* matchLabelKeys:[]
LabelSelector: matchLabels:{} matchExpressions:[]Requirement
Requirement: key! operator! values:[]
Affinity: nodeAffinity:NodeAffinity* podAffinity:PodAffinity* podAntiAffinity:PodAffinity*
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution:NodeSelector* preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeSelector: nodeSelectorTerms:[]NodeSelectorTerm!
NodeSelectorTerm: matchExpressions:[]Requirement matchFields:[]Requirement
PreferredSchedulingTerm: weight! preference:NodeSelectorTerm!
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm: labelSelector:LabelSelector* namespaces:[] topologyKey! namespaceSelector:LabelSelector* matchLabelKeys:[] mismatchLabelKeys:[]
WeightedPodAffinityTerm: weight! podAffinityTerm:PodAffinityTerm!
Volume: name! hostPath:HostPath* emptyDir:EmptyDir* gcePersistentDisk:GCEDisk* awsElasticBlockStore:AWSDisk* gitRepo:GitRepo* secret:SecretVolume* nfs:NFS* iscsi:ISCSI* glusterfs:Glusterfs* persistentVolumeClaim:ClaimVolume* rbd:RBD* flexVolume:FlexVolume* cinder:Cinder* cephfs:CephFS* flocker:Flocker* downwardAPI:DownwardAPIVolume* fc:FC* azureFile:AzureFile* configMap:ConfigMapVolume* vsphereVolume:VsphereDisk* quobyte:Quobyte* azureDisk:AzureDisk* photonPersistentDisk:PhotonDisk* projected:Projected* portworxVolume:Portworx* scaleIO:ScaleIO* storageos:StorageOS* csi:CSI* ephemeral:Ephemeral* image:ImageVolume*
HostPath: path! type*
EmptyDir: medium sizeLimit:q*
GCEDisk: pdName! fsType partition readOnly
AWSDisk: volumeID! fsType partition readOnly
GitRepo: repository! revision directory
SecretVolume: secretName items:[]KeyToPath defaultMode* optional*
NFS: server! path! readOnly
ISCSI: targetPortal! iqn! lun! iscsiInterface fsType readOnly portals:[] chapAuthDiscovery chapAuthSession secretRef:LocalObjectReference* initiatorName*
Glusterfs: endpoints! path! readOnly
ClaimVolume: claimName! readOnly
RBD: monitors:[]! image! fsType pool user keyring secretRef:LocalObjectReference* readOnly
FlexVolume: driver! fsType secretRef:LocalObjectReference* readOnly options:{}
Cinder: volumeID! fsType readOnly secretRef:LocalObjectReference*
CephFS: monitors:[]! path user secretFile secretRef:LocalObjectReference* readOnly
Flocker: datasetName datasetUUID
DownwardAPIVolume: items:[]DownwardAPIFile defaultMode*
DownwardAPIFile: path! fieldRef:ObjectFieldSelector* resourceFieldRef:ResourceFieldSelector* mode*
FC: targetWWNs:[] lun* fsType readOnly wwids:[]
AzureFile: secretName! shareName! readOnly
ConfigMapVolume: name items:[]KeyToPath defaultMode* optional*
KeyToPath: key! path! mode*
VsphereDisk: volumePath! fsType storagePolicyName storagePolicyID
Quobyte: registry! volume! readOnly user group tenant
AzureDisk: diskName! diskURI! cachingMode* fsType* readOnly* kind*
PhotonDisk: pdID! fsType
Projected: sources:[]VolumeProjection! defaultMode*
VolumeProjection: secret:SecretProjection* downwardAPI:DownwardAPIProjection* configMap:SecretProjection* serviceAccountToken:TokenProjection* clusterTrustBundle:TrustBundleProjection* podCertificate:PodCertificateProjection*
SecretProjection: name items:[]KeyToPath optional*
DownwardAPIProjection: items:[]DownwardAPIFile
TokenProjection: audience expirationSeconds* path!
TrustBundleProjection: name* signerName* labelSelector:LabelSelector* optional* path!
PodCertificateProjection: signerName keyType maxExpirationSeconds* credentialBundlePath keyPath certificateChainPath
Portworx: volumeID! fsType readOnly
ScaleIO: gateway! system! secretRef:LocalObjectReference* sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly
StorageOS: volumeName volumeNamespace fsType readOnly secretRef:LocalObjectReference*
CSI: driver! readOnly* fsType* volumeAttributes:{} nodePublishSecretRef:LocalObjectReference*
Ephemeral: volumeClaimTemplate:ClaimTemplate*
ClaimTemplate: metadata:TemplateMeta! spec:ClaimSpec!
TemplateMeta: name generateName namespace labels:{} annotations:{} finalizers:[]
ClaimSpec: accessModes:[] selector:LabelSelector* resources:VolumeResources! volumeName storageClassName* volumeMode* dataSource:TypedReference* dataSourceRef:TypedReference* volumeAttributesClassName*
VolumeResources: limits:{}q requests:{}q
TypedReference: apiGroup*! kind! name! namespace*
ImageVolume: reference pullPolicy
)";

}  // namespace dynamo::render
