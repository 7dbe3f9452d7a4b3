// tandem transcribe as a user runs it, on small models with reference values.

#include <cmath>

#include "core/audio/speech_pieces.h"
#include "core/models/ctc.h"
#include "native/resample.h"
#include "native/sound_file.h"
#include "tests/support/gigaam_golden.h"
#include "tests/support/tool_fixture.h"
#include "tests/support/wav_writer.h"

namespace tandem {
namespace {

using nlohmann::json;
using testing::GigaAmGolden;
using testing::Outcome;

const std::string kRecordings = "/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-";

/// What the small model makes of its clip.
const std::string kSaid = "яллйлылйлзя";

class Transcribe : public testing::Tool {
 protected:
  /// The folder of a model: weights and configuration of a golden file, and the characters of the published models.
  std::string write_model(const std::string& name, const GigaAmGolden& golden) const {
    std::filesystem::create_directory(path(name));
    std::vector<WeightTensor> weights;
    for (const WeightTensor& tensor : golden.file.tensors())
      if (tensor.name.starts_with("encoder.") || tensor.name.starts_with("head.")) weights.push_back(tensor);
    EXPECT_TRUE(write_safetensors_file(path(name + "/model.safetensors"), weights));
    json config = json::parse(golden.file.metadata().at("config"));
    config["labels"] = {" "};
    for (char32_t c = U'а'; c <= U'я'; ++c)
      config["labels"].push_back(std::string{static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))});
    write(name + "/config.json", config.dump());
    return path(name);
  }

  template <typename T>
  std::string write_raw(const std::string& name, const std::vector<T>& samples) const {
    std::ofstream stream(path(name), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(samples.data()), static_cast<std::streamsize>(2 * samples.size()));
    return path(name);
  }

  /// Standard output of a run that must succeed.
  std::string transcribe(const std::string& arguments) const {
    const Outcome outcome = run("transcribe " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.error;
    return outcome.out;
  }
  json transcribe_json(const std::string& arguments) const {
    return json::parse(transcribe("--format json " + arguments));
  }
};

/// Ids and starts of all tokens.
std::pair<std::vector<int32_t>, std::vector<double>> tokens_of(const json& transcript) {
  std::pair<std::vector<int32_t>, std::vector<double>> tokens;
  for (const json& segment : transcript["segments"])
    for (const json& token : segment["tokens"]) {
      tokens.first.push_back(token["id"]);
      tokens.second.push_back(token["start"]);
    }
  return tokens;
}

void expect_frames(const std::vector<double>& starts, const std::vector<int32_t>& frames, int tolerance = 0) {
  ASSERT_EQ(starts.size(), frames.size());
  for (size_t i = 0; i < starts.size(); ++i) EXPECT_NEAR(starts[i], frames[i] * 0.04, tolerance * 0.04 + 1e-9) << i;
}

/// 16-bit samples of the recordings with 2 s of silence between them.
std::vector<int16_t> long_recording() {
  std::vector<int16_t> samples;
  for (const char* number : {"0870", "0880", "0890", "0920", "0930"}) {
    const auto sound = read_sound_file(kRecordings + number + ".wav");
    if (!sound) throw std::runtime_error(sound.error().text());
    for (const float sample : sound->samples) samples.push_back(static_cast<int16_t>(std::lround(sample * 32768)));
    samples.insert(samples.end(), 32000, 0);
  }
  return samples;
}

TEST_F(Transcribe, GivesTheTokensOfTheReferenceOnEveryTarget) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string model = write_model("model", golden);
  const std::string clip = write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  const std::string common = "--raw s16le:16000 " + clip + " --weights " + model;
  std::string first;
  for (const std::string target : {"", " --isa avx2", " --isa sse", " --target wasm", " --target interpreter"}) {
    SCOPED_TRACE(target);
    const json fast = transcribe_json(common + target);
    const auto [ids, starts] = tokens_of(fast);
    EXPECT_EQ(ids, golden.values<int32_t>("expected.tokens"));
    expect_frames(starts, golden.values<int32_t>("expected.frames"));
    const std::string bits = transcribe("--format json --numerics reproducible " + common + target);
    if (first.empty()) first = bits;
    EXPECT_EQ(bits, first);
  }
  const json found = json::parse(first);
  EXPECT_EQ(found["file"], clip);
  EXPECT_EQ(found["sample_rate"], 16000);
  EXPECT_EQ(found["samples"], 20837);
  EXPECT_EQ(found["duration"], 1.302);
  EXPECT_EQ(found["text"], kSaid);
  ASSERT_EQ(found["segments"].size(), 1u);
  EXPECT_EQ(found["segments"][0]["words"], json::array({{{"start", 0.12}, {"end", 1.302}, {"text", kSaid}}}));
}

TEST_F(Transcribe, KeepsWeightsAsItIsTold) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string clip = write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  const std::string common = "--isa sse --raw s16le:16000 " + clip + " --weights " + write_model("model", golden);
  for (const std::string dtype : {"f32", "f16", "bf16", "i8", "int8"})
    EXPECT_NE(transcribe(common + " --weights-dtype " + dtype), "") << dtype;
  EXPECT_EQ(transcribe(common + " --weights-dtype f16"), kSaid + "\n");
  expect_refused("transcribe --weights-dtype i4 " + common, "--weights-dtype is \"i4\": use f32, f16, bf16, i8");
  // Dot products of bf16 show what the plan was made of.
  const auto note = [&](const std::string& dtype) {
    return run("transcribe --target interpreter --bf16-dot --weights-dtype " + dtype + " " + common.substr(10)).error;
  };
  EXPECT_NE(note("f32").find("--bf16-dot (TANDEM_BF16_DOT) has no effect"), std::string::npos);
  EXPECT_NE(note("bf16").find("bf16 dot products;"), std::string::npos);
}

TEST_F(Transcribe, WritesTextSrtAndVtt) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string model = write_model("model", golden);
  const std::string clip = write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  const std::string common = "--raw s16le:16000 --weights " + model + " --format ";
  EXPECT_EQ(transcribe(common + "text " + clip), kSaid + "\n");
  EXPECT_EQ(transcribe(common + "text - <" + clip), kSaid + "\n");
  EXPECT_EQ(transcribe(common + "srt " + clip), "1\n00:00:00,120 --> 00:00:01,302\n" + kSaid + "\n\n");
  EXPECT_EQ(transcribe(common + "vtt " + clip), "WEBVTT\n\n00:00:00.120 --> 00:00:01.302\n" + kSaid + "\n\n");
  const std::string nothing = write_raw("nothing.raw", std::vector<int16_t>());
  const std::string crumb = write_raw("crumb.raw", std::vector<int16_t>(319, 100));
  EXPECT_EQ(transcribe(common + "text " + nothing), "");
  EXPECT_EQ(transcribe(common + "srt " + crumb), "");
  EXPECT_EQ(transcribe(common + "vtt " + nothing), "WEBVTT\n\n");
  EXPECT_EQ(transcribe(common + "text " + nothing + " " + clip + " " + crumb),
            nothing + ":\n" + clip + ":\n" + kSaid + "\n" + crumb + ":\n");
  const json empty = json::parse(transcribe(common + "json " + crumb));
  EXPECT_EQ(empty["text"], "");
  EXPECT_EQ(empty["segments"][0]["tokens"], json::array());
}

TEST_F(Transcribe, SearchesWithABeamAsTheScoresOfTheReferenceSay) {
  const GigaAmGolden golden("e2e_tiny");
  const auto scores = golden.values<float>("expected.log_probs");
  const TokenSequence expected = ctc_beam_search({scores, 34}, 16)->front().sequence;
  const std::string clip = write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  const auto [ids, starts] =
      tokens_of(transcribe_json("--beam 16 --raw s16le:16000 " + clip + " --weights " + write_model("model", golden)));
  EXPECT_EQ(ids, expected.tokens);
  expect_frames(starts, expected.frames);
}

TEST_F(Transcribe, TakesEveryKindOfSoundThatVadTakes) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string model = write_model("model", golden);
  const auto pcm = golden.values<int16_t>("input.pcm");
  // The same at 48 kHz, on two channels.
  std::vector<float> samples;
  for (const int16_t sample : pcm) samples.push_back(static_cast<float>(sample) / 32768.0f);
  const auto wide = resample(samples, 16000, 48000);
  ASSERT_TRUE(wide);
  std::vector<int16_t> stereo;
  for (const float sample : *wide) stereo.insert(stereo.end(), 2, static_cast<int16_t>(std::lround(sample * 32768)));
  const std::string raw = write_raw("stereo.raw", stereo);
  const json found = transcribe_json("--raw s16le:48000:2 " + raw + " --weights " + model);
  EXPECT_EQ(found["sample_rate"], 48000);
  EXPECT_EQ(found["samples"], 3 * 20837);
  // What lies near 8 kHz is lost on the way, so that a token may be certain a frame earlier or later.
  const auto [ids, starts] = tokens_of(found);
  EXPECT_EQ(ids, golden.values<int32_t>("expected.tokens"));
  expect_frames(starts, golden.values<int32_t>("expected.frames"), 1);
}

TEST_F(Transcribe, LongRecordingsAreTheirPiecesPutTogether) {
  const std::vector<int16_t> samples = long_recording();
  const std::string recording = write_raw("long.raw", samples);
  ASSERT_GT(samples.size(), 30u * 16000u);
  for (const char* name : {"ctc_tiny", "rnnt_tiny"}) {
    SCOPED_TRACE(name);
    const std::string common =
        " --numerics reproducible --raw s16le:16000 --format json --weights " + write_model(name, GigaAmGolden(name));
    const std::string whole = transcribe(recording + common);
    EXPECT_EQ(transcribe(recording + common + " --batch 1"), whole);
    EXPECT_EQ(transcribe(recording + common + " --batch 3 --target wasm"), whole);
    // The pieces by hand: each is a recording of its own.
    const Outcome vad = run("vad --format json --probabilities --numerics reproducible --raw s16le:16000 " + recording);
    ASSERT_EQ(vad.exit_code, 0) << vad.error;
    const auto pieces = split_speech(json::parse(vad.out)["probabilities"].get<std::vector<double>>(),
                                     static_cast<int64_t>(samples.size()), 16000);
    ASSERT_TRUE(pieces);
    ASSERT_GE(pieces->size(), 2u);
    std::string files;
    for (size_t i = 0; i < pieces->size(); ++i) {
      const SpeechPiece& piece = (*pieces)[i];
      ASSERT_FALSE(piece.continues());
      files += " " + write_raw("piece" + std::to_string(i) + ".raw",
                               std::vector<int16_t>(samples.begin() + piece.start, samples.begin() + piece.end));
    }
    const json alone = json::parse(transcribe(files + common));
    const json found = json::parse(whole);
    ASSERT_EQ(found["segments"].size(), pieces->size());
    for (size_t i = 0; i < pieces->size(); ++i) {
      const double start = static_cast<double>((*pieces)[i].start) / 16000;
      EXPECT_NEAR(found["segments"][i]["start"], start, 5e-4);
      const json& tokens = found["segments"][i]["tokens"];
      const auto [ids, starts] = tokens_of(alone[i]);
      ASSERT_EQ(tokens.size(), ids.size());
      ASSERT_GT(ids.size(), 0u);
      for (size_t j = 0; j < ids.size(); ++j) {
        EXPECT_EQ(tokens[j]["id"], ids[j]);
        EXPECT_NEAR(tokens[j]["start"], start + starts[j], 1.1e-3);
      }
    }
  }
}

TEST_F(Transcribe, ATransducerSaysWhatTheModelOfRunSays) {
  const GigaAmGolden golden("rnnt_tiny");
  const auto pcm = GigaAmGolden("e2e_tiny").values<int16_t>("input.pcm");
  WeightTensor tensor;
  tensor.name = "pcm";
  tensor.dtype = DType::kI16;
  tensor.shape = {static_cast<int64_t>(pcm.size())};
  tensor.bytes = std::as_bytes(std::span<const int16_t>(pcm));
  ASSERT_TRUE(write_safetensors_file(path("in.safetensors"), std::span(&tensor, 1)));
  const Outcome outcome = run("run gigaam-rnnt --weights " + testing::golden_path("gigaam/rnnt_tiny.safetensors") +
                              " --inputs " + path("in.safetensors") + " --outputs " + path("out.safetensors"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  const auto expected = read_weight_file(path("out.safetensors"));
  ASSERT_TRUE(expected);
  const std::string clip = write_raw("clip.raw", pcm);
  const std::string model = write_model("model", golden);
  const auto [ids, starts] =
      tokens_of(transcribe_json("--head rnnt --raw s16le:16000 " + clip + " --weights " + model));
  EXPECT_EQ(ids, *expected->find("tokens")->values<int32_t>());
  EXPECT_GT(ids.size(), 0u);
  expect_frames(starts, *expected->find("frames")->values<int32_t>());
}

TEST_F(Transcribe, AFileThatFailsDoesNotTakeTheOthersWithIt) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string clip = write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  const Outcome outcome = run("transcribe --format json --raw s16le:16000 " + path("missing.raw") + " " + clip +
                              " --weights " + write_model("model", golden));
  EXPECT_EQ(outcome.exit_code, 2);
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found[0]["error"]["code"], "NotFound");
  EXPECT_EQ(found[1]["text"], kSaid);
  EXPECT_NE(outcome.error.find("missing.raw"), std::string::npos);
}

TEST_F(Transcribe, RefusesWhatDoesNotFitByName) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string model = write_model("model", golden);
  const std::string clip = " --raw s16le:16000 " + write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  const std::string common = "transcribe" + clip + " --weights " + model;
  expect_refused("transcribe --weights " + model, "FILE is missing");
  expect_refused("transcribe" + clip, "--weights is missing");
  expect_refused("transcribe" + clip + " --weights " + path("nowhere"), "nowhere");
  expect_refused(common + " --format xml", "xml");
  expect_refused(common + " --head both", "both");
  expect_refused(common + " --head rnnt",
                 "head is \"rnnt\", but " + path("model/config.json") + " has the head \"ctc\"");
  expect_refused(common + " --batch 0", "--batch");
  expect_refused(common + " --batch 65", "--batch");
  expect_refused(common + " --beam 0", "--beam");
  expect_refused(common + " --target gpu", "gpu");
  expect_refused(common + " --threads -1", "--threads");
  expect_refused(common + " --format srt " + path("other.raw"), "--format srt takes one recording, not 2");
  expect_refused("transcribe" + clip + " --beam 4 --weights " + write_model("rnnt", GigaAmGolden("rnnt_tiny")),
                 "--beam belongs to a CTC head");
  expect_refused(common, "the plan needs", 1, "TANDEM_MEMORY_LIMIT=100K");
  expect_refused(common + " --vad v9", "--vad is \"v9\": use v5 or v6");
  // What a model is made of, missing or wrong.
  json config = json::parse(read(path("model/config.json")));
  const auto with_config = [&](const json& changed) {
    write("changed.json", changed.dump());
    return common + " --config " + path("changed.json");
  };
  json changed = config;
  changed["labels"].erase(5);
  expect_refused(with_config(changed), "the vocabulary has 32 entries");
  changed.erase("labels");
  expect_refused(with_config(changed), "tokenizer.model");
  write("tokenizer.model", "no model");
  expect_refused(with_config(changed), "tokenizer.model is not a usable SentencePiece model");
  changed = config;
  changed["encoder"]["n_layers"] = 3;
  expect_refused(with_config(changed), "encoder.layers.2.norm_feed_forward1.weight");
  changed["encoder"]["n_layers"] = 2;
  changed["encoder"]["self_attention_model"] = "rel_pos";
  expect_refused(with_config(changed), "\"encoder.self_attention_model\" is \"rel_pos\"");
  changed = config;
  changed["head"]["num_classes"] = 35;
  changed["labels"].push_back("ё");
  expect_refused(with_config(changed), "f32 [35, 64, 1]");
  changed = config;
  changed["encoder"]["pos_emb_max_len"] = 100;
  expect_refused(with_config(changed), "\"pos_emb_max_len\" 100");
  changed.erase("head");
  expect_refused(with_config(changed), "no \"head\"");
  expect_refused(common + " --config " + path("absent.json"), "absent.json");
  write("changed.json", "{\"encoder\": }");
  expect_refused(common + " --config " + path("changed.json"), "changed.json is not valid JSON: parse error at line 1");
  // A configuration in the weights stands above the file beside them, and an error says which of the two it means.
  const WeightFile weights = *read_weight_file(path("model/model.safetensors"));
  changed = config;
  changed["encoder"]["n_layers"] = 3;
  std::filesystem::create_directory(path("both"));
  ASSERT_TRUE(write_safetensors_file(path("both/model.safetensors"), weights.tensors(), {{"config", changed.dump()}}));
  const std::string both = "transcribe" + clip + " --weights " + path("both");
  expect_refused(both, "encoder.layers.2.norm_feed_forward1.weight");
  write("both/config.json", config.dump());
  changed["encoder"]["n_layers"] = 0;
  ASSERT_TRUE(write_safetensors_file(path("both/model.safetensors"), weights.tensors(), {{"config", changed.dump()}}));
  expect_refused(both, "the configuration in " + path("both/model.safetensors") +
                           ", which stands above config.json beside it,: \"encoder.n_layers\" is 0");
  std::filesystem::remove(path("model/config.json"));
  expect_refused(common, "model/config.json");
  std::filesystem::remove(path("model/model.safetensors"));
  expect_refused(common, "model.safetensors");
}

TEST_F(Transcribe, NeedsTheWeightsOfTheSpeechDetectorForLongRecordingsOnly) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string common = " --raw s16le:16000 --vad-weights /nonexistent --weights " + write_model("model", golden);
  const std::string clip = write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  EXPECT_EQ(transcribe(clip + common), kSaid + "\n");
  expect_refused("transcribe " + write_raw("long.raw", long_recording()) + common, "/nonexistent");
}

TEST_F(Transcribe, TakesTheFolderThatTheConverterWrites) {
  const GigaAmGolden golden("e2e_tiny");
  const std::string clip = " --raw s16le:16000 " + write_raw("clip.raw", golden.values<int16_t>("input.pcm"));
  const auto convert = [&](const std::string& rest) {
    const std::string command = "python3 '" TANDEM_SOURCE_DIR "/tests/support/convert_golden.py' '" +
                                testing::golden_path("gigaam/e2e_tiny.safetensors") + "' '" + path("converted") + "' " +
                                rest;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  };
  for (const std::string dtype : {"f32", "f16"}) {
    convert(dtype);
    const Outcome weights = run("weights " + path("converted"));
    EXPECT_EQ(weights.exit_code, 0) << weights.error;
    EXPECT_NE(weights.out.find("The weights fit the configuration"), std::string::npos) << weights.out;
    EXPECT_NE(weights.out.find("head.decoder_layers.0.bias " + dtype + " [34]"), std::string::npos) << weights.out;
    EXPECT_EQ(transcribe("--weights " + path("converted") + clip), kSaid + "\n");
  }
  // A vocabulary in a file of its own; the one at hand has another number of pieces.
  convert("f32 '" + testing::golden_path("text/bpe.model") + "'");
  expect_refused("transcribe --weights " + path("converted") + clip, "the vocabulary has 120 entries");
  // It may lie in the folder already.
  const std::string tokenizer = read(path("converted/tokenizer.model"));
  convert("f32 '" + path("converted/tokenizer.model") + "'");
  EXPECT_EQ(read(path("converted/tokenizer.model")), tokenizer);
}

}  // namespace
}  // namespace tandem
