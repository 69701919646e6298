#pragma once
// How each type of member is stored and loaded; included by config/field.h alone.

#include <utility>

namespace stoker::config::detail {

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
constexpr FieldType scalar_type() {
  if constexpr (std::is_same_v<T, bool>) {
    return FieldType::boolean;
  } else if constexpr (std::is_integral_v<T>) {
    return FieldType::integer;
  } else if constexpr (std::is_floating_point_v<T>) {
    return FieldType::number;
  } else if constexpr (std::is_same_v<T, Value>) {
    return FieldType::map;
  } else {
    return FieldType::text;
  }
}

template <class T>
constexpr FieldType field_type() {
  if constexpr (is_optional<T>::value) {
    return scalar_type<typename T::value_type>();
  } else if constexpr (is_vector<T>::value) {
    if constexpr (is_vector<typename T::value_type>::value) return FieldType::groups;
    switch (scalar_type<typename T::value_type>()) {
      case FieldType::integer:
        return FieldType::integers;
      case FieldType::number:
        return FieldType::numbers;
      case FieldType::map:
        return FieldType::maps;
      default:
        return FieldType::texts;
    }
  } else {
    return scalar_type<T>();
  }
}

template <class T>
T scalar_from(const Value& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return *value.get_if<bool>();
  } else if constexpr (std::is_enum_v<T>) {
    const std::string& text = *value.get_if<std::string>();
    for (std::size_t i = 0; i < names<T>.size(); ++i) {
      if (names<T>[i] == text) return static_cast<T>(i);
    }
    return T{};  // not reached: the value was checked against the choices
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (const auto* integer = value.get_if<std::int64_t>()) return static_cast<T>(*integer);
    return static_cast<T>(*value.get_if<double>());
  } else if constexpr (std::is_same_v<T, Value>) {
    return value;
  } else {
    return *value.get_if<std::string>();
  }
}

template <class T>
Value scalar_to(const T& member) {
  if constexpr (std::is_same_v<T, bool>) {
    return Value(member);
  } else if constexpr (std::is_enum_v<T>) {
    return Value(std::string(name_of(member)));
  } else if constexpr (std::is_integral_v<T>) {
    return Value(static_cast<std::int64_t>(member));
  } else if constexpr (std::is_floating_point_v<T>) {
    return Value(static_cast<double>(member));
  } else {
    return Value(member);
  }
}

template <class T>
void store(T& member, const Value& value) {
  if constexpr (is_optional<T>::value) {
    if (value.is_null()) {
      member.reset();
    } else {
      member = scalar_from<typename T::value_type>(value);
    }
  } else if constexpr (is_vector<T>::value) {
    member.clear();
    if (value.is_null()) return;
    for (const Value& item : *value.get_if<Value::List>()) {
      if constexpr (is_vector<typename T::value_type>::value) {
        store(member.emplace_back(), item);
      } else {
        member.push_back(scalar_from<typename T::value_type>(item));
      }
    }
  } else if (value.is_null()) {
    member = T{};
  } else {
    member = scalar_from<T>(value);
  }
}

template <class T>
Value load(const T& member) {
  if constexpr (is_optional<T>::value) {
    return member ? scalar_to(*member) : Value();
  } else if constexpr (is_vector<T>::value) {
    Value::List list;
    for (const auto& item : member) {
      if constexpr (is_vector<typename T::value_type>::value) {
        list.push_back(load(item));
      } else {
        list.push_back(scalar_to(item));
      }
    }
    return Value(std::move(list));
  } else {
    return scalar_to(member);
  }
}

template <class T>
struct enum_of {
  using type = T;
};
template <class T>
struct enum_of<std::vector<T>> {
  using type = T;
};
template <class T>
struct enum_of<std::optional<T>> {
  using type = T;
};

}  // namespace stoker::config::detail

namespace stoker::config {

template <class Member>
Field field(std::string name, Member& member, std::string help) {
  Field result;
  result.name = std::move(name);
  result.help = std::move(help);
  result.type = detail::field_type<Member>();
  using Element = typename detail::enum_of<Member>::type;
  if constexpr (std::is_enum_v<Element>) {
    for (const std::string_view choice : names<Element>) result.choices.emplace_back(choice);
  }
  static_assert(!detail::is_vector<Member>::value || !std::is_same_v<Element, bool>,
                "lists hold integers, numbers, texts, names, maps or lists of texts");
  if constexpr (std::is_integral_v<Element> && !std::is_same_v<Element, bool>) {
    using Limits = std::numeric_limits<Element>;
    if constexpr (std::is_unsigned_v<Element>) result.least = 0;
    result.lowest_integer = static_cast<std::int64_t>(Limits::min());
    if constexpr (sizeof(Element) < 8) result.highest_integer = static_cast<std::int64_t>(Limits::max());
  } else if constexpr (std::is_floating_point_v<Element>) {
    result.highest_number = static_cast<double>(std::numeric_limits<Element>::max());
  }
  result.is_optional = detail::is_optional<Member>::value;
  result.store_ = [&member](const Value& value) { detail::store(member, value); };
  result.load_ = [&member] { return detail::load(member); };
  result.default_value = result.load_();
  return result;
}

template <class Config>
Field field_of_settings(std::string name, Config& member, std::string help) {
  Field result;
  result.name = std::move(name);
  result.help = std::move(help);
  result.type = FieldType::map;
  result.inner = fields(member);
  result.default_value = result.current();
  return result;
}

}  // namespace stoker::config
