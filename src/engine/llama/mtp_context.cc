#include "engine/llama/mtp_context.h"

#include <llama-ext.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/llama/llama_context_params.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/llama_threads.h"

namespace holdfast::llama {

namespace {

Error unsupported(std::string why) { return {ErrorCode::kUnsupported, std::move(why), ""}; }
Error engine_error(std::string why) { return {ErrorCode::kEngine, std::move(why), ""}; }

// The sum of the squared differences.
double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
  }
  return sum;
}

Result<void> has_usable_block(const llama_model* model, const LlamaConfig& config) {
  const auto blocks = llama_model_n_layer_nextn(model);
  if (blocks <= 0) return unsupported("The model has no MTP block.");
  if (blocks > 1)
    return unsupported("The model chains several MTP blocks, which is not supported.");
  if (!config.mtp) return unsupported("The model was loaded without its MTP block.");  // MTPCTX-3
  return {};
}

Result<llama_context_params> params_beside(const LlamaEngine& primary, const LlamaConfig& config) {
  LlamaConfig same = config;
  same.slots = primary.slot_count();
  same.context_tokens = primary.context_tokens();
  auto params = make_context_params(same);
  if (!params) return params.error();
  const auto slots = static_cast<std::uint32_t>(primary.slot_count());
  const auto first_step = static_cast<std::uint32_t>(primary.decode_tokens_max() + 1);
  params->ctx_type = LLAMA_CONTEXT_TYPE_MTP;
  params->n_rs_seq = 0;
  params->n_ubatch = std::max({params->n_ubatch, slots * first_step,  // MTPCTX-2
                               static_cast<std::uint32_t>(primary.chunk_tokens_max())});
  params->n_batch = params->n_ubatch;
  params->n_outputs_max = std::max(slots, 2U);  // find_hidden_rows() wants two
  params->n_outputs_max_per_seq = 2;
  return *params;
}

Result<LlamaContextPtr> make_context(llama_model* model, const LlamaEngine& primary,
                                     const LlamaConfig& config) {
  const auto params = params_beside(primary, config);
  if (!params) return params.error();
  LlamaContextPtr context;
  try {
    context.reset(llama_init_from_model(model, *params));
  } catch (const std::exception& failure) {
    return engine_error(std::string("The MTP context could not be created: ") + failure.what());
  }
  if (!context) return engine_error("The MTP context could not be created.");
  if (llama_get_ctx_other(context.get()) != nullptr) {
    return unsupported("The model's MTP block shares the model's own state.");
  }
  if (static_cast<TokenPos>(llama_n_ctx_seq(context.get())) < primary.context_tokens()) {
    return engine_error("The MTP context is smaller than the model's.");
  }
  primary.threads().attach_to(context.get());  // MTPCTX-4
  return context;
}

}  // namespace

// --- making it -------------------------------------------------------------

MtpContext::MtpContext(std::shared_ptr<llama_model> model, LlamaContextPtr context)
    : model_(std::move(model)),
      context_(std::move(context)),
      width_(static_cast<std::size_t>(llama_model_n_embd_out(model_.get()))),
      vocabulary_(
          static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())))),
      rows_max_(static_cast<std::size_t>(llama_n_batch(context_.get()))),
      batch_(rows_max_),
      batch_hidden_(rows_max_ * width_) {}

Result<std::unique_ptr<MtpContext>> MtpContext::create(std::shared_ptr<llama_model> model,
                                                       const LlamaEngine& primary,
                                                       const LlamaConfig& config) {
  if (auto usable = has_usable_block(model.get(), config); !usable) return usable.error();
  auto context = make_context(model.get(), primary, config);
  if (!context) return context.error();
  std::unique_ptr<MtpContext> made(new MtpContext(std::move(model), std::move(*context)));
  auto rows = made->find_hidden_rows();
  if (!rows) return rows.error();
  made->hidden_rows_of_ = *rows;
  return made;
}

// MTPCTX-1: computes two tokens with both as outputs, which is right for either kind of
// architecture, and again with the second alone. The row that then comes back is the second
// token's where hidden rows belong to outputs, and the first token's otherwise.
Result<HiddenRowsOf> MtpContext::find_hidden_rows() {
  const SlotId slot{0};
  const auto compute = [&](bool first_too) {
    erase(slot);
    append(slot, 0, 0, nullptr, first_too);
    append(slot, 1, 1, nullptr, true);
    return run(MtpOutputs::kWanted);
  };
  const auto copy_of = [&](std::size_t row) -> std::vector<float> {
    const float* values = hidden(row);
    if (values == nullptr) return {};
    return {values, values + width_};
  };
  if (!compute(true)) return engine_error("The MTP block could not be run.");
  const auto first = copy_of(0);
  const auto second = copy_of(1);
  if (!compute(false)) return engine_error("The MTP block could not be run.");
  const auto got = copy_of(1);
  erase(slot);
  if (first.empty() || second.empty() || got.empty()) {
    return unsupported("The model's MTP block gives no hidden rows.");
  }
  return distance(got, second) <= distance(got, first) ? HiddenRowsOf::kOutputs
                                                       : HiddenRowsOf::kEveryToken;
}

// --- computing -------------------------------------------------------------

std::size_t MtpContext::append(SlotId slot, Token token, TokenPos position, const float* hidden,
                               bool output) {
  CHECK(batch_.size() < rows_max_);
  const std::size_t row = batch_.append(slot, token, position, output);
  float* into = batch_hidden_.data() + row * width_;
  if (hidden != nullptr) {
    std::memcpy(into, hidden, width_ * sizeof(float));
  } else {
    std::fill_n(into, width_, 0.0F);
  }
  return row;
}

void MtpContext::drop_batch() { batch_.clear(); }

bool MtpContext::run(MtpOutputs outputs) {
  llama_batch batch = batch_.view();
  batch.embd = batch_hidden_.data();
  bool computed = false;
  if (!fails(MtpOperation::kDecode)) {
    llama_set_embeddings_nextn(context_.get(), outputs == MtpOutputs::kWanted,
                               /*masked=*/hidden_rows_of_ == HiddenRowsOf::kOutputs);
    try {
      computed = llama_decode(context_.get(), batch) == 0;
    } catch (...) {
      computed = false;
    }
  }
  batch_.clear();
  return computed;
}

const float* MtpContext::logits(std::size_t row) const {
  return llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(row));
}

const float* MtpContext::hidden(std::size_t row) const {
  return llama_get_embeddings_nextn_ith(context_.get(), static_cast<std::int32_t>(row));
}

// --- rows ------------------------------------------------------------------

bool MtpContext::trim(SlotId slot, TokenPos position) {
  if (fails(MtpOperation::kTrim)) return false;
  return llama_memory_seq_rm(llama_get_memory(context_.get()), slot.value, position, -1);
}

void MtpContext::erase(SlotId slot) noexcept {
  llama_memory_seq_rm(llama_get_memory(context_.get()), slot.value, -1, -1);
}

TokenRange MtpContext::held(SlotId slot) const {
  const auto memory = llama_get_memory(context_.get());
  const TokenPos first = llama_memory_seq_pos_min(memory, slot.value);
  if (first < 0) return {};
  return {first, llama_memory_seq_pos_max(memory, slot.value) + 1};
}

}  // namespace holdfast::llama
