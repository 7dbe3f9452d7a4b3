#include "backends/wasm/node/runner_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/text.h"

extern char** environ;

namespace tandem {

extern const char kNodeRunnerSource[];

namespace {

constexpr int kOldestNode = 20;
constexpr const char* kAdvice = "; install Node.js 20 or newer, or set TANDEM_NODE to its path";
/// What is shown of a process's own words, in bytes.
constexpr size_t kShownWords = 500;

/// The beginning of a text from outside, fit for a terminal.
std::string printable(std::string text) {
  if (text.size() > kShownWords) text = text.substr(0, kShownWords) + "...";
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\n' && c != '\t') || byte == 0x7F) c = '?';
  }
  return text;
}

}  // namespace

Result<std::shared_ptr<RunnerProcess>> RunnerProcess::start(const NodeBackendOptions& options) {
  std::shared_ptr<RunnerProcess> runner(new RunnerProcess(options));
  TANDEM_TRY(spawned, runner->spawn());
  TANDEM_TRY(introduced, runner->introduce());
  (void)spawned;
  (void)introduced;
  return runner;
}

Result<bool> RunnerProcess::spawn() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(ErrorCode::kDevice, concat("no socket for the Node process: ", std::strerror(errno)));
  }
  socket_ = ends[0];
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  errors_ = ::memfd_create("tandem-node-errors", MFD_CLOEXEC);

  std::vector<std::string> words{options_.node, "--no-warnings"};
  words.insert(words.end(), options_.flags.begin(), options_.flags.end());
  words.insert(words.end(), {"--input-type=module", "--eval", kNodeRunnerSource});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (errors_ >= 0) posix_spawn_file_actions_adddup2(&actions, errors_, STDERR_FILENO);
  // Signals that the caller blocks or ignores must not be inherited.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&process_, options_.node.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error == 0) return true;
  process_ = -1;
  return fail(ErrorCode::kDevice,
              concat("Node.js could not be started as \"", options_.node, "\": ", std::strerror(error), kAdvice));
}

Result<bool> RunnerProcess::introduce() {
  using namespace std::chrono;
  const double seconds = std::min(options_.start_seconds, options_.timeout_seconds);
  introduction_end_ = steady_clock::now() + duration_cast<steady_clock::duration>(duration<double>(seconds));
  uint32_t bytes = 0;
  std::string answer;
  bool is_answered = send(kHello, nullptr, 0) && receive(bytes) && bytes < 100;
  if (is_answered) {
    answer.resize(bytes);
    is_answered = receive(answer.data(), bytes) && bytes > 2;
  }
  introduction_end_.reset();
  if (!is_answered) {
    return fail(ErrorCode::kDevice,
                concat("\"", options_.node, "\" does not answer as Node.js does: ", printable(failure_), kAdvice));
  }
  has_relaxed_simd_ = answer[0] == '1';
  const std::string version = answer.substr(2);
  if (std::strtol(version.c_str(), nullptr, 10) >= kOldestNode) return true;
  return fail(ErrorCode::kDevice,
              concat("\"", options_.node, "\" is Node.js ", version, ", older than ", kOldestNode, kAdvice));
}

RunnerProcess::~RunnerProcess() {
  if (socket_ >= 0) ::close(socket_);
  if (errors_ >= 0) ::close(errors_);
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

bool RunnerProcess::lose(const std::string& what) {
  if (!is_broken_) failure_ = concat("the Node process ", what, last_words());
  is_broken_ = true;
  return false;
}

// What it wrote to its standard error, at most the last few lines.
std::string RunnerProcess::last_words() const {
  char text[kShownWords];
  if (errors_ < 0) return {};
  const off_t size = ::lseek(errors_, 0, SEEK_END);
  const ssize_t count = ::pread(errors_, text, sizeof text, std::max<off_t>(0, size - static_cast<off_t>(sizeof text)));
  if (count <= 0) return {};
  return concat("; it said: ", printable(std::string(text, static_cast<size_t>(count))));
}

bool RunnerProcess::wait_for(short event) {
  pollfd poll_entry{socket_, event, 0};
  using namespace std::chrono;
  double seconds = options_.timeout_seconds;
  if (introduction_end_) seconds = std::max(duration<double>(*introduction_end_ - steady_clock::now()).count(), 0.0);
  const int milliseconds = static_cast<int>(std::min(seconds * 1000, 2e9));
  int ready = 0;
  do {
    ready = ::poll(&poll_entry, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return true;
  return lose(introduction_end_
                  ? concat("has been silent for ", std::min(options_.start_seconds, options_.timeout_seconds),
                           " seconds after its start")
                  : concat("has been silent for ", options_.timeout_seconds, " seconds"));
}

bool RunnerProcess::send(Operation operation, const std::vector<Piece>& pieces) {
  return send(operation, pieces.data(), pieces.size());
}

bool RunnerProcess::send(Operation operation, const Piece* pieces, size_t count) {
  if (is_broken_) return false;
  uint64_t size = 0;
  for (size_t i = 0; i < count; i++) size += pieces[i].bytes;
  const uint32_t head[2] = {operation, static_cast<uint32_t>(size)};
  for (size_t i = 0; i <= count; i++) {
    const Piece piece = i == 0 ? Piece{head, sizeof(head)} : pieces[i - 1];
    for (size_t done = 0; done < piece.bytes;) {
      const char* data = static_cast<const char*>(piece.data) + done;
      const ssize_t written = ::send(socket_, data, piece.bytes - done, MSG_NOSIGNAL);
      if (written > 0) {
        done += static_cast<size_t>(written);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait_for(POLLOUT)) return false;
      } else if (errno != EINTR) {
        return lose("has ended");
      }
    }
  }
  return true;
}

bool RunnerProcess::receive(void* data, size_t bytes) {
  if (is_broken_) return false;
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = ::recv(socket_, static_cast<char*>(data) + done, bytes - done, 0);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(POLLIN)) return false;
    } else if (count == 0 || errno != EINTR) {
      return lose("has ended");
    }
  }
  return true;
}

bool RunnerProcess::receive(uint32_t& bytes) {
  uint32_t head[2];
  if (!receive(head, sizeof(head))) return false;
  bytes = head[1];
  if (head[0] == 0) return true;
  std::string text(std::min<uint32_t>(bytes, 10000), ' ');
  if (receive(text.data(), text.size())) failure_ = text;
  return false;
}

}  // namespace tandem
