#include "native/seeded_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/base/text.h"
#include "native/model_weights.h"

namespace tandem {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

uint64_t hash_of(const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3;
  return hash;
}

/// Number i of a sequence in [-1, 1), a multiple of 2^-23.
double uniform(uint64_t state, uint64_t i) {
  uint64_t z = state + (i + 1) * kGolden;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return static_cast<double>(z >> 40) * 0x1p-23 - 1.0;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
bool ends(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

struct Range {
  double half, middle;
};

Range range_of(const WeightNeed& need) {
  const std::string& name = need.name;
  if (contains(name, ".norm_") || contains(name, "batch_norm")) {
    if (ends(name, "running_var")) return {0.5, 1.0};
    return {0.25, ends(name, "weight") ? 1.0 : 0.0};
  }
  if (contains(name.substr(name.rfind('.') + 1), "bias")) return {0.125, 0.0};
  int64_t fan_in = 1;
  for (size_t i = 1; i < need.shape.size(); ++i) fan_in *= need.shape[i];
  const double usual = std::sqrt(3.0 / static_cast<double>(fan_in));
  const double large = std::sqrt(6.0 / static_cast<double>(fan_in));
  if (contains(name, "pre_encode.conv.0")) return {large / 8.0, 0.0};
  if (contains(name, "pre_encode.conv")) return {large, 0.0};
  if (contains(name, "decoder.embed")) return {2.0, 0.0};
  if (contains(name, ".lstm.")) return {2.0 * usual, 0.0};
  if (contains(name, "joint.pred.weight")) return {4.0 * usual, 0.0};
  if (contains(name, "head.decoder_layers") || contains(name, "joint_net")) return {3.0 * usual, 0.0};
  return {usual, 0.0};
}

size_t elements_of(const WeightNeed& need) {
  size_t count = 1;
  for (const int64_t extent : need.shape) count *= static_cast<size_t>(extent);
  return count;
}

/// A file without a name that is closed at the end.
class NamelessFile {
 public:
  NamelessFile() : descriptor_(::memfd_create("tandem seeded weights", MFD_CLOEXEC)) {}
  ~NamelessFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  int descriptor() const { return descriptor_; }
  bool append(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return true;
  }

 private:
  int descriptor_;
};

}  // namespace

void fill_seeded_weight(const WeightNeed& need, uint64_t seed, std::span<float> values) {
  const Range range = range_of(need);
  const uint64_t state = hash_of(need.name) ^ (seed * kGolden);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(range.half * uniform(state, i) + range.middle);
}

Result<WeightFile> seeded_gigaam_weights(const GigaAmConfig& config, uint64_t seed) {
  const std::vector<WeightNeed> needs = gigaam_weight_needs(config);
  const NamelessFile data;
  const std::string origin = concat("weights of seed ", seed);
  std::vector<float> values;
  for (const WeightNeed& need : needs) {
    values.resize(elements_of(need));
    fill_seeded_weight(need, seed, values);
    if (!data.append(std::as_bytes(std::span<const float>(values))))
      return fail(ErrorCode::kRuntime, concat(origin, " could not be written: ", std::strerror(errno)));
  }
  TANDEM_TRY(source, map_descriptor(data.descriptor(), origin));
  WeightFile file(origin);
  size_t position = 0;
  for (const WeightNeed& need : needs) {
    WeightTensor tensor;
    tensor.name = need.name;
    tensor.shape = need.shape;
    tensor.bytes = source.bytes.subspan(position, elements_of(need) * sizeof(float));
    position += tensor.bytes.size();
    if (auto added = file.add(std::move(tensor)); !added)
      return fail(added.error().code, concat(origin, ": ", added.error().message));
  }
  file.keep(std::move(source));
  return file;
}

}  // namespace tandem
