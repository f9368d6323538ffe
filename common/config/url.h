#pragma once
// The check of URL fields.

#include <optional>
#include <string>
#include <string_view>

namespace dynamo::config {

/// Why Go's url.Parse refuses `url`; nullopt when it accepts it. Lenient: "localhost" and "host:8001" are
/// URLs for it, so the reference accepts them in infrastructure.modelExpressURL.
std::optional<std::string> urlProblem(std::string_view url);

}  // namespace dynamo::config
