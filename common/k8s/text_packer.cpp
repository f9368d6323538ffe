#include "common/k8s/text_packer.h"

#include <zdict.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

namespace dynamo::k8s {
namespace {

// Higher levels save less memory than their larger tables cost.
constexpr int kLevel = 1;
// Enough for several objects of each common shape.
constexpr std::size_t kDictionaryBytes = std::size_t{32} * 1024;
// Bounds what ZDICT_finalizeDictionary adds to the content: a header and entropy tables.
constexpr std::size_t kDictionaryHeader = 4096;
// The number of texts that a dictionary is made of. Half of them become its content. The other half yields
// the statistics of what differs between texts. Texts that the dictionary contains would yield wrong
// statistics.
constexpr std::size_t kSamples = 64;
constexpr std::size_t kMaxSampleBytes = std::size_t{512} * 1024;
// The number of texts between two attempts to make a better dictionary. The first dictionary knows few
// objects, so the next attempts follow soon.
constexpr std::size_t kFirstInterval = 256;
constexpr std::size_t kMaxInterval = 16384;
// A new dictionary must pack texts to 7/8 of their former size. Otherwise the old one stays, so that texts
// that change slowly do not leave many dictionaries behind.
constexpr std::size_t kBetterNumerator = 7;
constexpr std::size_t kBetterDenominator = 8;

struct Free {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CDict* dictionary) const { ZSTD_freeCDict(dictionary); }
  void operator()(ZSTD_DDict* dictionary) const { ZSTD_freeDDict(dictionary); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, Free>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, Free>;
using PackTables = std::unique_ptr<ZSTD_CDict, Free>;
using UnpackTables = std::unique_ptr<ZSTD_DDict, Free>;

template <typename Owner>
Owner required(typename Owner::pointer made) {
  if (made == nullptr) throw std::bad_alloc{};
  return Owner{made};
}

/// A dictionary of `samples`; empty: they are too few or too short.
std::string makeDictionary(const std::vector<std::string>& samples) {
  std::string content;
  std::string rest;
  std::vector<std::size_t> restSizes;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i % 2 == 0) {
      content += samples[i];
    } else {
      rest += samples[i];
      restSizes.push_back(samples[i].size());
    }
  }
  content.resize(std::min(content.size(), kDictionaryBytes));
  ZDICT_params_t parameters{};
  parameters.compressionLevel = kLevel;
  std::string dictionary(content.size() + kDictionaryHeader, '\0');
  const std::size_t size = ZDICT_finalizeDictionary(dictionary.data(), dictionary.size(), content.data(),
                                                    content.size(), rest.data(), restSizes.data(),
                                                    static_cast<unsigned>(restSizes.size()), parameters);
  dictionary.resize(ZDICT_isError(size) != 0 ? 0 : size);
  return dictionary;
}

}  // namespace

struct TextPacker::State {
  struct Known {
    UnpackTables unpack;  ///< nullptr: free, or the entry without a dictionary
    std::size_t users = 0;
    std::size_t group = 0;
  };
  struct Group {
    Dictionary newest = 0;
    PackTables pack;  ///< of the newest dictionary
    std::vector<std::string> samples;
    std::size_t sampleBytes = 0;
    std::size_t untilSampling = 0;  ///< texts to be packed before samples are collected
    std::size_t interval = kFirstInterval;
    std::size_t dictionaries = 0;
  };

  explicit State(std::size_t count) : groups(count) {
    const auto set = [&](ZSTD_cParameter parameter, int value) {
      ZSTD_CCtx_setParameter(compressor.get(), parameter, value);
    };
    set(ZSTD_c_compressionLevel, kLevel);
    set(ZSTD_c_dictIDFlag, 0);  // the number of the dictionary is known
  }

  std::string compress(const ZSTD_CDict* dictionary, std::string_view text) {
    buffer.resize(ZSTD_compressBound(text.size()));
    ZSTD_CCtx_refCDict(compressor.get(), dictionary);
    const std::size_t size =
        ZSTD_compress2(compressor.get(), buffer.data(), buffer.size(), text.data(), text.size());
    if (ZSTD_isError(size) != 0) throw std::bad_alloc{};  // no other error is possible
    std::string packed = buffer.substr(0, size);
    if (buffer.size() > kMaxSampleBytes) buffer = {};
    return packed;
  }

  void collect(std::size_t index, std::string_view text) {
    Group& group = groups[index];
    if (group.untilSampling != 0) {
      --group.untilSampling;
      return;
    }
    if (group.dictionaries >= kMaxDictionariesOfGroup || text.size() > kDictionaryBytes) return;
    group.samples.emplace_back(text);
    group.sampleBytes += text.size();
    if (group.samples.size() < kSamples && group.sampleBytes < kMaxSampleBytes) return;
    renew(index);
    group.samples = {};
    group.sampleBytes = 0;
    group.untilSampling = group.interval;
    group.interval = std::min(group.interval * 4, kMaxInterval);
  }

  /// Makes a dictionary of the samples and uses it if it is better than the newest one.
  void renew(std::size_t index) {
    Group& group = groups[index];
    const std::string dictionary = makeDictionary(group.samples);
    if (dictionary.empty()) return;
    auto tables = required<PackTables>(ZSTD_createCDict(dictionary.data(), dictionary.size(), kLevel));
    if (group.newest != 0) {
      std::size_t before = 0;
      std::size_t now = 0;
      for (std::size_t i = 1; i < group.samples.size(); i += 2) {
        before += compress(group.pack.get(), group.samples[i]).size();
        now += compress(tables.get(), group.samples[i]).size();
      }
      if (now * kBetterDenominator > before * kBetterNumerator) return;
    }
    auto free = std::find_if(known.begin() + 1, known.end(), [](const Known& each) { return !each.unpack; });
    if (free == known.end()) free = known.insert(free, Known{});
    free->unpack = required<UnpackTables>(ZSTD_createDDict(dictionary.data(), dictionary.size()));
    free->group = index;
    free->users = 0;
    const Dictionary former = group.newest;
    group.newest = static_cast<Dictionary>(free - known.begin());
    group.pack = std::move(tables);
    ++group.dictionaries;
    if (former != 0) removeUnused(former);
  }

  void removeUnused(Dictionary dictionary) {
    Known& each = known[dictionary];
    if (each.users != 0 || groups[each.group].newest == dictionary) return;
    --groups[each.group].dictionaries;
    each = {};
  }

  std::vector<Group> groups;
  std::vector<Known> known = std::vector<Known>(1);  ///< by number; 0 means none
  std::string buffer;
  Compressor compressor = required<Compressor>(ZSTD_createCCtx());
  Decompressor decompressor = required<Decompressor>(ZSTD_createDCtx());
};

TextPacker::TextPacker(std::size_t groups) : state_(std::make_unique<State>(groups)) {}
TextPacker::~TextPacker() = default;
TextPacker::TextPacker(TextPacker&&) noexcept = default;
TextPacker& TextPacker::operator=(TextPacker&&) noexcept = default;

TextPacker::Packed TextPacker::pack(std::size_t group, std::string_view text) {
  state_->collect(group, text);
  const State::Group& used = state_->groups[group];
  Packed packed{state_->compress(used.pack.get(), text), used.newest};
  ++state_->known[used.newest].users;
  return packed;
}

std::string TextPacker::unpack(Dictionary dictionary, std::string_view bytes) const {
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
    throw std::logic_error{"the bytes are not those of a packed text"};
  }
  std::string text(size, '\0');
  const std::size_t unpacked =
      ZSTD_decompress_usingDDict(state_->decompressor.get(), text.data(), text.size(), bytes.data(),
                                 bytes.size(), state_->known[dictionary].unpack.get());
  if (unpacked != size) throw std::logic_error{"the dictionary is not the one of the packed text"};
  return text;
}

void TextPacker::release(Dictionary dictionary) {
  --state_->known[dictionary].users;
  if (dictionary != 0) state_->removeUnused(dictionary);
}

std::size_t TextPacker::dictionaries() const {
  return static_cast<std::size_t>(
      std::count_if(state_->known.begin(), state_->known.end(),
                    [](const State::Known& each) { return each.unpack != nullptr; }));
}

}  // namespace dynamo::k8s
