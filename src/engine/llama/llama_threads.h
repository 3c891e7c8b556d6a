// LlamaThreads keeps worker threads alive between graph computations. Without it, some builds of
// the library start new threads for every token.
#pragma once

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <llama.h>

namespace holdfast::llama {

class LlamaThreads {
 public:
  // `poll`: see LlamaConfig.
  LlamaThreads(int threads, int threads_batch, int poll);
  ~LlamaThreads();
  LlamaThreads(const LlamaThreads&) = delete;
  LlamaThreads& operator=(const LlamaThreads&) = delete;

  void attach_to(llama_context* context) const;

 private:
  [[nodiscard]] ggml_threadpool* make_pool(int threads, bool paused) const;

  const int poll_;
  decltype(ggml_threadpool_new)* new_pool_ = nullptr;
  decltype(ggml_threadpool_free)* free_pool_ = nullptr;
  ggml_threadpool* decode_pool_ = nullptr;
  ggml_threadpool* batch_pool_ = nullptr;  // null: the decode pool serves both
};

}  // namespace holdfast::llama
