// erf.
#include "core/kernel/math_exponential.h"

namespace tandem {
namespace {

/// Coefficients of -P below 1.125, which is split off the leading 2 / sqrt(pi) so that its rounding doesn't show.
constexpr double kCoefficients32[] = {-0.00337917161f, -0.63661938f,   -0.10277783f,    0.019153067f, 0.00016038974f,
                                      -0.0016670198f,  0.00063283206f, -0.00011763978f, 9.2560848e-6f};
constexpr double kCoefficients64[] = {
    -0x1.baea08536da23p-9,  -0x1.45f306dc9c897p-1,  -0x1.a4f4e2a1b2078p-4,  0x1.39668593d7c13p-6,
    0x1.b6b68bee80983p-13,  -0x1.bca67bd104c33p-10, 0x1.35654f9a8ed21p-11,  -0x1.b22bc28d6afadp-16,
    -0x1.0e7f9b80b3680p-14, 0x1.f2afcbaf9f3dfp-16,  -0x1.c950901397c61p-19, -0x1.7c86fe2726f87p-19,
    0x1.d37f0be6e5d8dp-20,  -0x1.692e78c9a5d9bp-22, -0x1.269393306c1c2p-23, 0x1.306b5b53541b4p-23,
    -0x1.1a4fcaeef4078p-24, 0x1.681e60885a1d3p-26,  -0x1.576b980bf96b1p-28, 0x1.f3445d1787391p-31,
    -0x1.12819b7d5d86ep-33, 0x1.bbab2aa505af8p-37,  -0x1.f1e871ede0b4ap-41, 0x1.5ac83df81feb7p-45,
    -0x1.c38c52552f165p-51};

}  // namespace

ValueId error_function(MathContext context, ValueId argument) {
  // erf a = 1 - e^-g(a) with g(a) = -log(erfc a) = a P(a): smooth enough for one polynomial over the whole range,
  // minimax with the weight that an error of g has in erf (f32: 2^-27.9, f64: 2^-57.5).
  MathValue x(context, argument);
  double limit = is_double(x) ? 5.9375 : 3.9375;  // erf rounds to 1 from 5.93 and 3.92 on.
  MathValue magnitude = absolute(x);
  magnitude = select(x.number(limit) < magnitude, limit, magnitude);
  MathValue small = is_double(x) ? polynomial(magnitude, kCoefficients64) : polynomial(magnitude, kCoefficients32);
  auto [power, rest] = exponential_parts(multiply_add(magnitude, -1.125, magnitude * small));
  return copy_sign(multiply_add(-power, rest, x.number(1) - power), x).id();
}

}  // namespace tandem
