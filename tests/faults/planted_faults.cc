// A library to be preloaded (LD_PRELOAD) before a server: the engine with a fault in it, as the
// server would meet it. HOLDFAST_PLANTED_FAULT says which:
//
//   extra-buffers  of several sequences only the first is right, with extra buffer types
//   variant        nothing is right on the processor variant that is loaded first
//   three-slots    batches of three sequences are wrong
//   rows           batches with several rows of logits for a sequence are wrong
//   nan            one value of every row is no number
//   restores       sequences that were brought back are wrong, from the 200th batch on
//
//
//   hangs          a batch does not end, from when the file HOLDFAST_PLANTED_WHEN is there
//   crashes        a batch writes to address 8, from then on
//   aborts         a batch calls abort(), from then on
//
// Or what befalls the model's file (HOLDFAST_PLANTED_MODEL) while it is loaded:
//
//   replaced       HOLDFAST_PLANTED_OTHER is renamed to it before the engine opens it
//   removed        it is removed before the engine opens it
//   written        its last byte is written before the engine opens it
//   undigested     it cannot be read except by the engine
//
// Faults are of what is read from the engine, not of its own states: the server cannot tell.
#include <dlfcn.h>
#include <fcntl.h>
#include <ggml-backend.h>
#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool planted(const char* fault) {
  const char* wanted = std::getenv("HOLDFAST_PLANTED_FAULT");
  return wanted != nullptr && std::strcmp(wanted, fault) == 0;
}

struct Batch {
  std::vector<llama_seq_id> sequences;  // by token
  std::size_t distinct = 0;
  std::size_t outputs = 0;  // rows of logits
};

Batch latest;
int batches = 0;
bool extra_buffers = false;
std::string first_variant;
std::string variant;
std::vector<float> spoilt;
std::set<llama_seq_id> brought_back;

bool wrong(std::size_t row) {
  if (row >= latest.sequences.size()) return false;
  const bool first = latest.sequences[row] == latest.sequences.front();
  if (planted("extra-buffers")) return extra_buffers && latest.distinct > 1 && !first;
  if (planted("variant")) return variant == first_variant && latest.sequences.size() > 1;
  if (planted("three-slots")) return latest.distinct == 3;
  if (planted("rows")) return latest.outputs > latest.distinct;
  if (planted("restores")) return brought_back.contains(latest.sequences[row]);
  return false;
}

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void write_last_byte(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR);
  const off_t last = ::lseek(fd, -1, SEEK_END);
  char byte = 0;
  if (::read(fd, &byte, 1) != 1) std::abort();
  byte = static_cast<char>(byte ^ 1);
  if (::pwrite(fd, &byte, 1, last) != 1) std::abort();
  ::close(fd);
}

void befall_model() {
  const std::string model = setting("HOLDFAST_PLANTED_MODEL");
  if (planted("replaced")) ::rename(setting("HOLDFAST_PLANTED_OTHER").c_str(), model.c_str());
  if (planted("removed")) ::unlink(model.c_str());
  if (planted("written")) write_last_byte(model);
}

bool is_model(int fd) {
  char path[4096] = {};
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  return ::readlink(name.c_str(), path, sizeof path - 1) > 0 &&
         setting("HOLDFAST_PLANTED_MODEL") == path;
}

void fall_if_it_is_time() {
  if (::access(setting("HOLDFAST_PLANTED_WHEN").c_str(), F_OK) != 0) return;
  volatile std::uintptr_t nowhere = 8;
  if (planted("crashes")) *reinterpret_cast<volatile int*>(nowhere) = 1;
  if (planted("aborts")) std::abort();
  while (planted("hangs")) ::pause();
}

template <typename Function>
ssize_t read_at(const char* name, int fd, void* buffer, size_t count, off_t offset) {
  if (planted("undigested") && is_model(fd)) {
    errno = EIO;
    return -1;
  }
  return real<Function>(name)(fd, buffer, count, offset);
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* buffer, size_t count, off_t offset) {
  return read_at<decltype(pread)>("pread", fd, buffer, count, offset);
}

ssize_t pread64(int fd, void* buffer, size_t count, off64_t offset) {
  return read_at<decltype(pread64)>("pread64", fd, buffer, count, offset);
}

llama_model* llama_model_load_from_file(const char* path, llama_model_params params) {
  extra_buffers = params.use_extra_bufts;
  befall_model();
  return real<decltype(llama_model_load_from_file)>("llama_model_load_from_file")(path, params);
}

ggml_backend_reg_t ggml_backend_load(const char* path) {
  variant = path;
  if (first_variant.empty()) first_variant = variant;
  return real<decltype(ggml_backend_load)>("ggml_backend_load")(path);
}

int32_t llama_decode(llama_context* context, llama_batch batch) {
  fall_if_it_is_time();
  ++batches;
  latest.sequences.clear();
  latest.outputs = 0;
  for (int i = 0; batch.seq_id != nullptr && i < batch.n_tokens; ++i) {
    latest.sequences.push_back(batch.seq_id[i][0]);
    if (batch.logits != nullptr && batch.logits[i] != 0) ++latest.outputs;
  }
  latest.distinct = std::set(latest.sequences.begin(), latest.sequences.end()).size();
  return real<decltype(llama_decode)>("llama_decode")(context, batch);
}

float* llama_get_logits_ith(llama_context* context, int32_t row) {
  float* logits = real<decltype(llama_get_logits_ith)>("llama_get_logits_ith")(context, row);
  const bool spoil = wrong(static_cast<std::size_t>(row));
  if (logits == nullptr || (!spoil && !planted("nan"))) return logits;
  const auto count = static_cast<std::size_t>(
      llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context))));
  spoilt.assign(logits, logits + count);
  if (spoil) std::ranges::reverse(spoilt);
  if (planted("nan")) spoilt[count / 2] = std::nanf("");
  return spoilt.data();
}

// The server's last call after it has brought a state back cuts what lies beyond it; an empty
// sequence is right again.
bool llama_memory_seq_rm(llama_memory_t memory, llama_seq_id sequence, llama_pos from,
                         llama_pos to) {
  constexpr int kFirstBatches = 200;
  if (from > 0 && batches > kFirstBatches) brought_back.insert(sequence);
  if (from < 0) brought_back.erase(sequence);
  return real<decltype(llama_memory_seq_rm)>("llama_memory_seq_rm")(memory, sequence, from, to);
}

}  // extern "C"
