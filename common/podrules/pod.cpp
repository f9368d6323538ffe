// The doors of pod.h.

#include "common/podrules/pod.h"

#include "common/podrules/parts.h"

namespace dynamo::podrules {

using json::Value;
using validation::Findings;

void checkPodTemplate(const Value& podTemplateValue, const std::string& path, const Options& options,
                      Findings& findings) {
  podTemplate(Report{findings, options.partial}, &podTemplateValue, At{path}, options.workload);
}

void checkPodSpec(const Value& spec, const std::string& path, const Options& options, Findings& findings) {
  podSpec(Report{findings, options.partial}, spec, At{path}, options.workload);
}

void checkContainer(const Value& value, const std::string& path, ContainerKind kind, const Options& options,
                    Findings& findings) {
  if (value.IsObject()) container(Report{findings, options.partial}, value, At{path}, kind, nullptr);
}

void checkProbe(const Value& value, const std::string& path, ProbeKind kind, const Options& options,
                Findings& findings) {
  probe(Report{findings, options.partial}, &value, At{path}, kind);
}

void checkEnv(const Value& list, const std::string& path, const Options& options, Findings& findings) {
  env(Report{findings, options.partial}, &list, At{path});
}

void checkEnvFrom(const Value& list, const std::string& path, const Options& options, Findings& findings) {
  envFrom(Report{findings, options.partial}, &list, At{path});
}

void checkResources(const Value& value, const std::string& path, const Options& options, Findings& findings) {
  resources(Report{findings, options.partial}, &value, At{path}, nullptr);
}

void checkVolumes(const Value& list, const std::string& path, const Options& options, Findings& findings) {
  volumes(Report{findings, options.partial}, &list, At{path});
}

void checkTolerations(const Value& list, const std::string& path, Findings& findings) {
  tolerations(Report{findings}, &list, At{path});
}

void checkAffinity(const Value& value, const std::string& path, const Options& options, Findings& findings) {
  affinity(Report{findings, options.partial}, &value, At{path});
}

void checkTopologySpread(const Value& list, const std::string& path, const Options& options,
                         Findings& findings) {
  topologySpread(Report{findings, options.partial}, &list, At{path});
}

void checkPodSecurityContext(const Value& context, const std::string& path, const Options& options,
                             Findings& findings) {
  podSecurity(Report{findings, options.partial}, &context, At{path});
}

void checkSecurityContext(const Value& context, const std::string& path, const Options& options,
                          Findings& findings) {
  containerSecurity(Report{findings, options.partial}, &context, At{path});
}

void checkLabels(const Value& map, const std::string& path, Findings& findings) {
  labels(Report{findings}, &map, At{path});
}

void checkAnnotations(const Value& map, const std::string& path, Findings& findings) {
  annotations(Report{findings}, &map, At{path});
}

}  // namespace dynamo::podrules
