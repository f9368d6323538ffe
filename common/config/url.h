#pragma once
// Validation of URL fields.

#include <optional>
#include <string>
#include <string_view>

namespace dynamo::config {

/// The reason why Go's url.Parse rejects `url`; nullopt if it accepts it. url.Parse accepts "localhost" and
/// "host:8001", so the reference accepts them in infrastructure.modelExpressURL.
std::optional<std::string> urlProblem(std::string_view url);

}  // namespace dynamo::config
