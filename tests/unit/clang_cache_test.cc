// The object cache on disk and what the backend makes of a damaged, foreign or missing one.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "backends/clang/object_cache.h"
#include "backends/clang/sha256.h"
#include "core/base/text.h"
#include "core/kernel/builder.h"
#include "tests/support/native_kernels.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

class ClangCache : public ::testing::Test {
 protected:
  std::unique_ptr<ClangBackend> backend(const std::string& plugin = "") const {
    ClangBackendOptions options = ClangBackendOptions::from_environment();
    options.cache_folder = folder_.path();
    options.compiler_plugin = plugin.empty() ? options.compiler_plugin : plugin;
    return make_clang_backend(options);
  }
  static Kernel kernel(float factor = 2) {
    KernelBuilder builder;
    const uint32_t buffer = builder.add_buffer(DType::kF32, Access::kReadWrite, 4);
    builder.store(
        buffer, 0,
        builder.binary(Opcode::kMul, builder.load(buffer, 0, 4), builder.constant(Type{Scalar::kF32, 4}, factor)));
    return builder.finish("scale");
  }
  /// Compiles and runs; the statistics tell where the object came from.
  static CompileStatistics compile_and_run(ClangBackend& backend, float factor = 2) {
    CompileStatistics statistics;
    auto executable =
        backend.compile(test::program_of(kernel(factor)), host_capabilities(), Numerics::kFast, statistics);
    EXPECT_TRUE(executable) << executable.error().text();
    if (!executable) return statistics;
    alignas(64) float data[4] = {1, 2, 3, 4};
    void* slots[] = {data};
    EXPECT_TRUE((*executable)->run(Phase::kStep, slots, nullptr, 0, 1));
    EXPECT_EQ(data[3], 4 * factor);
    return statistics;
  }
  std::vector<fs::path> objects() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) paths.push_back(entry.path());
    return paths;
  }

  const testing::TemporaryFolder folder_{"cache"};
};

TEST(Sha256Test, GivesThePublishedDigests) {
  const auto digest = [](const std::string& text) {
    Sha256 hash;
    hash.bytes(text.data(), text.size());
    return hash.finish_text();
  };
  // FIPS 180-4 examples.
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_F(ClangCache, WarmStartNeedsNoCompiler) {
  EXPECT_EQ(compile_and_run(*backend()).compiled_units, 1);
  ASSERT_EQ(objects().size(), 1u);
  struct stat status;
  ASSERT_EQ(::stat(objects()[0].parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  const CompileStatistics warm = compile_and_run(*backend("/nowhere/tandem_compiler.so"));
  EXPECT_EQ(warm.compiled_units, 0);
  EXPECT_EQ(warm.cached_units, 1);
}

TEST_F(ClangCache, DamagedEntriesAreCompiledAgain) {
  compile_and_run(*backend());
  const fs::path path = objects().at(0);
  const auto damage = [&](const std::function<void(std::string&)>& change) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    in.close();
    change(bytes);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_EQ(compile_and_run(*backend()).compiled_units, 1);
    EXPECT_EQ(compile_and_run(*backend()).compiled_units, 0);
  };
  damage([](std::string& bytes) { bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1); });
  damage([](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  damage([](std::string& bytes) { bytes.resize(10); });
  damage([](std::string& bytes) { bytes.clear(); });
  damage([](std::string& bytes) { bytes = std::string(5000, 'x'); });
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(compile_and_run(*backend()).compiled_units, 1);
}

TEST_F(ClangCache, ValidChecksumOfSomethingElseIsCompiledAgain) {
  compile_and_run(*backend());
  const std::string key = objects().at(0).stem().string();
  ObjectCache cache(folder_.path(), 1 << 20);
  cache.store(key, std::vector<uint8_t>(200, 7));
  EXPECT_EQ(compile_and_run(*backend()).compiled_units, 1);
  EXPECT_EQ(compile_and_run(*backend()).compiled_units, 0);
}

TEST_F(ClangCache, UnusableFoldersAreReportedAndLeftAlone) {
  // A file where the folder should be, and a folder that others may write to.
  std::ofstream(folder_.path("file")) << "x";
  ObjectCache blocked(folder_.path("file"), 1 << 20);
  EXPECT_FALSE(blocked.usable());
  EXPECT_NE(blocked.warning().find("TANDEM_CACHE_DIR"), std::string::npos) << blocked.warning();
  fs::create_directories(folder_.path("objects-v1"));
  fs::permissions(folder_.path("objects-v1"), fs::perms::all);
  auto open_to_all = backend();
  EXPECT_NE(open_to_all->cache_warning().find("written by others"), std::string::npos) << open_to_all->cache_warning();
  EXPECT_EQ(compile_and_run(*open_to_all).compiled_units, 1);
  EXPECT_EQ(compile_and_run(*backend()).cached_units, 0);
  EXPECT_TRUE(ObjectCache("", 1).warning().empty());
}

TEST_F(ClangCache, ForgetsWhatWasUsedLongestAgo) {
  ObjectCache cache(folder_.path(), 3000);
  const auto key = [](int i) { return std::string(63, 'a') + static_cast<char>('0' + i); };
  for (int i = 0; i < 4; i++) {
    cache.store(key(i), std::vector<uint8_t>(900, static_cast<uint8_t>(i)));
    ::usleep(5000);
  }
  EXPECT_FALSE(cache.find(key(0)));
  for (int i = 1; i < 4; i++) EXPECT_TRUE(cache.find(key(i))) << i;
  cache.store(key(5), std::vector<uint8_t>(9000));
  EXPECT_FALSE(cache.find(key(5)));
  EXPECT_TRUE(cache.find(key(3)));
}

TEST_F(ClangCache, LooksThroughTheFolderOnceForASixtyFourthOfTheLimit) {
  const std::string path = concat(folder_.path(), "/objects-v1/temporary-1-1");
  const auto looks = [&](uint64_t limit, int count) {
    const ObjectCache cache(folder_.path(), limit);
    int times = 0;
    for (int i = 0; i < count; i++) {
      // Every look removes what a killed process left there an hour ago.
      if (!fs::exists(path)) {
        std::ofstream(path) << "left";
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
      }
      Sha256 hash;
      hash.field(concat(i));
      cache.store(hash.finish_text(), std::vector<uint8_t>(952));
      times += fs::exists(path) ? 0 : 1;
    }
    return times;
  };
  EXPECT_EQ(looks(64 * 1000, 20), 20);
  // 400 times 1,000 bytes, a sixty-fourth being 20,000: about twenty, as chance has it.
  const int some = looks(64 * 20000, 400);
  EXPECT_GE(some, 10);
  EXPECT_LE(some, 40);
  EXPECT_EQ(looks(uint64_t{1} << 40, 100), 0);
}

TEST_F(ClangCache, ProcessesShareOneFolder) {
  std::vector<pid_t> children;
  for (int child = 0; child < 2; child++) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      for (int i = 0; i < 6; i++) compile_and_run(*backend(), static_cast<float>(i));
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(objects().size(), 6u);
  EXPECT_EQ(compile_and_run(*backend(), 3).compiled_units, 0);
}

TEST_F(ClangCache, EnvironmentNamesTheFolder) {
  const auto with = [](const char* name, const char* value) {
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  };
  std::map<std::string, std::string> before;
  for (const char* name : {"TANDEM_CACHE", "TANDEM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
    if (const char* value = std::getenv(name)) before[name] = value;
  with("TANDEM_CACHE", nullptr);
  with("TANDEM_CACHE_DIR", nullptr);
  with("XDG_CACHE_HOME", nullptr);
  with("HOME", "/nowhere/someone");
  EXPECT_EQ(ObjectCache::folder_from_environment(), "/nowhere/someone/.cache/tandem");
  with("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(ObjectCache::folder_from_environment(), "/nowhere/someone/.cache/tandem");
  with("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(ObjectCache::folder_from_environment(), "/cache/tandem");
  with("TANDEM_CACHE_DIR", "/mine");
  EXPECT_EQ(ObjectCache::folder_from_environment(), "/mine");
  with("TANDEM_CACHE", "off");
  EXPECT_EQ(ObjectCache::folder_from_environment(), "");
  for (const char* name : {"TANDEM_CACHE", "TANDEM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
    with(name, before.count(name) == 0 ? nullptr : before[name].c_str());
}

}  // namespace
}  // namespace tandem
