#include "core/kernel/kernel.hpp"

namespace rk {

namespace {

// ORT's attribute getters report "absent" as an error; absence is ordinary here.
bool is_ok(OrtStatus* status) {
  if (status == nullptr) return true;
  api().ort->ReleaseStatus(status);
  return false;
}

}  // namespace

float Info::real(const char* name, float otherwise) const {
  float value = otherwise;
  return is_ok(api().ort->KernelInfoGetAttribute_float(info_, name, &value)) ? value : otherwise;
}

std::optional<int64_t> Info::integer(const char* name) const {
  int64_t value = 0;
  if (!is_ok(api().ort->KernelInfoGetAttribute_int64(info_, name, &value))) return std::nullopt;
  return value;
}

int64_t Info::integer(const char* name, int64_t otherwise) const { return integer(name).value_or(otherwise); }

std::optional<std::vector<int64_t>> Info::integers(const char* name) const {
  size_t count = 0;
  if (!is_ok(api().ort->KernelInfoGetAttributeArray_int64(info_, name, nullptr, &count))) return std::nullopt;
  std::vector<int64_t> values(count);
  check(api().ort->KernelInfoGetAttributeArray_int64(info_, name, values.data(), &count));
  return values;
}

std::string Info::text(const char* name, const std::string& otherwise) const {
  size_t size = 0;
  if (!is_ok(api().ort->KernelInfoGetAttribute_string(info_, name, nullptr, &size))) return otherwise;
  std::string value(size, '\0');
  check(api().ort->KernelInfoGetAttribute_string(info_, name, value.data(), &size));
  value.resize(size == 0 ? 0 : size - 1);  // size counts the terminator
  return value;
}

bool Info::is_constant(size_t input) const {
  int constant = 0;
  const OrtValue* value = nullptr;
  return is_ok(api().ort->KernelInfoGetConstantInput_tensor(info_, input, &constant, &value)) && constant != 0;
}

int Info::since_version() const {
  int version = 0;
  check(api().ort->KernelInfo_GetOperatorSinceVersion(info_, &version));
  return version;
}

size_t Info::inputs() const {
  size_t count = 0;
  check(api().ort->KernelInfo_GetInputCount(info_, &count));
  return count;
}

size_t Info::outputs() const {
  size_t count = 0;
  check(api().ort->KernelInfo_GetOutputCount(info_, &count));
  return count;
}

namespace {

Stream& stream_of(OrtKernelContext* context) {
  void* native = nullptr;
  check(api().ort->KernelContext_GetGPUComputeStream(context, &native));
  return Stream::of(native);
}

}  // namespace

Context::Context(OrtKernelContext* context) : context_(context), stream_(&stream_of(context)) {
  device::use(stream_->device());
  stream_->begin();
  stream_->rewind();
}

Tensor Context::input(size_t index) const {
  if (index >= inputs()) return {};
  const OrtValue* value = nullptr;
  check(api().ort->KernelContext_GetInput(context_, index, &value));
  return value == nullptr ? Tensor{} : view(value);
}

size_t Context::inputs() const {
  size_t count = 0;
  check(api().ort->KernelContext_GetInputCount(context_, &count));
  return count;
}

size_t Context::outputs() const {
  size_t count = 0;
  check(api().ort->KernelContext_GetOutputCount(context_, &count));
  return count;
}

Tensor Context::output(size_t index, const Shape& shape) {
  const Tensor tensor = wanted_output(index, shape);
  if (!tensor) fail("ONNX Runtime gives a node no output " + std::to_string(index) + " that its kernel must write", ORT_EP_FAIL);
  return tensor;
}

Tensor Context::wanted_output(size_t index, const Shape& shape) {
  if (index >= outputs()) return {};
  for (int64_t extent : shape) require(extent >= 0, "the operator's inputs ask for an output of a negative extent");
  OrtValue* value = nullptr;
  check(api().ort->KernelContext_GetOutput(context_, index, shape.data(), static_cast<size_t>(shape.rank()), &value));
  return value == nullptr ? Tensor{} : view_mutable(value);
}

}  // namespace rk
