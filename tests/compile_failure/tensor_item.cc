// A tensor cannot be read while its graph is built.
// expect: a Tensor has no values while the graph is built: read output() after execute()
#include "core/tensor/tensor.h"

float value(const tandem::Tensor& x) { return x.item(); }
