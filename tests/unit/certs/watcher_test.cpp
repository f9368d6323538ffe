#include "certs/watcher.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "certs/make.h"
#include "tests/unit/certs/tls_support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

// A Secret volume as the kubelet keeps it: the files are links into ..data, and an update replaces the link
// ..data.
class SecretVolume {
 public:
  explicit SecretVolume(std::filesystem::path path) : path_{std::move(path)} {
    std::filesystem::create_directories(path_);
    for (const char* name : {"tls.crt", "tls.key"}) {
      std::filesystem::create_symlink(std::filesystem::path{"..data"} / name, path_ / name);
    }
  }

  void project(const PemPair& pair) {
    const std::string version = "..version" + std::to_string(++version_);
    std::filesystem::create_directory(path_ / version);
    writeText(path_ / version / "tls.crt", pair.certificate);
    writeText(path_ / version / "tls.key", pair.privateKey);
    std::filesystem::create_directory_symlink(version, path_ / "..data_tmp");
    std::filesystem::rename(path_ / "..data_tmp", path_ / "..data");
    if (version_ > 1) std::filesystem::remove_all(path_ / ("..version" + std::to_string(version_ - 1)));
  }

 private:
  std::filesystem::path path_;
  int version_ = 0;
};

std::string served(const CertificateWatcher& watcher) {
  return connect(watcher.context().get(), {}).peerCertificate();
}

std::string describe(const std::optional<CertificateEvent>& event) {
  if (!event) return "nothing";
  const std::string problem{event->error ? toString(event->error->problem) : ""};
  switch (event->kind) {
    case WatchEvent::Loaded:
      return "Loaded";
    case WatchEvent::Waiting:
      return "Waiting " + problem;
    case WatchEvent::Rejected:
      return "Rejected " + problem;
    case WatchEvent::Recovered:
      return "Recovered";
  }
  return "?";
}

}  // namespace

TEST_CASE("files appear after the start: the placeholder first, then a pair") {
  const TemporaryDirectory directory;
  CertificateWatcher watcher{directory.path() / "mount", {}};
  CHECK(describe(watcher.poll(kNow)) == "Waiting Missing");
  CHECK(describe(watcher.poll(kNow)) == "nothing");
  CHECK(watcher.context() == nullptr);
  CHECK_FALSE(watcher.notAfter());
  CHECK_FALSE(watcher.ready(kNow));

  SecretVolume volume{directory.path() / "mount"};
  volume.project({"", ""});
  CHECK(describe(watcher.poll(kNow)) == "Waiting Empty");
  CHECK_FALSE(watcher.ready(kNow));

  const PemPair pair = makeData().serving;
  volume.project(pair);
  const auto event = watcher.poll(kNow);
  CHECK(describe(event) == "Loaded");
  CHECK(event->notAfter == kNow + days{365});
  CHECK(watcher.ready(kNow));
  CHECK(served(watcher) == pair.certificate);
  CHECK(describe(watcher.poll(kNow)) == "nothing");
}

TEST_CASE("a swapped Secret is served and old connections continue") {
  const TemporaryDirectory directory;
  SecretVolume volume{directory.path()};
  const CertificateData first = makeData();
  const CertificateData second = makeData(kNow + days{1});
  volume.project(first.serving);
  CertificateWatcher watcher{directory.path(), {}};
  REQUIRE(describe(watcher.poll(kNow)) == "Loaded");
  const Connection old = connect(watcher.context().get(), {});

  volume.project(second.serving);
  CHECK(describe(watcher.poll(kNow + days{1})) == "Loaded");
  CHECK(served(watcher) == second.serving.certificate);
  CHECK(watcher.notAfter() == kNow + days{366});
  CHECK(transfer(old.client.get(), old.server.get(), "still here") == "still here");

  volume.project(first.serving);
  CHECK(describe(watcher.poll(kNow + days{1})) == "Loaded");
}

TEST_CASE("invalid CAs of clients do not block a new pair, and the valid ones stay in use") {
  const TemporaryDirectory directory;
  const auto clients = directory.path() / "clients.crt";
  SecretVolume volume{directory.path() / "mount"};
  const CertificateData first = makeData();
  const CertificateData second = makeData(kNow + days{1});
  volume.project(first.serving);
  CertificateWatcher watcher{directory.path() / "mount", {}, {}, clients};
  const auto pollNext = [&] { return describe(watcher.poll(kNow + days{1})); };
  CHECK(pollNext() == "Waiting Missing");  // no pair is served before the CAs of clients are read

  writeText(clients, first.ca.certificate);
  REQUIRE(pollNext() == "Loaded");
  writeText(clients, "no certificate");
  CHECK(pollNext().starts_with("Rejected"));
  CHECK(pollNext() == "nothing");
  CHECK(watcher.failing());

  volume.project(second.serving);
  CHECK(pollNext() == "Loaded");
  CHECK(served(watcher) == second.serving.certificate);
  CHECK(SSL_CTX_get_verify_mode(watcher.context().get()) == SSL_VERIFY_PEER);
  CHECK(pollNext().starts_with("Rejected"));
  CHECK(watcher.failing());

  writeText(clients, second.ca.certificate);
  CHECK(pollNext() == "Loaded");
  CHECK_FALSE(watcher.failing());
  CHECK(pollNext() == "nothing");
}

TEST_CASE("rewriting the same content is no event") {
  const TemporaryDirectory directory;
  SecretVolume volume{directory.path()};
  const PemPair pair = makeData().serving;
  volume.project(pair);
  CertificateWatcher watcher{directory.path(), {}};
  REQUIRE(describe(watcher.poll(kNow)) == "Loaded");
  const ServerContext context = watcher.context();
  volume.project(pair);
  CHECK(describe(watcher.poll(kNow)) == "nothing");
  CHECK(watcher.context() == context);
}

TEST_CASE("an invalid swap keeps the old pair and is reported once") {
  const CertificateData good = makeData();
  const CertificateData other = makeData();
  struct Row {
    PemPair bad;
    std::string event;
  };
  const std::string garbage(std::size_t{10} * 1024 * 1024, 'x');
  for (const Row& row :
       {Row{{other.serving.certificate, good.serving.privateKey}, "Rejected KeyMismatch"},
        Row{{"garbage", other.serving.privateKey}, "Rejected NotPem"},
        Row{{garbage, other.serving.privateKey}, "Rejected TooLarge"}, Row{{"", ""}, "Rejected Empty"},
        Row{makeData(kNow - days{400}).serving, "Rejected Expired"},
        Row{makeData(kNow + days{400}).serving, "Rejected NotYetValid"},
        Row{forge({.extendedKeyUsage = "clientAuth"}), "Rejected WrongUsage"},
        Row{forge({.keyType = "RSA:1024"}), "Rejected TooWeak"}}) {
    const TemporaryDirectory directory;
    SecretVolume volume{directory.path()};
    volume.project(good.serving);
    CertificateWatcher watcher{directory.path(), {}};
    REQUIRE(describe(watcher.poll(kNow)) == "Loaded");
    const ServerContext context = watcher.context();

    volume.project(row.bad);
    const auto event = watcher.poll(kNow);
    CHECK(describe(event) == row.event);
    REQUIRE(event->error);
    CHECK(event->error->text.find((directory.path() / "tls.").string()) == 0);
    CHECK(event->notAfter == kNow + days{365});
    CHECK(watcher.context() == context);
    CHECK(watcher.ready(kNow));
    for (int i = 0; i < 3; ++i) CHECK(describe(watcher.poll(kNow)) == "nothing");

    // Other invalid content is reported again. The return of the good pair ends the failure, and so does a
    // new pair.
    volume.project({"something else", "entirely"});
    CHECK(describe(watcher.poll(kNow)) == "Rejected NotPem");
    volume.project(good.serving);
    CHECK(describe(watcher.poll(kNow)) == "Recovered");
    CHECK(watcher.context() == context);
    CHECK(describe(watcher.poll(kNow)) == "nothing");
    volume.project(other.serving);
    CHECK(describe(watcher.poll(kNow)) == "Loaded");
    CHECK(served(watcher) == other.serving.certificate);
  }
}

TEST_CASE("a pair for another name does not replace one that API servers accept") {
  const PemPair good = makeData().serving;
  const PemPair other = makeData(kNow, "another").serving;
  const PemPair wildcard = forge({.alternativeNames = "DNS:*.ns.svc"});
  const PemPair commonName = forge({.commonName = "svc.ns.svc", .alternativeNames = "IP:127.0.0.1"});
  const TemporaryDirectory directory;
  SecretVolume volume{directory.path()};
  CertificateWatcher watcher{directory.path(), {}, "svc.ns.svc"};
  const auto named = [&](const PemPair& pair, Time at = kNow) {
    volume.project(pair);
    const auto event = watcher.poll(at);
    return describe(event) + (event && event->error ? " " + event->error->text : "");
  };
  const std::string wrongName = (directory.path() / "tls.crt").string() +
                                ": is not valid for svc.ns.svc, the host name that API servers use";

  // Without a better pair it is served: API servers may use another name.
  CHECK(named(other) == "Loaded " + wrongName);
  CHECK(named(commonName) == "Loaded " + wrongName);
  CHECK(named(good) == "Loaded");
  CHECK(named(other) == "Rejected WrongName " + wrongName);
  CHECK(watcher.failing());
  CHECK(served(watcher) == good.certificate);
  CHECK(named(wildcard) == "Loaded");
  CHECK_FALSE(watcher.failing());
  // The served pair has expired, so a pair for another name replaces it.
  CHECK(named(makeData(kNow + days{366}, "another").serving, kNow + days{366}) == "Loaded " + wrongName);
}

TEST_CASE("notAfter is the earliest end in the chain, and ready depends on the leaf") {
  const PemPair leaf = makeData().serving;
  const PemPair early = forge({.end = kNow + days{60}});
  const TemporaryDirectory directory;
  SecretVolume volume{directory.path()};
  volume.project({leaf.certificate + early.certificate, leaf.privateKey});
  CertificateWatcher watcher{directory.path(), {}};
  const auto event = watcher.poll(kNow);
  REQUIRE(describe(event) == "Loaded");
  CHECK(event->notAfter == kNow + days{60});
  CHECK(watcher.notAfter() == kNow + days{60});
  CHECK(watcher.ready(kNow + days{61}));
}

TEST_CASE("a pair that is not valid yet is loaded when it becomes valid") {
  const TemporaryDirectory directory;
  SecretVolume volume{directory.path()};
  volume.project(makeData(kNow + days{2}).serving);
  CertificateWatcher watcher{directory.path(), {}};
  CHECK(describe(watcher.poll(kNow)) == "Rejected NotYetValid");
  CHECK(describe(watcher.poll(kNow + days{1})) == "nothing");
  CHECK(describe(watcher.poll(kNow + days{2})) == "Loaded");
}

TEST_CASE("ready turns false when the served certificate expires") {
  const TemporaryDirectory directory;
  SecretVolume volume{directory.path()};
  volume.project(makeData().serving);
  CertificateWatcher watcher{directory.path(), {}};
  REQUIRE(describe(watcher.poll(kNow)) == "Loaded");
  CHECK(watcher.ready(kNow + days{365}));
  CHECK_FALSE(watcher.ready(kNow + days{365} + seconds{1}));
  CHECK(describe(watcher.poll(kNow + days{366})) == "nothing");
  volume.project(makeData(kNow + days{366}).serving);
  CHECK(describe(watcher.poll(kNow + days{366})) == "Loaded");
  CHECK(watcher.ready(kNow + days{366}));
}

TEST_CASE("plain files in a plain directory are loaded") {
  const TemporaryDirectory directory;
  CertificateWatcher watcher{directory.path(), {}};
  CHECK(describe(watcher.poll(kNow)) == "Waiting Missing");
  const PemPair pair = makeData().serving;
  writeText(directory.path() / "tls.crt", pair.certificate);
  CHECK(describe(watcher.poll(kNow)) == "Waiting Missing");  // other content: only tls.key is missing now
  writeText(directory.path() / "tls.key", pair.privateKey);
  CHECK(describe(watcher.poll(kNow)) == "Loaded");
  std::filesystem::remove(directory.path() / "tls.key");
  CHECK(describe(watcher.poll(kNow)) == "Rejected Missing");
  CHECK(watcher.ready(kNow));
}

TEST_CASE("connections may be opened while the pair is swapped") {
  const TemporaryDirectory directory;
  SecretVolume volume{directory.path()};
  const PemPair first = makeData().serving;
  const PemPair second = makeData().serving;
  volume.project(first);
  CertificateWatcher watcher{directory.path(), {}};
  REQUIRE(describe(watcher.poll(kNow)) == "Loaded");
  std::atomic<bool> stop{false};
  std::atomic<int> good{0};
  std::atomic<int> bad{0};
  std::thread client{[&] {
    while (!stop) {
      const std::string certificate = served(watcher);
      const bool known = certificate == first.certificate || certificate == second.certificate;
      ++(known && watcher.ready(kNow) ? good : bad);
    }
  }};
  for (int i = 0; i < 20; ++i) {
    volume.project(i % 2 == 0 ? second : first);
    CHECK(describe(watcher.poll(kNow)) == "Loaded");
  }
  while (good + bad == 0) std::this_thread::yield();
  stop = true;
  client.join();
  CHECK(bad == 0);
}
