#pragma once
// Facts of a cluster as a document: for offline use, and for the webhook, which does not ask the cluster.

#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/render/fact_index.h"

namespace dynamo::render {

/// Reads a YAML or JSON file over `facts`; returns what is wrong with it, empty when nothing is:
///   apis: {grove: true, leaderWorkerSet: true, kaiScheduler: false, inferencePool: true}
///   pullSecrets: {<namespace>: {<registry>: [<secret>]}}
///   componentServiceAccounts: {<namespace>: [<name>]}
///   checkpoints: [<DynamoCheckpoint>]
std::string loadFacts(const std::string& file, Facts& facts);

/// The same from the text of such a file.
std::string parseFacts(std::string_view text, Facts& facts);

/// The same from a parsed document.
std::string readFacts(const json::Value& document, Facts& facts);

/// One DynamoCheckpoint as services read it.
CheckpointFact checkpointFact(const json::Value& checkpoint);

}  // namespace dynamo::render
