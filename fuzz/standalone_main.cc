// Runs a libFuzzer harness without libFuzzer, so that ctest can do it with any
// compiler: every input of a corpus as it is, then N mutations of each.
//
//   fuzz_x [--mutations=N] [--seed=S] CORPUS_DIRECTORY_OR_FILE...
//
// Mutation k of an input depends on the seed, the input's file name and k only,
// so what is printed on a failure is enough to see it again. The failing input
// is also written to ./fuzz_failure.bin.
//
// Exit: 0 nothing found, 1 the harness crashed, 2 wrong arguments or no inputs.
// A crash is an ordinary exit, because ctest's WILL_FAIL does not accept signals.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Present when built with a sanitizer, which ends the process without a signal.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

constexpr std::size_t kInputBytesMax = 1 << 20;

struct Input {
  std::string name;
  std::string bytes;
};

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t mutations = 1000;
  std::vector<std::string> paths;
};

// SplitMix64: small, and the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  // In [0, end); 0 when end is 0.
  std::size_t below(std::size_t end) { return end == 0 ? 0 : next() % end; }

 private:
  std::uint64_t state_;
};

// --- Mutations --------------------------------------------------------------

constexpr std::string_view kWords[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "2",
    "0.5",
    "1e308",
    "1e-9",
    "2147483648",
    "-9223372036854775808",
    "18446744073709551616",
    "\"\"",
    "\"a\"",
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "[0]",
    "{\"a\":0}",
    "[null]",
    "\"\\u0000\"",
    "\"\\ud83d\\ude00\"",
    "\"auto\"",
    "\"text\"",
    "\"function\"",
    "\"assistant\"",
    "\"tool\"",
};
constexpr std::string_view kScraps[] = {"{",  "}",   "[",    "]",        ",",        ":",     "\"",
                                        "\\", "\\u", "\xFF", "\xE2\x82", "[[[[[[[[", "{\"\":"};

void flip_bit(std::string& text, Random& random) {
  if (!text.empty()) text[random.below(text.size())] ^= static_cast<char>(1U << random.below(8));
}

void set_byte(std::string& text, Random& random) {
  if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.below(256));
}

void insert_scrap(std::string& text, Random& random) {
  text.insert(random.below(text.size() + 1), kScraps[random.below(std::size(kScraps))]);
}

void erase_range(std::string& text, Random& random) {
  const std::size_t at = random.below(text.size());
  text.erase(at, 1 + random.below(16));
}

void repeat_range(std::string& text, Random& random) {
  const std::size_t at = random.below(text.size());
  const std::string piece = text.substr(at, 1 + random.below(32));
  for (std::size_t n = random.below(64); n-- > 0;) text.insert(at, piece);
}

// Replaces the value after one of the colons; the text often stays JSON.
void replace_value(std::string& text, Random& random) {
  const std::size_t colon = text.find(':', random.below(text.size()));
  if (colon == std::string::npos) return;
  const std::size_t end = std::min(text.find_first_of(",}]", colon), text.size());
  text.replace(colon + 1, end - colon - 1, kWords[random.below(std::size(kWords))]);
}

void splice(std::string& text, const std::vector<Input>& inputs, Random& random) {
  const std::string& other = inputs[random.below(inputs.size())].bytes;
  text.resize(random.below(text.size() + 1));
  text += other.substr(random.below(other.size() + 1));
}

void mutate_once(std::string& text, const std::vector<Input>& inputs, Random& random) {
  switch (random.below(10)) {
    case 0: return flip_bit(text, random);
    case 1: return set_byte(text, random);
    case 2: return insert_scrap(text, random);
    case 3: return erase_range(text, random);
    case 4: return repeat_range(text, random);
    case 5: return splice(text, inputs, random);
    default: return replace_value(text, random);
  }
}

std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

std::string mutate(const Input& input, const std::vector<Input>& inputs, std::uint64_t seed) {
  Random random(seed ^ name_hash(input.name));
  std::string text = input.bytes;
  for (std::size_t n = 1 + random.below(4); n-- > 0;) mutate_once(text, inputs, random);
  text.resize(std::min(text.size(), kInputBytesMax));
  return text;
}

// --- Telling about a crash ---------------------------------------------------

// What is running now. Read by the signal handler, so plain memory only.
const char* g_input = nullptr;
std::size_t g_input_size = 0;
char g_title[512] = "";

void write_all(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, data, size);
    if (written <= 0) return;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

void report_failure() {
  write_all(STDERR_FILENO, g_title, std::strlen(g_title));
  const int file = open("fuzz_failure.bin", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) return;
  write_all(file, g_input, g_input_size);
  close(file);
}

void on_signal(int) {
  report_failure();
  _exit(1);
}

// An own stack: a stack overflow is one of the crashes to report.
void install_handlers() {
  static std::array<char, 64 * 1024> handler_stack;
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
    sigaction(number, &action, nullptr);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(report_failure);
}

void run_one(const std::string& bytes, const std::string& title) {
  // A copy of exactly this size lets a sanitizer see reads past the end.
  const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
  g_input = bytes.data();
  g_input_size = bytes.size();
  std::snprintf(g_title, sizeof g_title, "\nFUZZ FAILURE in %s\n", title.c_str());
  LLVMFuzzerTestOneInput(data.data(), data.size());
}

// --- Arguments and corpus ----------------------------------------------------

Arguments parse_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text.starts_with("--mutations="))
      arguments.mutations = std::strtoull(text.c_str() + 12, nullptr, 10);
    else if (text.starts_with("--seed="))
      arguments.seed = std::strtoull(text.c_str() + 7, nullptr, 10);
    else
      arguments.paths.push_back(text);
  }
  return arguments;
}

Input load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {path.filename().string(), std::string(std::istreambuf_iterator<char>(file), {})};
}

// In order of name: directory order differs between machines.
std::vector<Input> load_all(const std::vector<std::string>& paths) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    if (std::filesystem::is_regular_file(path)) inputs.push_back(load(path));
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) inputs.push_back(load(entry.path()));
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const Input& a, const Input& b) { return a.name < b.name; });
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv);
  const std::vector<Input> inputs = load_all(arguments.paths);
  if (inputs.empty()) {
    std::fprintf(stderr, "usage: %s [--mutations=N] [--seed=S] CORPUS...\n", argv[0]);
    return 2;
  }
  std::printf("seed %llu: %zu inputs, %llu mutations of each\n",
              static_cast<unsigned long long>(arguments.seed), inputs.size(),
              static_cast<unsigned long long>(arguments.mutations));
  std::fflush(stdout);
  install_handlers();
  for (const Input& input : inputs) run_one(input.bytes, input.name);
  for (const Input& input : inputs)
    for (std::uint64_t k = 0; k < arguments.mutations; ++k)
      run_one(mutate(input, inputs, arguments.seed * 1'000'003 + k),
              input.name + ", mutation " + std::to_string(k) + ", seed " +
                  std::to_string(arguments.seed));
  std::printf("nothing found\n");
  return 0;
}
