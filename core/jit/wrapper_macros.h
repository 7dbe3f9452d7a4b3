#pragma once

// clang-format off: the formatter moves the ends of these lines back and forth between two forms.

// The macros of a wrapper. They hold no logic: each registers a name with the session and makes the members that carry
// it. Every declared name gives a nested type whose own name is what a compiler says about a wrong build argument.

/// TANDEM_INPUT(name): shape and element type come with prepare(). TANDEM_INPUT(name, f32, b, 64, t): they stand here;
/// dimensions are numbers, variables declared above, or expressions of them.
/// Gives `name_mut()` (a checked Buffer), `name_view<T>()` (its elements) and `copy_output_to_name(output, to, from,
/// count)`, which copies elements of the output of this number.
#define TANDEM_INPUT(...) TANDEM_DETAIL_CHOOSE(TANDEM_DETAIL_INPUT, __VA_ARGS__)

/// TANDEM_INPUT_ARRAY(name, count), TANDEM_INPUT_ARRAY(name, count, f32, b, 64, t): inputs that share a name, each with
/// a buffer of its own; the count may read `model`. prepare() takes one InputSpec for all, or InputSpecs{...} with one
/// for each. The build function sees a TensorArray: `name[i]`, `name.size()`, a range. Gives `name_mut(i)`,
/// `name_view<T>(i)`, `name_count()` and `copy_output_to_name(i, output, to, from, count)`.
#define TANDEM_INPUT_ARRAY(name, ...) TANDEM_DETAIL_PICK(TANDEM_DETAIL_INPUT_ARRAY, __VA_ARGS__)(name, __VA_ARGS__)

/// TANDEM_STATE(name, f32, 1, 128): a tensor that stays in the plan, zero at first. The build function takes it as an
/// argument and returns its new value as `as_name(tensor)`. Gives `name_mut()` and `name_view<T>()`.
#define TANDEM_STATE(name, dtype, ...) \
  size_t name##_slot_ = \
      this->session_.declare_state(#name, ::tandem::dtype_words::dtype, ::tandem::Shape{__VA_ARGS__}); \
  TANDEM_DETAIL_TENSOR(name, state) \
  static ::tandem::NamedTensor as_##name(::tandem::Tensor tensor) { return {#name, ::std::move(tensor)}; }

/// TANDEM_STATE_ARRAY(name, count, f32, 1, 128): states that share a name. The build function returns their new values
/// as `as_name({tensors})`. Gives what an array of inputs gives.
#define TANDEM_STATE_ARRAY(name, count, dtype, ...) \
  size_t name##_array_ = this->session_.declare_state_array( \
      #name, TANDEM_DETAIL_OF_MODEL(count), ::tandem::dtype_words::dtype, ::tandem::Shape{__VA_ARGS__}); \
  TANDEM_DETAIL_TENSORS(name, state) \
  TANDEM_DETAIL_AS_ARRAY(name)

/// TANDEM_OUTPUT(name) or TANDEM_OUTPUT(name, f32): an output by name. The build function returns
/// `{as_name(tensor), ...}`. Gives `name()` and `name_view<T>()`, valid until the next execute.
#define TANDEM_OUTPUT(...) TANDEM_DETAIL_CHOOSE(TANDEM_DETAIL_OUTPUT, __VA_ARGS__)

/// TANDEM_OUTPUT_ARRAY(name, count) or TANDEM_OUTPUT_ARRAY(name, count, f32): outputs that share a name, returned as
/// `as_name({tensors})`. Gives `name(i)`, `name_view<T>(i)` and `name_count()`.
#define TANDEM_OUTPUT_ARRAY(name, ...) TANDEM_DETAIL_PICK(TANDEM_DETAIL_OUTPUT_ARRAY, __VA_ARGS__)(name, __VA_ARGS__)

/// TANDEM_VAR(name, min, max): a symbolic size; the bounds may read `model`. Gives `with_name_bound(max)`,
/// `with_name_min_bound(min)` and `with_name_fixed(value)`, for use before prepare().
#define TANDEM_VAR(name, min, max) \
  TANDEM_DETAIL_FREE_NAME(name) \
  ::tandem::Dim name = this->session_.declare_variable( \
      #name, \
      TANDEM_DETAIL_OF_MODEL(min), \
      TANDEM_DETAIL_OF_MODEL(max)); \
  struct name##_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE : ::tandem::Dim { \
    explicit name##_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE(const ::tandem::Trace& trace) \
        : ::tandem::Dim(trace.variable(#name)) {} \
  }; \
  TANDEM_DETAIL_SETTER(name, with_##name##_bound, set_bound) \
  TANDEM_DETAIL_SETTER(name, with_##name##_min_bound, set_min_bound) \
  TANDEM_DETAIL_SETTER(name, with_##name##_fixed, set_fixed) \
  TANDEM_DETAIL_COUNT(name, variable, name##_GETS_NO_VALUE)

/// TANDEM_BUILD(inputs, states and variables...) { return ...; }: the build function. `model` is in scope, read-only.
#define TANDEM_BUILD(...) \
  static ::tandem::Outputs build([[maybe_unused]] const ModelType& model TANDEM_DETAIL_MAP(__VA_ARGS__))

/// TANDEM_RECURRENT(h, c): the inputs h and c take the state of a JitRecurrent, which finds it behind the head in the
/// output: [head | h | c].
#define TANDEM_RECURRENT(h, c) \
  ::tandem::Result<void> pack_state(const ::tandem::LstmState& state) { \
    return ::tandem::pack_lstm_state(state, h##_mut(), c##_mut()); \
  } \
  ::tandem::Result<void> execute_step() { return this->execute(); } \
  ::tandem::Result<::tandem::BufferView> output_buffer() const { return this->output(); }

// Details.

#define TANDEM_DETAIL_FREE_NAME(name) \
  static_assert(::tandem::jit_detail::is_free_name(#name), \
                "\"" #name "\" is a method of every wrapper: give the output or variable another name");

// A number that may read `model`.
#define TANDEM_DETAIL_OF_MODEL(expression) \
  [](const ModelType& model) { return static_cast<void>(model), static_cast<int64_t>(expression); }(*this->model_)

#define TANDEM_DETAIL_INPUT_ONE(name) \
  size_t name##_slot_ = this->session_.declare_input(#name); \
  TANDEM_DETAIL_TENSOR(name, input) \
  TANDEM_DETAIL_COUNT(name, spec, name##_GETS_NO_InputSpec)
#define TANDEM_DETAIL_INPUT_MORE(name, dtype, ...) \
  size_t name##_slot_ = \
      this->session_.declare_input(#name, ::tandem::dtype_words::dtype, ::tandem::Shape{__VA_ARGS__}); \
  TANDEM_DETAIL_TENSOR(name, input)

#define TANDEM_DETAIL_OUTPUT_ONE(name) \
  size_t name##_slot_ = this->session_.declare_output(#name); \
  TANDEM_DETAIL_RESULT(name)
#define TANDEM_DETAIL_OUTPUT_MORE(name, dtype) \
  size_t name##_slot_ = this->session_.declare_output(#name, ::tandem::dtype_words::dtype); \
  TANDEM_DETAIL_RESULT(name)

#define TANDEM_DETAIL_INPUT_ARRAY_ONE(name, count) \
  size_t name##_array_ = this->session_.declare_input_array(#name, TANDEM_DETAIL_OF_MODEL(count)); \
  TANDEM_DETAIL_TENSORS(name, input) \
  TANDEM_DETAIL_COUNT(name, spec, name##_GETS_NO_InputSpec)
#define TANDEM_DETAIL_INPUT_ARRAY_MORE(name, count, dtype, ...) \
  size_t name##_array_ = this->session_.declare_input_array( \
      #name, TANDEM_DETAIL_OF_MODEL(count), ::tandem::dtype_words::dtype, ::tandem::Shape{__VA_ARGS__}); \
  TANDEM_DETAIL_TENSORS(name, input)
#define TANDEM_DETAIL_OUTPUT_ARRAY_ONE(name, count) \
  size_t name##_array_ = this->session_.declare_output_array(#name, TANDEM_DETAIL_OF_MODEL(count)); \
  TANDEM_DETAIL_RESULTS(name)
#define TANDEM_DETAIL_OUTPUT_ARRAY_MORE(name, count, dtype) \
  size_t name##_array_ = this->session_.declare_output_array(#name, TANDEM_DETAIL_OF_MODEL(count), \
                                                             ::tandem::dtype_words::dtype); \
  TANDEM_DETAIL_RESULTS(name)

#define TANDEM_DETAIL_AS_ARRAY(name) \
  static ::tandem::NamedTensors as_##name(const ::std::vector<::tandem::Tensor>& tensors) { return {#name, tensors}; }

#define TANDEM_DETAIL_TENSORS(name, kind) \
  size_t name##_count() const { return this->session_.element_count(name##_array_); } \
  [[nodiscard]] ::tandem::Result<::tandem::Buffer> name##_mut(size_t index) { \
    return this->session_.kind##_element(name##_array_, index); \
  } \
  template <typename T> \
  [[nodiscard]] ::tandem::Result<::std::span<T>> name##_view(size_t index) { \
    return name##_mut(index).and_then([](::tandem::Buffer buffer) { return buffer.span<T>(); }); \
  } \
  ::tandem::Result<void> copy_output_to_##name(size_t index, size_t output, size_t to, size_t from, size_t count) { \
    return this->session_.copy_output(output, name##_mut(index), to, from, count); \
  } \
  struct name##_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE : ::tandem::TensorArray { \
    explicit name##_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE(const ::tandem::Trace& trace) \
        : ::tandem::TensorArray(trace.tensors(#name)) {} \
  };

#define TANDEM_DETAIL_RESULTS(name) \
  TANDEM_DETAIL_FREE_NAME(name) \
  size_t name##_count() const { return this->session_.element_count(name##_array_); } \
  [[nodiscard]] ::tandem::Result<::tandem::BufferView> name(size_t index) const { \
    return this->session_.output_element(name##_array_, index); \
  } \
  template <typename T> \
  [[nodiscard]] ::tandem::Result<::std::span<const T>> name##_view(size_t index) const { \
    return name(index).and_then([](const ::tandem::BufferView& buffer) { return buffer.span<T>(); }); \
  } \
  TANDEM_DETAIL_AS_ARRAY(name)

#define TANDEM_DETAIL_TENSOR(name, kind) \
  [[nodiscard]] ::tandem::Result<::tandem::Buffer> name##_mut() { return this->session_.kind(name##_slot_); } \
  template <typename T> \
  [[nodiscard]] ::tandem::Result<::std::span<T>> name##_view() { \
    return name##_mut().and_then([](::tandem::Buffer buffer) { return buffer.span<T>(); }); \
  } \
  ::tandem::Result<void> copy_output_to_##name(size_t output, size_t to, size_t from, size_t count) { \
    return this->session_.copy_output(output, name##_mut(), to, from, count); \
  } \
  struct name##_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE : ::tandem::Tensor { \
    explicit name##_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE(const ::tandem::Trace& trace) \
        : ::tandem::Tensor(trace.tensor(#name)) {} \
  };

#define TANDEM_DETAIL_RESULT(name) \
  TANDEM_DETAIL_FREE_NAME(name) \
  [[nodiscard]] ::tandem::Result<::tandem::BufferView> name() const { return this->session_.output(name##_slot_); } \
  template <typename T> \
  [[nodiscard]] ::tandem::Result<::std::span<const T>> name##_view() const { \
    return name().and_then([](const ::tandem::BufferView& buffer) { return buffer.span<T>(); }); \
  } \
  static ::tandem::NamedTensor as_##name(::tandem::Tensor tensor) { return {#name, ::std::move(tensor)}; }

#define TANDEM_DETAIL_SETTER(name, method, call) \
  Self& method(int64_t value) & { \
    this->session_.call(#name, value); \
    return *this; \
  } \
  Self&& method(int64_t value) && { \
    this->session_.call(#name, value); \
    return static_cast<Self&&>(*this); \
  }

// Adds one to what the class has declared so far, and keeps the type whose name is the complaint. The functions are
// never called: only their types are read.
#define TANDEM_DETAIL_COUNT(name, kind, complaint) \
  struct complaint {}; \
  enum : int { \
    name##_##kind##_number_ = decltype(tandem_count_##kind( \
        static_cast<Self*>(nullptr), ::tandem::jit_detail::Rank<::tandem::jit_detail::kMaxDeclarations>()))::value \
  }; \
  [[maybe_unused]] friend ::tandem::jit_detail::Number<name##_##kind##_number_ + 1> tandem_count_##kind( \
      Self*, ::tandem::jit_detail::Rank<name##_##kind##_number_ + 1>) { \
    return {}; \
  } \
  [[maybe_unused]] friend complaint tandem_name_##kind(Self*, ::tandem::jit_detail::Number<name##_##kind##_number_>) { \
    return {}; \
  }

#define TANDEM_DETAIL_JOIN(a, b) TANDEM_DETAIL_JOIN_NOW(a, b)
#define TANDEM_DETAIL_JOIN_NOW(a, b) a##b
// PREFIX_ONE(name) for one argument, PREFIX_MORE(...) for more.
#define TANDEM_DETAIL_CHOOSE(prefix, ...) TANDEM_DETAIL_PICK(prefix, __VA_ARGS__)(__VA_ARGS__)
#define TANDEM_DETAIL_PICK(prefix, ...) TANDEM_DETAIL_JOIN(prefix, TANDEM_DETAIL_COUNT_WORD(__VA_ARGS__))
#define TANDEM_DETAIL_COUNT_WORD(...) \
  TANDEM_DETAIL_SELECT(__VA_ARGS__, _MORE, _MORE, _MORE, _MORE, _MORE, _MORE, _MORE, _MORE, _MORE, _MORE, _MORE, \
                       _MORE, _MORE, _MORE, _MORE, _ONE, _NONE)
#define TANDEM_DETAIL_SELECT(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, selected, ...) \
  selected

// One parameter per name. Written out: compilers print every level of a recursive macro.
#define TANDEM_DETAIL_PARAMETER(name) , const name##_MUST_BE_A_DECLARED_INPUT_STATE_OR_VARIABLE& name
#define TANDEM_DETAIL_MAP(...) TANDEM_DETAIL_JOIN(TANDEM_DETAIL_MAP, TANDEM_DETAIL_SIZE(__VA_ARGS__))(__VA_ARGS__)
#define TANDEM_DETAIL_SIZE(...) \
  TANDEM_DETAIL_SELECT(__VA_ARGS__, _16, _15, _14, _13, _12, _11, _10, _9, _8, _7, _6, _5, _4, _3, _2, _1, _0)
#define TANDEM_DETAIL_MAP_1(a1) TANDEM_DETAIL_PARAMETER(a1)
#define TANDEM_DETAIL_MAP_2(a1, a2) TANDEM_DETAIL_PARAMETER(a1) TANDEM_DETAIL_PARAMETER(a2)
#define TANDEM_DETAIL_MAP_3(a1, a2, a3) \
  TANDEM_DETAIL_PARAMETER(a1) TANDEM_DETAIL_PARAMETER(a2) TANDEM_DETAIL_PARAMETER(a3)
#define TANDEM_DETAIL_MAP_4(a1, a2, a3, a4) \
  TANDEM_DETAIL_PARAMETER(a1) TANDEM_DETAIL_PARAMETER(a2) TANDEM_DETAIL_PARAMETER(a3) TANDEM_DETAIL_PARAMETER(a4)
#define TANDEM_DETAIL_MAP_5(a1, a2, a3, a4, a5) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) TANDEM_DETAIL_PARAMETER(a3) TANDEM_DETAIL_PARAMETER(a4) TANDEM_DETAIL_PARAMETER(a5)
#define TANDEM_DETAIL_MAP_6(a1, a2, a3, a4, a5, a6) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) TANDEM_DETAIL_PARAMETER(a4) TANDEM_DETAIL_PARAMETER(a5) TANDEM_DETAIL_PARAMETER(a6)
#define TANDEM_DETAIL_MAP_7(a1, a2, a3, a4, a5, a6, a7) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) TANDEM_DETAIL_PARAMETER(a5) TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7)
#define TANDEM_DETAIL_MAP_8(a1, a2, a3, a4, a5, a6, a7, a8) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8)
#define TANDEM_DETAIL_MAP_9(a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9)
#define TANDEM_DETAIL_MAP_10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9) \
      TANDEM_DETAIL_PARAMETER(a10)
#define TANDEM_DETAIL_MAP_11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9) \
      TANDEM_DETAIL_PARAMETER(a10) TANDEM_DETAIL_PARAMETER(a11)
#define TANDEM_DETAIL_MAP_12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9) \
      TANDEM_DETAIL_PARAMETER(a10) TANDEM_DETAIL_PARAMETER(a11) TANDEM_DETAIL_PARAMETER(a12)
#define TANDEM_DETAIL_MAP_13(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9) \
      TANDEM_DETAIL_PARAMETER(a10) TANDEM_DETAIL_PARAMETER(a11) TANDEM_DETAIL_PARAMETER(a12) \
          TANDEM_DETAIL_PARAMETER(a13)
#define TANDEM_DETAIL_MAP_14(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9) \
      TANDEM_DETAIL_PARAMETER(a10) TANDEM_DETAIL_PARAMETER(a11) TANDEM_DETAIL_PARAMETER(a12) \
          TANDEM_DETAIL_PARAMETER(a13) TANDEM_DETAIL_PARAMETER(a14)
#define TANDEM_DETAIL_MAP_15(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9) \
      TANDEM_DETAIL_PARAMETER(a10) TANDEM_DETAIL_PARAMETER(a11) TANDEM_DETAIL_PARAMETER(a12) \
          TANDEM_DETAIL_PARAMETER(a13) TANDEM_DETAIL_PARAMETER(a14) TANDEM_DETAIL_PARAMETER(a15)
#define TANDEM_DETAIL_MAP_16(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16) \
  TANDEM_DETAIL_PARAMETER(a1) \
  TANDEM_DETAIL_PARAMETER(a2) \
  TANDEM_DETAIL_PARAMETER(a3) \
  TANDEM_DETAIL_PARAMETER(a4) \
  TANDEM_DETAIL_PARAMETER(a5) \
  TANDEM_DETAIL_PARAMETER(a6) TANDEM_DETAIL_PARAMETER(a7) TANDEM_DETAIL_PARAMETER(a8) TANDEM_DETAIL_PARAMETER(a9) \
      TANDEM_DETAIL_PARAMETER(a10) TANDEM_DETAIL_PARAMETER(a11) TANDEM_DETAIL_PARAMETER(a12) \
          TANDEM_DETAIL_PARAMETER(a13) TANDEM_DETAIL_PARAMETER(a14) TANDEM_DETAIL_PARAMETER(a15) \
              TANDEM_DETAIL_PARAMETER(a16)
