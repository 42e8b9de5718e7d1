#include "tests/fuzz/mutate.hpp"

#include <google/protobuf/descriptor.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace ferry::test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// All messages in `message`, itself first, and all strings.
struct Parts {
  std::vector<Message*> messages;
  std::vector<std::string> strings;

  void collect(Message& message) {
    messages.push_back(&message);
    const auto& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const bool many = field->is_repeated();
      const int count = many ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          collect(many ? *reflection.MutableRepeatedMessage(&message, field, i)
                       : *reflection.MutableMessage(&message, field));
        else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
          strings.push_back(many ? reflection.GetRepeatedString(message, field, i)
                                 : reflection.GetString(message, field));
      }
    }
  }
};

std::int64_t odd_number(Dice& dice) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::int64_t> kOdd{0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       7,
                                       -2,
                                       255,
                                       65536,
                                       2147483647,
                                       -2147483648LL,
                                       2147483648LL,
                                       4294967295LL,
                                       1LL << 40,
                                       1LL << 62,
                                       Limits::max(),
                                       Limits::min()};
  return dice.one_in(2) ? dice.of(kOdd) : dice.below(9) - 2;
}

double odd_real(Dice& dice) {
  using Limits = std::numeric_limits<double>;
  const std::vector<double> kOdd{0, -0.0, 1, -1, 0.5, 1e-300, 1e300, Limits::infinity(), Limits::quiet_NaN()};
  return dice.of(kOdd);
}

std::string odd_string(const Parts& parts, Dice& dice) {
  const std::vector<std::string> kOdd{"",  "x", "/", "../x", ":1", std::string(300, 'a'), std::string("\0\xff", 2),
                                      "%s"};
  if (parts.strings.empty() || dice.one_in(4)) return dice.of(kOdd);
  std::string text = dice.of(parts.strings);
  if (!text.empty() && dice.one_in(4)) text[dice.below(text.size())] = static_cast<char>(dice.next());
  return text;
}

/// Sets a value of `field` (of a repeated field: element `at`, or a new one for -1) to something else of its type.
class Setter {
 public:
  Setter(Message& message, const FieldDescriptor* field, int at, const Parts& parts, Dice& dice)
      : message_(message), reflection_(*message.GetReflection()), field_(field), at_(at), parts_(parts), dice_(dice) {}

  void set() {
    using R = google::protobuf::Reflection;
    switch (field_->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return put(&R::SetInt32, &R::SetRepeatedInt32, &R::AddInt32, static_cast<std::int32_t>(odd_number(dice_)));
      case FieldDescriptor::CPPTYPE_INT64:
        return put(&R::SetInt64, &R::SetRepeatedInt64, &R::AddInt64, odd_number(dice_));
      case FieldDescriptor::CPPTYPE_UINT32:
        return put(&R::SetUInt32, &R::SetRepeatedUInt32, &R::AddUInt32, static_cast<std::uint32_t>(odd_number(dice_)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(&R::SetUInt64, &R::SetRepeatedUInt64, &R::AddUInt64, static_cast<std::uint64_t>(odd_number(dice_)));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(&R::SetDouble, &R::SetRepeatedDouble, &R::AddDouble, odd_real(dice_));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return put(&R::SetFloat, &R::SetRepeatedFloat, &R::AddFloat, static_cast<float>(odd_real(dice_)));
      case FieldDescriptor::CPPTYPE_BOOL:
        return put(&R::SetBool, &R::SetRepeatedBool, &R::AddBool, dice_.one_in(2));
      case FieldDescriptor::CPPTYPE_ENUM:
        return put(&R::SetEnumValue, &R::SetRepeatedEnumValue, &R::AddEnumValue,
                   field_->enum_type()->value(dice_.below(field_->enum_type()->value_count()))->number());
      case FieldDescriptor::CPPTYPE_STRING:
        return put(&R::SetString, &R::SetRepeatedString, &R::AddString, odd_string(parts_, dice_));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return set_message();
    }
  }

 private:
  template <class One, class Element, class New, class T>
  void put(One one, Element element, New fresh, T value) {
    if (!field_->is_repeated())
      (reflection_.*one)(&message_, field_, value);
    else if (at_ >= 0)
      (reflection_.*element)(&message_, field_, at_, value);
    else
      (reflection_.*fresh)(&message_, field_, value);
  }

  /// Sets it to another message of its type, from elsewhere; by way of a copy, since that may contain this message.
  void set_message() {
    std::vector<const Message*> alike;
    for (const Message* other : parts_.messages)
      if (other->GetDescriptor() == field_->message_type()) alike.push_back(other);
    std::unique_ptr<Message> source;
    if (!alike.empty()) {
      source.reset(dice_.of(alike)->New());
      source->CopyFrom(*dice_.of(alike));
    }
    Message* target = !field_->is_repeated() ? reflection_.MutableMessage(&message_, field_)
                      : at_ >= 0             ? reflection_.MutableRepeatedMessage(&message_, field_, at_)
                                             : reflection_.AddMessage(&message_, field_);
    if (source)
      target->CopyFrom(*source);
    else
      target->Clear();
  }

  Message& message_;
  const google::protobuf::Reflection& reflection_;
  const FieldDescriptor* field_;
  const int at_;
  const Parts& parts_;
  Dice& dice_;
};

void mutate_field(Message& message, const FieldDescriptor* field, const Parts& parts, Dice& dice) {
  const auto& reflection = *message.GetReflection();
  const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
  if (!field->is_repeated()) {
    if (dice.one_in(5)) return reflection.ClearField(&message, field);
    return Setter(message, field, -1, parts, dice).set();
  }
  if (count == 0 || dice.one_in(4)) return Setter(message, field, -1, parts, dice).set();
  const int at = dice.below(count);
  switch (dice.below(4)) {
    case 0:
      reflection.SwapElements(&message, field, at, count - 1);
      return reflection.RemoveLast(&message, field);
    case 1:
      return reflection.SwapElements(&message, field, at, dice.below(count));
    default:
      return Setter(message, field, at, parts, dice).set();
  }
}

}  // namespace

void mutate(Message& message, Dice& dice) {
  for (int changes = 1 + dice.below(4); changes > 0; --changes) {
    Parts parts;
    parts.collect(message);
    Message& part = *dice.of(parts.messages);
    std::vector<const FieldDescriptor*> fields;
    if (!dice.one_in(4)) part.GetReflection()->ListFields(part, &fields);
    if (fields.empty())
      for (int i = 0; i < part.GetDescriptor()->field_count(); ++i) fields.push_back(part.GetDescriptor()->field(i));
    if (!fields.empty()) mutate_field(part, dice.of(fields), parts, dice);
  }
}

}  // namespace ferry::test
