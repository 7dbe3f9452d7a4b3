// What a user's program does with the installed package: declare a wrapper, prepare it (which compiles kernels with the
// installed plugin), execute it, read the result.

#include <tandem/tandem.h>

#include <cstdio>
#include <vector>

struct MixerModel {
  float offset = 0.5f;
};

struct Mixer : tandem::Wrapper<Mixer, MixerModel> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 64)
  TANDEM_INPUT(gain, f32, 1, 2)
  TANDEM_INPUT(samples, f32, 2, t)
  TANDEM_BUILD(gain, samples) { return tandem::matmul(gain, samples) + model.offset; }
};

int main() {
  Mixer mixer(MixerModel{});
  if (auto prepared = mixer.prepare(); !prepared) return std::puts(prepared.error().text().c_str()), 1;
  const std::vector<float> gain = {1, 2}, samples = {1, 2, 3, 10, 20, 30};
  if (!mixer.gain_mut()->copy_from(gain) || !mixer.samples_mut()->copy_from(samples, {2, 3})) return 2;
  if (auto executed = mixer.execute_with_vars({{"t", 3}}); !executed)
    return std::puts(executed.error().text().c_str()), 3;
  const auto mixed = mixer.output()->to_vector<float>();
  return mixed && *mixed == std::vector<float>{21.5f, 42.5f, 63.5f} ? 0 : 4;
}
