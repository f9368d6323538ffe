#pragma once
// Base64 of Secrets, kubeconfig files and CA bundles.

#include <optional>
#include <string>
#include <string_view>

namespace dynamo::kube {

/// Decodes standard base64 with padding and ignores line breaks. Returns nullopt if the text is not base64.
std::optional<std::string> decodeBase64(std::string_view text);
std::string encodeBase64(std::string_view bytes);

}  // namespace dynamo::kube
