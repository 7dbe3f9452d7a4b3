// Weight files, and typed arrays, as constants for build functions.

#include "web/weights.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/text.h"
#include "core/graph/constant.h"
#include "core/models/weight_constant.h"
#include "core/weights/weight_index.h"
#include "web/arguments.h"
#include "web/boundary.h"
#include "web/build_scope.h"

namespace tandem::web {

namespace {

struct Weights {
  ~Weights() {
    for (const auto& [name, number] : tensors) drop_tensor(number);
  }
  WeightFile file;
  std::unordered_map<std::string, uint32_t> tensors;  ///< What JavaScript asked for.
};

Handles<Weights>& weights() {
  static Handles<Weights> all;
  return all;
}

}  // namespace

const WeightFile& weight_file(uint32_t handle) { return weights().get(handle).file; }

}  // namespace tandem::web

using namespace tandem;       // NOLINT: the exported functions are outside every namespace
using namespace tandem::web;  // NOLINT

/// A weight file by number; 0: failed. Takes over bytes that come from malloc.
TANDEM_EXPORT uint32_t tandem_weights_read(uint8_t* bytes, uint32_t size, const char* origin) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    std::shared_ptr<const void> owner(bytes, std::free);
    const auto* first = reinterpret_cast<const std::byte*>(bytes);
    TANDEM_TRY(file, read_weights(ByteSource{{first, size}, std::move(owner)}, origin));
    auto made = std::make_unique<Weights>();
    made->file = std::move(file);
    return weights().add(std::move(made));
  });
}

/// The names of the files in an index, with line ends between them; null: failed.
TANDEM_EXPORT const char* tandem_weights_index(const char* text, uint32_t size, const char* origin) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> Result<const char*> {
    TANDEM_TRY(names, files_of_weight_index({text, size}, origin));
    std::string out;
    for (const std::string& name : names) out += name + "\n";
    return answer(std::move(out));
  });
}

/// Several files as one; 0: failed.
TANDEM_EXPORT uint32_t tandem_weights_join(const uint32_t* files, uint32_t count, const char* origin) {
  return guarded(uint32_t{0}, [&]() -> Result<uint32_t> {
    std::vector<WeightPart> parts;
    for (uint32_t i = 0; i < count; i++) parts.push_back({weight_file(files[i]).origin(), weight_file(files[i])});
    auto made = std::make_unique<Weights>();
    TANDEM_TRY(file, join_weights(parts, origin));
    made->file = std::move(file);
    return weights().add(std::move(made));
  });
}

/// Names with line ends between them.
TANDEM_EXPORT const char* tandem_weights_names(uint32_t handle) {
  std::string out;
  for (const WeightTensor& tensor : weights().get(handle).file.tensors()) out += tensor.name + "\n";
  return answer(std::move(out));
}

/// The description of a tensor; null: failed.
TANDEM_EXPORT const char* tandem_weights_tensor(uint32_t handle, const char* name) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> Result<const char*> {
    Weights& all = weights().get(handle);
    TANDEM_TRY(tensor, all.file.get(name));
    auto [place, added] = all.tensors.try_emplace(name, 0);
    if (added) place->second = hold_tensor(weight_constant(*tensor, all.file));
    return answer(describe_tensor(place->second));
  });
}

TANDEM_EXPORT void tandem_weights_destroy(uint32_t handle) { weights().remove(handle); }

/// In a build function: the description of a constant; null: failed. Takes over bytes that come from malloc.
TANDEM_EXPORT const char* tandem_constant(const char* dtype, const char* shape, uint8_t* bytes, uint32_t size) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> Result<const char*> {
    std::shared_ptr<const void> owner(bytes, std::free);
    const DType type = dtype_or_throw(dtype);
    const Shape dims = parse_shape(shape, {});
    const auto* first = reinterpret_cast<const std::byte*>(bytes);
    return answer(BuildScope::current().add(
        Tensor::constant(type, dims, constant_data(type, dims, std::move(owner), {first, size}))));
  });
}
