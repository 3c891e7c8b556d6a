#include "engine/llama/llama_backends.h"
#include "base/mutex.h"

#include <dlfcn.h>
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

namespace holdfast::llama {

namespace {

struct Distrusted {
  std::string_view variant;
  std::string_view why;
};

// Variants that are known to compute wrongly in v0.5.0. The check at the start
// (engine/conformance.h) finds such faults too; variants in this table are not even loaded.
constexpr std::array<Distrusted, 1> kDistrusted = {
    {{"sapphirerapids",
      "its AMX kernels compute only the first of several sequences: ggml-cpu/amx/amx.cpp accepts "
      "products whose second operand has three dimensions, and multiplies the first matrix "
      "alone"}}};

// In the library's own order. Those that have a file in the folder are loaded.
constexpr std::array<std::string_view, 13> kDeviceBackends = {
    "blas", "zendnn", "cann",    "cuda",   "hip",  "metal",   "rpc",
    "sycl", "vulkan", "virtgpu", "opencl", "musa", "openvino"};

constexpr std::string_view kFilePrefix = "libggml-";
constexpr std::string_view kCpuPrefix = "libggml-cpu-";
constexpr std::string_view kFileSuffix = ".so";

Mutex mutex;
std::string in_use;           // guarded by mutex
bool devices_loaded = false;  // guarded by mutex

std::string_view reason_to_distrust(std::string_view variant) {
  for (const Distrusted& known : kDistrusted) {
    if (known.variant == variant) return known.why;
  }
  return {};
}

int score_of(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  auto* ask = reinterpret_cast<int (*)()>(::dlsym(library, "ggml_backend_score"));
  const int score = ask == nullptr ? 1 : ask();
  ::dlclose(library);
  return score;
}

// The registry closes the library of a variant that it unloads, although threads may still run its
// code. Opening the library once more keeps the code in memory.
void keep_open(const std::string& path) { (void)::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

// The registry's processor backend; null: none is loaded.
ggml_backend_reg_t cpu_registry() {
  ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  return cpu == nullptr ? nullptr : ggml_backend_dev_backend_reg(cpu);
}

void load_device_backends(const std::string& folder) {
  for (const std::string_view name : kDeviceBackends) {
    const std::filesystem::path path =
        std::filesystem::path(folder) /
        (std::string(kFilePrefix) + std::string(name) + std::string(kFileSuffix));
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) ggml_backend_load(path.c_str());
  }
}

std::string names_of(const std::vector<CpuVariant>& variants) {
  std::string names;
  for (const CpuVariant& variant : variants) {
    if (variant.runs()) names += (names.empty() ? "" : ", ") + variant.name;
  }
  return names;
}

Result<CpuVariant> find_variant(const std::string& name) {
  const std::vector<CpuVariant> variants = cpu_variants();
  if (name.empty()) return variants.front();
  const auto found = std::ranges::find(variants, name, &CpuVariant::name);
  if (found != variants.end() && found->runs()) return *found;
  const std::string here = " Those that run here: " + names_of(variants) + ".";
  return invalid_argument("--cpu-variant",
                          found == variants.end()
                              ? "There is no CPU variant '" + name + "' in this engine." + here
                              : "This processor cannot run the CPU variant " + name + "." + here);
}

const char* kind_name(ggml_backend_dev_t device) {
  switch (ggml_backend_dev_type(device)) {
    case GGML_BACKEND_DEVICE_TYPE_CPU: return "cpu";
    case GGML_BACKEND_DEVICE_TYPE_GPU: return "gpu";
    case GGML_BACKEND_DEVICE_TYPE_IGPU: return "igpu";
    default: return "accelerator";
  }
}

}  // namespace

std::string engine_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&llama_backend_init), &info) == 0) return ".";
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored).parent_path().string();
}

namespace {

std::vector<CpuVariant> find_variants() {
  std::vector<CpuVariant> variants;
  std::error_code ended;
  for (std::filesystem::directory_iterator at(engine_folder(), ended), end; !ended && at != end;
       at.increment(ended)) {
    const std::string file = at->path().filename().string();
    if (!file.starts_with(kCpuPrefix) || !file.ends_with(kFileSuffix)) continue;
    CpuVariant variant;
    variant.name =
        file.substr(kCpuPrefix.size(), file.size() - kCpuPrefix.size() - kFileSuffix.size());
    variant.path = at->path().string();
    variant.score = score_of(variant.path);
    variant.distrust = reason_to_distrust(variant.name);
    variants.push_back(std::move(variant));
  }
  if (variants.empty()) variants.push_back({std::string(kBuiltInVariant), "", 1, ""});
  std::ranges::sort(variants, [](const CpuVariant& a, const CpuVariant& b) {
    const auto rank = [](const CpuVariant& v) {
      return std::tuple(v.runs(), v.distrust.empty(), v.score);
    };
    return rank(a) != rank(b) ? rank(a) > rank(b) : a.name < b.name;
  });
  return variants;
}

}  // namespace

std::vector<CpuVariant> cpu_variants() {
  static const std::vector<CpuVariant> found = find_variants();
  return found;
}

Result<void> use_cpu_variant(const std::string& name) {
  const MutexLock lock(mutex);
  if (!in_use.empty() && (name.empty() || name == in_use)) return {};
  const auto variant = find_variant(name);
  if (!variant) return variant.error();
  if (!devices_loaded) load_device_backends(engine_folder());
  devices_loaded = true;
  if (variant->name == kBuiltInVariant) {
    // There is a single file without a variant's name, or the code is linked in.
    const std::string whole = engine_folder() + "/libggml-cpu.so";
    std::error_code unknown;
    if (cpu_registry() == nullptr && std::filesystem::exists(whole, unknown)) {
      ggml_backend_load(whole.c_str());
    }
  } else {
    if (ggml_backend_reg_t before = cpu_registry(); before != nullptr) ggml_backend_unload(before);
    keep_open(variant->path);
    ggml_backend_load(variant->path.c_str());
  }
  in_use.clear();
  if (cpu_registry() == nullptr) {
    return Error{ErrorCode::kEngine,
                 "The engine's processor code could not be loaded from " + engine_folder() + ".",
                 "--cpu-variant"};
  }
  in_use = variant->name;
  return {};
}

std::string cpu_variant_in_use() {
  const MutexLock lock(mutex);
  return in_use;
}

std::vector<EngineDevice> engine_devices() {
  std::vector<EngineDevice> devices;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    EngineDevice& out = devices.emplace_back();
    out.name = ggml_backend_dev_name(device);
    out.description = ggml_backend_dev_description(device);
    out.kind = kind_name(device);
    ggml_backend_dev_memory(device, &out.free_bytes, &out.total_bytes);
  }
  return devices;
}

}  // namespace holdfast::llama
