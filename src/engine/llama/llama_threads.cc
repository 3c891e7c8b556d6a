#include "engine/llama/llama_threads.h"

#include <cstdint>

namespace holdfast::llama {

namespace {

template <typename Function>
Function* find_function(ggml_backend_reg_t registry, const char* name) {
  return reinterpret_cast<Function*>(ggml_backend_reg_get_proc_address(registry, name));
}

}  // namespace

LlamaThreads::LlamaThreads(int threads, int threads_batch, int poll) : poll_(poll) {
  ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  if (cpu == nullptr) return;
  ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(cpu);
  new_pool_ = find_function<decltype(ggml_threadpool_new)>(registry, "ggml_threadpool_new");
  free_pool_ = find_function<decltype(ggml_threadpool_free)>(registry, "ggml_threadpool_free");
  if (new_pool_ == nullptr || free_pool_ == nullptr) return;
  const bool separate = threads != threads_batch;
  if (separate) batch_pool_ = make_pool(threads_batch, false);
  decode_pool_ = make_pool(threads, separate);
}

LlamaThreads::~LlamaThreads() {
  if (decode_pool_ != nullptr) free_pool_(decode_pool_);
  if (batch_pool_ != nullptr) free_pool_(batch_pool_);
}

ggml_threadpool* LlamaThreads::make_pool(int threads, bool paused) const {
  ggml_threadpool_params params = ggml_threadpool_params_default(threads);
  params.paused = paused;
  params.poll = static_cast<std::uint32_t>(poll_);
  return new_pool_(&params);
}

void LlamaThreads::attach_to(llama_context* context) const {
  if (decode_pool_ != nullptr) llama_attach_threadpool(context, decode_pool_, batch_pool_);
}

}  // namespace holdfast::llama
