#include "common/k8s/text_packer.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace dynamo::k8s::test {
namespace {

using Packed = TextPacker::Packed;

std::string randomText(std::mt19937& random, std::size_t size) {
  std::string text;
  for (; size > 0; --size) text += static_cast<char>(random() % 256);
  return text;
}

/// Texts of one shape have a long part in common. Each has a short part of its own.
std::string sibling(std::size_t shape, std::size_t number) {
  static std::map<std::size_t, std::string> commonParts;
  std::string& common = commonParts[shape];
  if (common.empty()) {
    std::mt19937 random{static_cast<unsigned>(shape)};
    common = randomText(random, 600);
  }
  const std::string_view view = common;
  return fmt::format("{}:{}:{}:{}", view.substr(0, 200), number, view.substr(200), number * 7);
}

TEST_CASE("packed texts unpack byte for byte, with and without a dictionary") {
  std::mt19937 random{3};
  const std::string texts[] = {"",
                               "{}",
                               R"({"metadata":{"name":"a"}})",
                               std::string(1, '\0'),
                               std::string(3000000, 'x'),
                               randomText(random, 5),
                               randomText(random, 5000),
                               randomText(random, 300000),
                               sibling(1, 2)};
  TextPacker packer{1};
  for (int round = 0; round < 2; ++round) {
    CHECK(packer.dictionaries() == static_cast<std::size_t>(round));
    for (const std::string& text : texts) {
      const Packed packed = packer.pack(0, text);
      INFO(round << ' ' << text.size());
      CHECK((packed.dictionary != 0) == (round == 1));
      CHECK((packer.unpack(packed.dictionary, packed.bytes) == text));
    }
    for (std::size_t i = 0; i < 100; ++i) packer.pack(0, sibling(1, i));
  }
}

TEST_CASE("a text that resembles its siblings takes few bytes") {
  TextPacker packer{2};
  CHECK(packer.pack(0, sibling(1, 0)).bytes.size() > 600);
  for (std::size_t i = 1; i < 100; ++i) packer.pack(0, sibling(1, i));
  CHECK(packer.pack(0, sibling(1, 100)).bytes.size() < 40);
  CHECK(packer.pack(1, sibling(1, 101)).bytes.size() > 600);  // another group
}

TEST_CASE("long texts get no dictionary") {
  TextPacker packer{1};
  for (std::size_t i = 0; i < 100; ++i) packer.pack(0, std::string(33 * 1024, 'x'));
  CHECK(packer.dictionaries() == 0);
}

TEST_CASE("a dictionary exists until the last of its texts is released") {
  TextPacker packer{1};
  std::vector<Packed> old;
  for (std::size_t i = 0; i < 100; ++i) old.push_back(packer.pack(0, sibling(1, i)));
  CHECK(packer.dictionaries() == 1);
  const Packed kept = old.back();
  std::vector<Packed> recent;
  for (std::size_t i = 0; i < 1000; ++i) recent.push_back(packer.pack(0, sibling(2, i)));
  CHECK(packer.dictionaries() == 2);
  CHECK(recent.back().dictionary != kept.dictionary);
  CHECK(recent.back().bytes.size() < 40);
  CHECK((packer.unpack(kept.dictionary, kept.bytes) == sibling(1, 99)));
  for (const Packed& packed : old) packer.release(packed.dictionary);
  CHECK(packer.dictionaries() == 2);  // the first texts of the new shape use it, too
  std::erase_if(recent, [&](const Packed& packed) {
    if (packed.dictionary != kept.dictionary) return false;
    packer.release(packed.dictionary);
    return true;
  });
  CHECK(packer.dictionaries() == 1);
  CHECK((packer.unpack(recent.back().dictionary, recent.back().bytes) == sibling(2, 999)));
  for (const Packed& packed : recent) packer.release(packed.dictionary);
  CHECK(packer.dictionaries() == 1);  // the newest stays for the next texts
}

TEST_CASE("a dictionary that packs no better than the former one is not used") {
  TextPacker packer{1};
  const auto dictionaryAt = [&](std::size_t number) { return packer.pack(0, sibling(1, number)).dictionary; };
  for (std::size_t i = 0; i < 100; ++i) dictionaryAt(i);
  const TextPacker::Dictionary first = dictionaryAt(100);
  for (std::size_t i = 101; i < 3000; ++i) {
    if (dictionaryAt(i) != first) FAIL(i);
  }
  CHECK(packer.dictionaries() == 1);
}

TEST_CASE("a group has a bounded number of dictionaries") {
  TextPacker packer{1};
  std::deque<std::pair<std::size_t, Packed>> some;
  std::size_t number = 0;
  const auto pack = [&] {
    const std::size_t shape = number / 4000;  // changes, so that the next dictionary is always better
    Packed packed = packer.pack(0, sibling(shape, number));
    if (number % 997 == 0) some.emplace_back(number, packed);
    ++number;
    return packed;
  };
  std::vector<TextPacker::Dictionary> used;
  while (number < 250000) used.push_back(pack().dictionary);
  CHECK(packer.dictionaries() == TextPacker::kMaxDictionariesOfGroup);
  for (const auto& [each, packed] : some) {
    if (packer.unpack(packed.dictionary, packed.bytes) != sibling(each / 4000, each)) FAIL(each);
  }
  const TextPacker::Dictionary last = used.back();
  for (const TextPacker::Dictionary dictionary : used) packer.release(dictionary);
  CHECK(packer.dictionaries() == 1);
  while (number < 290000) packer.release(pack().dictionary);
  CHECK(pack().dictionary != last);
}

TEST_CASE("texts survive any order of packing and releasing") {
  TextPacker packer{3};
  std::mt19937 random{11};
  struct Kept {
    std::string text;
    Packed packed;
  };
  std::vector<Kept> all;
  for (int step = 0; step < 20000; ++step) {
    if (!all.empty() && random() % 100 < 45) {
      const std::size_t at = random() % all.size();
      const Kept& each = all[at];
      if (packer.unpack(each.packed.dictionary, each.packed.bytes) != each.text) FAIL(step);
      packer.release(each.packed.dictionary);
      all[at] = std::move(all.back());
      all.pop_back();
    } else {
      std::string text = random() % 50 == 0 ? randomText(random, random() % 5000)
                                            : sibling(static_cast<std::size_t>(step / 3000), random() % 1000);
      Packed packed = packer.pack(random() % 3, text);
      all.push_back({std::move(text), std::move(packed)});
    }
  }
  CHECK(all.size() > 1000);
  CHECK(packer.dictionaries() > 3);
  for (const Kept& each : all) {
    if (packer.unpack(each.packed.dictionary, each.packed.bytes) != each.text) FAIL(each.text);
    packer.release(each.packed.dictionary);
  }
  CHECK(packer.dictionaries() == 3);
}

}  // namespace
}  // namespace dynamo::k8s::test
