#include "customop/attributes.hpp"

namespace sbk::customop {
namespace {

bool is_ok(OrtStatus* status) {
  if (status == nullptr) return true;
  g_ort->ReleaseStatus(status);
  return false;
}

// ONNX Runtime tells an operator no attribute that it does not ask for, so of what a writer may have meant these alone are seen:
// stride for strides, groups for group.
std::string singular_or_plural(std::string name) {
  if (name.back() == 's') name.pop_back();
  else name.push_back('s');
  return name;
}

}  // namespace

float Attributes::number(const char* name, float otherwise) const {
  float value = 0.0f;
  if (is_ok(g_ort->KernelInfoGetAttribute_float(info_, name, &value))) return value;
  is_missing(name, "a float", has_any(name));
  return otherwise;
}

int64_t Attributes::integer(const char* name, int64_t otherwise) const {
  int64_t value = 0;
  if (is_ok(g_ort->KernelInfoGetAttribute_int64(info_, name, &value))) return value;
  is_missing(name, "an int", has_any(name));
  return otherwise;
}

bool Attributes::flag(const char* name) const {
  const int64_t value = integer(name, 0);
  if (value != 0 && value != 1) throw std::runtime_error(std::string("attribute ") + name + " must be 0 or 1");
  return value == 1;
}

std::vector<int64_t> Attributes::integers(const char* name) const {
  size_t count = 0;
  if (!is_ok(g_ort->KernelInfoGetAttributeArray_int64(info_, name, nullptr, &count)) || count == 0) {
    is_missing(name, "a list of ints", scalar(name) || list(name));  // an empty one may be of any type
    return {};
  }
  std::vector<int64_t> values(count);
  check(g_ort->KernelInfoGetAttributeArray_int64(info_, name, values.data(), &count));
  return values;
}

std::string Attributes::text(const char* name, const char* otherwise) const {
  size_t bytes = 0;
  if (!is_ok(g_ort->KernelInfoGetAttribute_string(info_, name, nullptr, &bytes))) {
    is_missing(name, "a string", has_any(name));
    return otherwise;
  }
  std::string value(bytes, '\0');
  check(g_ort->KernelInfoGetAttribute_string(info_, name, value.data(), &bytes));
  value.resize(bytes == 0 ? 0 : bytes - 1);  // the count includes the terminating zero
  return value;
}

bool Attributes::has_any(const char* name) const {
  size_t count = 0;  // any attribute counts as a list, of no elements where it is none
  return scalar(name) || list(name) || is_ok(g_ort->KernelInfoGetAttributeArray_int64(info_, name, nullptr, &count));
}

void Attributes::is_missing(const char* name, const char* type_name, bool mistyped) const {
  if (mistyped) throw std::runtime_error(std::string("attribute ") + name + " must be " + type_name);
  const std::string similar = singular_or_plural(name);
  if (has_any(similar.c_str())) throw std::runtime_error("unknown attribute " + similar + "; it is " + name);
}

bool Attributes::scalar(const char* name) const {
  float number = 0.0f;
  int64_t integer = 0;
  size_t bytes = 0;
  if (is_ok(g_ort->KernelInfoGetAttribute_float(info_, name, &number)) ||
      is_ok(g_ort->KernelInfoGetAttribute_int64(info_, name, &integer)) ||
      is_ok(g_ort->KernelInfoGetAttribute_string(info_, name, nullptr, &bytes))) {
    return true;
  }
  OrtAllocator* allocator = nullptr;
  check(g_ort->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* tensor = nullptr;
  if (!is_ok(g_ort->KernelInfoGetAttribute_tensor(info_, name, allocator, &tensor))) return false;
  g_ort->ReleaseValue(tensor);
  return true;
}

bool Attributes::list(const char* name) const {
  size_t floats = 0, integers = 0;
  return (is_ok(g_ort->KernelInfoGetAttributeArray_float(info_, name, nullptr, &floats)) && floats > 0) ||
         (is_ok(g_ort->KernelInfoGetAttributeArray_int64(info_, name, nullptr, &integers)) && integers > 0);
}

}  // namespace sbk::customop
