// erf.
#include "core/kernel/math_exponential.h"

namespace tandem {
namespace {

/// erf a = 1 - e^-g(a) with g(a) = -log(erfc a) = a P(a): smooth enough for one polynomial over the whole range,
/// minimax with the weight that an error of g has in erf, 2^-27.9. Here -g; its leading coefficient -2 / sqrt(pi) is
/// split so that its rounding doesn't show.
MathValue error_function_32(MathValue x) {
  constexpr double leading = -1.125;
  constexpr double coefficients[] = {-0.00337917161f, -0.63661938f,   -0.10277783f,    0.019153067f, 0.00016038974f,
                                     -0.0016670198f,  0.00063283206f, -0.00011763978f, 9.2560848e-6f};
  MathValue magnitude = absolute(x);
  magnitude = select(x.number(3.9375) < magnitude, 3.9375, magnitude);  // erf rounds to 1 from 3.92 on.
  MathValue exponent = multiply_add(magnitude, leading, magnitude * polynomial(magnitude, coefficients));
  auto [power, rest] = exponential_parts(exponent);
  return copy_sign(multiply_add(-power, rest, x.number(1) - power), x);
}

}  // namespace

ValueId error_function(MathContext context, ValueId argument) {
  MathValue x(context, argument);
  return error_function_32(x).id();
}

}  // namespace tandem
