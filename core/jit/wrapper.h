#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/jit/recurrent.h"
#include "core/jit/session.h"
#include "core/jit/wrapper_macros.h"

namespace tandem {

/// The element types as words of a declaration: TANDEM_INPUT(mel, f32, 1, 80).
namespace dtype_words {
inline constexpr DType boolean = DType::kBool, i8 = DType::kI8, i16 = DType::kI16, i32 = DType::kI32, i64 = DType::kI64,
                       u8 = DType::kU8, u16 = DType::kU16, u32 = DType::kU32, u64 = DType::kU64, f16 = DType::kF16,
                       bf16 = DType::kBF16, f32 = DType::kF32, f64 = DType::kF64;
}  // namespace dtype_words

namespace jit_detail {

/// Counts declarations while a class is being read: each macro adds an overload for one rank more, and the call with
/// the highest rank finds the last one.
template <int rank>
struct Rank : Rank<rank - 1> {};
template <>
struct Rank<0> {};
inline constexpr int kMaxDeclarations = 64;

template <int number>
using Number = std::integral_constant<int, number>;

/// Where counting begins; found through the namespace of Rank.
template <typename Wrapper>
Number<0> tandem_count_spec(Wrapper*, Rank<0>);
template <typename Wrapper>
Number<0> tandem_count_variable(Wrapper*, Rank<0>);

template <int number>
struct Argument {};

template <typename Wrapper>
inline constexpr int specs_of =
    decltype(tandem_count_spec(static_cast<Wrapper*>(nullptr), Rank<kMaxDeclarations>()))::value;
template <typename Wrapper>
inline constexpr int variables_of =
    decltype(tandem_count_variable(static_cast<Wrapper*>(nullptr), Rank<kMaxDeclarations>()))::value;

/// The type whose name tells what is wrong with a call: of the first input or variable that got nothing, or of the
/// first argument that belongs to none.
template <typename Wrapper, int given, int needed>
struct SpecCulprit {
  using type = decltype(tandem_name_spec(static_cast<Wrapper*>(nullptr), Number<given>()));
};
template <typename Wrapper, int given, int needed>
struct VariableCulprit {
  using type = decltype(tandem_name_variable(static_cast<Wrapper*>(nullptr), Number<given>()));
};
template <int number>
struct ARGUMENT_WITHOUT_A_DECLARATION {};
template <typename Wrapper, int given, int needed>
  requires(given >= needed)
struct SpecCulprit<Wrapper, given, needed> {
  using type = ARGUMENT_WITHOUT_A_DECLARATION<needed + 1>;
};
template <typename Wrapper, int given, int needed>
  requires(given >= needed)
struct VariableCulprit<Wrapper, given, needed> {
  using type = ARGUMENT_WITHOUT_A_DECLARATION<needed + 1>;
};

template <typename Culprit, int given, int needed>
struct CheckInputSpecs {
  static_assert(given == needed,
                "prepare() takes one InputSpec for each TANDEM_INPUT that states no shape, one or a list for each such "
                "TANDEM_INPUT_ARRAY; the culprit is named in the template arguments of CheckInputSpecs");
  static constexpr bool value = given == needed;
};
template <typename Culprit, int given, int needed>
struct CheckVariableValues {
  static_assert(given == needed,
                "execute_bound() takes one value for each TANDEM_VAR, in their order; the culprit is named in the "
                "template arguments of CheckVariableValues");
  static constexpr bool value = given == needed;
};

/// May an output or variable be called so? What every wrapper has already would be hidden.
constexpr bool is_free_name(std::string_view name) {
  constexpr std::string_view taken[] = {"build",
                                        "model",
                                        "session",
                                        "prepare",
                                        "prepare_with_config",
                                        "is_prepared",
                                        "execute",
                                        "execute_with_vars",
                                        "execute_bound",
                                        "execute_profiled",
                                        "execute_with_vars_profiled",
                                        "reset",
                                        "output",
                                        "buffers",
                                        "output_buffers",
                                        "input_buffer_ids",
                                        "prepared_kernels",
                                        "replicate"};
  for (const std::string_view each : taken)
    if (name == each) return false;
  return true;
}

/// Calls a build function with what its parameter types name.
template <typename Model, typename... Arguments>
Outputs call_build(Outputs (*build)(const Model&, const Arguments&...), const Model& model, const Trace& trace) {
  return build(model, Arguments(trace)...);
}

/// The type's own name, without namespaces: what the compiler calls it stands in the name of this function.
template <typename Type>
constexpr std::string_view own_name() {
#if defined(__clang__) || defined(__GNUC__)
  constexpr std::string_view function = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "Type = ";
  constexpr size_t begin = function.find(before) + before.size();
  // GCC goes on with "; std::string_view = ...", Clang with "]".
  constexpr std::string_view type = function.substr(begin, function.find_first_of(";]", begin) - begin);
  // The last "::" that is in no template argument.
  size_t name = 0, depth = 0;
  for (size_t i = 0; i < type.size(); i++) {
    if (type[i] == '<' || type[i] == '(' || type[i] == '{') depth++;
    if (type[i] == '>' || type[i] == ')' || type[i] == '}') depth--;
    if (type[i] == ':' && depth == 0) name = i + 1;
  }
  return type.substr(name);
#else
  return "wrapper";
#endif
}

/// What messages and dumps call a wrapper: its `kSessionName`, else that of its model, else its own name.
template <typename Wrapper, typename Model>
constexpr std::string_view session_name() {
  if constexpr (requires { Wrapper::kSessionName; })
    return Wrapper::kSessionName;
  else if constexpr (requires { Model::kSessionName; })
    return Model::kSessionName;
  else
    return own_name<Wrapper>();
}

}  // namespace jit_detail

/// Base of every wrapper: owns the model and the session. Declare a wrapper like this, at namespace scope:
///
///   struct Mixer : tandem::Wrapper<Mixer, MixerModel> {
///     using Wrapper::Wrapper;
///     TANDEM_VAR(t, 1, model.longest)                  // bounds may read the model
///     TANDEM_INPUT(gain)                               // shape and element type come with prepare(f32({1, 4}))
///     TANDEM_INPUT(samples, f32, 4, t)                 // or stand here
///     TANDEM_BUILD(samples, gain, t) { return matmul(gain, samples) * model.scale; }
///   };
///
/// A declaration comes before its use in another one. The build function is static and sees the model read-only: it can
/// read nothing that changes between steps. Different wrappers may be used by different threads at once, one wrapper by
/// one thread at a time.
///
/// Messages, dumps and profiles call it by its own name, "Mixer", or by a `static constexpr const char* kSessionName`:
/// its own, else that of its model. Wrappers of one model that dump their stages need names of their own.
template <typename Derived, typename Model>
class Wrapper {
 public:
  using Self = Derived;
  using ModelType = Model;

  /// Nothing is compiled yet.
  explicit Wrapper(Model model) : Wrapper(std::make_shared<const Model>(std::move(model))) {}
  /// Several wrappers may share one model.
  explicit Wrapper(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  const Model& model() const { return *model_; }
  /// The untyped layer below: for tools, and for whoever has names at run time only.
  Session& session() { return session_; }
  const Session& session() const { return session_; }

  /// Builds, rewrites, compiles and allocates, once, as the environment says (PrepareConfig::from_env). One InputSpec
  /// per TANDEM_INPUT without shape, in their order.
  template <typename... Specs>
  [[nodiscard]] Result<void> prepare(const Specs&... specs) {
    auto config = PrepareConfig::from_env();
    if (!config) return tl::unexpected<JitError>(config.error());
    return prepare_with_config(specs..., *config);
  }
  /// The same with an explicit configuration as the last argument.
  template <typename... SpecsAndConfig>
  [[nodiscard]] Result<void> prepare_with_config(const SpecsAndConfig&... arguments) {
    static_assert(sizeof...(SpecsAndConfig) > 0, "prepare_with_config() takes a PrepareConfig as its last argument");
    return prepare_from(std::tie(arguments...), std::make_index_sequence<sizeof...(SpecsAndConfig) - 1>());
  }
  bool is_prepared() const { return session_.is_prepared(); }

  /// Replays with the present inputs, all variables at their upper bounds.
  [[nodiscard]] Result<void> execute() { return session_.execute(); }
  /// execute_with_vars({{"b", 2}, {"t", 300}}): variables not named have their upper bounds.
  [[nodiscard]] Result<void> execute_with_vars(std::initializer_list<VariableValue> values) {
    return session_.execute_with_vars(values);
  }
  [[nodiscard]] Result<void> execute_with_vars(std::span<const VariableValue> values) {
    return session_.execute_with_vars(values);
  }
  /// One whole number per TANDEM_VAR, in their order, without names.
  template <typename... Values>
  [[nodiscard]] Result<void> execute_bound(const Values&... values) {
    static_assert(((std::is_integral_v<Values> && !std::is_same_v<Values, bool>) && ...),
                  "execute_bound() takes whole numbers, one for each TANDEM_VAR");
    constexpr int given = static_cast<int>(sizeof...(Values));
    constexpr int needed = jit_detail::variables_of<Derived>;
    using Culprit = typename jit_detail::VariableCulprit<Derived, given, needed>::type;
    if constexpr (jit_detail::CheckVariableValues<Culprit, given, needed>::value) {
      const std::array<int64_t, sizeof...(Values)> all{static_cast<int64_t>(values)...};
      return session_.execute_bound(all);
    } else {
      return {};
    }
  }
  [[nodiscard]] Result<std::vector<KernelProfile>> execute_profiled() { return session_.execute_profiled(); }
  [[nodiscard]] Result<std::vector<KernelProfile>> execute_with_vars_profiled(
      std::initializer_list<VariableValue> values) {
    return session_.execute_with_vars_profiled(std::span<const VariableValue>(values.begin(), values.size()));
  }
  /// Zeroes every TANDEM_STATE.
  Result<void> reset() { return session_.reset(); }

  /// The first output, dense in its live shape; valid until the next execute.
  [[nodiscard]] Result<BufferView> output() const { return session_.output(0); }

  [[nodiscard]] Result<std::vector<BufferInfo>> buffers() const { return session_.buffers(); }
  [[nodiscard]] Result<std::vector<BufferView>> output_buffers() const { return session_.output_buffers(); }
  [[nodiscard]] Result<std::vector<uint32_t>> input_buffer_ids() const { return session_.input_buffer_ids(); }
  [[nodiscard]] Result<std::vector<PreparedKernel>> prepared_kernels() const { return session_.prepared_kernels(); }

  /// A second wrapper for another thread: same model, code and weights, its own buffers, filled as these are now.
  [[nodiscard]] Result<Derived> replicate() const {
    auto session = session_.replicate();
    if (!session) return tl::unexpected<JitError>(session.error());
    Result<Derived> copy(tl::in_place, model_);
    copy->session() = std::move(*session);
    return copy;
  }

 protected:
  template <typename... Arguments, size_t... numbers>
  Result<void> prepare_from(const std::tuple<const Arguments&...>& all, std::index_sequence<numbers...>) {
    constexpr int given = static_cast<int>(sizeof...(numbers));
    constexpr int needed = jit_detail::specs_of<Derived>;
    using Culprit = typename jit_detail::SpecCulprit<Derived, given, needed>::type;
    if constexpr (jit_detail::CheckInputSpecs<Culprit, given, needed>::value) {
      static_assert((std::is_convertible_v<std::tuple_element_t<numbers, std::tuple<Arguments...>>, InputSpecs> && ...),
                    "prepare() takes InputSpecs: f32({1, 64}), i32({4}), InputSpec{shape, dtype}; for an array also a "
                    "list of them, InputSpecs{f32({1}), f32({2})}");
      static_assert(
          std::is_convertible_v<std::tuple_element_t<sizeof...(numbers), std::tuple<Arguments...>>, PrepareConfig>,
          "prepare_with_config() takes a PrepareConfig as its last argument");
      const std::vector<InputSpecs> given_specs{InputSpecs(std::get<numbers>(all))...};
      TANDEM_TRY(specs, session_.flattened(given_specs));
      return session_.prepare(
          specs, [this](const Trace& trace) { return jit_detail::call_build(&Derived::build, *model_, trace); },
          std::get<sizeof...(numbers)>(all));
    } else {
      return {};
    }
  }

  std::shared_ptr<const Model> model_;
  Session session_{std::string(jit_detail::session_name<Derived, Model>())};
};

}  // namespace tandem
