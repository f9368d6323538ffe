#include "certs/names.h"

#include <catch2/catch.hpp>

using namespace dynamo::certs;

TEST_CASE("serving names have the order of the reference operator") {
  CHECK(servingDnsNames("hook", "prod") ==
        std::vector<std::string>{"hook.prod.svc", "hook", "hook.prod", "hook.prod.svc.cluster.local"});
}

TEST_CASE("DNS names in certificates") {
  const std::string label63(63, 'a');
  struct Row {
    std::string name;
    bool good;
  };
  for (const Row& row :
       {Row{"svc.ns.svc", true}, Row{"Dynamo-Webhook-CA", true}, Row{"localhost", true}, Row{"1-2", true},
        Row{label63, true}, Row{label63 + "a", false}, Row{"", false}, Row{".ns.svc", false},
        Row{"a..b", false}, Row{"a.", false}, Row{"-a", false}, Row{"a-", false}, Row{"*.ns.svc", false},
        Row{"a_b", false}, Row{"a,DNS:b", false}, Row{std::string{"a\0b", 3}, false}, Row{"a b", false},
        Row{"\xc3\xa4", false}, Row{label63 + "." + label63 + "." + label63 + "." + label63, false}}) {
    INFO(row.name);
    CHECK(isDnsName(row.name) == row.good);
  }
}

TEST_CASE("IP addresses in certificates") {
  struct Row {
    std::string text;
    std::size_t size;  // 0: rejected
  };
  for (const Row& row : {Row{"127.0.0.1", 4}, Row{"::1", 16}, Row{"fd00::10:20", 16},
                         Row{"::ffff:1.2.3.4", 16}, Row{"127.0.0.1 ", 0}, Row{"127.1", 0},
                         Row{"256.0.0.1", 0}, Row{"fe80::1%eth0", 0}, Row{"", 0}, Row{"10.0.0.0/8", 0}}) {
    INFO(row.text);
    const auto ip = parseIp(row.text);
    CHECK((ip ? ip->size : 0) == row.size);
  }
}

TEST_CASE("names of other releases in the namespace are recognised") {
  const ServiceName own{"mine", "ns"};
  struct Row {
    std::vector<std::string> present;
    std::vector<std::string> kept;
  };
  const std::vector<std::string> theirs = servingDnsNames("theirs", "ns");
  for (const Row& row : {Row{servingDnsNames("mine", "ns"), {}}, Row{theirs, theirs},
                         Row{{"theirs.other.svc", "theirs.other"}, {}}, Row{{"theirs"}, {}},
                         Row{{"theirs.ns"}, {}}, Row{{"theirs.ns.svc", "example.com"}, {"theirs.ns.svc"}},
                         Row{{"theirs.ns.svc", "theirs.ns.svc"}, {"theirs.ns.svc"}},
                         Row{{"theirs.ns.svc.example.com"}, {}}, Row{{"*.ns.svc", "a.theirs.ns.svc"}, {}}}) {
    CHECK(otherServiceNames(row.present, own) == row.kept);
  }
}

TEST_CASE("the number of kept names is bounded") {
  std::vector<std::string> present;
  for (int i = 0; i < 1000; ++i) present.push_back("s" + std::to_string(i) + ".ns.svc");
  const auto kept = otherServiceNames(present, {"mine", "ns"});
  REQUIRE(kept.size() == kMaxKeptNames);
  CHECK(kept.front() == "s0.ns.svc");
}
