#include "common/k8s/object_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/json/parse.h"
#include "common/k8s/drift.h"
#include "common/k8s/object.h"

namespace dynamo::k8s {
namespace {

using json::Value;

constexpr ObjectStore::Slot kNone = std::numeric_limits<ObjectStore::Slot>::max();
constexpr std::size_t kFirstTable = 64;
// Separates the parts of a text. JSON escapes control characters, so compact JSON has none.
constexpr char kPartFollows = '\n';

/// The parts of a packed text.
enum class Part : std::uint8_t { KeptFields, OwnedFields, ReplicasOwner };

std::string_view partOf(std::string_view text, Part part) {
  for (int skipped = 0; skipped < static_cast<int>(part); ++skipped) {
    const std::size_t end = text.find(kPartFollows);
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find(kPartFollows));
}

std::uint32_t hashOf(std::uint16_t kind, std::string_view namespaceName, std::string_view name) {
  const std::hash<std::string_view> hash;
  // With different constants, a name and a namespace that are equal do not cancel each other out.
  const std::uint64_t mixed = (hash(name) * 0x9e3779b97f4a7c15U) ^
                              (hash(namespaceName) * 0xc2b2ae3d27d4eb4fU) ^ (kind * 0x165667b19e3779f9U);
  return static_cast<std::uint32_t>(mixed >> 32U);
}

// The first character of a term is its kind. Users choose labels and the uids of owner references, so without
// it a uid could imitate a label. A namespace never contains a NUL, so the text before the first NUL is the
// namespace, whatever follows.
constexpr char kOwnerTerm = 'o';
constexpr char kLabelTerm = 'l';
constexpr char kListTerm = 'k';

std::string termOf(char type, std::string_view namespaceName, std::string_view text) {
  std::string term;
  term.reserve(namespaceName.size() + text.size() + 2);
  return term.append(1, type).append(namespaceName).append(1, '\0').append(text);
}

std::string ownerTerm(std::string_view namespaceName, std::string_view uid) {
  return termOf(kOwnerTerm, namespaceName, uid);
}

std::string labelTerm(std::string_view namespaceName, std::string_view key, std::string_view value) {
  return termOf(kLabelTerm, namespaceName, key).append(1, '\0').append(value);
}

}  // namespace

ObjectStore::ObjectStore(const std::vector<StoredKind>& kinds)
    : table_(kFirstTable, kNone), packer_(kinds.size()) {
  for (const StoredKind& kind : kinds) {
    kinds_.push_back({kind.apiVersion, kind.kind, Trimmer{kind.kept}, kind.labels, kind.fieldManager,
                      kind.listed ? kind.apiVersion + '/' + kind.kind : std::string{}});
  }
}

std::optional<std::uint16_t> ObjectStore::kindOf(std::string_view apiVersion, std::string_view kind) const {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].kind == kind && kinds_[i].apiVersion == apiVersion) return static_cast<std::uint16_t>(i);
  }
  return std::nullopt;
}

std::string_view ObjectStore::nameOf(const Entry& entry) const {
  return {entry.block.get() + entry.terms * sizeof(Term), entry.nameSize};
}

std::optional<std::size_t> ObjectStore::findIndex(std::uint16_t kind, std::string_view namespaceName,
                                                  std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash & mask; table_[at] != kNone; at = (at + 1) & mask) {
    const Entry& entry = entries_[table_[at]];
    if (entry.hash == hash && entry.kind == kind && nameOf(entry) == name &&
        *namespaces_[entry.namespaceId] == namespaceName) {
      return at;
    }
  }
  return std::nullopt;
}

void ObjectStore::insertSlot(Slot slot) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = entries_[slot].hash & mask;
  while (table_[at] != kNone) at = (at + 1) & mask;
  table_[at] = slot;
}

void ObjectStore::eraseIndex(std::size_t at) {
  // Moves the following slots into the gap if their home position allows it, so that the table needs no
  // markers for deleted slots.
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = at;
  for (std::size_t next = (at + 1) & mask; table_[next] != kNone; next = (next + 1) & mask) {
    const std::size_t home = entries_[table_[next]].hash & mask;
    if (((next - home) & mask) < ((next - gap) & mask)) continue;
    table_[gap] = table_[next];
    gap = next;
  }
  table_[gap] = kNone;
}

void ObjectStore::grow() {
  if (size_ * 10 < table_.size() * 7) return;
  table_.assign(table_.size() * 2, kNone);
  for (std::size_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].block != nullptr) insertSlot(static_cast<Slot>(slot));
  }
}

std::vector<ObjectStore::Term> ObjectStore::termsOf(const Value& object, const Kind& kind) {
  std::vector<Term> terms;
  const auto add = [&](std::string_view text) {
    const Term term = index_.number(text);
    if (std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(term);
  };
  const Value* metadata = json::findObject(&object, "metadata");
  const std::string_view namespaceName = json::findText(metadata, "namespace");
  for (const Value& owner : ownersOf(object)) {
    if (const std::string_view uid = json::findText(&owner, "uid"); !uid.empty())
      add(ownerTerm(namespaceName, uid));
  }
  if (!kind.listTerm.empty()) add(termOf(kListTerm, namespaceName, kind.listTerm));
  const Value* labels = json::findObject(metadata, "labels");
  for (const std::string& key : kind.labels) {
    const Value* value = json::find(labels, key);
    if (value != nullptr) add(labelTerm(namespaceName, key, json::text(*value)));
  }
  return terms;
}

ObjectStore::Term ObjectStore::termAt(const Entry& entry, std::size_t index) const {
  Term term = 0;
  std::memcpy(&term, entry.block.get() + index * sizeof(Term), sizeof(Term));
  return term;
}

void ObjectStore::clear(Slot slot) {
  const Entry& entry = entries_[slot];
  textBytes_ -= entry.textSize;
  packer_.release(entry.dictionary);
  for (std::size_t i = 0; i < entry.terms; ++i) index_.remove(termAt(entry, i), slot);
}

void ObjectStore::fill(Slot slot, const std::string& text, const std::vector<Term>& terms,
                       std::string_view name) {
  Entry& entry = entries_[slot];
  const TextPacker::Packed packed = packer_.pack(entry.kind, text);
  const std::size_t head = terms.size() * sizeof(Term);
  entry.block = std::make_unique_for_overwrite<char[]>(head + name.size() + packed.bytes.size());
  if (head != 0) std::memcpy(entry.block.get(), terms.data(), head);
  name.copy(entry.block.get() + head, name.size());
  packed.bytes.copy(entry.block.get() + head + name.size(), packed.bytes.size());
  entry.textSize = static_cast<std::uint32_t>(packed.bytes.size());
  entry.nameSize = static_cast<std::uint16_t>(name.size());
  entry.terms = static_cast<std::uint16_t>(terms.size());
  entry.dictionary = packed.dictionary;
  textBytes_ += packed.bytes.size();
  for (const Term term : terms) index_.add(term, slot);
}

ObjectStore::Change ObjectStore::put(const Value& object) {
  const auto kind = kindOf(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  if (!kind) return Change::UnknownKind;
  const Value* metadata = json::findObject(&object, "metadata");
  const std::string_view name = json::findText(metadata, "name");
  const std::string_view namespaceName = json::findText(metadata, "namespace");
  const std::string& manager = kinds_[*kind].fieldManager;
  std::string text = kinds_[*kind].trimmer.text(object);
  const Value* owned = manager.empty() ? nullptr : k8s::ownedFields(object, manager);
  if (owned != nullptr) text.append(1, kPartFollows).append(json::dump(*owned));
  const std::string_view scaledBy = manager.empty() ? "" : k8s::replicasOwner(object, manager);
  if (!scaledBy.empty()) {
    if (owned == nullptr) text.append(1, kPartFollows);
    text.append(1, kPartFollows).append(scaledBy);
  }
  const std::uint32_t hash = hashOf(*kind, namespaceName, name);
  const std::optional<std::size_t> known = findIndex(*kind, namespaceName, name, hash);
  if (known) {
    const Slot slot = table_[*known];
    Entry& entry = entries_[slot];
    if (unpacked(entry) == text) return Change::Same;
    clear(slot);  // frees unused terms before the terms of the new object are looked up
    fill(slot, text, termsOf(object, kinds_[*kind]), name);
    return Change::Changed;
  }
  Slot slot = static_cast<Slot>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[slot];
  const auto [interned, added] = namespaceIds_.try_emplace(std::string{namespaceName}, namespaces_.size());
  if (added) namespaces_.push_back(&interned->first);
  entry.namespaceId = interned->second;
  entry.kind = *kind;
  entry.hash = hash;
  fill(slot, text, termsOf(object, kinds_[*kind]), name);
  ++size_;
  insertSlot(slot);
  grow();
  return Change::Added;
}

bool ObjectStore::remove(const ObjectKey& key) {
  const std::optional<Slot> slot = find(key);
  if (!slot) return false;
  Entry& entry = entries_[*slot];
  eraseIndex(*findIndex(entry.kind, key.namespaceName, key.name, entry.hash));
  clear(*slot);
  entry = {};
  free_.push_back(*slot);
  --size_;
  return true;
}

std::optional<ObjectStore::Slot> ObjectStore::find(const ObjectKey& key) const {
  const std::string apiVersion = key.group.empty() ? key.version : key.group + '/' + key.version;
  const auto kind = kindOf(apiVersion, key.kind);
  if (!kind) return std::nullopt;
  const auto at = findIndex(*kind, key.namespaceName, key.name, hashOf(*kind, key.namespaceName, key.name));
  return at ? std::optional{table_[*at]} : std::nullopt;
}

std::vector<ObjectStore::Slot> ObjectStore::sorted(std::string_view term) const {
  std::vector<Slot> slots = index_.find(term);
  std::sort(slots.begin(), slots.end(), [&](Slot a, Slot b) {
    const Entry& x = entries_[a];
    const Entry& y = entries_[b];
    if (x.kind != y.kind) return x.kind < y.kind;
    if (x.namespaceId != y.namespaceId) return *namespaces_[x.namespaceId] < *namespaces_[y.namespaceId];
    return nameOf(x) < nameOf(y);
  });
  return slots;
}

std::vector<ObjectStore::Slot> ObjectStore::ownedBy(std::string_view namespaceName,
                                                    std::string_view uid) const {
  return sorted(ownerTerm(namespaceName, uid));
}

std::vector<ObjectStore::Slot> ObjectStore::labelled(std::string_view namespaceName, std::string_view key,
                                                     std::string_view value) const {
  return sorted(labelTerm(namespaceName, key, value));
}

std::vector<ObjectStore::Slot> ObjectStore::ofKind(std::string_view apiVersion, std::string_view kind) const {
  std::vector<Slot> slots;
  const auto wanted = kindOf(apiVersion, kind);
  if (!wanted) return slots;
  for (std::size_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].block != nullptr && entries_[slot].kind == *wanted)
      slots.push_back(static_cast<Slot>(slot));
  }
  return slots;
}

std::vector<ObjectStore::Slot> ObjectStore::ofKind(std::string_view apiVersion, std::string_view kind,
                                                   std::string_view namespaceName) const {
  const auto wanted = kindOf(apiVersion, kind);
  if (!wanted || kinds_[*wanted].listTerm.empty()) return {};
  return sorted(termOf(kListTerm, namespaceName, kinds_[*wanted].listTerm));
}

ObjectKey ObjectStore::key(Slot slot) const {
  const Entry& entry = entries_[slot];
  const Kind& kind = kinds_[entry.kind];
  const std::size_t slash = kind.apiVersion.find('/');
  ObjectKey key;
  if (slash != std::string::npos) key.group = kind.apiVersion.substr(0, slash);
  key.version = slash == std::string::npos ? kind.apiVersion : kind.apiVersion.substr(slash + 1);
  key.kind = kind.kind;
  key.namespaceName = *namespaces_[entry.namespaceId];
  key.name = nameOf(entry);
  return key;
}

std::string ObjectStore::unpacked(const Entry& entry) const {
  const char* packed = entry.block.get() + entry.terms * sizeof(Term) + entry.nameSize;
  return packer_.unpack(entry.dictionary, {packed, entry.textSize});
}

std::string ObjectStore::text(Slot slot) const {
  const std::string text = unpacked(entries_[slot]);
  return std::string{partOf(text, Part::KeptFields)};
}

std::string ObjectStore::ownedFields(Slot slot) const {
  const std::string text = unpacked(entries_[slot]);
  return std::string{partOf(text, Part::OwnedFields)};
}

std::string ObjectStore::replicasOwner(Slot slot) const {
  const std::string text = unpacked(entries_[slot]);
  return std::string{partOf(text, Part::ReplicasOwner)};
}

json::Document ObjectStore::object(Slot slot) const {
  const std::string text = unpacked(entries_[slot]);
  return parsed(entries_[slot], partOf(text, Part::KeptFields));
}

ObjectStore::Whole ObjectStore::whole(Slot slot) const {
  const std::string text = unpacked(entries_[slot]);
  return {parsed(entries_[slot], partOf(text, Part::KeptFields)),
          std::string{partOf(text, Part::OwnedFields)}, std::string{partOf(text, Part::ReplicasOwner)}};
}

json::Document ObjectStore::parsed(const Entry& entry, std::string_view keptFields) const {
  json::Document document;
  json::parse(keptFields, document);
  if (!document.IsObject()) document.SetObject();
  auto& allocator = document.GetAllocator();
  const Kind& kind = kinds_[entry.kind];
  document.AddMember("apiVersion", json::string(kind.apiVersion, allocator), allocator);
  document.AddMember("kind", json::string(kind.kind, allocator), allocator);
  return document;
}

}  // namespace dynamo::k8s
