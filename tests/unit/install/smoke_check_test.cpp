// What the answers to the dry runs of `smoke` say.
#include "controller/install/smoke_check.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/json/parse.h"

namespace dynamo::install {
namespace {

using kube::ApiError;
using kube::Reason;

enum Which { Good, Bad, Alpha };

json::Document parsed(const std::string& text) {
  json::Document document;
  REQUIRE_FALSE(json::parse(text, document));
  return document;
}

Judgement judge(Which which, Answer answer) {
  return smokeChecks()[which].judge(answer, "demo");
}
Judgement judge(Which which, Reason reason, const std::string& message) {
  return judge(which, Answer{ApiError{reason, 0, message}});
}

bool has(const Judgement& judgement, const std::string& text) {
  return judgement.reason.find(text) != std::string::npos;
}

const std::string kDenied = "admission webhook \"vdynamographdeployment.kb.io\" denied the request: ";

}  // namespace

TEST_CASE("admitted objects must show what the webhook has done") {
  CHECK(judge(Good, parsed(R"({"metadata": {"annotations": {"nvidia.com/dynamo-defaulted": "{}"}}})"))
            .verdict == Verdict::Passed);
  // Another operator's webhook leaves this annotation only.
  const Judgement other = judge(
      Good, parsed(R"({"metadata": {"annotations": {"nvidia.com/dynamo-operator-origin-version": "1"}}})"));
  CHECK(other.verdict == Verdict::Waiting);
  CHECK(has(other, "no mutating webhook of this operator is registered for namespace demo"));

  CHECK(judge(Bad, parsed("{}")).verdict == Verdict::Waiting);
  CHECK(has(judge(Bad, parsed("{}")), "is not denied"));

  CHECK(judge(Alpha, parsed(R"({"spec": {"profilingConfig": {"outputPVC": "dynamo-smoke"}}})")).verdict ==
        Verdict::Passed);
  const Judgement pruned = judge(Alpha, parsed(R"({"spec": {"profilingConfig": {}}})"));
  CHECK(pruned.verdict == Verdict::Waiting);
  CHECK(has(pruned, "the conversion loses fields"));
}

TEST_CASE("denials") {
  CHECK(judge(Bad, Reason::Invalid, kDenied + "spec.envs[0].name: Invalid value: \"DYNAMO=SMOKE\": no")
            .verdict == Verdict::Passed);
  const Judgement foreign = judge(Bad, Reason::Forbidden, kDenied + "spec.services: not this week");
  CHECK(foreign.verdict == Verdict::Waiting);
  CHECK(has(foreign, "not with the words of this operator"));
  // The words of the rule alone are not enough: the answer must be that of a webhook.
  CHECK(judge(Bad, Reason::Invalid, "graph is invalid: spec.envs[0].name: Invalid value").verdict ==
        Verdict::Failed);

  const Judgement wrongly = judge(Good, Reason::Invalid, kDenied + "not this week");
  CHECK(wrongly.verdict == Verdict::Failed);
  CHECK(has(wrongly, "a valid object is denied: admission webhook"));
  CHECK(judge(Alpha, Reason::Invalid, kDenied + "not this week").verdict == Verdict::Failed);
  CHECK(judge(Alpha, Reason::Invalid,
              kDenied + "spec.hardware: Required value: must be set because GPU discovery is off, "
                        "but v1alpha1 has no such field")
            .verdict == Verdict::Passed);
}

TEST_CASE("errors that say nothing about the object") {
  struct Row {
    Reason reason;
    std::string words;
    Verdict verdict;
    std::string told;
  };
  const std::vector<Row> rows = {
      {Reason::NotFound, "the server could not find the requested resource", Verdict::Waiting,
       "the CustomResourceDefinition is missing or not served yet"},
      {Reason::NotFound, "namespaces \"demo\" not found", Verdict::Failed, "there is no namespace demo"},
      {Reason::Internal,
       "Internal error occurred: failed calling webhook \"m\": Post \"https://s\": connect: refused",
       Verdict::Waiting, "the API server cannot call the webhook: Internal error"},
      {Reason::Internal,
       "failed calling webhook \"m\": tls: failed to verify certificate: x509: certificate signed by "
       "unknown authority",
       Verdict::Waiting, "whose caBundle is missing or wrong"},
      {Reason::Internal,
       "conversion webhook for nvidia.com/v1alpha1, Kind=DynamoGraphDeploymentRequest failed: Post",
       Verdict::Waiting, "the API server cannot call the webhook: conversion"},
      {Reason::Forbidden,
       "a is forbidden: User \"u\" cannot create resource \"a\" in API group \"nvidia.com\"",
       Verdict::NotAllowed, "a right is missing: a is forbidden: User"},
      {Reason::Forbidden, "a is forbidden: exceeded quota: q", Verdict::Failed, "refused: a is forbidden"},
      {Reason::Unauthorized, "Unauthorized", Verdict::NotAllowed, "does not accept the credentials"},
      {Reason::Transport, "connection refused", Verdict::Waiting, "the API server gives no answer"},
      {Reason::Timeout, "timeout", Verdict::Waiting, "the API server gives no answer"},
      {Reason::TooManyRequests, "later", Verdict::Waiting, "the API server gives no answer"},
      {Reason::Invalid, "spec: Invalid value", Verdict::Failed, "refused: spec"},
  };
  for (const Row& row : rows) {
    for (const Which which : {Good, Bad, Alpha}) {
      const Judgement judgement = judge(which, row.reason, row.words);
      INFO(row.words << " -> " << judgement.reason);
      CHECK(judgement.verdict == row.verdict);
      CHECK(has(judgement, row.told));
      CHECK(has(judgement, row.words));
    }
  }
}

TEST_CASE("the objects have the kind of their resource and the given name") {
  for (const SmokeCheck& check : smokeChecks()) {
    const json::Document body = parsed(bodyOf(check, "demo", "one"));
    CHECK(json::findText(&body, "kind") == check.resource.kind);
    CHECK(json::findText(&body, "apiVersion") == "nvidia.com/v1alpha1");
    CHECK(json::findText(json::find(&body, "metadata"), "name") == "one");
    CHECK(json::findText(json::find(&body, "metadata"), "namespace") == "demo");
  }
}

}  // namespace dynamo::install
