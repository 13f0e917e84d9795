#include "conv/conv_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/device.hpp"
#include "conv/conv_choice_text.hpp"

namespace sbk::conv_detail {
namespace {

// What STACKBUILD_KERNELS_CONV and STACKBUILD_KERNELS_CONV_CACHE say, the choices known, and the lock over them.
class Book {
 public:
  static Book& get() {
    static Book book;
    return book;
  }

  bool reads_choices(ConvChoosing how) const {
    if (how == ConvChoosing::environment) return measuring_ || named_;
    return how == ConvChoosing::measure || how == ConvChoosing::cached;
  }
  bool measures(ConvChoosing how) const { return how == ConvChoosing::environment ? measuring_ : how == ConvChoosing::measure; }
  bool avoids_winograd() const { return avoids_winograd_; }
  const Status& status() const { return status_; }

  bool find(const ShapeKey& key, Choice* choice) const {
    const std::shared_lock<std::shared_mutex> hold(lock_);
    const auto row = choices_.find(key);
    if (row == choices_.end()) return false;
    *choice = row->second;
    return true;
  }

  Status use(const char* file, bool must_exist) {
    SBK_TRY(status_);
    const std::unique_lock<std::shared_mutex> hold(lock_);
    if (file_ == file) return {};
    if (!file_.empty()) return invalid("conv: this process has another file of choices already");
    if (devices_.empty()) SBK_TRY(name_devices());
    SBK_TRY(read(file, must_exist));
    file_ = file;
    return {};
  }

  // One thread measures at a time: two at once would measure each other.
  std::mutex& turn() { return turn_; }

  Status add(const ShapeKey& key, const Choice& choice) {
    const std::unique_lock<std::shared_mutex> hold(lock_);
    SBK_TRY(write(key, choice));
    choices_[key] = choice;  // not one that could not be kept: the next call fails as this one
    return {};
  }

 private:
  Status write(const ShapeKey& key, const Choice& choice) const {
    if (file_.empty()) return {};
    const bool fresh = std::ifstream(file_).peek() == std::ifstream::traits_type::eof();
    std::ofstream out(file_, std::ios::app);
    // One write a line: two processes that share the file do not mix their lines.
    out << ((fresh ? std::string(kChoicesHeader) + "\n" : "") + line_of(devices_[static_cast<size_t>(key.device)], key, choice))
        << std::flush;
    return out ? Status{} : invalid("conv: the file of choices cannot be written");
  }

  Book() {
    const char* how = std::getenv("STACKBUILD_KERNELS_CONV");
    const char* file = std::getenv("STACKBUILD_KERNELS_CONV_CACHE");
    measuring_ = how != nullptr && std::strcmp(how, "measure") == 0;
    avoids_winograd_ = how != nullptr && std::strcmp(how, "no_winograd") == 0;
    if (how != nullptr && *how != '\0' && !measuring_ && !avoids_winograd_ && std::strcmp(how, "rule") != 0) {
      status_ = invalid("conv: STACKBUILD_KERNELS_CONV must be rule, no_winograd or measure");
    }
    file_ = file == nullptr ? "" : file;
    named_ = !file_.empty();
    if (!named_ || !status_.ok()) return;
    status_ = name_devices();
    if (status_.ok()) status_ = read(file_, !measuring_);
  }

  Status name_devices() {
    int count = 0;
    SBK_HIP(hipGetDeviceCount(&count));
    for (int i = 0; i < count; ++i) {
      hipDeviceProp_t properties;
      SBK_HIP(hipGetDeviceProperties(&properties, i));
#if SBK_AMD
      std::string name = properties.gcnArchName;
#else
      std::string name = properties.name;
#endif
      std::replace(name.begin(), name.end(), ' ', '_');
      devices_.push_back(name + "/" + std::to_string(properties.multiProcessorCount));
    }
    return {};
  }

  // One that need not exist is to be filled, and begun here: that it cannot be is said before anything is measured.
  Status read(const std::string& file, bool must_exist) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(file, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return invalid("conv: the file of choices is not a regular file");
    if (!must_exist && !std::ofstream(file, std::ios::app)) return invalid("conv: the file of choices cannot be written");
    std::ifstream in(file);
    if (!in) return invalid("conv: the file of choices cannot be read");
    std::string line;
    if (!std::getline(in, line)) return must_exist ? invalid("conv: the file of choices is empty") : Status{};
    if (line != kChoicesHeader) return invalid("conv: the file of choices has another first line: it is of another version");
    while (std::getline(in, line)) {
      if (line == kChoicesHeader && !in.eof()) continue;  // two processes began the file at once
      std::string device;
      ShapeKey key{};
      Choice choice;
      if (in.eof() || !parse_line(line, &device, &key, &choice)) {
        return invalid("conv: the file of choices has a damaged line: delete it or the file");
      }
      for (size_t i = 0; i < devices_.size(); ++i) {
        key.device = static_cast<int64_t>(i);
        if (devices_[i] == device) choices_[key] = choice;
      }
    }
    return {};
  }

  bool measuring_ = false, avoids_winograd_ = false;  // the environment says so
  bool named_ = false;      // the environment names the file
  std::string file_;
  Status status_;
  std::vector<std::string> devices_;
  mutable std::shared_mutex lock_;
  std::mutex turn_;
  std::unordered_map<ShapeKey, Choice, ShapeHash> choices_;
};

ShapeKey key_of(const ConvParams& p) {
  ShapeKey key = shape_key(p);
  int device = 0;
  if (hipGetDevice(&device) == hipSuccess) key.device = device;
  return key;
}

// Device events for the length of one measurement.
class Stopwatch {
 public:
  explicit Stopwatch(hipStream_t stream) : stream_(stream) {}
  Stopwatch(const Stopwatch&) = delete;
  ~Stopwatch() {
    for (const hipEvent_t event : {start_, stop_}) {
      if (event != nullptr) static_cast<void>(hipEventDestroy(event));
    }
  }
  Status make() {
    SBK_HIP(hipEventCreate(&start_));
    return check(hipEventCreate(&stop_));
  }
  // Milliseconds of one of `count` runs one behind the other.
  Status time(const ConvParams& p, const Launch& launch, int count, float* milliseconds) {
    SBK_HIP(hipEventRecord(start_, stream_));
    for (int i = 0; i < count; ++i) SBK_TRY(run_as_told(p, launch));
    SBK_HIP(hipEventRecord(stop_, stream_));
    SBK_HIP(hipEventSynchronize(stop_));
    SBK_HIP(hipEventElapsedTime(milliseconds, start_, stop_));
    *milliseconds /= static_cast<float>(count);
    return {};
  }

 private:
  hipStream_t stream_;
  hipEvent_t start_ = nullptr, stop_ = nullptr;
};

constexpr int kRounds = 5;
constexpr float kSampleMilliseconds = 0.2f;  // at least, of a sample, while that is no more than kMostRuns runs
constexpr int kMostRuns = 20;

// The fastest of `choices` by the median of its samples, which are taken in turn.
Status fastest(const ConvParams& p, const Launch& launch, const Choice (&choices)[kConvMaxChoices], int count, Choice* best) {
  Stopwatch watch(static_cast<hipStream_t>(launch.stream));
  SBK_TRY(watch.make());
  float samples[kConvMaxChoices][kRounds];
  int runs[kConvMaxChoices];
  ConvParams q = p;
  const auto as = [&](const Choice& c) -> const ConvParams& {
    q.algorithm = c.algorithm;
    q.variant = c.variant;
    return q;
  };
  for (int i = 0; i < count; ++i) {
    float warm = 0.0f;  // code is loaded at the first run
    SBK_TRY(watch.time(as(choices[i]), launch, 1, &warm));
    SBK_TRY(watch.time(as(choices[i]), launch, 1, &warm));
    runs[i] = std::clamp(static_cast<int>(kSampleMilliseconds / std::max(warm, 1e-4f)), 1, kMostRuns);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < count; ++i) SBK_TRY(watch.time(as(choices[i]), launch, runs[i], &samples[i][round]));
  }
  int winner = 0;
  for (int i = 0; i < count; ++i) {
    std::nth_element(samples[i], samples[i] + kRounds / 2, samples[i] + kRounds);
    if (samples[i][kRounds / 2] < samples[winner][kRounds / 2]) winner = i;
  }
  *best = choices[winner];
  return {};
}

bool capturing(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  return hipStreamIsCapturing(stream, &status) != hipSuccess || status != hipStreamCaptureStatusNone;
}

}  // namespace

Knowledge known_choice(const ConvParams& p, Choice* choice) {
  const Book& book = Book::get();
  if (!book.reads_choices(p.choosing) || !book.status().ok()) return Knowledge::no;
  if (book.find(key_of(p), choice)) return Knowledge::yes;
  return book.measures(p.choosing) ? Knowledge::must_measure : Knowledge::no;
}

Status choosing_status() { return Book::get().status(); }

bool environment_avoids_winograd() { return Book::get().avoids_winograd(); }

Status measure_choice(const ConvParams& p, const Launch& launch, Choice* choice, bool* done) {
  *done = false;
  if (p.residual == p.y || capturing(static_cast<hipStream_t>(launch.stream))) return {};
  Choice choices[kConvMaxChoices];
  const int count = conv_choices(p, choices);
  for (int i = 0; i < count; ++i) {
    ConvParams q = p;
    q.algorithm = choices[i].algorithm;
    q.variant = choices[i].variant;
    if (workspace_for(q) > launch.workspace_bytes) return {};
  }
  Book& book = Book::get();
  const std::lock_guard<std::mutex> hold(book.turn());
  const ShapeKey key = key_of(p);
  if (!book.find(key, choice)) {
    SBK_TRY(fastest(p, launch, choices, count, choice));
    SBK_TRY(book.add(key, *choice));
  }
  *done = true;
  return {};
}

}  // namespace sbk::conv_detail

sbk::Status sbk::gpu::conv_choices_file(const char* file, bool must_exist) {
  return conv_detail::Book::get().use(file, must_exist);
}
