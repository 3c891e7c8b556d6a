#include "engine/llama/llama_planes.h"

#include <llama-context.h>

#include <string>

namespace holdfast::llama {

Result<void> write_planes(std::uint32_t& field, std::uint32_t depth,
                          const std::function<std::uint32_t()>& read) {
  const std::uint32_t before = read();
  if (field == before) field = depth;
  if (field == depth && read() == depth) return {};
  return Error{ErrorCode::kEngine,
               "The library cannot be told how many states to keep: its field reads " +
                   std::to_string(read()) + " and not " + std::to_string(field) + ".",
               ""};
}

// The library reads n_rs_seq when it makes the memory, which keeps a copy, and when it makes the
// graph of a batch. Only the latter changes here. Casting const away is allowed: the object is not
// const.
Result<void> set_planes(llama_context* context, TokenPos depth) {
  auto& params = const_cast<llama_cparams&>(context->get_cparams());
  return write_planes(params.n_rs_seq, static_cast<std::uint32_t>(depth),
                      [&] { return llama_n_rs_seq(context); });
}

}  // namespace holdfast::llama
