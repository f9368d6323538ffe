// The assignment of namespaces to shards.
#include "controller/kube/shard.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace dynamo::kube::test {

TEST_CASE("the hash is 64-bit FNV-1a") {
  struct Row {
    const char* name;
    std::uint64_t hash;
  };
  const Row rows[] = {
      {"", 0xcbf29ce484222325},
      {"a", 0xaf63dc4c8601ec8c},
      {"foobar", 0x85944171f73967e8},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(shardHash(row.name) == row.hash);
  }
}

TEST_CASE("every namespace belongs to exactly one shard, and shards have similar sizes") {
  constexpr int kNamespaces = 4000;
  for (unsigned count = 1; count <= 16; ++count) {
    CAPTURE(count);
    std::vector<int> sizes(count);
    for (int i = 0; i < kNamespaces; ++i) {
      const std::string name = "team-" + std::to_string(i);
      int shards = 0;
      for (unsigned index = 0; index < count; ++index) {
        if (!inShard(name, Shard{index, count})) continue;
        ++shards;
        ++sizes[index];
      }
      if (shards != 1) FAIL(name << " belongs to " << shards << " shards");
    }
    const int share = kNamespaces / static_cast<int>(count);
    CHECK(*std::min_element(sizes.begin(), sizes.end()) > share * 3 / 4);
    CHECK(*std::max_element(sizes.begin(), sizes.end()) < share * 5 / 4);
  }
}

TEST_CASE("namespaces stay in their shards") {
  struct Row {
    const char* name;
    unsigned of2, of3, of5;
  };
  const Row rows[] = {
      {"", 1, 2, 2},
      {"default", 0, 0, 2},
      {"dynamo-system", 1, 2, 0},
      {"team-a", 0, 1, 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(inShard(row.name, Shard{row.of2, 2}));
    CHECK(inShard(row.name, Shard{row.of3, 3}));
    CHECK(inShard(row.name, Shard{row.of5, 5}));
  }
}

TEST_CASE("one shard manages everything") {
  CHECK(inShard("team-a", Shard{}));
  CHECK(inShard("", Shard{}));
}

TEST_CASE("values of --shard") {
  struct Row {
    const char* text;
    bool valid;
    Shard shard = {};
  };
  const Row rows[] = {
      {"0/1", true, {0, 1}}, {"0/3", true, {0, 3}}, {"2/3", true, {2, 3}}, {"255/256", true, {255, 256}},
      {"3/3", true, {0, 3}}, {"7/3", true, {1, 3}}, {"", false},           {"1", false},
      {"1/0", false},        {"0/0", false},        {"-1/3", false},       {"1/", false},
      {"/3", false},         {"1/3/5", false},      {" 1/3", false},       {"1/3 ", false},
      {"+1/3", false},       {"0/257", false},      {"a/b", false},        {"0/4294967297", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto parsed = parseShard(row.text);
    const Shard* shard = std::get_if<Shard>(&parsed);
    CHECK((shard != nullptr) == row.valid);
    if (shard != nullptr) CHECK(*shard == row.shard);
    if (shard == nullptr)
      CHECK(std::get<std::string>(parsed) == "must be I/N with 0 <= I and 1 <= N <= 256, for example 0/3");
  }
}

TEST_CASE("each shard has its own Lease") {
  CHECK(shardLeaseName("dynamo.nvidia.com", Shard{}) == "dynamo.nvidia.com");
  CHECK(shardLeaseName("dynamo.nvidia.com", Shard{0, 3}) == "dynamo.nvidia.com-shard-0-of-3");
  CHECK(shardLeaseName("dynamo.nvidia.com", Shard{2, 3}) == "dynamo.nvidia.com-shard-2-of-3");
}

}  // namespace dynamo::kube::test
