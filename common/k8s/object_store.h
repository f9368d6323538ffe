#pragma once
// Stores the objects of a cluster with little memory. Each object is reduced to its kept fields (trim.h) and
// stored as packed JSON text (text_packer.h), which is unpacked and parsed on every access. Objects are found
// by key, owner and label. Not thread-safe.

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
#include "common/k8s/term_index.h"
#include "common/k8s/text_packer.h"
#include "common/k8s/trim.h"

namespace dynamo::k8s {

/// A watched kind.
struct StoredKind {
  std::string apiVersion;
  std::string kind;
  KeptFields kept;
  std::vector<std::string> labels;  ///< keys of the indexed labels
  /// The field manager whose ownership is stored (drift.h); empty: none is.
  std::string fieldManager = {};
  bool listed = false;  ///< whether its objects are indexed by namespace
};

class ObjectStore {
 public:
  /// Identifies an object until the next put() or remove().
  using Slot = TermIndex::Slot;

  enum class Change : std::uint8_t { UnknownKind, Same, Added, Changed };

  explicit ObjectStore(const std::vector<StoredKind>& kinds);

  /// Adds `object` or replaces the object with the same key. Same: the kept fields have not changed.
  Change put(const json::Value& object);
  /// Returns false if there is no such object.
  bool remove(const ObjectKey& key);

  std::optional<Slot> find(const ObjectKey& key) const;
  /// The objects in a namespace with an owner reference to `uid`, sorted by key. An owner is in the namespace
  /// of its objects or has none, and no kind that owns objects here is cluster-scoped. A reference in another
  /// namespace therefore never counts, whoever wrote it.
  std::vector<Slot> ownedBy(std::string_view namespaceName, std::string_view uid) const;
  /// The objects in a namespace with the label `key`=`value`, sorted by key. StoredKind::labels must contain
  /// `key`.
  std::vector<Slot> labelled(std::string_view namespaceName, std::string_view key,
                             std::string_view value) const;
  /// All objects of a kind, in no particular order.
  std::vector<Slot> ofKind(std::string_view apiVersion, std::string_view kind) const;
  /// The objects of a kind in a namespace, sorted by key. StoredKind::listed must be set.
  std::vector<Slot> ofKind(std::string_view apiVersion, std::string_view kind,
                           std::string_view namespaceName) const;

  ObjectKey key(Slot slot) const;
  /// The kept fields as JSON text, without apiVersion and kind.
  std::string text(Slot slot) const;
  /// The object with its kept fields.
  json::Document object(Slot slot) const;
  /// object(), ownedFields() and replicasOwner(), with one look at the packed text.
  struct Whole {
    json::Document object;
    std::string ownedFields;
    std::string replicasOwner;
  };
  Whole whole(Slot slot) const;
  /// The fieldsV1 that the kind's field manager owns by apply requests; empty: none.
  std::string ownedFields(Slot slot) const;
  /// The manager that has scaled the object (replicasOwner() of drift.h); empty: none.
  std::string replicasOwner(Slot slot) const;

  std::size_t size() const { return size_; }
  /// The total size of all packed texts in bytes.
  std::size_t textBytes() const { return textBytes_; }
  /// The number of dictionaries that packed texts use.
  std::size_t dictionaries() const { return packer_.dictionaries(); }

 private:
  using Term = TermIndex::Term;

  struct Kind {
    std::string apiVersion;
    std::string kind;
    Trimmer trimmer;
    std::vector<std::string> labels;
    std::string fieldManager;
    std::string listTerm;  ///< the name of the kind in the index; empty: not listed
  };
  struct Entry {
    std::unique_ptr<char[]> block;  ///< the terms, the name, the packed text; nullptr: a free slot
    std::uint32_t textSize = 0;     ///< of the packed text
    std::uint32_t namespaceId = 0;
    std::uint32_t hash = 0;
    std::uint16_t nameSize = 0;
    std::uint16_t terms = 0;
    std::uint16_t kind = 0;
    TextPacker::Dictionary dictionary = 0;
  };

  std::optional<std::uint16_t> kindOf(std::string_view apiVersion, std::string_view kind) const;
  std::string_view nameOf(const Entry& entry) const;
  std::string unpacked(const Entry& entry) const;
  json::Document parsed(const Entry& entry, std::string_view keptFields) const;
  std::optional<std::size_t> findIndex(std::uint16_t kind, std::string_view namespaceName,
                                       std::string_view name, std::uint32_t hash) const;
  void insertSlot(Slot slot);
  void eraseIndex(std::size_t at);
  void grow();
  std::vector<Term> termsOf(const json::Value& object, const Kind& kind);
  Term termAt(const Entry& entry, std::size_t index) const;
  /// Releases what fill() has taken.
  void clear(Slot slot);
  void fill(Slot slot, const std::string& text, const std::vector<Term>& terms, std::string_view name);
  std::vector<Slot> sorted(std::string_view term) const;

  std::vector<Kind> kinds_;
  std::deque<Entry> entries_;
  std::vector<Slot> free_;
  std::vector<Slot> table_;  ///< open addressing over the keys of entries
  std::size_t size_ = 0;
  std::size_t textBytes_ = 0;
  std::unordered_map<std::string, std::uint32_t> namespaceIds_;
  std::vector<const std::string*> namespaces_;
  TermIndex index_;  ///< owners and labels
  TextPacker packer_;
};

}  // namespace dynamo::k8s
