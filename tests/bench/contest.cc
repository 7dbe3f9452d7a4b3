#include "tests/bench/contest.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <random>

namespace tandem::bench {
namespace {

// CPU time of this thread: other programs on the machine then cost their share of the caches only.
double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

double batch(const Contender& contender, int calls) {
  const double start = now_us();
  for (int i = 0; i < calls; i++) contender.work();
  return (now_us() - start) / calls;
}

std::string cell(const nlohmann::ordered_json& value) {
  if (!value.is_number_float()) return value.is_string() ? value.get<std::string>() : value.dump();
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", value.get<double>());
  return text;
}

}  // namespace

std::vector<Timing> compete(const std::vector<Contender>& contenders, int rounds, double batch_us) {
  std::vector<int> calls;
  for (const Contender& contender : contenders) {
    contender.work();
    const double once = std::min(batch(contender, 1), batch(contender, 3));
    calls.push_back(std::clamp(static_cast<int>(batch_us / std::max(once, 0.01)), 1, 100000));
  }
  std::vector<std::vector<double>> times(contenders.size());
  // A new order each round: what the machine does to a program that has run for some milliseconds hits all alike.
  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::minstd_rand random(1);
  for (int round = 0; round < rounds; round++) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      contenders[i].work();  // Brings its data into the cache.
      times[i].push_back(batch(contenders[i], calls[i]));
    }
  }
  std::vector<Timing> timings;
  for (size_t i = 0; i < contenders.size(); i++) {
    std::sort(times[i].begin(), times[i].end());
    const size_t n = times[i].size();
    timings.push_back({contenders[i].name, times[i][n / 2], times[i][0], times[i][n * 99 / 100]});
  }
  return timings;
}

double ratio(const Timing& a, const Timing& b) { return a.median / b.median; }

Report::Report(int argc, char** argv, std::string title) : title_(std::move(title)) {
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json_ = true;
    } else if (std::strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      filter_ = argv[++i];
    } else {
      std::fprintf(stderr, "unknown argument %s; known are --json and --filter TEXT\n", argv[i]);
      std::exit(2);
    }
  }
}

void Report::row(const std::string& name, nlohmann::ordered_json values) {
  rows_.emplace_back(name, std::move(values));
}

void Report::note(const std::string& text) { notes_.push_back(text); }

void Report::finish() const {
  if (json_) {
    nlohmann::ordered_json all = {{"title", title_}, {"rows", nlohmann::json::array()}, {"notes", notes_}};
    for (const auto& [name, values] : rows_) {
      nlohmann::ordered_json row = {{"name", name}};
      row.update(values);
      all["rows"].push_back(std::move(row));
    }
    std::printf("%s\n", all.dump(2).c_str());
    return;
  }
  std::printf("%s\n", title_.c_str());
  size_t widest = 4;
  for (const auto& [name, values] : rows_) widest = std::max(widest, name.size());
  std::vector<std::string> header;
  for (const auto& [name, values] : rows_) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values.items()) keys.push_back(key);
    if (keys != header) {
      std::printf("%-*s", static_cast<int>(widest), "");
      for (const std::string& key : keys) std::printf("  %12s", key.c_str());
      std::printf("\n");
      header = keys;
    }
    std::printf("%-*s", static_cast<int>(widest), name.c_str());
    for (const auto& [key, value] : values.items())
      std::printf("  %*s", static_cast<int>(std::max<size_t>(12, key.size())), cell(value).c_str());
    std::printf("\n");
  }
  for (const std::string& text : notes_) std::printf("%s\n", text.c_str());
}

double process_cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace tandem::bench
