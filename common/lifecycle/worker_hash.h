#pragma once
// Which hash names the desired worker generation (quirk ctl-Q31).

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/render/children.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

/// The hash of workers that were created by a release without hashes.
inline constexpr std::string_view kLegacyHash = "legacy";

/// The worker generation of a DynamoComponentDeployment (quirk ctl-Q46). It is part of the name,
/// GRAPH-SERVICE-HASH; the label, which anybody can edit, counts only for components whose name has no hash,
/// such as those of releases without hashes. Empty: none.
std::string_view generationHash(const json::Value& component);

/// Whether the DynamoComponentDeployment runs workers, which have generations.
bool isWorkerComponent(const json::Value& component);

/// The hash of the graph's annotation if the live workers of that hash equal the workers in `rendered`, else
/// `computed`. The input of the hash may differ between releases, but a new release must not roll workers
/// whose spec the user has not changed. The comparison covers the fields of the hash and the graph's envs, as
/// pods get them: whether the object or rendering adds a default makes no difference.
std::string effectiveWorkerHash(const json::Value& graph, std::string_view computed,
                                const std::vector<render::Child>& rendered,
                                std::span<const json::Value* const> components,
                                const render::Context& context);

/// The desired worker generation.
struct DesiredWorkers {
  std::string hash;
  /// The children of the graph under the hash of its annotation, if they were needed for a comparison.
  std::optional<render::Children> rendered = std::nullopt;
};

/// The desired worker generation of a graph on the component pathway. `context` is that of the rendering.
/// If `known` is a hash, the caller only needs to know whether it is the desired one.
DesiredWorkers desiredWorkers(const json::Value& graph, const render::Context& context,
                              std::span<const json::Value* const> components,
                              std::optional<std::string_view> known, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
