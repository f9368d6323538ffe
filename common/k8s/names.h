#pragma once
// Grammars of names and keys: ASCII, anchored, lengths in bytes.
// Each function returns what is wrong as one clause ("must be …"), empty when nothing is.

#include <string>
#include <string_view>

namespace dynamo::k8s {

std::string dns1123LabelProblem(std::string_view name);
std::string dns1123SubdomainProblem(std::string_view name);
/// Keys of labels, names of resources: [subdomain "/"] name.
std::string qualifiedNameProblem(std::string_view name);
/// As a label key, but upper case is allowed in the prefix.
std::string annotationKeyProblem(std::string_view key);
/// Empty, or letters, digits, "-", "_", "." with a letter or digit at both ends; at most 63.
std::string labelValueProblem(std::string_view value);
/// What every supported API server refuses: empty, "=", or anything beyond printable ASCII.
std::string envNameProblem(std::string_view name);
/// The name as it may be shown: of NAME=value, given by mistake, what follows "=" may be a secret.
std::string shownEnvName(std::string_view name);
/// What API servers before 1.32 refuse besides.
std::string strictEnvNameProblem(std::string_view name);
/// Keys of ConfigMaps and Secrets.
std::string configMapKeyProblem(std::string_view key);
std::string portNameProblem(std::string_view name);
std::string portNumberProblem(long long port);
/// Resources of containers: "cpu", "nvidia.com/gpu".
std::string resourceNameProblem(std::string_view name);
/// Hosts of Ingress rules.
std::string hostProblem(std::string_view host);

/// IPv4 or IPv6; leading zeros pass, as they do in old API fields.
bool isIpAddress(std::string_view text);
/// As the API server tells them from extended resources: without a domain, or in one of Kubernetes.
bool isNativeResource(std::string_view name);

/// All keys and values of a metadata.annotations map together.
inline constexpr std::size_t kMaxAnnotationBytes = std::size_t{256} * 1024;
inline constexpr std::size_t kMaxLabelLength = 63;
inline constexpr std::size_t kMaxSubdomainLength = 253;

/// ASCII lower case; other bytes stay.
std::string lowerAscii(std::string_view text);

}  // namespace dynamo::k8s
