#pragma once
// Grammars of names and keys. Only ASCII is valid, and lengths are in bytes. Each function returns the
// problem as a clause
// ("must be …"), or an empty string if there is none.

#include <string>
#include <string_view>

namespace dynamo::k8s {

std::string dns1123LabelProblem(std::string_view name);
std::string dns1123SubdomainProblem(std::string_view name);
/// Keys of labels, names of resources: [subdomain "/"] name.
std::string qualifiedNameProblem(std::string_view name);
/// Like a label key, but the prefix may have upper case letters.
std::string annotationKeyProblem(std::string_view key);
/// Empty, or letters, digits, "-", "_", "." with a letter or digit at both ends; at most 63.
std::string labelValueProblem(std::string_view value);
/// The rules of every supported API server: not empty, printable ASCII, no "=".
std::string envNameProblem(std::string_view name);
/// The name for messages. For NAME=value, given by mistake, the part after "=" is hidden, because it may be a
/// secret.
std::string shownEnvName(std::string_view name);
/// The additional rules of API servers before 1.32.
std::string strictEnvNameProblem(std::string_view name);
/// Keys of ConfigMaps and Secrets.
std::string configMapKeyProblem(std::string_view key);
std::string portNameProblem(std::string_view name);
std::string portNumberProblem(long long port);
/// Resources of containers: "cpu", "nvidia.com/gpu".
std::string resourceNameProblem(std::string_view name);
/// Hosts of Ingress rules.
std::string hostProblem(std::string_view host);

/// Whether `text` is an IPv4 or IPv6 address. Leading zeros are allowed, as in old API fields.
bool isIpAddress(std::string_view text);
/// Whether a resource is native and not extended, by the API server's rule: no domain, or one of Kubernetes.
bool isNativeResource(std::string_view name);

/// The maximum total size of all keys and values in metadata.annotations.
inline constexpr std::size_t kMaxAnnotationBytes = std::size_t{256} * 1024;
inline constexpr std::size_t kMaxLabelLength = 63;
inline constexpr std::size_t kMaxSubdomainLength = 253;

/// Converts ASCII letters to lower case and keeps other bytes.
std::string lowerAscii(std::string_view text);

}  // namespace dynamo::k8s
