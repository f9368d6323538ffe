#pragma once
// Reads the facts of a cluster from a document, for offline use and for the webhook, which does not query the
// cluster.

#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/render/fact_index.h"

namespace dynamo::render {

/// Adds the facts of a YAML or JSON file to `facts`. Returns the error, or "" if there is none. Format:
///   apis: {grove: true, leaderWorkerSet: true, kaiScheduler: false, inferencePool: true,
///          sleepAction: true}
///   pullSecrets: {<namespace>: {<registry>: [<secret>]}}
///   componentServiceAccounts: {<namespace>: [<name>]}
///   checkpoints: [<DynamoCheckpoint>]
///   hardware: {gpuSku: h100_sxm, vramMb: 81920, numGpusPerNode: 8, totalGpus: 16}
std::string loadFacts(const std::string& file, Facts& facts);

/// The same from the text of such a file.
std::string parseFacts(std::string_view text, Facts& facts);

/// The same from a parsed document.
std::string readFacts(const json::Value& document, Facts& facts);

/// The fact of a DynamoCheckpoint.
CheckpointFact checkpointFact(const json::Value& checkpoint);

}  // namespace dynamo::render
