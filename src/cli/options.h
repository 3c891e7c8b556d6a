// The options of `holdfast serve`.
//
// One table (option_groups.h) lists every option once: its names, its value, its
// help and the kind that validates it. The command line, the environment, the
// config file and --help all follow from that table.
//
// Precedence, option by option:
//   command line > HOLDFAST_<NAME> > llama-server's LLAMA_ARG_* > config file > default
// An option that may be repeated (--api-key) takes all its values from the
// highest of these that names it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/key_file.h"
#include "base/result.h"
#include "cli/nearest_name.h"  // these two come along, for all commands
#include "cli/text_wrap.h"
#include "engine/embedder.h"
#include "engine/sampling.h"
#include "engine/vector_norm.h"
#include "env/log.h"
#include "state/drafts.h"
#include "state/exactness.h"
#include "state/tokens.h"

namespace holdfast::cli {

// What the program returns when its command line is at fault.
inline constexpr int kExitUsage = 2;

inline constexpr int kGpuLayersAuto = -1;
inline constexpr int kGpuLayersAll = -2;

// --cache-ram in MiB; these two are no sizes.
inline constexpr std::int64_t kCacheRamAuto = -2;  // a quarter of what is free
inline constexpr std::int64_t kCacheRamUnlimited = -1;

// --cache-disk in MiB.
inline constexpr std::int64_t kCacheDiskAuto = -1;  // a tenth of what is free

// --cache-vram in MiB.
inline constexpr std::int64_t kCacheVramAuto = -1;  // a tenth of what is free, 1024 at most

enum class OnOffAuto { kAuto, kOn, kOff };

// When every kind of batch is compared with the plain way (engine/conformance.h).
enum class CheckEngine { kOnce, kAlways, kOff };

// Texts and numbers that only the engine understands are checked for their form
// and passed through. Empty or zero means "as the model says" where so marked.

struct ModelOptions {
  std::string path;                  // empty: the pocket model
  std::vector<std::string> aliases;  // names in the API; empty: from the model
  std::vector<std::string> tags;     // shown in the API, and no more
  bool mmap = true;
  bool mlock = false;
  bool warmup = true;
};

struct ContextOptions {
  TokenPos size = 0;  // of each slot; 0: the model's own, less where memory is short
  int parallel = 4;   // slots
  TokenPos batch_size = 2048;
  TokenPos ubatch_size = 512;  // never more than batch_size
  std::string cache_type_k = "f16";
  std::string cache_type_v = "f16";
  bool swa_full = false;
  Exactness exact = Exactness::kOff;
  int latency_target_ms = 250;  // 0: none
};

// What is kept of what was read.
struct ReuseOptions {
  std::int64_t ram_mib = kCacheRamAuto;
  std::int64_t vram_mib = kCacheVramAuto;
  int slot_snapshots = 8;
  std::string dir;  // empty: the user's own; "off": none
  std::int64_t disk_mib = kCacheDiskAuto;
  int rest_ms = 2000;
  std::string slot_save_path;  // a folder; empty: slots are not saved
  std::int64_t slot_save_mib = kCacheDiskAuto;
  TokenPos grid_step = 0;         // a multiple of 64, at most ubatch_size; 0: the device decides
  TokenPos checkpoint_every = 0;  // 0: as memory allows
  bool checkpoints = true;
  bool token_history = true;
  float prove = 0.0F;  // share of restores that are computed again while idle
  OnOffAuto prewarm = OnOffAuto::kAuto;
};

struct DraftOptions {
  DraftSource source = DraftSource::kAuto;
  std::string model;  // a GGUF file
  TokenPos max = 0;   // 0: 3, or 8 for n-grams
  TokenPos min = 0;
  float p_min = 0.0F;
  bool adaptive = true;
  int gpu_layers = kGpuLayersAuto;
  std::vector<float> synthetic;  // benchmarks: acceptance by place
};

// Processor and GPU.
struct ComputeOptions {
  std::string cpu_variant;  // empty: the best that is trusted
  bool repack = true;       // weights may be repacked for special kernels
  CheckEngine check_engine = CheckEngine::kOnce;
  int threads = -1;        // -1: as many as there are CPUs for us
  int threads_batch = -1;  // -1: as `threads`
  int poll = -1;           // -1: 50, or 0 where there are fewer CPUs for us than in the machine
  int gpu_layers = kGpuLayersAuto;
  OnOffAuto flash_attn = OnOffAuto::kAuto;
  std::string device;  // comma list; empty: all
  std::string split_mode = "layer";
  int main_gpu = 0;
  std::vector<float> tensor_split;
  std::vector<std::string> tensor_places;  // "PATTERN=BUFFER"
  bool cpu_experts = false;                // all of them on the processor
  int cpu_expert_layers = 0;               // or those of the first layers
  std::vector<std::string> metadata_overrides;
};

// Position encoding.
struct RopeOptions {
  std::string scaling;            // empty: from the model
  float freq_base = 0.0F;         // 0: from the model
  float freq_scale = 0.0F;        // 0: from the model
  TokenPos yarn_orig_ctx = 0;     // 0: from the model
  float yarn_ext_factor = -1.0F;  // these four, negative: from the model
  float yarn_attn_factor = -1.0F;
  float yarn_beta_fast = -1.0F;
  float yarn_beta_slow = -1.0F;
};

struct ServerOptions {
  std::vector<std::string> hosts = {"127.0.0.1"};  // HttpServerOptions::hosts
  std::uint16_t port = 8080;                       // 0: any free one
  std::vector<std::string> api_keys;
  std::string api_key_file;
  std::vector<api::ApiKey> file_keys;  // what api_key_file holds
  std::string ssl_cert_file;           // both or neither
  std::string ssl_key_file;
  std::vector<std::string> allowed_hosts;  // further names of the server; "*": any
  std::vector<std::string> cors_origins;   // none: pages of other origins are refused
  bool ui = true;                          // the page at GET /
  bool slots = true;                       // GET /slots
  bool props = false;                      // POST /props
  int ping_s = 5;                          // a silent stream's signs of life; -1: none
  std::string api_prefix;                  // HttpServerOptions::path_prefix
  int timeout_s = 3600;                    // of one request, queue included; 0: none
  int queue_max = 256;
  int body_limit_mb = 64;
  int bodies_limit_mb = 256;  // of all requests together
  int connections_max = 4096;
  int stop_timeout_s = 120;  // for what is under way when the server is told to stop
  int grammar_limit = 1;     // engine::GrammarLimits::factor
  std::string config_path;   // the config file, which has been read

  [[nodiscard]] bool asks_for_keys() const { return !api_keys.empty() || !file_keys.empty(); }
};

// A server that gives vectors instead of text.
struct EmbeddingOptions {
  bool on = false;
  bool rank = false;
  std::optional<engine::Pooling> pooling;  // nullopt: the model's own
  int norm = engine::kEuclid;              // engine/vector_norm.h

  [[nodiscard]] bool asked() const { return on || rank; }
};

// What a chat gets when its request does not say otherwise.
struct ChatServingOptions {
  std::string chat_template;  // that of chat_template_file included; empty: the model's
  std::string chat_template_file;
  std::map<std::string, std::string> template_kwargs;  // name -> JSON text
  std::string reasoning_format = "auto";
  OnOffAuto reasoning = OnOffAuto::kAuto;  // enable_thinking where a request is silent
  TokenPos predict = -1;                   // -1: as many as the context holds
  bool prefill_assistant = true;           // a final assistant message is continued
  bool keep_attribution = false;           // Claude Code's line before its system prompt
};

struct LogOptions {
  env::LogLevel level = env::LogLevel::kInfo;
  env::LogFormat format = env::LogFormat::kText;
  std::string file;
  std::string record;  // a file to be made; empty: nothing is recorded
  bool record_private = false;
};

struct ServeOptions {
  ModelOptions model;
  ContextOptions context;
  ReuseOptions reuse;
  DraftOptions drafts;
  ComputeOptions compute;
  RopeOptions rope;
  ServerOptions server;
  EmbeddingOptions embedding;
  ChatServingOptions chat;
  engine::SamplingParams sampling;  // where a request does not say
  LogOptions log;
  bool show_help = false;  // these two: instead of serving
  bool show_version = false;
};

struct Parsed {
  ServeOptions options;
  // One sentence each, for the log: options without effect, likely mistakes.
  std::vector<std::string> notes;
};

using Environment = std::map<std::string, std::string>;
[[nodiscard]] Environment environment_of(const char* const* envp);

// Reads a whole file; an Error names it. Tests put another in its place.
using FileReader = std::function<Result<std::string>(const std::string& path)>;
[[nodiscard]] Result<std::string> read_file(const std::string& path);

// `args` are those after `holdfast serve`. An Error is one whole sentence, its
// full stop or question mark included, fit to be shown as it is before leaving
// with kExitUsage. --help and --version win over any mistake elsewhere on the line.
[[nodiscard]] Result<Parsed> parse_serve_options(std::span<const std::string> args,
                                                 const Environment& env,
                                                 const FileReader& files = read_file);

// `holdfast serve --help`, wrapped to `width` columns.
[[nodiscard]] std::string serve_help(int width = 80);

}  // namespace holdfast::cli
