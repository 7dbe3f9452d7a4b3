#include "native/segment_output.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/resample.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

using nlohmann::json;

SegmentReport sample_report() {
  SegmentReport report;
  report.file = "a.wav";
  report.sample_rate = 16000;
  report.samples = 60000000;
  report.model = "silero-v6";
  report.model_rate = 16000;
  report.segments = {{7712, 36832}, {58500008, 59999999}};
  report.probabilities = {static_cast<double>(0.1f), std::nan(""), 1.0};
  return report;
}

TEST(SegmentOutput, Json) {
  const std::vector<SegmentReport> reports{sample_report()};
  EXPECT_EQ(
      format_segments(reports, {SegmentFormat::kJson}),
      R"({"file":"a.wav","sample_rate":16000,"samples":60000000,"model":"silero-v6","model_rate":16000,"segments":[)"
      R"({"start_sample":7712,"end_sample":36832,"start":0.482,"end":2.302},)"
      R"({"start_sample":58500008,"end_sample":59999999,"start":3656.2505,"end":3749.9999375}]})"
      "\n");
  const json parsed = json::parse(format_segments(reports, {SegmentFormat::kJson, false, true}));
  EXPECT_EQ(parsed["probabilities"].dump(), "[0.10000000149011612,null,1.0]");
  EXPECT_EQ(parsed["probabilities"][0].get<double>(), static_cast<double>(0.1f));
}

TEST(SegmentOutput, JsonOfSeveralFilesIsAnArray) {
  std::vector<SegmentReport> reports{sample_report(), sample_report()};
  reports[1].file = "bad \xFF name";
  reports[1].model = "";
  const json parsed = json::parse(format_segments(reports, {SegmentFormat::kJson, true}));
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[1]["file"], "bad \xEF\xBF\xBD name");
  EXPECT_TRUE(parsed[1]["model"].is_null());
  EXPECT_EQ(format_segments({}, {SegmentFormat::kJson, true}), "[]\n");
}

TEST(SegmentOutput, TheFormFollowsTheQuestion) {
  const std::vector<SegmentReport> one{sample_report()};
  EXPECT_TRUE(json::parse(format_segments(one, {SegmentFormat::kJson})).is_object());
  const json list = json::parse(format_segments(one, {SegmentFormat::kJson, true}));
  ASSERT_TRUE(list.is_array());
  EXPECT_EQ(list.size(), 1u);
}

TEST(SegmentOutput, FailuresKeepTheirPlaceInJsonAndHaveNoLinesElsewhere) {
  std::vector<SegmentReport> reports{SegmentReport{}, sample_report()};
  reports[0].file = "b\"\n.wav";
  reports[0].failure = {"NotFound", "it is gone"};
  const json list = json::parse(format_segments(reports, {SegmentFormat::kJson, true, true}));
  EXPECT_EQ(list[0].dump(), R"({"error":{"code":"NotFound","message":"it is gone"},"file":"b\"\n.wav"})");
  EXPECT_EQ(list[1]["segments"].size(), 2u);
  for (const SegmentFormat format : {SegmentFormat::kCsv, SegmentFormat::kText}) {
    const std::string all = format_segments(reports, {format});
    EXPECT_EQ(all, format_segments(std::span(reports).subspan(1), {format}));
  }
  const std::string alone = format_segments(std::span(reports).first(1), {SegmentFormat::kJson});
  EXPECT_EQ(json::parse(alone)["error"]["code"], "NotFound");
}

TEST(SegmentOutput, Srt) {
  const std::vector<SegmentReport> one{sample_report()};
  EXPECT_EQ(format_segments(one, {SegmentFormat::kSrt}),
            "1\n00:00:00,482 --> 00:00:02,302\nspeech\n\n2\n01:00:56,251 --> 01:02:30,000\nspeech\n\n");
  EXPECT_TRUE(check_report_count(1, SegmentFormat::kSrt).has_value());
  EXPECT_TRUE(check_report_count(2, SegmentFormat::kCsv).has_value());
  EXPECT_EQ(check_report_count(2, SegmentFormat::kSrt).error().code, ErrorCode::kInvalidArgument);
}

TEST(SegmentOutput, Csv) {
  std::vector<SegmentReport> reports{sample_report()};
  reports[0].file = "a, \"b\".wav";
  EXPECT_EQ(format_segments(reports, {SegmentFormat::kCsv}),
            "file,start_sample,end_sample,start,end\n\"a, \"\"b\"\".wav\",7712,36832,0.482,2.302\n"
            "\"a, \"\"b\"\".wav\",58500008,59999999,3656.2505,3749.9999375\n");
}

TEST(SegmentOutput, Text) {
  std::vector<SegmentReport> reports{sample_report(), SegmentReport{}};
  reports[1].file = "empty.wav";
  reports[1].sample_rate = 8000;
  EXPECT_EQ(format_segments(reports, {SegmentFormat::kText}),
            "a.wav: 2 segments, 95.57 s of speech in 3750.00 s\n  0.482 - 2.302 s\n  3656.251 - 3750.000 s\n"
            "empty.wav: 0 segments, 0.00 s of speech in 0.00 s\n");
  // A name can neither make a line of its own nor speak to the terminal.
  reports[1].file = "x\n  0.000 - 9.000 s\x1b[2J";
  EXPECT_EQ(format_segments(std::span(reports).subspan(1), {SegmentFormat::kText}),
            "x\\n  0.000 - 9.000 s\\x1b[2J: 0 segments, 0.00 s of speech in 0.00 s\n");
}

TEST(SegmentOutput, FormatNames) {
  EXPECT_EQ(*parse_segment_format("srt"), SegmentFormat::kSrt);
  EXPECT_EQ(parse_segment_format("xml").error().message, "unknown format \"xml\": use text, json, srt or csv");
}

SegmentationOptions defaults() { return {}; }

/// Start and end samples of saved probabilities, or the error.
json segments_of(const std::string& text, const SegmentationOptions& options = defaults()) {
  const auto saved = read_saved_probabilities(text, "p.json");
  if (!saved) return saved.error().text();
  json all = json::array();
  for (const SavedProbabilities& entry : saved->recordings) {
    const auto report = segment_saved(entry, options);
    if (!report) return report.error().text();
    for (const SpeechSegment& segment : report->segments) all.push_back({segment.start, segment.end});
  }
  return all;
}

TEST(SavedProbabilities, RowsOfTheReferenceAreFiles) {
  const json vectors = testing::golden_json("silero/vectors.json");
  int checked = 0;
  for (const json& row : vectors["segments"]) {
    if (!row["params"].empty()) continue;
    const json found = segments_of(row.dump());
    if (row["timestamps"].is_null()) {
      EXPECT_NE(found.get<std::string>().find("44100"), std::string::npos);
    } else {
      EXPECT_EQ(found, row["timestamps"]) << row["name"];
    }
    ++checked;
  }
  EXPECT_GT(checked, 15);
}

TEST(SavedProbabilities, OwnOutputComesBack) {
  SegmentReport report = sample_report();
  report.samples = 1500;
  report.segments.clear();
  std::vector<SegmentReport> reports{report, report};
  reports[1].model = "";
  const auto saved = read_saved_probabilities(format_segments(reports, {SegmentFormat::kJson, true, true}), "p.json");
  ASSERT_TRUE(saved.has_value()) << saved.error().text();
  EXPECT_TRUE(saved->list);
  ASSERT_EQ(saved->recordings.size(), 2u);
  const SavedProbabilities& first = saved->recordings[0];
  EXPECT_EQ(first.file, "a.wav");
  EXPECT_EQ(first.model, "silero-v6");
  EXPECT_EQ(first.model_rate, std::optional<int64_t>(16000));
  EXPECT_EQ(first.probabilities[0], static_cast<double>(0.1f));
  EXPECT_TRUE(std::isnan(first.probabilities[1]));
  EXPECT_EQ(saved->recordings[1].model, "");
}

TEST(SavedProbabilities, FilesThatFailedComeBackAsFailures) {
  std::vector<SegmentReport> reports{SegmentReport{}};
  reports[0].file = "gone.wav";
  reports[0].failure = {"NotFound", "no such file"};
  const auto saved = read_saved_probabilities(format_segments(reports, {SegmentFormat::kJson, true, true}), "p.json");
  ASSERT_TRUE(saved.has_value()) << saved.error().text();
  const SavedProbabilities& entry = saved->recordings[0];
  EXPECT_EQ(entry.file, "gone.wav");
  EXPECT_EQ(entry.failure->code, "NotFound");
  EXPECT_EQ(entry.failure->message, "no such file");
  const auto report = segment_saved(entry, {});
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidFormat);
  EXPECT_EQ(report.error().message, "gone.wav has no saved probabilities, only an error: no such file");
  EXPECT_EQ(read_saved_probabilities(R"({"error": 7})", "p.json")->recordings[0].failure->code, "Runtime");
  // Both: the probabilities count.
  EXPECT_EQ(segments_of(R"({"error":{},"sample_rate":16000,"samples":0,"probs":[]})"), json::array());
  EXPECT_EQ(read_saved_probabilities(R"([{"error":{}}])", "p.json")->recordings[0].file, "p.json, entry 0");
}

/// `quiet` windows of silence, `speech` of speech, `quiet` of silence.
json probabilities(int quiet, int speech) {
  json list = json::array();
  for (int i = 0; i < 2 * quiet + speech; ++i) list.push_back(i < quiet || i >= quiet + speech ? 0.1 : 0.9);
  return list;
}

TEST(SavedProbabilities, ModelRateMapsPositionsByRounding) {
  // At the model's rate the segment is (4640, 15840): the first vector of the reference.
  json file{
      {"sample_rate", 44100}, {"samples", 56448}, {"model_rate", 16000}, {"probabilities", probabilities(10, 20)}};
  EXPECT_EQ(segments_of(file.dump()), json({{12789, 43659}}));  // 12789.0, 43659.0
  file["sample_rate"] = 22050;
  file["samples"] = 28224;
  EXPECT_EQ(segments_of(file.dump()), json({{6395, 21830}}));  // 6394.5 and 21829.5: halves up
  file["sample_rate"] = 48000;
  file["samples"] = 61440;
  EXPECT_EQ(segments_of(file.dump()), json({{13920, 47520}}));
  // The same rate without the model's: every third sample.
  file.erase("model_rate");
  EXPECT_EQ(segments_of(file.dump()), json({{13920, 47520}}));
  file["sample_rate"] = 44100;
  EXPECT_EQ(segments_of(file.dump()),
            "InvalidArgument: p.json: a sample rate of 44100 Hz is not supported here: use 8000, 16000 or a multiple "
            "of 16000, "
            "or resample first");
  file["model_rate"] = 44100;
  EXPECT_NE(segments_of(file.dump()).get<std::string>().find("the model works at 8000 or 16000 Hz"), std::string::npos);
}

TEST(SavedProbabilities, EndIsClampedToTheFilesLength) {
  json file{{"sample_rate", 44100}, {"samples", 28005}, {"model_rate", 16000}, {"probs", probabilities(0, 20)}};
  EXPECT_EQ(resampled_length(28005, 44100, 16000), 10161);
  EXPECT_EQ(segments_of(file.dump()), json({{0, 28005}})) << "10161 * 2.75625 rounds to 28006";
}

TEST(SavedProbabilities, OneWindowMoreOrLessIsAcceptedAfterResampling) {
  // 1410 samples at 44.1 kHz make 511.6 at 16 kHz: one window for some resamplers, two for others with a longer tail.
  json file{{"sample_rate", 44100}, {"samples", 1412}, {"model_rate", 16000}, {"probs", {0.9, 0.9}}};
  EXPECT_TRUE(segments_of(file.dump()).is_array());
  file["probs"] = {0.9, 0.9, 0.9, 0.9};
  EXPECT_NE(segments_of(file.dump()).get<std::string>().find("4 probabilities do not fit"), std::string::npos);
  file = {{"sample_rate", 16000}, {"samples", 512}, {"model_rate", 16000}, {"probs", {0.9, 0.9}}};
  EXPECT_NE(segments_of(file.dump()).get<std::string>().find("2 probabilities do not fit"), std::string::npos);
}

TEST(SavedProbabilities, RefusesWhatIsNotOne) {
  const auto error = [](const std::string& text) {
    const auto saved = read_saved_probabilities(text, "p.json");
    if (saved) return std::string("accepted");
    EXPECT_EQ(saved.error().code, ErrorCode::kInvalidFormat);
    return saved.error().message;
  };
  EXPECT_EQ(error("").find("p.json is not valid JSON"), 0u);
  EXPECT_EQ(error(R"({"probs":[)").find("p.json is not valid JSON"), 0u);
  EXPECT_EQ(error("7"), "p.json: is not a JSON object");
  EXPECT_EQ(error(R"({"samples":1,"probs":[]})"), "p.json: has no \"sample_rate\"");
  EXPECT_EQ(error(R"({"sample_rate":16000,"probs":[]})"), "p.json: has no \"samples\"");
  EXPECT_EQ(error(R"({"sample_rate":16000,"samples":0})"), "p.json: has neither \"probabilities\" nor \"probs\"");
  EXPECT_EQ(error(R"({"sample_rate":16000,"samples":0,"probs":{}})"), "p.json: \"probs\" is not a list");
  EXPECT_EQ(error(R"([{"sample_rate":16000,"samples":0,"probs":[0.5,"x"]}])"),
            "p.json, entry 0: element 1 of \"probs\" is neither a number nor null");
  EXPECT_EQ(error(R"({"sample_rate":"a","samples":0,"probs":[]})"),
            "p.json: \"sample_rate\" is \"a\": it must be a whole number from 1");
  EXPECT_EQ(error(R"({"sample_rate":16000,"samples":-1,"probs":[]})"),
            "p.json: \"samples\" is -1: it must be a whole number from 0");
  EXPECT_EQ(error(R"({"sample_rate":16000,"samples":1e300,"probs":[]})"),
            "p.json: \"samples\" is 1e+300: it must be a whole number from 0");
  EXPECT_EQ(error(R"({"sample_rate":16000.0,"samples":0,"probs":[]})"), "accepted");
  EXPECT_EQ(error(std::string(100000, '[')), "p.json cannot be read as JSON: it is nested deeper than 64 levels");
  // Closed again, it is valid JSON, and whatever is said about the value must not recurse into it.
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  EXPECT_EQ(error(R"({"sample_rate":)" + deep + R"(,"samples":0,"probs":[]})"),
            "p.json cannot be read as JSON: it is nested deeper than 64 levels");
  EXPECT_EQ(error(R"({"sample_rate":)" + std::string(63, '[') + std::string(63, ']') + R"(,"samples":0,"probs":[]})"),
            "p.json: \"sample_rate\" is " + std::string(60, '[') + "...: it must be a whole number from 1");
  EXPECT_LT(error(R"({"sample_rate":16000,"samples":0,"probs":[)" + std::string(100000, '"')).size(), 300u);
  EXPECT_LT(error(R"({"sample_rate":16000,"samples":")" + std::string(100000, 'x')).size(), 300u);
}

}  // namespace
}  // namespace tandem
