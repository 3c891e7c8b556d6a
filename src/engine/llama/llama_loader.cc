// Loading: the library's start, the file's checks, and how much context fits.
#include <build-info.h>
#include <ggml-backend.h>
#include <llama.h>
#include <log.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/free_memory.h"
#include "base/mutex.h"
#include "engine/llama/llama_backends.h"
#include "engine/llama/llama_companions.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_embedder.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/llama_text.h"
#include "engine/llama/tensor_places.h"
#include "engine/no_generation.h"

namespace holdfast::llama {

namespace {

// --- the library's log -----------------------------------------------------

Mutex log_mutex;
std::function<void(int, const std::string&)> log_sink;  // guarded by log_mutex
std::string last_error_line;                            // guarded by log_mutex
std::string first_complaint;  // of the latest few error lines in a row; guarded by log_mutex

int level_of(ggml_log_level level) {
  switch (level) {
    case GGML_LOG_LEVEL_ERROR: return 3;
    case GGML_LOG_LEVEL_WARN: return 2;
    case GGML_LOG_LEVEL_INFO: return 1;
    default: return 0;
  }
}

void take_log_line(ggml_log_level level, const char* text, void*) {
  std::string line(text);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  if (line.empty() || line == ".") return;
  const MutexLock lock(log_mutex);
  if (level == GGML_LOG_LEVEL_ERROR && last_error_line.empty()) last_error_line = line;
  if (level != GGML_LOG_LEVEL_ERROR) {
    first_complaint.clear();
  } else if (first_complaint.empty()) {
    first_complaint = line;
  }
  if (log_sink) log_sink(level_of(level), line);
}

std::string take_last_error_line() {
  const MutexLock lock(log_mutex);
  return std::exchange(last_error_line, {});
}

// The library ends the process when it cannot go on, for example after an error of a card. The
// process cannot be saved, but people get the reason and a way out instead of a backtrace.
void tell_abort(const char* message) {
  std::string complaint;
  if (log_mutex.try_lock()) {
    complaint = first_complaint;
    log_mutex.unlock();
  }
  std::fprintf(
      stderr,
      "holdfast: the engine gave up and ends the server: %s%s%s\n"
      "On a GPU: is its driver as new as this build of the engine? ENGINE=source builds one for"
      " this machine, and -ngl 0 uses the processor alone. Where it is not that, please report"
      " it with the output of `holdfast doctor -ngl 0`.\n",
      complaint.c_str(), complaint.empty() ? "" : " at ", message);
}

// --- start-up --------------------------------------------------------------

// A restore allocates 44 bytes a token for a moment: the library's batch of all cells, in vectors
// of up to 16 bytes a token. If that memory went back to the system each time, a restore of 250,000
// tokens would cost 3,000 page faults. Both thresholds are set, because setting one of them stops
// the allocator from adapting the other. Snapshots above 16 MiB still go back to the system.
void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 16 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

void start_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    keep_freed_memory();
    llama_log_set(take_log_line, nullptr);
    ggml_set_abort_callback(tell_abort);
    common_log_pause(common_log_main());  // its lines would bypass our log
    llama_backend_init();
  });
}

// --- the file --------------------------------------------------------------

// What the engine opens: the files that are open already, or the path.
std::vector<std::string> names_of(const LlamaConfig& config) {
  if (config.model_names.empty()) return {config.model_path};
  return config.model_names;
}

Result<void> check_file(const LlamaConfig& config) {
  const auto refuse = [&](const std::string& why) -> Result<void> {
    return Error{ErrorCode::kInvalidArgument, "Cannot load " + config.model_path + ": " + why,
                 "--model"};
  };
  const std::string path = names_of(config).front();
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found)
    return refuse("there is no such file.");
  if (status.type() == std::filesystem::file_type::directory) {
    return refuse("it is a folder; name the .gguf file in it.");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(std::strerror(errno));
  std::array<char, 4> magic{};
  file.read(magic.data(), magic.size());
  if (file.gcount() < 4 || std::memcmp(magic.data(), "GGUF", 4) != 0) {
    return refuse("it is not a GGUF file (other formats must be converted first).");
  }
  return {};
}

// The library's complaint without the names of its functions in front.
std::string plain_words(std::string reason) {
  for (;;) {
    const std::size_t colon = reason.find(": ");
    const bool is_name =
        colon != std::string::npos &&
        (reason.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == colon ||
         reason.starts_with("error loading model: "));
    if (!is_name) return reason;
    reason.erase(0, colon + 2);
  }
}

// The library's complaint with the path that people know.
std::string with_known_path(std::string reason, const LlamaConfig& config) {
  for (const std::string& name : config.model_names) {
    const std::size_t at = reason.find(name);
    if (at != std::string::npos) reason.replace(at, name.size(), config.model_path);
  }
  return reason;
}

llama_model* open_model(const LlamaConfig& config, const llama_model_params& params) {
  const std::vector<std::string> names = names_of(config);
  if (names.size() == 1) return llama_model_load_from_file(names.front().c_str(), params);
  std::vector<const char*> paths;
  for (const std::string& name : names) paths.push_back(name.c_str());
  return llama_model_load_from_splits(paths.data(), paths.size(), params);
}

bool report_progress(float share, void* progress) {
  const auto& callback = *static_cast<const LoadProgress*>(progress);
  return !callback || callback(share);
}

llama_load_mode load_mode_from(const LlamaConfig& config) {
  if (config.use_mlock) {
    return config.use_mmap ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MLOCK;
  }
  return config.use_mmap ? LLAMA_LOAD_MODE_AUTO : LLAMA_LOAD_MODE_NONE;
}

Result<llama_split_mode> split_mode_from(const std::string& name) {
  if (name == "none") return LLAMA_SPLIT_MODE_NONE;
  if (name == "layer") return LLAMA_SPLIT_MODE_LAYER;
  if (name == "row") return LLAMA_SPLIT_MODE_ROW;
  if (name == "tensor") return LLAMA_SPLIT_MODE_TENSOR;
  return invalid_argument("--split-mode", "--split-mode is one of none, layer, row, tensor.");
}

Result<std::vector<ggml_backend_dev_t>> find_devices(const std::vector<std::string>& names) {
  std::vector<ggml_backend_dev_t> devices;
  for (const std::string& name : names) {
    ggml_backend_dev_t device = ggml_backend_dev_by_name(name.c_str());
    if (device == nullptr)
      return invalid_argument("--device", "There is no device '" + name + "'.");
    devices.push_back(device);
  }
  if (!devices.empty()) devices.push_back(nullptr);  // the library's end mark
  return devices;
}

}  // namespace

Result<std::shared_ptr<llama_model>> load_llama_file(const LlamaConfig& config,
                                                     const LoadProgress& progress) {
  if (auto file = check_file(config); !file) return file.error();
  auto split = split_mode_from(config.split_mode);
  if (!split) return split.error();
  auto devices = find_devices(config.devices);
  if (!devices) return devices.error();

  const auto places = TensorPlaces::of(config);
  if (!places) return places.error();

  llama_model_params params = llama_model_default_params();
  params.tensor_buft_overrides = places->overrides();
  params.kv_overrides = places->metadata();
  params.n_gpu_layers = config.gpu_layers;
  params.split_mode = *split;
  params.main_gpu = config.main_gpu;
  std::vector<float> shares = config.tensor_split;
  shares.resize(llama_max_devices(), 0.0F);
  if (!config.tensor_split.empty()) params.tensor_split = shares.data();
  if (!devices->empty()) params.devices = devices->data();
  params.load_mode = load_mode_from(config);
  params.use_extra_bufts = config.extra_buffers;
  params.load_mtp = config.mtp || config.draft_source == DraftSource::kMtp ||
                    (config.draft_source == DraftSource::kAuto && config.draft_model_path.empty());
  params.progress_callback = report_progress;
  params.progress_callback_user_data = const_cast<LoadProgress*>(&progress);

  take_last_error_line();
  std::string reason;
  llama_model* model = nullptr;
  try {
    model = open_model(config, params);
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  if (model == nullptr) {
    if (reason.empty()) reason = take_last_error_line();
    return Error{ErrorCode::kInvalidArgument,
                 "Cannot load " + config.model_path + ": the engine refuses it" +
                     (reason.empty() ? "."
                                     : " (" + plain_words(with_known_path(reason, config)) +
                                           "). Is it whole?"),
                 "--model"};
  }
  return std::shared_ptr<llama_model>(model, LlamaModelFree{});
}

namespace {

// --- how much context ------------------------------------------------------

ByteCount free_memory_bytes() {
  ByteCount device_bytes = 0;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    if (ggml_backend_dev_type(device) != GGML_BACKEND_DEVICE_TYPE_GPU) continue;
    std::size_t free = 0;
    std::size_t total = 0;
    ggml_backend_dev_memory(device, &free, &total);
    device_bytes += free;
  }
  if (device_bytes > 0) return device_bytes;
  return free_memory().value_or(4ULL << 30);
}

bool has_gpu() {
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    const auto type = ggml_backend_dev_type(ggml_backend_dev_get(i));
    if (type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU) return true;
  }
  return false;
}

// The model's own context, or as much of it as the slots can hold in half of
// the free memory; in steps of 1024 and never below 2048 tokens.
TokenPos context_that_fits(const llama_model* model, const StateShape& shape, int slots) {
  const TokenPos wanted = std::max(2048, llama_model_n_ctx_train(model));
  const ByteCount per_token = shape.bytes_per_token() * static_cast<ByteCount>(slots);
  if (per_token == 0) return wanted;
  const ByteCount affordable = free_memory_bytes() / 2 / per_token;
  if (affordable >= static_cast<ByteCount>(wanted)) return wanted;
  return std::max<TokenPos>(2048, static_cast<TokenPos>(affordable / 1024 * 1024));
}

// The first computation touches every weight and sizes every buffer. Doing that now spares the
// first request from waiting for it.
Result<void> warm_up(engine::Engine& engine) {
  const SlotId slot{0};
  const Tokens tokens{0, 1};
  if (auto run = engine.prefill(slot, tokens, engine::LogitsOf::kLastToken); !run) return run;
  engine.clear(slot);
  return {};
}

Result<std::shared_ptr<const LlamaText>> text_of(const std::shared_ptr<llama_model>& model,
                                                 const LlamaConfig& config) {
  return LlamaText::create(model, config.model_path, config.chat_template,
                           {{config.grammar_limit}, {config.grammar_limit}});
}

Result<LoadedModel> load_embedder(const std::shared_ptr<llama_model>& model,
                                  const LlamaConfig& config) {
  auto text = text_of(model, config);
  if (!text) return text.error();
  auto embedder = LlamaEmbedder::create(model, config);
  if (!embedder) return embedder.error();
  LoadedModel loaded;
  loaded.text = std::move(*text);
  loaded.engine = std::make_unique<engine::NoGeneration>((*embedder)->text_tokens_max());
  loaded.embedder = std::move(*embedder);
  loaded.on_gpu = config.gpu_layers != 0 && has_gpu();
  return loaded;
}

}  // namespace

void set_llama_log(std::function<void(int, const std::string&)> sink) {
  {
    const MutexLock lock(log_mutex);
    log_sink = std::move(sink);
  }
  start_library();
}

std::string llama_build_name() { return llama_build_info(); }

std::string llama_library_version() { return std::string("llama.cpp ") + llama_version(); }

std::string llama_library_info() {
  start_library();
  (void)use_cpu_variant("");
  return llama_library_version() + " (" + llama_print_system_info() + ")";
}

Result<LoadedModel> load_llama_model(const LlamaConfig& config, const LoadProgress& progress) {
  start_library();
  if (auto chosen = use_cpu_variant(config.cpu_variant); !chosen) return chosen.error();
  auto model = load_llama_file(config, progress);
  if (!model) return model.error();
  if (config.embedding) return load_embedder(*model, config);
  auto shape = LlamaEngine::measure_shape(model->get(), config);
  if (!shape) return shape.error();
  LlamaConfig sized = config;
  if (sized.context_tokens <= 0) {
    sized.context_tokens = context_that_fits(model->get(), *shape, config.slots);
  }
  auto text = text_of(*model, config);
  if (!text) return text.error();
  const auto source = companion_for(config, model->get());
  if (!source) return source.error();
  sized = with_companion(sized, *source, *shape, free_memory_bytes());
  auto engine = LlamaEngine::create(*model, sized, std::move(*shape));
  if (!engine) return engine.error();
  if (config.warm_up) {
    if (auto warm = warm_up(**engine); !warm) return warm.error();
  }
  LoadedModel loaded;
  loaded.text = std::move(*text);
  loaded.on_gpu = config.gpu_layers != 0 && has_gpu();
  if (auto added = add_companion(loaded, *source, *model, **engine, sized); !added) {
    return added.error();
  }
  loaded.engine = std::move(*engine);
  return loaded;
}

}  // namespace holdfast::llama
