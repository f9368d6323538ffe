#pragma once
// Objects of a cluster in little memory: of each its kept fields (trim.h) as packed JSON text
// (packed_text.h), parsed anew by whoever reads it, and found by key, by owner and by label. Not safe for
// concurrent use.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/k8s/trim.h"

namespace dynamo::k8s {

/// Objects of one kind, as they are watched.
struct StoredKind {
  std::string apiVersion;
  std::string kind;
  KeptFields kept;
  std::vector<std::string> labels;  ///< keys of the labels by which objects are found
};

class ObjectStore {
 public:
  /// Stands for an object until the next put() or remove().
  using Slot = std::uint32_t;

  enum class Change : std::uint8_t { UnknownKind, Same, Added, Changed };

  explicit ObjectStore(const std::vector<StoredKind>& kinds);

  /// Keeps `object` in the place of one with its key. Same: all that is kept of it is as before.
  Change put(const json::Value& object);
  /// False: it was not there.
  bool remove(const ObjectKey& key);

  std::optional<Slot> find(const ObjectKey& key) const;
  /// What is owned by the object with `uid`, in the order of keys.
  std::vector<Slot> ownedBy(std::string_view uid) const;
  /// What has label `key` with `value` in a namespace, in the order of keys; the kind must name the label in
  /// its `labels`.
  std::vector<Slot> labelled(std::string_view namespaceName, std::string_view key,
                             std::string_view value) const;
  /// Everything of a kind, in no particular order.
  std::vector<Slot> ofKind(std::string_view apiVersion, std::string_view kind) const;

  ObjectKey key(Slot slot) const;
  /// The kept text: without apiVersion and kind.
  std::string text(Slot slot) const;
  /// The kept object, parsed.
  json::Document object(Slot slot) const;

  std::size_t size() const { return size_; }
  /// Bytes of all texts as they are packed.
  std::size_t textBytes() const { return textBytes_; }

 private:
  using Term = std::uint32_t;  ///< an owner or a label, by which objects are found

  struct Kind {
    std::string apiVersion;
    std::string kind;
    Trimmer trimmer;
    std::vector<std::string> labels;
  };
  struct Entry {
    std::unique_ptr<char[]> block;  ///< its terms, then its text; nullptr: a free slot
    std::uint32_t textSize = 0;
    std::uint32_t nameAt = 0;  ///< the name stands in the text: it is not kept twice
    std::uint32_t space = 0;
    std::uint32_t hash = 0;
    std::uint16_t nameSize = 0;
    std::uint16_t terms = 0;
    std::uint16_t kind = 0;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  /// Texts that many objects have in common, each once.
  using Ids = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;
  struct Posting {
    const std::string* text = nullptr;
    std::vector<Slot> slots;
  };

  std::optional<std::uint16_t> kindOf(std::string_view apiVersion, std::string_view kind) const;
  std::string_view nameOf(const Entry& entry) const;
  static std::string_view packedOf(const Entry& entry);
  std::optional<std::size_t> placeOf(std::uint16_t kind, std::string_view space, std::string_view name,
                                     std::uint32_t hash) const;
  void place(Slot slot);
  void unplace(std::size_t at);
  void grow();
  std::vector<Term> termsOf(const json::Value& object, const Kind& kind);
  Term termFor(const std::string& text);
  Term termAt(const Entry& entry, std::size_t index) const;
  void unlist(Slot slot);
  void fill(Slot slot, const std::string& text, const std::vector<Term>& terms, std::string_view name);
  std::vector<Slot> sorted(const std::string& term) const;

  std::vector<Kind> kinds_;
  std::deque<Entry> entries_;
  std::vector<Slot> free_;
  std::vector<Slot> table_;  ///< open addressing over the keys of entries
  std::size_t size_ = 0;
  std::size_t textBytes_ = 0;
  Ids spaces_;
  std::vector<const std::string*> spaceNames_;
  Ids terms_;
  std::vector<Posting> postings_;
  std::vector<Term> freeTerms_;
};

}  // namespace dynamo::k8s
