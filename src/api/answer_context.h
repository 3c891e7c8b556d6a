// What a handler that answers with the model works with.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "api/backend.h"
#include "api/request_log.h"
#include "api/worker_pool.h"

namespace holdfast::api {

// The executor, the pool and `log` outlive the handler.
struct AnswerContext {
  std::shared_ptr<const Backend> backend;
  boost::asio::any_io_executor io;  // the handler's own thread
  Worker worker;                    // for templates, tokens and grammars
  std::string client;               // who asks, for fairness
  std::string key_name;             // Asker::key_name
  bool sees_all = true;             // of all tenants; else of its own alone
  RequestEnd* log = nullptr;        // what the request's line in the log will say
};

}  // namespace holdfast::api
