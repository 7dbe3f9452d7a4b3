#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::bench {

/// One way to do a piece of work.
struct Contender {
  std::string name;
  std::function<void()> work;
};

/// Times of one contender, in microseconds for one call.
struct Timing {
  std::string name;
  double median = 0, minimum = 0, p99 = 0;
};

/// Times contenders in alternation, one short batch each in turn, so that a machine that changes its speed changes it
/// for all of them. A batch of one contender is as many calls as take about `batch_us`; its time is divided by that
/// number. `rounds` batches each. Times are CPU times of the calling thread.
std::vector<Timing> compete(const std::vector<Contender>& contenders, int rounds = 60, double batch_us = 1000);

/// Median of `a` divided by median of `b`.
double ratio(const Timing& a, const Timing& b);

/// Collects rows and prints them as a text table, or as one JSON object with `--json`.
class Report {
 public:
  /// Reads the program's arguments: `--json`, `--filter TEXT`. Ends the process with exit code 2 for any other.
  Report(int argc, char** argv, std::string title);
  /// Should a row of this name be measured?
  bool wants(const std::string& name) const { return name.find(filter_) != std::string::npos; }
  void row(const std::string& name, nlohmann::ordered_json values);
  void note(const std::string& text);
  /// Prints what was collected.
  void finish() const;

 private:
  bool json_ = false;
  std::string filter_;
  std::string title_;
  std::vector<std::pair<std::string, nlohmann::ordered_json>> rows_;
  std::vector<std::string> notes_;
};

/// CPU time of the whole process, all threads, in milliseconds.
double process_cpu_ms();

}  // namespace tandem::bench
