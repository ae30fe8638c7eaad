#include "tests/testing/messages/mutate_message.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tangram::testing {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

double Mutated(double value, std::mt19937& rng) {
  uint64_t bits = 0;
  switch (rng() % 10) {
    case 0:
      return 0;
    case 1:
      return -value - 1;
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    case 3:
      return std::numeric_limits<double>::infinity();
    case 4:
      return 1e300;
    case 5:
      return value * 2 + 1e-3;
    case 6:
      return value / 2 + 1e-9;
    case 7:
      return value * 1.001 + 1e-6;
    case 8:
      return value * 0.999;
    default:
      std::memcpy(&bits, &value, sizeof(bits));
      bits ^= uint64_t{1} << rng() % 64;
      std::memcpy(&value, &bits, sizeof(bits));
      return value;
  }
}

template <typename Int>
Int Mutated(Int value, std::mt19937& rng) {
  switch (rng() % 9) {
    case 0:
      return 0;
    case 1:
      return static_cast<Int>(uint64_t{static_cast<uint64_t>(value)} + 1);
    case 2:
      return static_cast<Int>(static_cast<uint64_t>(value) - 1);
    case 3:
      return static_cast<Int>(static_cast<uint64_t>(value) * 2);
    case 4:
      return 1 << 20;
    case 5:
      return std::numeric_limits<Int>::max();
    case 6:
      return std::numeric_limits<Int>::min();
    case 7:
      return static_cast<Int>(rng() % 17);
    default:
      return static_cast<Int>(rng());
  }
}

std::string Mutated(std::string text, std::mt19937& rng) {
  switch (rng() % 5) {
    case 0:
      return "";
    case 1:
      return text + "x";
    case 2:
      return std::string(100'000, 'x');
    case 3:
      return "\x1b[2J\n";
    default:
      if (text.empty()) return "?";
      text[rng() % text.size()] ^= 1;
      return text;
  }
}

// One way to change one field.
struct Site {
  std::string path;
  std::function<void()> change;
};
// By path without indices.
using Sites = std::map<std::string, std::vector<Site>>;

void ChangeValue(std::mt19937& rng, Message& message,
                 const FieldDescriptor& field, int index) {
  const Reflection& r = *message.GetReflection();
  Message* const m = &message;
  const FieldDescriptor* const f = &field;
  const bool in_list = field.is_repeated();
  switch (field.cpp_type()) {
#define TANGRAM_CHANGE(KIND, NAME)                                            \
  case FieldDescriptor::CPPTYPE_##KIND:                                       \
    if (in_list) {                                                            \
      r.SetRepeated##NAME(                                                    \
          m, f, index, Mutated(r.GetRepeated##NAME(message, f, index), rng)); \
    } else {                                                                  \
      r.Set##NAME(m, f, Mutated(r.Get##NAME(message, f), rng));               \
    }                                                                         \
    return;
    TANGRAM_CHANGE(DOUBLE, Double)
    TANGRAM_CHANGE(INT32, Int32)
    TANGRAM_CHANGE(INT64, Int64)
    TANGRAM_CHANGE(UINT32, UInt32)
    TANGRAM_CHANGE(UINT64, UInt64)
    TANGRAM_CHANGE(STRING, String)
#undef TANGRAM_CHANGE
    case FieldDescriptor::CPPTYPE_BOOL:
      if (in_list) {
        r.SetRepeatedBool(m, f, index, !r.GetRepeatedBool(message, f, index));
      } else {
        r.SetBool(m, f, !r.GetBool(message, f));
      }
      return;
    case FieldDescriptor::CPPTYPE_FLOAT:
      if (in_list) {
        r.SetRepeatedFloat(m, f, index, static_cast<float>(rng()));
      } else {
        r.SetFloat(m, f, static_cast<float>(rng()));
      }
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      if (in_list) {
        r.SetRepeatedEnumValue(m, f, index, static_cast<int>(rng() % 8));
      } else {
        r.SetEnumValue(m, f, static_cast<int>(rng() % 8));
      }
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      r.ClearField(m, f);
      return;
  }
}

class Collector {
 public:
  explicit Collector(std::mt19937& rng) : rng_(rng) {}

  void Visit(Message& message, const std::string& path,
             const std::string& place) {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      const std::string dot = path.empty() ? "" : ".";
      const std::string inner_path = absl::StrCat(path, dot, field.name());
      const std::string inner_place = absl::StrCat(place, dot, field.name());
      if (field.is_repeated()) {
        VisitList(message, field, inner_path, inner_place);
      } else {
        VisitOne(message, field, inner_path, inner_place);
      }
    }
  }

  const Sites& sites() const { return sites_; }

 private:
  void Add(const std::string& place, const std::string& path,
           std::function<void()> change) {
    sites_[place].push_back({path, std::move(change)});
  }

  void VisitOne(Message& message, const FieldDescriptor& field,
                const std::string& path, const std::string& place) {
    const Reflection& r = *message.GetReflection();
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      // Setting another alternative of a oneof would clear the current one.
      if (field.containing_oneof() != nullptr && !r.HasField(message, &field) &&
          !field.has_optional_keyword()) {
        return;
      }
      Add(place, path,
          [this, &message, &field] { ChangeValue(rng_, message, field, 0); });
    } else if (r.HasField(message, &field)) {
      Add(place, path + " (cleared)", [&message, &field] {
        message.GetReflection()->ClearField(&message, &field);
      });
      Visit(*r.MutableMessage(&message, &field), path, place);
    } else {
      Add(place, path + " (set)", [&message, &field] {
        message.GetReflection()->MutableMessage(&message, &field);
      });
    }
  }

  void VisitList(Message& message, const FieldDescriptor& field,
                 const std::string& path, const std::string& place) {
    const Reflection& r = *message.GetReflection();
    const int size = r.FieldSize(message, &field);
    for (int i = 0; i < size; ++i) {
      const std::string element = absl::StrCat(path, "[", i, "]");
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Visit(*r.MutableRepeatedMessage(&message, &field, i), element, place);
      } else {
        Add(place, element, [this, &message, &field, i] {
          ChangeValue(rng_, message, field, i);
        });
      }
      Add(place, element + " (dropped)", [&message, &field, i, size] {
        const Reflection& list = *message.GetReflection();
        for (int k = i; k + 1 < size; ++k) {
          list.SwapElements(&message, &field, k, k + 1);
        }
        list.RemoveLast(&message, &field);
      });
      if (i > 0) {
        Add(place, element + " (swapped)", [&message, &field, i] {
          message.GetReflection()->SwapElements(&message, &field, i - 1, i);
        });
      }
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Add(place, element + " (repeated)", [&message, &field, i] {
          const Reflection& list = *message.GetReflection();
          Message* const added = list.AddMessage(&message, &field);
          added->CopyFrom(list.GetRepeatedMessage(message, &field, i));
        });
      }
    }
  }

  std::mt19937& rng_;
  Sites sites_;
};

}  // namespace

std::string MutateMessage(std::mt19937& rng, Message& message) {
  const std::string before = message.SerializeAsString();
  while (true) {
    Collector collector(rng);
    collector.Visit(message, "", "");
    auto place = collector.sites().begin();
    std::advance(place, rng() % collector.sites().size());
    const Site& site = place->second[rng() % place->second.size()];
    site.change();
    // Compares bytes, because NaN differs from itself.
    if (message.SerializeAsString() != before) return site.path;
    message.ParseFromString(before);
  }
}

}  // namespace tangram::testing
