// POST /slots/{id}?action=save|restore|erase, in llama-server's shape.
//
//   save     {"filename": "x.bin"} -> {"id_slot", "filename", "n_saved", "n_written", "timings"}
//   restore  {"filename": "x.bin"} -> {"id_slot", "filename", "n_restored", "n_read", "timings"}
//   erase                          -> {"id_slot", "n_erased"}
//
// Save and restore need --slot-save-path. A slot that is at work is waited for, as llama-server
// does; a client that goes meanwhile has asked for nothing. Whose states these are the API key
// says, and a `cache_salt` in the body or the query.
//
//   save      scheduler's thread: copy the state out   -> files' thread: write the file
//   restore   files' thread: read and verify the file  -> scheduler's thread: bring it in
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "api/backend.h"
#include "api/http_server.h"

namespace holdfast::api {

struct SlotContext {
  std::shared_ptr<const Backend> backend;
  boost::asio::any_io_executor io;
  boost::asio::any_io_executor files;  // one thread
  std::string key_name;                // Asker::key_name
};

// `slot` is what the path says, which may be anything.
boost::asio::awaitable<void> answer_slot_action(SlotContext context, std::string slot,
                                                const HttpRequest& request,
                                                HttpResponder& responder);

}  // namespace holdfast::api
