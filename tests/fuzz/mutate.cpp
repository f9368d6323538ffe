#include "mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/json/parse.h"
#include "common/schema/registry.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);

namespace dynamo::fuzz {
namespace {

using json::Value;
using schema::Node;
using schema::Type;

/// Texts that rules and rendering distinguish. libFuzzer finds other texts.
constexpr std::array kTexts = {
    "",
    "a",
    "Frontend",
    "Worker",
    "decode",
    "prefill",
    "worker",
    "frontend",
    "planner",
    "epp",
    "main",
    "vllm",
    "sglang",
    "trtllm",
    "100m",
    "1.5",
    "8",
    "1Gi",
    "80Gi",
    "gpu",
    "nvidia.com/gpu",
    "cpu",
    "memory",
    "ephemeral-storage",
    "python3",
    "-m",
    "dynamo.vllm",
    "dynamo.sglang",
    "dynamo.trtllm",
    "--tensor-parallel-size",
    "2",
    "16",
    "-tp",
    "/bin/sh",
    "-c",
    "dynamo.vllm --dp-size 4",
    "mpirun",
    "--model",
    "$(POD_NAME)",
    "/dev/shm",
    "/x/../y",
    "../x",
    "http",
    "system",
    "grpc",
    "Recreate",
    "RollingUpdate",
    "25%",
    "IfNotPresent",
    "Always",
    "configmap://c/k",
    "file:///m",
    "hf://org/model",
    "true",
    "false",
    "a=b",
    "DYN_NAMESPACE",
    "DYN_SYSTEM_PORT",
    "ETCD_ENDPOINTS",
    "NATS_SERVER",
    "{}",
    "{\"a\":1}",
    "DYN_DEPLOYMENT_CONFIG",
    "1",
    "UPPER_case.9",
    "\xC3\xA9",
};

/// Keys of maps.
constexpr std::array kKeys = {"a",
                              "Frontend",
                              "Worker",
                              "VllmDecodeWorker",
                              "VllmPrefillWorker",
                              "Planner",
                              "Epp",
                              "cpu",
                              "memory",
                              "nvidia.com/gpu",
                              "nvidia.com/enable-grove",
                              "nvidia.com/kai-scheduler-queue",
                              "nvidia.com/dynamo-component-type",
                              "nvidia.com/metrics-enabled",
                              "nvidia.com/vllm-distributed-executor-backend",
                              "app",
                              "x/y",
                              "config.yaml",
                              ""};

constexpr std::array<std::int64_t, 16> kIntegers = {
    0, 1, 2, 3, -1, 8, 16, 100, 1000, 1001, 8080, 9090, 65535, 65536, 2147483647, 2147483648};

constexpr int kDeep = 4;

/// A value in an object with its schema node, or nullptr for an unknown field, and its position.
struct Location {
  Value* value = nullptr;
  const Node* node = nullptr;
  Value* parent = nullptr;
  std::size_t index = 0;  ///< index in the members or items of the parent
};

const Node* nodeOfObject(const Value& object) {
  return schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
}

void walk(const Location& at, std::vector<Location>& locations) {
  const Node* whole = at.value->IsObject() ? nodeOfObject(*at.value) : nullptr;
  const Node* node = whole == nullptr ? at.node : whole;
  locations.push_back({at.value, node, at.parent, at.index});
  std::size_t index = 0;
  if (at.value->IsObject()) {
    for (auto& member : at.value->GetObject()) {
      const std::string_view name = json::text(member.name);
      const Node* below = node == nullptr ? nullptr : node->member(name);
      if (whole != nullptr && name == "metadata") below = &schema::metadataNode();
      walk({&member.value, below, at.value, index++}, locations);
    }
  } else if (at.value->IsArray()) {
    for (auto& item : at.value->GetArray()) {
      walk({&item, node == nullptr ? nullptr : node->items, at.value, index++}, locations);
    }
  }
}

std::vector<Location> locationsOf(Value& object) {
  std::vector<Location> locations;
  walk({&object}, locations);
  return locations;
}

class Mutation {
 public:
  Mutation(json::Document& object, unsigned seed)
      : object_(object), allocator_(object.GetAllocator()), random_(seed) {}

  void run() {
    for (unsigned steps = 1 + roll(3); steps > 0; --steps) step();
  }

  /// Replaces a value by a part of `other` with the same schema node.
  bool cross(Value& other) {
    const std::vector<Location> here = locationsOf(object_);
    const std::vector<Location> there = locationsOf(other);
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Location& from = any(there);
      const auto fits = [&](const Location& to) { return to.parent != nullptr && to.node == from.node; };
      std::vector<Location> targets;
      std::copy_if(here.begin(), here.end(), std::back_inserter(targets), fits);
      if (from.node == nullptr || targets.empty()) continue;
      *any(targets).value = json::copy(*from.value, allocator_);
      return true;
    }
    return false;
  }

 private:
  void step() {
    const std::vector<Location> locations = locationsOf(object_);
    const Location& location = any(locations);
    switch (roll(8)) {
      case 0:
      case 1:
      case 2:
        return add(locations);
      case 3:
        return remove(location);
      case 4:
        if (location.parent != nullptr) *location.value = make(location.node, kDeep);
        return;
      case 5:
        return repeat(locations, location);
      default:
        return alter(locations);
    }
  }

  /// Adds an absent member or another item.
  void add(const std::vector<Location>& locations) {
    const Location location = anyOf(locations, [](const Value& v) { return v.IsObject() || v.IsArray(); });
    if (location.value == nullptr) return;
    if (location.value->IsArray()) {
      location.value->PushBack(make(location.node == nullptr ? nullptr : location.node->items, kDeep),
                               allocator_);
    } else {
      addMember(*location.value, location.node, kDeep);
    }
  }

  void addMember(Value& object, const Node* node, int depth) {
    if (node != nullptr && !node->properties.empty()) {
      const schema::Property& property = any(node->properties);
      json::set(object, property.name, make(property.node, depth - 1), allocator_);
    } else {
      json::set(object, any(kKeys), make(node == nullptr ? nullptr : node->additional, depth - 1),
                allocator_);
    }
  }

  void remove(const Location& location) const {
    if (location.parent == nullptr) return;
    if (location.parent->IsObject()) {
      location.parent->EraseMember(location.parent->MemberBegin() +
                                   static_cast<std::ptrdiff_t>(location.index));
    } else {
      location.parent->Erase(location.parent->Begin() + location.index);
    }
  }

  /// Copies a value to another location with the same schema node, or after itself.
  void repeat(const std::vector<Location>& locations, const Location& location) {
    if (location.parent == nullptr) return;
    Value twin = json::copy(*location.value, allocator_);
    if (location.parent->IsArray()) {
      location.parent->PushBack(twin, allocator_);
      return;
    }
    const Location& other = any(locations);
    if (other.parent != nullptr &&
        (other.node == location.node || other.value->GetType() == location.value->GetType())) {
      *other.value = std::move(twin);
    }
  }

  void alter(const std::vector<Location>& locations) {
    const Location location = anyOf(locations, [](const Value& v) { return !v.IsObject() && !v.IsArray(); });
    if (location.value == nullptr) return;
    if (!location.value->IsString() || roll(2) == 0) {
      *location.value = make(location.node, 0);
      return;
    }
    std::string text{json::text(*location.value)};
    const std::size_t size = text.size();
    text.resize(size + 16);
    auto* bytes = reinterpret_cast<std::uint8_t*>(text.data());
    text.resize(LLVMFuzzerMutate(bytes, size, text.size()));
    *location.value = json::string(text, allocator_);
  }

  Value make(const Node* node, int depth) {
    if (roll(32) == 0) return odd();
    if (node == nullptr || node->type == Type::Any) return depth > 0 && roll(3) == 0 ? made(depth) : scalar();
    switch (node->type) {
      case Type::Object: {
        Value object{rapidjson::kObjectType};
        for (const schema::Property& property : node->properties) {
          if (property.required) json::set(object, property.name, make(property.node, depth - 1), allocator_);
        }
        for (unsigned more = depth > 0 ? roll(4) : 0; more > 0; --more) addMember(object, node, depth);
        return object;
      }
      case Type::Array: {
        Value list{rapidjson::kArrayType};
        for (unsigned more = depth > 0 ? roll(3) : 0; more > 0; --more) {
          list.PushBack(make(node->items, depth - 1), allocator_);
        }
        return list;
      }
      case Type::String:
        return node->enumValues.empty() ? word() : json::string(any(node->enumValues), allocator_);
      case Type::Integer:
        return Value{any(kIntegers)};
      case Type::Number:
        return Value{static_cast<double>(any(kIntegers)) / 4};
      case Type::Boolean:
        return Value{roll(2) == 0};
      default:
        return roll(2) == 0 ? word() : Value{any(kIntegers)};
    }
  }

  Value made(int depth) {
    Value object{rapidjson::kObjectType};
    addMember(object, nullptr, depth);
    return object;
  }

  /// A value of any type.
  Value odd() {
    switch (roll(4)) {
      case 0:
        return Value{};
      case 1:
        return Value{rapidjson::kObjectType};
      case 2:
        return Value{rapidjson::kArrayType};
      default:
        return scalar();
    }
  }

  Value scalar() {
    switch (roll(4)) {
      case 0:
        return Value{roll(2) == 0};
      case 1:
        return Value{any(kIntegers)};
      default:
        return word();
    }
  }

  Value word() { return json::string(any(kTexts), allocator_); }

  unsigned roll(unsigned sides) { return static_cast<unsigned>(random_() >> 8U) % sides; }

  template <typename List>
  typename List::const_reference any(const List& list) {
    return list[roll(static_cast<unsigned>(list.size()))];
  }

  /// One of the locations whose value matches, or one without a value when none does.
  template <typename Wanted>
  Location anyOf(const std::vector<Location>& locations, Wanted wanted) {
    std::vector<Location> fitting;
    std::copy_if(locations.begin(), locations.end(), std::back_inserter(fitting),
                 [&](const Location& location) { return wanted(*location.value); });
    return fitting.empty() ? Location{} : any(fitting);
  }

  json::Document& object_;
  json::Allocator& allocator_;
  std::mt19937 random_;
};

bool read(std::string_view text, json::Document& object) {
  return !json::parse(text, object) && object.IsObject();
}

/// The text before the first object, and the objects.
struct Texts {
  std::string before;
  std::vector<std::string> objects;
};

Texts split(std::string_view text) {
  const std::size_t start = std::min(text.find('{'), text.size());
  Texts texts{std::string{text.substr(0, start)}, {}};
  for (text.remove_prefix(start); !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    texts.objects.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return texts;
}

std::size_t put(const Texts& texts, std::uint8_t* out, std::size_t maxSize) {
  const std::string text = fmt::format("{}{}", texts.before, fmt::join(texts.objects, "\n"));
  if (text.size() > maxSize) return 0;
  std::copy(text.begin(), text.end(), out);
  return text.size();
}

}  // namespace

std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t maxSize, unsigned seed) {
  Texts texts = split({reinterpret_cast<const char*>(data), size});
  json::Document object;
  const std::size_t chosen = texts.objects.empty() ? 0 : seed / 8 % texts.objects.size();
  if (seed % 8 == 0 || texts.objects.empty() || !read(texts.objects[chosen], object)) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  Mutation{object, seed}.run();
  std::string was = std::exchange(texts.objects[chosen], json::dump(object));
  // Sometimes the input becomes an update of the previous object.
  if (texts.objects.size() == 1 && seed % 16 == 1) texts.objects.push_back(std::move(was));
  const std::size_t length = put(texts, data, maxSize);
  return length != 0 ? length : LLVMFuzzerMutate(data, size, maxSize);
}

std::size_t cross(std::string_view text, std::string_view other, std::uint8_t* out, std::size_t maxSize,
                  unsigned seed) {
  Texts texts = split(text);
  const Texts others = split(other);
  if (texts.objects.empty() || others.objects.empty()) return 0;
  std::string& changed = texts.objects[seed % texts.objects.size()];
  json::Document object;
  json::Document donor;
  if (!read(changed, object) || !read(others.objects[seed / 2 % others.objects.size()], donor)) return 0;
  if (!Mutation{object, seed}.cross(donor)) return 0;
  changed = json::dump(object);
  return put(texts, out, maxSize);
}

}  // namespace dynamo::fuzz
