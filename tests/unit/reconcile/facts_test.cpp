// The facts of the cluster after watches and discovery, and which facts are reported as changed.
#include "controller/reconcile/facts.h"

#include "reconcile_support.h"

namespace dynamo::controller::test {
namespace {

using render::Api;

std::string shown(const render::FactKeys& keys) {
  static constexpr const char* kKinds[] = {
      "api", "pullSecrets", "account", "checkpointByName", "checkpointByHash", "queue"};
  std::string text;
  for (const render::FactKey& key : keys)
    text += std::string{kKinds[static_cast<int>(key.kind)]} + " " + key.namespaceName + "/" + key.name + ";";
  return text;
}

struct Fixture {
  Fixture() {
    facts.onChange([this](const render::FactKeys& keys) { log += shown(keys); });
  }
  std::string take() { return std::exchange(log, {}); }
  std::string secretsFor(const char* registry) const {
    std::string text;
    for (const std::string& name : facts.facts().pullSecrets("n", registry)) text += name + ";";
    return text;
  }

  ClusterFacts facts;
  std::string log;
};

std::string encoded(std::string_view text) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= text.size() - i ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return out;
}

/// A pull secret whose data is `config`.
json::Document secret(const std::string& name, const std::string& config) {
  return parsed("{'apiVersion':'v1','kind':'Secret','metadata':{'namespace':'n','name':'" + name +
                "'},'type':'kubernetes.io/dockerconfigjson','data':{'.dockerconfigjson':'" + encoded(config) +
                "'}}");
}
std::string auths(const std::string& registries) {
  return R"({"auths":{)" + registries + "}}";
}

json::Document account(const std::string& name) {
  return parsed("{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'namespace':'n','name':'" + name +
                "'}}");
}

}  // namespace

TEST_CASE("queues are known after their first list, and each change of one is reported") {
  Fixture f;
  const auto queue = [](const std::string& name) {
    return parsed("{'apiVersion':'scheduling.run.ai/v2','kind':'Queue','metadata':{'name':'" + name + "'}}");
  };
  kube::Sink sink = f.facts.queueSink();
  sink.listBegins();
  sink.present(queue("a"));
  sink.present(queue("b"));
  CHECK_FALSE(f.facts.facts().queue("a").has_value());
  f.take();
  sink.listEnds("1");
  CHECK(f.take() == "api /kaiScheduler;");
  CHECK(f.facts.facts().queue("a") == true);
  CHECK(f.facts.facts().queue("c") == false);
  sink.present(queue("a"));
  CHECK(f.take().empty());
  sink.present(queue("c"));
  sink.deleted(queue("a"));
  CHECK(f.take() == "queue /c;queue /a;");
  CHECK(f.facts.facts().queue("a") == false);
  sink.listBegins();
  sink.present(queue("b"));
  sink.listEnds("2");
  CHECK(f.take() == "queue /c;");
}

TEST_CASE("registries of a pull secret") {
  struct Row {
    const char* about;
    std::string secret;
    std::set<std::string> registries;
  };
  const auto dataOf = [](const std::string& base64) {
    return "{'apiVersion':'v1','kind':'Secret','data':{'.dockerconfigjson':'" + base64 + "'}}";
  };
  for (const Row& row : std::vector<Row>{
           {"two",
            dataOf(encoded(auths(R"("nvcr.io":{"auth":"x"},"registry.example.com":{})"))),
            {"nvcr.io", "registry.example.com"}},
           {"a URL", dataOf(encoded(auths(R"("https://index.example.com/v1/":{})"))), {"index.example.com"}},
           {"no auths", dataOf(encoded("{}")), {}},
           {"auths of another type", dataOf(encoded(R"({"auths":["nvcr.io"]})")), {}},
           {"not JSON", dataOf(encoded("{")), {}},
           {"a list", dataOf(encoded("[]")), {}},
           {"not base64", dataOf("%%%"), {}},
           {"empty", dataOf(""), {}},
           {"no data", "{'apiVersion':'v1','kind':'Secret'}", {}},
           {"data of another type", "{'apiVersion':'v1','kind':'Secret','data':'x'}", {}},
           {"a value of another type",
            "{'apiVersion':'v1','kind':'Secret','data':{'.dockerconfigjson':7}}",
            {}},
       }) {
    CAPTURE(row.about);
    CHECK(registriesOf(parsed(row.secret)) == row.registries);
  }
}

TEST_CASE("pull secrets: only the registries that changed are reported") {
  Fixture f;
  kube::Sink sink = f.facts.pullSecretSink();
  sink.listBegins();
  sink.present(secret("s", auths(R"("a.io":{},"b.io":{})")));
  sink.listEnds("1");
  CHECK(f.take() == "pullSecrets n/a.io;pullSecrets n/b.io;");
  CHECK(f.secretsFor("a.io") == "s;");

  SECTION("the same again") {
    sink.present(secret("s", auths(R"("b.io":{"auth":"other"},"a.io":{})")));
    CHECK(f.take().empty());
  }
  SECTION("one registry is replaced") {
    sink.present(secret("s", auths(R"("a.io":{},"c.io":{})")));
    CHECK(f.take() == "pullSecrets n/b.io;pullSecrets n/c.io;");
    CHECK(f.secretsFor("a.io") == "s;");
    CHECK(f.secretsFor("b.io").empty());
    CHECK(f.secretsFor("c.io") == "s;");
  }
  SECTION("it becomes malformed, and is corrected") {
    sink.present(secret("s", "{"));
    CHECK(f.take() == "pullSecrets n/a.io;pullSecrets n/b.io;");
    CHECK(f.secretsFor("a.io").empty());
    sink.present(secret("s", auths(R"("a.io":{})")));
    CHECK(f.take() == "pullSecrets n/a.io;");
    CHECK(f.secretsFor("a.io") == "s;");
  }
  SECTION("it is deleted") {
    sink.deleted(secret("s", auths("")));
    CHECK(f.take() == "pullSecrets n/a.io;pullSecrets n/b.io;");
    CHECK(f.secretsFor("a.io").empty());
    sink.deleted(secret("s", auths("")));
    CHECK(f.take().empty());
  }
  SECTION("a second one for the same registry") {
    sink.present(secret("r", auths(R"("a.io":{})")));
    CHECK(f.take() == "pullSecrets n/a.io;");
    CHECK(f.secretsFor("a.io") == "r;s;");
    sink.deleted(secret("s", auths("")));
    CHECK(f.secretsFor("a.io") == "r;");
  }
  SECTION("a new list no longer contains it") {
    sink.present(secret("kept", auths(R"("k.io":{})")));
    f.take();
    sink.listBegins();
    sink.present(secret("kept", auths(R"("k.io":{})")));
    sink.listEnds("9");
    CHECK(f.take() == "pullSecrets n/a.io;pullSecrets n/b.io;");
    CHECK(f.secretsFor("a.io").empty());
    CHECK(f.secretsFor("k.io") == "kept;");
  }
  SECTION("a list that fails in the middle and begins again removes nothing") {
    sink.listBegins();
    sink.listBegins();
    sink.present(secret("s", auths(R"("a.io":{},"b.io":{})")));
    sink.listEnds("9");
    CHECK(f.take().empty());
    CHECK(f.secretsFor("a.io") == "s;");
  }
}

TEST_CASE("component accounts: a change is reported if another account is used") {
  Fixture f;
  kube::Sink sink = f.facts.componentAccountSink();
  sink.present(account("b"));
  CHECK(f.take() == "account n/;");
  CHECK(f.facts.facts().componentAccount("n") == "b");
  sink.present(account("b"));
  sink.present(account("c"));
  CHECK(f.take().empty());
  sink.present(account("a"));
  CHECK(f.take() == "account n/;");
  CHECK(f.facts.facts().componentAccount("n") == "a");
  sink.deleted(account("c"));
  CHECK(f.take().empty());
  sink.listBegins();
  sink.present(account("b"));
  sink.listEnds("9");
  CHECK(f.take() == "account n/;");
  CHECK(f.facts.facts().componentAccount("n") == "b");
  sink.deleted(account("b"));
  CHECK(f.take() == "account n/;");
  CHECK(f.facts.facts().componentAccount("n").empty());
}

TEST_CASE("checkpoints: the facts by name, by the old hash and by the new one are reported") {
  Fixture f;
  const auto checkpoint = [](const char* hash, const char* phase) {
    return parsed(
        "{'apiVersion':'nvidia.com/"
        "v1alpha1','kind':'DynamoCheckpoint','metadata':{'namespace':'n','name':'c',"
        "'labels':{'nvidia.com/snapshot-checkpoint-hash':'" +
        std::string{hash} + "'}},'status':{'identityHash':'" + hash + "','phase':'" + phase + "'}}");
  };
  const auto report = [&](const json::Document* now) {
    kube::Change change;
    change.key = {"nvidia.com", "v1alpha1", "DynamoCheckpoint", "n", "c"};
    change.now = now;
    f.facts.checkpointChanged(change);
    return f.take();
  };
  const json::Document creating = checkpoint("h1", "Creating");
  const json::Document ready = checkpoint("h1", "Ready");
  const json::Document other = checkpoint("h2", "Ready");
  CHECK(report(&creating) == "checkpointByName n/c;checkpointByHash n/h1;");
  CHECK(report(&creating).empty());
  CHECK(report(&ready) == "checkpointByName n/c;checkpointByHash n/h1;");
  REQUIRE(f.facts.facts().checkpointWithHash("n", "h1") != nullptr);
  CHECK(f.facts.facts().checkpointWithHash("n", "h1")->ready);
  CHECK(report(&other) == "checkpointByName n/c;checkpointByHash n/h1;checkpointByHash n/h2;");
  CHECK(f.facts.facts().checkpointWithHash("n", "h1") == nullptr);
  CHECK(report(nullptr) == "checkpointByName n/c;checkpointByHash n/h2;");
  CHECK(f.facts.facts().checkpointNamed("n", "c") == nullptr);
  CHECK(report(nullptr).empty());
}

TEST_CASE("discovery: APIs that appear or stay away are reported (decision dec-21)") {
  Fixture f;
  std::chrono::steady_clock::time_point now{};
  const auto discover = [&](const std::vector<std::string>& names) {
    kube::ApiGroups groups;
    for (const std::string& name : names) groups.groups.push_back({name, {"v1", "v1alpha1", "v1beta1"}});
    f.facts.discovered(groups, "v1.34.3", now);
    return f.take();
  };
  CHECK_FALSE(f.facts.facts().api(Api::Grove).has_value());
  CHECK(discover({"nvidia.com"}) ==
        "api /grove;api /inferencePool;api /kaiScheduler;api /leaderWorkerSet;"
        "api /sleepAction;");
  CHECK(f.facts.facts().api(Api::Grove) == false);
  CHECK(discover({"nvidia.com"}).empty());
  CHECK(discover({"nvidia.com", "grove.io"}) == "api /grove;");
  CHECK(f.facts.facts().api(Api::Grove) == true);
  // LeaderWorkerSets need PodGroups.
  CHECK(discover({"grove.io", "leaderworkerset.x-k8s.io"}).empty());
  CHECK(discover({"grove.io", "leaderworkerset.x-k8s.io", "scheduling.volcano.sh"}) ==
        "api /leaderWorkerSet;");
  CHECK(discover({"grove.io"}).empty());
  now += kAbsentTime - std::chrono::seconds{1};
  CHECK(discover({}).empty());
  CHECK(f.facts.facts().api(Api::LeaderWorkerSet) == true);
  now += std::chrono::seconds{1};
  CHECK(discover({}) == "api /leaderWorkerSet;");
  // It came back in time.
  CHECK(discover({"grove.io"}).empty());
  now += kAbsentTime;
  CHECK(discover({}).empty());
  CHECK(f.facts.facts().api(Api::Grove) == true);
  now += kAbsentTime;
  CHECK(discover({}) == "api /grove;");
  CHECK(f.facts.facts().api(Api::Grove) == false);
}

TEST_CASE("an API is served if all its groups are served in the versions that are rendered") {
  struct Row {
    const char* about;
    Api api;
    std::vector<kube::ApiGroup> groups;
    bool served;
    const char* version = "v1.34.3";
  };
  for (const Row& row : {
           Row{"Grove", Api::Grove, {{"grove.io", {"v1alpha1"}}}, true},
           Row{"Grove in another version", Api::Grove, {{"grove.io", {"v1beta1"}}}, false},
           Row{"Grove in two versions", Api::Grove, {{"grove.io", {"v1beta1", "v1alpha1"}}}, true},
           Row{"LWS with PodGroups",
               Api::LeaderWorkerSet,
               {{"leaderworkerset.x-k8s.io", {"v1"}}, {"scheduling.volcano.sh", {"v1beta1"}}},
               true},
           Row{"LWS without PodGroups", Api::LeaderWorkerSet, {{"leaderworkerset.x-k8s.io", {"v1"}}}, false},
           Row{"KAI", Api::KaiScheduler, {{"scheduling.run.ai", {"v2alpha2", "v2"}}}, true},
           Row{"inference", Api::InferencePool, {{"inference.networking.k8s.io", {"v1"}}}, true},
           Row{"an alpha of inference",
               Api::InferencePool,
               {{"inference.networking.k8s.io", {"v1alpha2"}}},
               false},
           Row{"the action sleep", Api::SleepAction, {}, true, "v1.30.0-eks-1234567"},
           Row{"an API server without the action sleep", Api::SleepAction, {}, false, "v1.29.14"},
           Row{"an unknown API server", Api::SleepAction, {}, false, ""},
       }) {
    CAPTURE(row.about);
    CHECK(isServed(row.api, {row.groups}, row.version) == row.served);
  }
}

}  // namespace dynamo::controller::test
