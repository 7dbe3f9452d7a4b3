// Arrays of inputs, states and outputs: each element with its own buffer, found by a checked index.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <set>

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PrepareConfig on(const char* backend) {
  PrepareConfig config;
  config.backend_name = backend;
  config.numerics = Numerics::kReproducible;
  return config;
}

struct BankModel {
  int64_t bands = 3;
};

/// Bands of different widths, each with a running sum, and their mean.
struct Bank : Wrapper<Bank, BankModel> {
  using Wrapper::Wrapper;
  TANDEM_INPUT(gain)
  TANDEM_INPUT_ARRAY(bands, model.bands)
  TANDEM_INPUT(offset)
  TANDEM_BUILD(gain, bands, offset) {
    Tensor all = concat(bands, 0);
    for (size_t i = 1; i < bands.size(); i++) all = all + bands[i].slice(0, 0, 1);
    return all * gain + offset;
  }
};

/// Element types and shapes in the declarations; states and outputs as arrays.
struct Taps : Wrapper<Taps, BankModel> {
  using Wrapper::Wrapper;
  TANDEM_VAR(t, 1, 4)
  TANDEM_INPUT_ARRAY(lanes, 2, f32, t)
  TANDEM_STATE_ARRAY(totals, model.bands - 1, f32, 1)
  TANDEM_OUTPUT_ARRAY(sums, 2, f32)
  TANDEM_OUTPUT(count, i32)
  TANDEM_BUILD(lanes, totals) {
    std::vector<Tensor> next;
    for (size_t i = 0; i < totals.size(); i++) next.push_back(totals[i] + lanes[i].sum({0}, true));
    return {as_sums({lanes[0] + next[0], lanes[1] + next[1]}), as_totals(next), as_count((next[0]).cast(DType::kI32))};
  }
};

struct Reaching : Wrapper<Reaching, BankModel> {
  using Wrapper::Wrapper;
  TANDEM_INPUT_ARRAY(bands, model.bands)
  TANDEM_BUILD(bands) { return bands[3]; }
};

struct Ignoring : Wrapper<Ignoring, BankModel> {
  using Wrapper::Wrapper;
  TANDEM_INPUT_ARRAY(bands, model.bands)
  TANDEM_BUILD(bands) { return bands[0] + bands[2]; }
};

struct Optional : Wrapper<Optional, BankModel> {
  using Wrapper::Wrapper;
  TANDEM_INPUT_ARRAY(extra, model.bands)
  TANDEM_INPUT(x)
  TANDEM_BUILD(x, extra) {
    Tensor sum = x;
    for (const Tensor& more : extra) sum = sum + more;
    return sum;
  }
};

class JitArrays : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, JitArrays, testing::Values("interpreter", "native", "wasm"));

TEST_P(JitArrays, EveryElementHasASpecAndABufferOfItsOwn) {
  Bank bank(BankModel{});
  const auto prepared =
      bank.prepare_with_config(f32({1}), InputSpecs{f32({1}), f32({2}), f32({3})}, f32({1}), on(GetParam()));
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(bank.bands_count(), 3u);
  ASSERT_TRUE(bank.gain_mut()->copy_from(std::vector<float>{10}));
  ASSERT_TRUE(bank.offset_mut()->copy_from(std::vector<float>{0.5f}));
  ASSERT_TRUE(bank.bands_mut(0)->copy_from(std::vector<float>{1}));
  ASSERT_TRUE(bank.bands_mut(1)->copy_from(std::vector<float>{2, 3}));
  ASSERT_TRUE(bank.bands_mut(2)->copy_from(std::vector<float>{4, 5, 6}));
  EXPECT_EQ(bank.bands_view<float>(2)->size(), 3u);
  ASSERT_TRUE(bank.execute());
  // [1 2 3 4 5 6] + 2 + 4, times 10, plus 0.5
  EXPECT_THAT(*bank.output()->to_vector<float>(), ElementsAre(70.5, 80.5, 90.5, 100.5, 110.5, 120.5));
  const std::vector<uint32_t> ids = *bank.input_buffer_ids();
  EXPECT_EQ(std::set<uint32_t>(ids.begin(), ids.end()).size(), 5u);
}

TEST_P(JitArrays, OneSpecServesAllElements) {
  Bank bank(BankModel{2});
  const auto prepared = bank.prepare_with_config(f32({1}), f32({2}), f32({1}), on(GetParam()));
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(bank.bands_count(), 2u);
  EXPECT_THAT(bank.bands_mut(1)->shape(), ElementsAre(2));
}

TEST_P(JitArrays, StatesAndOutputsComeInArraysToo) {
  Taps taps(BankModel{});
  const auto prepared = taps.prepare_with_config(on(GetParam()));
  ASSERT_TRUE(prepared) << prepared.error().text();
  ASSERT_TRUE(taps.lanes_mut(0)->copy_from(std::vector<float>{1, 2}, {2}));
  ASSERT_TRUE(taps.lanes_mut(1)->copy_from(std::vector<float>{10, 20}, {2}));
  ASSERT_TRUE(taps.execute_bound(2));
  EXPECT_THAT(*taps.sums(0)->to_vector<float>(), ElementsAre(4, 5));
  EXPECT_THAT(*taps.sums_view<float>(1), ElementsAre(40, 50));
  ASSERT_TRUE(taps.execute_bound(2));
  EXPECT_THAT(*taps.sums(0)->to_vector<float>(), ElementsAre(7, 8));
  EXPECT_THAT(*taps.count()->to_vector<int32_t>(), ElementsAre(6));
  EXPECT_THAT(*taps.totals_mut(1)->to_vector<float>(), ElementsAre(60));
  ASSERT_TRUE(taps.reset());
  EXPECT_THAT(*taps.totals_view<float>(1), ElementsAre(0));
  EXPECT_EQ(taps.output_buffers()->size(), 5u);
  EXPECT_EQ((*taps.output_buffers())[1].name(), "sums[1]");
}

TEST_P(JitArrays, AnOutputIsCopiedIntoAnElement) {
  Taps taps(BankModel{});
  ASSERT_TRUE(taps.prepare_with_config(on(GetParam())));
  ASSERT_TRUE(taps.lanes_mut(0)->copy_from(std::vector<float>{1, 2, 3, 4}));
  ASSERT_TRUE(taps.execute());
  ASSERT_THAT(*taps.sums(0)->to_vector<float>(), ElementsAre(11, 12, 13, 14));
  ASSERT_TRUE(taps.copy_output_to_lanes(1, 0, 2, 1, 2));
  EXPECT_THAT(*taps.lanes_mut(1)->to_vector<float>(), ElementsAre(0, 0, 12, 13));
  EXPECT_EQ(taps.copy_output_to_lanes(2, 0, 0, 0, 1).error().code, ErrorCode::kInputBufferNotFound);
  EXPECT_EQ(taps.copy_output_to_lanes(1, 0, 3, 0, 2).error().code, ErrorCode::kViewOutOfBounds);
  EXPECT_EQ(taps.copy_output_to_lanes(1, 0, 0, 3, 2).error().code, ErrorCode::kViewOutOfBounds);
  EXPECT_EQ(taps.copy_output_to_lanes(1, 2, 0, 0, 1).error().text(),
            "DtypeMismatch: input \"lanes[1]\" (f32[4]) can't take elements of \"count\", which are i32");
}

TEST(JitArrayErrors, AnIndexOutOfRangeIsNamed) {
  Bank bank(BankModel{});
  EXPECT_EQ(bank.bands_mut(0).error().code, ErrorCode::kNotPrepared);
  ASSERT_TRUE(bank.prepare_with_config(f32({1}), f32({1}), f32({1}), on("interpreter")));
  EXPECT_EQ(bank.bands_mut(3).error().text(),
            "InputBufferNotFound: input \"bands[3]\" of \"Bank\" was asked for; \"bands\" has 3 elements");
  EXPECT_EQ(bank.bands_view<float>(3).error().code, ErrorCode::kInputBufferNotFound);
  EXPECT_EQ(bank.bands_view<int32_t>(0).error().code, ErrorCode::kDtypeMismatch);
  Taps taps(BankModel{});
  ASSERT_TRUE(taps.prepare_with_config(on("interpreter")));
  EXPECT_EQ(taps.totals_mut(2).error().code, ErrorCode::kInputBufferNotFound);
  EXPECT_THAT(taps.sums(2).error().text(), HasSubstr("output \"sums[2]\" of \"Taps\" was asked for"));
}

TEST(JitArrayErrors, ElementsThatBuildDoesNotHave) {
  Reaching reaching(BankModel{});
  const auto failed = reaching.prepare_with_config(f32({1}), on("interpreter"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kBuild);
  EXPECT_THAT(failed.error().message, HasSubstr("element 3 of \"bands\" was asked for; the array has 3 elements"));
}

TEST(JitArrayErrors, AnIgnoredElementIsNamed) {
  Ignoring ignoring(BankModel{});
  const auto failed = ignoring.prepare_with_config(f32({1}), on("interpreter"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInputBufferNotFound);
  EXPECT_THAT(failed.error().message, HasSubstr("\"bands[1]\""));
}

TEST(JitArrayErrors, WrongNumbersOfSpecsAndElementsAreNamed) {
  Bank bank(BankModel{});
  auto failed = bank.prepare_with_config(f32({1}), InputSpecs{f32({1}), f32({2})}, f32({1}), on("interpreter"));
  EXPECT_EQ(
      failed.error().text(),
      "Tensor: the array \"bands\" of \"Bank\" got 2 InputSpecs for 3 elements; give one for each, or one alone for "
      "all");
  failed = bank.prepare_with_config(InputSpecs{f32({1})}, f32({1}), f32({1}), on("interpreter"));
  EXPECT_THAT(failed.error().text(), HasSubstr("input \"gain\" of \"Bank\" got a list of 1 InputSpecs"));
  failed = bank.prepare_with_config(f32({1}), InputSpecs{f32({1}), f32({0}), f32({1})}, f32({1}), on("interpreter"));
  EXPECT_THAT(failed.error().text(), HasSubstr("input \"bands[1]\": the InputSpec f32[0]"));
  Bank negative(BankModel{-1});
  failed = negative.prepare_with_config(f32({1}), f32({1}), f32({1}), on("interpreter"));
  EXPECT_EQ(failed.error().text(), "Tensor: the array \"bands\" of \"Bank\" has -1 elements; it may have 0 to 4096");
}

TEST(JitArrays, AnArrayMayBeEmpty) {
  for (const int64_t count : {0, 2}) {
    Optional optional(BankModel{count});
    const auto prepared = optional.prepare_with_config(f32({2}), f32({2}), on("interpreter"));
    ASSERT_TRUE(prepared) << prepared.error().text();
    ASSERT_TRUE(optional.x_mut()->copy_from(std::vector<float>{1, 2}));
    for (int64_t i = 0; i < count; i++)
      ASSERT_TRUE(optional.extra_mut(static_cast<size_t>(i))->copy_from(std::vector<float>{10, 10}));
    ASSERT_TRUE(optional.execute());
    EXPECT_THAT(*optional.output()->to_vector<float>(),
                ElementsAre(1 + 10 * static_cast<float>(count), 2 + 10 * static_cast<float>(count)));
  }
}

}  // namespace
}  // namespace tandem
