#include "backends/wasm/operation_table.h"

#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::wasm_emitter {

namespace {

constexpr auto kNoUnary = wasm::InvalidUnary;
constexpr auto kNoBinary = wasm::InvalidBinary;

struct UnaryRow {
  Opcode opcode;
  wasm::UnaryOp scalar_f32, scalar_f64, vector_i32, vector_i64, vector_f32, vector_f64;
};

constexpr UnaryRow kUnary[] = {
    {Opcode::kNeg, wasm::NegFloat32, wasm::NegFloat64, wasm::NegVecI32x4, wasm::NegVecI64x2, wasm::NegVecF32x4,
     wasm::NegVecF64x2},
    {Opcode::kAbs, wasm::AbsFloat32, wasm::AbsFloat64, wasm::AbsVecI32x4, wasm::AbsVecI64x2, wasm::AbsVecF32x4,
     wasm::AbsVecF64x2},
    {Opcode::kSqrt, wasm::SqrtFloat32, wasm::SqrtFloat64, kNoUnary, kNoUnary, wasm::SqrtVecF32x4, wasm::SqrtVecF64x2},
    {Opcode::kFloor, wasm::FloorFloat32, wasm::FloorFloat64, kNoUnary, kNoUnary, wasm::FloorVecF32x4,
     wasm::FloorVecF64x2},
    {Opcode::kCeil, wasm::CeilFloat32, wasm::CeilFloat64, kNoUnary, kNoUnary, wasm::CeilVecF32x4, wasm::CeilVecF64x2},
    {Opcode::kTrunc, wasm::TruncFloat32, wasm::TruncFloat64, kNoUnary, kNoUnary, wasm::TruncVecF32x4,
     wasm::TruncVecF64x2},
    {Opcode::kNearest, wasm::NearestFloat32, wasm::NearestFloat64, kNoUnary, kNoUnary, wasm::NearestVecF32x4,
     wasm::NearestVecF64x2},
};

struct BinaryRow {
  Opcode opcode;
  wasm::BinaryOp i32, i64, f32, f64;
};

constexpr BinaryRow kScalarBinary[] = {
    {Opcode::kAdd, wasm::AddInt32, wasm::AddInt64, wasm::AddFloat32, wasm::AddFloat64},
    {Opcode::kSub, wasm::SubInt32, wasm::SubInt64, wasm::SubFloat32, wasm::SubFloat64},
    {Opcode::kMul, wasm::MulInt32, wasm::MulInt64, wasm::MulFloat32, wasm::MulFloat64},
    {Opcode::kDiv, wasm::DivSInt32, wasm::DivSInt64, wasm::DivFloat32, wasm::DivFloat64},
    {Opcode::kRem, wasm::RemSInt32, wasm::RemSInt64, kNoBinary, kNoBinary},
    {Opcode::kDivU, wasm::DivUInt32, wasm::DivUInt64, kNoBinary, kNoBinary},
    {Opcode::kRemU, wasm::RemUInt32, wasm::RemUInt64, kNoBinary, kNoBinary},
    {Opcode::kMin, kNoBinary, kNoBinary, wasm::MinFloat32, wasm::MinFloat64},
    {Opcode::kMax, kNoBinary, kNoBinary, wasm::MaxFloat32, wasm::MaxFloat64},
    {Opcode::kAnd, wasm::AndInt32, wasm::AndInt64, kNoBinary, kNoBinary},
    {Opcode::kOr, wasm::OrInt32, wasm::OrInt64, kNoBinary, kNoBinary},
    {Opcode::kXor, wasm::XorInt32, wasm::XorInt64, kNoBinary, kNoBinary},
    {Opcode::kShl, wasm::ShlInt32, wasm::ShlInt64, kNoBinary, kNoBinary},
    {Opcode::kShr, wasm::ShrSInt32, wasm::ShrSInt64, kNoBinary, kNoBinary},
    {Opcode::kShrU, wasm::ShrUInt32, wasm::ShrUInt64, kNoBinary, kNoBinary},
    {Opcode::kEqual, wasm::EqInt32, wasm::EqInt64, wasm::EqFloat32, wasm::EqFloat64},
    {Opcode::kNotEqual, wasm::NeInt32, wasm::NeInt64, wasm::NeFloat32, wasm::NeFloat64},
    {Opcode::kLess, wasm::LtSInt32, wasm::LtSInt64, wasm::LtFloat32, wasm::LtFloat64},
    {Opcode::kLessEqual, wasm::LeSInt32, wasm::LeSInt64, wasm::LeFloat32, wasm::LeFloat64},
    {Opcode::kLessU, wasm::LtUInt32, wasm::LtUInt64, kNoBinary, kNoBinary},
    {Opcode::kLessEqualU, wasm::LeUInt32, wasm::LeUInt64, kNoBinary, kNoBinary},
};

constexpr BinaryRow kVectorBinary[] = {
    {Opcode::kAdd, wasm::AddVecI32x4, wasm::AddVecI64x2, wasm::AddVecF32x4, wasm::AddVecF64x2},
    {Opcode::kSub, wasm::SubVecI32x4, wasm::SubVecI64x2, wasm::SubVecF32x4, wasm::SubVecF64x2},
    {Opcode::kMul, wasm::MulVecI32x4, wasm::MulVecI64x2, wasm::MulVecF32x4, wasm::MulVecF64x2},
    {Opcode::kDiv, kNoBinary, kNoBinary, wasm::DivVecF32x4, wasm::DivVecF64x2},
    {Opcode::kMin, wasm::MinSVecI32x4, kNoBinary, wasm::MinVecF32x4, wasm::MinVecF64x2},
    {Opcode::kMax, wasm::MaxSVecI32x4, kNoBinary, wasm::MaxVecF32x4, wasm::MaxVecF64x2},
    {Opcode::kMinU, wasm::MinUVecI32x4, kNoBinary, kNoBinary, kNoBinary},
    {Opcode::kMaxU, wasm::MaxUVecI32x4, kNoBinary, kNoBinary, kNoBinary},
    {Opcode::kAnd, wasm::AndVec128, wasm::AndVec128, kNoBinary, kNoBinary},
    {Opcode::kOr, wasm::OrVec128, wasm::OrVec128, kNoBinary, kNoBinary},
    {Opcode::kXor, wasm::XorVec128, wasm::XorVec128, kNoBinary, kNoBinary},
    {Opcode::kEqual, wasm::EqVecI32x4, wasm::EqVecI64x2, wasm::EqVecF32x4, wasm::EqVecF64x2},
    {Opcode::kNotEqual, wasm::NeVecI32x4, wasm::NeVecI64x2, wasm::NeVecF32x4, wasm::NeVecF64x2},
    {Opcode::kLess, wasm::LtSVecI32x4, wasm::LtSVecI64x2, wasm::LtVecF32x4, wasm::LtVecF64x2},
    {Opcode::kLessEqual, wasm::LeSVecI32x4, wasm::LeSVecI64x2, wasm::LeVecF32x4, wasm::LeVecF64x2},
    {Opcode::kLessU, wasm::LtUVecI32x4, kNoBinary, kNoBinary, kNoBinary},
    {Opcode::kLessEqualU, wasm::LeUVecI32x4, kNoBinary, kNoBinary, kNoBinary},
};

[[noreturn]] void missing(Opcode opcode, Scalar scalar) {
  throw InternalError(concat("no WebAssembly instruction for ", name_of(opcode), " of ", text(Type{scalar, 1})));
}

wasm::BinaryOp pick(const BinaryRow* rows, size_t count, Opcode opcode, Scalar scalar, bool is_vector) {
  for (size_t i = 0; i < count; i++) {
    if (rows[i].opcode != opcode) continue;
    auto op = rows[i].i32;
    if (scalar == Scalar::kI64 || (is_vector && scalar == Scalar::kMask64)) op = rows[i].i64;
    if (scalar == Scalar::kF32) op = rows[i].f32;
    if (scalar == Scalar::kF64) op = rows[i].f64;
    if (op != kNoBinary) return op;
  }
  missing(opcode, scalar);
}

const UnaryRow& unary_row(Opcode opcode, Scalar scalar) {
  for (const UnaryRow& row : kUnary)
    if (row.opcode == opcode) return row;
  missing(opcode, scalar);
}

}  // namespace

wasm::UnaryOp scalar_unary(Opcode opcode, Scalar scalar) {
  const UnaryRow& row = unary_row(opcode, scalar);
  if (scalar == Scalar::kF32) return row.scalar_f32;
  if (scalar == Scalar::kF64) return row.scalar_f64;
  missing(opcode, scalar);
}

wasm::UnaryOp vector_unary(Opcode opcode, Scalar scalar) {
  const UnaryRow& row = unary_row(opcode, scalar);
  wasm::UnaryOp op = kNoUnary;
  if (scalar == Scalar::kI32) op = row.vector_i32;
  if (scalar == Scalar::kI64) op = row.vector_i64;
  if (scalar == Scalar::kF32) op = row.vector_f32;
  if (scalar == Scalar::kF64) op = row.vector_f64;
  if (op == kNoUnary) missing(opcode, scalar);
  return op;
}

wasm::BinaryOp scalar_binary(Opcode opcode, Scalar scalar) {
  return pick(kScalarBinary, sizeof(kScalarBinary) / sizeof(BinaryRow), opcode, scalar, false);
}

wasm::BinaryOp vector_binary(Opcode opcode, Scalar scalar) {
  return pick(kVectorBinary, sizeof(kVectorBinary) / sizeof(BinaryRow), opcode, scalar, true);
}

}  // namespace tandem::wasm_emitter
